//! `tenure dead-letter`: jobs that gave up.

use tenure_api::dead_letters::{
    DeadLetterList, DeadLetterReplay, DeadLetterReplayPreview, DeadLetterShow, DeadLetterTriage,
};

use super::verb::{Command, Noun, Verb};
use crate::output::Column;

/// The verbs of `tenure dead-letter`.
pub(crate) struct DeadLetter;

impl Noun for DeadLetter {
    const VERBS: &'static [&'static dyn Command] = &[&LIST, &SHOW, &TRIAGE, &REPLAY];
}

const LIST: Verb<DeadLetterList> = Verb {
    options: &[("triage_status", "status")],
    shorts: &[("triage_status", 's'), ("kind", 'k'), ("limit", 'n')],
    quiet: &["dead_letter_id"],
    ..Verb::table(
        "list",
        &[
            Column("DEAD LETTER", "dead_letter_id"),
            Column("KIND", "kind"),
            Column("STATUS", "triage_status"),
            Column("ATTEMPTS", "attempts"),
            Column("MOVED", "moved_at"),
            Column("FINGERPRINT", "fingerprint"),
            Column("ERROR", "final_error"),
        ],
        "No dead letters.",
    )
};

const SHOW: Verb<DeadLetterShow> = Verb {
    places: &["dead_letter_id"],
    quiet: &["dead_letter_id"],
    ..Verb::fields(
        "show",
        &[
            "dead_letter_id",
            "job_id",
            "kind",
            "triage_status",
            "final_error",
            "error_code",
            "attempts",
            "moved_at",
            "payload",
        ],
    )
};

const TRIAGE: Verb<DeadLetterTriage> = Verb {
    places: &["dead_letter_id", "status"],
    quiet: &["dead_letter_id"],
    ..Verb::<DeadLetterTriage>::sentence("triage", |_, done| {
        format!("Dead letter {} is {}.", done.dead_letter_id, done.triage_status)
    })
};

const REPLAY: Verb<DeadLetterReplay> = Verb {
    places: &["dead_letter_id"],
    instead: Some(("preview", "Show what would be done, and do nothing", &PREVIEW)),
    quiet: &["job_id"],
    ..Verb::<DeadLetterReplay>::sentence("replay", |_, done| {
        format!("Job {} is {}, a replay of {}.", done.job_id, done.state, done.replay_of)
    })
};

const PREVIEW: Verb<DeadLetterReplayPreview> = Verb {
    places: &["dead_letter_id"],
    quiet: &["dead_letter_id"],
    ..Verb::fields("preview", &["dead_letter_id"])
};
