//! A job to be.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;
use tenure_core::{Refusal, codes};
use uuid::Uuid;

use crate::error::Result;
use crate::store::{Statement, Timestamp, jobs};

/// A job to enqueue. What is left out has the default of its kind.
///
/// ```
/// use std::time::Duration;
/// use tenure::NewJob;
///
/// #[derive(serde::Serialize)]
/// struct Mail {
///     to: &'static str,
/// }
///
/// let job = NewJob::of("mail.send", &Mail { to: "ann" })?
///     .key("welcome-ann")
///     .priority(10)
///     .due_in(Duration::from_secs(60));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct NewJob {
    job: jobs::NewJob,
    due_in: Option<Duration>,
    deadline_in: Option<Duration>,
}

impl NewJob {
    /// A job of this kind without a payload.
    pub fn new(kind: impl Into<String>) -> NewJob {
        jobs::NewJob::new(kind).into()
    }

    /// A job of this kind with this payload: anything that serde turns into a small JSON object. It is for signals;
    /// data and secrets belong elsewhere, and keys that promise them are refused by the database.
    pub fn of(kind: impl Into<String>, payload: &impl Serialize) -> Result<NewJob> {
        let payload = serde_json::to_value(payload).map_err(|error| {
            Refusal::new(
                codes::USAGE,
                "The payload cannot be written as JSON.",
                error.to_string(),
                "Give a value that serde can turn into a JSON object.",
            )
        })?;
        Ok(jobs::NewJob::new(kind).payload(payload).into())
    }

    /// Under this key: while an unfinished job of the same kind has it, enqueuing answers with that job.
    pub fn key(self, key: impl Into<String>) -> NewJob {
        self.with(|job| job.key = Some(key.into()))
    }

    /// For this executor, instead of the one that the policy of the kind names.
    pub fn executor(self, executor: impl Into<String>) -> NewJob {
        self.with(|job| job.executor = Some(executor.into()))
    }

    /// With this priority: higher goes first, 0 is normal.
    pub fn priority(self, priority: i32) -> NewJob {
        self.with(|job| job.priority = Some(priority))
    }

    /// Not before this time.
    pub fn due(mut self, due: Timestamp) -> NewJob {
        self.due_in = None;
        self.with(|job| job.due = Some(due))
    }

    /// Not before this much time has passed on the clock of the database, which is asked for the time.
    pub fn due_in(mut self, delay: Duration) -> NewJob {
        self.due_in = Some(delay);
        self
    }

    /// Never started after this time: then it is a dead letter.
    pub fn deadline(mut self, deadline: Timestamp) -> NewJob {
        self.deadline_in = None;
        self.with(|job| job.deadline = Some(deadline))
    }

    /// Never started when this much time has passed on the clock of the database, which is asked for the time.
    pub fn deadline_in(mut self, delay: Duration) -> NewJob {
        self.deadline_in = Some(delay);
        self
    }

    /// At most so many attempts.
    pub fn attempts_max(self, attempts: u16) -> NewJob {
        self.with(|job| job.attempts_max = Some(attempts.into()))
    }

    /// Together with whatever has the same correlation.
    pub fn correlation(self, correlation: impl Into<String>) -> NewJob {
        self.with(|job| job.correlation_id = Some(correlation.into()))
    }

    /// Preferred by a claim that asks for this affinity.
    pub fn affinity(self, affinity: impl Into<String>) -> NewJob {
        self.with(|job| job.affinity_key = Some(affinity.into()))
    }

    /// Made by this job.
    pub fn parent(self, job_id: Uuid) -> NewJob {
        self.with(|job| job.parent_job_id = Some(job_id))
    }

    /// Where its input is.
    pub fn source_ref(self, reference: impl Into<String>) -> NewJob {
        self.with(|job| job.source_ref = Some(reference.into()))
    }

    /// What it works on.
    pub fn target_ref(self, reference: impl Into<String>) -> NewJob {
        self.with(|job| job.target_ref = Some(reference.into()))
    }

    /// Where a larger payload is.
    pub fn payload_ref(self, reference: impl Into<String>) -> NewJob {
        self.with(|job| job.payload_ref = Some(reference.into()))
    }

    /// Its payload is shown only to those who may see restricted ones.
    pub fn restricted(self) -> NewJob {
        self.with(|job| job.classification = Some("restricted".to_owned()))
    }

    /// Under this id: a UUID of version 7, near the current time. By default the database makes one.
    pub fn id(self, job_id: Uuid) -> NewJob {
        self.with(|job| job.job_id = Some(job_id))
    }

    /// Its kind.
    pub fn kind(&self) -> &str {
        &self.job.kind
    }

    /// The statement that enqueues it, for any driver of PostgreSQL: run it in a transaction of your own, and the job exists
    /// exactly if that commits. [`enqueue_in`](crate::enqueue_in) does the same for `tokio-postgres`.
    ///
    /// Every parameter is a text; the statement casts them. It answers one row: `job_id` as a text, `duplicate` as a boolean
    /// and `state` as a text, or fails with a refusal, which aborts the transaction.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::NewJob;
    ///
    /// let statement = NewJob::new("report.build").key("2026-01").due_in(Duration::from_secs(60)).to_sql();
    /// assert!(statement.sql.ends_with(
    ///     "tenure.job_enqueue(p_kind => $1::text, p_key => $2::text, p_due => tenure.now() + $3::text::interval) answer"
    /// ));
    /// assert_eq!(statement.parameters, ["report.build", "2026-01", "60000000 microseconds"]);
    /// ```
    pub fn to_sql(&self) -> Statement {
        jobs::enqueue_statement(&self.job, self.due_in, self.deadline_in)
    }

    fn with(mut self, set: impl FnOnce(&mut jobs::NewJob)) -> NewJob {
        set(&mut self.job);
        self
    }

    /// What its lane is made of.
    pub(super) fn lane(&self) -> (&str, Option<&str>) {
        (&self.job.kind, self.job.executor.as_deref())
    }

    /// Whether it needs to know what time it is.
    pub(super) fn asks_the_clock(&self) -> bool {
        self.due_in.is_some() || self.deadline_in.is_some()
    }

    /// As the store takes it, if it is now.
    pub(super) fn at(&self, now: Option<Timestamp>) -> Cow<'_, jobs::NewJob> {
        let Some(now) = now.filter(|_| self.asks_the_clock()) else {
            return Cow::Borrowed(&self.job);
        };
        let mut job = self.job.clone();
        job.due = self.due_in.map(|delay| now + delay).or(job.due);
        job.deadline = self.deadline_in.map(|delay| now + delay).or(job.deadline);
        Cow::Owned(job)
    }
}

/// Whatever the store can enqueue.
impl From<jobs::NewJob> for NewJob {
    fn from(job: jobs::NewJob) -> NewJob {
        NewJob {
            job,
            due_in: None,
            deadline_in: None,
        }
    }
}
