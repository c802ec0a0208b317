//! Executions that failed, with all that a replay needs.

use serde_json::Value;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// An execution that failed.
    pub struct ExecutionDeadLetter {
        /// The execution.
        pub execution_id: Uuid,
        /// What it was for.
        pub purpose: String,
        /// The SHA-256 of its plan.
        pub plan_hash: String,
        /// How many attempts its steps took.
        pub attempt_count: i32,
        /// Why it failed.
        pub last_error: String,
        /// When.
        pub failed_at: Timestamp,
        /// `pending`, or what somebody decided.
        pub triage_status: String,
        /// Why they did.
        pub triage_note: Option<String>,
        /// When they did.
        pub triaged_at: Option<Timestamp>,
        /// Who did.
        pub triaged_by: Option<String>,
        /// The execution that ran its plan again.
        pub retried_as: Option<Uuid>,
    }
}

/// Those of the last days, newest first (`tenure.execution_dead_letter_list`).
pub async fn execution_dead_letter_list(
    client: &impl GenericClient,
    days: Option<i32>,
    triage_status: Option<&str>,
    limit: Option<i32>,
) -> Result<Vec<ExecutionDeadLetter>> {
    Call::new("execution_dead_letter_list")
        .maybe("p_days", &days)
        .maybe("p_triage_status", &triage_status)
        .maybe("p_limit", &limit)
        .rows(client)
        .await
}

/// All about one (`tenure.execution_dead_letter_show`).
pub async fn execution_dead_letter_show(client: &impl GenericClient, execution_id: Uuid) -> Result<Value> {
    Call::new("execution_dead_letter_show")
        .with("p_execution_id", &execution_id)
        .value(client)
        .await
}

/// Records what somebody decided about one (`tenure.execution_dead_letter_triage`).
pub async fn execution_dead_letter_triage(
    client: &impl GenericClient,
    execution_id: Uuid,
    status: &str,
    note: Option<&str>,
) -> Result<Value> {
    Call::new("execution_dead_letter_triage")
        .with("p_execution_id", &execution_id)
        .with("p_status", &status)
        .maybe("p_note", &note)
        .value(client)
        .await
}
