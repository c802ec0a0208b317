//! What a worker did.

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
