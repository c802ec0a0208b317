//! Priorities by number or by name. Higher is sooner.

use crate::codes;
use crate::names::nearest;
use crate::refusal::Refusal;

/// The names every surface knows.
pub const NAMED: &[(&str, i16)] = &[("urgent", 100), ("normal", 0), ("bulk", -100)];

/// The priority of a job that names none.
pub const DEFAULT: i16 = 0;

/// Reads `urgent`, `normal`, `bulk` or a number.
///
/// ```
/// use tenure_core::{codes, priority};
///
/// assert_eq!(priority::parse("urgent").unwrap(), 100);
/// assert_eq!(priority::parse("-7").unwrap(), -7);
/// assert!(priority::parse("40000").unwrap_err().is(codes::NUMBER_OUT_OF_RANGE));
/// ```
pub fn parse(text: &str) -> Result<i16, Refusal> {
    let word = text.trim();
    if let Some((_, value)) = NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
        return Ok(*value);
    }
    if let Ok(value) = word.parse::<i16>() {
        return Ok(value);
    }
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Refusal::new(
            codes::NUMBER_OUT_OF_RANGE,
            format!("The priority {word} is out of range."),
            format!("A priority lies between {} and {}.", i16::MIN, i16::MAX),
            "Use a smaller number, or urgent, normal or bulk.",
        ));
    }
    let next = match nearest(word, NAMED.iter().map(|(name, _)| *name)) {
        Some(name) => format!("Did you mean {name:?}? Use urgent, normal, bulk or a number."),
        None => "Use urgent, normal, bulk or a number.".to_owned(),
    };
    Err(Refusal::new(
        codes::PRIORITY_UNKNOWN,
        format!("There is no priority {word:?}."),
        "A priority is a whole number or one of three names.",
        next,
    ))
}

/// The name of a priority that has one.
///
/// ```
/// assert_eq!(tenure_core::priority::name_of(-100), Some("bulk"));
/// assert_eq!(tenure_core::priority::name_of(3), None);
/// ```
pub fn name_of(value: i16) -> Option<&'static str> {
    NAMED.iter().find(|(_, number)| *number == value).map(|(name, _)| *name)
}
