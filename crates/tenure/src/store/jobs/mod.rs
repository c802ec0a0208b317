//! Jobs: enqueue, claim, hold, end, read. What one call of its function does is an [operation](crate::operations).

mod claim;
mod end;
mod enqueue;
mod hold;
mod offer;
mod origin;
mod read;
mod turn;

pub use claim::{Claim, ClaimHint, ClaimMode, ClaimedJob, claim_many, held};
pub(crate) use end::completion;
pub use end::{End, EndAnswer, Outcome, end_many, fail};
pub(crate) use enqueue::enqueue_statement;
pub use enqueue::{Enqueued, NewJob, enqueue, enqueue_alone, enqueue_alone_within, enqueue_many, enqueue_many_within};
pub use hold::{Beat, Started, heartbeat_many, progress, start_many};
pub use offer::{Offer, offer, withdraw};
pub use read::{ended, show};
pub use turn::{Turn, TurnEnd, lane_ready, park, turn};

use uuid::Uuid;

/// A job and the token that proves who holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hold {
    /// The job.
    pub job_id: Uuid,
    /// The token of the claim.
    pub token: Uuid,
}

impl Hold {
    /// This job, held under this token.
    pub fn new(job_id: Uuid, token: Uuid) -> Hold {
        Hold { job_id, token }
    }

    /// The two as the SQL functions take them: arrays that run parallel.
    fn split(holds: &[Hold]) -> (Vec<Uuid>, Vec<Uuid>) {
        holds.iter().map(|hold| (hold.job_id, hold.token)).unzip()
    }
}
