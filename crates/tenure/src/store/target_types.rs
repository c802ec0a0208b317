//! Types of targets, and how their references are compared.

use serde_json::Value;
use tokio_postgres::GenericClient;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// One type.
    pub struct TargetType {
        /// The type, such as `host`.
        pub name: String,
        /// `exact`: upper and lower case name two targets; `lower`: one.
        pub case_rule: String,
        /// What it is for.
        pub note: String,
        /// When it was last changed.
        pub updated_at: Timestamp,
        /// By whom.
        pub updated_by: String,
    }
}

/// Registers a type, or changes it; `pending` where a second admin must approve (`tenure.target_type_set`).
pub async fn target_type_set(client: &impl GenericClient, name: &str, spec: &Value) -> Result<Value> {
    Call::new("target_type_set")
        .with("p_name", &name)
        .with("p_spec", &spec)
        .value(client)
        .await
}

/// Removes a type (`tenure.target_type_delete`).
pub async fn target_type_delete(client: &impl GenericClient, name: &str) -> Result<Value> {
    Call::new("target_type_delete")
        .with("p_name", &name)
        .value(client)
        .await
}

/// The types, by name (`tenure.target_type_list`).
pub async fn target_type_list(client: &impl GenericClient) -> Result<Vec<TargetType>> {
    Call::new("target_type_list").rows(client).await
}
