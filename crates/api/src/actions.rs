//! Registered actions: what an action is, and the least that every step with it must have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::executions::{ActionClass, LockScope};
use crate::governed::{GOVERNED_STATUSES, Governed, Removed};
use crate::{Effect, Operation, Page, Route, Shape, Timestamp};

/// List the registered actions, by name
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionList {}

impl Operation for ActionList {
    const NAME: &str = "action_list";
    const ROUTE: Route = Route::get("/v1/actions", "executions");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Page<Action>;
}

/// A registration of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Action {
    /// The name of the action, or a glob: `*` stands for anything.
    pub name: String,
    /// How far it reaches.
    pub action_class: ActionClass,
    /// Kinds of jobs that may carry it, with `*` for anything. Null: only the kind that has the name of the action.
    pub kinds: Option<Vec<String>>,
    /// The least approval level of a step, 0 to 3.
    pub level_min: i32,
    /// The least that a step locks.
    pub lock_scope: LockScope,
    /// Whether the payload of a step is restricted.
    pub payload_restricted: bool,
    /// What it is for.
    pub note: String,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// The principal that changed it.
    pub updated_by: String,
}

/// Show what applies to steps with this action, and which registration says so
///
/// The exact name decides, else the glob with the most literal characters. An action that is not registered counts as the
/// strictest, or in open mode (`executions.actions.open`) as what the plan says.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionShow {
    /// The action.
    pub name: String,
    /// The kind of the job that carries it; the name of the action if left out.
    pub kind: Option<String>,
}

impl Operation for ActionShow {
    const NAME: &str = "action_show";
    const ROUTE: Route = Route::get("/v1/actions/{name}", "executions");
    const EFFECT: Effect = Effect::Reads;
    type Answer = ActionRequirements;
}

/// What applies to steps with an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActionRequirements {
    /// The action.
    pub action: String,
    /// Whether a registration applies to it.
    pub registered: bool,
    /// The registrations that apply, separated by commas; null if there is none.
    pub registration: Option<String>,
    /// Whether the tenant is in open mode (`executions.actions.open`): actions that are not registered are what the plan says.
    pub open: bool,
    /// The least class of a step; null if only the plan says it.
    pub action_class: Option<ActionClass>,
    /// The least approval level of a step, 0 to 3.
    pub level_min: i32,
    /// The least that a step locks.
    pub lock_scope: LockScope,
    /// Whether the payload of a step is restricted.
    pub payload_restricted: bool,
    /// Kinds of jobs that may carry it, with `*` for anything.
    pub kinds: Vec<String>,
    /// Whether a job of the kind in question may carry it.
    pub kind_allowed: bool,
}

/// Register an action, or replace its registration
///
/// Where the tenant requires it (`governance.changes.need_approval`) the answer is 202, with a change that waits for a second
/// admin: `pending` with its `change_id`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionSet {
    /// The name of the action, or a glob: `*` stands for anything. It has no colon and no comma.
    pub name: String,
    /// The registration.
    pub spec: ActionSpec,
}

impl Operation for ActionSet {
    const NAME: &str = "action_set";
    const ROUTE: Route = Route::put("/v1/actions/{name}", "executions")
        .spec("spec")
        .answers(GOVERNED_STATUSES);
    // Each call may make a proposal of its own.
    const EFFECT: Effect = Effect::Changes;
    type Answer = Governed<Action>;

    fn status(answer: &Self::Answer) -> u16 {
        answer.status()
    }
}

/// What an action is, and the least that every step with it must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionSpec {
    /// How far it reaches.
    pub action_class: ActionClass,
    /// Kinds of jobs that may carry it, with `*` for anything. If left out: only the kind that has the name of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub kinds: Option<Vec<String>>,
    /// The least approval level of a step; 0 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 3))]
    pub level_min: Option<i32>,
    /// The least that a step locks. If left out: `none` for a read, else `target`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_scope: Option<LockScope>,
    /// Whether the payload of a step is restricted; false if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_restricted: Option<bool>,
    /// What it is for, in at most 2000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    pub note: Option<String>,
}

impl ActionSpec {
    /// An action of this class, with the defaults for everything else.
    pub fn of(action_class: ActionClass) -> ActionSpec {
        ActionSpec {
            action_class,
            kinds: None,
            level_min: None,
            lock_scope: None,
            payload_restricted: None,
            note: None,
        }
    }
}

/// Remove the registration of an action
///
/// The action then matches another glob, or counts as not registered. Where the tenant requires it
/// (`governance.changes.need_approval`) the answer is 202, with a change that waits for a second admin.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionDelete {
    /// The name or glob that is registered.
    pub name: String,
}

impl Operation for ActionDelete {
    const NAME: &str = "action_delete";
    const ROUTE: Route = Route::delete("/v1/actions/{name}", "executions").answers(GOVERNED_STATUSES);
    const EFFECT: Effect = Effect::Destroys;
    type Answer = Governed<Removed>;

    fn status(answer: &Self::Answer) -> u16 {
        answer.status()
    }
}
