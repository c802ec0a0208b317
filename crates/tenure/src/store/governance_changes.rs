//! Changes of actions, rules, target types and governed settings that wait for a second admin.

use serde_json::Value;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// One proposed change.
    pub struct GovernanceChange {
        /// The change.
        pub change_id: Uuid,
        /// `action`, `approval_rule`, `target_type` or `config`.
        pub subject: String,
        /// The name of the action, rule, type or key.
        pub name: String,
        /// `set` or `delete`.
        pub operation: String,
        /// What was in force when it was proposed.
        pub old: Option<Value>,
        /// What it would become.
        pub new: Option<Value>,
        /// `pending`, `approved` or `rejected`.
        pub state: String,
        /// When it was proposed.
        pub proposed_at: Timestamp,
        /// By whom.
        pub proposed_by: String,
        /// When it was decided.
        pub decided_at: Option<Timestamp>,
        /// By whom.
        pub decided_by: Option<String>,
        /// How they proved who they are.
        pub auth_method: Option<String>,
        /// What they said about it.
        pub comment: Option<String>,
    }
}

/// Proposed changes, newest first; `None`: in any state (`tenure.governance_change_list`).
pub async fn governance_change_list(
    client: &impl GenericClient,
    state: Option<&str>,
    limit: Option<i32>,
) -> Result<Vec<GovernanceChange>> {
    Call::new("governance_change_list")
        .nullable("p_state", &state)
        .maybe("p_limit", &limit)
        .rows(client)
        .await
}

/// Approves or rejects a change (`tenure.governance_change_decide`).
pub async fn governance_change_decide(
    client: &impl GenericClient,
    change_id: Uuid,
    decision: &str,
    comment: Option<&str>,
) -> Result<Value> {
    Call::new("governance_change_decide")
        .with("p_change_id", &change_id)
        .with("p_decision", &decision)
        .maybe("p_comment", &comment)
        .value(client)
        .await
}
