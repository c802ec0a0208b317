//! `tenure execution show`, `plan` and `diff`.

use serde_json::{Value, json};
use tenure_api::executions::{ExecutionDifference, ExecutionPlan};
use uuid::Uuid;

use super::lists::{STEP_COLUMNS, step_for_people, took};
use super::submit::{level_in_words, parked_in_words};
use super::wait::look;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, Format, printable, shown};

const APPROVALS: &[Column] = &[
    Column("APPROVAL", "approval_id"),
    Column("STEP", "step_id"),
    Column("LEVEL", "level"),
    Column("STATE", "state"),
    Column("GIVEN", "given_of"),
    Column("ROLES", "roles"),
    Column("RULE", "rule"),
    Column("EXPIRES", "expires_at"),
    Column("BY", "decided_by"),
    Column("REASON", "reason"),
];

pub(super) const SECTIONS: &[Column] = &[
    Column("SECTION", "section"),
    Column("TARGET", "target"),
    Column("STATE", "state"),
    Column("FENCE", "fence"),
    Column("STEPS", "steps"),
];

const FIRST: &[&str] = &[
    "execution_id",
    "purpose",
    "state",
    "waiting for",
    "reason_code",
    "reason",
    "error_message",
    "plan_hash",
    "approval",
    "requested_by",
    "on_behalf_of",
    "sla_class",
    "mode",
    "priority",
    "steps",
    "runbook_ref",
    "start_after",
    "start_before",
    "created_at",
    "approved_at",
    "lapses_at",
    "started_at",
    "ended_at",
    "took",
];

/// What people ask for only with --json.
const HIDDEN: &[&str] = &[
    "settled",
    "counts",
    "approvals",
    "waiting_for",
    "approval_level",
    "rule",
    "parked",
    "key_origin",
    "key_held",
    "step_count",
    "target_count",
    "timeout_ms",
    "duration_ms",
    "last_transition_at",
    "last_transition_by",
    "last_state",
    "chain_length",
    "chain_hash",
    "next_at",
    "plan_size_bytes",
    "plan_snapshot_hash",
    "timed_out",
    "via",
    "closed_at",
    "closed_by",
    "cancelled_at",
];

pub(super) async fn show(mut session: Session, execution: Uuid) -> Outcome {
    let mut shown = look(&mut session, execution).await?;
    if session.out.format != Format::People {
        return session.out.object(&shown, &[], &["execution_id", "state"]);
    }
    let sections = match shown["sections"].take() {
        Value::Array(sections) => sections,
        _ => Vec::new(),
    };
    let (head, steps, approvals) = parts(shown);
    session.out.object(&head, FIRST, &[])?;
    session.out.text("")?;
    session.out.list(STEP_COLUMNS, &steps, &[], "")?;
    if !sections.is_empty() {
        session.out.text("")?;
        session.out.list(SECTIONS, &sections, &[], "")?;
    }
    if !approvals.is_empty() {
        session.out.text("")?;
        session.out.list(APPROVALS, &approvals, &[], "")?;
    }
    next_of(&head, &approvals).map_or(Ok(()), |next| session.out.text(&format!("\n{next}")))
}

/// What it is, its steps, and its approvals, in words for people.
fn parts(mut all: Value) -> (Value, Vec<Value>, Vec<Value>) {
    let mut take = |field: &str| match all[field].take() {
        Value::Array(rows) => rows,
        _ => Vec::new(),
    };
    let (mut steps, mut approvals) = (take("steps"), take("approvals"));
    steps.iter_mut().for_each(step_for_people);
    for approval in &mut approvals {
        let given = shown("", &approval["approvals_given"]);
        approval["given_of"] = json!(format!("{given}/{}", shown("", &approval["quorum"])));
    }
    let counts = all["counts"].as_object().cloned().unwrap_or_default();
    let counts = counts.iter().filter(|(_, count)| count.as_i64() != Some(0));
    let counts: Vec<String> = counts.map(|(state, count)| format!("{count} {state}")).collect();
    let waiting = all["waiting_for"].as_array().cloned().unwrap_or_default();
    let waiting: Vec<String> = waiting.iter().map(|reason| shown("", reason)).collect();
    let mut head = all;
    let approval = format!(
        "level {}; rule {}",
        level_in_words(&head["approval_level"]),
        shown("", &head["rule"])
    );
    head["approval"] = json!(approval);
    head["took"] = json!(head["duration_ms"].as_i64().map(took));
    if let Some(fields) = head.as_object_mut() {
        let parked = fields.get("parked").and_then(Value::as_str).map(parked_in_words);
        let waiting = waiting.join("\n");
        fields.insert(
            "waiting for".to_owned(),
            json!(match (waiting.is_empty(), parked) {
                (true, None) => None,
                (true, Some(parked)) => Some(parked),
                (false, _) => Some(waiting),
            }),
        );
        fields.insert("steps".to_owned(), json!(counts.join(", ")));
        if fields
            .get("metadata")
            .and_then(Value::as_object)
            .is_some_and(|metadata| metadata.is_empty())
        {
            fields.remove("metadata");
        }
        HIDDEN.iter().for_each(|field| drop(fields.remove(*field)));
    }
    (head, steps, approvals)
}

/// The command that brings it on.
fn next_of(head: &Value, approvals: &[Value]) -> Option<String> {
    let id = shown("", &head["execution_id"]);
    let pending = approvals.iter().any(|approval| approval["state"] == "pending");
    let counts = shown("", &head["steps"]);
    match head["state"].as_str() {
        Some("awaiting_approval" | "running") if pending => Some(format!(
            "Needs approval by a person other than {}: tenure execution approve {id}",
            requesters(head)
        )),
        Some("running") if counts.contains("unknown") => Some(format!(
            "Look what was done, then say so: tenure execution resolve {id} STEP --verdict succeeded|failed|retry --reason TEXT"
        )),
        Some("failed" | "partially_failed") => Some(format!(
            "What is left can be run again: tenure execution retry {id} --reason TEXT"
        )),
        _ => None,
    }
}

/// `ann and tenure`: none of them decides.
fn requesters(head: &Value) -> String {
    let names: Vec<String> = match head["requesters"].as_array() {
        Some(names) if !names.is_empty() => names.iter().map(|name| shown("", name)).collect(),
        _ => vec![shown("", &head["requested_by"])],
    };
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}

pub(super) async fn plan(mut session: Session, execution: Uuid) -> Outcome {
    let asked = ExecutionPlan {
        execution_id: execution,
    };
    let (plan, _) = session.perform(&asked).await?;
    // As it was frozen: its SHA-256 is the hash of the plan, without the end of the line.
    session.out.text(&plan.canonical)
}

pub(super) async fn diff(mut session: Session, execution: Uuid, other: Uuid) -> Outcome {
    let asked = ExecutionDifference {
        execution_id: execution,
        other_id: other,
    };
    let (_, difference) = session.perform(&asked).await?;
    match session.out.format {
        Format::People => session.out.text(&told_difference(&difference)),
        Format::Json => session.out.json(&difference),
        Format::Quiet => session.out.text(if difference["equal"] == true {
            "equal"
        } else {
            "different"
        }),
    }
}

/// `- old` and `+ new`, field by field.
pub(super) fn told_difference(difference: &Value) -> String {
    if difference["equal"] == true {
        return "The plans are equal.".to_owned();
    }
    let fields = |of: &Value| -> Vec<String> {
        let fields = of.as_object().into_iter().flatten();
        let lines = fields.flat_map(|(field, pair)| {
            let value = |at: usize, sign: char| match &pair[at] {
                Value::Null => None,
                value => Some(format!("  {sign} {field}: {}", shown("", value))),
            };
            [value(0, '-'), value(1, '+')]
        });
        lines.flatten().collect()
    };
    let mut lines = Vec::new();
    let plan = fields(&difference["plan"]);
    if !plan.is_empty() {
        lines.push("plan".to_owned());
        lines.extend(plan);
    }
    for (sign, list) in [('-', "removed"), ('+', "added")] {
        let ids = difference[list].as_array().into_iter().flatten();
        lines.extend(ids.map(|id| format!("{sign} step {}", shown("", id))));
    }
    for (id, changes) in difference["changed"].as_object().into_iter().flatten() {
        lines.push(format!("step {id}"));
        lines.extend(fields(changes));
    }
    printable(&lines.join("\n"))
}
