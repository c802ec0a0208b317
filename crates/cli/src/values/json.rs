//! JSON given in place, from a file (`@FILE`) or from standard input (`-`).

use std::fs;
use std::io::{self, Read};

use serde_json::Value;
use tenure_core::{Code, Refusal, codes};

/// More than any limit of the database, so that it can still say by how much something is too large.
const INPUT_BYTES_MAX: u64 = 1024 * 1024;

/// An object, or what else there is: the database says whether it will do.
pub(crate) fn json_object(field: &str, given: &str) -> Result<Value, Refusal> {
    read(field, given, codes::PAYLOAD_NOT_OBJECT)
}

/// Any JSON value.
pub(crate) fn json_value(field: &str, given: &str) -> Result<Value, Refusal> {
    read(field, given, codes::USAGE)
}

fn read(field: &str, given: &str, unreadable: &'static Code) -> Result<Value, Refusal> {
    let bytes = match given.strip_prefix('@') {
        Some(path) => fs::File::open(path).and_then(bounded).map_err(|error| {
            Refusal::new(
                codes::USAGE,
                format!("The file {path} of the {field} cannot be read."),
                error.to_string(),
                "Check the path. Without @ the argument itself is the JSON.",
            )
        })?,
        None if given == "-" => bounded(io::stdin()).map_err(|error| {
            Refusal::new(
                codes::USAGE,
                format!("The {field} cannot be read from standard input."),
                error.to_string(),
                "Give it as an argument or with @FILE.",
            )
        })?,
        None => given.as_bytes().to_vec(),
    };
    if bytes.len() as u64 > INPUT_BYTES_MAX {
        return Err(Refusal::new(
            codes::PAYLOAD_TOO_LARGE,
            format!("The {field} has more than {INPUT_BYTES_MAX} bytes."),
            "Nothing this long is stored with a job.",
            "Store it elsewhere and pass a reference.",
        ));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        Refusal::new(
            codes::TEXT_INVALID,
            format!("The {field} is not valid UTF-8."),
            error.utf8_error().to_string(),
            "Convert it to UTF-8.",
        )
    })?;
    let value: Value = tenure_core::json::parse(&text).map_err(|error| {
        Refusal::new(
            unreadable,
            format!("The {field} is not valid JSON."),
            error.to_string(),
            "Give JSON such as {\"order\": 7}; in a shell, put it between single quotes.",
        )
    })?;
    match nul_at(&value, "$") {
        Some(path) => Err(Refusal::new(
            codes::TEXT_INVALID,
            format!("The {field} holds a NUL character at {path}."),
            "PostgreSQL cannot store it.",
            "Remove the NUL character.",
        )),
        None => Ok(value),
    }
}

fn bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Where the first NUL is, in a text or in a key.
fn nul_at(value: &Value, path: &str) -> Option<String> {
    match value {
        Value::String(text) => text.contains('\0').then(|| path.to_owned()),
        Value::Array(items) => {
            let mut places = items.iter().enumerate();
            places.find_map(|(index, item)| nul_at(item, &format!("{path}[{index}]")))
        }
        Value::Object(fields) => fields.iter().find_map(|(key, field)| {
            if key.contains('\0') {
                return Some(format!("{path}.{}", key.escape_default()));
            }
            nul_at(field, &format!("{path}.{key}"))
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_is_refused_with_its_path() {
        let refusal = json_object("payload", r#"{"a": [1, {"b": "x\u0000"}]}"#).expect_err("refused");
        assert!(refusal.is(codes::TEXT_INVALID));
        assert!(refusal.what.contains("$.a[1].b"), "{refusal}");
    }

    #[test]
    fn what_is_no_json_says_where() {
        let refusal = json_object("payload", "{order: 7}").expect_err("refused");
        assert!(refusal.is(codes::PAYLOAD_NOT_OBJECT));
        assert!(refusal.why.contains("column"), "{refusal}");
    }
}
