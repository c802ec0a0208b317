//! A worker at work in a test.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use tenure::Pool;
use tenure::pool::PoolOptions;
use tenure::worker::{Report, Worker, WorkerBuilder};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, get, one, rows};
use crate::pgbouncer;

/// How long a worker's life may take in a test before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// The connections of a worker, through PgBouncer when the suite runs so.
pub(crate) fn pool(db: &Db) -> Pool {
    let config: tokio_postgres::Config = db.url().parse().expect("the database's URL");
    let through = config.get_dbname().and_then(pgbouncer::through);
    let url = through.unwrap_or_else(|| db.url().to_owned());
    Pool::new(&url, &PoolOptions::default()).expect("a pool")
}

/// A worker that finds work quickly and asks for short leases.
pub(crate) fn worker(db: &Db) -> WorkerBuilder {
    Worker::builder(pool(db))
        .name("w")
        .poll_interval(Duration::from_millis(20))
}

/// Works until nothing is left.
pub(crate) async fn until_idle(worker: WorkerBuilder) -> Report {
    let life = worker.build().expect("a worker").run_until_idle();
    tokio::time::timeout(PATIENCE, life)
        .await
        .expect("an end")
        .expect("a report")
}

/// A worker on a task of its own, until it is told to stop.
pub(crate) struct AtWork {
    stop: oneshot::Sender<()>,
    life: JoinHandle<tenure::Result<Report>>,
}

impl AtWork {
    pub(crate) fn start(worker: WorkerBuilder) -> AtWork {
        let worker = worker.build().expect("a worker");
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move {
            // Told, or forgotten by a test that has failed.
            let _ = stopped.await;
        };
        AtWork {
            stop,
            life: tokio::spawn(worker.run_until(shutdown)),
        }
    }

    /// Tells it to stop, and waits for its report.
    pub(crate) async fn stop(self) -> Report {
        self.stop.send(()).expect("it is still at work");
        tokio::time::timeout(PATIENCE, self.life)
            .await
            .expect("an end")
            .expect("no panic")
            .expect("a report")
    }
}

/// Waits until something is true that another task makes so.
pub(crate) async fn until_true(what: &str, is_true: impl Fn() -> bool) {
    let waiting = async {
        while !is_true() {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waiting).await;
    assert!(waited.is_ok(), "waited too long for: {what}");
}

/// Enqueues so many jobs of a kind.
pub(crate) async fn enqueue_many(client: &Client, kind: &str, count: usize) {
    let kinds = vec![kind; count];
    rows(client, "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
}

/// The last run of a job: its record as JSON.
pub(crate) async fn last_run(client: &Client, job_id: Uuid) -> Value {
    let sql = "select to_jsonb(a) from tenure.attempts a where a.job_id = $1 order by a.run desc limit 1";
    one(client, sql, &[&job_id]).await
}

/// Jobs whose final record says this.
pub(crate) async fn finished(client: &Client, state: &str) -> i64 {
    let sql = "select count(*) from tenure.attempts a where a.final and a.state = $1";
    get(client, sql, &[&state]).await
}

/// How many are inside at once, and how many were at the most.
#[derive(Clone, Default)]
pub(crate) struct Crowd {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    ever: Arc<AtomicUsize>,
}

impl Crowd {
    /// Goes in, until the value is dropped.
    pub(crate) fn enter(&self) -> Inside {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.ever.fetch_add(1, Ordering::SeqCst);
        Inside(self.now.clone())
    }

    pub(crate) fn now(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    pub(crate) fn ever(&self) -> usize {
        self.ever.load(Ordering::SeqCst)
    }
}

/// One of a [`Crowd`].
pub(crate) struct Inside(Arc<AtomicUsize>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
