//! What a job may carry: a small object of signals, never the data itself.
//!
//! The check runs in this order, in SQL as here: an object at all, its size, its depth, its keys. Size comes first because it
//! bounds the search for keys and the length of the path that is named.

use serde_json::Value;
use thiserror::Error;

use crate::codes::{self, Code};
use crate::json;
use crate::limits::{PAYLOAD_BYTES_MAX, PAYLOAD_DEPTH_MAX};
use crate::refusal::Refusal;

/// Keys that say "here comes the data itself". Refused at any depth, in any case; as a value they are fine.
pub const FORBIDDEN_KEYS: [&str; 10] = [
    "body",
    "content",
    "raw",
    "vector",
    "embedding",
    "secret",
    "token",
    "password",
    "ssn",
    "personal_data",
];

/// Why a payload is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// Not a JSON object.
    #[error("The payload is {found}, not an object.")]
    NotObject {
        /// What it is instead.
        found: &'static str,
    },
    /// Larger than [`PAYLOAD_BYTES_MAX`].
    #[error("The payload has {bytes} bytes.")]
    TooLarge {
        /// Its size, as [`text_bytes`] measures it.
        bytes: usize,
    },
    /// Objects and lists within each other, more than [`PAYLOAD_DEPTH_MAX`].
    #[error("The payload is {depth} levels deep.")]
    TooDeep {
        /// How many.
        depth: usize,
    },
    /// One of the [`FORBIDDEN_KEYS`], or a key that begins with [`json::PRIVATE_PREFIX`].
    #[error("The payload holds the forbidden key at {path}.")]
    ForbiddenKey {
        /// Where it is, such as `$.a.b[2].Password`.
        path: String,
    },
    /// A NUL character in a key or a string.
    #[error("The payload holds a NUL character at {path}.")]
    Nul {
        /// Where it is.
        path: String,
    },
}

impl Violation {
    /// The code of the refusal.
    pub fn code(&self) -> &'static Code {
        match self {
            Violation::NotObject { .. } => codes::PAYLOAD_NOT_OBJECT,
            Violation::TooLarge { .. } | Violation::TooDeep { .. } => codes::PAYLOAD_TOO_LARGE,
            Violation::ForbiddenKey { .. } => codes::PAYLOAD_FORBIDDEN_KEY,
            Violation::Nul { .. } => codes::TEXT_INVALID,
        }
    }

    /// The place in the payload, where there is one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Violation::ForbiddenKey { path } | Violation::Nul { path } => Some(path),
            Violation::NotObject { .. } | Violation::TooLarge { .. } | Violation::TooDeep { .. } => None,
        }
    }
}

impl From<Violation> for Refusal {
    fn from(violation: Violation) -> Refusal {
        let (why, next) = match violation {
            Violation::NotObject { .. } => (
                "A payload is a JSON object.".to_owned(),
                "Wrap it, for example as {\"value\": …}.",
            ),
            Violation::TooLarge { .. } => (
                format!("At most {PAYLOAD_BYTES_MAX} bytes are allowed: a job carries signals, not data."),
                "Store the data elsewhere and pass its address as payload_ref.",
            ),
            Violation::TooDeep { .. } => (
                format!(
                    "At most {PAYLOAD_DEPTH_MAX} objects and lists within each other are allowed (payload_depth_max)."
                ),
                "Make it flatter, or pass a reference to the data instead.",
            ),
            Violation::ForbiddenKey { .. } => (
                format!(
                    "Jobs carry no data and no secrets; these keys are refused: {}. So are those that begin with {}.",
                    FORBIDDEN_KEYS.join(", "),
                    json::PRIVATE_PREFIX
                ),
                "Pass a reference to the data instead, or rename the key if it holds none.",
            ),
            Violation::Nul { .. } => ("PostgreSQL cannot store it.".to_owned(), "Remove the NUL character."),
        };
        Refusal::new(violation.code(), violation.to_string(), why, next)
    }
}

/// Checks a payload before it is sent; the database checks the same again.
///
/// ```
/// use serde_json::json;
/// use tenure_core::payload::check;
///
/// assert!(check(&json!({"order": 7, "fields": ["token"]})).is_ok());
///
/// let refused = check(&json!({"a": {"b": [1, 2, {"Password": "x"}]}})).unwrap_err();
/// assert_eq!(refused.path(), Some("$.a.b[2].Password"));
/// ```
pub fn check(payload: &Value) -> Result<(), Violation> {
    if !payload.is_object() {
        return Err(Violation::NotObject {
            found: kind_of(payload),
        });
    }
    let bytes = text_bytes(payload);
    if bytes > PAYLOAD_BYTES_MAX {
        return Err(Violation::TooLarge { bytes });
    }
    let depth = depth_of(payload);
    if depth > PAYLOAD_DEPTH_MAX {
        return Err(Violation::TooDeep { depth });
    }
    check_keys(payload, "$")
}

/// Objects and lists within each other.
fn depth_of(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(depth_of).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth_of).max().unwrap_or(0),
        _ => 0,
    }
}

/// Whether a key is one of the [`FORBIDDEN_KEYS`], in any case, or one that serde_json does not read as a key.
pub(crate) fn is_forbidden(key: &str) -> bool {
    json::is_private(key) || FORBIDDEN_KEYS.contains(&key.to_lowercase().as_str())
}

fn check_keys(value: &Value, path: &str) -> Result<(), Violation> {
    match value {
        Value::Object(map) => map.iter().try_for_each(|(key, child)| {
            let path = format!("{path}{}", step(key));
            if is_forbidden(key) {
                return Err(Violation::ForbiddenKey { path });
            }
            if key.contains('\0') {
                return Err(Violation::Nul { path });
            }
            check_keys(child, &path)
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| check_keys(item, &format!("{path}[{index}]"))),
        Value::String(text) if text.contains('\0') => Err(Violation::Nul { path: path.to_owned() }),
        _ => Ok(()),
    }
}

/// `.key` for a plain key, `["a key"]` for any other.
fn step(key: &str) -> String {
    let mut bytes = key.bytes();
    let plain = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if plain {
        format!(".{key}")
    } else {
        format!("[{}]", Value::from(key))
    }
}

/// The size that counts: bytes of the value as PostgreSQL prints its `jsonb`, `octet_length(payload::text)`.
///
/// That form has a space after every colon and comma, prints text outside ASCII as it is, and numbers in full digits
/// (`1e20` has 21). Unlike `pg_column_size` it does not depend on compression.
///
/// ```
/// use serde_json::json;
/// use tenure_core::payload::text_bytes;
///
/// assert_eq!(text_bytes(&json!({"a": [1, 2], "b": "é"})), r#"{"a": [1, 2], "b": "é"}"#.len());
/// ```
pub fn text_bytes(value: &Value) -> usize {
    let between = |items: usize| 2 + 2 * items.saturating_sub(1);
    match value {
        Value::Object(map) => {
            let pairs = map
                .iter()
                .map(|(key, child)| printed_bytes(key) + 2 + text_bytes(child));
            between(map.len()) + pairs.sum::<usize>()
        }
        Value::Array(items) => between(items.len()) + items.iter().map(text_bytes).sum::<usize>(),
        Value::String(text) => printed_bytes(text),
        Value::Number(number) => number_bytes(number),
        Value::Bool(_) | Value::Null => value.to_string().len(),
    }
}

/// JSON and `jsonb` escape the same characters in the same way.
fn printed_bytes(text: &str) -> usize {
    let escaped = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0x00..0x20 => 6,
        _ => 1,
    });
    2 + escaped.sum::<usize>()
}

fn number_bytes(number: &serde_json::Number) -> usize {
    let text = number.to_string();
    match number.as_f64() {
        // PostgreSQL's numeric knows no exponent in its text, and no negative zero.
        Some(value) if text.contains(['e', 'E']) => value.to_string().len(),
        Some(0.0) if text.starts_with('-') => text.len() - 1,
        _ => text.len(),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
