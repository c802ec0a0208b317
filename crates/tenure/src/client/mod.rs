//! Puts work in, and waits for what comes out.
//!
//! ```no_run
//! use std::time::Duration;
//! use tenure::{Client, NewJob};
//!
//! #[derive(serde::Serialize)]
//! struct Report<'a> {
//!     month: &'a str,
//! }
//!
//! #[derive(serde::Deserialize)]
//! struct Pages {
//!     pages: u32,
//! }
//!
//! # async fn run() -> tenure::Result<()> {
//! let client = Client::new(tenure::Pool::new("postgres://localhost/app", &Default::default())?);
//! let job = NewJob::of("report.build", &Report { month: "2026-01" })?.key("report-2026-01");
//! let enqueued = client.enqueue(&job).await?;
//! let report: Pages = client.wait_for(enqueued.job_id, Duration::from_secs(60)).await?;
//! println!("{} pages", report.pages);
//! # Ok(())
//! # }
//! ```
//!
//! A type that implements [`Job`] names its kind itself: `client.enqueue(&Welcome { .. })`.
//! In a transaction of the caller's own, [`enqueue_in`] makes a job that exists exactly if the transaction commits.
//! [`Client::schedule`] is for work that comes again and again, [`Client::submit`] for plans that somebody allows.

mod enqueue;
mod execution;
mod job;
mod plan;
mod schedule;
mod typed;
mod wait;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

pub use enqueue::{enqueue_in, enqueue_many_in};
pub use execution::{KnownExecution, Submit};
pub use job::NewJob;
pub use plan::{NewPlan, NewStep};
pub use schedule::{NamedSchedule, SlotFilter};
pub use typed::{IntoNewJob, Job};
pub use wait::JobEnd;

use crate::pool::Pool;

/// Enqueues and waits; see the [module](self). Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    pool: Pool,
    on_behalf_of: Option<Arc<str>>,
    /// Kinds and executors whose lane is known to stand.
    lanes: Arc<Mutex<HashSet<Lane>>>,
}

/// What a job says about its lane.
type Lane = (String, Option<String>);

/// Lanes a client remembers. One that has seen more asks again.
const LANES_MAX: usize = 10_000;

impl Client {
    /// A client on these connections.
    pub fn new(pool: Pool) -> Client {
        Client {
            pool,
            on_behalf_of: None,
            lanes: Arc::default(),
        }
    }

    /// The same client, whose jobs say for whom they were enqueued. Who enqueued them is the database login, as ever.
    pub fn on_behalf_of(&self, whom: impl Into<Arc<str>>) -> Client {
        Client {
            on_behalf_of: Some(whom.into()),
            ..self.clone()
        }
    }

    /// Its connections.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    fn is_open(&self, lane: &Lane) -> bool {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.contains(lane)
    }

    fn remember(&self, lane: Lane) {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if lanes.len() >= LANES_MAX {
            lanes.clear();
        }
        lanes.insert(lane);
    }
}
