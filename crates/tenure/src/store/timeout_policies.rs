//! How long executions, steps and leases may take, by SLA class and action class.

use serde_json::Value;
use tokio_postgres::GenericClient;

use super::call::{Call, row};
use crate::error::Result;

row! {
    /// One of the nine rows.
    pub struct TimeoutPolicy {
        /// `fast`, `medium` or `long`.
        pub sla_class: String,
        /// `read`, `modify` or `deploy`.
        pub action_class: String,
        /// How long the whole execution may take.
        pub execution_timeout_ms: i32,
        /// How long one step may take, unless its plan says otherwise.
        pub step_timeout_ms: i32,
        /// How long a worker holds a step without renewing.
        pub lease_ms: i32,
        /// How often it renews at most.
        pub renewals_max: i32,
        /// `default`, or `tenant` where the tenant has its own.
        pub origin: String,
    }
}

/// All nine rows (`tenure.timeout_policy_list`).
pub async fn timeout_policy_list(client: &impl GenericClient) -> Result<Vec<TimeoutPolicy>> {
    Call::new("timeout_policy_list").rows(client).await
}

/// Changes the named fields of one row (`tenure.timeout_policy_set`).
pub async fn timeout_policy_set(
    client: &impl GenericClient,
    sla_class: &str,
    action_class: &str,
    spec: &Value,
) -> Result<Value> {
    Call::new("timeout_policy_set")
        .with("p_sla_class", &sla_class)
        .with("p_action_class", &action_class)
        .with("p_spec", &spec)
        .value(client)
        .await
}
