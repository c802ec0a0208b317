//! What happened, as far as the plan and the chained lines tell it: every other line of a file is compared with this.

use serde::Serialize;
use serde_json::{Map, Value};

/// What the chained lines say, row by row. Fields have the names that they have in the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Story {
    /// Whose execution it is.
    pub tenant: Option<String>,
    /// The hash of the plan as the file shows it, if it differs from the plan hash: a payload in it is restricted.
    pub plan_shown_hash: Option<String>,
    /// The execution.
    pub execution: Execution,
    /// Its steps, in the order of the plan.
    pub steps: Vec<Step>,
    /// The decisions that were asked for.
    pub approvals: Vec<Approval>,
    /// Who decided.
    pub votes: Vec<Vote>,
    /// The runs of the steps.
    pub attempts: Vec<Attempt>,
    /// The rules that applied, by name: content, author (`updated_by`) and time (`updated_at`) at the submission.
    pub rules: Map<String, Value>,
    /// Whether the first event says who asked under which terms.
    #[serde(skip)]
    pub(super) has_record: bool,
}

/// The execution.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)] // docs/evidence.md describes each field of the file.
pub struct Execution {
    pub execution_id: Option<String>,
    pub plan_hash: Option<String>,
    pub purpose: Option<String>,
    pub state: Option<String>,
    pub action_class: Option<String>,
    pub approval_level: Option<i64>,
    pub rule: Option<String>,
    pub requested_by: Option<String>,
    pub on_behalf_of: Option<String>,
    pub requesters: Vec<String>,
    pub via: Option<String>,
    pub key: Option<String>,
    pub key_origin: Option<String>,
    pub start_after: Option<String>,
    pub start_before: Option<String>,
    pub start_window: Option<Value>,
    pub timeout_ms: Option<i64>,
    pub metadata: Option<Value>,
    pub supersedes: Option<String>,
    pub retry_of: Option<String>,
    pub retried_as: Option<String>,
    pub stopped_by: Option<String>,
    pub reason_code: Option<String>,
    pub reason: Option<String>,
    pub created_at: Option<String>,
    pub approved_at: Option<String>,
    pub lapses_at: Option<String>,
    pub started_at: Option<String>,
    pub ended_at: Option<String>,
    pub closed_at: Option<String>,
    pub closed_by: Option<String>,
    /// The line of the event that started it.
    #[serde(skip)]
    pub started_line: Option<usize>,
}

/// One step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)] // docs/evidence.md describes each field of the file.
pub struct Step {
    pub step_number: i64,
    pub step: Option<String>,
    pub action: Option<String>,
    pub action_class: Option<String>,
    pub target_type: Option<String>,
    pub target_ref: Option<String>,
    pub job_kind: Option<String>,
    pub executor: Option<String>,
    pub payload: Option<Value>,
    pub payload_sha256: Option<String>,
    pub payload_ref: Option<String>,
    pub compensation_note: Option<String>,
    pub needs: Option<Vec<String>>,
    pub section: Option<String>,
    pub registration: Option<String>,
    pub level_min: Option<i64>,
    pub effects: Option<String>,
    pub attempts_max: Option<i64>,
    pub timeout_seconds: Option<i64>,
    pub approval_level: Option<i64>,
    pub rule: Option<String>,
    pub roles: Option<Value>,
    pub quorum: Option<i64>,
    pub approval_seconds: Option<i64>,
    pub lock_target: Option<String>,
    pub lock_action: Option<String>,
    pub state: String,
    pub carried_from: Option<String>,
    pub job_id: Option<String>,
    pub fence: Option<i64>,
    pub attempt: Option<i64>,
    pub worker: Option<String>,
    pub started_at: Option<String>,
    pub ended_at: Option<String>,
    pub error_code: Option<String>,
    pub error_class: Option<String>,
    pub error_message: Option<String>,
    pub result_hash: Option<String>,
    pub result_bytes: Option<i64>,
    pub result_ref: Option<String>,
    pub verdict_by: Option<String>,
    pub verdict_reason: Option<String>,
    /// The line of the event that dispatched it last.
    #[serde(skip)]
    pub started_line: Option<usize>,
    /// The line of the event that dispatched it first.
    #[serde(skip)]
    pub first_started_line: Option<usize>,
}

/// A decision that was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)] // docs/evidence.md describes each field of the file.
pub struct Approval {
    pub approval_id: Option<String>,
    pub step: Option<String>,
    pub plan_hash: Option<String>,
    pub level: Option<i64>,
    pub roles: Option<Value>,
    pub quorum: Option<i64>,
    pub rule: Option<String>,
    pub auto_approved: bool,
    pub state: String,
    pub created_at: Option<String>,
    pub escalated_at: Option<String>,
    pub expires_at: Option<String>,
    pub decided_at: Option<String>,
    pub decided_by: Option<String>,
    pub reason: Option<String>,
    pub consumed_at: Option<String>,
    /// The line of the event that asked.
    #[serde(skip)]
    pub line: usize,
    /// The line of the event that decided.
    #[serde(skip)]
    pub decided_line: Option<usize>,
}

/// One decision of one principal.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)] // docs/evidence.md describes each field of the file.
pub struct Vote {
    pub approval_id: Option<String>,
    pub principal: Option<String>,
    pub decision: Option<String>,
    pub plan_hash: Option<String>,
    pub comment: Option<String>,
    pub auth_method: Option<String>,
    pub auth_makers: Vec<String>,
    pub source: Option<String>,
    pub roles: Option<Value>,
    pub level: Option<i64>,
    pub on_behalf_of: Option<String>,
    pub at: Option<String>,
    /// The line of its event.
    #[serde(skip)]
    pub line: usize,
}

/// One run of a step's job.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)] // docs/evidence.md describes each field of the file.
pub struct Attempt {
    pub step: Option<String>,
    pub job_id: Option<String>,
    pub run: Option<i64>,
    pub attempt: Option<i64>,
    pub outcome: Option<String>,
    pub worker: Option<String>,
    pub holder: Option<String>,
    pub leased_at: Option<String>,
    pub started_at: Option<String>,
    pub ended_at: Option<String>,
    pub error_code: Option<String>,
    pub error_class: Option<String>,
    pub error_message: Option<String>,
    /// The SHA-256 of the text of the result, which the file has.
    pub result_hash: Option<String>,
    /// Its bytes.
    pub result_bytes: Option<i64>,
    pub result_ref: Option<String>,
}

impl Approval {
    /// Whether it is waiting for a decision, or for the start that uses it up.
    pub(super) fn is_open(&self) -> bool {
        self.state == "pending" || self.state == "approved" && self.consumed_at.is_none()
    }

    pub(super) fn withdraw(&mut self, at: Option<String>, by: Option<&str>, reason: Option<String>) {
        self.decided_at = super::time::later(at, self.created_at.clone());
        self.decided_by = by.map(str::to_owned);
        self.state = "withdrawn".to_owned();
        self.reason = reason;
    }
}

impl Step {
    /// Whether it has not begun.
    pub(super) fn is_waiting(&self) -> bool {
        ["waiting", "blocked", "awaiting_approval"].contains(&self.state.as_str())
    }

    /// It never starts.
    pub(super) fn skip(&mut self, at: Option<String>, reason: Option<String>) {
        self.state = "skipped".to_owned();
        self.ended_at = super::time::later(at, self.started_at.clone());
        self.error_message = reason;
    }
}
