//! Claim jobs. A claim may wait for work, so it is carried out by hand-written code.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::jobs::{Classification, JobSlot, JobState, JobStep};
use crate::{Effect, Json, Operation, Route, Shape, Timestamp, words};

words! {
    /// Whether claimed jobs are started at once.
    pub enum ClaimMode {
        /// The jobs go to a buffer; each is started later.
        Leased = "leased",
        /// The jobs are started at once.
        Started = "started",
    }
}

/// Claim jobs
///
/// The answer has no jobs when there is nothing to do. With `wait_seconds` the server waits for work that long.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobClaim {
    /// The name of the worker.
    #[schemars(length(min = 1, max = 200), example = &"worker-1")]
    pub worker: String,
    /// Only jobs for this executor.
    pub executor: Option<String>,
    /// Only jobs of these kinds; an empty list means none.
    pub kinds: Option<Vec<String>>,
    /// The maximum number of jobs.
    #[serde(default = "claim_limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
    /// How long the lease lasts without a heartbeat, in seconds.
    #[schemars(range(min = 1, max = 86400))]
    pub lease_seconds: Option<i32>,
    /// Whether the jobs are started at once.
    #[serde(default = "claim_mode_default")]
    pub mode: ClaimMode,
    /// Only jobs with at least this priority.
    #[schemars(range(min = -32768, max = 32767))]
    pub priority_min: Option<i32>,
    /// Jobs with this affinity key are preferred; when there are none, others are claimed.
    pub affinity_key: Option<String>,
    /// A token that the caller makes, to find the jobs of a claim whose answer was lost.
    pub token: Option<Uuid>,
    /// How long to wait while there is nothing to do, in seconds; 0 if left out.
    #[schemars(range(min = 0, max = 40))]
    pub wait_seconds: Option<u64>,
}

fn claim_limit_default() -> i32 {
    1
}

fn claim_mode_default() -> ClaimMode {
    ClaimMode::Started
}

impl JobClaim {
    /// Claims one job of any kind, and starts it.
    pub fn new(worker: impl Into<String>) -> JobClaim {
        JobClaim {
            worker: worker.into(),
            executor: None,
            kinds: None,
            limit: claim_limit_default(),
            lease_seconds: None,
            mode: claim_mode_default(),
            priority_min: None,
            affinity_key: None,
            token: None,
            wait_seconds: None,
        }
    }
}

impl Operation for JobClaim {
    const NAME: &str = "job_claim";
    const FUNCTION: &str = "job_claim_many";
    const ROUTE: Route = Route::post("/v1/jobs/claim", "work");
    const EFFECT: Effect = Effect::Changes;
    const SHAPE: Shape = Shape::Rows;
    const BESIDE: &[&str] = &["wait_seconds"];
    type Answer = Claimed;
}

/// Find the jobs that a claim holds
///
/// For a claim with a token of the caller whose answer was lost: the jobs that are still held under that token.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobHeld {
    /// The token of the claim.
    pub token: Uuid,
}

impl Operation for JobHeld {
    const NAME: &str = "job_held";
    const ROUTE: Route = Route::post("/v1/jobs/held", "work");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Claimed;
}

/// The jobs of a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claimed {
    /// The jobs; none when there is nothing to do.
    pub jobs: Vec<ClaimedJob>,
}

/// A job that the caller holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimedJob {
    /// Its id.
    pub job_id: Uuid,
    /// The token that proves that the caller holds it.
    pub token: Uuid,
    /// The lane that it waited in.
    pub lane: i32,
    /// Minus its priority.
    pub rank: i16,
    /// When it was due.
    pub due: Timestamp,
    /// Its kind.
    pub kind: String,
    /// The executor that it is for.
    pub executor: String,
    /// Its state: `leased` or `in_progress`.
    #[schemars(example = &"in_progress")]
    pub state: JobState,
    /// The number of this run; every claim begins a run.
    pub run: i32,
    /// The number of this attempt.
    pub attempt: i16,
    /// How often it may be attempted.
    pub attempts_max: i16,
    /// Since when it is held.
    pub leased_at: Timestamp,
    /// When its lease expires unless it is renewed.
    pub leased_until: Timestamp,
    /// When it was started.
    pub started_at: Option<Timestamp>,
    /// When its run times out, whether its lease is renewed or not.
    pub run_until: Option<Timestamp>,
    /// When it must have started.
    pub deadline_at: Option<Timestamp>,
    /// What the worker needs to know.
    #[schemars(with = "crate::values::JsonObject", example = serde_json::json!({"month": "2026-01"}))]
    pub payload: Json,
    /// Who may see the payload.
    pub payload_classification: Classification,
    /// Where its input is.
    pub source_ref: Option<String>,
    /// What it works on.
    pub target_ref: Option<String>,
    /// Where a larger payload is.
    pub payload_ref: Option<String>,
    /// Its idempotency key.
    pub idempotency_key: Option<String>,
    /// Its affinity key.
    pub affinity_key: Option<String>,
    /// What it belongs together with.
    pub correlation_id: Option<String>,
    /// The job that made it.
    pub parent_job_id: Option<Uuid>,
    /// The workflow it belongs to.
    pub workflow_id: Option<Uuid>,
    /// The run of that workflow.
    pub run_id: Option<Uuid>,
    /// The principal that enqueued it.
    pub enqueued_by: String,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// The trace and span that it was enqueued in, as a W3C traceparent.
    pub traceparent: Option<String>,
    /// The step of an execution that it runs.
    pub step: Option<JobStep>,
    /// The slot of a schedule that it runs for.
    pub slot: Option<JobSlot>,
    /// The fencing number of this run, if its step locks its target.
    pub fence: Option<i64>,
}
