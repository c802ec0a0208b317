//! One database for one test.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tokio_postgres::{Client, Config};

use super::cluster::TestCluster;
use super::template::{Template, is_missing};
use crate::PrivateError;
use crate::ready::connect;

/// A template may be replaced by a process with newer sources between preparing and copying.
const ATTEMPTS_MAX: u32 = 5;

/// A database of its own, dropped with this value.
///
/// ```no_run
/// # async fn migrate(_url: &str) -> Result<(), std::io::Error> { Ok(()) }
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use tenure_cluster::testing::{Template, TestDatabase};
///
/// let template = Template::new("store", ["create table a (b int)"]);
/// let database = TestDatabase::new(&template, async |url| migrate(&url).await).await?;
/// println!("{}", database.url());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TestDatabase {
    name: String,
    url: String,
    cluster: &'static TestCluster,
    dropped: bool,
}

impl TestDatabase {
    /// A copy of the template on the shared server. `fill` gets the URL of the empty template and is called only if no
    /// test of this run, in any process, has prepared it yet.
    pub async fn new<E: Display>(
        template: &Template,
        fill: impl AsyncFn(String) -> Result<(), E>,
    ) -> Result<TestDatabase, PrivateError> {
        let cluster = TestCluster::shared().await?;
        let admin = cluster.admin().await?;
        let name = unique_name();
        let strategy = copy_strategy(&admin).await.map_err(|error| failed(&name, &error))?;
        let statement = format!(
            "create database {name} template {} strategy {strategy}",
            template.name()
        );
        for _ in 0..ATTEMPTS_MAX {
            if template.is_ready(&admin).await? {
                match admin.batch_execute(&statement).await {
                    Ok(()) => return Ok(TestDatabase::of(cluster, name)),
                    Err(error) if is_missing(&error) => {}
                    Err(error) => return Err(failed(&name, &error)),
                }
            }
            template.prepare(cluster, &admin, &fill).await?;
        }
        Err(failed(
            &name,
            &format!("the template {} was replaced {ATTEMPTS_MAX} times", template.name()),
        ))
    }

    /// An empty database on the shared server.
    pub async fn empty() -> Result<TestDatabase, PrivateError> {
        let cluster = TestCluster::shared().await?;
        let name = unique_name();
        let created = cluster
            .admin()
            .await?
            .batch_execute(&format!("create database {name}"))
            .await;
        created.map_err(|error| failed(&name, &error))?;
        Ok(TestDatabase::of(cluster, name))
    }

    fn of(cluster: &'static TestCluster, name: String) -> TestDatabase {
        TestDatabase {
            url: cluster.url(&name),
            name,
            cluster,
            dropped: false,
        }
    }

    /// Its URL, for `psql` as well as for clients.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A connection to it.
    pub async fn connect(&self) -> Result<Client, PrivateError> {
        let config: Config = self.url.parse().map_err(|error| failed(&self.name, &error))?;
        connect(&config).await.map_err(|error| failed(&self.name, &error))
    }

    /// Drops it now, whoever is still connected.
    pub async fn close(mut self) -> Result<(), PrivateError> {
        self.dropped = true;
        drop_database(self.cluster, &self.name).await
    }
}

impl Drop for TestDatabase {
    /// Best effort, on a thread of its own: the test's runtime may be on its way out.
    fn drop(&mut self) {
        if self.dropped {
            return;
        }
        let (cluster, name) = (self.cluster, self.name.clone());
        let dropping = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .ok()?;
            runtime.block_on(drop_database(cluster, &name)).ok()
        });
        // Waited for, or the end of the process would come first.
        let _ = dropping.join();
    }
}

async fn drop_database(cluster: &TestCluster, name: &str) -> Result<(), PrivateError> {
    let dropped = cluster
        .admin()
        .await?
        .batch_execute(&format!("drop database if exists {name} with (force)"))
        .await;
    dropped.map_err(|error| failed(name, &error))
}

/// Copying files is faster, but needs a checkpoint, which only a server without fsync does in no time.
async fn copy_strategy(admin: &Client) -> Result<&'static str, tokio_postgres::Error> {
    let row = admin
        .query_one("select pg_catalog.current_setting('fsync') = 'off'", &[])
        .await?;
    Ok(if row.get(0) { "file_copy" } else { "wal_log" })
}

/// Unique across threads, processes and machines that share a server.
fn unique_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!(
        "tenure_test_{}_{}_{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed),
        &random[..8]
    )
}

fn failed(name: &str, error: &dyn Display) -> PrivateError {
    PrivateError::new(
        "database_error",
        format!("The test database {name} could not be made, reached or dropped."),
        error.to_string(),
        "Read the reason; the login needs the right to create databases.",
    )
}
