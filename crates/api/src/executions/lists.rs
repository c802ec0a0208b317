//! Lists of executions and of what happened to one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{ActionClass, EndReason, ExecutionMode, ExecutionState, Parked, SlaClass, Stopping};
use crate::{Effect, Json, Operation, Page, Route, Shape, Timestamp};

/// List executions, newest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionList {
    /// Only executions in one of these states.
    pub state: Option<Vec<ExecutionState>>,
    /// Only executions that this principal requested.
    pub requested_by: Option<String>,
    /// Only executions with a step on this target: `type:ref` or `type:ref:action`, with `%` and `:` in the reference written
    /// `%25` and `%3A`.
    #[schemars(example = "host:web-1")]
    pub target: Option<String>,
    /// Only executions older than this one.
    pub before: Option<Uuid>,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of executions.
    #[serde(default = "executions_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn executions_default() -> i32 {
    50
}

impl Default for ExecutionList {
    fn default() -> ExecutionList {
        ExecutionList {
            state: None,
            requested_by: None,
            target: None,
            before: None,
            cursor: None,
            limit: executions_default(),
        }
    }
}

impl Operation for ExecutionList {
    const NAME: &str = "execution_list";
    const ROUTE: Route = Route::get("/v1/executions", "executions");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("before", "execution_id")];
    type Answer = Page<Execution>;
}

/// An execution in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Execution {
    /// Its id.
    pub execution_id: Uuid,
    /// Its state.
    pub state: ExecutionState,
    /// What it is for.
    pub purpose: String,
    /// The principal that submitted it.
    pub requested_by: String,
    /// The SHA-256 of its plan, in hexadecimal.
    pub plan_hash: String,
    /// How long the work is expected to take.
    pub sla_class: SlaClass,
    /// The strictest action class of its steps.
    pub action_class: ActionClass,
    /// Whether the submitter waits for its end.
    pub mode: ExecutionMode,
    /// Its priority; higher goes first.
    pub priority: i32,
    /// The approval level that it needs, 0 to 3; 0 is none.
    pub approval_level: i32,
    /// The approval rule that decided this level.
    pub rule: String,
    /// Why it does not start although it is approved; null if nothing holds it back.
    pub parked: Option<Parked>,
    /// Why no more of its steps start; null if it is not stopping.
    pub stopping: Option<Stopping>,
    /// Why it ended as it did.
    pub reason_code: Option<EndReason>,
    /// What made the plan.
    pub generator: Option<String>,
    /// What it belongs together with.
    pub correlation_id: Option<String>,
    /// The number of its steps.
    pub step_count: i32,
    /// The number of steps that have not ended.
    pub steps_open: i32,
    /// The number of steps that succeeded.
    pub steps_succeeded: i32,
    /// The number of steps that failed.
    pub steps_failed: i32,
    /// The number of steps that never started.
    pub steps_skipped: i32,
    /// The number of steps that were cancelled.
    pub steps_cancelled: i32,
    /// The number of steps whose outcome is not known.
    pub steps_unknown: i32,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Milliseconds from its submission to its start.
    pub queue_wait_ms: Option<i64>,
    /// Milliseconds from its start to its end.
    pub duration_ms: Option<i64>,
    /// The error that made it fail.
    pub error_message: Option<String>,
}

/// List the events of an execution, oldest first
///
/// Each event is chained to the one before by its hash.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionTimeline {
    /// The id of the execution.
    pub execution_id: Uuid,
    /// Only events after this sequence number.
    #[schemars(range(min = 0))]
    pub after: Option<i32>,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of events.
    #[serde(default = "events_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn events_default() -> i32 {
    1000
}

impl Operation for ExecutionTimeline {
    const NAME: &str = "execution_timeline";
    const ROUTE: Route = Route::get("/v1/executions/{execution_id}/timeline", "executions");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("after", "seq")];
    type Answer = Page<ExecutionEvent>;
}

/// An event of an execution: one link of its chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionEvent {
    /// Its sequence number, from 1.
    pub seq: i32,
    /// When it happened.
    pub at: Timestamp,
    /// What happened, such as `execution_approved`.
    pub kind: String,
    /// The principal or service that did it.
    pub actor: Option<String>,
    /// The step that it is about; null if it is about the execution.
    pub step_id: Option<String>,
    /// The details, which depend on the kind.
    pub data: Option<Json>,
    /// The SHA-256 of this event and the hash of the one before, in hexadecimal.
    pub hash: String,
}
