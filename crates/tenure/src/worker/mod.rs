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

mod batch;
mod board;
mod builder;
mod context;
mod declared;
mod done;
mod ends;
mod failure;
mod groups;
mod handed;
mod handler;
mod heartbeat;
mod held;
mod kind;
mod life;
mod line;
mod listening;
mod middleware;
mod offers;
mod parking;
mod report;
mod run;
mod runtime;
mod services;
mod shutdown;
mod trouble;
mod turns;

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

use self::board::Phase;
use self::builder::Settings;
use self::handler::Registered;
use self::middleware::Layer;
use crate::error::Result;
use crate::pool::Pool;
use crate::schedules::NewSchedule;

/// Runs jobs; see the [module](self).
pub struct Worker {
    pool: Pool,
    /// Heartbeats have a connection of their own: one must never wait for who uses the pool.
    beats: Pool,
    settings: Settings,
    handlers: Vec<Registered>,
    layers: Arc<[Layer]>,
    schedules: Vec<(String, NewSchedule)>,
}

impl Worker {
    /// A worker on these connections.
    pub fn builder(pool: Pool) -> WorkerBuilder {
        WorkerBuilder::new(pool)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// Works until `shutdown` is ready. Then it claims nothing more and gives back what it has not started; running jobs
    /// may go on for the time of [`drain`](WorkerBuilder::drain), are then told to stop, and what has not stopped after
    /// the time of [`grace`](WorkerBuilder::grace) is stopped and given back, at no cost of an attempt.
    ///
    /// A database that cannot be reached is no error: the worker waits for it. An error is only what no waiting mends,
    /// such as a missing right or an unknown executor, and only at the first claim or while its
    /// [schedules](WorkerBuilder::schedule) are declared.
    ///
    /// Dropping the future stops all its handlers at once; their jobs come back when their leases have run out.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<Report> {
        life::live(self, Phase::Working, shutdown).await
    }

    /// Works until there is nothing more to claim and all it has claimed has ended, what came of that included: for tests and
    /// one-off programs. Jobs that are not due yet are left alone.
    pub async fn run_until_idle(self) -> Result<Report> {
        life::live(self, Phase::UntilIdle, std::future::pending()).await
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
