//! `tenure execution list`, `steps` and `timeline`.

use serde_json::{Value, json};
use tenure_api::executions::{ExecutionArchiveList, ExecutionList, ExecutionTimeline, StepList};

use crate::cli::verb::{Command, Noun, Verb};
use crate::output::{Column, shown};
use crate::values::short;

/// The verbs that list executions, or what belongs to one.
pub(crate) struct Lists;

impl Noun for Lists {
    const VERBS: &'static [&'static dyn Command] = &[&LIST, &STEPS, &TIMELINE];
}

const LIST: Verb<ExecutionList> = Verb {
    options: &[("requested_by", "by")],
    shorts: &[("state", 's'), ("limit", 'n')],
    instead: Some((
        "archived",
        "List archived executions, whose evidence is kept",
        &ARCHIVED,
    )),
    row: Some(execution_for_people),
    quiet: &["execution_id"],
    ..Verb::table(
        "list",
        &[
            Column("EXECUTION", "execution_id"),
            Column("STATE", "state"),
            Column("PURPOSE", "purpose"),
            Column("BY", "requested_by"),
            Column("LEVEL", "approval_level"),
            Column("STEPS", "steps"),
            Column("SUBMITTED", "created_at"),
            Column("TOOK", "took"),
        ],
        "No executions. `tenure execution submit FILE` freezes a plan and makes one.",
    )
};

const ARCHIVED: Verb<ExecutionArchiveList> = Verb {
    options: &[("requested_by", "by"), ("correlation_id", "correlation")],
    quiet: &["execution_id"],
    ..Verb::table(
        "archived",
        &[
            Column("EXECUTION", "execution_id"),
            Column("STATE", "state"),
            Column("PURPOSE", "purpose"),
            Column("BY", "requested_by"),
            Column("CORRELATION", "correlation_id"),
            Column("ENDED", "ended_at"),
            Column("ARCHIVED", "archived_at"),
        ],
        "No archived execution matches. `tenure execution list` shows those that are not archived yet.",
    )
};

pub(super) const STEP_COLUMNS: &[Column] = &[
    Column("STEP", "step_id"),
    Column("STATE", "state"),
    Column("ACTION", "action"),
    Column("TARGET", "target"),
    Column("TRIES", "attempt"),
    Column("WORKER", "worker"),
    Column("TOOK", "took"),
    Column("WHY", "why_note"),
];

const STEPS: Verb<StepList> = Verb {
    places: &["execution_id"],
    shorts: &[("state", 's')],
    row: Some(step_for_people),
    quiet: &["step_id", "state"],
    ..Verb::table("steps", STEP_COLUMNS, "No step is in this state.")
};

const TIMELINE: Verb<ExecutionTimeline> = Verb {
    places: &["execution_id"],
    shorts: &[("limit", 'n')],
    quiet: &["seq", "kind"],
    ..Verb::table(
        "timeline",
        &[
            Column("#", "seq"),
            Column("AT", "at"),
            Column("EVENT", "kind"),
            Column("ACTOR", "actor"),
            Column("STEP", "step_id"),
            Column("DATA", "data"),
        ],
        "Nothing has happened after that.",
    )
};

fn execution_for_people(row: &mut Value) {
    let part = |field: &str| shown("", &row[field]);
    row["steps"] = json!(format!("{}/{}", part("steps_succeeded"), part("step_count")));
    row["took"] = json!(row["duration_ms"].as_i64().map(took));
}

/// Adds what a table of steps shows.
pub(super) fn step_for_people(step: &mut Value) {
    let part = |field: &str| shown("", &step[field]);
    let target = format!("{} {}", part("target_type"), part("target_ref"));
    let why = [part("error_code"), part("error_message")];
    let why: Vec<&str> = why.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    let why = match (why.is_empty(), step["state"].as_str()) {
        (false, _) => Some(why.join(": ")),
        (_, Some("blocked")) => Some(format!(
            "waits for the lock {}, place {}",
            lock_of(step),
            part("waiting_place")
        )),
        (_, Some("unknown")) => Some("nobody knows whether it was done".to_owned()),
        _ if !step["carried_from"].is_null() => Some("done by the execution before".to_owned()),
        _ => None,
    };
    step["target"] = json!(target);
    step["why_note"] = json!(why);
    step["took"] = json!(step["duration_ms"].as_i64().map(took));
    if step["attempt"] == 0 {
        step["attempt"] = Value::Null;
    }
}

/// The lock without what all keys begin with: `host:web-1`.
pub(super) fn lock_of(step: &Value) -> String {
    let key = shown("", &step["lock_key"]);
    key.splitn(4, ':').nth(3).unwrap_or(&key).to_owned()
}

/// `840ms`, `1.8s`, `1m12s`.
pub(super) fn took(ms: i64) -> String {
    match ms {
        ..1_000 => format!("{ms}ms"),
        1_000..60_000 => format!("{:.1}s", ms as f64 / 1000.0),
        _ => short(ms / 1000),
    }
}
