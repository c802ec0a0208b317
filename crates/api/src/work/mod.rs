//! Work on jobs: claim them, start them, keep their leases, end their runs.

mod claim;
mod end;
mod hold;

pub use claim::{ClaimMode, Claimed, ClaimedJob, JobClaim, JobHeld};
pub use end::{
    EndAnswer, EndAnswers, EndStatus, JobAcknowledgeCancel, JobComplete, JobEndMany, JobFail, JobRelease, JobSnooze,
    Outcome, RunEnd,
};
pub use hold::{
    Heartbeat, HeartbeatStatus, Heartbeats, Hold, JobHeartbeat, JobHeartbeatMany, JobProgress, JobStart, JobStartMany,
    JobStarted, ProgressRecorded, StartAnswer, StartAnswers, StartStatus,
};
