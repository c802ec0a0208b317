//! Approvals: list, show, votes, decide.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::executions::ExecutionState;
use crate::{Effect, Operation, Page, Route, Shape, Timestamp, words};

words! {
    /// The state of an approval.
    pub enum ApprovalState {
        /// It waits for decisions.
        Pending = "pending",
        /// Enough approvers have approved.
        Approved = "approved",
        /// An approver rejected.
        Rejected = "rejected",
        /// It was not decided in time.
        Expired = "expired",
        /// Its execution was called off before.
        Withdrawn = "withdrawn",
    }
}

words! {
    /// Which approvals to list.
    pub enum ApprovalFilter {
        /// Those that can be decided now.
        Pending = "pending",
        /// Those that were approved.
        Approved = "approved",
        /// Those that were rejected.
        Rejected = "rejected",
        /// Those that were not decided in time.
        Expired = "expired",
        /// Those whose execution was called off before.
        Withdrawn = "withdrawn",
        /// All of them.
        Any = "any",
    }
}

words! {
    /// A decision about a plan.
    pub enum Decision {
        /// It may run.
        Approve = "approve",
        /// It may not run.
        Reject = "reject",
    }
}

/// List approvals, oldest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalList {
    /// Only approvals of this execution.
    pub execution_id: Option<Uuid>,
    /// Only approvals in one of these states. `any` stands for all of them.
    #[serde(default = "state_default")]
    pub state: Vec<ApprovalFilter>,
    /// Only approvals that were requested after this time.
    pub after: Option<Timestamp>,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of approvals.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn state_default() -> Vec<ApprovalFilter> {
    vec![ApprovalFilter::Pending]
}

fn limit_default() -> i32 {
    100
}

impl Default for ApprovalList {
    fn default() -> ApprovalList {
        ApprovalList {
            execution_id: None,
            state: state_default(),
            after: None,
            cursor: None,
            limit: limit_default(),
        }
    }
}

impl Operation for ApprovalList {
    const NAME: &str = "approval_list";
    const ROUTE: Route = Route::get("/v1/approvals", "approvals");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("after", "created_at"), ("after_id", "approval_id")];
    type Answer = Page<Approval>;
}

/// An approval in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// Its id.
    pub approval_id: Uuid,
    /// The execution that it is about.
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
}

/// Show everything about an approval: its plan, what is missing, and the votes so far
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalShow {
    /// The id of the approval.
    pub approval_id: Uuid,
}

impl Operation for ApprovalShow {
    const NAME: &str = "approval_show";
    const ROUTE: Route = Route::get("/v1/approvals/{approval_id}", "approvals");
    const EFFECT: Effect = Effect::Reads;
    type Answer = ApprovalDetails;
}

/// Everything about an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalDetails {
    /// Its id.
    pub approval_id: Uuid,
    /// The execution that it is about.
    pub execution_id: Uuid,
    /// The step that it is about; null if it is about the whole plan.
    pub step_id: Option<String>,
    /// The SHA-256 of the plan, in hexadecimal; a decision names it.
    pub plan_hash: String,
    /// The SHA-256 of the plan as the database has completed it, in hexadecimal.
    pub plan_snapshot_hash: String,
    /// The level that an approver needs, 0 to 3; 0 is approved by the rule itself.
    pub level: i32,
    /// Roles that must be among the approvers; any if empty.
    pub roles: Vec<String>,
    /// Those of the roles that no approver so far has.
    pub roles_missing: Vec<String>,
    /// How many approvers it needs.
    pub quorum: i32,
    /// How many have approved.
    pub approvals_given: i32,
    /// The rule that demands it.
    pub rule: String,
    /// Whether the rule itself approved.
    pub auto_approved: bool,
    /// What to read before a decision.
    pub runbook_ref: Option<String>,
    /// Its state.
    pub state: ApprovalState,
    /// When it was requested.
    pub created_at: Timestamp,
    /// When it is escalated if it is not decided.
    pub escalate_at: Option<Timestamp>,
    /// When it was escalated.
    pub escalated_at: Option<Timestamp>,
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
    /// What the execution is for.
    pub purpose: String,
    /// The principal that submitted the execution.
    pub requested_by: String,
    /// The e-mail address of that principal.
    pub requested_by_email: Option<String>,
    /// The person or program that the execution was submitted for.
    pub on_behalf_of: Option<String>,
    /// The state of the execution.
    pub execution_state: ExecutionState,
    /// The execution that this one replaces.
    pub supersedes: Option<Uuid>,
    /// The execution that this one retries.
    pub retry_of: Option<Uuid>,
    /// Its votes, oldest first.
    pub votes: Vec<Vote>,
}

/// List the votes of an approval, oldest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalVotesOf {
    /// The id of the approval.
    pub approval_id: Uuid,
}

impl Operation for ApprovalVotesOf {
    const NAME: &str = "approval_votes_of";
    const ROUTE: Route = Route::get("/v1/approvals/{approval_id}/votes", "approvals");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Page<Vote>;
}

/// A vote about an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Vote {
    /// The approver.
    pub principal: String,
    /// The decision.
    pub decision: Decision,
    /// The reason.
    pub comment: Option<String>,
    /// The SHA-256 of the plan that the approver decided about, in hexadecimal.
    pub plan_hash: String,
    /// How the approver was authenticated: `api_key` and the prefix of the key, or `login` and the name of the login.
    pub auth_method: String,
    /// The principals that made this key or login.
    pub auth_makers: Vec<String>,
    /// The HTTP request and the address of the client, or the address of the database client.
    pub source: Option<String>,
    /// The roles of the approver.
    pub roles: Vec<String>,
    /// The level up to which the approver approves, 1 to 3.
    pub level: i32,
    /// The person or program that the vote was given for.
    pub on_behalf_of: Option<String>,
    /// When it was given.
    pub at: Timestamp,
}

/// Approve or reject exactly the plan with this hash
///
/// A requester of the plan cannot decide about it, nor can an agent, whatever its roles.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalDecide {
    /// The id of the approval.
    pub approval_id: Uuid,
    /// The decision.
    pub decision: Decision,
    /// The SHA-256 of the plan that was looked at, in hexadecimal; if the plan has another, the decision is refused.
    #[schemars(length(equal = 64))]
    pub plan_hash: String,
    /// The reason; a rejection needs one.
    pub comment: Option<String>,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for ApprovalDecide {
    const NAME: &str = "approval_decide";
    const ROUTE: Route = Route::post("/v1/approvals/{approval_id}/decide", "approvals");
    const EFFECT: Effect = Effect::Changes;
    type Answer = ApprovalDecided;
}

/// An approval after a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalDecided {
    /// The approval.
    pub approval_id: Uuid,
    /// The execution that it is about.
    pub execution_id: Uuid,
    /// The state of the approval.
    pub state: ApprovalState,
    /// How many have approved.
    pub approvals_given: i32,
    /// How many approvers it needs.
    pub quorum: i32,
    /// Roles that no approver so far has.
    pub roles_missing: Vec<String>,
    /// The state of the execution.
    pub execution_state: ExecutionState,
}
