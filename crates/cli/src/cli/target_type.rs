//! `tenure target-type`: how references of a type of targets are compared.

use tenure_api::target_types::{TargetTypeDelete, TargetTypeList, TargetTypeSet};

use super::verb::{Command, Noun, Verb};
use crate::output::Column;

/// The verbs of `tenure target-type`.
pub(crate) struct TargetType;

impl Noun for TargetType {
    const VERBS: &'static [&'static dyn Command] = &[&LIST, &SET, &DELETE];
}

const LIST: Verb<TargetTypeList> = Verb {
    quiet: &["name"],
    ..Verb::table(
        "list",
        &[
            Column("TYPE", "name"),
            Column("CASE", "case_rule"),
            Column("NOTE", "note"),
            Column("BY", "updated_by"),
        ],
        "No type of targets is registered.",
    )
};

const SET: Verb<TargetTypeSet> = Verb {
    places: &["name"],
    options: &[("case_rule", "case")],
    quiet: &["name"],
    ..Verb::<TargetTypeSet>::sentence("set", |set, _| format!("The target type {} is registered.", set.name))
};

const DELETE: Verb<TargetTypeDelete> = Verb {
    places: &["name"],
    quiet: &["name"],
    ..Verb::<TargetTypeDelete>::sentence("delete", |delete, _| {
        format!("Deleted the target type {}.", delete.name)
    })
};
