//! An operation as an HTTP request: written by a client, read by the server, from the same route and the same struct.

use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value};

use crate::fields::{Field, Kind, describe};
use crate::values::JSON_MARK;
use crate::{Operation, Timestamp};

/// What a client sends.
#[derive(Debug, Clone)]
pub struct Request {
    /// The HTTP method.
    pub method: &'static str,
    /// The path with its query.
    pub path: String,
    /// The JSON body.
    pub body: Option<Value>,
}

/// What is wrong with a request, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong {
    /// `The path`, `The query` or `The body`.
    pub of: &'static str,
    /// The field.
    pub path: String,
    /// What is wrong with it.
    pub text: String,
}

/// The maximum of a field `wait_seconds`: below the time after which proxies cut a silent connection.
pub const WAIT_SECONDS_MAX: u64 = 40;

/// How long the server may wait before it answers.
pub fn wait_of<O: Operation>(operation: &O) -> Duration {
    let waits = O::BESIDE.contains(&"wait_seconds");
    let seconds = waits
        .then(|| members(operation).get("wait_seconds")?.as_u64())
        .flatten();
    Duration::from_secs(seconds.unwrap_or(0))
}

/// Everything but letters, digits and the four characters that have no meaning in a URL.
const SPECIAL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-').remove(b'~');

/// Fit for one segment of a path, one value of a query, or a header.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, SPECIAL).to_string()
}

/// The fields of an operation as JSON, without those that are left out. A field that must be given may be null, such as the value
/// of a setting.
pub fn members<O: Operation>(operation: &O) -> Map<String, Value> {
    let Ok(Value::Object(mut members)) = serde_json::to_value(operation) else {
        unreachable!("an operation is a struct whose members can be written as JSON")
    };
    let fields = &describe::<O>().fields;
    let is_required = |name: &str| fields.iter().any(|field| field.name == name && field.is_required);
    members.retain(|name, value| !value.is_null() || is_required(name));
    members
}

/// A value as a text of a URL.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The request for an operation.
pub fn write<O: Operation>(operation: &O) -> Request {
    let mut members = members(operation);
    let segment = |segment: &str| match segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        Some(name) => encoded(&text(&members.remove(name).unwrap_or_default())),
        None => segment.to_owned(),
    };
    let mut path = O::ROUTE.path.split('/').map(segment).collect::<Vec<_>>().join("/");
    let in_query = |name: &str| !O::ROUTE.has_body() || O::ROUTE.query.contains(&name);
    let (query, mut body): (Map<_, _>, Map<_, _>) = members.into_iter().partition(|(name, _)| in_query(name));
    for (name, value) in &query {
        for value in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
            let separator = if path.contains('?') { '&' } else { '?' };
            path.push_str(&format!("{separator}{name}={}", encoded(&text(value))));
        }
    }
    if let Some(Value::Object(spec)) = O::ROUTE.spec.and_then(|spec| body.remove(spec)) {
        body.extend(spec);
    }
    Request {
        method: O::ROUTE.method,
        path,
        body: O::ROUTE.has_body().then_some(Value::Object(body)),
    }
}

/// What a request brings: the words of its path and its query, and the members of its body.
#[derive(Debug, Default)]
pub struct Brought {
    /// Names and texts of the path.
    pub path: Vec<(String, String)>,
    /// Names and texts of the query.
    pub query: Vec<(String, String)>,
    /// The members of the body.
    pub body: Map<String, Value>,
}

/// The operation that a request asks for, or what is wrong with the request.
pub fn read<O: Operation>(brought: Brought) -> Result<O, Wrong> {
    let fields = &describe::<O>().fields;
    let mut members = Map::new();
    for (of, words) in [("The path", brought.path), ("The query", brought.query)] {
        for (name, word) in words {
            let known = fields.iter().find(|field| field.name == name && !field.is_in_spec);
            let is_here = match of {
                "The path" => O::ROUTE.is_in_path(&name),
                _ => !O::ROUTE.is_in_path(&name) && (!O::ROUTE.has_body() || O::ROUTE.query.contains(&name.as_str())),
            };
            let Some(field) = known.filter(|_| is_here) else {
                return Err(unknown::<O>(of, &name));
            };
            add(&mut members, field, &word).map_err(|text| Wrong { of, path: name, text })?;
        }
    }
    let mut spec = Map::new();
    for (name, value) in brought.body {
        let own = fields.iter().find(|field| field.name == name && !field.is_in_spec);
        let is_own = own.is_some() && !O::ROUTE.is_in_path(&name) && !O::ROUTE.query.contains(&name.as_str());
        check_time(fields, &name, &value)?;
        check_object(fields, &name, &value)?;
        if is_own && value.is_null() && own.is_some_and(|field| field.default().is_some()) {
            continue;
        }
        match O::ROUTE.spec {
            _ if is_own => members.insert(name, value),
            Some(_) => spec.insert(name, value),
            None => return Err(unknown::<O>("The body", &name)),
        };
    }
    if let Some(name) = O::ROUTE.spec {
        members.insert(name.to_owned(), Value::Object(spec));
    }
    let of = if O::ROUTE.has_body() { "The body" } else { "The query" };
    serde_path_to_error::deserialize(Value::Object(members)).map_err(|error| {
        let path = error.path().to_string();
        let path = match O::ROUTE.spec {
            Some(spec) => path.strip_prefix(&format!("{spec}.")).unwrap_or(&path).to_owned(),
            None => path,
        };
        let of = if O::ROUTE.is_in_path(&path) { "The path" } else { of };
        Wrong {
            of,
            path,
            text: error.inner().to_string(),
        }
    })
}

/// A field that is not known in this part of a request, in the words of serde.
fn unknown<O: Operation>(of: &'static str, name: &str) -> Wrong {
    let fields = describe::<O>().fields.iter();
    let here = |field: &&Field| {
        let field = field.name.as_str();
        let is_in_query = !O::ROUTE.has_body() || O::ROUTE.query.contains(&field);
        !O::ROUTE.is_in_path(field) && is_in_query == (of == "The query")
    };
    let known: Vec<String> = fields.filter(here).map(|field| format!("`{}`", field.name)).collect();
    let text = match known.as_slice() {
        [] => format!("unknown field `{name}`, there are no fields"),
        [one] => format!("unknown field `{name}`, expected {one}"),
        several => format!("unknown field `{name}`, expected one of {}", several.join(", ")),
    };
    Wrong {
        of,
        path: String::new(),
        text,
    }
}

/// Reads a word as its field says, and adds it to the members.
fn add(members: &mut Map<String, Value>, field: &Field, word: &str) -> Result<(), String> {
    let value = value_of(field.kind, word)?;
    match members.get_mut(&field.name) {
        None if matches!(field.kind, Kind::Texts | Kind::Integers) => {
            members.insert(field.name.clone(), Value::Array(vec![value]));
        }
        None => {
            members.insert(field.name.clone(), value);
        }
        Some(Value::Array(values)) if matches!(field.kind, Kind::Texts | Kind::Integers) => values.push(value),
        Some(_) => return Err("it is given more than once".to_owned()),
    }
    Ok(())
}

/// A word of a path, a query or a command line as JSON.
pub fn value_of(kind: Kind, word: &str) -> Result<Value, String> {
    let expected = |what: &str| format!("invalid value: {word:?}, expected {what}");
    match kind {
        Kind::Text | Kind::Texts => Ok(word.into()),
        Kind::Time => moment(word).map(|_| word.into()),
        Kind::Integer | Kind::Integers => {
            let number: Result<i64, _> = word.parse();
            number.map(Value::from).map_err(|_| expected("a whole number"))
        }
        Kind::Number => {
            let number: Result<f64, _> = word.parse();
            number.map(Value::from).map_err(|_| expected("a number"))
        }
        Kind::Boolean => {
            let truth: Result<bool, _> = word.parse();
            truth.map(Value::from).map_err(|_| expected("true or false"))
        }
        Kind::Json => tenure_core::json::parse(word).map_err(|error| expected(&format!("JSON ({error})"))),
    }
}

/// The years that a request may name: those of RFC 3339, which PostgreSQL can store.
const FIRST_MICROS: i64 = -62_135_596_800_000_000; // 0001-01-01T00:00:00Z
const LAST_MICROS: i64 = 253_402_300_799_999_999; // 9999-12-31T23:59:59.999999Z

/// A moment of a request: finite, and between the years 1 and 9999.
fn moment(word: &str) -> Result<Timestamp, String> {
    let at: Timestamp = word.parse().map_err(|error| format!("{error}"))?;
    match (FIRST_MICROS..=LAST_MICROS).contains(&at.micros()) {
        true => Ok(at),
        false => Err(format!(
            "not a time such as 2026-01-02T03:04:05Z: {word:?} is not between the years 1 and 9999"
        )),
    }
}

/// Reads such a moment, for requests that are read without [`read`].
pub(crate) fn read_moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let word = Option::<String>::deserialize(deserializer)?;
    word.map(|word| moment(&word).map_err(de::Error::custom)).transpose()
}

fn check_time(fields: &[Field], name: &str, value: &Value) -> Result<(), Wrong> {
    let is_time = fields
        .iter()
        .any(|field| field.name == name && field.kind == Kind::Time);
    let word = value.as_str().filter(|_| is_time);
    word.map_or(Ok(()), |word| moment(word).map(drop))
        .map_err(|text| Wrong {
            of: "The body",
            path: name.to_owned(),
            text,
        })
}

/// Serde takes an array for a struct too, its values for the fields in their order.
fn check_object(fields: &[Field], name: &str, value: &Value) -> Result<(), Wrong> {
    fn is_object(schema: &Value) -> bool {
        // Any JSON is read as it is; what it must be is said by the function that takes it.
        if schema.get(JSON_MARK).is_some() {
            return false;
        }
        let types = &schema["type"];
        let mut inner = schema["anyOf"].as_array().into_iter().flatten();
        *types == "object"
            || types
                .as_array()
                .is_some_and(|types| types.iter().any(|one| one == "object"))
            || inner.any(is_object)
    }
    let field = fields.iter().find(|field| field.name == name);
    match value.is_array() && field.is_some_and(|field| is_object(&field.schema)) {
        true => Err(Wrong {
            of: "The body",
            path: name.to_owned(),
            text: "invalid type: sequence, expected an object".to_owned(),
        }),
        false => Ok(()),
    }
}
