//! `tenure execution list`, `show`, `steps`, `plan`, `timeline` and `diff`.

use clap::Args;
use serde_json::{Value, json};
use tenure::store::archives::ArchiveFilter;
use tenure::store::executions::{self, ExecutionFilter};
use tenure::store::steps;
use uuid::Uuid;

use super::archive;
use super::submit::{level_in_words, parked_in_words};
use super::wait::AT_ONCE;
use crate::cli::job::moment;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, Format, json_of, printable, shown};
use crate::remote;
use crate::values::{Number, short};

const LIST: &[Column] = &[
    Column("EXECUTION", "execution_id"),
    Column("STATE", "state"),
    Column("PURPOSE", "purpose_note"),
    Column("BY", "requested_by"),
    Column("LEVEL", "approval_level"),
    Column("STEPS", "steps"),
    Column("SUBMITTED", "created_at"),
    Column("TOOK", "took"),
];

pub(super) const STEPS: &[Column] = &[
    Column("STEP", "step_id"),
    Column("STATE", "state"),
    Column("ACTION", "action"),
    Column("TARGET", "target"),
    Column("TRIES", "attempt"),
    Column("WORKER", "worker"),
    Column("TOOK", "took"),
    Column("WHY", "why_note"),
];

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

const TIMELINE: &[Column] = &[
    Column("#", "seq"),
    Column("AT", "at"),
    Column("EVENT", "kind"),
    Column("ACTOR", "actor"),
    Column("STEP", "step_id"),
    Column("DATA", "data"),
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

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only those in this state, such as awaiting_approval or running
    #[arg(long, short, value_name = "STATE")]
    state: Option<String>,
    /// Only those that this principal has submitted
    #[arg(long, value_name = "PRINCIPAL")]
    by: Option<String>,
    /// Only those that touch this target: type:ref, as `tenure lock list` shows it
    #[arg(long, value_name = "TYPE:REF")]
    target: Option<String>,
    /// Those whose rows are archived: only their evidence is left
    #[arg(long)]
    archived: bool,
    /// With --archived: only those with this correlation id
    #[arg(long, value_name = "ID", requires = "archived")]
    correlation: Option<String>,
    /// With --archived: only those that ended after this time: RFC 3339
    #[arg(long, value_name = "TIME", requires = "archived")]
    ended_after: Option<String>,
    /// With --archived: only those that ended before this time: RFC 3339
    #[arg(long, value_name = "TIME", requires = "archived")]
    ended_before: Option<String>,
    /// The next page: those submitted before this one
    #[arg(long, value_name = "EXECUTION")]
    before: Option<Uuid>,
    /// How many at most
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "50",
        allow_negative_numbers = true
    )]
    limit: Number,
}

#[derive(Debug, Args)]
pub(crate) struct Steps {
    /// The execution
    execution: Uuid,
    /// Only those in this state, such as running or failed
    #[arg(long, short, value_name = "STATE")]
    state: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Timeline {
    /// The execution
    execution: Uuid,
    /// Only what came after this number
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    after: Option<Number>,
    /// How many at most
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "1000",
        allow_negative_numbers = true
    )]
    limit: Number,
}

impl List {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let limit = self.limit.read("limit")?;
        if self.archived {
            let filter = ArchiveFilter {
                state: self.state,
                requested_by: self.by,
                target: self.target,
                correlation_id: self.correlation,
                ended_after: moment(&mut session, "ended-after", self.ended_after.as_deref()).await?,
                ended_before: moment(&mut session, "ended-before", self.ended_before.as_deref()).await?,
                before: self.before,
                limit: Some(limit),
            };
            return archive::list(session, &filter).await;
        }
        let filter = ExecutionFilter {
            state: self.state,
            requested_by: self.by,
            target: self.target,
            before: self.before,
            limit: Some(limit),
        };
        let found = session
            .call(remote::execution_list(&filter), async |tx| {
                executions::execution_list(tx, &filter).await
            })
            .await?;
        let mut rows: Vec<Value> = found.iter().map(json_of).collect::<Result<_, _>>()?;
        if session.out.format == Format::People {
            for row in &mut rows {
                row["purpose_note"] = row["purpose"].clone();
                row["steps"] = json!(format!(
                    "{}/{}",
                    shown("", &row["steps_succeeded"]),
                    shown("", &row["step_count"])
                ));
                row["took"] = json!(row["duration_ms"].as_i64().map(took));
            }
        }
        let empty = "No executions. `tenure execution submit FILE` freezes a plan and makes one.";
        session.out.list(LIST, &rows, &["execution_id"], empty)?;
        if let Some(last) = found
            .last()
            .filter(|_| usize::try_from(limit).is_ok_and(|limit| found.len() >= limit))
        {
            session
                .out
                .note(&format!("There may be more: --before {}", last.execution_id));
        }
        Ok(())
    }
}

impl Steps {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let (execution, state) = (self.execution, self.state.as_deref());
        let found = session
            .call(remote::step_list(execution, state), async |tx| {
                steps::step_list(tx, execution, state).await
            })
            .await?;
        let mut rows: Vec<Value> = found.iter().map(json_of).collect::<Result<_, _>>()?;
        if session.out.format == Format::People {
            rows.iter_mut().for_each(step_for_people);
        }
        session
            .out
            .list(STEPS, &rows, &["step_id", "state"], "No step is in this state.")
    }
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

pub(super) async fn show(mut session: Session, execution: Uuid) -> Outcome {
    let mut shown = session
        .ask(remote::execution_show(execution, AT_ONCE), async |tx| {
            executions::execution_show(tx, execution).await
        })
        .await?;
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
    session.out.list(STEPS, &steps, &[], "")?;
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
    let text: String = session
        .call(remote::execution_plan(execution), async |tx| {
            executions::execution_plan(tx, execution).await
        })
        .await?;
    // Just as it was frozen: its SHA-256 is the hash of the plan, but for the line's end.
    session.out.text(&text)
}

impl Timeline {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        let (execution, limit) = (self.execution, self.limit.read("limit")?);
        let after = Number::read_option(self.after.as_ref(), "after")?;
        let events = session
            .call(remote::execution_timeline(execution, after, limit), async |tx| {
                executions::execution_timeline(tx, execution, after, Some(limit)).await
            })
            .await?;
        let empty = "Nothing has happened after that.";
        session.out.list(TIMELINE, &events, &["seq", "kind"], empty)?;
        if let Some(last) = events
            .last()
            .filter(|_| usize::try_from(limit).is_ok_and(|limit| events.len() >= limit))
        {
            session.out.note(&format!("There may be more: --after {}", last.seq));
        }
        Ok(())
    }
}

pub(super) async fn diff(mut session: Session, execution: Uuid, other: Uuid) -> Outcome {
    let difference = session
        .ask(remote::execution_difference(execution, other), async |tx| {
            executions::execution_difference(tx, execution, other).await
        })
        .await?;
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
