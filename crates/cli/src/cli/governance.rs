//! `tenure governance`: changes of actions, rules, target types and governed settings that wait for a second admin.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tenure::store::governance_changes;
use tenure_core::codes;
use uuid::Uuid;

use crate::connect::Session;
use crate::errors::{Outcome, refuse};
use crate::output::{Column, Format, json_of, shown};
use crate::remote;
use crate::values::Number;

const LIST: &[Column] = &[
    Column("CHANGE", "change_id"),
    Column("STATE", "state"),
    Column("SUBJECT", "subject"),
    Column("NAME", "name"),
    Column("OPERATION", "operation"),
    Column("OLD", "old_note"),
    Column("NEW", "new_note"),
    Column("BY", "proposed_by"),
    Column("AT", "proposed_at"),
    Column("DECIDED BY", "decided_by"),
];

#[derive(Debug, Subcommand)]
pub(crate) enum Governance {
    /// Proposed changes: list and decide about them
    #[command(subcommand, visible_alias = "changes")]
    Change(Change),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Change {
    /// List proposed changes, newest first
    #[command(visible_alias = "ls")]
    List(List),
    /// Approve a change that another admin proposed: it is in force at once
    Approve {
        /// The change
        change: Uuid,
        /// What you want to say about it
        #[arg(long, value_name = "TEXT")]
        comment: Option<String>,
    },
    /// Reject a change
    Reject {
        /// The change
        change: Uuid,
        /// Why
        #[arg(long, value_name = "TEXT")]
        comment: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// pending, approved, rejected, or any
    #[arg(long, short, value_name = "STATE", default_value = "pending")]
    state: String,
    /// Maximum number of rows
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "100",
        allow_negative_numbers = true
    )]
    limit: Number,
}

impl Governance {
    pub(super) async fn run(self, session: Session) -> Outcome {
        let Governance::Change(change) = self;
        match change {
            Change::List(list) => list.run(session).await,
            Change::Approve { change, comment } => decide(session, change, "approve", comment.as_deref()).await,
            Change::Reject { change, comment } => decide(session, change, "reject", Some(&comment)).await,
        }
    }
}

impl List {
    async fn run(self, mut session: Session) -> Outcome {
        let limit = self.limit.read("limit")?;
        const STATES: [&str; 4] = ["pending", "approved", "rejected", "any"];
        if !STATES.contains(&self.state.as_str()) {
            return Err(refuse(
                codes::VALUE_UNKNOWN,
                format!("The state '{}' is not known.", self.state),
                format!("It is one of: {}.", STATES.join(", ")),
                "Use one of these.",
            ));
        }
        let state = Some(self.state.as_str()).filter(|state| *state != "any");
        let found = session
            .call(remote::governance_change_list(state, limit), async |tx| {
                governance_changes::governance_change_list(tx, state, Some(limit)).await
            })
            .await?;
        let mut rows: Vec<Value> = found.iter().map(json_of).collect::<Result<_, _>>()?;
        if session.out.format == Format::People {
            for row in &mut rows {
                row["old_note"] = json!(content(&row["old"]));
                row["new_note"] = json!(content(&row["new"]));
            }
        }
        session
            .out
            .list(LIST, &rows, &["change_id", "state"], "No change is proposed.")
    }
}

/// Content without what says nothing: unset fields, and who wrote it when.
fn content(value: &Value) -> Option<String> {
    let Value::Object(fields) = value else {
        return (!value.is_null()).then(|| value.to_string());
    };
    let hidden = ["name", "updated_at", "updated_by", "note"];
    let shown = fields
        .iter()
        .filter(|(field, value)| !value.is_null() && !hidden.contains(&field.as_str()));
    Some(
        shown
            .map(|(field, value)| format!("{field} {value}"))
            .collect::<Vec<_>>()
            .join(", "),
    )
}

async fn decide(mut session: Session, change: Uuid, decision: &str, comment: Option<&str>) -> Outcome {
    let done = session
        .ask(
            remote::governance_change_decide(change, decision, comment),
            async |tx| governance_changes::governance_change_decide(tx, change, decision, comment).await,
        )
        .await?;
    let part = |field: &str| shown("", &done[field]);
    let sentence = match decision {
        "approve" => format!("Approved: {} {} is changed.", part("subject"), part("name")),
        _ => format!("Rejected: {} {} stays as it is.", part("subject"), part("name")),
    };
    session.out.done(&sentence, &done, &["change_id", "state"])
}

/// Says what became of a change: it is in force, or waits for a second admin.
pub(super) fn changed(session: &Session, sentence: &str, answer: &Value) -> Outcome {
    if answer["pending"] == true {
        let change = shown("", &answer["change_id"]);
        let waits = format!(
            "Proposed as change {change}; it takes effect when another admin approves it: tenure governance change approve {change}"
        );
        return session.out.done(&waits, answer, &["change_id"]);
    }
    session.out.done(sentence, answer, &["name"])
}
