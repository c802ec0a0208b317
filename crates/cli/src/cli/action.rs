//! `tenure action`: what an action is, and the least that every step with it must have.

use serde_json::{Value, json};
use tenure_api::actions::{ActionDelete, ActionList, ActionSet, ActionShow};

use super::verb::{Command, Noun, Verb};
use crate::output::Column;

/// The verbs of `tenure action`.
pub(crate) struct Action;

impl Noun for Action {
    const VERBS: &'static [&'static dyn Command] = &[&LIST, &SHOW, &SET, &DELETE];
}

const LIST: Verb<ActionList> = Verb {
    row: Some(kinds_for_people),
    quiet: &["name"],
    ..Verb::table(
        "list",
        &[
            Column("ACTION", "name"),
            Column("CLASS", "action_class"),
            Column("LEVEL", "level_min"),
            Column("LOCK", "lock_scope"),
            Column("KINDS", "kinds"),
            Column("RESTRICTED", "payload_restricted"),
            Column("NOTE", "note"),
            Column("BY", "updated_by"),
        ],
        "No action is registered. `tenure action set NAME --class CLASS` registers one.",
    )
};

fn kinds_for_people(action: &mut Value) {
    if action["kinds"].is_null() {
        action["kinds"] = json!("its own");
    }
}

const SHOW: Verb<ActionShow> = Verb {
    places: &["name"],
    options: &[("name", "action")],
    quiet: &["registration"],
    ..Verb::fields(
        "show",
        &[
            "action",
            "registration",
            "action_class",
            "level_min",
            "lock_scope",
            "kinds",
            "payload_restricted",
        ],
    )
};

const SET: Verb<ActionSet> = Verb {
    places: &["name"],
    options: &[
        ("action_class", "class"),
        ("level_min", "level"),
        ("lock_scope", "lock"),
        ("kinds", "kind"),
        ("payload_restricted", "restricted"),
    ],
    example: Some(
        "\
Example:
  tenure action set 'service.*' --class modify --level 1
  tenure action set db.dump --class read --level 1 --kind backup --restricted",
    ),
    quiet: &["name"],
    ..Verb::<ActionSet>::sentence("set", |set, _| {
        format!(
            "The action {} is registered. `tenure execution preview FILE` shows what it means for a plan.",
            set.name
        )
    })
};

const DELETE: Verb<ActionDelete> = Verb {
    places: &["name"],
    quiet: &["name"],
    ..Verb::<ActionDelete>::sentence("delete", |delete, _| {
        format!(
            "Deleted the registration {}. What was submitted before keeps its terms.",
            delete.name
        )
    })
};
