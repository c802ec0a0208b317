//! The steps of executions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{ActionClass, Effects, StepJobState, StepState};
use crate::{Effect, Json, Operation, Page, Route, Shape, Timestamp};

/// List the steps of an execution, in the order of the plan
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepList {
    /// The id of the execution.
    pub execution_id: Uuid,
    /// Only steps in one of these states.
    pub state: Option<Vec<StepState>>,
}

impl Operation for StepList {
    const NAME: &str = "step_list";
    const ROUTE: Route = Route::get("/v1/executions/{execution_id}/steps", "executions");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Page<ExecutionStep>;
}

/// A step of an execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionStep {
    /// Its place in the plan, from 1.
    pub step_number: i32,
    /// Its id in the plan.
    pub step_id: String,
    /// Its state.
    pub state: StepState,
    /// What it does.
    pub action: String,
    /// What it may change.
    pub action_class: ActionClass,
    /// The type of its target.
    pub target_type: String,
    /// The target itself.
    pub target_ref: String,
    /// The kind of its job.
    pub kind: String,
    /// The executor that runs it; null if the kind decides.
    pub executor: Option<String>,
    /// What it means to run it twice.
    pub effects: Effects,
    /// The ids of the steps that must have succeeded before.
    pub needs: Vec<String>,
    /// The approval level that it needs, 0 to 3; 0 is none.
    pub approval_level: i32,
    /// The approval rule that decided this level.
    pub rule: String,
    /// The lock that it holds or waits for; null if it takes none.
    pub lock_key: Option<String>,
    /// The fencing number of its last run; null if it takes no lock.
    pub fence: Option<i64>,
    /// How long it may run, in seconds.
    pub timeout_seconds: i32,
    /// How often it may be attempted.
    pub attempts_max: Option<i32>,
    /// The number of its last attempt; 0 before the first.
    pub attempt: i32,
    /// Its job.
    pub job_id: Option<Uuid>,
    /// The state of its job while the step runs.
    pub job_state: Option<StepJobState>,
    /// The worker that runs it, or ran it last.
    pub worker: Option<String>,
    /// The execution whose result a retry took over for this step.
    pub carried_from: Option<Uuid>,
    /// When its job was enqueued.
    pub queued_at: Option<Timestamp>,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Milliseconds from its start to its end.
    pub duration_ms: Option<i64>,
    /// Its result.
    pub output_summary: Option<Json>,
    /// Where a larger result is.
    pub output_ref: Option<String>,
    /// The size of its result, in bytes.
    pub output_size_bytes: Option<i32>,
    /// The code of its error.
    pub error_code: Option<String>,
    /// The class of its error.
    pub error_class: Option<String>,
    /// The text of its error.
    pub error_message: Option<String>,
    /// The operator that decided about its unknown outcome.
    pub verdict_by: Option<String>,
    /// The reason of that decision.
    pub verdict_reason: Option<String>,
    /// Its place in the queue for its lock, from 1; null if it does not wait for a lock.
    pub waiting_place: Option<i64>,
    /// How to undo it, for people.
    pub compensation_note: Option<String>,
    /// The registered action that decided its class, level and lock; null if the action is not registered.
    pub registration: Option<String>,
    /// The approval level that the action itself demands, 0 to 3.
    pub level_min: i32,
    /// The section whose steps hold one lock together.
    pub section: Option<String>,
}
