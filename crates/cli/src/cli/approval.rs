//! `tenure approval`: what is to be decided, who decided, and the rules about who must.

use clap::Subcommand;
use serde_json::{Value, json};
use tenure_api::approvals::{ApprovalList, ApprovalShow, ApprovalState, ApprovalVotesOf};
use uuid::Uuid;

use super::approval_rule;
use super::verb::{Chosen, Command, Noun, Verb};
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, Format, shown};

/// What an approver wants to see first.
const FIRST: &[&str] = &[
    "approval_id",
    "execution_id",
    "step_id",
    "purpose",
    "requested_by",
    "state",
    "plan_hash",
    "level",
    "rule",
    "roles",
    "roles_missing",
    "quorum",
    "approvals_given",
    "runbook_ref",
    "expires_at",
];

const VOTES: &[Column] = &[
    Column("AT", "at"),
    Column("WHO", "principal"),
    Column("DECISION", "decision"),
    Column("LEVEL", "level"),
    Column("ROLES", "roles"),
    Column("PROVED BY", "auth_method"),
    Column("FROM", "source"),
    Column("COMMENT", "comment"),
];

const NO_VOTES: &str = "No votes yet.";

#[derive(Debug, Subcommand)]
pub(crate) enum Approval {
    #[command(flatten)]
    Lists(Chosen<Lists>),
    /// Show everything about one: its plan, what is missing, and the votes so far
    Show {
        /// The approval
        approval: Uuid,
    },
    /// Rules: who must allow what
    #[command(subcommand, visible_alias = "rules")]
    Rule(approval_rule::Rule),
}

/// The verbs that list approvals or their votes.
pub(crate) struct Lists;

impl Noun for Lists {
    const VERBS: &'static [&'static dyn Command] = &[&LIST, &VOTES_OF];
}

const LIST: Verb<ApprovalList> = Verb {
    options: &[("execution_id", "execution")],
    shorts: &[("state", 's'), ("limit", 'n')],
    row: Some(|row| {
        let part = |field: &str| shown("", &row[field]);
        row["given_of"] = json!(format!("{}/{}", part("approvals_given"), part("quorum")));
    }),
    note: Some(|_, found| {
        let mut pending = found.items.iter().filter(|one| one.state == ApprovalState::Pending);
        let first = pending.next()?.approval_id;
        Some(format!("To decide: tenure execution approve {first}"))
    }),
    quiet: &["approval_id"],
    ..Verb::table(
        "list",
        &[
            Column("APPROVAL", "approval_id"),
            Column("EXECUTION", "execution_id"),
            Column("STEP", "step_id"),
            Column("PURPOSE", "purpose"),
            Column("BY", "requested_by"),
            Column("LEVEL", "level"),
            Column("STATE", "state"),
            Column("GIVEN", "given_of"),
            Column("ROLES", "roles"),
            Column("EXPIRES", "expires_at"),
        ],
        "No approvals.",
    )
};

const VOTES_OF: Verb<ApprovalVotesOf> = Verb {
    places: &["approval_id"],
    quiet: &["principal", "decision"],
    ..Verb::table("votes", VOTES, NO_VOTES)
};

impl Approval {
    pub(super) async fn run(self, session: Session) -> Outcome {
        match self {
            Approval::Lists(list) => list.run(session).await,
            Approval::Show { approval } => show(session, approval).await,
            Approval::Rule(rule) => rule.run(session).await,
        }
    }
}

async fn show(mut session: Session, approval: Uuid) -> Outcome {
    let asked = ApprovalShow { approval_id: approval };
    let (_, mut found) = session.perform(&asked).await?;
    if session.out.format != Format::People {
        return session.out.object(&found, FIRST, &["approval_id", "state"]);
    }
    // For people an empty list is no line, and votes are a table.
    let votes = found["votes"].take();
    let votes = votes.as_array().map_or(&[][..], Vec::as_slice);
    for field in ["roles", "roles_missing"] {
        if found[field] == json!([]) {
            found[field] = Value::Null;
        }
    }
    session.out.object(&found, FIRST, &[])?;
    session.out.text("")?;
    session.out.list(VOTES, votes, &[], NO_VOTES)?;
    if found["state"] == "pending" {
        let execution = shown("", &found["execution_id"]);
        session
            .out
            .note(&format!("To look at its plan: tenure execution plan {execution}"));
        session
            .out
            .note(&format!("To decide: tenure execution approve {approval}"));
    }
    Ok(())
}
