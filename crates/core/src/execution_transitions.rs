//! The states of an execution and of its steps, and the one table of what may happen to an execution.
//!
//! `tenure.execution_moves()` holds the same pairs; the guard on the table of executions asks it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::codes;
use crate::names::nearest;
use crate::refusal::Refusal;

use ExecutionState::{
    Approved, AwaitingApproval, Cancelled, Failed, PartiallyFailed, Pending, Rejected, Running, Succeeded,
};

macro_rules! states {
    ($($(#[$doc:meta])* $name:ident of $noun:literal { $($(#[$about:meta])* $state:ident $word:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$about])* $state,)* }

        impl $name {
            /// All of them, in the order of a life.
            pub const ALL: &'static [$name] = &[$($name::$state,)*];

            /// The name on every surface.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$state => $word,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = Refusal;

            fn from_str(text: &str) -> Result<Self, Refusal> {
                $name::ALL.iter().copied().find(|state| state.as_str() == text).ok_or_else(|| {
                    let known = [$($word,)*];
                    let all = known.join(", ");
                    Refusal::new(
                        codes::STATE_UNKNOWN,
                        format!("There is no state {text:?} of {}.", $noun),
                        format!("Known are: {all}."),
                        match nearest(text, known) {
                            Some(name) => format!("Did you mean {name:?}?"),
                            None => "Use one of these.".to_owned(),
                        },
                    )
                })
            }
        }
    )*};
}

states! {
    /// Where an execution is in its life.
    ///
    /// ```
    /// use tenure_core::ExecutionState;
    ///
    /// let state: ExecutionState = "partially_failed".parse().unwrap();
    /// assert!(state.is_final());
    /// assert!("runing".parse::<ExecutionState>().unwrap_err().next.contains("\"running\""));
    /// ```
    ExecutionState of "an execution" {
        /// Its plan is frozen. Nobody sees it here: submission goes on in the same transaction.
        Pending "pending",
        /// Somebody has to decide.
        AwaitingApproval "awaiting_approval",
        /// It may start: now, or when its window opens or a freeze is over.
        Approved "approved",
        /// Its steps run, or wait for each other, for a lock, for a decision or a verdict.
        Running "running",
        /// Every step succeeded.
        Succeeded "succeeded",
        /// Some steps succeeded and some failed; the plan said to continue.
        PartiallyFailed "partially_failed",
        /// A step failed, or its time was over.
        Failed "failed",
        /// Ended by request, by the end of an approval or a window, or by a plan that superseded it.
        Cancelled "cancelled",
        /// Somebody said no.
        Rejected "rejected",
    }

    /// Where a step is in its life.
    ///
    /// ```
    /// use tenure_core::StepState;
    ///
    /// assert!(StepState::Skipped.is_final());
    /// assert!(!StepState::Unknown.is_final(), "somebody has to say how it ended");
    /// ```
    StepState of "a step" {
        /// The execution has not started, or what it needs has not succeeded.
        Waiting "waiting",
        /// Somebody has to decide about this step.
        AwaitingApproval "awaiting_approval",
        /// Another holds its lock.
        Blocked "blocked",
        /// Its job exists: queued or held.
        Running "running",
        /// Nobody knows how it ended: it waits for a verdict.
        Unknown "unknown",
        /// Ended well.
        Succeeded "succeeded",
        /// Ended badly.
        Failed "failed",
        /// Ended by request.
        Cancelled "cancelled",
        /// Never started, since something else had failed or was called off.
        Skipped "skipped",
    }
}

impl ExecutionState {
    /// Nothing leads on from here.
    pub const fn is_final(self) -> bool {
        matches!(self, Succeeded | PartiallyFailed | Failed | Cancelled | Rejected)
    }

    /// Whether any verb leads directly to the other state.
    ///
    /// ```
    /// use tenure_core::ExecutionState::{Approved, Pending, Running};
    ///
    /// assert!(Approved.leads_to(Running));
    /// assert!(!Pending.leads_to(Running), "nothing starts without an approval, though it be an automatic one");
    /// ```
    pub fn leads_to(self, to: ExecutionState) -> bool {
        EXECUTION.iter().any(|row| row.from == self && row.to == to)
    }
}

impl StepState {
    /// Nothing leads on from here within this execution; a retry is another one.
    pub const fn is_final(self) -> bool {
        matches!(
            self,
            StepState::Succeeded | StepState::Failed | StepState::Cancelled | StepState::Skipped
        )
    }
}

/// One row of the table: a verb leads from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ExecutionTransition {
    /// The state it must be in.
    pub from: ExecutionState,
    /// What happens to it.
    pub verb: &'static str,
    /// The state it is in afterwards.
    pub to: ExecutionState,
}

const fn t(from: ExecutionState, verb: &'static str, to: ExecutionState) -> ExecutionTransition {
    ExecutionTransition { from, verb, to }
}

/// The execution machine: every legal transition, and nothing else is legal.
#[rustfmt::skip] // A table is read by column.
pub const EXECUTION: &[ExecutionTransition] = &[
    // from              verb                     to
    t(Pending,          "request_approval",      AwaitingApproval),
    t(Pending,          "approve_automatically", Approved),
    t(Pending,          "cancel",                Cancelled),
    t(AwaitingApproval, "approve",               Approved),
    t(AwaitingApproval, "reject",                Rejected),
    t(AwaitingApproval, "cancel",                Cancelled),
    t(AwaitingApproval, "expire",                Cancelled),
    t(AwaitingApproval, "supersede",             Cancelled),
    t(Approved,         "start",                 Running),
    t(Approved,         "cancel",                Cancelled),
    t(Approved,         "supersede",             Cancelled),
    t(Approved,         "miss_window",           Cancelled),
    t(Running,          "succeed",               Succeeded),
    t(Running,          "fail_partially",        PartiallyFailed),
    t(Running,          "fail",                  Failed),
    t(Running,          "cancel",                Cancelled),
];
