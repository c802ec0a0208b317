//! Configuration.

use serde_json::Value;
use tokio_postgres::GenericClient;

use super::call::Call;
use crate::error::Result;

/// One value (`tenure.config_get`).
pub async fn config_get(client: &impl GenericClient, key: &str) -> Result<Value> {
    Call::new("config_get").with("p_key", &key).value(client).await
}
