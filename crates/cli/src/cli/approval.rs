//! `tenure approval`: what is to be decided, who decided, and the rules about who must.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tenure::store::approvals::{self, ApprovalRule};
use tenure_core::{Refusal, codes};
use uuid::Uuid;

use super::governance::changed;
use crate::connect::Session;
use crate::errors::{Outcome, refuse};
use crate::output::{Column, Format, json_of, shown};
use crate::remote;
use crate::values::{Number, document};

const LIST: &[Column] = &[
    Column("APPROVAL", "approval_id"),
    Column("EXECUTION", "execution_id"),
    Column("STEP", "step_id"),
    Column("PURPOSE", "purpose_note"),
    Column("BY", "requested_by"),
    Column("LEVEL", "level"),
    Column("STATE", "state"),
    Column("GIVEN", "given_of"),
    Column("ROLES", "roles"),
    Column("EXPIRES", "expires_at"),
];

/// What whoever decides wants to see first.
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
    Column("COMMENT", "comment_note"),
];

const RULES: &[Column] = &[
    Column("POSITION", "position"),
    Column("RULE", "name"),
    Column("LEVEL", "level"),
    Column("FOR", "for_description"),
    Column("ROLES", "roles"),
    Column("QUORUM", "quorum"),
    Column("WINDOW", "window_shown"),
    Column("NOTE", "note"),
];

/// A rule is a few lines.
const RULE_BYTES_MAX: usize = 65_536;

const EXAMPLE_SET: &str = "\
Example:
  echo '{\"position\": 10, \"action_classes\": [\"deploy\"], \"target_refs\": [\"prod-*\"], \"level\": 2, \"roles\": [\"release manager\"], \"quorum\": 2}' |
    tenure approval rule set production -";

#[derive(Debug, Subcommand)]
pub(crate) enum Approval {
    /// List what is to be decided, oldest first
    #[command(visible_alias = "ls")]
    List(List),
    /// Show all about one: what for, of which plan, what is missing yet, and who has decided so far
    Show {
        /// The approval
        approval: Uuid,
    },
    /// Tell who decided what about one, and how they proved who they are
    Votes {
        /// The approval
        approval: Uuid,
    },
    /// Rules: who must allow what
    #[command(subcommand, visible_alias = "rules")]
    Rule(Rule),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only those of this execution
    #[arg(long, value_name = "EXECUTION")]
    execution: Option<Uuid>,
    /// pending, approved, rejected, expired, withdrawn, or any
    #[arg(long, short, value_name = "STATE", default_value = "pending")]
    state: String,
    /// How many at most
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "100",
        allow_negative_numbers = true
    )]
    limit: Number,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Rule {
    /// List them in the order in which they are asked
    #[command(visible_alias = "ls")]
    List,
    /// Make one, or change it
    #[command(after_help = EXAMPLE_SET)]
    Set {
        /// Its name
        name: String,
        /// The file with the rule, a JSON object; - for standard input
        file: String,
    },
    /// Remove one
    Delete {
        /// Its name
        name: String,
    },
}

impl Approval {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            Approval::List(list) => list.run(session).await,
            Approval::Show { approval } => show(session, approval).await,
            Approval::Votes { approval } => {
                let votes = session
                    .call(remote::approval_votes_of(approval), async |tx| {
                        approvals::approval_votes_of(tx, approval).await
                    })
                    .await?;
                let rows: Vec<Value> = votes.iter().map(json_of).collect::<Result<_, _>>()?;
                list_votes(&session, rows)
            }
            Approval::Rule(rule) => rule.run(session).await,
        }
    }
}

async fn show(mut session: Session, approval: Uuid) -> Outcome {
    let mut found = session
        .ask(remote::approval_show(approval), async |tx| {
            approvals::approval_show(tx, approval).await
        })
        .await?;
    if session.out.format != Format::People {
        return session.out.object(&found, FIRST, &["approval_id", "state"]);
    }
    // For people a list of none is no line, and votes are a table.
    let votes = found["votes"].take();
    for field in ["roles", "roles_missing"] {
        if found[field] == json!([]) {
            found[field] = Value::Null;
        }
    }
    session.out.object(&found, FIRST, &[])?;
    session.out.text("")?;
    list_votes(&session, votes.as_array().cloned().unwrap_or_default())?;
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

fn list_votes(session: &Session, mut rows: Vec<Value>) -> Outcome {
    if session.out.format == Format::People {
        for row in &mut rows {
            row["comment_note"] = row["comment"].clone();
        }
    }
    session
        .out
        .list(VOTES, &rows, &["principal", "decision"], "Nobody has decided.")
}

impl List {
    async fn run(self, mut session: Session) -> Outcome {
        let limit = self.limit.read("limit")?;
        let state = Some(self.state.as_str()).filter(|state| *state != "any");
        let found = session
            .call(remote::approval_list(self.execution, state, limit), async |tx| {
                approvals::approval_list(tx, self.execution, state, Some(limit)).await
            })
            .await?;
        let mut rows: Vec<Value> = found.iter().map(json_of).collect::<Result<_, _>>()?;
        if session.out.format == Format::People {
            for (row, approval) in rows.iter_mut().zip(&found) {
                row["purpose_note"] = row["purpose"].clone();
                row["given_of"] = json!(format!("{}/{}", approval.approvals_given, approval.quorum));
            }
        }
        let empty = match state {
            Some("pending") => "Nothing is to be decided.",
            _ => "There are none.",
        };
        session.out.list(LIST, &rows, &["approval_id"], empty)?;
        if let (Some("pending"), Some(first)) = (state, found.first()) {
            session
                .out
                .note(&format!("To decide: tenure execution approve {}", first.approval_id));
        }
        Ok(())
    }
}

impl Rule {
    async fn run(self, mut session: Session) -> Outcome {
        match self {
            Rule::List => {
                let rules = session
                    .call(remote::approval_rule_list(), async |tx| {
                        approvals::approval_rule_list(tx).await
                    })
                    .await?;
                let mut rows: Vec<Value> = rules.iter().map(json_of).collect::<Result<_, _>>()?;
                if session.out.format == Format::People {
                    for (row, rule) in rows.iter_mut().zip(&rules) {
                        row["for_description"] = json!(matches(rule)?);
                        row["window_shown"] = json!(rule.start_window.as_ref().map(window));
                    }
                }
                session.out.list(RULES, &rows, &["name"], "There is no rule.")
            }
            Rule::Set { name, file } => {
                let spec = read(&file)?;
                let set = session
                    .ask(remote::approval_rule_set(&name, &spec), async |tx| {
                        approvals::approval_rule_set(tx, &name, &spec).await
                    })
                    .await?;
                let sentence = format!(
                    "The rule {name} holds from now on; what was submitted before keeps its own. `tenure execution preview FILE` shows what it means."
                );
                changed(&session, &sentence, &set)
            }
            Rule::Delete { name } => {
                let done = session
                    .ask(remote::approval_rule_delete(&name), async |tx| {
                        approvals::approval_rule_delete(tx, &name).await
                    })
                    .await?;
                let sentence = format!("The rule {name} is no more; what was submitted under it keeps it.");
                changed(&session, &sentence, &done)
            }
        }
    }
}

/// `days 6, 7; 22:00 to 04:00; Europe/Berlin`. Days are counted from Monday.
fn window(window: &Value) -> String {
    let part = |field: &str| match window[field] {
        Value::Null => None,
        _ => Some(shown("", &window[field])),
    };
    let hours = match (part("from"), part("to")) {
        (None, None) => None,
        (from, to) => Some(format!(
            "{} to {}",
            from.as_deref().unwrap_or("00:00"),
            to.as_deref().unwrap_or("24:00")
        )),
    };
    let days = part("days").map(|days| format!("days {days}"));
    let parts: Vec<String> = [days, hours, part("zone")].into_iter().flatten().collect();
    parts.join("; ")
}

/// `deploy on host prod-*, by agent`.
fn matches(rule: &ApprovalRule) -> Outcome<String> {
    let rule = json_of(rule)?;
    let words = [
        ("", "action_classes"),
        ("action ", "actions"),
        ("kind ", "kinds"),
        ("executor ", "executors"),
        ("type ", "target_types"),
        ("target ", "target_refs"),
        ("sla ", "sla_classes"),
        ("by ", "requesters"),
        ("by any ", "requester_kinds"),
    ];
    let words = words.iter().filter(|(_, field)| !rule[*field].is_null());
    let words: Vec<String> = words
        .map(|(word, field)| format!("{word}{}", shown("", &rule[*field])))
        .collect();
    Ok(match words.is_empty() {
        true => "everything".to_owned(),
        false => words.join("; "),
    })
}

fn read(file: &str) -> Outcome<Value> {
    let text = document("rule", file, RULE_BYTES_MAX, || {
        Refusal::new(
            codes::USAGE,
            format!("The rule has more than {RULE_BYTES_MAX} bytes."),
            "No rule is that long.",
            "Make several rules of it.",
        )
    })?;
    match tenure_core::json::parse(&text) {
        Ok(spec @ Value::Object(_)) => Ok(spec),
        Ok(_) => Err(refuse(
            codes::USAGE,
            "The rule is no JSON object.",
            "A rule is an object such as {\"position\": 10, \"level\": 1}.",
            "See `tenure approval rule set --help` for one.",
        )),
        Err(error) => Err(refuse(
            codes::USAGE,
            "The rule is not valid JSON.",
            error.to_string(),
            "Correct the rule and set it again.",
        )),
    }
}
