//! Approvals: who said that a plan may run, and the rules about who must.

use serde_json::Value;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// What somebody has to decide, or has decided.
    pub struct Approval {
        /// The approval.
        pub approval_id: Uuid,
        /// Of this execution.
        pub execution_id: Uuid,
        /// Of this step only.
        pub step_id: Option<String>,
        /// What the execution is for.
        pub purpose: String,
        /// Who submitted it.
        pub requested_by: String,
        /// Where to write to them.
        pub requested_by_email: Option<String>,
        /// How high an approver it needs.
        pub level: i32,
        /// The roles that must be there among those who approve; none: any.
        pub roles: Vec<String>,
        /// How many must approve.
        pub quorum: i32,
        /// How many have.
        pub approvals_given: i32,
        /// The SHA-256 of the plan, which a decision names.
        pub plan_hash: String,
        /// The SHA-256 of what the database made of it.
        pub plan_snapshot_hash: String,
        /// `pending`, `approved`, `rejected`, `expired` or `withdrawn`.
        pub state: String,
        /// The rule that asked for it.
        pub rule: String,
        /// Whether the rule itself approved.
        pub auto_approved: bool,
        /// What to read before deciding.
        pub runbook_ref: Option<String>,
        /// Since when it is open.
        pub created_at: Timestamp,
        /// Until when.
        pub expires_at: Option<Timestamp>,
        /// When it was decided.
        pub decided_at: Option<Timestamp>,
        /// By whom, or by what.
        pub decided_by: Option<String>,
        /// What was said about it.
        pub reason: Option<String>,
        /// When the start that it allowed used it up.
        pub consumed_at: Option<Timestamp>,
    }
}

row! {
    /// What one person decided.
    pub struct Vote {
        /// Who.
        pub principal: String,
        /// `approve` or `reject`.
        pub decision: String,
        /// Why.
        pub comment: Option<String>,
        /// The hash they saw.
        pub plan_hash: String,
        /// How they proved who they are.
        pub auth_method: String,
        /// Who had made the key, or bound the login, by which they came.
        pub auth_makers: Vec<String>,
        /// From where.
        pub source: Option<String>,
        /// The roles they had.
        pub roles: Vec<String>,
        /// Up to which level they approve.
        pub level: i32,
        /// For whom.
        pub on_behalf_of: Option<String>,
        /// When.
        pub at: Timestamp,
    }
}

row! {
    /// Who must approve what. A list that is not there matches everything.
    pub struct ApprovalRule {
        /// Its name.
        pub name: String,
        /// Rules are asked in this order; the first that matches a step decides about it.
        pub position: i32,
        /// For steps of these classes.
        pub action_classes: Option<Vec<String>>,
        /// For these actions, with `*` for anything.
        pub actions: Option<Vec<String>>,
        /// For jobs of these kinds, with `*` for anything.
        pub kinds: Option<Vec<String>>,
        /// For these executors, with `*` for anything.
        pub executors: Option<Vec<String>>,
        /// For targets of these types, with `*` for anything.
        pub target_types: Option<Vec<String>>,
        /// For these targets, with `*` for anything.
        pub target_refs: Option<Vec<String>>,
        /// For plans of these SLA classes.
        pub sla_classes: Option<Vec<String>>,
        /// For plans of these requesters, with `*` for anything.
        pub requesters: Option<Vec<String>>,
        /// For requesters of these kinds.
        pub requester_kinds: Option<Vec<String>>,
        /// 0: nobody; 1: one approver; 2: by the runbook; 3: each step too.
        pub level: i32,
        /// Roles of which each must be there among those who approve; none: any.
        pub roles: Vec<String>,
        /// So many must approve.
        pub quorum: i32,
        /// So long they may take.
        pub expires_seconds: i32,
        /// When approved work may start.
        pub start_window: Option<Value>,
        /// A word about it.
        pub note: String,
        /// When it was last changed.
        pub updated_at: Timestamp,
        /// By whom.
        pub updated_by: String,
    }
}

/// A decision.
#[derive(Debug, Clone, Default)]
pub struct Decision {
    /// `approve` or `reject`.
    pub decision: String,
    /// The hash of the plan that was looked at.
    pub plan_hash: String,
    /// Why; a rejection says so.
    pub comment: Option<String>,
}

/// What is to be decided, oldest first; or was, in this state; `None`: in any (`tenure.approval_list`).
pub async fn approval_list(
    client: &impl GenericClient,
    execution_id: Option<Uuid>,
    state: Option<&str>,
    limit: Option<i32>,
) -> Result<Vec<Approval>> {
    Call::new("approval_list")
        .maybe("p_execution_id", &execution_id)
        .nullable("p_state", &state)
        .maybe("p_limit", &limit)
        .rows(client)
        .await
}

/// All about one, the votes included (`tenure.approval_show`).
pub async fn approval_show(client: &impl GenericClient, approval_id: Uuid) -> Result<Value> {
    Call::new("approval_show")
        .with("p_approval_id", &approval_id)
        .value(client)
        .await
}

/// Who decided what about one, and how they proved who they are (`tenure.approval_votes_of`).
pub async fn approval_votes_of(client: &impl GenericClient, approval_id: Uuid) -> Result<Vec<Vote>> {
    Call::new("approval_votes_of")
        .with("p_approval_id", &approval_id)
        .rows(client)
        .await
}

/// Approves or rejects just the plan with this hash (`tenure.approval_decide`).
pub async fn approval_decide(
    client: &impl GenericClient,
    approval_id: Uuid,
    decision: &Decision,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("approval_decide")
        .with("p_approval_id", &approval_id)
        .with("p_decision", &decision.decision)
        .with("p_plan_hash", &decision.plan_hash)
        .maybe("p_comment", &decision.comment)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Makes a rule, or changes it (`tenure.approval_rule_set`).
pub async fn approval_rule_set(client: &impl GenericClient, name: &str, spec: &Value) -> Result<Value> {
    Call::new("approval_rule_set")
        .with("p_name", &name)
        .with("p_spec", &spec)
        .value(client)
        .await
}

/// Removes a rule (`tenure.approval_rule_delete`).
pub async fn approval_rule_delete(client: &impl GenericClient, name: &str) -> Result<Value> {
    Call::new("approval_rule_delete")
        .with("p_name", &name)
        .value(client)
        .await
}

/// The rules in the order in which they are asked (`tenure.approval_rule_list`).
pub async fn approval_rule_list(client: &impl GenericClient) -> Result<Vec<ApprovalRule>> {
    Call::new("approval_rule_list").rows(client).await
}
