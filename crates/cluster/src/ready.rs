//! Whether a server answers, and which one: a `postmaster.pid` that says "ready" may be years old.

use std::time::Duration;

use tokio_postgres::{Client, Config, NoTls};

const ANSWER_SECONDS_MAX: u64 = 5;

/// A client whose connection is driven by a task of the current runtime.
pub(crate) async fn connect(config: &Config) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = config.connect(NoTls).await?;
    // Ends with the client; an error reaches the client's own calls.
    tokio::spawn(connection);
    Ok(client)
}

/// The pid of the server that answers a query at this URL. The server reads it from its own directory, so that another
/// server behind the same socket cannot pass for the one asked about.
pub(crate) async fn answers(url: &str) -> Option<i32> {
    let config: Config = url.parse().ok()?;
    let ask = async {
        let client = connect(&config).await.ok()?;
        let row = client
            .query_one("select pg_catalog.pg_read_file('postmaster.pid')", &[])
            .await
            .ok()?;
        let text: String = row.try_get(0).ok()?;
        text.lines().next()?.trim().parse().ok()
    };
    tokio::time::timeout(Duration::from_secs(ANSWER_SECONDS_MAX), ask)
        .await
        .ok()
        .flatten()
}
