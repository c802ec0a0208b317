//! What applies to the steps of a plan: class, level and lock, and the registered action and the rule that say so.

use serde_json::{Value, json};

use super::lists::lock_of;
use super::submit::level_in_words;
use crate::output::{Column, shown};

/// Beside what the plan itself says.
pub(in crate::cli) const APPLIED: &[Column] = &[
    Column("STEP", "step_id"),
    Column("ACTION", "action"),
    Column("CLASS", "action_class"),
    Column("LEVEL", "level"),
    Column("LOCK", "lock"),
    Column("REGISTERED AS", "registered"),
    Column("RULE", "rule"),
];

/// The level of the whole plan, and the rule that says so.
pub(in crate::cli) fn level_line(level: &Value, rule: &Value) -> String {
    format!(
        "\nThe level that applies: {}; rule {}",
        level_in_words(level),
        shown("", rule)
    )
}

/// Steps of a preview or of an execution, as the table shows them.
pub(in crate::cli) fn for_people(step: &mut Value) {
    if step["level"].is_null() {
        step["level"] = step["approval_level"].clone();
    }
    step["lock"] = json!(lock_of(step));
    step["registered"] = match step["registration"].is_null() {
        true => json!("not registered"),
        false => step["registration"].clone(),
    };
}
