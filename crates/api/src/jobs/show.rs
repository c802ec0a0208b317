//! Show everything about a job.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Classification, JobState};
use crate::executions::ActionClass;
use crate::kinds::OnExhausted;
use crate::schedules::SlotOrigin;
use crate::{Effect, Json, Operation, Route, Timestamp, words};

/// Show everything about a job, at once or when it has ended
///
/// With `wait_seconds` the answer comes when the job has ended or when the time is over; its `state` tells which.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobShow {
    /// The id of the job.
    pub job_id: Uuid,
    /// How long to wait for the end of the job, in seconds; 0 if left out.
    #[schemars(range(min = 0, max = 40))]
    pub wait_seconds: Option<u64>,
}

impl Operation for JobShow {
    const NAME: &str = "job_show";
    const ROUTE: Route = Route::get("/v1/jobs/{job_id}", "jobs");
    const EFFECT: Effect = Effect::Reads;
    const BESIDE: &[&str] = &["wait_seconds"];
    type Answer = JobDetails;
}

words! {
    /// What follows when it is unknown how far a run came.
    pub enum OnLost {
        /// The job has failed.
        Fail = "fail",
    }
}

/// Everything about a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobDetails {
    /// Its id.
    pub job_id: Uuid,
    /// Its kind.
    pub kind: String,
    /// The executor that it is for.
    pub executor: String,
    /// Its state.
    pub state: JobState,
    /// The domain of its events.
    pub event_domain: String,
    /// Its priority; higher goes first.
    pub priority: i16,
    /// When it is due, or was.
    pub due: Timestamp,
    /// When it must have started.
    pub deadline_at: Option<Timestamp>,
    /// The number of attempts it has used.
    pub attempts: i32,
    /// How often it may be attempted.
    pub attempts_max: i16,
    /// The number of its current or last run; every claim begins a run. 0: it was never claimed.
    pub run: i32,
    /// The delay before the second attempt, in seconds; it grows with every attempt.
    pub backoff_base_seconds: i32,
    /// How much the delay varies at random, in percent.
    pub backoff_jitter_percent: i16,
    /// The lease that the job of a step needs, in seconds. Null: the lease of the kind.
    pub lease_seconds: Option<i32>,
    /// How long a run may take, in seconds.
    pub run_timeout_seconds: Option<i32>,
    /// How often its lease may be renewed.
    pub renewals_max: Option<i32>,
    /// What follows when the last attempt has failed.
    pub on_exhausted: OnExhausted,
    /// What follows when the lease expired or the run timed out. Null: another attempt.
    pub on_lost: Option<OnLost>,
    /// Its payload; null if the caller may not see it.
    pub payload: Option<Json>,
    /// Who may see the payload.
    pub payload_classification: Classification,
    /// Where its input is.
    pub source_ref: Option<String>,
    /// What it works on.
    pub target_ref: Option<String>,
    /// Where a larger payload is.
    pub payload_ref: Option<String>,
    /// Its idempotency key.
    pub idempotency_key: Option<String>,
    /// Its affinity key.
    pub affinity_key: Option<String>,
    /// What it belongs together with.
    pub correlation_id: Option<String>,
    /// The sequence number of the event that caused it.
    pub causation_event: Option<i64>,
    /// The job that made it.
    pub parent_job_id: Option<Uuid>,
    /// The workflow it belongs to.
    pub workflow_id: Option<Uuid>,
    /// The run of that workflow.
    pub run_id: Option<Uuid>,
    /// The job that gave up and that this one replays.
    pub replay_of: Option<Uuid>,
    /// The step of an execution that it runs.
    pub step: Option<JobStep>,
    /// The slot of a schedule that it runs for.
    pub slot: Option<JobSlot>,
    /// The fencing number of its current or last run, if its step locks its target.
    pub fence: Option<i64>,
    /// The trace and span that it was enqueued in, as a W3C traceparent.
    pub traceparent: Option<String>,
    /// The system that it came from.
    pub source_system: String,
    /// The principal that enqueued it.
    pub enqueued_by: String,
    /// The person or program that it was enqueued for.
    pub on_behalf_of: Option<String>,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// The worker that holds it.
    pub lease_owner: Option<String>,
    /// Since when it is held.
    pub leased_at: Option<Timestamp>,
    /// When its lease expires unless it is renewed.
    pub leased_until: Option<Timestamp>,
    /// How often its lease was renewed.
    pub renewals: Option<i32>,
    /// When its current or last run started.
    pub started_at: Option<Timestamp>,
    /// When its run times out, whether its lease is renewed or not.
    pub run_until: Option<Timestamp>,
    /// The progress that its worker recorded.
    pub progress: Option<Json>,
    /// When the progress was recorded.
    pub progress_at: Option<Timestamp>,
    /// When its worker was asked to cancel it.
    pub cancel_requested_at: Option<Timestamp>,
    /// The principal that cancelled it, or asked for it.
    pub cancel_by: Option<String>,
    /// Why it was cancelled.
    pub cancel_reason: Option<String>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// The code of the last error.
    pub error_code: Option<String>,
    /// The class of the last error: one that its worker named, or `lease`, `timeout`, `deadline` or `force`.
    pub error_class: Option<String>,
    /// The text of the last error.
    pub error_message: Option<String>,
    /// Its result.
    pub result: Option<Json>,
    /// Where a larger result is.
    pub result_ref: Option<String>,
    /// When its payload, result and references were removed.
    pub cleaned_at: Option<Timestamp>,
}

/// The step of an execution that a job runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobStep {
    /// The execution.
    pub execution_id: Uuid,
    /// The name of the step in the plan.
    pub step_id: String,
    /// The position of the step in the plan, from 1.
    pub step_number: i32,
    /// The action that is carried out.
    pub action: String,
    /// The class of the action that was approved.
    pub action_class: ActionClass,
    /// The type of the target.
    pub target_type: String,
    /// The target. Missing once the job is cleaned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<String>,
    /// The SHA-256 of the plan that was approved, in hexadecimal digits.
    pub plan_hash: String,
    /// The fencing number of the current or last run. Missing in lists, and if the step locks nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<i64>,
}

/// The slot of a schedule that a job runs for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobSlot {
    /// The name of the schedule.
    pub schedule: String,
    /// The time that the run stands for.
    pub plan_time: Timestamp,
    /// The kind of thing that the run is for.
    pub scope_kind: String,
    /// The thing that the run is for.
    pub scope_id: String,
    /// What made the slot.
    pub origin: SlotOrigin,
}
