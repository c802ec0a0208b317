//! What a handler knows about its run.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use tenure_core::{Refusal, codes};
use tokio::sync::Notify;
use tokio_postgres::Transaction;
use uuid::Uuid;

use super::Done;
use crate::error::{Error, Result};
use crate::executions::StepInfo;
use crate::pool::Pool;
use crate::schedules::SlotInfo;
use crate::store::Statement;
use crate::store::jobs::{self, ClaimedJob};

/// Progress of one job is written at most this often.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// Why a handler should stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CancelReason {
    /// Somebody asked for it.
    Requested = 1,
    /// The worker shuts down, and draining has taken too long.
    Shutdown = 2,
    /// The run took too long.
    Timeout = 3,
    /// The lease is lost: another attempt may own the job, and whatever comes out of this one is dropped.
    LeaseLost = 4,
}

impl CancelReason {
    fn of(number: u8) -> Option<CancelReason> {
        use CancelReason::*;
        [Requested, Shutdown, Timeout, LeaseLost]
            .into_iter()
            .find(|reason| *reason as u8 == number)
    }
}

/// The run of one job, for its handler: cheap to clone, and good on any task.
///
/// What the handler logs through `tracing` lies in a span named `job` with the job's id, kind and run; in a batch handler, in a span
/// `job_batch` with the kind and the number of jobs.
///
/// ```no_run
/// # async fn work(_: usize) {}
/// use tenure::worker::{Context, Failure};
///
/// async fn import(pages: usize, context: Context) -> Result<(), Failure> {
///     for page in 0..pages {
///         tokio::select! {
///             reason = context.cancelled() => {
///                 tracing::info!(?reason, "stopped");
///                 return Err(Failure::cancelled());
///             }
///             () = work(page) => {}
///         }
///         context.progress(serde_json::json!({"page": page, "of": pages})).await?;
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Context {
    inner: Arc<Inner>,
}

/// What all runs of a worker share.
pub(super) struct Home {
    pub(super) worker: Arc<str>,
    pub(super) pool: Pool,
}

struct Inner {
    job: ClaimedJob,
    home: Arc<Home>,
    deadline: Option<Instant>,
    /// A [`CancelReason`], or 0.
    stop: AtomicU8,
    wish: OnceLock<String>,
    stopped: Notify,
    /// A transaction of the handler's own may have completed the job.
    completed: AtomicBool,
    progressed: Mutex<Option<Instant>>,
}

impl Context {
    pub(super) fn new(job: ClaimedJob, home: Arc<Home>, deadline: Option<Instant>) -> Context {
        Context {
            inner: Arc::new(Inner {
                job,
                home,
                deadline,
                stop: AtomicU8::new(0),
                wish: OnceLock::new(),
                stopped: Notify::new(),
                completed: AtomicBool::new(false),
                progressed: Mutex::new(None),
            }),
        }
    }

    /// The job as it was claimed.
    pub fn job(&self) -> &ClaimedJob {
        &self.inner.job
    }

    /// Proves who holds the job, to every function that asks.
    pub fn token(&self) -> Uuid {
        self.inner.job.token
    }

    /// Which attempt this is; 1 is the first.
    pub fn attempt(&self) -> u32 {
        u32::try_from(self.inner.job.attempt).unwrap_or_default()
    }

    /// Whether a failure now would be the last.
    pub fn is_last_attempt(&self) -> bool {
        self.inner.job.attempt >= self.inner.job.attempts_max
    }

    /// Which slot of a schedule it runs for; none: it is no planned run, whatever its payload says.
    pub fn slot(&self) -> Option<SlotInfo> {
        self.inner.job.slot.clone()
    }

    /// Which step of an execution it runs; none: it belongs to no plan, whatever its payload says.
    ///
    /// ```no_run
    /// # use tenure::worker::{Context, Failure};
    /// # async fn restart(_: &str, _: Option<i64>) {}
    /// async fn handle(_: serde_json::Value, context: Context) -> Result<(), Failure> {
    ///     let step = context.step().ok_or_else(|| Failure::permanent("it belongs to no plan"))?;
    ///     // The host refuses a smaller number than the greatest it has seen.
    ///     restart(&step.target_ref, step.fence()).await;
    ///     Ok(())
    /// }
    /// ```
    pub fn step(&self) -> Option<StepInfo> {
        self.inner.job.step.clone()
    }

    /// The name of the worker.
    pub fn worker(&self) -> &str {
        &self.inner.home.worker
    }

    /// When the run will be stopped as too long, by the handler's own timeout or the policy of its kind.
    pub fn deadline(&self) -> Option<Instant> {
        self.inner.deadline
    }

    /// Whether the handler should stop.
    pub fn is_cancelled(&self) -> bool {
        self.inner.stop.load(Ordering::Acquire) != 0
    }

    /// Why the handler should stop, if it should. The gravest reason counts.
    pub fn cancel_reason(&self) -> Option<CancelReason> {
        CancelReason::of(self.inner.stop.load(Ordering::Acquire))
    }

    /// What the one who asked for the cancel gave as the reason.
    pub fn cancel_wish(&self) -> Option<&str> {
        self.inner.wish.get().map(String::as_str)
    }

    /// Ready when the handler should stop.
    pub async fn cancelled(&self) -> CancelReason {
        loop {
            // Interest first, then the look: a cancel between the two is not missed.
            let mut stopped = std::pin::pin!(self.inner.stopped.notified());
            stopped.as_mut().enable();
            if let Some(reason) = self.cancel_reason() {
                return reason;
            }
            stopped.await;
        }
    }

    /// Records how far the job is: a small JSON object. At most two a second are written; what comes sooner is dropped,
    /// and so is what the database cannot take right now. Refused is only what can never be written, or, as
    /// `stale_lease` and `lease_expired`, what is no longer ours to write. The story of an execution has so many lines about
    /// one step (`step_progress_lines_max`); what comes after them only the job shows.
    pub async fn progress(&self, progress: impl Serialize) -> Result<()> {
        let progress = serde_json::to_value(progress).map_err(|error| {
            Error::Refused(Refusal::new(
                codes::USAGE,
                "The progress cannot be written as JSON.",
                error.to_string(),
                "Give a value that serde can turn into a JSON object.",
            ))
        })?;
        if !self.may_progress() {
            return Ok(());
        }
        let written = match self.inner.home.pool.get().await {
            Ok(client) => jobs::progress(&*client, self.inner.job.hold(), &progress).await,
            Err(error) => Err(error),
        };
        match written {
            Ok(answer) => {
                if answer["cancel_requested"] == true {
                    self.cancel(CancelReason::Requested);
                }
                Ok(())
            }
            Err(error) if error.is(codes::STALE_LEASE) || error.is(codes::LEASE_EXPIRED) => {
                self.cancel(CancelReason::LeaseLost);
                Err(error)
            }
            Err(error @ Error::Refused(_)) if !error.is(codes::BUSY_TRY_AGAIN) && !error.is(codes::GATE_CLOSED) => {
                Err(error)
            }
            Err(error) => {
                tracing::debug!(job_id = %self.inner.job.job_id, code = error.code(), "progress not written: {error}");
                Ok(())
            }
        }
    }

    fn may_progress(&self) -> bool {
        let mut last = self.inner.progressed.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let due = last.is_none_or(|last| now.duration_since(last) >= PROGRESS_INTERVAL);
        if due {
            *last = Some(now);
        }
        due
    }

    /// Completes the job in a transaction of the handler's own: its effect and the end of the job commit together, or
    /// neither does. So the effect happens once, however often the job is tried.
    ///
    /// ```no_run
    /// # async fn of(pool: tenure::Pool, payment: serde_json::Value, context: tenure::worker::Context) -> Result<(), tenure::worker::Failure> {
    /// let mut connection = pool.get().await?;
    /// let transaction = connection.transaction().await?;
    /// transaction.execute("update accounts set balance = balance - 5 where id = 7", &[]).await?;
    /// context.complete_in(&transaction, ()).await?;
    /// transaction.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A lease that was lost is refused as `stale_lease` or `lease_expired`, and so is a job that an earlier transaction of
    /// this run has completed: the commit was carried out though its answer was lost. A refusal aborts the transaction.
    ///
    /// The result of the job is `done`; what the handler returns after a commit changes nothing. Without a commit the job
    /// is not completed: then the run ends as the failure that the handler returns, and a handler that returns success has
    /// failed with the code `not_committed`.
    ///
    /// Call it last and commit at once. Until then no job of this worker is renewed, so a transaction that stays open for longer than
    /// a lease loses them all; and the handler no longer learns that its lease is lost, so without a commit it should return a
    /// failure and not go on. The login of the transaction needs the role `tenure_worker`, and the tenant of the job.
    pub async fn complete_in(&self, transaction: &Transaction<'_>, done: impl Into<Done>) -> Result<()> {
        let statement = self.completion(&done.into());
        self.completing(async { statement.run(transaction).await.map(drop) })
            .await
    }

    /// The statement that completes the job, or refuses.
    pub(crate) fn completion(&self, done: &Done) -> Statement {
        jobs::completion(self.inner.job.hold(), done.result.as_ref(), done.reference.as_deref())
    }

    /// Runs the statement that completes the job.
    pub(crate) async fn completing(&self, run: impl Future<Output = Result<()>>) -> Result<()> {
        // Set before it is sent: who stops waiting for the answer may commit all the same.
        let before = self.inner.completed.swap(true, Ordering::AcqRel);
        let completed = run.await;
        if let Err(error) = &completed
            && !before
        {
            // Its transaction is aborted, so nothing was completed.
            self.inner.completed.store(false, Ordering::Release);
            if error.is(codes::STALE_LEASE) || error.is(codes::LEASE_EXPIRED) {
                self.cancel(CancelReason::LeaseLost);
            }
        }
        completed
    }

    /// Whether a transaction of the handler's own may have completed the job. Only the database knows.
    pub(super) fn may_be_completed(&self) -> bool {
        self.inner.completed.load(Ordering::Acquire)
    }

    /// Tells the handler to stop. A graver reason replaces a lesser one.
    pub(super) fn cancel(&self, reason: CancelReason) {
        self.inner.stop.fetch_max(reason as u8, Ordering::AcqRel);
        self.inner.stopped.notify_waiters();
    }

    /// Tells the handler to stop because somebody asked for it, and why.
    pub(super) fn cancel_as_asked(&self, wish: Option<String>) {
        if let Some(wish) = wish {
            // The first one stays: a heartbeat repeats it.
            let _ = self.inner.wish.set(wish);
        }
        self.cancel(CancelReason::Requested);
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("job_id", &self.inner.job.job_id)
            .field("kind", &self.inner.job.kind)
            .field("run", &self.inner.job.run)
            .field("cancelled", &self.cancel_reason())
            .finish_non_exhaustive()
    }
}
