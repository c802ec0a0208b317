//! The nine states of a job, and the one table of what may happen to it.
//!
//! `testdata/transitions.tsv` holds the same rows; the SQL guard and the diagram in the docs are tested against them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::codes;
use crate::names::nearest;
use crate::refusal::Refusal;

use JobState::{Cancelled, Cleaned, DeadLetter, Failed, InProgress, Leased, Queued, RetryWaiting, Succeeded};

/// Where a job is in its life.
///
/// ```
/// use tenure_core::JobState;
///
/// let state: JobState = "in_progress".parse().unwrap();
/// assert!(state.is_active());
/// assert_eq!(state.to_string(), "in_progress");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Waits for its first claim, or was given back.
    Queued,
    /// Held by a worker that has not confirmed its start.
    Leased,
    /// Held by a worker that runs it.
    InProgress,
    /// Ended well.
    Succeeded,
    /// A run ended badly. A resting place only for kinds whose policy is `on_exhausted = fail`.
    Failed,
    /// Comes back at its due time.
    RetryWaiting,
    /// Gave up; the dead letter holds all that a replay needs.
    DeadLetter,
    /// Ended by request.
    Cancelled,
    /// Emptied by the retention sweep; a tombstone that still answers.
    Cleaned,
}

impl JobState {
    /// All nine, in the order of a life.
    pub const ALL: [JobState; 9] = [
        Queued,
        Leased,
        InProgress,
        Succeeded,
        Failed,
        RetryWaiting,
        DeadLetter,
        Cancelled,
        Cleaned,
    ];

    /// The name on every surface.
    pub const fn as_str(self) -> &'static str {
        match self {
            Queued => "queued",
            Leased => "leased",
            InProgress => "in_progress",
            Succeeded => "succeeded",
            Failed => "failed",
            RetryWaiting => "retry_waiting",
            DeadLetter => "dead_letter",
            Cancelled => "cancelled",
            Cleaned => "cleaned",
        }
    }

    /// Work still lies ahead, so its idempotency key is taken.
    pub const fn is_active(self) -> bool {
        matches!(self, Queued | Leased | InProgress | RetryWaiting)
    }

    /// Final: no verb but `clean` leads on. `failed` is neither active nor terminal, an operator may retry it.
    ///
    /// ```
    /// use tenure_core::JobState;
    ///
    /// assert!(JobState::Succeeded.is_terminal());
    /// assert!(!JobState::Failed.is_terminal() && !JobState::Failed.is_active());
    /// ```
    pub const fn is_terminal(self) -> bool {
        matches!(self, Succeeded | DeadLetter | Cancelled | Cleaned)
    }

    /// A worker holds it under a lease.
    pub const fn is_held(self) -> bool {
        matches!(self, Leased | InProgress)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for JobState {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        JobState::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| {
                let known = JobState::ALL.map(JobState::as_str);
                let next = match nearest(text, known) {
                    Some(name) => format!("Did you mean {name:?}? All states: {}.", known.join(", ")),
                    None => format!("Use one of: {}.", known.join(", ")),
                };
                Refusal::new(
                    codes::STATE_UNKNOWN,
                    format!("There is no job state {text:?}."),
                    "A job has nine states.",
                    next,
                )
            })
    }
}

/// One row of the table: a verb leads from one state to another. A job that does not exist yet has no state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Transition {
    /// The state it must be in; none before it exists.
    pub from: Option<JobState>,
    /// What happens to it.
    pub verb: &'static str,
    /// The state it is in afterwards.
    pub to: JobState,
}

const fn t(from: JobState, verb: &'static str, to: JobState) -> Transition {
    Transition {
        from: Some(from),
        verb,
        to,
    }
}

/// The job machine: every legal transition, and nothing else is legal.
///
/// `settle_cancel` is the end of a run (failure, timeout or expiry) that finds an open cancel request: such a job is
/// cancelled, never retried. "Retry now" is no transition: the job stays `retry_waiting` and becomes due.
#[rustfmt::skip] // A table is read by column.
pub const JOB: &[Transition] = &[
    Transition { from: None, verb: "enqueue", to: Queued },
    // from          verb                   to
    t(Queued,       "claim",               Leased),
    t(RetryWaiting, "claim",               Leased),
    t(Leased,       "start",               InProgress),
    t(Leased,       "release",             Queued),
    t(InProgress,   "release",             Queued),
    t(Leased,       "complete",            Succeeded),
    t(InProgress,   "complete",            Succeeded),
    t(Leased,       "fail",                Failed),
    t(InProgress,   "fail",                Failed),
    t(Leased,       "expire",              Failed),
    t(InProgress,   "expire",              Failed),
    t(InProgress,   "time_out",            Failed),
    t(Failed,       "schedule_retry",      RetryWaiting),
    t(Failed,       "dead_letter",         DeadLetter),
    t(InProgress,   "snooze",              RetryWaiting),
    t(Queued,       "cancel",              Cancelled),
    t(RetryWaiting, "cancel",              Cancelled),
    t(Queued,       "pass_deadline",       DeadLetter),
    t(RetryWaiting, "pass_deadline",       DeadLetter),
    t(Leased,       "pass_deadline",       DeadLetter),
    t(Queued,       "move_to_dead_letter", DeadLetter),
    t(RetryWaiting, "move_to_dead_letter", DeadLetter),
    t(Leased,       "acknowledge_cancel",  Cancelled),
    t(InProgress,   "acknowledge_cancel",  Cancelled),
    t(Leased,       "settle_cancel",       Cancelled),
    t(InProgress,   "settle_cancel",       Cancelled),
    t(Leased,       "force_cancel",        Cancelled),
    t(InProgress,   "force_cancel",        Cancelled),
    t(Failed,       "operator_retry",      Queued),
    t(Succeeded,    "clean",               Cleaned),
    t(Failed,       "clean",               Cleaned),
    t(Cancelled,    "clean",               Cleaned),
    t(DeadLetter,   "clean",               Cleaned),
];

/// The state a verb leads to, or nothing when it is not allowed there.
///
/// ```
/// use tenure_core::JobState::{Leased, Queued, Succeeded};
/// use tenure_core::transitions::allowed;
///
/// assert_eq!(allowed(None, "enqueue"), Some(Queued));
/// assert_eq!(allowed(Queued, "claim"), Some(Leased));
/// assert_eq!(allowed(Succeeded, "claim"), None);
/// ```
pub fn allowed(from: impl Into<Option<JobState>>, verb: &str) -> Option<JobState> {
    let from = from.into();
    JOB.iter()
        .find(|row| row.from == from && row.verb == verb)
        .map(|row| row.to)
}

/// The verbs allowed in a state, in the order of the table.
///
/// ```
/// use tenure_core::{JobState, transitions::legal_verbs};
///
/// assert_eq!(legal_verbs(JobState::Succeeded), ["clean"]);
/// assert!(legal_verbs(JobState::Cleaned).is_empty());
/// ```
pub fn legal_verbs(from: impl Into<Option<JobState>>) -> Vec<&'static str> {
    let from = from.into();
    JOB.iter().filter(|row| row.from == from).map(|row| row.verb).collect()
}

/// Whether any verb leads directly from one state to the other.
///
/// ```
/// use tenure_core::{JobState::{Leased, Queued, Succeeded}, transitions::legal_pair};
///
/// assert!(legal_pair(Queued, Leased));
/// assert!(!legal_pair(Queued, Succeeded));
/// ```
pub fn legal_pair(from: impl Into<Option<JobState>>, to: JobState) -> bool {
    let from = from.into();
    JOB.iter().any(|row| row.from == from && row.to == to)
}

/// The table as a Mermaid state diagram, one arrow for each pair of states, its verbs as the label.
///
/// ```
/// assert!(tenure_core::transitions::mermaid().contains("queued --> leased : claim"));
/// ```
pub fn mermaid() -> String {
    let mut arrows: Vec<(Option<JobState>, JobState, Vec<&str>)> = Vec::new();
    for row in JOB {
        match arrows
            .iter_mut()
            .find(|(from, to, _)| *from == row.from && *to == row.to)
        {
            Some((_, _, verbs)) => verbs.push(row.verb),
            None => arrows.push((row.from, row.to, vec![row.verb])),
        }
    }
    let mut text = String::from("stateDiagram-v2\n");
    for (from, to, verbs) in arrows {
        let from = from.map_or("[*]", JobState::as_str);
        text.push_str(&format!("    {from} --> {to} : {}\n", verbs.join(", ")));
    }
    text.push_str("    cleaned --> [*]\n");
    text
}
