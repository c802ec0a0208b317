//! Executions: frozen plans that were submitted, and what becomes of them.

use serde_json::Value;
use tenure_core::plan::Plan;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

/// How a plan is submitted, besides what it says.
#[derive(Debug, Clone, Default)]
pub struct Submission {
    /// Makes it safe to repeat; none: derived from plan, tenant and requester.
    pub key: Option<String>,
    /// What the caller takes for the hash of the plan; none: what it is. Any other is refused as `plan_hash_mismatch`.
    pub plan_hash: Option<String>,
    /// An execution of the same purpose that has not started, which this one takes the place of.
    pub supersedes: Option<Uuid>,
    /// Not started before.
    pub start_after: Option<Timestamp>,
    /// Not started after.
    pub start_before: Option<Timestamp>,
    /// What the caller wants to find again beside the plan.
    pub metadata: Option<Value>,
    /// The person or program this is done for.
    pub on_behalf_of: Option<String>,
}

/// What became of a plan that was submitted.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Submitted {
    /// The execution.
    pub execution_id: Uuid,
    /// Its state.
    pub state: String,
    /// The SHA-256 of the frozen plan, which approvers name.
    pub plan_hash: String,
    /// Whether it was there already, under the same key.
    #[serde(default)]
    pub duplicate: bool,
    /// Whether the plan it should supersede is just this one: then it is that execution, with its approvals.
    #[serde(default)]
    pub unchanged: bool,
    /// Which level of approval it needs: 0 is none.
    pub approval_level: i32,
    /// The rule that said so.
    #[serde(default)]
    pub rule: Option<String>,
    /// The approval it waits for.
    #[serde(default)]
    pub approval_id: Option<Uuid>,
    /// Why it does not start although it may: a freeze, or its window.
    #[serde(default)]
    pub parked: Option<String>,
    /// It starts not before this; of one that was there already, as it was submitted first.
    #[serde(default)]
    pub start_after: Option<Timestamp>,
    /// It starts before this, or never.
    #[serde(default)]
    pub start_before: Option<Timestamp>,
    /// How it differs from the one it supersedes.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub difference: Option<Value>,
}

row! {
    /// An execution, in a list.
    pub struct ExecutionSummary {
        /// The execution.
        pub execution_id: Uuid,
        /// `pending`, `awaiting_approval`, `approved`, `running`, `succeeded`, `partially_failed`, `failed`, `cancelled` or `rejected`.
        pub state: String,
        /// What it is for.
        pub purpose: String,
        /// Who submitted it.
        pub requested_by: String,
        /// The SHA-256 of its plan.
        pub plan_hash: String,
        /// `fast`, `medium` or `long`.
        pub sla_class: String,
        /// The deepest of its steps: `read`, `modify` or `deploy`.
        pub action_class: String,
        /// `immediate` or `background`.
        pub mode: String,
        /// Its priority.
        pub priority: i32,
        /// Which level of approval it needs.
        pub approval_level: i32,
        /// The rule that said so.
        pub rule: String,
        /// Why it does not start although it may: `window` or `freeze`.
        pub parked: Option<String>,
        /// Why nothing more of it starts.
        pub stopping: Option<String>,
        /// Why it ended as it did.
        pub reason_code: Option<String>,
        /// What made the plan.
        pub generator: Option<String>,
        /// Ties together what belongs together.
        pub correlation_id: Option<String>,
        /// How many steps it has.
        pub step_count: i32,
        /// How many of them are not over.
        pub steps_open: i32,
        /// How many succeeded.
        pub steps_succeeded: i32,
        /// How many failed.
        pub steps_failed: i32,
        /// How many were skipped.
        pub steps_skipped: i32,
        /// How many were cancelled.
        pub steps_cancelled: i32,
        /// Of how many nobody knows the outcome.
        pub steps_unknown: i32,
        /// When it was submitted.
        pub created_at: Timestamp,
        /// When it started.
        pub started_at: Option<Timestamp>,
        /// When it was over.
        pub ended_at: Option<Timestamp>,
        /// From its submission to its start.
        pub queue_wait_ms: Option<i64>,
        /// From its start to its end.
        pub duration_ms: Option<i64>,
        /// What went wrong.
        pub error_message: Option<String>,
    }
}

row! {
    /// What happened to an execution: one link of its chain.
    pub struct ExecutionEvent {
        /// Its place, from 1.
        pub seq: i32,
        /// When.
        pub at: Timestamp,
        /// What, such as `execution.approved`.
        pub kind: String,
        /// By whom.
        pub actor: Option<String>,
        /// The step it is about.
        pub step_id: Option<String>,
        /// The rest of it.
        pub data: Option<Value>,
        /// The hash over this and all before.
        pub hash: String,
    }
}

row! {
    /// An execution at which nothing moves by itself.
    pub struct Settled {
        /// The execution.
        pub execution_id: Uuid,
        /// Its state: over, or waiting for somebody.
        pub state: String,
    }
}

/// Which executions to list.
#[derive(Debug, Clone, Default)]
pub struct ExecutionFilter {
    /// Only those in this state.
    pub state: Option<String>,
    /// Only those of this requester.
    pub requested_by: Option<String>,
    /// Only those that touch this target, `type:ref` escaped as in lock keys.
    pub target: Option<String>,
    /// Where the page before ended.
    pub before: Option<Uuid>,
    /// At most so many.
    pub limit: Option<i32>,
}

/// Freezes a plan and lets it run as soon as it may (`tenure.execution_submit`).
pub async fn execution_submit(client: &impl GenericClient, plan: &Plan, submission: &Submission) -> Result<Submitted> {
    let text = plan.canonical();
    let hash = submission.plan_hash.clone().unwrap_or_else(|| plan.hash());
    Call::new("execution_submit")
        .with("p_plan", &text)
        .maybe("p_key", &submission.key)
        .with("p_plan_hash", &hash)
        .maybe("p_supersedes", &submission.supersedes)
        .maybe("p_start_after", &submission.start_after)
        .maybe("p_start_before", &submission.start_before)
        .maybe("p_metadata", &submission.metadata)
        .maybe("p_on_behalf_of", &submission.on_behalf_of)
        .read(client)
        .await
}

/// What would become of a plan, without submitting it (`tenure.execution_preview`).
pub async fn execution_preview(client: &impl GenericClient, plan: &Plan, on_behalf_of: Option<&str>) -> Result<Value> {
    let text = plan.canonical();
    Call::new("execution_preview")
        .with("p_plan", &text)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// All about an execution: its steps, its approvals, what it waits for, and in `settled` whether nothing moves by itself
/// any more (`tenure.execution_show`).
pub async fn execution_show(client: &impl GenericClient, execution_id: Uuid) -> Result<Value> {
    Call::new("execution_show")
        .with("p_execution_id", &execution_id)
        .value(client)
        .await
}

/// The frozen text of its plan (`tenure.execution_plan`).
pub async fn execution_plan(client: &impl GenericClient, execution_id: Uuid) -> Result<String> {
    let text: Option<String> = Call::new("execution_plan")
        .with("p_execution_id", &execution_id)
        .scalar(client)
        .await?;
    Ok(text.unwrap_or_default())
}

/// Executions of the tenant, newest first (`tenure.execution_list`).
pub async fn execution_list(client: &impl GenericClient, filter: &ExecutionFilter) -> Result<Vec<ExecutionSummary>> {
    Call::new("execution_list")
        .maybe("p_state", &filter.state)
        .maybe("p_requested_by", &filter.requested_by)
        .maybe("p_target", &filter.target)
        .maybe("p_before", &filter.before)
        .maybe("p_limit", &filter.limit)
        .rows(client)
        .await
}

/// What happened to an execution, oldest first, after this number (`tenure.execution_timeline`).
pub async fn execution_timeline(
    client: &impl GenericClient,
    execution_id: Uuid,
    after: Option<i32>,
    limit: Option<i32>,
) -> Result<Vec<ExecutionEvent>> {
    Call::new("execution_timeline")
        .with("p_execution_id", &execution_id)
        .maybe("p_after", &after)
        .maybe("p_limit", &limit)
        .rows(client)
        .await
}

/// How the plans of two executions differ (`tenure.execution_difference`).
pub async fn execution_difference(client: &impl GenericClient, execution_id: Uuid, other_id: Uuid) -> Result<Value> {
    Call::new("execution_difference")
        .with("p_execution_id", &execution_id)
        .with("p_other_id", &other_id)
        .value(client)
        .await
}

/// Those at which nothing moves by itself: they are over, or wait for somebody (`tenure.execution_ended`).
pub async fn execution_ended(client: &impl GenericClient, execution_ids: &[Uuid]) -> Result<Vec<Settled>> {
    let execution_ids = execution_ids.to_vec();
    Call::new("execution_ended")
        .with("p_execution_ids", &execution_ids)
        .rows(client)
        .await
}

/// Cancels one between its steps (`tenure.execution_cancel`).
pub async fn execution_cancel(
    client: &impl GenericClient,
    execution_id: Uuid,
    reason: &str,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("execution_cancel")
        .with("p_execution_id", &execution_id)
        .with("p_reason", &reason)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Takes one's own back before it starts (`tenure.execution_withdraw`).
pub async fn execution_withdraw(client: &impl GenericClient, execution_id: Uuid, reason: &str) -> Result<Value> {
    Call::new("execution_withdraw")
        .with("p_execution_id", &execution_id)
        .with("p_reason", &reason)
        .value(client)
        .await
}

/// What somebody found out about a step whose outcome nobody knew.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// `succeeded`, `failed` or `retry`.
    pub verdict: String,
    /// How they know.
    pub reason: String,
    /// What came out.
    pub result: Option<Value>,
}

/// Decides about a step whose outcome is unknown (`tenure.execution_resolve`).
pub async fn execution_resolve(
    client: &impl GenericClient,
    execution_id: Uuid,
    step_id: &str,
    verdict: &Verdict,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("execution_resolve")
        .with("p_execution_id", &execution_id)
        .with("p_step_id", &step_id)
        .with("p_verdict", &verdict.verdict)
        .with("p_reason", &verdict.reason)
        .maybe("p_result", &verdict.result)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Makes a new execution of the same plan, of what is left (`resume`) or of all (`restart`) (`tenure.execution_retry`).
pub async fn execution_retry(
    client: &impl GenericClient,
    execution_id: Uuid,
    mode: Option<&str>,
    reason: Option<&str>,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("execution_retry")
        .with("p_execution_id", &execution_id)
        .maybe("p_mode", &mode)
        .maybe("p_reason", &reason)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Frees the key of one that has partially failed (`tenure.execution_close`).
pub async fn execution_close(client: &impl GenericClient, execution_id: Uuid, reason: &str) -> Result<Value> {
    Call::new("execution_close")
        .with("p_execution_id", &execution_id)
        .with("p_reason", &reason)
        .value(client)
        .await
}

/// Lets one go on whose requester waits no longer (`tenure.execution_background`).
pub async fn execution_background(client: &impl GenericClient, execution_id: Uuid) -> Result<Value> {
    Call::new("execution_background")
        .with("p_execution_id", &execution_id)
        .value(client)
        .await
}

/// Lets nothing new start in the tenant (`tenure.execution_freeze`).
pub async fn execution_freeze(client: &impl GenericClient, reason: &str, until: Option<Timestamp>) -> Result<Value> {
    Call::new("execution_freeze")
        .with("p_reason", &reason)
        .maybe("p_until", &until)
        .value(client)
        .await
}

/// Ends the freeze (`tenure.execution_unfreeze`).
pub async fn execution_unfreeze(client: &impl GenericClient, reason: &str) -> Result<Value> {
    Call::new("execution_unfreeze")
        .with("p_reason", &reason)
        .value(client)
        .await
}
