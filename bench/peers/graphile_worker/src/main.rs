//! graphile_worker with its local queues and batched completions, the settings its guide gives for bursts.

use std::sync::LazyLock;
use std::time::Duration;

use anyhow::Result;
use bench_runner::{Options, Payload, Peer, handled};
use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, TaskHandler, Worker, WorkerContext, WorkerOptions,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Noop(Payload);

impl TaskHandler for Noop {
    const IDENTIFIER: &'static str = "noop";

    async fn run(self, _: WorkerContext) -> impl IntoTaskHandlerResult {
        handled();
        Ok::<(), String>(())
    }
}

static SPEC: LazyLock<JobSpec> = LazyLock::new(JobSpec::default);

const CONCURRENCY: usize = 24;
const LOCAL_QUEUES: usize = 4;
const LOCAL_QUEUE_ROWS: usize = 500;
const COMPLETE_DELAY: Duration = Duration::from_millis(2);

struct Graphile(Worker);

impl Peer for Graphile {
    const SYSTEM: &'static str = "graphile_worker";
    type Batch = Vec<(Noop, &'static JobSpec)>;
    const UNFINISHED: &'static str = "select exists (select from graphile_worker._private_jobs)";

    fn settings(&self) -> String {
        format!(
            "{LOCAL_QUEUES} local queues of {LOCAL_QUEUE_ROWS} (one unless draining), concurrency {CONCURRENCY}, \
             completions batched for {} ms",
            COMPLETE_DELAY.as_millis()
        )
    }

    async fn open(options: &Options) -> Result<Graphile> {
        // Several local queues only help with a long backlog; a short one is handled far faster by one.
        let queues = if options.phase == "drain" { LOCAL_QUEUES } else { 1 };
        let worker = WorkerOptions::default()
            .database_url(&options.url)
            .concurrency(CONCURRENCY)
            .complete_job_batch_delay(COMPLETE_DELAY)
            .local_queue(
                LocalQueueConfig::default()
                    .with_size(LOCAL_QUEUE_ROWS)
                    .with_queue_count(queues),
            )
            .listen_os_shutdown_signals(false)
            .define_job::<Noop>()
            .init()
            .await?;
        Ok(Graphile(worker))
    }

    fn batch(&self, jobs: usize) -> Self::Batch {
        vec![(Noop(Payload::sample()), &SPEC); jobs]
    }

    async fn enqueue_many(&self, jobs: Self::Batch) -> Result<()> {
        self.0.create_utils().add_jobs::<Noop>(&jobs).await?;
        Ok(())
    }

    async fn enqueue_one(&self) -> Result<()> {
        self.0
            .create_utils()
            .add_job(Noop(Payload::sample()), SPEC.clone())
            .await?;
        Ok(())
    }

    async fn work(&self) -> Result<()> {
        Ok(self.0.run().await?)
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    bench_runner::main::<Graphile>().await
}
