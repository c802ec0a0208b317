//! apalis-postgres with large batches, woken by notification.

use std::time::Duration;

use anyhow::{Result, anyhow};
use apalis::prelude::*;
use apalis_postgres::{Config, PgPool, PgTask, PostgresStorage, queries::push_tasks};
use bench_runner::{Options, PAYLOAD, Payload, handled};
use sqlx::postgres::PgPoolOptions;

const QUEUE: &str = "noop";
const BATCH: usize = 1000;
const CONCURRENCY: usize = 1000;
const CONNECTIONS: u32 = 20;
const POLL: Duration = Duration::from_millis(100);

struct Apalis(PgPool);

async fn noop(_: Payload) -> Result<(), BoxDynError> {
    handled();
    Ok(())
}

fn task() -> PgTask {
    TaskBuilder::new(PAYLOAD.as_bytes().to_vec()).build()
}

impl bench_runner::Peer for Apalis {
    const SYSTEM: &'static str = "apalis";
    const UNFINISHED: &'static str = "select exists (select from apalis.jobs where status <> 'Done')";
    type Batch = Vec<PgTask>;

    fn settings(&self) -> String {
        format!("batches of {BATCH}, concurrency {CONCURRENCY}, pool of {CONNECTIONS}, LISTEN/NOTIFY on")
    }

    async fn open(options: &Options) -> Result<Apalis> {
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .connect(&options.url)
            .await?;
        PostgresStorage::setup(&pool).await?;
        Ok(Apalis(pool))
    }

    fn batch(&self, jobs: usize) -> Self::Batch {
        (0..jobs).map(|_| task()).collect()
    }

    async fn enqueue_many(&self, batch: Self::Batch) -> Result<()> {
        let mut connection = self.0.acquire().await?;
        push_tasks(&mut *connection, QUEUE, batch).await?;
        Ok(())
    }

    async fn enqueue_one(&self) -> Result<()> {
        self.enqueue_many(vec![task()]).await
    }

    async fn work(&self) -> Result<()> {
        let backend = PostgresStorage::<Payload>::new(&self.0)
            .with_config(Config::default().queue(QUEUE).batch_size(BATCH))
            .with_pubsub()
            .poll_with_interval(POLL);
        let worker = WorkerBuilder::new("bench")
            .backend(backend)
            .concurrency(CONCURRENCY)
            .build(noop);
        worker.run().await.map_err(|error| anyhow!("{error}"))
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    bench_runner::main::<Apalis>().await
}
