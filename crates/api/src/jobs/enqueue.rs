//! Enqueue one job or many.
//!
//! The server calls a shorter SQL function for a job that has only a kind, a payload and a key, and offers the job to an idle
//! worker at once. So these two operations are carried out by hand-written calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Classification, JobState};
use crate::{Effect, Json, Operation, Priority, Route, Shape, Timestamp};

/// Enqueue a job
///
/// While a job of the same kind with the same key is unfinished, the answer is that job, with `duplicate` set and status 200
/// instead of 201. What is left out has the default of the kind.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobEnqueue {
    /// The kind of work.
    #[schemars(length(min = 1, max = 200), example = &"report")]
    pub kind: String,
    /// What the worker needs to know: a small JSON object.
    #[schemars(with = "Option<crate::values::JsonObject>", example = serde_json::json!({"month": "2026-01"}))]
    pub payload: Option<Json>,
    /// The idempotency key: there is one unfinished job per tenant, kind and key.
    pub key: Option<String>,
    /// The executor that runs it.
    pub executor: Option<String>,
    /// Higher goes first; normal if left out.
    pub priority: Option<Priority>,
    /// Not before this time; now if left out.
    #[serde(
        default,
        deserialize_with = "crate::request::read_moment",
        skip_serializing_if = "Option::is_none"
    )]
    pub due: Option<Timestamp>,
    /// Never started after this time.
    #[serde(
        default,
        deserialize_with = "crate::request::read_moment",
        skip_serializing_if = "Option::is_none"
    )]
    pub deadline: Option<Timestamp>,
    /// Where its input is.
    pub source_ref: Option<String>,
    /// What it works on.
    pub target_ref: Option<String>,
    /// Where a larger payload is.
    pub payload_ref: Option<String>,
    /// Who may see the payload; `safe_metadata` if left out.
    pub classification: Option<Classification>,
    /// How often it may be attempted.
    #[schemars(range(min = 1, max = 1000))]
    pub attempts_max: Option<i32>,
    /// What the job belongs together with.
    #[schemars(length(min = 1, max = 200))]
    pub correlation_id: Option<String>,
    /// The sequence number of the event that caused it.
    pub causation_event: Option<i64>,
    /// The job that made it.
    pub parent_job_id: Option<Uuid>,
    /// The workflow it belongs to.
    pub workflow_id: Option<Uuid>,
    /// The run of that workflow.
    pub run_id: Option<Uuid>,
    /// A claim that names this key prefers the job; other claims may take it too.
    #[schemars(length(min = 1, max = 200))]
    pub affinity_key: Option<String>,
    /// The domain of its events; `job` if left out.
    pub event_domain: Option<String>,
    /// The system that it comes from.
    pub source_system: Option<String>,
    /// Its id, if the caller makes it: a UUID of version 7 whose time is within a day of now.
    pub job_id: Option<Uuid>,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for JobEnqueue {
    const NAME: &str = "job_enqueue";
    const ROUTE: Route =
        Route::post("/v1/jobs", "jobs").answers(&[(201, "Enqueued"), (200, "An unfinished job has this key")]);
    const EFFECT: Effect = Effect::Changes;
    type Answer = Enqueued;

    fn status(answer: &Enqueued) -> u16 {
        if answer.duplicate { 200 } else { 201 }
    }
}

/// A job that was enqueued, or the one that has its key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Enqueued {
    /// The job; an older one if an unfinished job has the key.
    pub job_id: Uuid,
    /// An unfinished job had the key already, and nothing was enqueued.
    pub duplicate: bool,
    /// The state of the job.
    pub state: JobState,
}

/// Enqueue many jobs, all or none of them
///
/// A job that is refused refuses the whole batch; the refusal says which one it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobEnqueueMany {
    /// The jobs: up to 1000.
    #[schemars(length(max = 1000))]
    #[serde(deserialize_with = "crate::values::objects")]
    pub jobs: Vec<NewJob>,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for JobEnqueueMany {
    const NAME: &str = "job_enqueue_many";
    const ROUTE: Route = Route::post("/v1/jobs/batch", "jobs").answers(&[(200, "Enqueued")]);
    const EFFECT: Effect = Effect::Changes;
    const SHAPE: Shape = Shape::Rows;
    type Answer = EnqueuedJobs;
}

/// A job of a batch. What is left out has the default of its kind.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewJob {
    /// The kind of work.
    #[schemars(length(min = 1, max = 200), example = &"report")]
    pub kind: String,
    /// What the worker needs to know: a small JSON object.
    #[schemars(with = "Option<crate::values::JsonObject>", example = serde_json::json!({"month": "2026-01"}))]
    pub payload: Option<Json>,
    /// The idempotency key: there is one unfinished job per tenant, kind and key.
    pub key: Option<String>,
    /// The executor that runs it.
    pub executor: Option<String>,
    /// Higher goes first; normal if left out.
    pub priority: Option<Priority>,
    /// Not before this time; now if left out.
    #[serde(
        default,
        deserialize_with = "crate::request::read_moment",
        skip_serializing_if = "Option::is_none"
    )]
    pub due: Option<Timestamp>,
    /// Never started after this time.
    #[serde(
        default,
        deserialize_with = "crate::request::read_moment",
        skip_serializing_if = "Option::is_none"
    )]
    pub deadline: Option<Timestamp>,
    /// Where its input is.
    pub source_ref: Option<String>,
    /// What it works on.
    pub target_ref: Option<String>,
    /// Where a larger payload is.
    pub payload_ref: Option<String>,
    /// Who may see the payload; `safe_metadata` if left out.
    pub classification: Option<Classification>,
    /// How often it may be attempted.
    #[schemars(range(min = 1, max = 1000))]
    pub attempts_max: Option<i32>,
    /// What the job belongs together with.
    #[schemars(length(min = 1, max = 200))]
    pub correlation_id: Option<String>,
    /// The sequence number of the event that caused it.
    pub causation_event: Option<i64>,
    /// The job that made it; it may be another one of the batch.
    pub parent_job_id: Option<Uuid>,
    /// The workflow it belongs to.
    pub workflow_id: Option<Uuid>,
    /// The run of that workflow.
    pub run_id: Option<Uuid>,
    /// A claim that names this key prefers the job; other claims may take it too.
    #[schemars(length(min = 1, max = 200))]
    pub affinity_key: Option<String>,
    /// The domain of its events; `job` if left out.
    pub event_domain: Option<String>,
    /// The system that it comes from.
    pub source_system: Option<String>,
    /// Its id, if the caller makes it: a UUID of version 7 whose time is within a day of now.
    pub job_id: Option<Uuid>,
}

impl From<JobEnqueue> for NewJob {
    /// The job without the one that it is enqueued for.
    fn from(new: JobEnqueue) -> NewJob {
        NewJob {
            kind: new.kind,
            payload: new.payload,
            key: new.key,
            executor: new.executor,
            priority: new.priority,
            due: new.due,
            deadline: new.deadline,
            source_ref: new.source_ref,
            target_ref: new.target_ref,
            payload_ref: new.payload_ref,
            classification: new.classification,
            attempts_max: new.attempts_max,
            correlation_id: new.correlation_id,
            causation_event: new.causation_event,
            parent_job_id: new.parent_job_id,
            workflow_id: new.workflow_id,
            run_id: new.run_id,
            affinity_key: new.affinity_key,
            event_domain: new.event_domain,
            source_system: new.source_system,
            job_id: new.job_id,
        }
    }
}

/// The jobs of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnqueuedJobs {
    /// In the order of the request.
    pub jobs: Vec<Enqueued>,
}
