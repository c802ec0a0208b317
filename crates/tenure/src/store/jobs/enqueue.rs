//! Putting work in.

use std::borrow::Borrow;
use std::time::Duration;

use serde_json::Value;
use tokio_postgres::GenericClient;
use tokio_postgres::types::Json;
use uuid::Uuid;

use crate::error::Result;
use crate::store::call::{Call, column, row};
use crate::store::statement::Arguments;
use crate::store::{Statement, Timestamp};
use crate::traces;

/// A job to enqueue. What is left out has the default of its kind.
///
/// ```
/// use serde_json::json;
/// use tenure::store::jobs::NewJob;
///
/// let job = NewJob::new("report.build").payload(json!({"month": "2026-01"})).key("report-2026-01").priority(10);
/// assert_eq!(job.kind, "report.build");
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewJob {
    /// What kind of work it is.
    pub kind: String,
    /// What the worker needs to know: a small JSON object, signals only.
    pub payload: Option<Value>,
    /// One unfinished job per tenant, kind and key.
    pub key: Option<String>,
    /// Who runs it.
    pub executor: Option<String>,
    /// Higher goes first; 0 is normal.
    pub priority: Option<i32>,
    /// Not before.
    pub due: Option<Timestamp>,
    /// Never started after.
    pub deadline: Option<Timestamp>,
    /// Where its input is.
    pub source_ref: Option<String>,
    /// What it works on.
    pub target_ref: Option<String>,
    /// Where a larger payload is.
    pub payload_ref: Option<String>,
    /// `safe_metadata` or `restricted`.
    pub classification: Option<String>,
    /// Attempts before it gives up.
    pub attempts_max: Option<i32>,
    /// Ties together what belongs together.
    pub correlation_id: Option<String>,
    /// The event that caused it.
    pub causation_event: Option<i64>,
    /// The job that made it.
    pub parent_job_id: Option<Uuid>,
    /// The workflow it belongs to.
    pub workflow_id: Option<Uuid>,
    /// The run of the workflow.
    pub run_id: Option<Uuid>,
    /// A claim that names this key prefers the job; other claims may take it too.
    pub affinity_key: Option<String>,
    /// What its events are about.
    pub event_domain: Option<String>,
    /// Where it comes from.
    pub source_system: Option<String>,
    /// Its id, if the caller makes it: a UUID of version 7, near the current time.
    pub job_id: Option<Uuid>,
}

impl NewJob {
    /// A job of this kind with all the defaults.
    pub fn new(kind: impl Into<String>) -> NewJob {
        NewJob {
            kind: kind.into(),
            ..NewJob::default()
        }
    }

    /// With this payload.
    pub fn payload(mut self, payload: Value) -> NewJob {
        self.payload = Some(payload);
        self
    }

    /// Under this idempotency key.
    pub fn key(mut self, key: impl Into<String>) -> NewJob {
        self.key = Some(key.into());
        self
    }

    /// For this executor.
    pub fn executor(mut self, executor: impl Into<String>) -> NewJob {
        self.executor = Some(executor.into());
        self
    }

    /// With this priority.
    pub fn priority(mut self, priority: i32) -> NewJob {
        self.priority = Some(priority);
        self
    }

    /// Not before this time.
    pub fn due(mut self, due: Timestamp) -> NewJob {
        self.due = Some(due);
        self
    }

    /// Whether it has nothing but a kind, a payload and a key.
    fn is_plain(&self) -> bool {
        let NewJob {
            kind: _,
            payload: _,
            key: _,
            executor: None,
            priority: None,
            due: None,
            deadline: None,
            source_ref: None,
            target_ref: None,
            payload_ref: None,
            classification: None,
            attempts_max: None,
            correlation_id: None,
            causation_event: None,
            parent_job_id: None,
            workflow_id: None,
            run_id: None,
            affinity_key: None,
            event_domain: None,
            source_system: None,
            job_id: None,
        } = self
        else {
            return false;
        };
        true
    }
}

row! {
    /// What became of a job that was enqueued.
    pub struct Enqueued {
        /// The job; an older one if the key was taken.
        pub job_id: Uuid,
        /// Whether the key named an unfinished job already.
        pub duplicate: bool,
        /// The job's state.
        pub state: String,
    }
}

/// Enqueues a batch, all or nothing; answers in the order of the jobs (`tenure.job_enqueue_many`).
pub async fn enqueue_many(
    client: &impl GenericClient,
    jobs: &[impl Borrow<NewJob>],
    on_behalf_of: Option<&str>,
) -> Result<Vec<Enqueued>> {
    enqueue_many_within(client, jobs, on_behalf_of, None).await
}

/// The same, which waits for transactions that hold its keys for so long at most, each. Then it is refused:
/// `busy_try_again`. The bound holds for the rest of the transaction.
pub async fn enqueue_many_within(
    client: &impl GenericClient,
    jobs: &[impl Borrow<NewJob>],
    on_behalf_of: Option<&str>,
    lock_wait: Option<Duration>,
) -> Result<Vec<Enqueued>> {
    let jobs: &[&NewJob] = &jobs.iter().map(Borrow::borrow).collect::<Vec<_>>();
    let lock_wait = lock_wait.map(milliseconds);
    if let ([job], None) = (jobs, on_behalf_of)
        && job.is_plain()
    {
        return plain(client, job, false, &lock_wait).await;
    }
    // Every argument is sent: for one that is left out, the server would read its default anew at each call.
    let kinds: Vec<&str> = jobs.iter().map(|job| job.kind.as_str()).collect();
    Call::new("job_enqueue_many")
        .with("p_kinds", &kinds)
        .nullable("p_payloads", &column(jobs, |job| job.payload.as_ref().map(Json)))
        .nullable("p_keys", &column(jobs, |job| job.key.as_deref()))
        .nullable("p_executors", &column(jobs, |job| job.executor.as_deref()))
        .nullable("p_priorities", &column(jobs, |job| job.priority))
        .nullable("p_due", &column(jobs, |job| job.due))
        .nullable("p_deadlines", &column(jobs, |job| job.deadline))
        .nullable("p_source_refs", &column(jobs, |job| job.source_ref.as_deref()))
        .nullable("p_target_refs", &column(jobs, |job| job.target_ref.as_deref()))
        .nullable("p_payload_refs", &column(jobs, |job| job.payload_ref.as_deref()))
        .nullable("p_classifications", &column(jobs, |job| job.classification.as_deref()))
        .nullable("p_attempts_max", &column(jobs, |job| job.attempts_max))
        .nullable("p_correlation_ids", &column(jobs, |job| job.correlation_id.as_deref()))
        .nullable("p_causation_events", &column(jobs, |job| job.causation_event))
        .nullable("p_parent_job_ids", &column(jobs, |job| job.parent_job_id))
        .nullable("p_workflow_ids", &column(jobs, |job| job.workflow_id))
        .nullable("p_run_ids", &column(jobs, |job| job.run_id))
        .nullable("p_affinity_keys", &column(jobs, |job| job.affinity_key.as_deref()))
        .nullable("p_event_domains", &column(jobs, |job| job.event_domain.as_deref()))
        .nullable("p_source_systems", &column(jobs, |job| job.source_system.as_deref()))
        .nullable("p_job_ids", &column(jobs, |job| job.job_id))
        .nullable("p_on_behalf_of", &on_behalf_of)
        .traced(&traces::current())
        .lock_wait(&lock_wait)
        .rows(client)
        .await
}

fn milliseconds(wait: Duration) -> String {
    format!("{}ms", wait.as_millis())
}

/// Enqueues one job by a call that is a transaction of its own: an idle worker may get it at once. Refusals are errors.
pub async fn enqueue_alone(
    client: &impl GenericClient,
    job: &NewJob,
    on_behalf_of: Option<&str>,
) -> Result<Vec<Enqueued>> {
    enqueue_alone_within(client, job, on_behalf_of, None).await
}

/// The same, which waits for a transaction that holds its key for so long at most. Then it is refused: `busy_try_again`.
pub async fn enqueue_alone_within(
    client: &impl GenericClient,
    job: &NewJob,
    on_behalf_of: Option<&str>,
    lock_wait: Option<Duration>,
) -> Result<Vec<Enqueued>> {
    if on_behalf_of.is_none() && job.is_plain() {
        plain(client, job, true, &lock_wait.map(milliseconds)).await
    } else {
        enqueue_many_within(client, &[job], on_behalf_of, lock_wait).await
    }
}

/// Enqueues one job of the shortest form (`tenure.job_enqueue_plain`).
async fn plain(
    client: &impl GenericClient,
    job: &NewJob,
    alone: bool,
    lock_wait: &Option<String>,
) -> Result<Vec<Enqueued>> {
    Call::new("job_enqueue_plain")
        .with("p_kind", &job.kind)
        .nullable("p_payload", &job.payload.as_ref().map(Json))
        .nullable("p_key", &job.key)
        .with("p_alone", &alone)
        .traced(&traces::current())
        .lock_wait(lock_wait)
        .rows(client)
        .await
}

/// Enqueues one job, or refuses (`tenure.job_enqueue`).
pub async fn enqueue(client: &impl GenericClient, job: &NewJob, on_behalf_of: Option<&str>) -> Result<Enqueued> {
    Call::new("job_enqueue")
        .with("p_kind", &job.kind)
        .maybe("p_payload", &job.payload)
        .maybe("p_key", &job.key)
        .maybe("p_executor", &job.executor)
        .maybe("p_priority", &job.priority.map(|priority| priority.to_string()))
        .maybe("p_due", &job.due)
        .maybe("p_deadline", &job.deadline)
        .maybe("p_source_ref", &job.source_ref)
        .maybe("p_target_ref", &job.target_ref)
        .maybe("p_payload_ref", &job.payload_ref)
        .maybe("p_classification", &job.classification)
        .maybe("p_attempts_max", &job.attempts_max)
        .maybe("p_correlation_id", &job.correlation_id)
        .maybe("p_causation_event", &job.causation_event)
        .maybe("p_parent_job_id", &job.parent_job_id)
        .maybe("p_workflow_id", &job.workflow_id)
        .maybe("p_run_id", &job.run_id)
        .maybe("p_affinity_key", &job.affinity_key)
        .maybe("p_event_domain", &job.event_domain)
        .maybe("p_source_system", &job.source_system)
        .maybe("p_job_id", &job.job_id)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .traced(&traces::current())
        .read(client)
        .await
}

/// The statement that enqueues one job, or refuses, for any driver (`tenure.job_enqueue`). A delay, counted by the database's
/// clock, replaces the time of the job.
pub(crate) fn enqueue_statement(job: &NewJob, due_in: Option<Duration>, deadline_in: Option<Duration>) -> Statement {
    Arguments::default()
        .with("p_kind", "text", Some(&job.kind))
        .with("p_payload", "jsonb", job.payload.as_ref())
        .with("p_key", "text", job.key.as_ref())
        .with("p_executor", "text", job.executor.as_ref())
        .with("p_priority", "text", job.priority)
        .with("p_due", "timestamptz", job.due.filter(|_| due_in.is_none()))
        .ahead("p_due", due_in)
        .with(
            "p_deadline",
            "timestamptz",
            job.deadline.filter(|_| deadline_in.is_none()),
        )
        .ahead("p_deadline", deadline_in)
        .with("p_source_ref", "text", job.source_ref.as_ref())
        .with("p_target_ref", "text", job.target_ref.as_ref())
        .with("p_payload_ref", "text", job.payload_ref.as_ref())
        .with("p_classification", "text", job.classification.as_ref())
        .with("p_attempts_max", "integer", job.attempts_max)
        .with("p_correlation_id", "text", job.correlation_id.as_ref())
        .with("p_causation_event", "bigint", job.causation_event)
        .with("p_parent_job_id", "uuid", job.parent_job_id)
        .with("p_workflow_id", "uuid", job.workflow_id)
        .with("p_run_id", "uuid", job.run_id)
        .with("p_affinity_key", "text", job.affinity_key.as_ref())
        .with("p_event_domain", "text", job.event_domain.as_ref())
        .with("p_source_system", "text", job.source_system.as_ref())
        .with("p_job_id", "uuid", job.job_id)
        .traced(traces::current())
        .statement(|arguments| {
            format!(
                "select answer ->> 'job_id' as job_id, (answer ->> 'duplicate')::boolean as duplicate, \
                 answer ->> 'state' as state from tenure.job_enqueue({arguments}) answer"
            )
        })
}
