//! Runs jobs: claims what its handlers can take, runs them, and records what became of them.
//!
//! ```no_run
//! use serde_json::json;
//! use tenure::worker::{self, Context, Done, Failure, Worker};
//!
//! #[derive(serde::Deserialize)]
//! struct Greet {
//!     name: String,
//! }
//!
//! # async fn run() -> tenure::Result<()> {
//! let url = "postgres://localhost/app";
//! let pool = tenure::Pool::new(url, &Default::default())?;
//! let worker = Worker::builder(pool)
//!     .listen_url(url)
//!     .concurrency(32)
//!     .handler("hello", async |greet: Greet, _: Context| -> Result<Done, Failure> {
//!         Ok(Done::with(json!({"said": format!("hi {}", greet.name)}))?)
//!     })
//!     .build()?;
//! let report = worker.run_until(worker::shutdown_signal()).await?;
//! println!("{} jobs done", report.succeeded);
//! # Ok(())
//! # }
//! ```

mod builder;
mod context;
mod done;
mod failure;
mod handler;
mod middleware;
mod report;
mod shutdown;

use std::future::Future;
use std::sync::Arc;

pub use builder::WorkerBuilder;
pub use context::{CancelReason, Context};
pub use done::Done;
pub use failure::Failure;
pub use handler::{Handler, HandlerOptions};
pub use middleware::Next;
pub use report::Report;
pub use shutdown::shutdown_signal;

use self::builder::Settings;
use self::handler::Erased;
use self::middleware::Layer;
use crate::error::Result;
use crate::pool::Pool;
use crate::store::jobs::{self, Claim, End};

/// Runs jobs; see the [module](self).
pub struct Worker {
    pool: Pool,
    settings: Settings,
    handlers: Vec<(String, HandlerOptions, Erased)>,
    layers: Arc<[Layer]>,
}

impl Worker {
    /// A worker on these connections.
    pub fn builder(pool: Pool) -> WorkerBuilder {
        WorkerBuilder::new(pool)
    }

    fn new(
        pool: Pool,
        settings: Settings,
        handlers: Vec<(String, HandlerOptions, Erased)>,
        layers: Arc<[Layer]>,
    ) -> Worker {
        Worker {
            pool,
            settings,
            handlers,
            layers,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// Works until `shutdown` is ready, then drains, cancels and gives back what is left.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<Report> {
        let mut shutdown = std::pin::pin!(shutdown);
        let mut report = Report::default();
        let mut claim = Claim::new(&*self.settings.name)
            .kinds(self.handlers.iter().map(|it| it.0.clone()))
            .started();
        claim.executor = self.settings.executor.clone();
        claim.limit = i32::try_from(self.settings.concurrency.min(self.settings.batch_max)).ok();
        loop {
            let client = self.pool.get().await?;
            let batch = jobs::claim_many(&*client, &claim).await?;
            report.claimed += batch.len() as u64;
            for job in batch {
                let hold = job.hold();
                let Some((_, _, handler)) = self.handlers.iter().find(|it| it.0 == job.kind) else {
                    continue;
                };
                let context = Context::new(job, self.settings.name.clone(), self.pool.clone(), None);
                let end = match Next::new(self.layers.clone(), handler.clone()).run(context).await {
                    Ok(done) => {
                        report.succeeded += 1;
                        let mut end = End::succeeded(hold.job_id, hold.token);
                        (end.result, end.result_ref) = (done.result, done.reference);
                        end
                    }
                    Err(failure) => {
                        report.failed += 1;
                        End::failed(hold.job_id, hold.token, failure.message)
                    }
                };
                jobs::end_many(&*client, &[end]).await?;
            }
            tokio::select! {
                () = &mut shutdown => return Ok(report),
                () = tokio::time::sleep(self.settings.poll_interval) => {}
            }
        }
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
