//! `tenure job start`, `heartbeat`, `progress`, `complete`, `fail`, `snooze`, `release` and `acknowledge-cancel`: work on a held job.

use tenure_api::work::{
    EndAnswer, EndStatus, HeartbeatStatus, JobAcknowledgeCancel, JobComplete, JobFail, JobHeartbeat, JobProgress,
    JobRelease, JobSnooze, JobStart,
};

use super::operate::{is_now, time};
use crate::cli::verb::Verb;

pub(super) const START: Verb<JobStart> = Verb {
    places: &["job_id", "token"],
    quiet: &["job_id"],
    ..Verb::<JobStart>::sentence("start", |_, done| is_now(done.job_id, Some(&done.state), None))
};

pub(super) const HEARTBEAT: Verb<JobHeartbeat> = Verb {
    places: &["job_id", "token"],
    quiet: &["status"],
    ..Verb::<JobHeartbeat>::sentence("heartbeat", |asked, done| {
        let JobHeartbeat { job_id, token, .. } = asked;
        match done.status {
            HeartbeatStatus::Cancel => format!(
                "Job {job_id} is to be cancelled: {}\nStop, then run: tenure job acknowledge-cancel {job_id} {token}",
                done.cancel_reason.as_deref().unwrap_or_default()
            ),
            _ => format!(
                "Job {job_id} is yours until {}.",
                done.leased_until.map(time).unwrap_or_default()
            ),
        }
    })
};

pub(super) const PROGRESS: Verb<JobProgress> = Verb {
    places: &["job_id", "token", "progress"],
    quiet: &["job_id"],
    ..Verb::<JobProgress>::sentence("progress", |asked, done| {
        let JobProgress { job_id, token, .. } = asked;
        match done.cancel_requested {
            false => format!("The progress of job {job_id} is noted."),
            true => format!(
                "The progress of job {job_id} is noted.\nIt is to be cancelled: stop, then run: tenure job acknowledge-cancel {job_id} {token}"
            ),
        }
    })
};

pub(super) const COMPLETE: Verb<JobComplete> = Verb {
    places: &["job_id", "token"],
    shorts: &[("result", 'r')],
    quiet: &["job_id"],
    ..Verb::<JobComplete>::sentence("complete", |_, done| ended(done))
};

pub(super) const FAIL: Verb<JobFail> = Verb {
    places: &["job_id", "token"],
    shorts: &[("message", 'm')],
    conflicts: &[("retry_seconds", "permanent")],
    quiet: &["job_id"],
    ..Verb::<JobFail>::sentence("fail", |_, done| ended(done))
};

pub(super) const SNOOZE: Verb<JobSnooze> = Verb {
    places: &["job_id", "token", "seconds"],
    quiet: &["job_id"],
    ..Verb::<JobSnooze>::sentence("snooze", |_, done| ended(done))
};

pub(super) const RELEASE: Verb<JobRelease> = Verb {
    places: &["job_id", "token"],
    quiet: &["job_id"],
    ..Verb::<JobRelease>::sentence("release", |_, done| ended(done))
};

pub(super) const ACKNOWLEDGE_CANCEL: Verb<JobAcknowledgeCancel> = Verb {
    places: &["job_id", "token"],
    quiet: &["job_id"],
    ..Verb::<JobAcknowledgeCancel>::sentence("acknowledge-cancel", |_, done| ended(done))
};

fn ended(done: &EndAnswer) -> String {
    let now = is_now(done.job_id, done.state.as_ref(), done.next_due);
    match done.status {
        EndStatus::AlreadyEnded => format!("{now} It had ended before."),
        _ => now,
    }
}
