//! What operators and requesters do about executions: cancel, withdraw, resolve, retry, close, freeze.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{EndReason, ExecutionState, Parked, PlanDifference, RetryMode, StepState, Stopping, Verdict};
use crate::{Effect, Json, Operation, Route, Timestamp};

/// Cancel an execution between its steps
///
/// Steps that have not started never do; running ones are asked to stop. The execution is cancelled when the last of them has ended.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionCancel {
    /// The id of the execution.
    pub execution_id: Uuid,
    /// The reason, kept with the execution; at most 200 characters.
    #[schemars(length(min = 1, max = 200))]
    pub reason: String,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for ExecutionCancel {
    const NAME: &str = "execution_cancel";
    const ROUTE: Route = Route::post("/v1/executions/{execution_id}/cancel", "executions");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = ExecutionCancelled;
}

/// An execution that was cancelled, or is stopping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionCancelled {
    /// The execution.
    pub execution_id: Uuid,
    /// Its state: `running` while steps are under way.
    pub state: ExecutionState,
    /// Why no more of its steps start; null if it had not started.
    pub stopping: Option<Stopping>,
    /// The number of steps that have not ended.
    pub steps_open: i32,
}

/// Withdraw an execution before it starts
///
/// Only its requester can; an operator cancels it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionWithdraw {
    /// The id of the execution.
    pub execution_id: Uuid,
    /// The reason, kept with the execution; at most 200 characters.
    #[schemars(length(min = 1, max = 200))]
    pub reason: String,
}

impl Operation for ExecutionWithdraw {
    const NAME: &str = "execution_withdraw";
    const ROUTE: Route = Route::post("/v1/executions/{execution_id}/withdraw", "executions");
    const EFFECT: Effect = Effect::Changes;
    type Answer = ExecutionWithdrawn;
}

/// An execution that was withdrawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionWithdrawn {
    /// The execution.
    pub execution_id: Uuid,
    /// Its state: `cancelled`.
    pub state: ExecutionState,
    /// Why it ended: `withdrawn`.
    pub reason_code: EndReason,
}

/// Decide about a step whose outcome is not known
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionResolve {
    /// The id of the execution.
    pub execution_id: Uuid,
    /// The id of the step in the plan.
    pub step_id: String,
    /// What was found out; `retry` runs the step once more.
    pub verdict: Verdict,
    /// How it was found out, kept with the step; at most 200 characters.
    #[schemars(length(min = 1, max = 200))]
    pub reason: String,
    /// The result of the step.
    pub result: Option<Json>,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for ExecutionResolve {
    const NAME: &str = "execution_resolve";
    const ROUTE: Route = Route::post("/v1/executions/{execution_id}/resolve", "executions");
    const EFFECT: Effect = Effect::Changes;
    type Answer = ExecutionResolved;
}

/// A step about which was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionResolved {
    /// The execution.
    pub execution_id: Uuid,
    /// The state of the execution.
    pub state: ExecutionState,
    /// The step.
    pub step_id: String,
    /// The state of the step.
    pub step_state: StepState,
}

/// Retry an execution that did not succeed: run its plan again as a new execution
///
/// The new execution has approvals of its own and takes over the idempotency key. An execution is retried once.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionRetry {
    /// The id of the execution.
    pub execution_id: Uuid,
    /// How much of the plan to run: `resume`, if left out, or `restart`.
    pub mode: Option<RetryMode>,
    /// The reason, kept with the execution; at most 200 characters.
    #[schemars(length(min = 1, max = 200))]
    pub reason: Option<String>,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for ExecutionRetry {
    const NAME: &str = "execution_retry";
    const ROUTE: Route = Route::post("/v1/executions/{execution_id}/retry", "executions");
    const EFFECT: Effect = Effect::Changes;
    type Answer = ExecutionRetried;
}

/// The new execution that a retry made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionRetried {
    /// The new execution.
    pub execution_id: Uuid,
    /// Its state.
    pub state: ExecutionState,
    /// The SHA-256 of its plan, in hexadecimal; a decision about the plan names it.
    pub plan_hash: String,
    /// Always false: a retry makes a new execution.
    pub duplicate: bool,
    /// Always false: a retry supersedes nothing.
    pub unchanged: bool,
    /// The approval level that it needs, 0 to 3; 0 is none.
    pub approval_level: i32,
    /// The approval rule that decided this level.
    pub rule: String,
    /// The approval that it waits for.
    pub approval_id: Option<Uuid>,
    /// Why it does not start although it is approved; null if nothing holds it back.
    pub parked: Option<Parked>,
    /// It does not start before this time.
    pub start_after: Option<Timestamp>,
    /// It does not start after this time.
    pub start_before: Option<Timestamp>,
    /// Always null: its plan is that of the execution that it retries.
    pub difference: Option<PlanDifference>,
    /// The execution that it retries.
    pub retry_of: Uuid,
    /// The number of steps whose success it takes over.
    pub carried: i32,
}

/// Close an execution that has partially failed, and free its key
///
/// It cannot be retried any more. Its dead letter is closed too.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionClose {
    /// The id of the execution.
    pub execution_id: Uuid,
    /// The reason, kept with the execution; at most 200 characters.
    #[schemars(length(min = 1, max = 200))]
    pub reason: String,
}

impl Operation for ExecutionClose {
    const NAME: &str = "execution_close";
    const ROUTE: Route = Route::post("/v1/executions/{execution_id}/close", "executions");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = ExecutionClosed;
}

/// An execution that was closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionClosed {
    /// The execution.
    pub execution_id: Uuid,
    /// Its state: `partially_failed`.
    pub state: ExecutionState,
    /// Whether it is closed.
    pub closed: bool,
    /// The execution that has its idempotency key now; null if the key is free.
    pub key_held_by: Option<Uuid>,
}

/// Freeze the tenant: no approved execution starts
///
/// Running executions go on. A freeze replaces the one before it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionFreeze {
    /// The reason, shown for every execution that it holds back; at most 200 characters.
    #[schemars(length(min = 1, max = 200))]
    pub reason: String,
    /// When the freeze ends by itself; left out, it lasts until it is lifted.
    pub until: Option<Timestamp>,
}

impl Operation for ExecutionFreeze {
    const NAME: &str = "execution_freeze";
    const ROUTE: Route = Route::post("/v1/executions/freeze", "executions");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = ExecutionFrozen;
}

/// The freeze that is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionFrozen {
    /// Whether the tenant is frozen: true.
    pub frozen: bool,
    /// The reason.
    pub reason: String,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
}

/// Lift the freeze of the tenant
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionUnfreeze {
    /// The reason; at most 200 characters.
    #[schemars(length(min = 1, max = 200))]
    pub reason: String,
}

impl Operation for ExecutionUnfreeze {
    const NAME: &str = "execution_unfreeze";
    const ROUTE: Route = Route::post("/v1/executions/unfreeze", "executions");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = ExecutionUnfrozen;
}

/// The tenant without a freeze.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionUnfrozen {
    /// Whether the tenant is frozen: false.
    pub frozen: bool,
    /// Whether a freeze was in force.
    pub was_frozen: bool,
}
