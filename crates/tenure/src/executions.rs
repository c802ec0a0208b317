//! Executions as programs see them: what one is and how far, and what a step's handler is told.
//!
//! What may happen to an execution is decided in `sql/functions/executions/`; a plan is read, checked and hashed by
//! [`Plan`](crate::core::plan::Plan). [`Client::submit`](crate::Client::submit) puts the two together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::store::Timestamp;

/// An execution, how far it is, and what it waits for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Execution {
    /// Its id.
    pub execution_id: Uuid,
    /// What it is for.
    pub purpose: String,
    /// `pending`, `awaiting_approval`, `approved`, `running`, `succeeded`, `partially_failed`, `failed`, `cancelled` or `rejected`.
    pub state: String,
    /// The SHA-256 of its frozen plan.
    pub plan_hash: String,
    /// Who submitted it.
    pub requested_by: String,
    /// Which level of approval it needs.
    pub approval_level: i32,
    /// How many steps it has.
    pub step_count: i32,
    /// How many of them are in which state.
    pub counts: BTreeMap<String, i64>,
    /// Why it ended as it did, by a code,
    pub reason_code: Option<String>,
    /// and in words.
    pub reason: Option<String>,
    /// What went wrong.
    pub error_message: Option<String>,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
    /// Its steps, in the order of the plan.
    #[serde(default)]
    pub steps: Vec<StepState>,
    /// Its approvals, oldest first.
    #[serde(default)]
    pub approvals: Vec<ApprovalState>,
    /// Why it does not go on, in words.
    #[serde(default)]
    pub waiting_for: Vec<String>,
    /// Whether nothing moves by itself: it is over, or waits for somebody.
    #[serde(default)]
    pub settled: bool,
}

impl Execution {
    /// Whether it is over, however it ended.
    pub fn is_over(&self) -> bool {
        self.ended_at.is_some()
    }

    /// Whether all of it is done.
    pub fn is_succeeded(&self) -> bool {
        self.state == "succeeded"
    }
}

/// A step of an execution.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct StepState {
    /// Its name in the plan.
    pub step_id: String,
    /// `waiting`, `awaiting_approval`, `blocked`, `running`, `unknown`, `succeeded`, `failed`, `cancelled` or `skipped`.
    pub state: String,
    /// Its job, once it has one.
    pub job_id: Option<Uuid>,
    /// What came out.
    pub output_summary: Option<Value>,
    /// Why it failed.
    pub error_code: Option<String>,
    /// In words.
    pub error_message: Option<String>,
}

/// An approval of an execution.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ApprovalState {
    /// Its id.
    pub approval_id: Uuid,
    /// Of this step only.
    pub step_id: Option<String>,
    /// `pending`, `approved`, `rejected`, `expired` or `withdrawn`.
    pub state: String,
    /// The hash that a decision names.
    pub plan_hash: String,
}

/// Which step of which execution a job runs for, as the database wrote it with the job: what the payload says means nothing
/// here. In a worker, see [`Context::step`](crate::worker::Context::step).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct StepInfo {
    /// The execution.
    pub execution_id: Uuid,
    /// The step's name in the plan.
    pub step_id: String,
    /// Its place in the plan, from 1.
    pub step_number: i32,
    /// What is to be done.
    pub action: String,
    /// The class that was approved: `read`, `modify` or `deploy`.
    pub action_class: String,
    /// What kind of thing it is done to.
    pub target_type: String,
    /// Which one.
    #[serde(default)]
    pub target_ref: String,
    /// The SHA-256 of the plan that was approved.
    pub plan_hash: String,
    /// The fencing number of its run, between two runs that of the last; none: the step locks nothing. See [`StepInfo::fence`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fence: Option<i64>,
}

impl StepInfo {
    /// The fencing number of this run: greater than that of every run, and of every lock taken by hand, that could act on the
    /// target before. It is the same number everywhere: here, in `tenure job show`, `tenure lock list`, `tenure execution steps`
    /// and the line `step_started` of the timeline. A target that remembers the greatest it has seen, and refuses smaller ones,
    /// is safe from a worker that was believed dead. None: the step locks nothing.
    pub fn fence(&self) -> Option<i64> {
        self.fence
    }
}
