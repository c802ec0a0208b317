//! What an operator decides about a job.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::JobState;
use crate::{Effect, Operation, Route, Timestamp, words};

words! {
    /// How a held job is cancelled.
    pub enum CancelMode {
        /// The worker learns of it at its next heartbeat, and acknowledges it.
        Cooperative = "cooperative",
        /// The job is taken from its worker at once.
        Force = "force",
    }
}

/// Cancel a job
///
/// A waiting job is cancelled at once. For a held job the request is recorded, unless `mode` is `force`. Cancelling twice is
/// not an error.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobCancel {
    /// The id of the job.
    pub job_id: Uuid,
    /// The reason; it is kept with the job.
    #[schemars(length(min = 1, max = 200))]
    pub reason: String,
    /// How a held job is cancelled.
    #[serde(default = "cancel_mode_default")]
    pub mode: CancelMode,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

fn cancel_mode_default() -> CancelMode {
    CancelMode::Cooperative
}

impl Operation for JobCancel {
    const NAME: &str = "job_cancel";
    const ROUTE: Route = Route::post("/v1/jobs/{job_id}/cancel", "jobs");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = JobCancelled;
}

/// A job that was cancelled, or whose worker will learn of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobCancelled {
    /// The job.
    pub job_id: Uuid,
    /// Its state now: `cancelled`, or the state in which its worker holds it.
    pub state: JobState,
    /// True if a worker holds the job and the request was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_requested: Option<bool>,
}

/// Run a waiting job now, or give a failed one a fresh set of attempts
///
/// A waiting job keeps its state and is due now. A failed job is refused with `key_taken` if another unfinished job has taken
/// its key in the meantime.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobRetry {
    /// The id of the job.
    pub job_id: Uuid,
    /// The reason; it is kept with the job.
    #[schemars(length(max = 200))]
    pub reason: Option<String>,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for JobRetry {
    const NAME: &str = "job_retry";
    const ROUTE: Route = Route::post("/v1/jobs/{job_id}/retry", "jobs");
    const EFFECT: Effect = Effect::Changes;
    type Answer = JobRescheduled;
}

/// A job that is due now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobRescheduled {
    /// The job.
    pub job_id: Uuid,
    /// Its state now: `queued` or `retry_waiting`.
    pub state: JobState,
    /// When it is due.
    pub due: Timestamp,
}

/// Enqueue a failed or cancelled job again, as a new job
///
/// The new job has the content and the key of the old one, which is its `replay_of`, and fresh attempts. While another job has
/// the key, that job is answered as a duplicate and none is made.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobRequeue {
    /// The id of the job.
    pub job_id: Uuid,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for JobRequeue {
    const NAME: &str = "job_requeue";
    const ROUTE: Route = Route::post("/v1/jobs/{job_id}/requeue", "jobs");
    const EFFECT: Effect = Effect::Changes;
    type Answer = JobRequeued;
}

/// The job that a requeue made, or found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobRequeued {
    /// The new job.
    pub job_id: Uuid,
    /// The job that was enqueued again.
    pub replay_of: Uuid,
    /// Another job had the key already, and none was made.
    pub duplicate: bool,
}

/// Give up on a waiting job: move it to the dead letters
///
/// A job in another state is refused with `state_conflict`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobDeadLetter {
    /// The id of the job.
    pub job_id: Uuid,
    /// The reason; it is kept with the dead letter.
    #[schemars(length(min = 1, max = 200))]
    pub reason: String,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for JobDeadLetter {
    const NAME: &str = "job_dead_letter";
    const ROUTE: Route = Route::post("/v1/jobs/{job_id}/dead-letter", "jobs");
    const EFFECT: Effect = Effect::Changes;
    type Answer = JobDeadLettered;
}

/// A job that was moved to the dead letters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobDeadLettered {
    /// The job.
    pub job_id: Uuid,
    /// Its state now: `dead_letter`.
    pub state: JobState,
    /// Its dead letter.
    pub dead_letter_id: Uuid,
}
