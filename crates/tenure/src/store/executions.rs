//! Executions: the calls that no operation makes. Everything else about them is in `operations`.

use serde_json::Value;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::call::{Call, row};
use crate::error::Result;

row! {
    /// An execution at which nothing moves by itself.
    pub struct Settled {
        /// The execution.
        pub execution_id: Uuid,
        /// Its state: over, or waiting for somebody.
        pub state: String,
    }
}

/// The frozen text of its plan (`tenure.execution_plan`).
pub async fn execution_plan(client: &impl GenericClient, execution_id: Uuid) -> Result<String> {
    let text: Option<String> = Call::new("execution_plan")
        .with("p_execution_id", &execution_id)
        .scalar(client)
        .await?;
    Ok(text.unwrap_or_default())
}

/// Those at which nothing moves by itself: they are over, or wait for somebody (`tenure.execution_ended`).
pub async fn execution_ended(client: &impl GenericClient, execution_ids: &[Uuid]) -> Result<Vec<Settled>> {
    let execution_ids = execution_ids.to_vec();
    Call::new("execution_ended")
        .with("p_execution_ids", &execution_ids)
        .rows(client)
        .await
}

/// Lets one go on whose requester waits no longer (`tenure.execution_background`).
pub async fn execution_background(client: &impl GenericClient, execution_id: Uuid) -> Result<Value> {
    Call::new("execution_background")
        .with("p_execution_id", &execution_id)
        .value(client)
        .await
}
