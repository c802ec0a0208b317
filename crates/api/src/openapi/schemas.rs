//! What OpenAPI wants otherwise than schemars writes it.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::values::JSON_MARK;

/// A member of a body that has a default may be null: it counts as left out.
pub(super) fn or_null(member: &mut Value) {
    if member.get("default").is_none() {
        return;
    }
    if let Some(kind) = member["type"].as_str().map(str::to_owned) {
        member["type"] = json!([kind, "null"]);
        if let Some(words) = member.get_mut("enum").and_then(Value::as_array_mut) {
            words.push(Value::Null);
        }
    } else if let Some(reference) = member.as_object_mut().and_then(|member| member.remove("$ref")) {
        member["anyOf"] = json!([{"$ref": reference}, {"type": "null"}]);
    }
}

/// A parameter is there or not, but never null.
pub(super) fn without_null(mut schema: Value) -> Value {
    if let Some(types) = schema["type"].as_array() {
        let mut types: Vec<Value> = types.iter().filter(|kind| **kind != "null").cloned().collect();
        schema["type"] = if types.len() == 1 {
            types.remove(0)
        } else {
            types.into()
        };
    }
    if let Some(parts) = schema["anyOf"].as_array() {
        let mut parts: Vec<Value> = parts.iter().filter(|part| part["type"] != "null").cloned().collect();
        if parts.len() == 1 {
            let mut only = parts.remove(0);
            let rest = schema
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(name, _)| *name != "anyOf");
            only.as_object_mut()
                .into_iter()
                .for_each(|only| only.extend(rest.clone().map(|(name, of)| (name.clone(), of.clone()))));
            return only;
        }
        schema["anyOf"] = parts.into();
    }
    schema
}

/// Takes out what is only for us: marks, and formats that no validator knows.
pub(super) fn strip(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.remove(JSON_MARK);
            members.values_mut().for_each(strip);
        }
        Value::Array(values) => values.iter_mut().for_each(strip),
        _ => {}
    }
}

/// Where the schemas of a document are.
const PLACE: &str = "#/components/schemas/";

/// The name of the schema that this one refers to.
pub(super) fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix(PLACE)
}

/// A reference to the schema of this name.
pub(super) fn reference_to(name: &str) -> Value {
    json!({"$ref": format!("{PLACE}{name}")})
}

/// Leaves out the schemas that nothing refers to, such as those whose members became members of a body: a generator would make
/// types of them that no call takes.
pub(super) fn keep_used(schemas: &mut Map<String, Value>, paths: &Value) {
    let mut used = BTreeSet::new();
    let mut found = names_in(paths);
    while let Some(name) = found.pop() {
        if let Some(schema) = schemas.get(&name)
            && used.insert(name)
        {
            found.extend(names_in(schema));
        }
    }
    schemas.retain(|name, _| used.contains(name));
}

fn names_in(value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) => {
            let own = name_of(value).map(str::to_owned);
            own.into_iter().chain(members.values().flat_map(names_in)).collect()
        }
        Value::Array(values) => values.iter().flat_map(names_in).collect(),
        _ => Vec::new(),
    }
}
