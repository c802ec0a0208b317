//! Rules about which plans need which approval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::executions::{ActionClass, SlaClass, Window};
use crate::governed::{GOVERNED_STATUSES, Governed, Removed};
use crate::principals::PrincipalKind;
use crate::{Effect, Operation, Page, Route, Shape, Timestamp};

/// List the approval rules, in the order in which they are tried
///
/// The first rule that matches a step decides about it. The built-in rule, which comes last, is not in the list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRuleList {}

impl Operation for ApprovalRuleList {
    const NAME: &str = "approval_rule_list";
    const ROUTE: Route = Route::get("/v1/approval-rules", "approvals");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Page<ApprovalRule>;
}

/// A rule: which steps it matches, and which approval they need. A list that is null matches everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRule {
    /// Its name.
    pub name: String,
    /// Its place in the order in which rules are tried; a smaller number is tried first.
    pub position: i32,
    /// Classes of actions.
    pub action_classes: Option<Vec<ActionClass>>,
    /// Actions, with `*` for anything.
    pub actions: Option<Vec<String>>,
    /// Kinds of jobs, with `*` for anything.
    pub kinds: Option<Vec<String>>,
    /// Executors, with `*` for anything.
    pub executors: Option<Vec<String>>,
    /// Types of targets, with `*` for anything.
    pub target_types: Option<Vec<String>>,
    /// References to targets, with `*` for anything.
    pub target_refs: Option<Vec<String>>,
    /// SLA classes of plans.
    pub sla_classes: Option<Vec<SlaClass>>,
    /// Requesters of plans, with `*` for anything.
    pub requesters: Option<Vec<String>>,
    /// Kinds of requesters.
    pub requester_kinds: Option<Vec<PrincipalKind>>,
    /// The approval level. 0: none is needed; 1: one approval; 2: plan review with a runbook; 3: also each step.
    pub level: i32,
    /// An approver needs one of these roles; empty: none.
    pub roles: Vec<String>,
    /// How many principals must approve.
    pub quorum: i32,
    /// How long an approval may stay pending, in seconds.
    pub expires_seconds: i32,
    /// When approved work may start; null: at any time.
    pub start_window: Option<Window>,
    /// What it is for.
    pub note: String,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// The principal that changed it.
    pub updated_by: String,
}

/// Make an approval rule, or replace the one of this name
///
/// Where the tenant requires it (`governance.changes.need_approval`) the answer is 202, with a change that waits for a second
/// admin: `pending` with its `change_id`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRuleSet {
    /// The name of the rule; `default` is the built-in one and cannot be set.
    pub name: String,
    /// The rule.
    pub spec: ApprovalRuleSpec,
}

impl Operation for ApprovalRuleSet {
    const NAME: &str = "approval_rule_set";
    const ROUTE: Route = Route::put("/v1/approval-rules/{name}", "approvals")
        .spec("spec")
        .answers(GOVERNED_STATUSES);
    // Each call may make a proposal of its own.
    const EFFECT: Effect = Effect::Changes;
    type Answer = Governed<ApprovalRule>;

    fn status(answer: &Self::Answer) -> u16 {
        answer.status()
    }
}

/// Which steps a rule matches, and which approval they need. A list that is left out matches everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRuleSpec {
    /// The approval level. 0: none is needed; 1: one approval; 2: plan review with a runbook; 3: also each step.
    #[schemars(range(min = 0, max = 3))]
    pub level: i32,
    /// Its place: rules are tried in this order, and the first that matches a step decides about it. After all others if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub position: Option<i32>,
    /// For steps of these classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub action_classes: Option<Vec<ActionClass>>,
    /// For these actions, with `*` for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub actions: Option<Vec<String>>,
    /// For jobs of these kinds, with `*` for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub kinds: Option<Vec<String>>,
    /// For these executors, with `*` for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub executors: Option<Vec<String>>,
    /// For targets of these types, with `*` for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub target_types: Option<Vec<String>>,
    /// For these targets, with `*` for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub target_refs: Option<Vec<String>>,
    /// For plans of these SLA classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub sla_classes: Option<Vec<SlaClass>>,
    /// For plans of these requesters, with `*` for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub requesters: Option<Vec<String>>,
    /// For requesters of these kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub requester_kinds: Option<Vec<PrincipalKind>>,
    /// An approver needs one of these roles; none if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 100))]
    pub roles: Option<Vec<String>>,
    /// How many principals must approve; 1 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10))]
    pub quorum: Option<i32>,
    /// How long an approval may stay pending, in seconds; a day if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 2_592_000))]
    pub expires_seconds: Option<i32>,
    /// When approved work may start; at any time if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// What it is for, in at most 2000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    pub note: Option<String>,
}

impl ApprovalRuleSpec {
    /// A rule with this level that matches everything, with the defaults for everything else.
    pub fn at_level(level: i32) -> ApprovalRuleSpec {
        ApprovalRuleSpec {
            level,
            position: None,
            action_classes: None,
            actions: None,
            kinds: None,
            executors: None,
            target_types: None,
            target_refs: None,
            sla_classes: None,
            requesters: None,
            requester_kinds: None,
            roles: None,
            quorum: None,
            expires_seconds: None,
            window: None,
            note: None,
        }
    }
}

/// Remove an approval rule
///
/// Where the tenant requires it (`governance.changes.need_approval`) the answer is 202, with a change that waits for a second
/// admin.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRuleDelete {
    /// The name of the rule.
    pub name: String,
}

impl Operation for ApprovalRuleDelete {
    const NAME: &str = "approval_rule_delete";
    const ROUTE: Route = Route::delete("/v1/approval-rules/{name}", "approvals").answers(GOVERNED_STATUSES);
    const EFFECT: Effect = Effect::Destroys;
    type Answer = Governed<Removed>;

    fn status(answer: &Self::Answer) -> u16 {
        answer.status()
    }
}
