//! Health in one call.

use serde_json::Value;
use tokio_postgres::GenericClient;

use super::call::Call;
use crate::error::Result;

/// Backlog, leases, dead letters, executors and gates of the tenant (`tenure.health`).
pub async fn health(client: &impl GenericClient) -> Result<Value> {
    Call::new("health").value(client).await
}

/// What an operator should know about the database itself (`tenure.doctor`).
pub async fn doctor(client: &impl GenericClient) -> Result<Value> {
    Call::new("doctor").value(client).await
}
