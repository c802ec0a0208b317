//! Changes of actions, rules, target types and governed settings that wait for a second admin.

use serde_json::Value;
use uuid::Uuid;

use super::Timestamp;
use super::call::row;

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
