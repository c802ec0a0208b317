//! Executions as programs see them: what one is and how far, and what a step's handler is told.
//!
//! What may happen to an execution is decided in `sql/functions/executions*.sql`; a plan is read, checked and hashed by
//! [`Plan`](crate::core::plan::Plan). [`Client::submit`](crate::Client::submit) puts the two together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::store::Timestamp;

/// Fencing numbers of two acquisitions of a lock lie this far apart; the runs of one lie between.
const RUNS_PER_FENCE: i64 = 1 << 20;

/// Who enqueues the jobs of steps. No principal has this name.
const ENQUEUED_BY: &str = "execution";

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

/// Which step of which execution a job runs for: the member `step` of its payload, and what goes with it. In a worker, see
/// [`Context::step`](crate::worker::Context::step).
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
    /// What kind of thing it is done to.
    pub target_type: String,
    /// Which one.
    #[serde(default)]
    pub target_ref: String,
    /// The SHA-256 of the plan that was approved.
    pub plan_hash: String,
    /// The number of the lock's acquisition; none: the step locks nothing. [`StepInfo::fence`] is what a target compares.
    #[serde(rename = "fence")]
    acquisition: Option<i64>,
    /// Which run of the job this is.
    #[serde(default)]
    run: i32,
}

impl StepInfo {
    /// Reads it from a job; none: no execution enqueued it, whatever its payload says.
    pub(crate) fn of(job: &crate::store::jobs::ClaimedJob) -> Option<StepInfo> {
        #[derive(Deserialize)]
        struct Planned {
            step: StepInfo,
        }
        if job.enqueued_by != ENQUEUED_BY {
            return None;
        }
        let Planned { mut step } = job.payload.read().ok()?;
        step.target_ref = job.target_ref.clone().unwrap_or_default();
        step.run = job.run;
        Some(step)
    }

    /// The fencing number of this run for its target: greater than that of any run that held the target before. A target
    /// that remembers the greatest it has seen, and refuses smaller ones, is safe from a worker that was believed dead.
    /// None: the step locks nothing.
    pub fn fence(&self) -> Option<i64> {
        self.acquisition
            .map(|fence| fence * RUNS_PER_FENCE + i64::from(self.run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_run_or_acquisition_has_the_greater_fence() {
        let fence = |acquisition: Option<i64>, run: i32| {
            let step = StepInfo {
                execution_id: Uuid::nil(),
                step_id: "a".to_owned(),
                step_number: 1,
                action: "restart".to_owned(),
                target_type: "host".to_owned(),
                target_ref: "web-1".to_owned(),
                plan_hash: String::new(),
                acquisition,
                run,
            };
            step.fence()
        };
        assert_eq!(fence(None, 1), None);
        assert!(fence(Some(7), 1) < fence(Some(7), 2));
        assert!(fence(Some(7), 1000) < fence(Some(8), 1));
    }
}
