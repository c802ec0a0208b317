//! What a worker did.

use crate::store::jobs::Outcome;

/// Counts of a worker's life, from its first claim to its last answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Jobs it was given.
    pub claimed: u64,
    /// Runs that succeeded.
    pub succeeded: u64,
    /// Runs that failed, to be tried again or for good; panics and timeouts among them.
    pub failed: u64,
    /// Runs that ended by a cancel request.
    pub cancelled: u64,
    /// Runs put off.
    pub snoozed: u64,
    /// Jobs given back.
    pub released: u64,
    /// Runs whose lease was lost: their results were dropped, another attempt owns the job.
    pub lost: u64,
    /// Statements that recorded ends, claimed work, or both.
    pub turns: u64,
}

impl Report {
    /// Counts a run that ended: what the worker said, and the state of the job since, if the database says it.
    pub(super) fn count(&mut self, outcome: Outcome, state: Option<&str>) {
        let counter = match (outcome, state) {
            // A handler may have completed its job in a transaction of its own, whatever it returned then.
            (Outcome::Succeeded, _) | (_, Some("succeeded")) => &mut self.succeeded,
            // A cancel request turns everything but success into its acknowledgement.
            (Outcome::Cancelled, _) | (_, Some("cancelled")) => &mut self.cancelled,
            (Outcome::Failed | Outcome::FailedPermanently, _) => &mut self.failed,
            (Outcome::Snoozed, _) => &mut self.snoozed,
            (Outcome::Released, _) => &mut self.released,
        };
        *counter += 1;
    }
}
