//! Everything about one execution.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    ActionClass, EndReason, ExecutionMode, ExecutionState, ExecutionStep, KeyOrigin, OnStepFailure, Parked,
    SectionState, SlaClass, StartWindow, Stopping,
};
use crate::approvals::{ApprovalState, Vote};
use crate::{Effect, Json, Operation, Route, Timestamp};

/// Show everything about an execution: its steps, its approvals, and what it waits for
///
/// With `wait_seconds` the answer comes when the execution is settled: it has ended, or waits for a person or a time.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionShow {
    /// The id of the execution.
    pub execution_id: Uuid,
    /// Wait until it is settled, in seconds.
    #[schemars(range(min = 0, max = 40))]
    pub wait_seconds: Option<u64>,
}

impl Operation for ExecutionShow {
    const NAME: &str = "execution_show";
    const ROUTE: Route = Route::get("/v1/executions/{execution_id}", "executions");
    const EFFECT: Effect = Effect::Reads;
    const BESIDE: &[&str] = &["wait_seconds"];
    type Answer = ExecutionDetails;
}

/// Everything about an execution, except the text of its plan and its timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionDetails {
    /// Its id.
    pub execution_id: Uuid,
    /// What it is for.
    pub purpose: String,
    /// Its state.
    pub state: ExecutionState,
    /// Whether it has ended, or waits for a person or a time.
    pub settled: bool,
    /// What it waits for, one sentence each.
    pub waiting_for: Vec<String>,
    /// The SHA-256 of its plan, in hexadecimal; a decision about the plan names it.
    pub plan_hash: String,
    /// The SHA-256 of the plan as the database has completed it, in hexadecimal.
    pub plan_snapshot_hash: String,
    /// The size of its plan, in bytes.
    pub plan_size_bytes: i32,
    /// Its idempotency key.
    pub idempotency_key: String,
    /// Where this key comes from.
    pub key_origin: KeyOrigin,
    /// Whether the key is taken by this execution.
    pub key_held: bool,
    /// How long the work is expected to take.
    pub sla_class: SlaClass,
    /// The strictest action class of its steps.
    pub action_class: ActionClass,
    /// Whether the submitter waits for its end.
    pub mode: ExecutionMode,
    /// Its priority; higher goes first.
    pub priority: i32,
    /// What happens to the other steps when one has failed.
    pub on_step_failure: OnStepFailure,
    /// The approval level that it needs, 0 to 3; 0 is none.
    pub approval_level: i32,
    /// The approval rule that decided this level.
    pub rule: String,
    /// What to read before a decision.
    pub runbook_ref: Option<String>,
    /// What it belongs together with.
    pub correlation_id: Option<String>,
    /// What made the plan.
    pub generator: Option<String>,
    /// The principal that submitted it.
    pub requested_by: String,
    /// The e-mail address of that principal.
    pub requested_by_email: Option<String>,
    /// The person or program that it was submitted for.
    pub on_behalf_of: Option<String>,
    /// All of its requesters: the submitter, the principal it acts for, and those of the executions that it retries.
    pub requesters: Vec<String>,
    /// The HTTP request that submitted it, with the address of the client; null if it was submitted on the database.
    pub via: Option<String>,
    /// What its submitter kept beside the plan.
    pub metadata: Json,
    /// It does not start before this time.
    pub start_after: Option<Timestamp>,
    /// It does not start after this time.
    pub start_before: Option<Timestamp>,
    /// The times of the week in which it may start; null if at any time.
    pub start_window: Option<StartWindow>,
    /// Why it does not start although it is approved; null if nothing holds it back.
    pub parked: Option<Parked>,
    /// When the clock next matters for it; null if it waits for an event.
    pub next_at: Option<Timestamp>,
    /// The number of its steps.
    pub step_count: i32,
    /// The number of its targets.
    pub target_count: i32,
    /// The number of attempts of its steps beyond the first of each.
    pub retries_total: i32,
    /// How long it may take, in milliseconds.
    pub timeout_ms: i32,
    /// When it times out.
    pub timeout_at: Option<Timestamp>,
    /// Whether it took too long.
    pub timed_out: bool,
    /// Why no more of its steps start; null if it is not stopping.
    pub stopping: Option<Stopping>,
    /// The principal or service that stopped it.
    pub stopped_by: Option<String>,
    /// Why it ended as it did.
    pub reason_code: Option<EndReason>,
    /// The same in words.
    pub reason: Option<String>,
    /// The class of the error that made it fail.
    pub error_class: Option<String>,
    /// The text of the error that made it fail.
    pub error_message: Option<String>,
    /// How its steps ended; null until it has ended.
    pub result_summary: Option<ResultSummary>,
    /// When it was cancelled.
    pub cancelled_at: Option<Timestamp>,
    /// The principal or service that cancelled it.
    pub cancelled_by: Option<String>,
    /// The execution that it replaces.
    pub supersedes: Option<Uuid>,
    /// The execution that replaced it.
    pub superseded_by: Option<Uuid>,
    /// The execution that it retries.
    pub retry_of: Option<Uuid>,
    /// The execution that retries it.
    pub retried_as: Option<Uuid>,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// The principal that closed it.
    pub closed_by: Option<String>,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When it was approved.
    pub approved_at: Option<Timestamp>,
    /// When its approval lapses if it has not started.
    pub lapses_at: Option<Timestamp>,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Milliseconds from its submission to its start.
    pub queue_wait_ms: Option<i64>,
    /// Milliseconds from its start to its end.
    pub duration_ms: Option<i64>,
    /// When its state last changed.
    pub last_transition_at: Timestamp,
    /// The principal or service that changed it.
    pub last_transition_by: String,
    /// Its state before.
    pub last_state: Option<ExecutionState>,
    /// The number of events in its timeline.
    pub chain_length: i32,
    /// The hash of the last event, in hexadecimal.
    pub chain_hash: String,
    /// The number of its steps in each state.
    pub counts: StepCounts,
    /// Its steps, in the order of the plan.
    pub steps: Vec<ExecutionStep>,
    /// Its sections: steps that hold one lock together.
    pub sections: Vec<ExecutionSection>,
    /// Its approvals, oldest first.
    pub approvals: Vec<ExecutionApproval>,
}

impl ExecutionDetails {
    /// Whether it has ended, in whatever state.
    pub fn is_over(&self) -> bool {
        self.ended_at.is_some()
    }

    /// Whether all of its steps succeeded.
    pub fn is_succeeded(&self) -> bool {
        self.state == ExecutionState::Succeeded
    }
}

/// How the steps of an execution ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResultSummary {
    /// The number of steps that succeeded.
    pub succeeded: i32,
    /// The number of steps that failed.
    pub failed: i32,
    /// The number of steps that were cancelled.
    pub cancelled: i32,
    /// The number of steps that never started.
    pub skipped: i32,
    /// The number of attempts of its steps beyond the first of each.
    pub retries: i32,
    /// The first five errors.
    pub errors: Vec<StepError>,
}

/// The error of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepError {
    /// The id of the step.
    pub step: String,
    /// The code of the error.
    pub code: Option<String>,
    /// The text of the error.
    pub message: Option<String>,
}

/// The number of steps in each state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepCounts {
    /// Steps that wait for those they need.
    pub waiting: i64,
    /// Steps that wait for an approval.
    pub awaiting_approval: i64,
    /// Steps that wait for a lock.
    pub blocked: i64,
    /// Steps whose job is queued or runs.
    pub running: i64,
    /// Steps whose outcome is not known.
    pub unknown: i64,
    /// Steps that succeeded.
    pub succeeded: i64,
    /// Steps that failed.
    pub failed: i64,
    /// Steps that were cancelled.
    pub cancelled: i64,
    /// Steps that never started.
    pub skipped: i64,
}

/// A section of an execution: steps that hold one lock together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionSection {
    /// Its name in the plan.
    pub section: String,
    /// The target that it locks.
    pub target: String,
    /// The key of its lock.
    pub lock_key: String,
    /// The ids of its steps, in the order in which they run.
    pub steps: Vec<String>,
    /// Its state.
    pub state: SectionState,
    /// The fencing number of its lock; null if it does not hold it.
    pub fence: Option<i64>,
    /// Since when it holds its lock.
    pub held_since: Option<Timestamp>,
}

/// An approval of an execution, with its votes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionApproval {
    /// Its id.
    pub approval_id: Uuid,
    /// The execution.
    pub execution_id: Uuid,
    /// The step that it is about; null if it is about the whole plan.
    pub step_id: Option<String>,
    /// What the execution is for.
    pub purpose: String,
    /// The principal that submitted the execution.
    pub requested_by: String,
    /// The e-mail address of that principal.
    pub requested_by_email: Option<String>,
    /// The level that an approver needs, 0 to 3; 0 is approved by the rule itself.
    pub level: i32,
    /// Roles that must be among the approvers; any if empty.
    pub roles: Vec<String>,
    /// How many approvers it needs.
    pub quorum: i32,
    /// How many have approved.
    pub approvals_given: i32,
    /// The SHA-256 of the plan, in hexadecimal; a decision names it.
    pub plan_hash: String,
    /// The SHA-256 of the plan as the database has completed it, in hexadecimal.
    pub plan_snapshot_hash: String,
    /// Its state.
    pub state: ApprovalState,
    /// The rule that demands it.
    pub rule: String,
    /// Whether the rule itself approved.
    pub auto_approved: bool,
    /// What to read before a decision.
    pub runbook_ref: Option<String>,
    /// When it was requested.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// When it was decided.
    pub decided_at: Option<Timestamp>,
    /// The principal or service that decided.
    pub decided_by: Option<String>,
    /// The comment of the last vote, or the reason of another end.
    pub reason: Option<String>,
    /// When the start that it allowed used it up.
    pub consumed_at: Option<Timestamp>,
    /// Its votes, oldest first.
    pub votes: Vec<Vote>,
}
