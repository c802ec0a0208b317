//! Jobs that gave up: list, show, triage, replay.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::jobs::{Classification, JobState};
use crate::{Effect, Json, Operation, Page, Route, Shape, Timestamp, words};

words! {
    /// What was decided about a dead letter.
    pub enum TriageStatus {
        /// Nothing was decided yet.
        Pending = "pending",
        /// It was seen.
        Acknowledged = "acknowledged",
        /// It may be replayed.
        ManualReplay = "manual_replay",
        /// It was passed on.
        Escalated = "escalated",
        /// Nothing more is to be done.
        Closed = "closed",
    }
}

/// List dead letters, newest first
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadLetterList {
    /// Only dead letters with one of these triage statuses.
    pub triage_status: Option<Vec<TriageStatus>>,
    /// Only dead letters of this kind.
    pub kind: Option<String>,
    /// Only dead letters with the same error.
    pub fingerprint: Option<String>,
    /// Only dead letters that were moved here before this time.
    pub before: Option<Timestamp>,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of dead letters.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn limit_default() -> i32 {
    50
}

impl Operation for DeadLetterList {
    const NAME: &str = "dead_letter_list";
    const ROUTE: Route = Route::get("/v1/dead-letters", "dead letters");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("before", "moved_at"), ("before_id", "dead_letter_id")];
    type Answer = Page<DeadLetter>;
}

/// A dead letter in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetter {
    /// Its id.
    pub dead_letter_id: Uuid,
    /// The job that gave up.
    pub job_id: Uuid,
    /// The kind of the job.
    pub kind: String,
    /// The executor that the job was for.
    pub executor: String,
    /// How often the job was attempted.
    pub attempts: i32,
    /// The code of the last error.
    pub error_code: Option<String>,
    /// The class of the last error.
    pub error_class: Option<String>,
    /// The text of the last error.
    pub final_error: String,
    /// Errors that differ only in numbers, ids and quoted values have the same fingerprint.
    pub fingerprint: String,
    /// When the job gave up.
    pub moved_at: Timestamp,
    /// The principal or service that moved it here.
    pub moved_by: String,
    /// What was decided about it.
    pub triage_status: TriageStatus,
    /// The reason of the decision.
    pub triage_note: Option<String>,
    /// The principal that decided.
    pub triaged_by: Option<String>,
    /// The job that a replay made of it.
    pub replayed_as: Option<Uuid>,
}

/// Show everything about a dead letter
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadLetterShow {
    /// The id of the dead letter.
    pub dead_letter_id: Uuid,
}

impl Operation for DeadLetterShow {
    const NAME: &str = "dead_letter_show";
    const ROUTE: Route = Route::get("/v1/dead-letters/{dead_letter_id}", "dead letters");
    const EFFECT: Effect = Effect::Reads;
    type Answer = DeadLetterDetails;
}

/// Everything about a dead letter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetterDetails {
    /// Its id.
    pub dead_letter_id: Uuid,
    /// The job that gave up.
    pub job_id: Uuid,
    /// The run that was the last.
    pub run: i32,
    /// The kind of the job.
    pub kind: String,
    /// The executor that the job was for.
    pub executor: String,
    /// The domain of the events of the job.
    pub event_domain: String,
    /// The priority of the job; higher goes first.
    pub priority: i16,
    /// How often the job was attempted.
    pub attempts: i32,
    /// How often it could have been attempted.
    pub attempts_max: i16,
    /// The payload of the job; null if the caller may not see it.
    pub payload: Option<Json>,
    /// Who may see the payload.
    pub payload_classification: Classification,
    /// Where the input of the job is.
    pub source_ref: Option<String>,
    /// What the job works on.
    pub target_ref: Option<String>,
    /// Where a larger payload is.
    pub payload_ref: Option<String>,
    /// The key of the job.
    pub idempotency_key: Option<String>,
    /// The affinity of the job.
    pub affinity_key: Option<String>,
    /// What the job belongs together with.
    pub correlation_id: Option<String>,
    /// The job that made it.
    pub parent_job_id: Option<Uuid>,
    /// The workflow it belongs to.
    pub workflow_id: Option<Uuid>,
    /// The run of that workflow.
    pub run_id: Option<Uuid>,
    /// The system that the job came from.
    pub source_system: Option<String>,
    /// The principal that enqueued the job.
    pub actor: String,
    /// When the job was enqueued.
    pub job_created_at: Timestamp,
    /// The text of the last error.
    pub final_error: String,
    /// The code of the last error.
    pub error_code: Option<String>,
    /// The class of the last error.
    pub error_class: Option<String>,
    /// Errors that differ only in numbers, ids and quoted values have the same fingerprint.
    pub fingerprint: String,
    /// When the job gave up.
    pub moved_at: Timestamp,
    /// The principal or service that moved it here.
    pub moved_by: String,
    /// What was decided about it.
    pub triage_status: TriageStatus,
    /// The reason of the decision.
    pub triage_note: Option<String>,
    /// When it was decided.
    pub triaged_at: Option<Timestamp>,
    /// The principal that decided.
    pub triaged_by: Option<String>,
    /// The job that a replay made of it.
    pub replayed_as: Option<Uuid>,
    /// When it was replayed.
    pub replayed_at: Option<Timestamp>,
}

/// Triage a dead letter: record what was decided about it
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadLetterTriage {
    /// The id of the dead letter.
    pub dead_letter_id: Uuid,
    /// What was decided; `pending` cannot be.
    pub status: TriageStatus,
    /// The reason.
    pub note: Option<String>,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for DeadLetterTriage {
    const NAME: &str = "dead_letter_triage";
    const ROUTE: Route = Route::post("/v1/dead-letters/{dead_letter_id}/triage", "dead letters");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = DeadLetterTriaged;
}

/// The decision as it was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetterTriaged {
    /// The dead letter.
    pub dead_letter_id: Uuid,
    /// What was decided.
    pub triage_status: TriageStatus,
    /// The principal that decided.
    pub triaged_by: String,
    /// When it was decided.
    pub triaged_at: Timestamp,
}

/// Preview the replay of a dead letter
///
/// Shows the job that a replay would enqueue, and whether a replay is allowed. Changes nothing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadLetterReplayPreview {
    /// The id of the dead letter.
    pub dead_letter_id: Uuid,
}

impl Operation for DeadLetterReplayPreview {
    const NAME: &str = "dead_letter_replay_preview";
    const ROUTE: Route = Route::get("/v1/dead-letters/{dead_letter_id}/replay", "dead letters");
    const EFFECT: Effect = Effect::Reads;
    type Answer = ReplayPreview;
}

/// What a replay would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayPreview {
    /// The dead letter.
    pub dead_letter_id: Uuid,
    /// Whether it may be replayed now.
    pub may_replay: bool,
    /// What was decided about it.
    pub triage_status: TriageStatus,
    /// The job that an earlier replay made of it.
    pub replayed_as: Option<Uuid>,
    /// The job that a replay would enqueue.
    pub job: ReplayJob,
}

/// The job that a replay would enqueue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayJob {
    /// Its kind.
    pub kind: String,
    /// The executor it is for.
    pub executor: String,
    /// Its priority; higher goes first.
    pub priority: i16,
    /// How often it may be attempted.
    pub attempts_max: i16,
    /// Where its input is.
    pub source_ref: Option<String>,
    /// What it works on.
    pub target_ref: Option<String>,
    /// Where a larger payload is.
    pub payload_ref: Option<String>,
    /// Its payload; null if the caller may not see it.
    pub payload: Option<Json>,
    /// Who may see the payload.
    pub payload_classification: Classification,
    /// What it belongs together with.
    pub correlation_id: Option<String>,
    /// Its affinity.
    pub affinity_key: Option<String>,
    /// The job that gave up.
    pub replay_of: Uuid,
}

/// Replay a dead letter: its job runs again, as a new one
///
/// The dead letter must have been triaged as `manual_replay`. It is replayed once.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadLetterReplay {
    /// The id of the dead letter.
    pub dead_letter_id: Uuid,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for DeadLetterReplay {
    const NAME: &str = "dead_letter_replay";
    const ROUTE: Route = Route::post("/v1/dead-letters/{dead_letter_id}/replay", "dead letters");
    const EFFECT: Effect = Effect::Changes;
    type Answer = Replayed;
}

/// The job that a replay has enqueued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replayed {
    /// The dead letter.
    pub dead_letter_id: Uuid,
    /// The new job.
    pub job_id: Uuid,
    /// The job that gave up.
    pub replay_of: Uuid,
    /// The state of the new job.
    pub state: JobState,
}
