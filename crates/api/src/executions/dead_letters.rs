//! Executions that failed: list, show, triage.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{EndReason, ExecutionState, StepState};
use crate::dead_letters::TriageStatus;
use crate::{Effect, Json, Operation, Page, Route, Shape, Timestamp};

/// List executions that failed in the last days, newest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionDeadLetterList {
    /// How many days back.
    #[serde(default = "days_default")]
    #[schemars(range(min = 1, max = 3650))]
    pub days: i32,
    /// Only those with one of these triage statuses.
    pub triage_status: Option<Vec<TriageStatus>>,
    /// Only executions that failed before this time.
    pub before: Option<Timestamp>,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of dead letters.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn days_default() -> i32 {
    7
}

fn limit_default() -> i32 {
    50
}

impl Operation for ExecutionDeadLetterList {
    const NAME: &str = "execution_dead_letter_list";
    const ROUTE: Route = Route::get("/v1/execution-dead-letters", "executions");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("before", "failed_at"), ("before_id", "execution_id")];
    type Answer = Page<ExecutionDeadLetter>;
}

/// An execution that failed, in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionDeadLetter {
    /// The execution.
    pub execution_id: Uuid,
    /// What it was for.
    pub purpose: String,
    /// The SHA-256 of its plan, in hexadecimal.
    pub plan_hash: String,
    /// The number of attempts of its steps beyond the first of each, plus one.
    pub attempt_count: i32,
    /// The text of the last error.
    pub last_error: String,
    /// When it failed.
    pub failed_at: Timestamp,
    /// What was decided about it.
    pub triage_status: TriageStatus,
    /// The reason of the decision.
    pub triage_note: Option<String>,
    /// When it was decided.
    pub triaged_at: Option<Timestamp>,
    /// The principal that decided.
    pub triaged_by: Option<String>,
    /// The execution that a retry made of it.
    pub retried_as: Option<Uuid>,
}

/// Show everything about an execution that failed: its plan, and where it failed
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionDeadLetterShow {
    /// The id of the execution.
    pub execution_id: Uuid,
}

impl Operation for ExecutionDeadLetterShow {
    const NAME: &str = "execution_dead_letter_show";
    const ROUTE: Route = Route::get("/v1/execution-dead-letters/{execution_id}", "executions");
    const EFFECT: Effect = Effect::Reads;
    type Answer = ExecutionDeadLetterDetails;
}

/// Everything about an execution that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionDeadLetterDetails {
    /// The execution.
    pub execution_id: Uuid,
    /// What it was for.
    pub purpose: String,
    /// The canonical text of its plan; null if it has a restricted payload and the caller may not read it.
    pub plan: Option<String>,
    /// The SHA-256 of its plan, in hexadecimal.
    pub plan_hash: String,
    /// Whether a payload in the plan is restricted.
    pub plan_restricted: bool,
    /// The execution as it was when it failed.
    pub context: FailureContext,
    /// The number of attempts of its steps beyond the first of each, plus one.
    pub attempt_count: i32,
    /// The text of the last error.
    pub last_error: String,
    /// When it failed.
    pub failed_at: Timestamp,
    /// What was decided about it.
    pub triage_status: TriageStatus,
    /// The reason of the decision.
    pub triage_note: Option<String>,
    /// When it was decided.
    pub triaged_at: Option<Timestamp>,
    /// The principal that decided.
    pub triaged_by: Option<String>,
    /// The execution that a retry made of it.
    pub retried_as: Option<Uuid>,
}

/// An execution as it was when it failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailureContext {
    /// The principal that submitted it.
    pub requested_by: String,
    /// The person or program that it was submitted for.
    pub on_behalf_of: Option<String>,
    /// What it belonged together with.
    pub correlation_id: Option<String>,
    /// Its state.
    pub state: ExecutionState,
    /// Why it ended so.
    pub reason_code: Option<EndReason>,
    /// Its idempotency key.
    pub idempotency_key: String,
    /// What its submitter kept beside the plan.
    pub metadata: Json,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// Its steps, in the order of the plan.
    pub steps: Vec<FailureStep>,
}

/// A step of an execution that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureStep {
    /// Its id in the plan.
    pub step: String,
    /// Its state.
    pub state: StepState,
    /// The number of its last attempt.
    pub attempt: i32,
    /// Its job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<Uuid>,
    /// The code of its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Where its result is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_ref: Option<String>,
}

/// Triage an execution that failed: record what was decided about it
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionDeadLetterTriage {
    /// The id of the execution.
    pub execution_id: Uuid,
    /// What was decided; `pending` cannot be.
    pub status: TriageStatus,
    /// The reason; without one the earlier reason stays.
    pub note: Option<String>,
}

impl Operation for ExecutionDeadLetterTriage {
    const NAME: &str = "execution_dead_letter_triage";
    const ROUTE: Route = Route::post("/v1/execution-dead-letters/{execution_id}/triage", "executions");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = ExecutionDeadLetterTriaged;
}

/// The decision as it was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionDeadLetterTriaged {
    /// The execution.
    pub execution_id: Uuid,
    /// What was decided.
    pub triage_status: TriageStatus,
    /// The principal that decided.
    pub triaged_by: String,
    /// When it was decided.
    pub triaged_at: Timestamp,
}
