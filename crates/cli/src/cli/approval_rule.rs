//! `tenure approval rule`: which plans need which approval.

use clap::Subcommand;
use serde_json::{Value, json};
use tenure_api::approval_rules::{ApprovalRuleDelete, ApprovalRuleList, ApprovalRuleSet, ApprovalRuleSpec};
use tenure_core::{Refusal, codes};

use super::governance::changed;
use super::verb::{Chosen, Command, Noun, Verb};
use crate::connect::Session;
use crate::errors::{Outcome, refuse};
use crate::output::{Column, shown};
use crate::values::document;

/// A rule is a few lines.
const RULE_BYTES_MAX: usize = 65_536;

const EXAMPLE_SET: &str = "\
Example:
  echo '{\"position\": 10, \"action_classes\": [\"deploy\"], \"target_refs\": [\"prod-*\"], \"level\": 2, \"roles\": [\"release manager\"], \"quorum\": 2}' |
    tenure approval rule set production -";

#[derive(Debug, Subcommand)]
pub(crate) enum Rule {
    #[command(flatten)]
    Plain(Chosen<Plain>),
    /// Make one, or change it
    #[command(after_help = EXAMPLE_SET)]
    Set {
        /// Its name
        name: String,
        /// The file with the rule, a JSON object; - for standard input
        file: String,
    },
}

/// The verbs that are one operation each.
pub(crate) struct Plain;

impl Noun for Plain {
    const VERBS: &'static [&'static dyn Command] = &[&LIST, &DELETE];
}

const LIST: Verb<ApprovalRuleList> = Verb {
    row: Some(rule_for_people),
    quiet: &["name"],
    ..Verb::table(
        "list",
        &[
            Column("POSITION", "position"),
            Column("RULE", "name"),
            Column("LEVEL", "level"),
            Column("FOR", "for_description"),
            Column("ROLES", "roles"),
            Column("QUORUM", "quorum"),
            Column("WINDOW", "window_shown"),
            Column("NOTE", "note"),
        ],
        "There is no rule.",
    )
};

const DELETE: Verb<ApprovalRuleDelete> = Verb {
    places: &["name"],
    quiet: &["name"],
    ..Verb::<ApprovalRuleDelete>::sentence("delete", |delete, _| {
        format!(
            "Deleted the rule {}. What was submitted under it keeps it.",
            delete.name
        )
    })
};

impl Rule {
    pub(super) async fn run(self, session: Session) -> Outcome {
        match self {
            Rule::Plain(command) => command.run(session).await,
            Rule::Set { name, file } => set(session, name, &file).await,
        }
    }
}

async fn set(mut session: Session, name: String, file: &str) -> Outcome {
    let rule = ApprovalRuleSet {
        name,
        spec: read(file)?,
    };
    let (_, whole) = session.perform(&rule).await?;
    let sentence = format!(
        "The rule {} holds from now on; what was submitted before keeps its own. `tenure execution preview FILE` shows what it means.",
        rule.name
    );
    changed(&session, &sentence, &whole)
}

fn rule_for_people(rule: &mut Value) {
    rule["for_description"] = json!(matches(rule));
    if rule["start_window"].is_object() {
        rule["window_shown"] = json!(window(&rule["start_window"]));
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
fn matches(rule: &Value) -> String {
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
    match words.is_empty() {
        true => "everything".to_owned(),
        false => words.join("; "),
    }
}

fn read(file: &str) -> Outcome<ApprovalRuleSpec> {
    let text = document("rule", file, RULE_BYTES_MAX, || {
        Refusal::new(
            codes::USAGE,
            format!("The rule has more than {RULE_BYTES_MAX} bytes."),
            "No rule is that long.",
            "Make several rules of it.",
        )
    })?;
    let unreadable = |why: String| {
        refuse(
            codes::USAGE,
            "The rule cannot be read.",
            why,
            "Correct the rule and set it again. See `tenure approval rule set --help` for one.",
        )
    };
    let rule = tenure_core::json::parse(&text).map_err(|error| unreadable(error.to_string()))?;
    serde_json::from_value(rule).map_err(|error| unreadable(error.to_string()))
}
