//! Registered actions: what an action is, and the least that every step with it must have.

use serde_json::Value;
use tokio_postgres::GenericClient;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// One registration.
    pub struct Action {
        /// The name of the action, or a glob: `*` stands for anything.
        pub name: String,
        /// `read`, `modify` or `deploy`.
        pub action_class: String,
        /// Kinds of jobs that may carry it; none: only the kind that has the name of the action.
        pub kinds: Option<Vec<String>>,
        /// The least approval level of a step, 0 to 3.
        pub level_min: i32,
        /// The least that a step locks: `none`, `target_and_action` or `target`.
        pub lock_scope: String,
        /// Whether the payload is restricted.
        pub payload_restricted: bool,
        /// What it is for.
        pub note: String,
        /// When it was last changed.
        pub updated_at: Timestamp,
        /// By whom.
        pub updated_by: String,
    }
}

/// Registers an action, or replaces its registration; `pending` where a second admin must approve (`tenure.action_set`).
pub async fn action_set(client: &impl GenericClient, name: &str, spec: &Value) -> Result<Value> {
    Call::new("action_set")
        .with("p_name", &name)
        .with("p_spec", &spec)
        .value(client)
        .await
}

/// Removes a registration (`tenure.action_delete`).
pub async fn action_delete(client: &impl GenericClient, name: &str) -> Result<Value> {
    Call::new("action_delete").with("p_name", &name).value(client).await
}

/// The registrations, by name (`tenure.action_list`).
pub async fn action_list(client: &impl GenericClient) -> Result<Vec<Action>> {
    Call::new("action_list").rows(client).await
}

/// What applies to steps with this action, and which registration says so (`tenure.action_show`).
pub async fn action_show(client: &impl GenericClient, action: &str, kind: Option<&str>) -> Result<Value> {
    Call::new("action_show")
        .with("p_action", &action)
        .maybe("p_kind", &kind)
        .value(client)
        .await
}
