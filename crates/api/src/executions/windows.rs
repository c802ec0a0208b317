//! The times of the week in which an execution may start.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// A time of the week in which approved work may start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// The days on which it opens, 1 for Monday; every day if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), inner(range(min = 1, max = 7)))]
    pub days: Option<Vec<i32>>,
    /// When it opens, as HH:MM.
    #[schemars(example = "22:00", regex(pattern = r"^([01]\d|2[0-3]):[0-5]\d$"))]
    pub from: String,
    /// When it closes, as HH:MM; a time before `from` is on the next day.
    #[schemars(example = "06:00", regex(pattern = r"^([01]\d|2[0-3]):[0-5]\d$"))]
    pub to: String,
    /// The IANA time zone of both; UTC if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = "Europe/Berlin")]
    pub zone: Option<String>,
}

/// One window, or several that must all be open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum StartWindow {
    /// One.
    One(Window),
    /// Several; all of them must be open.
    All(Vec<Window>),
}

impl<'de> Deserialize<'de> for StartWindow {
    // Not derived: an untagged enum cannot read numbers of JSON texts that are kept digit by digit.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StartWindow, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let read = match value.is_array() {
            true => serde_json::from_value(value).map(StartWindow::All),
            false => serde_json::from_value(value).map(StartWindow::One),
        };
        read.map_err(D::Error::custom)
    }
}

impl JsonSchema for StartWindow {
    fn schema_name() -> Cow<'static, str> {
        "StartWindow".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let window = generator.subschema_for::<Window>();
        json_schema!({
            "description": "One window, or several that must all be open.",
            "anyOf": [window, {"type": "array", "items": window}],
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_window_is_one_or_several() {
        let night = json!({"days": [6, 7], "from": "22:00", "to": "04:00"});
        for value in [
            night.clone(),
            json!([night, {"from": "00:00", "to": "12:00", "zone": "UTC"}]),
        ] {
            let text = value.to_string();
            let window: StartWindow = serde_json::from_str(&text).expect("a window");
            assert_eq!(serde_json::to_value(&window).expect("JSON"), value);
        }
    }
}
