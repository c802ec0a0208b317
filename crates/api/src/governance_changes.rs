//! Changes of what governs plans (actions, approval rules, target types, kinds, settings) that wait for a second admin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::governed::{ChangeOperation, ChangeState, ChangeSubject};
use crate::{Effect, Json, Operation, Page, Route, Shape, Timestamp, words};

words! {
    /// A decision about a proposed change.
    pub enum ChangeDecision {
        /// It is put into force.
        Approve = "approve",
        /// It is not.
        Reject = "reject",
    }
}

words! {
    /// Which governance changes to list.
    pub enum ChangeFilter {
        /// Those that wait for a second admin.
        Pending = "pending",
        /// Those that were approved.
        Approved = "approved",
        /// Those that were rejected.
        Rejected = "rejected",
        /// All of them.
        Any = "any",
    }
}

/// List proposed changes of actions, rules, target types, kinds and governed settings, newest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GovernanceChangeList {
    /// Only changes in one of these states. `any` stands for all of them.
    #[serde(default = "pending")]
    pub state: Vec<ChangeFilter>,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of changes.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn pending() -> Vec<ChangeFilter> {
    vec![ChangeFilter::Pending]
}

fn limit_default() -> i32 {
    100
}

impl Default for GovernanceChangeList {
    fn default() -> GovernanceChangeList {
        GovernanceChangeList {
            state: pending(),
            cursor: None,
            limit: limit_default(),
        }
    }
}

impl Operation for GovernanceChangeList {
    const NAME: &str = "governance_change_list";
    const ROUTE: Route = Route::get("/v1/governance-changes", "executions");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("before", "proposed_at"), ("before_id", "change_id")];
    type Answer = Page<GovernanceChange>;
}

/// A change that was proposed, and what was decided about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GovernanceChange {
    /// Its id.
    pub change_id: Uuid,
    /// What it is about.
    pub subject: ChangeSubject,
    /// The name of the action, rule, type, kind or setting.
    pub name: String,
    /// What it does to it.
    pub operation: ChangeOperation,
    /// What was in force when it was proposed; null if there was nothing.
    pub old: Option<Json>,
    /// What it puts into force; null if it removes it.
    pub new: Option<Json>,
    /// Whether it was decided.
    pub state: ChangeState,
    /// When it was proposed.
    pub proposed_at: Timestamp,
    /// The principal that proposed it.
    pub proposed_by: String,
    /// The principal for whom it was proposed, which cannot approve it either; null if there is none.
    pub on_behalf_of: Option<String>,
    /// When it was decided.
    pub decided_at: Option<Timestamp>,
    /// The principal that decided.
    pub decided_by: Option<String>,
    /// How that principal proved its identity: the prefix of its key, or its login.
    pub auth_method: Option<String>,
    /// The reason of the decision.
    pub comment: Option<String>,
}

/// Approve or reject a proposed change
///
/// An approved change is in force at once. Its proposer cannot approve it, nor an agent, nor a key or login that the proposer made
/// or that made the proposer's.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GovernanceChangeDecide {
    /// The id of the change.
    pub change_id: Uuid,
    /// The decision.
    pub decision: ChangeDecision,
    /// The reason; a rejection needs one.
    pub comment: Option<String>,
}

impl Operation for GovernanceChangeDecide {
    const NAME: &str = "governance_change_decide";
    const ROUTE: Route = Route::post("/v1/governance-changes/{change_id}/decide", "executions");
    const EFFECT: Effect = Effect::Changes;
    type Answer = GovernanceChange;
}
