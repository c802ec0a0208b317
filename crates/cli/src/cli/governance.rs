//! `tenure governance`: changes of actions, rules, target types and governed settings that wait for a second admin.

use clap::Subcommand;
use serde_json::{Value, json};
use tenure_api::governance_changes::{GovernanceChangeDecide, GovernanceChangeList};

use super::verb::{Chosen, Command, Noun, Verb};
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, shown};

#[derive(Debug, Subcommand)]
pub(crate) enum Governance {
    /// Proposed changes: list and decide about them
    #[command(subcommand, visible_alias = "changes")]
    Change(Chosen<Change>),
}

impl Governance {
    pub(super) async fn run(self, session: Session) -> Outcome {
        let Governance::Change(change) = self;
        change.run(session).await
    }
}

/// The verbs of `tenure governance change`.
pub(crate) struct Change;

impl Noun for Change {
    const VERBS: &'static [&'static dyn Command] = &[&LIST, &APPROVE, &REJECT];
}

const LIST: Verb<GovernanceChangeList> = Verb {
    shorts: &[("state", 's'), ("limit", 'n')],
    row: Some(content_for_people),
    quiet: &["change_id", "state"],
    ..Verb::table(
        "list",
        &[
            Column("CHANGE", "change_id"),
            Column("STATE", "state"),
            Column("SUBJECT", "subject"),
            Column("NAME", "name"),
            Column("OPERATION", "operation"),
            Column("OLD", "old_note"),
            Column("NEW", "new_note"),
            Column("BY", "proposed_by"),
            Column("ON BEHALF OF", "on_behalf_of"),
            Column("AT", "proposed_at"),
            Column("DECIDED BY", "decided_by"),
        ],
        "No change is proposed.",
    )
};

const APPROVE: Verb<GovernanceChangeDecide> = Verb {
    about: Some("Approve a change that another admin proposed: it is in force at once"),
    places: &["change_id"],
    fixed: &[("decision", "approve")],
    quiet: &["change_id", "state"],
    ..Verb::<GovernanceChangeDecide>::sentence("approve", |_, change| {
        format!("Approved: {} {} is changed.", change.subject, change.name)
    })
};

const REJECT: Verb<GovernanceChangeDecide> = Verb {
    about: Some("Reject a change"),
    places: &["change_id"],
    fixed: &[("decision", "reject")],
    required: &["comment"],
    quiet: &["change_id", "state"],
    ..Verb::<GovernanceChangeDecide>::sentence("reject", |_, change| {
        format!("Rejected: {} {} stays as it is.", change.subject, change.name)
    })
};

fn content_for_people(change: &mut Value) {
    change["old_note"] = json!(content(&change["old"]));
    change["new_note"] = json!(content(&change["new"]));
}

/// Content without unset fields, and without the time and author of the last change.
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
