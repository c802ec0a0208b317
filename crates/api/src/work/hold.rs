//! While a job is held: start it, renew its lease, record its progress.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::jobs::JobState;
use crate::{Effect, Json, Operation, Route, Shape, Timestamp, words};

/// A job and the token that proves that the caller holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// The id of the job.
    pub job_id: Uuid,
    /// The token of its claim.
    pub token: Uuid,
}

words! {
    /// The result of a start.
    pub enum StartStatus {
        /// The job runs now.
        Started = "started",
        /// The job was running before.
        AlreadyStarted = "already_started",
        /// Its deadline has passed: it went to the dead letters.
        DeadlinePassed = "deadline_passed",
        /// The token does not hold the job.
        StaleLease = "stale_lease",
        /// The lease has expired.
        LeaseExpired = "lease_expired",
    }
}

/// Start a job that was claimed without being started
///
/// Refused if the token does not hold the job, or if its deadline has passed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobStart {
    /// The id of the job.
    pub job_id: Uuid,
    /// The token of its claim.
    pub token: Uuid,
}

impl Operation for JobStart {
    const NAME: &str = "job_start";
    const ROUTE: Route = Route::post("/v1/jobs/{job_id}/start", "work");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = JobStarted;
}

/// A job that runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobStarted {
    /// The job.
    pub job_id: Uuid,
    /// Whether this call started it: `started` or `already_started`.
    pub status: StartStatus,
    /// Its state now: `in_progress`.
    pub state: JobState,
    /// When it was started.
    pub started_at: Timestamp,
    /// When its run times out, whether its lease is renewed or not.
    pub run_until: Option<Timestamp>,
}

/// Start many jobs that were claimed without being started
///
/// Each job has an answer of its own; one that cannot be started does not keep the others from it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobStartMany {
    /// The jobs with their tokens: up to 1000.
    #[schemars(length(max = 1000))]
    #[serde(deserialize_with = "crate::values::objects")]
    pub jobs: Vec<Hold>,
}

impl Operation for JobStartMany {
    const NAME: &str = "job_start_many";
    const ROUTE: Route = Route::post("/v1/jobs/start", "work");
    const EFFECT: Effect = Effect::Idempotent;
    const SHAPE: Shape = Shape::Rows;
    type Answer = StartAnswers;
}

/// The results of starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartAnswers {
    /// In the order of the request.
    pub jobs: Vec<StartAnswer>,
}

/// The result of a start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartAnswer {
    /// The job.
    pub job_id: Uuid,
    /// The result: the job may run only after `started` or `already_started`.
    pub status: StartStatus,
    /// When it was started.
    pub started_at: Option<Timestamp>,
    /// When its run times out, whether its lease is renewed or not.
    pub run_until: Option<Timestamp>,
}

words! {
    /// The result of a heartbeat.
    pub enum HeartbeatStatus {
        /// The lease is renewed.
        Ok = "ok",
        /// The lease is renewed, and the job is to be cancelled: stop, and acknowledge it.
        Cancel = "cancel",
        /// The lease is lost: stop at once, another attempt may own the job.
        Lost = "lost",
    }
}

/// Renew the lease of a job
///
/// The status is `cancel` when the job is to be cancelled: stop, and acknowledge it. A lost lease is refused.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobHeartbeat {
    /// The id of the job.
    pub job_id: Uuid,
    /// The token of its claim.
    pub token: Uuid,
    /// How long the lease lasts from now, in seconds; as long as before if left out.
    #[schemars(range(min = 1, max = 86400))]
    pub lease_seconds: Option<i32>,
}

impl Operation for JobHeartbeat {
    const NAME: &str = "job_heartbeat";
    const ROUTE: Route = Route::post("/v1/jobs/{job_id}/heartbeat", "work");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = Heartbeat;
}

/// The result of a heartbeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Heartbeat {
    /// The job.
    pub job_id: Uuid,
    /// The result.
    pub status: HeartbeatStatus,
    /// When the lease expires now; null if it is lost.
    pub leased_until: Option<Timestamp>,
    /// Why the job is to be cancelled.
    pub cancel_reason: Option<String>,
}

/// Renew the leases of many jobs
///
/// Each job has an answer of its own. A lost lease has the status `lost`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobHeartbeatMany {
    /// The jobs with their tokens: up to 1000.
    #[schemars(length(max = 1000))]
    #[serde(deserialize_with = "crate::values::objects")]
    pub jobs: Vec<Hold>,
    /// How long the leases last from now, in seconds; as long as before if left out.
    #[schemars(range(min = 1, max = 86400))]
    pub lease_seconds: Option<i32>,
}

impl Operation for JobHeartbeatMany {
    const NAME: &str = "job_heartbeat_many";
    const ROUTE: Route = Route::post("/v1/jobs/heartbeat", "work");
    const EFFECT: Effect = Effect::Idempotent;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Heartbeats;
}

/// The results of heartbeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Heartbeats {
    /// In the order of the request.
    pub jobs: Vec<Heartbeat>,
}

/// Record the progress of a job
///
/// The first progress of a leased job starts it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobProgress {
    /// The id of the job.
    pub job_id: Uuid,
    /// The token of its claim.
    pub token: Uuid,
    /// The progress: a small JSON object.
    #[schemars(with = "crate::values::JsonObject", example = serde_json::json!({"percent": 50}))]
    pub progress: Json,
}

impl Operation for JobProgress {
    const NAME: &str = "job_progress";
    const ROUTE: Route = Route::post("/v1/jobs/{job_id}/progress", "work");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = ProgressRecorded;
}

/// The progress was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressRecorded {
    /// The job.
    pub job_id: Uuid,
    /// Its state now: `in_progress`.
    pub state: JobState,
    /// When it was started.
    pub started_at: Timestamp,
    /// The job is to be cancelled: stop, and acknowledge it.
    pub cancel_requested: bool,
}
