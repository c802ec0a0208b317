//! Lists that go on.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tenure_core::json;

use crate::{Operation, request};

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    /// What was found.
    pub items: Vec<T>,
    /// Where the next page begins: send it as `cursor`. Null: there is none.
    pub next: Option<String>,
}

/// The cursor of the page behind these rows, if the page is full.
pub fn next_of<O: Operation>(question: &Map<String, Value>, rows: &[Value]) -> Option<String> {
    let limit = question.get("limit")?.as_u64()?;
    let last = rows
        .last()
        .filter(|_| rows.len() as u64 >= limit && !O::CURSOR.is_empty())?;
    let keys: Vec<&Value> = O::CURSOR.iter().map(|(_, column)| &last[*column]).collect();
    let text = serde_json::to_string(&keys).ok()?;
    Some(BASE64_URL_SAFE_NO_PAD.encode(text))
}

/// The same question about the page that begins at this cursor; none for a list that has no pages.
pub fn following<O: Operation>(question: &O, cursor: String) -> Option<O> {
    let mut members = request::members(question);
    members.insert("cursor".to_owned(), cursor.into());
    serde_json::from_value(Value::Object(members)).ok()
}

/// Replaces the cursor in the fields of a question by the arguments that it stands for. Answers false for a cursor that did not come
/// from a page of this list.
pub fn open_cursor<O: Operation>(question: &mut Map<String, Value>) -> bool {
    if O::CURSOR.is_empty() {
        return true;
    }
    let cursor = match question.remove("cursor") {
        None | Some(Value::Null) => return true,
        Some(cursor) => cursor,
    };
    let bytes = cursor
        .as_str()
        .and_then(|text| BASE64_URL_SAFE_NO_PAD.decode(text).ok());
    let keys: Option<Vec<Value>> = bytes.and_then(|bytes| json::parse_bytes(&bytes).ok());
    let Some(keys) = keys.filter(|keys| keys.len() == O::CURSOR.len()) else {
        return false;
    };
    for ((argument, _), key) in O::CURSOR.iter().zip(keys) {
        question.insert((*argument).to_owned(), key);
    }
    true
}
