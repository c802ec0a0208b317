//! `tenure executor`: the executors, and the heartbeats of their processes.

use tenure_api::executors::{ExecutorBeat, ExecutorList};

use super::verb::{Command, Noun, Verb};
use crate::output::Column;

/// The verbs of `tenure executor`.
pub(crate) struct Executor;

impl Noun for Executor {
    const VERBS: &'static [&'static dyn Command] = &[&LIST, &BEAT];
}

const LIST: Verb<ExecutorList> = Verb {
    quiet: &["executor"],
    ..Verb::table(
        "list",
        &[
            Column("EXECUTOR", "executor"),
            Column("ROLE", "role"),
            Column("ALIVE", "alive"),
            Column("LAST TICK", "last_tick_at"),
            Column("NOTE", "note"),
        ],
        "There are no executors.",
    )
};

const BEAT: Verb<ExecutorBeat> = Verb {
    places: &["name"],
    options: &[("current_job_id", "job")],
    defaults: &[("executor", "external_worker")],
    quiet: &["executor_name"],
    ..Verb::<ExecutorBeat>::sentence("beat", |_, done| {
        let shared = if done.name_shared {
            " Another process uses the same name."
        } else {
            ""
        };
        format!("{} is alive ({}).{shared}", done.executor_name, done.last_tick_status)
    })
};
