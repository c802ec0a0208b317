//! The end of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::jobs::JobState;
use crate::{Effect, Json, Operation, Route, Shape, Timestamp, words};

words! {
    /// How a run ended.
    pub enum Outcome {
        /// The work is done.
        Succeeded = "succeeded",
        /// It failed; another attempt may succeed.
        Failed = "failed",
        /// It failed, and no attempt can succeed.
        FailedPermanently = "failed_permanently",
        /// A cancel request is acknowledged.
        Cancelled = "cancelled",
        /// It is put aside; no attempt is used up.
        Snoozed = "snoozed",
        /// It is given back; no attempt is used up.
        Released = "released",
    }
}

words! {
    /// The result of ending a run.
    pub enum EndStatus {
        /// The run has ended.
        Ended = "ended",
        /// The run had ended before; the answer has the recorded state.
        AlreadyEnded = "already_ended",
        /// The token does not hold the job: drop the result, another attempt may own the job.
        StaleLease = "stale_lease",
        /// The lease has expired: drop the result, another attempt may own the job.
        LeaseExpired = "lease_expired",
        /// The result is too large: store it elsewhere, and give a reference.
        ResultTooLarge = "result_too_large",
        /// No cancel request is there to acknowledge.
        CancelNotRequested = "cancel_not_requested",
        /// Only a job that was started can be snoozed.
        NotStarted = "not_started",
        /// The outcome is not known.
        OutcomeUnknown = "outcome_unknown",
        /// The delay is out of its bounds.
        DelayOutOfRange = "delay_out_of_range",
    }
}

/// The result of ending a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EndAnswer {
    /// The job.
    pub job_id: Uuid,
    /// The result. A single run that cannot be ended is refused; in a batch, the status says why.
    pub status: EndStatus,
    /// The state of the job now; null if the run was not ended.
    pub state: Option<JobState>,
    /// When the job runs again.
    pub next_due: Option<Timestamp>,
}

/// Complete a job
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobComplete {
    /// The id of the job.
    pub job_id: Uuid,
    /// The token of its claim.
    pub token: Uuid,
    /// The result: a small JSON value.
    #[schemars(example = serde_json::json!({"pages": 12}))]
    pub result: Option<Json>,
    /// Where a larger result is.
    pub result_ref: Option<String>,
}

impl Operation for JobComplete {
    const NAME: &str = "job_complete";
    const ROUTE: Route = Route::post("/v1/jobs/{job_id}/complete", "work");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = EndAnswer;
}

/// Fail a job
///
/// It is attempted again while attempts are left, unless the error is permanent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobFail {
    /// The id of the job.
    pub job_id: Uuid,
    /// The token of its claim.
    pub token: Uuid,
    /// The error in words; what looks like a secret is masked.
    pub message: String,
    /// No attempt can succeed: do not try again.
    #[serde(default)]
    pub permanent: bool,
    /// A stable name of the error.
    pub code: Option<String>,
    /// The class of the error.
    pub class: Option<String>,
    /// The delay before the next attempt, in seconds, instead of the one that the kind has.
    #[schemars(range(min = 0, max = 2592000))]
    pub retry_seconds: Option<i32>,
}

impl Operation for JobFail {
    const NAME: &str = "job_fail";
    const ROUTE: Route = Route::post("/v1/jobs/{job_id}/fail", "work");
    const EFFECT: Effect = Effect::Idempotent;
    // The SQL function takes it as the word p_permanence.
    const BESIDE: &[&str] = &["permanent"];
    type Answer = EndAnswer;
}

/// Put a job aside without using up an attempt
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSnooze {
    /// The id of the job.
    pub job_id: Uuid,
    /// The token of its claim.
    pub token: Uuid,
    /// For how long, in seconds.
    #[schemars(range(min = 0, max = 2592000))]
    pub seconds: i32,
}

impl Operation for JobSnooze {
    const NAME: &str = "job_snooze";
    const ROUTE: Route = Route::post("/v1/jobs/{job_id}/snooze", "work");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = EndAnswer;
}

/// Give a job back, as if it had never been claimed
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobRelease {
    /// The id of the job.
    pub job_id: Uuid,
    /// The token of its claim.
    pub token: Uuid,
}

impl Operation for JobRelease {
    const NAME: &str = "job_release";
    const ROUTE: Route = Route::post("/v1/jobs/{job_id}/release", "work");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = EndAnswer;
}

/// Acknowledge a cancel request: end the run as cancelled
///
/// Refused if no cancel was requested.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobAcknowledgeCancel {
    /// The id of the job.
    pub job_id: Uuid,
    /// The token of its claim.
    pub token: Uuid,
}

impl Operation for JobAcknowledgeCancel {
    const NAME: &str = "job_acknowledge_cancel";
    const ROUTE: Route = Route::post("/v1/jobs/{job_id}/acknowledge-cancel", "work");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = EndAnswer;
}

/// End many runs
///
/// Each run has an answer of its own; one that cannot be ended does not keep the others from it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobEndMany {
    /// The ends: up to 1000.
    #[schemars(length(max = 1000))]
    #[serde(deserialize_with = "crate::values::objects")]
    pub ends: Vec<RunEnd>,
}

impl Operation for JobEndMany {
    const NAME: &str = "job_end_many";
    const ROUTE: Route = Route::post("/v1/jobs/end", "work");
    const EFFECT: Effect = Effect::Idempotent;
    const SHAPE: Shape = Shape::Rows;
    type Answer = EndAnswers;
}

/// The end of a run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunEnd {
    /// The id of the job.
    pub job_id: Uuid,
    /// The token of its claim.
    pub token: Uuid,
    /// How the run ended.
    pub outcome: Outcome,
    /// The result: a small JSON value.
    #[schemars(example = serde_json::json!({"pages": 12}))]
    pub result: Option<Json>,
    /// Where a larger result is.
    pub result_ref: Option<String>,
    /// A stable name of the error.
    pub error_code: Option<String>,
    /// The class of the error.
    pub error_class: Option<String>,
    /// The error in words; what looks like a secret is masked.
    pub error_message: Option<String>,
    /// The delay before the next attempt instead of the one that the kind has, or for how long to snooze, in seconds.
    #[schemars(range(min = 0, max = 2592000))]
    pub delay_seconds: Option<i32>,
}

/// The results of ending runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EndAnswers {
    /// In the order of the request.
    pub ends: Vec<EndAnswer>,
}
