//! Sections: steps that hold one target together, in order, with nothing from outside between them.
//! `sql/functions/plans/sections.sql` decides the same, in the same order.

use std::collections::BTreeMap;

use serde::Serialize;

use super::fields::{Field, Fields};
use super::path::quoted;
use super::refusals::{invalid, unknown_step};
use super::step::Step;
use super::words::{ActionClass, LockScope};
use crate::codes;
use crate::limits::{LOCK_TARGET_CHARS_MAX, NAME_CHARS_MAX, PLAN_SECTIONS_MAX, SECTION_STEPS_MAX};
use crate::refusal::Refusal;

/// What a section may say.
pub const SECTION_FIELDS: &[&str] = &["id", "steps"];

/// Fewer steps need no section: each has its lock while it runs.
const STEPS_MIN: usize = 2;

/// Steps of a plan that hold the lock of one target from the start of the first to the end of the last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Section {
    /// Its name within the plan.
    pub id: String,
    /// Its steps in their order, as positions in the plan.
    #[serde(skip)]
    pub steps: Vec<usize>,
}

/// Reads the sections. Their steps lock the whole target from then on, whatever their class.
pub(super) fn sections(field: &Field<'_>, steps: &mut [Step]) -> Result<Vec<Section>, Refusal> {
    let positions: BTreeMap<String, usize> = steps.iter().enumerate().map(|(at, it)| (it.id.clone(), at)).collect();
    let mut sections: Vec<Section> = Vec::new();
    let mut taken = Vec::new();
    for (at, item) in field.items(PLAN_SECTIONS_MAX, "sections")?.enumerate() {
        let fields = Fields::read(item.node, &item.path, SECTION_FIELDS)?;
        let id = fields.required("id")?.name(NAME_CHARS_MAX)?;
        let named = fields.required("steps")?;
        if let Some(first) = sections.iter().position(|other| other.id == id) {
            return Err(invalid(
                format!("sections[{at}].id is {}, as sections[{first}].id is.", quoted(&id)),
                "The list of locks and the timeline name a section by its id.",
                "Give each section an id of its own.",
            ));
        }
        let found = members(&named, steps, &positions, &taken)?;
        for at in &found {
            steps[*at].lock_scope = LockScope::Target;
        }
        taken.extend(&found);
        sections.push(Section { id, steps: found });
    }
    Ok(sections)
}

/// The positions of the steps of one section. `taken`: those of the sections before.
fn members(
    field: &Field<'_>,
    steps: &[Step],
    positions: &BTreeMap<String, usize>,
    taken: &[usize],
) -> Result<Vec<usize>, Refusal> {
    let items: Vec<Field<'_>> = field.items(SECTION_STEPS_MAX, "steps")?.collect();
    if items.len() < STEPS_MIN {
        let found = if items.is_empty() { "no step" } else { "one step" };
        return Err(invalid(
            format!("{} has {found}.", field.path),
            "A section holds the lock of its target across several steps; a single step has its lock without one.",
            "Name at least two steps, or take the section out.",
        ));
    }
    let mut mine: Vec<usize> = Vec::new();
    for item in &items {
        let (id, place) = (item.text()?, &item.path);
        let Some(at) = positions.get(id).copied() else {
            let why = "A section is made of steps of its plan.";
            let next = "Add that step, or take it out of the section.";
            return Err(unknown_step(&place.to_string(), id, positions, why, next));
        };
        if taken.contains(&at) || mine.contains(&at) {
            return Err(invalid(
                format!("{place} names the step {} a second time.", quoted(id)),
                "A step belongs to one section, once.",
                "Take one of them out.",
            ));
        }
        belongs(&place.to_string(), steps, &mine, at)?;
        mine.push(at);
    }
    Ok(mine)
}

/// Refuses a step that cannot follow those of the section before it.
fn belongs(place: &str, steps: &[Step], mine: &[usize], at: usize) -> Result<(), Refusal> {
    let step = &steps[at];
    let (target, first) = (step.target(), mine.first().map(|first| steps[*first].target()));
    let chars = target.chars().count();
    match first {
        None if chars > LOCK_TARGET_CHARS_MAX => {
            return Err(Refusal::new(
                codes::NAME_INVALID,
                format!("{place} makes the key of a lock too long."),
                format!(
                    "Type and reference of its target have {chars} characters in it; at most {LOCK_TARGET_CHARS_MAX} are allowed."
                ),
                "Shorten the reference.",
            ));
        }
        Some(first) if first != target => {
            return Err(invalid(
                format!(
                    "{place} is a step at {}; the section is at {}.",
                    quoted(&target),
                    quoted(&first)
                ),
                "A section holds the lock of one target.",
                "Make a section for each target.",
            ));
        }
        _ => {}
    }
    let is_read = step.action_class == Some(ActionClass::Read);
    if step.lock_scope != LockScope::Target && !(step.lock_scope == LockScope::None && is_read) {
        return Err(invalid(
            format!("{place} is a step with \"lock_scope\": \"{}\".", step.lock_scope),
            "All steps of a section have the whole target.",
            "Take lock_scope out of the step, or the step out of the section.",
        ));
    }
    let Some(before) = mine.last() else {
        return Ok(());
    };
    let before_id = quoted(&steps[*before].id);
    if !step.needs.contains(before) {
        return Err(invalid(
            format!("{place} does not need the step before it, {before_id}."),
            "The steps of a section run one after the other.",
            format!("Add {before_id} to its needs."),
        ));
    }
    match step.needs.iter().find(|need| !mine.contains(need)) {
        None => Ok(()),
        Some(other) => Err(invalid(
            format!(
                "{place} needs {}, which is no step of the section before it.",
                quoted(&steps[*other].id)
            ),
            "While the lock is held nothing of the section waits for work outside it: two sections could wait for each other.",
            "Let the first step of the section need it.",
        )),
    }
}
