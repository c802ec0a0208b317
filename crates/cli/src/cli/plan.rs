//! `tenure plan`: a plan before it is submitted. Only `show --applied` asks a database or a server.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use tenure::operations::plan_document;
use tenure_api::executions::ExecutionPreview;
use tenure_core::limits::PLAN_SUBMITTED_BYTES_MAX;
use tenure_core::plan::{ActionClass, CriticalPath, Plan as Document, Section};
use tenure_core::{Refusal, codes, priority};
use tenure_server::PLAN_SCHEMA;

use super::execution::applied;
use crate::connect::Place;
use crate::errors::Outcome;
use crate::output::{Column, Format, Output, json_of, printable};
use crate::values::{document, short};

const EXAMPLE: &str = "\
Example:
  tenure plan show examples/plans/deploy-shop.json";

/// Steps of the critical path that are named; of a longer one the middle is left out.
const PATH_STEPS_SHOWN: usize = 9;
/// The file alone does not say it.
const LEVEL_NOTE: &str =
    "The class, level and lock that apply are decided where it is submitted: --applied asks for them.";
/// Needs of one step that are named.
const NEEDS_SHOWN: usize = 5;

const FIRST: &[&str] = &[
    "purpose",
    "plan_hash",
    "sla_class",
    "mode",
    "priority",
    "approval_level",
];

const STEPS: &[Column] = &[
    Column("DEPTH", "level"),
    Column("STEP", "id"),
    Column("ACTION", "action"),
    Column("CLASS", "action_class"),
    Column("TARGET", "target"),
    Column("NEEDS", "needs"),
    Column("TIMEOUT", "timeout"),
    Column("EFFECTS", "effects"),
    Column("TRIES", "attempts_max"),
    Column("LOCK", "lock_target"),
];

/// What else a step says, if it does.
const MORE: &[Column] = &[
    Column("STEP", "id"),
    Column("KIND", "other_kind"),
    Column("EXECUTOR", "executor"),
    Column("PAYLOAD", "payload"),
    Column("PAYLOAD REF", "payload_ref"),
    Column("UNDONE BY", "compensation_note"),
];

const LOCKS: &[Column] = &[Column("LOCK", "lock_target"), Column("ONE AT A TIME", "steps")];

const SECTIONS: &[Column] = &[
    Column("SECTION", "section"),
    Column("HOLDS", "lock_target"),
    Column("FROM FIRST TO LAST", "steps"),
];

#[derive(Debug, Subcommand)]
pub(crate) enum Plan {
    /// Say whether it is a plan, or what is wrong and where
    Check(PlanFile),
    /// Print the SHA-256 of its canonical text, which approvers name
    Hash(PlanFile),
    /// Show what it says, with what goes without saying: steps by level, limits, locks
    #[command(after_help = EXAMPLE)]
    Show(Show),
    /// Print the JSON Schema of plans: every field, with its type and its limits
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct PlanFile {
    /// The file with the plan; - for standard input
    file: String,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    file: PlanFile,
    /// Ask the database or the server which class, level and lock apply to each step, and which registered action and rule
    /// say so
    #[arg(long)]
    applied: bool,
}

impl Plan {
    pub(super) async fn run(self, place: Place, out: Output) -> Outcome {
        match self {
            Plan::Check(file) => check(&file, out),
            Plan::Hash(file) => hash(&file.read()?, out),
            Plan::Show(Show { file, applied: false }) => {
                show(&file.read()?, out)?;
                out.note(LEVEL_NOTE);
                Ok(())
            }
            Plan::Show(Show { file, applied: true }) => show_applied(&file.read()?, place, out).await,
            Plan::Schema => out.text(PLAN_SCHEMA.trim_end()),
        }
    }
}

/// Shows the plan, and what applies to its steps where it would be submitted.
async fn show_applied(plan: &Document, place: Place, out: Output) -> Outcome {
    let mut session = place.session(out).await?;
    let asked = ExecutionPreview {
        plan: plan_document(plan),
        on_behalf_of: None,
    };
    let (_, mut preview) = session.perform(&asked).await?;
    if out.format != Format::People {
        return out.object(&preview, &[], &["approval_level"]);
    }
    show(plan, out)?;
    let mut steps = preview["steps"].take();
    let steps = steps.as_array_mut().map(std::mem::take).unwrap_or_default();
    let rows: Vec<Value> = steps
        .into_iter()
        .map(|mut step| {
            applied::for_people(&mut step);
            step
        })
        .collect();
    out.text(&applied::level_line(&preview["approval_level"], &preview["rule"]))?;
    out.list(applied::APPLIED, &rows, &[], "")
}

impl PlanFile {
    fn read(&self) -> Result<Document, Refusal> {
        read_plan(&self.file)
    }
}

/// The plan in this file, or of standard input (`-`).
pub(super) fn read_plan(file: &str) -> Result<Document, Refusal> {
    let text = document("plan", file, PLAN_SUBMITTED_BYTES_MAX, || {
        Refusal::new(
            codes::PLAN_TOO_LARGE,
            format!("The plan has more than {PLAN_SUBMITTED_BYTES_MAX} bytes."),
            "No plan is that long, with all its white space.",
            "Make several plans of it, or pass data by reference.",
        )
    })?;
    Document::read(&text)
}

fn check(file: &PlanFile, out: Output) -> Outcome {
    let plan = file.read()?;
    let levels = plan.order().last().map_or(0, |last| plan.level(*last) + 1);
    let answer = json!({
        "valid": true,
        "plan_hash": plan.hash(),
        "plan_size_bytes": plan.canonical().len(),
        "step_count": plan.steps().len(),
        "target_count": plan.targets().len(),
        "level_count": levels,
        "action_classes": classes(&plan),
        "warnings": plan.time_warning().as_slice(),
    });
    let name = if file.file == "-" { "The plan" } else { &file.file };
    let sentence = format!(
        "{name} is valid: {}, {} deep, {}.",
        counted_steps(&plan),
        counted(levels, "level"),
        counted(plan.canonical().len(), "byte")
    );
    match out.format {
        Format::Quiet => out.text("valid")?,
        _ => out.done(&sentence, &answer, &[])?,
    }
    if let Some(warning) = plan.time_warning() {
        out.note(&warning);
    }
    Ok(())
}

fn hash(plan: &Document, out: Output) -> Outcome {
    let hash = plan.hash();
    match out.format {
        Format::Json => out.json(&json!({
            "plan_hash": hash,
            "plan_size_bytes": plan.canonical().len(),
            "canonical": plan.canonical(),
        })),
        Format::People | Format::Quiet => out.text(&hash),
    }
}

pub(super) fn show(plan: &Document, out: Output) -> Outcome {
    let order = plan.order();
    let steps: Vec<Value> = order.iter().map(|at| step(plan, *at)).collect::<Outcome<_>>()?;
    let path = plan.critical_path();
    let mut head = head(plan);
    match out.format {
        Format::Quiet => return out.list(STEPS, &steps, &["id"], ""),
        Format::Json => {
            head["step_count"] = json!(plan.steps().len());
            head["target_count"] = json!(plan.targets().len());
            head["action_classes"] = classes(plan);
            head["critical_path"] = json!({
                "steps": ids(plan, &path.steps),
                "timeout_seconds": path.timeout_seconds,
                "policy_steps": path.policy_steps,
            });
            head["steps"] = Value::from(steps);
            head["shared_locks"] = Value::from(shared_locks(plan));
            head["sections"] = Value::from(sections(plan));
            return out.json(&head);
        }
        Format::People => {}
    }
    head["plan_size"] = json!(format!(
        "{}, {}",
        counted_steps(plan),
        counted(plan.canonical().len(), "byte")
    ));
    head["plan_size_bytes"] = Value::Null;
    head["critical_path"] = json!(path_in_words(plan, &path));
    out.object(&head, FIRST, &[])?;
    let rows: Vec<Value> = steps.into_iter().map(for_people).collect();
    let says_more = |row: &&Value| MORE.iter().skip(1).any(|column| !row[column.1].is_null());
    let more: Vec<&Value> = rows.iter().filter(says_more).collect();
    let locks = shared_locks(plan);
    out.text("")?;
    out.list(STEPS, &rows, &[], "")?;
    if !more.is_empty() {
        out.text("")?;
        out.list(MORE, &more, &[], "")?;
    }
    if !locks.is_empty() {
        out.text("")?;
        out.list(LOCKS, &locks, &[], "")?;
    }
    let sections = sections(plan);
    if !sections.is_empty() {
        out.text("")?;
        out.list(SECTIONS, &sections, &[], "")?;
    }
    Ok(())
}

fn head(plan: &Document) -> Value {
    let priority = match priority::name_of(plan.priority()) {
        Some(name) => json!(name),
        None => json!(plan.priority()),
    };
    json!({
        "purpose": plan.purpose(),
        "plan_hash": plan.hash(),
        "plan_size_bytes": plan.canonical().len(),
        "sla_class": plan.sla_class(),
        "mode": plan.mode(),
        "priority": priority,
        "on_step_failure": plan.on_step_failure(),
        "approval_level": plan.approval_level(),
        "approval_roles": (!plan.approval_roles().is_empty()).then(|| plan.approval_roles()),
        "runbook_ref": plan.runbook_ref(),
        "correlation_id": plan.correlation_id(),
        "generator": plan.generator(),
        "timeout_seconds": plan.timeout_seconds(),
    })
}

/// A step as it is meant, with its place among the others.
fn step(plan: &Document, at: usize) -> Outcome<Value> {
    let step = &plan.steps()[at];
    let mut value = json_of(step)?;
    value["level"] = json!(plan.level(at));
    value["needs"] = json!(ids(plan, &step.needs));
    value["lock_target"] = json!(step.lock_target());
    Ok(value)
}

fn for_people(mut step: Value) -> Value {
    let text = |value: &Value| value.as_str().map(printable).unwrap_or_default();
    step["target"] = json!(format!("{} {}", text(&step["target_type"]), text(&step["target_ref"])));
    step["timeout"] = json!(step["timeout_seconds"].as_i64().map_or("policy".to_owned(), short));
    if step["action_class"].is_null() {
        step["action_class"] = json!("registered");
    }
    if step["attempts_max"].is_null() {
        step["attempts_max"] = json!("kind");
    }
    if step["kind"] != step["action"] {
        step["other_kind"] = step["kind"].clone();
    }
    if let Some(needs) = step["needs"].as_array_mut()
        && needs.len() > NEEDS_SHOWN
    {
        let left_out = format!("… {} more", needs.len() - NEEDS_SHOWN);
        needs.splice(NEEDS_SHOWN.., [json!(left_out)]);
    }
    step
}

fn ids<'a>(plan: &'a Document, steps: &[usize]) -> Vec<&'a str> {
    steps.iter().map(|at| plan.steps()[*at].id.as_str()).collect()
}

/// What more than one step locks: these run one after the other, whatever they need.
fn shared_locks(plan: &Document) -> Vec<Value> {
    let mut locks = BTreeMap::<String, Vec<&str>>::new();
    for at in plan.order() {
        let step = &plan.steps()[at];
        if let Some(lock) = step.lock_target() {
            locks.entry(lock).or_default().push(&step.id);
        }
    }
    let shared = locks.into_iter().filter(|(_, steps)| steps.len() > 1);
    shared
        .map(|(lock, steps)| json!({"lock_target": lock, "steps": steps}))
        .collect()
}

/// What each section holds, and across which steps.
fn sections(plan: &Document) -> Vec<Value> {
    let shown = |section: &Section| {
        let target = section.steps.first().and_then(|at| plan.steps()[*at].lock_target());
        json!({"section": section.id, "lock_target": target, "steps": ids(plan, &section.steps)})
    };
    plan.sections().iter().map(shown).collect()
}

fn classes(plan: &Document) -> Value {
    let counts = ActionClass::ALL
        .iter()
        .map(|class| (class.to_string(), json!(plan.class_count(*class))));
    Value::Object(counts.collect::<Map<_, _>>())
}

/// `6 steps (2 read, 4 modify) on 5 targets`.
fn counted_steps(plan: &Document) -> String {
    let classes = ActionClass::ALL
        .iter()
        .filter_map(|class| match plan.class_count(*class) {
            0 => None,
            count => Some(format!("{count} {class}")),
        });
    let unsaid = plan.steps().iter().filter(|step| step.action_class.is_none()).count();
    let classes = classes.chain((unsaid > 0).then(|| format!("{unsaid} as registered")));
    format!(
        "{} ({}) on {}",
        counted(plan.steps().len(), "step"),
        classes.collect::<Vec<_>>().join(", "),
        counted(plan.targets().len(), "target")
    )
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `drain → restart → check: 6m30s, and 1 step by policy`.
fn path_in_words(plan: &Document, path: &CriticalPath) -> String {
    let mut steps: Vec<String> = ids(plan, &path.steps).into_iter().map(str::to_owned).collect();
    if steps.len() > PATH_STEPS_SHOWN {
        let half = PATH_STEPS_SHOWN / 2;
        let left_out = format!("… {} more …", steps.len() - 2 * half);
        steps.splice(half..steps.len() - half, [left_out]);
    }
    let policy = match (path.timeout_seconds, path.policy_steps) {
        (_, 0) => short(path.timeout_seconds),
        (0, _) => "as long as the policy says".to_owned(),
        (seconds, count) => format!("{}, and {} by policy", short(seconds), counted(count, "step")),
    };
    format!("{}: {policy}", steps.join(" → "))
}
