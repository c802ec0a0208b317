//! pgmq as a queue that is read and archived in batches. It has no runner of handlers; this loop is the least one.

use std::time::Duration;

use anyhow::Result;
use bench_runner::{Options, Payload, Peer, handled_many};
use pgmq::{Message, PGMQueueExt};
use sqlx::postgres::PgPoolOptions;

const QUEUE: &str = "noop";
const READERS: usize = 2;
const CONNECTIONS: u32 = 4;
const READ: i32 = 500;
const VISIBILITY_SECONDS: i32 = 300;
const IDLE: Duration = Duration::from_millis(1);

struct Pgmq(PGMQueueExt);

impl Peer for Pgmq {
    const SYSTEM: &'static str = "pgmq";
    const UNFINISHED: &'static str = "select exists (select from pgmq.q_noop)";
    type Batch = Vec<Payload>;

    fn settings(&self) -> String {
        format!("{READERS} readers, read {READ} + archive")
    }

    async fn open(options: &Options) -> Result<Pgmq> {
        // A pool of our own: theirs does not take the URL of a Unix socket.
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .connect(&options.url)
            .await?;
        let queue = PGMQueueExt::new_with_pool(pool).await;
        if queue.installed_version().await?.is_none() {
            queue.install_sql_from_embedded().await?;
        }
        queue.create(QUEUE).await?;
        Ok(Pgmq(queue))
    }

    fn batch(&self, jobs: usize) -> Self::Batch {
        vec![Payload::sample(); jobs]
    }

    async fn enqueue_many(&self, batch: Self::Batch) -> Result<()> {
        self.0.send_batch(QUEUE, &batch).await?;
        Ok(())
    }

    async fn enqueue_one(&self) -> Result<()> {
        self.0.send(QUEUE, &Payload::sample()).await?;
        Ok(())
    }

    async fn work(&self) -> Result<()> {
        tokio::try_join!(self.read(), self.read())?;
        Ok(())
    }
}

impl Pgmq {
    async fn read(&self) -> Result<()> {
        loop {
            let messages: Vec<Message<Payload>> = self.0.read_batch(QUEUE, VISIBILITY_SECONDS, READ).await?;
            if messages.is_empty() {
                tokio::time::sleep(IDLE).await;
                continue;
            }
            let ids: Vec<i64> = messages.iter().map(|message| message.msg_id).collect();
            handled_many(ids.len());
            self.0.archive_batch(QUEUE, &ids).await?;
        }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    bench_runner::main::<Pgmq>().await
}
