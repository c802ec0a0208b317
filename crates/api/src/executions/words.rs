//! The words of executions and steps.

use crate::words;

words! {
    /// The state of an execution.
    pub enum ExecutionState {
        /// It was submitted and not yet checked for approval.
        Pending = "pending",
        /// It waits for an approval.
        AwaitingApproval = "awaiting_approval",
        /// It may start.
        Approved = "approved",
        /// Steps of it run.
        Running = "running",
        /// Every step succeeded.
        Succeeded = "succeeded",
        /// Some steps succeeded, others did not.
        PartiallyFailed = "partially_failed",
        /// It failed.
        Failed = "failed",
        /// It was cancelled, withdrawn or superseded, or its time to start passed.
        Cancelled = "cancelled",
        /// An approver rejected it.
        Rejected = "rejected",
    }
}

words! {
    /// The state in which an archived execution ended.
    pub enum ArchivedState {
        /// Every step succeeded.
        Succeeded = "succeeded",
        /// Some steps succeeded, others did not.
        PartiallyFailed = "partially_failed",
        /// It failed.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
        /// An approver rejected it.
        Rejected = "rejected",
    }
}

words! {
    /// The state of a step.
    pub enum StepState {
        /// It waits for the steps that it needs.
        Waiting = "waiting",
        /// It waits for an approval of its own.
        AwaitingApproval = "awaiting_approval",
        /// It waits for its lock.
        Blocked = "blocked",
        /// Its job is queued or runs.
        Running = "running",
        /// Its outcome is not known; an operator decides.
        Unknown = "unknown",
        /// It succeeded.
        Succeeded = "succeeded",
        /// It failed.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
        /// It never started.
        Skipped = "skipped",
    }
}

words! {
    /// The state of the job of a running step.
    pub enum StepJobState {
        /// It waits for a worker.
        Queued = "queued",
        /// A worker has claimed it.
        Leased = "leased",
        /// A worker has started it.
        InProgress = "in_progress",
    }
}

words! {
    /// How long the work is expected to take.
    pub enum SlaClass {
        /// Under ten seconds.
        Fast = "fast",
        /// Under thirty seconds.
        Medium = "medium",
        /// Longer.
        Long = "long",
    }
}

words! {
    /// What a step may change.
    pub enum ActionClass {
        /// It reads and changes nothing.
        Read = "read",
        /// It changes something that exists.
        Modify = "modify",
        /// It brings something new.
        Deploy = "deploy",
    }
}

words! {
    /// Whether the submitter waits for the end.
    pub enum ExecutionMode {
        /// The submitter waits.
        Immediate = "immediate",
        /// The submitter does not wait.
        Background = "background",
    }
}

words! {
    /// Why an approved execution does not start.
    pub enum Parked {
        /// Its window is not open.
        Window = "window",
        /// The tenant is frozen.
        Freeze = "freeze",
    }
}

words! {
    /// Why no more steps of an execution start.
    pub enum Stopping {
        /// A step failed.
        StepFailed = "step_failed",
        /// It was cancelled.
        Cancelled = "cancelled",
        /// It took too long.
        TimedOut = "timed_out",
    }
}

words! {
    /// Why an execution ended as it did.
    pub enum EndReason {
        /// Every step succeeded.
        Completed = "completed",
        /// A step failed.
        StepFailed = "step_failed",
        /// It took too long.
        TimedOut = "timed_out",
        /// An operator cancelled it.
        Cancelled = "cancelled",
        /// Its requester withdrew it before it started.
        Withdrawn = "withdrawn",
        /// Another plan replaced it before it started.
        Superseded = "superseded",
        /// An approver rejected it.
        Rejected = "rejected",
        /// Its approval was not decided in time.
        ApprovalExpired = "approval_expired",
        /// It was approved and did not start in time.
        ApprovalLapsed = "approval_lapsed",
        /// An approver lost the right to approve before it started.
        ApproverRevoked = "approver_revoked",
        /// The time until which it could start passed.
        WindowPassed = "window_passed",
    }
}

words! {
    /// What happens to the other steps when one has failed.
    pub enum OnStepFailure {
        /// No further step starts.
        Stop = "stop",
        /// Steps that do not need it go on.
        Continue = "continue",
    }
}

words! {
    /// Where an idempotency key comes from.
    pub enum KeyOrigin {
        /// The submitter gave it.
        Given = "given",
        /// It was derived from the plan, the tenant and the requester.
        Derived = "derived",
    }
}

words! {
    /// What it means to run a step twice.
    pub enum Effects {
        /// The same as running it once, so it is retried.
        Idempotent = "idempotent",
        /// Something else, so it is started once.
        Once = "once",
    }
}

words! {
    /// What a step has for itself while it runs.
    pub enum LockScope {
        /// The target.
        Target = "target",
        /// The target for this action.
        TargetAndAction = "target_and_action",
        /// Nothing.
        None = "none",
    }
}

words! {
    /// The state of a section: steps that hold one lock together.
    pub enum SectionState {
        /// No step of it was dispatched yet.
        Waiting = "waiting",
        /// It holds its lock.
        Held = "held",
        /// It lost its lock before its last step ended.
        Broken = "broken",
        /// All of its steps have ended.
        Over = "over",
    }
}

words! {
    /// What an operator found out about a step whose outcome was not known.
    pub enum Verdict {
        /// It succeeded.
        Succeeded = "succeeded",
        /// It failed.
        Failed = "failed",
        /// It runs once more.
        Retry = "retry",
    }
}

words! {
    /// How much of a plan a retry runs.
    pub enum RetryMode {
        /// What did not succeed.
        Resume = "resume",
        /// All of it.
        Restart = "restart",
    }
}
