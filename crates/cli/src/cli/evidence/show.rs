//! `tenure evidence show`: the story of a file, for people.

use clap::Args;
use serde_json::{Value, json};
use tenure_core::evidence::{Evidence, Record, verify};
use tenure_core::plan::Plan;

use super::file;
use crate::errors::Outcome;
use crate::output::{Column, Format, Output, json_of};

const FIRST: &[&str] = &[
    "execution_id",
    "tenant",
    "purpose",
    "state",
    "reason",
    "requested_by",
    "on_behalf_of",
    "approval_level",
    "rule",
    "runbook_ref",
    "plan_hash",
    "created_at",
    "started_at",
    "ended_at",
];

const STEPS: &[Column] = &[
    Column("#", "step_number"),
    Column("STEP", "step_id"),
    Column("STATE", "state"),
    Column("TARGET", "target"),
    Column("WORKER", "worker"),
    Column("STARTED", "started_at"),
    Column("ENDED", "ended_at"),
    Column("ERROR", "error_message"),
];

const APPROVALS: &[Column] = &[
    Column("APPROVAL", "approval_id"),
    Column("OF", "of"),
    Column("LEVEL", "level"),
    Column("STATE", "state"),
    Column("RULE", "rule"),
    Column("DECIDED", "decided_at"),
    Column("USED", "consumed_at"),
];

const VOTES: &[Column] = &[
    Column("APPROVAL", "approval_id"),
    Column("WHO", "principal"),
    Column("DECISION", "decision"),
    Column("WHEN", "at"),
    Column("PROVED BY", "auth_method"),
    Column("FROM", "source"),
    Column("COMMENT", "comment_note"),
];

const EVENTS: &[Column] = &[
    Column("SEQ", "seq"),
    Column("WHEN", "at"),
    Column("WHAT", "kind"),
    Column("STEP", "step"),
    Column("WHO", "actor"),
    Column("DATA", "data"),
];

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The file; - for standard input
    file: String,
    /// Check it first, with this key: Base64, PEM, or a file with either
    #[arg(long, value_name = "KEY_OR_FILE", allow_hyphen_values = true)]
    public_key: Option<String>,
}

impl Show {
    pub(super) fn run(self, out: Output) -> Outcome {
        let key = self.public_key.as_deref().map(file::public_key).transpose()?;
        let bytes = file::bytes(&self.file)?;
        let read = match &key {
            Some(key) => verify(&bytes, key).map(|verified| verified.evidence),
            None => Evidence::read(&bytes),
        };
        let evidence = read.map_err(|findings| file::refused(&self.file, &findings, out))?;
        let checked = key.map(|key| key.id());
        match out.format {
            Format::Quiet => out.text(&evidence.head.execution_id),
            Format::Json => {
                let mut story = json_of(&evidence)?;
                story["verified"] = json!(checked.is_some());
                story["key_id"] = json!(checked);
                out.json(&story)
            }
            Format::People => tell(&evidence, checked.as_deref(), out),
        }
    }
}

fn tell(evidence: &Evidence, key_id: Option<&str>, out: Output) -> Outcome {
    out.text(&match key_id {
        Some(id) => format!("Verified: signed with the key {id}, and not changed since."),
        None => "NOT VERIFIED: this is what the file says. Give --public-key to check it.".to_owned(),
    })?;
    out.text("")?;
    out.object(&head(evidence), FIRST, &[])?;
    let steps: Vec<Value> = evidence.steps.iter().map(step).collect();
    section("Steps", STEPS, &steps, out)?;
    let approvals: Vec<Value> = evidence.approvals.iter().map(approval).collect();
    section("Approvals", APPROVALS, &approvals, out)?;
    let votes: Vec<Value> = evidence.votes.iter().map(vote).collect();
    section("Votes", VOTES, &votes, out)?;
    let events: Vec<Value> = evidence.events.iter().map(json_of).collect::<Outcome<_>>()?;
    section("Events", EVENTS, &events, out)
}

fn section(title: &str, columns: &[Column], rows: &[Value], out: Output) -> Outcome {
    if rows.is_empty() {
        return Ok(());
    }
    out.text(&format!("\n{title}"))?;
    out.list(columns, rows, &[], "")
}

/// The execution, with what the plan says it is for.
fn head(evidence: &Evidence) -> Value {
    let execution = &evidence.execution;
    let plan = Plan::read(&evidence.plan);
    let field = |name: &str| execution.fields.get(name).cloned().unwrap_or_default();
    json!({
        "execution_id": evidence.head.execution_id,
        "tenant": evidence.head.tenant,
        "purpose": plan.as_ref().map_or_else(|_| field("purpose"), |plan| json!(plan.purpose())),
        "state": evidence.head.state,
        "reason": field("reason"),
        "requested_by": field("requested_by"),
        "on_behalf_of": field("on_behalf_of"),
        "approval_level": field("approval_level"),
        "rule": field("rule"),
        "runbook_ref": field("runbook_ref"),
        "plan_hash": evidence.head.plan_hash,
        "created_at": field("created_at"),
        "started_at": field("started_at"),
        "ended_at": field("ended_at"),
        "exported_at": evidence.head.exported_at,
    })
}

fn step(record: &Record) -> Value {
    let mut row = Value::Object(record.fields.clone());
    let text = |field: &str| record.text(field).unwrap_or_default();
    row["target"] = json!(format!("{} {}", text("target_type"), text("target_ref")).trim());
    row
}

fn approval(record: &Record) -> Value {
    let mut row = Value::Object(record.fields.clone());
    let of_step = ["step_id", "step_number"].iter().find(|field| record.has(field));
    row["of"] = match of_step {
        Some(field) => json!(format!("step {}", crate::output::shown("", &row[*field]))),
        None => json!("plan"),
    };
    row
}

fn vote(record: &Record) -> Value {
    let mut row = Value::Object(record.fields.clone());
    row["comment_note"] = row["comment"].clone();
    row
}
