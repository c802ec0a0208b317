//! Kind policies and lanes.

use serde_json::Value;
use tokio_postgres::GenericClient;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// The policy of a kind. None means: as the configuration says.
    pub struct Kind {
        /// Its name.
        pub kind: String,
        /// Who runs it.
        pub executor: String,
        /// What its events are about.
        pub event_domain: String,
        /// Attempts before it gives up.
        pub attempts_max: Option<i16>,
        /// The first retry delay.
        pub backoff_base_seconds: Option<i32>,
        /// Random part of the delay.
        pub backoff_jitter_percent: Option<i16>,
        /// The lease of a claim that asks for none.
        pub lease_seconds: Option<i32>,
        /// The longest lease a claim may ask for.
        pub lease_seconds_max: Option<i32>,
        /// How often a lease may be renewed.
        pub renewals_max: Option<i32>,
        /// How long a run may take.
        pub run_timeout_seconds: Option<i32>,
        /// How long a finished job stays.
        pub retention_seconds: Option<i32>,
        /// Held jobs of it at most, over all workers.
        pub concurrency_max: Option<i32>,
        /// Whether only plans make jobs of it.
        pub only_by_plan: bool,
        /// How long a job keeps its key after its end.
        pub key_keep_seconds: Option<i32>,
        /// What becomes of late slots of its schedules.
        pub catch_up: Option<String>,
        /// Since when none of it is claimed.
        pub paused_at: Option<Timestamp>,
        /// Who paused it.
        pub paused_by: Option<String>,
        /// Why.
        pub pause_note: Option<String>,
        /// `dead_letter` or `fail`.
        pub on_exhausted: String,
        /// What it is.
        pub description: String,
        /// When it was last set.
        pub updated_at: Timestamp,
        /// By whom.
        pub updated_by: String,
    }
}

/// Every kind with a policy of its own (`tenure.kind_list`).
pub async fn kind_list(client: &impl GenericClient) -> Result<Vec<Kind>> {
    Call::new("kind_list").rows(client).await
}

/// The policy in force for a kind (`tenure.kind_show`).
pub async fn kind_show(client: &impl GenericClient, kind: &str) -> Result<Value> {
    Call::new("kind_show").with("p_kind", &kind).value(client).await
}

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
