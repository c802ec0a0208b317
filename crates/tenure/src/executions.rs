//! Executions as programs see them: what one is and how far, and what a step's handler is told.
//!
//! What may happen to an execution is decided in `sql/functions/executions/`; a plan is written with [`NewPlan`] or read from
//! JSON, checked and hashed by [`Plan`]. [`Client::submit`](crate::Client::submit) puts the two together.

use serde::{Deserialize, Serialize};
pub use tenure_api::approvals::{Approval, ApprovalDecided, ApprovalState, Decision};
pub use tenure_api::executions::{
    ExecutionApproval, ExecutionCancelled, ExecutionDetails, ExecutionEvent, ExecutionResolved, ExecutionRetried,
    ExecutionState, ExecutionStep, ExecutionSubmitted, ExecutionWithdrawn, PlanDifference, PlanPreview, StepState,
    Verdict,
};
pub use tenure_core::plan::{ActionClass, Effects, LockScope, Mode, OnStepFailure, Plan, SlaClass};
use uuid::Uuid;

pub use crate::client::{NewPlan, NewStep};

/// Which step of which execution a job runs for, as the database wrote it with the job: what the payload says means nothing
/// here. In a worker, see [`Context::step`](crate::worker::Context::step).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
