//! `tenure execution submit` and `preview`.

use clap::Args;
use serde_json::{Value, json};
use tenure::operations::plan_document;
use tenure::store::executions::execution_background;
use tenure_api::Json;
use tenure_api::executions::{ExecutionPreview, ExecutionSubmit};
use tenure_core::codes;
use tenure_core::plan::Mode;
use uuid::Uuid;

use super::applied;
use super::read::told_difference;
use super::wait::{settled, until, wait_seconds};
use crate::cli::Behalf;
use crate::cli::job::{check_key, moment};
use crate::cli::plan::read_plan;
use crate::connect::Session;
use crate::errors::{Failure, Outcome};
use crate::output::{Column, Format, shown};
use crate::values::{Number, json_object, short};

pub(super) const EXAMPLE: &str = "\
Example:
  tenure execution submit examples/plans/restart-web-tier.json
  tenure execution submit plan.json --key release-4.2 --wait 45";

/// What an execution that was waited for is asked for.
const OUTCOME: &[&str] = &["state", "reason", "error_message", "waiting_for", "result_summary"];

#[derive(Debug, Args)]
pub(crate) struct Submit {
    /// The file with the plan; - for standard input
    file: String,
    /// Makes it safe to repeat: the same key and plan is the same execution, another plan is refused [default: the plan itself,
    /// while it is under way]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Wait up to this many seconds until it is over, or waits for somebody
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    wait: Option<Number>,
    /// Take the place of this one, which has not started; approvals stay if the plan is the same
    #[arg(long, value_name = "EXECUTION")]
    supersedes: Option<Uuid>,
    /// Do not start before this time: RFC 3339, or a delay such as +10m
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    start_after: Option<String>,
    /// Do not start after this time: RFC 3339, or a delay such as +8h
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    start_before: Option<String>,
    /// What you want to find again beside it, a small JSON object: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    metadata: Option<String>,
    #[command(flatten)]
    behalf: Behalf,
}

impl Submit {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        // All is read first: what is refused must not leave an execution behind.
        let plan = read_plan(&self.file)?;
        check_key("execution submit", self.key.as_deref())?;
        let until = until(self.wait.as_ref())?;
        let submission = ExecutionSubmit {
            plan: plan_document(&plan),
            key: self.key,
            plan_hash: Some(plan.hash()),
            supersedes: self.supersedes,
            start_after: moment(&mut session, "start-after", self.start_after.as_deref()).await?,
            start_before: moment(&mut session, "start-before", self.start_before.as_deref()).await?,
            metadata: self
                .metadata
                .as_deref()
                .map(|given| json_object("metadata", given).map(Json))
                .transpose()?,
            on_behalf_of: self.behalf.on_behalf_of,
            wait_seconds: until.and_then(wait_seconds),
        };
        let (made, mut answer) = session.perform(&submission).await?;
        if let Some(members) = answer.as_object_mut() {
            members.remove("execution");
        }
        let mut goes_on = false;
        if let Some(until) = until {
            let waited = settled(&mut session, made.execution_id, until).await?;
            goes_on = waited["settled"] != true;
            if goes_on && plan.mode() == Mode::Immediate && session.remote().is_none() {
                session
                    .sql(async |tx| execution_background(tx, made.execution_id).await)
                    .await?;
            }
            for field in OUTCOME.iter().filter(|field| !waited[**field].is_null()) {
                answer[*field] = waited[*field].clone();
            }
        }
        session.out.done(&told(&answer), &answer, &["execution_id"])?;
        if let Some(warning) = plan.time_warning() {
            session.out.warn(&warning);
        }
        if goes_on {
            let id = made.execution_id;
            session.out.note(&format!(
                "The wait is over, and it goes on: tenure execution watch {id}"
            ));
        }
        if !answer["difference"].is_null() && session.out.format == Format::People {
            session.out.text(&told_difference(&answer["difference"]))?;
        }
        // Whoever waited for its end goes on only after a success, as with `watch`.
        match answer["state"].as_str() {
            Some("failed" | "partially_failed" | "cancelled" | "rejected") if self.wait.is_some() => {
                Err(Failure::Told(codes::EXIT_REFUSED))
            }
            _ => Ok(()),
        }
    }
}

/// What became of it, and what comes next.
fn told(answer: &Value) -> String {
    let part = |field: &str| shown("", &answer[field]);
    let id = part("execution_id");
    let mut text = match (answer["duplicate"] == true, answer["unchanged"] == true) {
        (_, true) => format!(
            "Execution {id} has just this plan: it stays, with its approvals; it is {}.",
            part("state")
        ),
        (true, _) => format!("Execution {id} has this key already; it is {}.", part("state")),
        _ => format!("Execution {id} is {}.", part("state")),
    };
    text.push_str(&format!("\nplan {}", part("plan_hash")));
    for field in ["start_after", "start_before", "reason", "error_message"] {
        if !answer[field].is_null() {
            text.push_str(&format!("\n{field}: {}", part(field)));
        }
    }
    if let Some(parked) = answer["parked"].as_str() {
        text.push_str(&format!("\nIt is parked: {}.", parked_in_words(parked)));
    }
    for reason in answer["waiting_for"].as_array().into_iter().flatten() {
        text.push_str(&format!("\nIt waits: {}", shown("", reason)));
    }
    match answer["state"].as_str() {
        Some("awaiting_approval") => text.push_str(&format!(
            "\nLevel {} by rule {}. Somebody else allows it: tenure execution approve {id}",
            part("approval_level"),
            part("rule")
        )),
        Some("running" | "approved" | "pending") => {
            text.push_str(&format!("\nSee it go: tenure execution watch {id}"));
        }
        _ => {}
    }
    text
}

/// Why an execution that may start does not.
pub(super) fn parked_in_words(parked: &str) -> String {
    match parked {
        "freeze" => "the tenant is frozen (`tenure execution unfreeze --reason TEXT` ends that)".to_owned(),
        "window" => "its window is not open".to_owned(),
        other => other.to_owned(),
    }
}

const PREVIEW_FIRST: &[&str] = &[
    "plan_hash",
    "approval_level",
    "rule",
    "roles",
    "quorum",
    "expires",
    "window",
    "opens_at",
    "frozen",
    "timeout",
];

const PREVIEW_STEPS: &[Column] = &[
    Column("STEP", "step_id"),
    Column("CLASS", "action_class"),
    Column("LEVEL", "level"),
    Column("REGISTERED AS", "registered"),
    Column("RULE", "rule"),
    Column("TIMEOUT", "timeout"),
    Column("LOCK", "lock"),
    Column("HELD BY", "held_by"),
];

const PREVIEW_SECTIONS: &[Column] = &[
    Column("SECTION", "section"),
    Column("HOLDS", "target"),
    Column("FROM FIRST TO LAST", "steps"),
];

pub(super) async fn preview(mut session: Session, file: &str, behalf: Behalf) -> Outcome {
    let plan = read_plan(file)?;
    let asked = ExecutionPreview {
        plan: plan_document(&plan),
        on_behalf_of: behalf.on_behalf_of,
    };
    let (_, mut preview) = session.perform(&asked).await?;
    if session.out.format != Format::People {
        return session.out.object(&preview, PREVIEW_FIRST, &["plan_hash"]);
    }
    let mut steps = preview["steps"].take();
    let sections = match preview["sections"].take() {
        Value::Array(sections) => sections,
        _ => Vec::new(),
    };
    for (from, to) in [("expires_seconds", "expires"), ("timeout_seconds", "timeout")] {
        preview[to] = json!(
            preview[from]
                .take()
                .as_f64()
                .map(|seconds| short(seconds.ceil() as i64))
        );
    }
    // What goes without saying is not said.
    if preview["window"].is_null() {
        preview["opens_at"] = Value::Null;
    }
    let warnings = warnings(&preview);
    for field in ["runbook_missing", "warnings"] {
        preview[field] = Value::Null;
    }
    if preview["roles"] == json!([]) {
        preview["roles"] = Value::Null;
    }
    preview["approval_level"] = json!(level_in_words(&preview["approval_level"]));
    session.out.object(&preview, PREVIEW_FIRST, &[])?;
    let rows = steps.as_array_mut().map(std::mem::take).unwrap_or_default();
    let rows: Vec<Value> = rows
        .into_iter()
        .map(|mut row| {
            row["timeout"] = json!(row["timeout_seconds"].as_i64().map(short));
            applied::for_people(&mut row);
            row
        })
        .collect();
    session.out.text("")?;
    session.out.list(PREVIEW_STEPS, &rows, &[], "")?;
    if !sections.is_empty() {
        session.out.text("")?;
        session.out.list(PREVIEW_SECTIONS, &sections, &[], "")?;
    }
    for warning in warnings {
        session.out.warn(&warning);
    }
    Ok(())
}

/// What a submitter should know before: one sentence each.
fn warnings(preview: &Value) -> Vec<String> {
    let missing = preview["runbook_missing"] == true;
    let runbook = missing.then(|| {
        "Submitting it will be refused (runbook_required): it needs an approval of level 2 or more, and has no \
         runbook_ref."
            .to_owned()
    });
    let said = preview["warnings"].as_array().into_iter().flatten();
    runbook
        .into_iter()
        .chain(said.map(|warning| shown("", warning)))
        .collect()
}

/// `1: one approver`.
pub(super) fn level_in_words(level: &Value) -> String {
    let meaning = match level.as_i64() {
        Some(0) => "nobody has to allow it",
        Some(1) => "somebody else allows the plan",
        Some(2) => "somebody else allows the plan, by its runbook",
        Some(3) => "somebody else allows the plan, and each of its steps",
        _ => return shown("", level),
    };
    format!("{level}: {meaning}")
}
