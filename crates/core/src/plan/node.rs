//! The text of a plan as a tree, read more strictly than JSON is: no name twice, no number that would be rounded away, no
//! key that says secrets.
//!
//! It is read piece by piece ([`RawValue`]), so that what counts is the text itself, the same whatever features of serde_json
//! the rest of a program asks for, and so that every refusal knows its place.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::path::{Path, quoted};
use super::refusals::{self, invalid};
use crate::codes;
use crate::limits::{PLAN_BYTES_MAX, PLAN_DEPTH_MAX, PLAN_SUBMITTED_BYTES_MAX};
use crate::payload;
use crate::refusal::Refusal;

/// The largest integer up to which every integer has a double of its own; RFC 8785 writes numbers as doubles.
pub(super) const INTEGER_MAX: i64 = (1 << 53) - 1;

/// A JSON value. Numbers are doubles, as in RFC 8785.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    /// Reads the text of a whole plan.
    pub(super) fn read(text: &str) -> Result<Node, Refusal> {
        if text.len() > PLAN_SUBMITTED_BYTES_MAX {
            let what = format!("The plan has {} bytes.", text.len());
            return Err(refusals::too_large(what, PLAN_SUBMITTED_BYTES_MAX, "bytes"));
        }
        // One look at all of it first: only here a line and a column are those of the whole text.
        serde_json::from_str::<IgnoredAny>(text).map_err(|error| {
            invalid(
                "The plan is not valid JSON.",
                format!("{error}."),
                "Mend the text at this place.",
            )
        })?;
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| unreadable(&Path::Root, &error))?;
        Node::piece(raw, &Path::Root, 0)
    }

    fn piece(raw: &RawValue, path: &Path<'_>, depth: usize) -> Result<Node, Refusal> {
        let text = raw.get();
        if depth == PLAN_DEPTH_MAX && text.starts_with(['{', '[']) {
            let what = format!("{path} lies too deep.");
            return Err(refusals::too_large(
                what,
                PLAN_DEPTH_MAX,
                "objects and lists within each other",
            ));
        }
        match text.as_bytes().first() {
            Some(b'{') => {
                let Entries(entries) = parsed(text, path)?;
                Node::object(entries, path, depth)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = parsed(text, path)?;
                let items = items.into_iter().enumerate();
                let nodes = items.map(|(index, item)| Node::piece(item, &path.item(index), depth + 1));
                nodes.collect::<Result<_, _>>().map(Node::List)
            }
            Some(b'"') => {
                let text: String = parsed(text, path)?;
                refuse_nul(&text, path)?;
                Ok(Node::Text(text))
            }
            Some(b't') => Ok(Node::Bool(true)),
            Some(b'f') => Ok(Node::Bool(false)),
            Some(b'n') => Ok(Node::Null),
            _ => number(text, path),
        }
    }

    fn object(entries: Vec<(String, &RawValue)>, path: &Path<'_>, depth: usize) -> Result<Node, Refusal> {
        let mut names = BTreeSet::new();
        for (name, _) in &entries {
            let path = path.field(name);
            refuse_nul(name, &path)?;
            if payload::is_forbidden(name) {
                return Err(refusals::forbidden_key(&path));
            }
            if !names.insert(name.as_str()) {
                return Err(invalid(
                    format!("{path} stands there twice."),
                    "Of two equal names in one object nobody knows which one counts.",
                    "Take one of them out.",
                ));
            }
        }
        let nodes = entries.into_iter().map(|(name, value)| {
            let node = Node::piece(value, &path.field(&name), depth + 1)?;
            Ok((name, node))
        });
        nodes.collect::<Result<_, _>>().map(Node::Object)
    }

    /// The one text of RFC 8785 that all spellings of this value share.
    pub(super) fn canonical(&self) -> Result<String, Refusal> {
        let text = serde_json_canonicalizer::to_string(self).map_err(|error| {
            invalid(
                "The plan has no canonical text.",
                format!("{error}."),
                "Write it in plain JSON.",
            )
        })?;
        if text.len() > PLAN_BYTES_MAX {
            let what = format!("The plan has {} bytes, without white space.", text.len());
            return Err(refusals::too_large(what, PLAN_BYTES_MAX, "bytes"));
        }
        Ok(text)
    }

    /// What it is, for a refusal.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Node::Null => "null",
            Node::Bool(_) => "a boolean",
            Node::Number(_) => "a number",
            Node::Text(_) => "a text",
            Node::List(_) => "a list",
            Node::Object(_) => "an object",
        }
    }

    /// The number, if it is a whole one: 30, 30.0 and 3e1 are the same.
    pub(super) fn integer(&self) -> Option<i64> {
        match self {
            Node::Number(number) if number.fract() == 0.0 => Some(*number as i64),
            _ => None,
        }
    }
}

impl From<&Node> for Value {
    fn from(node: &Node) -> Value {
        match node {
            Node::Null => Value::Null,
            Node::Bool(value) => Value::from(*value),
            Node::Number(number) => node.integer().map_or_else(|| Value::from(*number), Value::from),
            Node::Text(text) => Value::from(text.as_str()),
            Node::List(items) => items.iter().map(Value::from).collect(),
            Node::Object(entries) => entries
                .iter()
                .map(|(name, node)| (name.clone(), Value::from(node)))
                .collect(),
        }
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Node::Null => serializer.serialize_unit(),
            Node::Bool(value) => serializer.serialize_bool(*value),
            Node::Number(number) => serializer.serialize_f64(*number),
            Node::Text(text) => serializer.serialize_str(text),
            Node::List(items) => serializer.collect_seq(items),
            Node::Object(entries) => serializer.collect_map(entries.iter().map(|(name, node)| (name, node))),
        }
    }
}

/// An object as it is written: in order, and with every name that stands there.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Entries<'a>, D::Error> {
        struct AsWritten;

        impl<'de> Visitor<'de> for AsWritten {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(AsWritten)
    }
}

/// What cannot be read though it is JSON: half of a character, such as `"\ud800"`.
fn parsed<'a, T: Deserialize<'a>>(text: &'a str, path: &Path<'_>) -> Result<T, Refusal> {
    serde_json::from_str(text).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path<'_>, error: &serde_json::Error) -> Refusal {
    Refusal::new(
        codes::TEXT_INVALID,
        format!("{path} cannot be read as Unicode."),
        format!("{error}, counted from there."),
        "Write the character itself, or both halves of its escape.",
    )
}

fn refuse_nul(text: &str, path: &Path<'_>) -> Result<(), Refusal> {
    if !text.contains('\0') {
        return Ok(());
    }
    Err(Refusal::new(
        codes::TEXT_INVALID,
        format!("{path} holds a NUL character."),
        "PostgreSQL cannot store it.",
        "Remove the NUL character.",
    ))
}

/// Beyond [`INTEGER_MAX`] two integers would share one text, nearest to nothing any two numbers, and what is approved would
/// not be what was written.
fn number(text: &str, path: &Path<'_>) -> Result<Node, Refusal> {
    let digits = text.split(['e', 'E']).next().unwrap_or_default();
    let is_zero = !digits.contains(|c: char| ('1'..='9').contains(&c));
    match text.parse::<f64>() {
        Ok(number) if number.abs() <= INTEGER_MAX as f64 && (number != 0.0 || is_zero) => Ok(Node::Number(number)),
        _ => Err(Refusal::new(
            codes::NUMBER_OUT_OF_RANGE,
            format!("{path} is {}.", quoted(text).trim_matches('"')),
            format!(
                "Numbers of a plan lie between -{INTEGER_MAX} and {INTEGER_MAX}, and are 0 only where that is written: others \
                 would be rounded."
            ),
            "Write such a number as a text.",
        )),
    }
}
