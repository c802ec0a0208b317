//! `tenure job list`, `show`, `timeline`, `explain`, `cancel`, `retry` and `dead-letter`: look at jobs, and decide about one.

use serde_json::json;
use tenure_api::Timestamp;
use tenure_api::jobs::{
    JobCancel, JobDeadLetter, JobExplain, JobExplanation, JobList, JobRetry, JobShow, JobState, JobTimeline,
};
use uuid::Uuid;

use crate::cli::verb::Verb;
use crate::output::{Column, shown};

pub(super) const LIST: Verb<JobList> = Verb {
    shorts: &[("state", 's'), ("kind", 'k'), ("limit", 'n')],
    defaults: &[("limit", "50")],
    quiet: &["job_id"],
    unmatched: Some("No jobs match. Without filters: tenure job list."),
    ..Verb::table(
        "list",
        &[
            Column("JOB", "job_id"),
            Column("KIND", "kind"),
            Column("STATE", "state"),
            Column("PRIORITY", "priority"),
            Column("DUE", "due"),
            Column("ATTEMPTS", "attempts"),
            Column("OF", "attempts_max"),
            Column("WORKER", "lease_owner"),
            Column("ERROR", "error_message"),
        ],
        "No jobs. `tenure job enqueue KIND` makes one.",
    )
};

pub(super) const SHOW: Verb<JobShow> = Verb {
    places: &["job_id"],
    hidden: &["wait_seconds"],
    quiet: &["job_id"],
    ..Verb::fields(
        "show",
        &[
            "job_id",
            "kind",
            "state",
            "executor",
            "priority",
            "due",
            "deadline_at",
            "attempts",
            "attempts_max",
            "run",
            "lease_owner",
            "leased_until",
            "started_at",
            "progress",
            "finished_at",
            "error_code",
            "error_message",
            "result",
            "result_ref",
            "payload",
        ],
    )
};

pub(super) const TIMELINE: Verb<JobTimeline> = Verb {
    places: &["job_id"],
    quiet: &["verb"],
    ..Verb::table(
        "timeline",
        &[
            Column("AT", "at"),
            Column("STATE", "state"),
            Column("VERB", "verb"),
            Column("RUN", "run"),
            Column("ATTEMPT", "attempt"),
            Column("ACTOR", "actor"),
            Column("WORKER", "worker"),
            Column("DETAIL", "detail"),
        ],
        "Nothing has happened to it.",
    )
};

pub(super) const EXPLAIN: Verb<JobExplain> = Verb {
    places: &["job_id"],
    quiet: &["state"],
    ..Verb::<JobExplain>::sentence("explain", |_, found| reasons(found))
};

fn reasons(found: &JobExplanation) -> String {
    let mut text = format!("Job {} ({}) is {}.", found.job_id, found.kind, found.state);
    for reason in &found.reasons {
        text.push_str(&format!(
            "\n\n{}: {}\n  why:  {}\n  next: {}",
            reason.code, reason.what, reason.why, reason.next
        ));
    }
    text
}

pub(super) const CANCEL: Verb<JobCancel> = Verb {
    places: &["job_id"],
    shorts: &[("reason", 'r')],
    flags: &[(
        "mode",
        "force",
        "Take a held job from its worker at once, without waiting for it to stop",
    )],
    quiet: &["job_id"],
    ..Verb::<JobCancel>::sentence("cancel", |_, done| match done.cancel_requested {
        Some(true) => format!(
            "Job {} is running; its worker is asked to stop. --force takes it away at once.",
            done.job_id
        ),
        _ => is_now(done.job_id, Some(&done.state), None),
    })
};

pub(super) const RETRY: Verb<JobRetry> = Verb {
    places: &["job_id"],
    shorts: &[("reason", 'r')],
    quiet: &["job_id"],
    ..Verb::<JobRetry>::sentence("retry", |_, done| {
        is_now(done.job_id, Some(&done.state), Some(done.due))
    })
};

pub(super) const DEAD_LETTER: Verb<JobDeadLetter> = Verb {
    places: &["job_id"],
    shorts: &[("reason", 'r')],
    quiet: &["job_id"],
    ..Verb::<JobDeadLetter>::sentence("dead-letter", |_, done| is_now(done.job_id, Some(&done.state), None))
};

/// `Job … is retry_waiting, due 2026-01-31 09:00:00Z.`
pub(super) fn is_now(job: Uuid, state: Option<&JobState>, due: Option<Timestamp>) -> String {
    let state = state.map_or("unknown", JobState::as_str);
    match due {
        Some(due) => format!("Job {job} is {state}, due {}.", time(due)),
        None => format!("Job {job} is {state}."),
    }
}

/// A time as people read it.
pub(super) fn time(at: Timestamp) -> String {
    shown("at", &json!(at))
}
