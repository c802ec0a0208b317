//! `bench-probe URL STATEMENT…`: runs statements one after another and prints the rows of the last one as JSON objects
//! of strings. The harness is Python without packages, and so without a PostgreSQL client.

use anyhow::{Context, Result};
use bench_runner::connect;
use bench_runner::tokio_postgres::SimpleQueryMessage;
use serde_json::{Map, Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let client = connect(&arguments.next().context("the first argument is a URL")?).await?;
    let mut rows = Vec::new();
    for statement in arguments {
        let answers = client
            .simple_query(&statement)
            .await
            .with_context(|| statement.clone())?;
        rows = answers
            .iter()
            .filter_map(|answer| match answer {
                SimpleQueryMessage::Row(row) => Some(row),
                _ => None,
            })
            .map(|row| {
                let cells = row.columns().iter().enumerate();
                let cells = cells.map(|(at, column)| (column.name().to_owned(), json!(row.get(at))));
                Value::Object(cells.collect::<Map<_, _>>())
            })
            .collect();
    }
    println!("{}", Value::Array(rows));
    Ok(())
}
