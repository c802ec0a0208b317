//! Members of a JSON object: one that is missing, or of another type, says nothing.

use serde_json::Value;

/// Characters of an error message that lines and file have.
const MESSAGE_CHARS_MAX: usize = 500;

pub(super) fn text(value: &Value, field: &str) -> Option<String> {
    value.get(field)?.as_str().map(str::to_owned)
}

pub(super) fn number(value: &Value, field: &str) -> Option<i64> {
    value.get(field)?.as_i64()
}

pub(super) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(super) fn texts(value: &Value, field: &str) -> Vec<String> {
    let texts = list(value, field).iter().filter_map(|value| value.as_str());
    texts.map(str::to_owned).collect()
}

pub(super) fn cut(text: String) -> String {
    text.chars().take(MESSAGE_CHARS_MAX).collect()
}
