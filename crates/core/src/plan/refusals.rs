//! What is said when a plan is refused. Each begins with the place.

use std::collections::BTreeMap;

use super::path::{Path, quoted};
use crate::codes;
use crate::names::nearest;
use crate::payload::FORBIDDEN_KEYS;
use crate::refusal::Refusal;

/// Not the form of a plan.
pub(super) fn invalid(what: impl Into<String>, why: impl Into<String>, next: impl Into<String>) -> Refusal {
    Refusal::new(codes::PLAN_INVALID, what, why, next)
}

/// More than a plan may have.
pub(super) fn too_large(what: String, max: usize, unit: &str) -> Refusal {
    Refusal::new(
        codes::PLAN_TOO_LARGE,
        what,
        format!("At most {max} {unit} are allowed."),
        "Make several plans of it, or pass data by reference.",
    )
}

/// A key that says secrets or data.
pub(super) fn forbidden_key(path: &Path<'_>) -> Refusal {
    Refusal::new(
        codes::PAYLOAD_FORBIDDEN_KEY,
        format!("{path} is a forbidden key."),
        format!(
            "A plan is stored, shown and approved as it is written, never masked; these keys are refused: {}, and those that \
             begin with {}.",
            FORBIDDEN_KEYS.join(", "),
            crate::json::PRIVATE_PREFIX
        ),
        "Pass a reference as payload_ref, and let the worker fetch what it needs; or rename the key if it holds none.",
    )
}

/// A field that no plan has.
pub(super) fn unknown_field(path: &Path<'_>, name: &str, known: &[&str]) -> Refusal {
    // `timeout` is far from `timeout_seconds` by letters, and yet means nothing else.
    let longer = || {
        known
            .iter()
            .copied()
            .find(|known| !name.is_empty() && known.starts_with(name))
    };
    let next = match nearest(name, known.iter().copied()).or_else(longer) {
        Some(near) => format!("Did you mean {near:?}?"),
        None => "Take it out.".to_owned(),
    };
    invalid(
        format!("{path} is no field of a plan."),
        format!("Known here are: {}.", known.join(", ")),
        next,
    )
}

/// A field that every plan has.
pub(super) fn missing(path: &Path<'_>) -> Refusal {
    invalid(
        format!("{path} is missing."),
        "It is required.",
        "Add it; tenure plan schema describes every field.",
    )
}

/// A value of another type.
pub(super) fn wrong_type(path: &Path<'_>, found: &str, expected: &str) -> Refusal {
    let next = match found {
        "null" => format!("Give {expected}; to say nothing, leave the field out."),
        _ => format!("Give {expected}."),
    };
    invalid(format!("{path} is {found}."), format!("Expected is {expected}."), next)
}

/// A number outside its range.
pub(super) fn out_of_range(path: &Path<'_>, value: i64, min: i64, max: i64) -> Refusal {
    Refusal::new(
        codes::NUMBER_OUT_OF_RANGE,
        format!("{path} is {value}."),
        format!("It lies between {min} and {max}."),
        "Use a number in this range.",
    )
}

/// A word that is not on its list.
pub(super) fn unknown_word(path: &Path<'_>, word: &str, known: &[&str]) -> Refusal {
    let list = known.join(", ");
    let next = match nearest(word, known.iter().copied()) {
        Some(near) => format!("Did you mean {near:?}?"),
        None => format!("Use one of: {list}."),
    };
    Refusal::new(
        codes::VALUE_UNKNOWN,
        format!("{path} is {}.", quoted(word)),
        format!("It is one of: {list}."),
        next,
    )
}

/// A step that no plan has. A name that is near it is proposed before what `next` says.
pub(super) fn unknown_step(place: &str, id: &str, known: &BTreeMap<String, usize>, why: &str, next: &str) -> Refusal {
    let next = match nearest(id, known.keys().map(String::as_str)) {
        Some(near) => format!("Did you mean {near:?}?"),
        None => next.to_owned(),
    };
    let what = format!("{place} names the step {}, which is not in the plan.", quoted(id));
    invalid(what, why, next)
}
