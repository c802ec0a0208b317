//! Steps of executions: what each is, and what became of it.

use serde_json::Value;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// A step of an execution.
    pub struct ExecutionStep {
        /// Its place in the plan, from 1.
        pub step_number: i32,
        /// Its name in the plan.
        pub step_id: String,
        /// `waiting`, `awaiting_approval`, `blocked`, `running`, `unknown`, `succeeded`, `failed`, `cancelled` or `skipped`.
        pub state: String,
        /// What is done.
        pub action: String,
        /// `read`, `modify` or `deploy`.
        pub action_class: String,
        /// What kind of thing it is done to.
        pub target_type: String,
        /// Which one.
        pub target_ref: String,
        /// The kind of its job.
        pub kind: String,
        /// Who runs it; none: as the kind says.
        pub executor: Option<String>,
        /// `idempotent` or `once`.
        pub effects: String,
        /// The steps that must have succeeded before.
        pub needs: Vec<String>,
        /// Which level of approval its rule asks for.
        pub approval_level: i32,
        /// That rule.
        pub rule: String,
        /// The lock it holds or waits for.
        pub lock_key: Option<String>,
        /// The fencing number of the run that may act on the target, or was the last that might.
        pub fence: Option<i64>,
        /// How long it may take.
        pub timeout_seconds: i32,
        /// How often it is tried at most.
        pub attempts_max: Option<i32>,
        /// Which try this is.
        pub attempt: i32,
        /// Its job.
        pub job_id: Option<Uuid>,
        /// While it runs: `queued`, `leased` or `in_progress`.
        pub job_state: Option<String>,
        /// Who runs it, or ran it last.
        pub worker: Option<String>,
        /// The execution that had done it already.
        pub carried_from: Option<Uuid>,
        /// When its job was made.
        pub queued_at: Option<Timestamp>,
        /// When it started.
        pub started_at: Option<Timestamp>,
        /// When it was over.
        pub ended_at: Option<Timestamp>,
        /// From its start to its end.
        pub duration_ms: Option<i64>,
        /// What came out.
        pub output_summary: Option<Value>,
        /// Where a larger result is.
        pub output_ref: Option<String>,
        /// How large the result was.
        pub output_size_bytes: Option<i32>,
        /// Why it failed.
        pub error_code: Option<String>,
        /// The class of the error.
        pub error_class: Option<String>,
        /// In words.
        pub error_message: Option<String>,
        /// Who decided about it when nobody knew.
        pub verdict_by: Option<String>,
        /// How they knew.
        pub verdict_reason: Option<String>,
        /// Its place in the line for its lock; 1 is next.
        pub waiting_place: Option<i64>,
        /// How it is undone, for people.
        pub compensation_note: Option<String>,
        /// The registered action that decided about class, level and lock; none: the action is not registered.
        pub registration: Option<String>,
        /// The approval level that the action itself demands.
        pub level_min: i32,
        /// The section whose lock it holds together with others.
        pub section: Option<String>,
    }
}

/// The steps of an execution in the order of its plan (`tenure.step_list`).
pub async fn step_list(
    client: &impl GenericClient,
    execution_id: Uuid,
    state: Option<&str>,
) -> Result<Vec<ExecutionStep>> {
    Call::new("step_list")
        .with("p_execution_id", &execution_id)
        .maybe("p_state", &state)
        .rows(client)
        .await
}
