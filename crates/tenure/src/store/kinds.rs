//! Kind policies and lanes.

use serde_json::Value;
use tokio_postgres::GenericClient;

use super::call::Call;
use crate::error::Result;

/// Sets the named fields of a policy; `pending` where a second admin must approve (`tenure.kind_set`).
pub async fn kind_set(
    client: &impl GenericClient,
    kind: &str,
    policy: &Value,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("kind_set")
        .with("p_kind", &kind)
        .with("p_policy", &policy)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Keeps the jobs of a kind from being claimed (`tenure.kind_pause`).
pub async fn kind_pause(
    client: &impl GenericClient,
    kind: &str,
    note: Option<&str>,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("kind_pause")
        .with("p_kind", &kind)
        .maybe("p_note", &note)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Lets the jobs of a paused kind be claimed again (`tenure.kind_resume`).
pub async fn kind_resume(client: &impl GenericClient, kind: &str, on_behalf_of: Option<&str>) -> Result<Value> {
    Call::new("kind_resume")
        .with("p_kind", &kind)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Makes sure that the lane of a kind stands (`tenure.lane_open`).
pub async fn lane_open(client: &impl GenericClient, kind: &str, executor: Option<&str>) -> Result<i32> {
    let call = Call::new("lane_open").with("p_kind", &kind);
    let lane = call.maybe("p_executor", &executor).scalar(client).await?;
    Ok(lane.unwrap_or_default())
}
