//! Executions: plans that were submitted, their steps, and what operators do about them.

mod archives;
mod dead_letters;
mod differences;
mod lists;
mod operate;
mod previews;
mod show;
mod steps;
mod submissions;
mod windows;
mod words;

pub use archives::{ArchivedExecution, ExecutionArchiveList};
pub use dead_letters::{
    ExecutionDeadLetter, ExecutionDeadLetterDetails, ExecutionDeadLetterList, ExecutionDeadLetterShow,
    ExecutionDeadLetterTriage, ExecutionDeadLetterTriaged, FailureContext, FailureStep,
};
pub use differences::{ExecutionDifference, ExecutionPlan, FrozenPlan, PlanDifference};
pub use lists::{Execution, ExecutionEvent, ExecutionList, ExecutionTimeline};
pub use operate::{
    ExecutionCancel, ExecutionCancelled, ExecutionClose, ExecutionClosed, ExecutionFreeze, ExecutionFrozen,
    ExecutionResolve, ExecutionResolved, ExecutionRetried, ExecutionRetry, ExecutionUnfreeze, ExecutionUnfrozen,
    ExecutionWithdraw, ExecutionWithdrawn,
};
pub use previews::{ExecutionPreview, PlanPreview, PreviewSection, PreviewStep};
pub use show::{
    ExecutionApproval, ExecutionDetails, ExecutionSection, ExecutionShow, ResultSummary, StepCounts, StepError,
};
pub use steps::{ExecutionStep, StepList};
pub use submissions::{ExecutionSubmit, ExecutionSubmitted};
pub use windows::{StartWindow, Window};
pub use words::{
    ActionClass, ArchivedState, Effects, EndReason, ExecutionMode, ExecutionState, KeyOrigin, LockScope, OnStepFailure,
    Parked, RetryMode, SectionState, SlaClass, StepJobState, StepState, Stopping, Verdict,
};

/// A plan as the documentation of the API shows it.
fn example_plan() -> serde_json::Value {
    serde_json::json!({
        "purpose": "look at web-1",
        "sla_class": "fast",
        "steps": [{
            "id": "look", "action": "host.diagnose", "action_class": "read", "target_type": "host", "target_ref": "web-1",
        }],
    })
}
