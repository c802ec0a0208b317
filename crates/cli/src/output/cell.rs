//! One value, as people read it.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

/// The text of a value. Times are told in the local zone with their offset; nothing prints as nothing.
pub(crate) fn shown(field: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => match moment(field, text) {
            Some(at) => local(at),
            None => printable(text),
        },
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| shown(field, item)).collect();
            items.join(", ")
        }
        other => printable(&other.to_string()),
    }
}

/// Whether a field is told by its name to hold a time.
fn moment(field: &str, text: &str) -> Option<Timestamp> {
    let timely = ["at", "until", "since", "due", "clock", "deadline"];
    let last = field.rsplit('_').next().unwrap_or(field);
    timely.contains(&last).then(|| text.parse().ok())?
}

/// `2026-01-31 09:00:00Z`, or with the offset of the local zone.
pub(crate) fn local(at: Timestamp) -> String {
    in_zone(at, TimeZone::system())
}

fn in_zone(at: Timestamp, zone: TimeZone) -> String {
    let zoned = at.to_zoned(zone);
    let format = if zoned.offset().is_zero() { "%F %TZ" } else { "%F %T%:z" };
    zoned.strftime(format).to_string()
}

/// Text with its control characters made visible: what was stored must not steer the terminal of the reader.
pub(crate) fn printable(text: &str) -> String {
    let steers =
        |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(steers) {
        return text.to_owned();
    }
    text.chars()
        .flat_map(|c| {
            if steers(c) {
                c.escape_default().collect()
            } else {
                vec![c]
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_time_tells_its_zone() {
        let at: Timestamp = "2026-01-31T09:00:00.5Z".parse().expect("a time");
        assert_eq!(in_zone(at, TimeZone::UTC), "2026-01-31 09:00:00Z");
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(in_zone(at, zone), "2026-01-31 11:00:00+02:00");
    }

    #[test]
    fn only_times_are_told_as_times() {
        assert_eq!(shown("note", &json!("2026-01-31T09:00:00Z")), "2026-01-31T09:00:00Z");
        assert_eq!(shown("due", &json!("soon")), "soon");
        assert_eq!(shown("due", &json!(null)), "");
        assert_eq!(shown("kinds", &json!(["a", "b"])), "a, b");
    }

    #[test]
    fn stored_text_cannot_steer_the_terminal() {
        assert_eq!(printable("a\u{1b}[31m\nb"), "a\\u{1b}[31m\nb");
    }
}
