//! Jobs: enqueue, claim, hold, end, operate, read.

mod claim;
mod end;
mod enqueue;
mod hold;
mod offer;
mod operate;
mod origin;
mod read;
mod turn;

pub use claim::{Claim, ClaimHint, ClaimMode, ClaimedJob, claim, claim_many, held};
pub use end::{
    End, EndAnswer, Outcome, acknowledge_cancel, complete, end_many, fail, fail_permanently, release, snooze,
};
pub use enqueue::{Enqueued, NewJob, enqueue, enqueue_alone, enqueue_alone_within, enqueue_many, enqueue_many_within};
pub use hold::{Beat, Started, heartbeat, heartbeat_many, progress, start, start_many};
pub use offer::{Offer, offer, withdraw};
pub use operate::{CancelMode, cancel, dead_letter, retry};
pub use read::{JobFilter, JobSummary, Moment, ended, explain, list, show, timeline};
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
