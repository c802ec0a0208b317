//! `docs/reference/operations.md`: every operation with its route, its SQL function, its roles and its fields, generated from the
//! registry and from the comments beside the functions.

use std::collections::BTreeMap;

use serde_json::Value;
use tenure_api::fields::Field;
use tenure_api::registry::{ENTRIES, Entry};
use tenure_api::{Effect, Shape};

use crate::generated::compare_or_write;
use crate::grants::{Granted, granted};

const HEAD: &str = "\
# Operations

<!-- generated: TENURE_WRITE=1 cargo test -p tenure --test it operations_reference:: writes it again -->

Everything that can be asked of Tenure over HTTP, by its noun. Each operation calls one SQL function of the schema `tenure` with its
fields as arguments (`p_<field>`); [sql/README.md](../../sql/README.md#functions) has examples and refusals, and
[openapi.json](../openapi.json) the types of the answers.

- **effect**: *reads* changes nothing, *changes* does something each time, *idempotent* does no more when it is repeated, *destroys*
  removes something that does not come back.
- **roles**: those that may call it. *all* is each of admin, operator, approver, requester, producer, worker and viewer. A server may
  call everything.
- A list answers `items` and `next`; send `next` as `cursor` for the next page.
";

fn effect_named(effect: Effect) -> &'static str {
    match effect {
        Effect::Reads => "reads",
        Effect::Changes => "changes",
        Effect::Idempotent => "idempotent",
        Effect::Destroys => "destroys",
    }
}

/// The part of a schema that is not null.
fn without_null(schema: &Value) -> Vec<&Value> {
    let parts = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    match parts {
        Some(parts) => parts
            .iter()
            .filter(|part| part["type"] != "null")
            .flat_map(without_null)
            .collect(),
        None => vec![schema],
    }
}

/// The members of an object, in backticks.
fn members(schema: &Value) -> Vec<String> {
    let members = schema["properties"].as_object().into_iter().flatten();
    members.map(|(name, _)| format!("`{name}`")).collect()
}

/// `1 to 1000`, `at least 1`, or nothing.
fn range(schema: &Value, least: &str, most: &str) -> String {
    match (schema.get(least), schema.get(most)) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => String::new(),
    }
}

/// What a value of this schema is, in words.
fn type_named(schema: &Value) -> String {
    let mut parts = Vec::new();
    let mut words = Vec::new();
    for part in without_null(schema) {
        let allowed = part["enum"].as_array().into_iter().flatten().chain(part.get("const"));
        let before = words.len();
        words.extend(
            allowed
                .filter(|word| !word.is_null())
                .map(|word| format!("`{}`", word.as_str().unwrap_or("?"))),
        );
        if words.len() == before {
            parts.push(one_type_named(part));
        }
    }
    if !words.is_empty() {
        parts.push(words.join(", "));
    }
    parts.join(" or ")
}

fn one_type_named(schema: &Value) -> String {
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several
            .iter()
            .filter_map(Value::as_str)
            .filter(|kind| *kind != "null")
            .collect(),
        _ => Vec::new(),
    };
    let with = |name: &str, bounds: String, unit: &str| match bounds.is_empty() {
        true => name.to_owned(),
        false => format!("{name}, {bounds}{unit}"),
    };
    match (kinds.first().copied(), schema["format"].as_str()) {
        (Some("string"), Some("uuid")) => "id".to_owned(),
        (Some("string"), Some("date-time")) => "time".to_owned(),
        (Some("string"), _) => with("text", range(schema, "minLength", "maxLength"), " characters"),
        (Some("integer"), _) => with("integer", range(schema, "minimum", "maximum"), ""),
        (Some("number"), _) => with("number", range(schema, "minimum", "maximum"), ""),
        (Some("boolean"), _) => "boolean".to_owned(),
        (Some("array"), _) => {
            let items = type_named(&schema["items"]);
            with(
                &format!("list of {items}"),
                range(schema, "minItems", "maxItems"),
                " items",
            )
        }
        (Some("object"), _) if schema["properties"].is_object() => format!("object of {}", members(schema).join(", ")),
        (Some("object"), _) => "object".to_owned(),
        _ => "JSON".to_owned(),
    }
}

/// Where a field is in a request.
fn place(entry: &Entry, field: &Field) -> &'static str {
    match field.name.as_str() {
        name if entry.route.is_in_path(name) => "path",
        name if entry.route.has_body() && !entry.route.query.contains(&name) => "body",
        _ => "query",
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn field_line(entry: &Entry, field: &Field) -> String {
    let default = match (field.is_required, field.default()) {
        (true, _) => "required".to_owned(),
        (false, Some(default)) => format!("`{default}`"),
        (false, None) => String::new(),
    };
    let (kind, place) = (cell(&type_named(&field.schema)), place(entry, field));
    format!(
        "| `{}` | {place} | {kind} | {default} | {} |\n",
        field.name,
        cell(field.help())
    )
}

/// What is answered: the name of its type, and its members.
fn answer(entry: &Entry) -> String {
    let schema = (entry.answer)();
    let title = schema["title"].as_str().unwrap_or_default();
    let items = &schema["properties"]["items"]["items"];
    let is_list = matches!(entry.shape, Shape::Rows | Shape::Values) && items.is_object();
    let of = if is_list { items } else { &schema };
    let alternatives: Vec<&Value> = without_null(of);
    let members: Vec<String> = alternatives
        .iter()
        .map(|part| members(part).join(", "))
        .filter(|it| !it.is_empty())
        .collect();
    let what = if is_list { ", each item with" } else { " with" };
    match members.is_empty() {
        true => format!("Answers `{title}`.\n"),
        false => format!("Answers `{title}`{what} {}.\n", members.join("; or ")),
    }
}

fn section(entry: &Entry, granted: &Granted) -> String {
    let description = (entry.describe)();
    let mut text = format!("\n### `{}`\n\n{}.", entry.name, description.summary);
    if !description.details.is_empty() {
        text.push_str(&format!(" {}", description.details.replace('\n', " ")));
    }
    let route = format!("`{} {}`", entry.route.method, entry.route.path);
    let (effect, roles) = (effect_named(entry.effect), granted.roles_named());
    text.push_str(&format!(
        "\n\n{route} calls `tenure.{}`. Effect: {effect}. Roles: {roles}.\n\n",
        entry.function
    ));
    if !description.fields.is_empty() {
        text.push_str("| field | in | type | default | meaning |\n|---|---|---|---|---|\n");
        text.extend(description.fields.iter().map(|field| field_line(entry, field)));
        text.push('\n');
    }
    text.push_str(&answer(entry));
    text
}

fn page(granted: &BTreeMap<String, Granted>) -> String {
    let mut nouns: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in ENTRIES {
        nouns.entry(entry.route.tag).or_default().push(entry);
    }
    let mut text = HEAD.to_owned();
    for (noun, entries) in nouns {
        let (first, rest) = noun.split_at(1);
        text.push_str(&format!(
            "\n## {}{rest}\n\n| operation | does | HTTP | effect | roles |\n|---|---|---|---|---|\n",
            first.to_uppercase()
        ));
        let roles = |entry: &Entry| {
            let granted = granted.get(entry.function);
            granted.unwrap_or_else(|| panic!("tenure.{} has no line granted to:", entry.function))
        };
        for entry in &entries {
            text.push_str(&format!(
                "| [`{name}`](#{name}) | {} | `{} {}` | {} | {} |\n",
                cell(&(entry.describe)().summary),
                entry.route.method,
                entry.route.path,
                effect_named(entry.effect),
                roles(entry).roles_named(),
                name = entry.name,
            ));
        }
        text.extend(entries.iter().map(|entry| section(entry, roles(entry))));
    }
    text
}

#[test]
fn the_reference_of_operations_is_what_the_registry_says() {
    compare_or_write(
        "docs/reference/operations.md",
        &page(&granted()),
        "operations_reference::",
    );
}
