//! awa on its queue storage, with many workers and large claims.

use std::time::Duration;

use anyhow::Result;
use awa::model::insert::params_with;
use awa::{
    Client, InsertOpts, InsertParams, JobArgs, JobContext, JobResult, QueueConfig, QueueStorage, QueueStorageConfig,
    insert_with, migrations,
};
use bench_runner::{Options, Payload, Peer, handled};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

const QUEUE: &str = "noop";
const WORKERS: u32 = 512;
const CLAIM: usize = 256;
const CLAIMERS: u16 = 4;
const CONNECTIONS: u32 = 20;
const POLL: Duration = Duration::from_millis(200);

#[derive(Clone, Serialize, Deserialize, JobArgs)]
struct Noop {
    payload: Payload,
}

struct Awa {
    pool: PgPool,
    storage: QueueStorage,
}

fn opts() -> InsertOpts {
    InsertOpts {
        queue: QUEUE.to_owned(),
        ..Default::default()
    }
}

fn job() -> Noop {
    Noop {
        payload: Payload::sample(),
    }
}

impl Peer for Awa {
    const SYSTEM: &'static str = "awa";
    const UNFINISHED: &'static str = "select exists (select from awa.jobs where state <> 'completed')";
    type Batch = Vec<InsertParams>;

    fn settings(&self) -> String {
        format!(
            "{WORKERS} workers, {CLAIMERS} claimers of {CLAIM}, pool of {CONNECTIONS}, no deadline, enqueue by COPY"
        )
    }

    async fn open(options: &Options) -> Result<Awa> {
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .connect(&options.url)
            .await?;
        migrations::run(&pool).await?;
        let storage = QueueStorage::new(QueueStorageConfig::default())?;
        Ok(Awa { pool, storage })
    }

    fn batch(&self, jobs: usize) -> Self::Batch {
        let params = params_with(&job(), opts()).expect("a job that serialises");
        vec![params; jobs]
    }

    async fn enqueue_many(&self, batch: Self::Batch) -> Result<()> {
        self.storage.enqueue_params_copy(&self.pool, &batch).await?;
        Ok(())
    }

    async fn enqueue_one(&self) -> Result<()> {
        insert_with(&self.pool, &job(), opts()).await?;
        Ok(())
    }

    async fn work(&self) -> Result<()> {
        let queue = QueueConfig {
            max_workers: WORKERS,
            poll_interval: POLL,
            claimers: CLAIMERS,
            claim_batch_size: CLAIM,
            // The documented short path: claims are compact when no job has a deadline.
            deadline_duration: Duration::ZERO,
            ..Default::default()
        };
        let client = Client::builder(self.pool.clone())
            .queue(QUEUE, queue)
            .register::<Noop, _, _>(|_: Noop, _: &JobContext| async {
                handled();
                Ok(JobResult::Completed)
            })
            .build()?;
        client.start().await?;
        std::future::pending().await
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    bench_runner::main::<Awa>().await
}
