//! Jobs: enqueue, find, explain, decide, clean up. The work on a held job is in [`work`](crate::work).

mod decide;
mod enqueue;
mod read;
mod services;
mod show;

pub use decide::*;
pub use enqueue::*;
pub use read::*;
pub use services::*;
pub use show::*;

use crate::words;

words! {
    /// The state of a job.
    pub enum JobState {
        /// It waits for a claim, or for its due time.
        Queued = "queued",
        /// A worker holds it and has not started it.
        Leased = "leased",
        /// A worker runs it.
        InProgress = "in_progress",
        /// It is done.
        Succeeded = "succeeded",
        /// It failed and is not attempted again by itself.
        Failed = "failed",
        /// An attempt ended and the next one waits for its time.
        RetryWaiting = "retry_waiting",
        /// It gave up and has a dead letter.
        DeadLetter = "dead_letter",
        /// It was cancelled.
        Cancelled = "cancelled",
        /// Its retention is over: payload, result and references are removed.
        Cleaned = "cleaned",
    }
}

impl JobState {
    /// Whether only an operator or retention changes it.
    pub fn is_at_rest(&self) -> bool {
        matches!(
            self,
            JobState::Succeeded | JobState::Failed | JobState::Cancelled | JobState::DeadLetter | JobState::Cleaned
        )
    }
}

words! {
    /// Who may see a payload.
    pub enum Classification {
        /// Every principal that may see the job.
        SafeMetadata = "safe_metadata",
        /// Administrators, and principals with access to restricted payloads.
        Restricted = "restricted",
    }
}
