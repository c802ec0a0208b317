//! What would become of a plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActionClass, Effects, LockScope, StartWindow};
use crate::jobs::Classification;
use crate::{Effect, Json, Operation, Route, Timestamp};

/// Preview a plan: the approvals, locks and time that it would need
///
/// Refuses what a submission would be refused for, except a missing runbook, which `runbook_missing` reports. Changes nothing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionPreview {
    /// The plan: a JSON document by /plan.schema.json.
    #[schemars(with = "crate::values::JsonObject", example = super::example_plan())]
    pub plan: Json,
    /// The person or program that it would be submitted for; rules for this principal apply too.
    pub on_behalf_of: Option<String>,
}

impl Operation for ExecutionPreview {
    const NAME: &str = "execution_preview";
    const ROUTE: Route = Route::post("/v1/executions/preview", "executions");
    const EFFECT: Effect = Effect::Reads;
    type Answer = PlanPreview;
}

/// What a plan would need if it were submitted now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanPreview {
    /// The SHA-256 of the canonical plan, in hexadecimal.
    pub plan_hash: String,
    /// The approval level that it needs, 0 to 3; 0 is none.
    pub approval_level: i32,
    /// The approval rule that decides this level.
    pub rule: String,
    /// Roles that must be among the approvers; any if empty.
    pub roles: Vec<String>,
    /// How many approvers it needs.
    pub quorum: i32,
    /// How long the approval may take, in seconds.
    pub expires_seconds: i32,
    /// When it may start; null if at any time.
    pub window: Option<StartWindow>,
    /// The next time at which its window is open; now if it has none.
    pub opens_at: Timestamp,
    /// The reason of the freeze of the tenant; null if it is not frozen.
    pub frozen: Option<String>,
    /// Whether the level demands a runbook that the plan does not name: a submission would be refused.
    pub runbook_missing: bool,
    /// How long the execution may take, in seconds.
    pub timeout_seconds: i32,
    /// Warnings about its time, one sentence each.
    pub warnings: Vec<String>,
    /// Its sections: steps that hold one lock together.
    pub sections: Vec<PreviewSection>,
    /// Its steps, in the order of the plan.
    pub steps: Vec<PreviewStep>,
}

/// A section of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreviewSection {
    /// Its name in the plan.
    pub section: String,
    /// The target that it locks.
    pub target: String,
    /// The key of its lock.
    pub lock_key: String,
    /// The ids of its steps, in the order in which they run.
    pub steps: Vec<String>,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PreviewStep {
    /// Its id in the plan.
    pub step_id: String,
    /// What it does.
    pub action: String,
    /// What it may change.
    pub action_class: ActionClass,
    /// The registered action that decides its class, level and lock; null if the action is not registered.
    pub registration: Option<String>,
    /// The approval level that the action itself demands, 0 to 3.
    pub level_min: i32,
    /// What it has for itself while it runs.
    pub lock_scope: LockScope,
    /// Who may see its payload.
    pub payload_classification: Classification,
    /// The approval rule that applies to it.
    pub rule: String,
    /// The approval level that it needs, 0 to 3; 0 is none.
    pub level: i32,
    /// What it means to run it twice.
    pub effects: Effects,
    /// How often it may be attempted; null if the kind decides.
    pub attempts_max: Option<i32>,
    /// How long it may run, in seconds.
    pub timeout_seconds: i32,
    /// The key of its lock; null if it takes none.
    pub lock_key: Option<String>,
    /// The owner of that lock now; null if it is free.
    pub held_by: Option<String>,
}
