//! A cron expression as people write it, read strictly. What comes out has numbers only, and means the same to everybody.

use crate::codes;
use crate::limits::EXPRESSION_CHARS_MAX;
use crate::names;
use crate::refusal::Refusal;

/// One of the five fields.
struct Field {
    name: &'static str,
    min: u16,
    max: u16,
    /// Words for numbers, the first for `names_from`.
    names: &'static [&'static str],
    names_from: u16,
}

const MONTHS: &[&str] = &[
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
const WEEKDAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const DAY_OF_MONTH: usize = 2;
const DAY_OF_WEEK: usize = 4;

#[rustfmt::skip] // A table is read by column.
const FIELDS: [Field; 5] = [
    Field { name: "minute",       min: 0, max: 59, names: &[],     names_from: 0 },
    Field { name: "hour",         min: 0, max: 23, names: &[],     names_from: 0 },
    Field { name: "day-of-month", min: 1, max: 31, names: &[],     names_from: 0 },
    Field { name: "month",        min: 1, max: 12, names: MONTHS,  names_from: 1 },
    Field { name: "day-of-week",  min: 0, max: 7,  names: WEEKDAYS, names_from: 0 },
];

#[rustfmt::skip] // A table is read by column.
const ALIASES: &[(&str, &str)] = &[
    ("@yearly",   "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly",  "0 0 1 * *"),
    ("@weekly",   "0 0 * * 0"),
    ("@daily",    "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly",   "0 * * * *"),
];

const FORM: &str = "Write five fields, minute hour day-of-month month day-of-week, such as '30 3 * * MON-FRI' (03:30 on working days).";

/// The five fields in numbers, one space between them.
pub(super) fn read(expression: &str) -> Result<String, Refusal> {
    let refused = |why: String, next: &str| {
        let shown: String = expression.chars().take(EXPRESSION_CHARS_MAX).collect();
        let what = format!("The expression '{}' cannot be read.", shown.escape_debug());
        // The reason quotes the expression, and a refusal goes to terminals and logs.
        let why = why.replace(char::is_control, "\u{fffd}");
        Refusal::new(codes::EXPRESSION_INVALID, what, why, next)
    };
    let chars = expression.chars().count();
    if chars > EXPRESSION_CHARS_MAX {
        let why = format!("It has {chars} characters, and at most {EXPRESSION_CHARS_MAX} are allowed.");
        return Err(refused(why, "Use ranges and steps, or make it several schedules."));
    }
    let expression = expression.trim_ascii();
    if expression.starts_with('@') {
        return match ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(expression)) {
            Some((_, fields)) => Ok((*fields).to_owned()),
            None => Err(refused(alias_why(expression), FORM)),
        };
    }
    let texts: Vec<&str> = expression.split_ascii_whitespace().collect();
    if texts.len() != FIELDS.len() {
        return Err(refused(count_why(texts.len()), FORM));
    }
    let mut read = Vec::with_capacity(FIELDS.len());
    for (index, text) in texts.iter().enumerate() {
        let field = &FIELDS[index];
        read.push(list(index, text).map_err(|why| refused(format!("Field {}, '{text}': {why}", field.name), FORM))?);
    }
    Ok(read.join(" "))
}

fn alias_why(alias: &str) -> String {
    if alias.eq_ignore_ascii_case("@reboot") {
        return "A schedule follows the clock, not the start of a machine.".to_owned();
    }
    let known = ALIASES.iter().map(|(alias, _)| *alias);
    match names::nearest(alias, known.clone()) {
        Some(meant) => format!("There is no such short form. Did you mean {meant}?"),
        None => format!("The short forms are {}.", known.collect::<Vec<_>>().join(", ")),
    }
}

fn count_why(count: usize) -> String {
    match count {
        0 => "It is blank.".to_owned(),
        1 => "It has 1 field, and five are needed.".to_owned(),
        6 | 7 => format!("It has {count} fields: a schedule does not fire by the second, and has no field for years."),
        _ => format!("It has {count} fields, and five are needed."),
    }
}

/// A whole field: `*`, `?` where days are, or items with commas between them.
fn list(index: usize, text: &str) -> Result<String, String> {
    match text {
        "*" => return Ok("*".to_owned()),
        "?" if matches!(index, DAY_OF_MONTH | DAY_OF_WEEK) => return Ok("*".to_owned()),
        "?" => return Err("a question mark stands only for a day that does not matter.".to_owned()),
        _ => {}
    }
    let items: Result<Vec<String>, String> = text.split(',').map(|text| item(index, text)).collect();
    let items = items?;
    if items.iter().any(|item| item == "L") && items.iter().any(|item| item == "LW") {
        return Err("L and LW do not go together in one field; make it two schedules.".to_owned());
    }
    Ok(items.join(","))
}

/// One item of a list: a value, a range, either with a step, or a special day.
fn item(index: usize, text: &str) -> Result<String, String> {
    let field = &FIELDS[index];
    if text.is_empty() {
        return Err("nothing stands beside a comma.".to_owned());
    }
    if let Some((range, step)) = text.split_once('/') {
        let step = number(step).ok_or_else(|| format!("'{step}' is no step."))?;
        if step == 0 || step > field.max {
            return Err(format!("a step of this field lies between 1 and {}.", field.max));
        }
        return match range {
            "*" => Ok(format!("*/{step}")),
            _ if range.contains('-') => Ok(format!("{}/{step}", span(field, range)?)),
            _ => Err(format!(
                "a step goes over all or over a range, such as */{step} or {}-{}/{step}.",
                field.min, field.max
            )),
        };
    }
    if text.contains('-') {
        return span(field, text);
    }
    match index {
        DAY_OF_MONTH => day_of_month(field, text),
        DAY_OF_WEEK => day_of_week(field, text),
        _ => Ok(value(field, text)?.to_string()),
    }
}

fn span(field: &Field, text: &str) -> Result<String, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first = value(field, first)?;
    let last = match value(field, last)? {
        // A week may end with its Sunday.
        0 if first > 0 && field.names == WEEKDAYS => 7,
        last => last,
    };
    if first > last {
        let end = if field.names == WEEKDAYS { 6 } else { field.max };
        return Err(format!(
            "a range goes upwards; write {first}-{end},{}-{last} to go round.",
            field.min
        ));
    }
    Ok(format!("{first}-{last}"))
}

/// A day, `L` (the last), `LW` (the last working day) or `15W` (the working day nearest to the 15th).
fn day_of_month(field: &Field, text: &str) -> Result<String, String> {
    let upper = text.to_ascii_uppercase();
    if upper == "L" || upper == "LW" {
        return Ok(upper);
    }
    match upper.strip_suffix('W') {
        Some(day) => Ok(format!("{}W", value(field, day)?)),
        None => Ok(value(field, text)?.to_string()),
    }
}

/// A day, `5L` (the last Friday) or `5#2` (the second Friday).
fn day_of_week(field: &Field, text: &str) -> Result<String, String> {
    if let Some((day, nth)) = text.split_once('#') {
        let day = value(field, day)?;
        return match number(nth) {
            Some(nth @ 1..=5) => Ok(format!("{}#{nth}", day % 7)),
            _ => Err("after # stands which one of the month, from 1 to 5.".to_owned()),
        };
    }
    match text.strip_suffix(['L', 'l']) {
        Some("") => Err("L needs the day whose last one is meant, such as 5L or FRIL.".to_owned()),
        Some(day) => Ok(format!("{}L", value(field, day)? % 7)),
        None => Ok(value(field, text)?.to_string()),
    }
}

/// A number within the field, or its name.
fn value(field: &Field, text: &str) -> Result<u16, String> {
    if let Some(position) = field.names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        return Ok(field.names_from + u16::try_from(position).unwrap_or_default());
    }
    let range = || match field.names {
        [] => format!("{} to {}", field.min, field.max),
        [first, .., last] => format!("{} to {}, or {first} to {last}", field.min, field.max),
        [one] => one.to_string(),
    };
    match number(text) {
        Some(value) if (field.min..=field.max).contains(&value) => Ok(value),
        _ => Err(format!("'{text}' is not one of {}.", range())),
    }
}

/// Digits alone: no sign, no more than fit.
fn number(text: &str) -> Option<u16> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| text.parse().ok()).flatten()
}
