//! `tenure execution dead-letter`: executions that failed.

use tenure_api::dead_letters::TriageStatus;
use tenure_api::executions::{ExecutionDeadLetterList, ExecutionDeadLetterShow, ExecutionDeadLetterTriage};

use crate::cli::verb::{Command, Noun, Verb};
use crate::output::Column;

/// The verbs of `tenure execution dead-letter`.
pub(crate) struct DeadLetter;

impl Noun for DeadLetter {
    const VERBS: &'static [&'static dyn Command] = &[&LIST, &SHOW, &TRIAGE];
}

const LIST: Verb<ExecutionDeadLetterList> = Verb {
    options: &[("triage_status", "status")],
    shorts: &[("triage_status", 's'), ("limit", 'n')],
    quiet: &["execution_id"],
    ..Verb::table(
        "list",
        &[
            Column("EXECUTION", "execution_id"),
            Column("PURPOSE", "purpose"),
            Column("STATUS", "triage_status"),
            Column("ATTEMPTS", "attempt_count"),
            Column("FAILED", "failed_at"),
            Column("RETRIED AS", "retried_as"),
            Column("ERROR", "last_error"),
        ],
        "No execution has failed in this time.",
    )
};

const SHOW: Verb<ExecutionDeadLetterShow> = Verb {
    places: &["execution_id"],
    quiet: &["execution_id"],
    ..Verb::fields(
        "show",
        &[
            "execution_id",
            "purpose",
            "triage_status",
            "last_error",
            "failed_at",
            "attempt_count",
            "retried_as",
            "plan_hash",
        ],
    )
};

const TRIAGE: Verb<ExecutionDeadLetterTriage> = Verb {
    places: &["execution_id", "status"],
    quiet: &["execution_id"],
    ..Verb::<ExecutionDeadLetterTriage>::sentence("triage", |_, done| {
        let id = done.execution_id;
        let next = match done.triage_status {
            TriageStatus::ManualReplay => format!(" To run it again: tenure execution retry {id} --reason TEXT"),
            _ => String::new(),
        };
        format!("The dead letter of {id} is {}.{next}", done.triage_status)
    })
};
