//! From the text to the plan, or to the refusal.

use std::collections::BTreeMap;

use super::Plan;
use super::fields::{Field, Fields};
use super::graph;
use super::node::Node;
use super::path::{Path, quoted};
use super::refusals::{invalid, missing, unknown_step, unknown_word, wrong_type};
use super::sections;
use super::step::Step;
use super::words::{Mode, OnStepFailure, SlaClass};
use crate::codes;
use crate::limits::{
    APPROVAL_LEVEL_MAX, APPROVAL_ROLES_MAX, EXECUTION_TIMEOUT_SECONDS_MAX, KEY_CHARS_MAX, NAME_CHARS_MAX,
    PLAN_STEPS_MAX, REF_CHARS_MAX,
};
use crate::priority;
use crate::refusal::Refusal;

/// What a plan may say.
pub const PLAN_FIELDS: &[&str] = &[
    "purpose",
    "steps",
    "sla_class",
    "mode",
    "priority",
    "on_step_failure",
    "approval_level",
    "approval_roles",
    "runbook_ref",
    "correlation_id",
    "generator",
    "timeout_seconds",
    "sections",
];

/// From this level on an approver wants to read what to do when it goes wrong.
const RUNBOOK_LEVEL: u8 = 2;

/// Steps of a cycle that are spelled out; of a longer one the middle is left out.
const CYCLE_STEPS_SHOWN: usize = 12;

/// All that a plan says beside its steps.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Head {
    pub(super) purpose: String,
    pub(super) sla_class: SlaClass,
    pub(super) mode: Mode,
    pub(super) priority: i16,
    pub(super) on_step_failure: OnStepFailure,
    pub(super) approval_level: u8,
    pub(super) approval_roles: Vec<String>,
    pub(super) runbook_ref: Option<String>,
    pub(super) correlation_id: Option<String>,
    pub(super) generator: Option<String>,
    pub(super) timeout_seconds: Option<i64>,
}

pub(super) fn plan(text: &str) -> Result<Plan, Refusal> {
    let node = Node::read(text)?;
    let canonical = node.canonical()?;
    let root = Path::Root;
    let fields = Fields::read(&node, &root, PLAN_FIELDS)?;
    let head = head(&fields)?;
    let (mut steps, levels) = steps(&fields.required("steps")?)?;
    let sections = match fields.optional("sections") {
        Some(field) => sections::sections(&field, &mut steps)?,
        None => Vec::new(),
    };
    Ok(Plan {
        head,
        steps,
        sections,
        levels,
        canonical,
    })
}

fn head(fields: &Fields<'_>) -> Result<Head, Refusal> {
    let named = |name, chars_max| fields.optional(name).map(|field| field.name(chars_max)).transpose();
    let approval_level = match fields.optional("approval_level") {
        // The range makes it fit.
        Some(field) => field.integer(0, APPROVAL_LEVEL_MAX)? as u8,
        None => 0,
    };
    let runbook_ref = named("runbook_ref", REF_CHARS_MAX)?;
    if approval_level >= RUNBOOK_LEVEL && runbook_ref.is_none() {
        let mut refusal = missing(&Path::Root.field("runbook_ref"));
        refusal.why =
            format!("From approval level {RUNBOOK_LEVEL} on the approvers want to read what to do when it goes wrong.");
        refusal.next = "Add the address of the runbook.".to_owned();
        return Err(refusal);
    }
    Ok(Head {
        purpose: fields.required("purpose")?.name(NAME_CHARS_MAX)?,
        sla_class: fields.required("sla_class")?.word()?,
        mode: fields
            .optional("mode")
            .map_or(Ok(Mode::Background), |field| field.word())?,
        priority: fields
            .optional("priority")
            .map_or(Ok(priority::DEFAULT), |field| priority_of(&field))?,
        on_step_failure: match fields.optional("on_step_failure") {
            Some(field) => field.word()?,
            None => OnStepFailure::Stop,
        },
        approval_level,
        approval_roles: match fields.optional("approval_roles") {
            Some(field) => roles(&field)?,
            None => Vec::new(),
        },
        runbook_ref,
        correlation_id: named("correlation_id", KEY_CHARS_MAX)?,
        generator: named("generator", NAME_CHARS_MAX)?,
        timeout_seconds: match fields.optional("timeout_seconds") {
            Some(field) => Some(field.integer(1, EXECUTION_TIMEOUT_SECONDS_MAX)?),
            None => None,
        },
    })
}

fn priority_of(field: &Field<'_>) -> Result<i16, Refusal> {
    match field.node {
        // The range makes it fit.
        Node::Number(_) => Ok(field.integer(i16::MIN.into(), i16::MAX.into())? as i16),
        Node::Text(word) => {
            let found = priority::NAMED.iter().find(|(name, _)| name == word);
            let names: Vec<&str> = priority::NAMED.iter().map(|(name, _)| *name).collect();
            found.map(|(_, value)| *value).ok_or_else(|| {
                let refusal = unknown_word(&field.path, word, &names);
                Refusal {
                    code: codes::PRIORITY_UNKNOWN.name.into(),
                    why: "A priority is a whole number, or urgent, normal or bulk.".to_owned(),
                    ..refusal
                }
            })
        }
        other => Err(wrong_type(
            &field.path,
            other.kind(),
            "a whole number, or urgent, normal or bulk",
        )),
    }
}

fn roles(field: &Field<'_>) -> Result<Vec<String>, Refusal> {
    let mut roles = Vec::new();
    for item in field.items(APPROVAL_ROLES_MAX, "roles")? {
        let role = item.name(NAME_CHARS_MAX)?;
        if roles.contains(&role) {
            return Err(twice(&item.path.to_string(), "role", &role));
        }
        roles.push(role);
    }
    Ok(roles)
}

fn steps(field: &Field<'_>) -> Result<(Vec<Step>, Vec<usize>), Refusal> {
    let mut steps = Vec::new();
    let mut needs = Vec::new();
    let mut positions = BTreeMap::new();
    for (at, item) in field.items(PLAN_STEPS_MAX, "steps")?.enumerate() {
        let (step, ids) = Step::read(item.node, &item.path)?;
        if let Some(first) = positions.insert(step.id.clone(), at) {
            return Err(invalid(
                format!(
                    "{} is {}, as steps[{first}].id is.",
                    item.path.field("id"),
                    quoted(&step.id)
                ),
                "Needs, approvals and the timeline name a step by its id.",
                "Give each step an id of its own.",
            ));
        }
        steps.push(step);
        needs.push(ids);
    }
    if steps.is_empty() {
        return Err(invalid(
            format!("{} has no step.", field.path),
            "A plan of nothing would succeed without having done anything.",
            "Add at least one step.",
        ));
    }
    let needs = needs.iter().enumerate().map(|(at, ids)| resolved(ids, at, &positions));
    let needs = needs.collect::<Result<Vec<_>, _>>()?;
    let levels = graph::levels(&needs).map_err(|cycle| refuse_cycle(&steps, &needs, &cycle))?;
    for (step, needs) in steps.iter_mut().zip(needs) {
        step.needs = needs;
    }
    Ok((steps, levels))
}

/// The positions of what one step needs.
fn resolved(ids: &[String], of: usize, positions: &BTreeMap<String, usize>) -> Result<Vec<usize>, Refusal> {
    let mut found = Vec::new();
    for (index, id) in ids.iter().enumerate() {
        let path = || format!("steps[{of}].needs[{index}]");
        let Some(at) = positions.get(id).copied() else {
            let (why, next) = (
                "A step that needs it could never start.",
                "Add that step, or take the need out.",
            );
            return Err(unknown_step(&path(), id, positions, why, next));
        };
        if at == of {
            return Err(Refusal::new(
                codes::PLAN_CYCLE,
                format!("{} names the step itself.", path()),
                "It could never start.",
                "Take the need out.",
            ));
        }
        if found.contains(&at) {
            return Err(twice(&path(), "step", id));
        }
        found.push(at);
    }
    Ok(found)
}

fn twice(path: &str, noun: &str, name: &str) -> Refusal {
    invalid(
        format!("{path} names the {noun} {} a second time.", quoted(name)),
        "Once says it all.",
        "Take one of them out.",
    )
}

/// Spells the cycle out, beginning and ending with the same step: a → b → c → a.
fn refuse_cycle(steps: &[Step], needs: &[Vec<usize>], cycle: &[usize]) -> Refusal {
    let mut ids: Vec<String> = cycle.iter().map(|at| steps[*at].id.clone()).collect();
    ids.extend(ids.first().cloned());
    if ids.len() > CYCLE_STEPS_SHOWN {
        let half = CYCLE_STEPS_SHOWN / 2;
        let left_out = format!("… {} more …", ids.len() - 2 * half);
        ids.splice(half..ids.len() - half, [left_out]);
    }
    let (first, second) = (cycle[0], cycle[1 % cycle.len()]);
    let need = needs[first].iter().position(|need| *need == second);
    Refusal::new(
        codes::PLAN_CYCLE,
        format!(
            "steps[{first}].needs[{}] closes a cycle: {}.",
            need.unwrap_or_default(),
            ids.join(" → ")
        ),
        "An arrow reads \"needs\": none of these steps could ever start.",
        "Take one of these needs out.",
    )
}
