//! Executors and their heartbeats.

use serde_json::Value;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// An executor of the whitelist.
    pub struct Executor {
        /// Its name.
        pub executor: String,
        /// `executor`, or `generator`, which may never claim.
        pub role: String,
        /// What it is for.
        pub note: String,
        /// How many of it are alive.
        pub alive: i64,
        /// When one of them was last heard of.
        pub last_tick_at: Option<Timestamp>,
    }
}

/// A sign of life.
#[derive(Debug, Clone, Default)]
pub struct ExecutorBeat {
    /// The instance's own name.
    pub name: String,
    /// Which executor it is.
    pub executor: String,
    /// `ok`, `warn` or `error`.
    pub status: Option<String>,
    /// What it works on.
    pub current_job_id: Option<Uuid>,
    /// More about it.
    pub metadata: Option<Value>,
    /// Tells two processes under one name apart.
    pub instance: Option<Uuid>,
}

/// Says that an executor is alive (`tenure.executor_beat`).
pub async fn executor_beat(client: &impl GenericClient, beat: &ExecutorBeat) -> Result<Value> {
    Call::new("executor_beat")
        .with("p_name", &beat.name)
        .with("p_executor", &beat.executor)
        .maybe("p_status", &beat.status)
        .maybe("p_current_job_id", &beat.current_job_id)
        .maybe("p_metadata", &beat.metadata)
        .maybe("p_instance", &beat.instance)
        .value(client)
        .await
}

/// The whitelist, and who of it is alive (`tenure.executor_list`).
pub async fn executor_list(client: &impl GenericClient) -> Result<Vec<Executor>> {
    Call::new("executor_list").rows(client).await
}

/// Executors that have gone silent (`tenure.stale_check`).
pub async fn stale_check(client: &impl GenericClient, threshold_seconds: Option<i32>) -> Result<Value> {
    Call::new("stale_check")
        .maybe("p_threshold_seconds", &threshold_seconds)
        .value(client)
        .await
}
