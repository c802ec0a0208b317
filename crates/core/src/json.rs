//! JSON text from outside, read without the member names that serde_json uses for its own purposes.
//!
//! With its features `raw_value` and `arbitrary_precision`, which one crate turns on for a whole program, serde_json reads
//! `{"$serde_json::private::RawValue": "…"}` as the JSON inside the text, without a bound on how deep such texts nest: a few
//! kilobytes overflow the stack and end the process. So text from outside goes through [`parse`].

use serde::Deserialize;
use serde::de::Error as _;

/// How the member names begin that serde_json uses for its own purposes.
pub const PRIVATE_PREFIX: &str = "$serde_json::private::";

/// Reads JSON text. Refuses member names that begin with [`PRIVATE_PREFIX`], at any depth.
///
/// ```
/// use serde_json::{Value, json};
/// use tenure_core::json::parse;
///
/// assert_eq!(parse::<Value>(r#"{"a": 1}"#).unwrap(), json!({"a": 1}));
/// assert!(parse::<Value>(r#"{"$serde_json::private::RawValue": "[]"}"#).is_err());
/// ```
pub fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    check(text.as_bytes())?;
    serde_json::from_str(text)
}

/// [`parse`] for bytes, which may be no UTF-8.
pub fn parse_bytes<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, serde_json::Error> {
    check(text)?;
    serde_json::from_slice(text)
}

/// Refuses text with such a member name: for text that is read in another way afterwards.
pub fn check(text: &[u8]) -> Result<(), serde_json::Error> {
    match private_name(text) {
        Some(name) => Err(serde_json::Error::custom(format!(
            "the member name {name:?} begins with {PRIVATE_PREFIX}, which is reserved"
        ))),
        None => Ok(()),
    }
}

/// Whether a member name is one of those.
pub fn is_private(name: &str) -> bool {
    name.starts_with(PRIVATE_PREFIX)
}

/// The first of these member names in JSON text, without its escapes. Text that is no JSON is searched up to its fault.
fn private_name(json: &[u8]) -> Option<String> {
    // Each character of the prefix is written as itself or as \u and its number.
    let may_have = |text: &str| text.contains(PRIVATE_PREFIX) || text.contains("\\u");
    if std::str::from_utf8(json).is_ok_and(|text| !may_have(text)) {
        return None;
    }
    let mut rest = json;
    while let Some(start) = rest.iter().position(|byte| *byte == b'"') {
        let length = quoted_length(&rest[start..])?;
        let (quoted, after) = rest[start..].split_at(length);
        let is_name = after.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
        if is_name && matches!(quoted[1], b'$' | b'\\') {
            let name = serde_json::from_slice::<String>(quoted).ok();
            if let Some(name) = name.filter(|name| is_private(name)) {
                return Some(name);
            }
        }
        rest = after;
    }
    None
}

/// The bytes of the quoted string at the front, both quotation marks counted; none when it does not end.
fn quoted_length(json: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match json.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_private_name_is_refused_however_it_is_written() {
        for text in [
            r#"{"$serde_json::private::RawValue": "[]"}"#,
            r#"{"$serde_json::private::Number" : "5"}"#,
            r#"{"\u0024serde_json::private::Number":"5"}"#,
            r#"{"$\u0073erde_json\u003A:private::RawValue"	:"5"}"#,
            r#"[{"a": ["\\", {"b": "\"", "$serde_json::private::RawValue":"5"}]}]"#,
            r#"{"a": {"$serde_json::private::RawValue": "1"}, "a": 2}"#,
        ] {
            assert!(parse::<Value>(text).is_err(), "{text}");
            assert!(parse_bytes::<Value>(text.as_bytes()).is_err(), "{text}");
        }
        let not_text = b"{\"a\": \"\xff\", \"\\u0024serde_json::private::RawValue\": \"1\"}";
        assert!(check(not_text).is_err());
    }

    #[test]
    fn a_value_may_be_such_a_name() {
        for text in [
            r#"{"a": "$serde_json::private::RawValue"}"#,
            r#"{"a": "{\"$serde_json::private::RawValue\": 1}", "b": "\u0024"}"#,
            r#"{"x$serde_json::private::RawValue": 1, "$": 2, "\\": 3, "": 4}"#,
            r#"["$serde_json::private::RawValue"]"#,
        ] {
            let value = parse::<Value>(text).expect("it is read");
            assert_eq!(value, serde_json::from_str::<Value>(text).expect("JSON"));
        }
    }

    #[test]
    fn nested_private_names_do_not_overflow_the_stack() {
        let mut text = "[]".to_owned();
        for _ in 0..40 {
            let quoted = text.replace('\\', "\\u005c").replace('"', "\\u0022");
            let (open, close) = ("[".repeat(100), "]".repeat(100));
            text = format!(r#"{open}{{"{PRIVATE_PREFIX}RawValue":"{quoted}"}}{close}"#);
        }
        assert!(parse::<Value>(&text).is_err());
    }
}
