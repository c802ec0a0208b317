//! An example of every request and every answer, made from the examples of their members.
//!
//! One name means one thing everywhere (`docs/GLOSSARY.md`), so a member that brings no example of its own has the one of its name.

use serde_json::{Map, Value, json};

use super::schemas::name_of;

/// Texts by the name of the member or parameter that holds them.
#[rustfmt::skip] // A table is read by column.
const TEXTS: &[(&str, &str)] = &[
    ("action", "host.diagnose"),
    ("actor", "anna"),
    ("added", "look"),
    ("after", "1.742.3"),
    ("answer", "approve"),
    ("approval_roles", "release manager"),
    ("at", "2026-01-02T03:04:05Z"),
    ("auth_makers", "anna"),
    ("auth_method", "key"),
    ("canonical", "{\"purpose\":\"look at web-1\"}"),
    ("chain_hash", HASH),
    ("code", "job_unknown"),
    ("correlation_id", "order-4711"),
    ("created_by", "anna"),
    ("cursor", "1.742.3"),
    ("description", "Reports of the month"),
    ("effect", "Nothing is claimed."),
    ("enqueued_by", "shop"),
    ("error_code", "timeout"),
    ("event_cursor", "1.742.3"),
    ("event_domain", "job"),
    ("event_kind", "job.dead_lettered"),
    ("event_kinds", "job.dead_lettered"),
    ("execution_id", ID),
    ("executor", "external_worker"),
    ("executor_name", "worker-1"),
    ("executors", "external_worker"),
    ("expression", "0 3 * * MON-FRI"),
    ("final_error", "the printer is out of paper"),
    ("fingerprint", "5f2b8c1d9e0a7463"),
    ("hash", HASH),
    ("idempotency_key", "report-2026-01"),
    ("installation", ID),
    ("key", "queue.lease.duration_sec"),
    ("key_id", "5f2b8c1d9e0a7463"),
    ("kind", "report"),
    ("kinds", "report"),
    ("last_error", "the printer is out of paper"),
    ("last_transition_by", "worker-1"),
    ("local", "2026-01-02T03:00:00"),
    ("lock_key", "host:web-1"),
    ("login", "shop_login"),
    ("login_roles", "tenure_worker"),
    ("makers", "anna"),
    ("message", "the printer is out of paper"),
    ("moved_by", "worker-1"),
    ("needs", "back up"),
    ("next", "Correct the id and send the request again."),
    ("note", "The printer is repaired."),
    ("on_behalf_of", "anna"),
    ("owner", "worker-1"),
    ("part", "restart"),
    ("path", HASH),
    ("plan_hash", HASH),
    ("plan_snapshot_hash", HASH),
    ("planned_by", "scheduler"),
    ("prefix", "k7q2m4xz"),
    ("previous", HASH),
    ("principal", "anna"),
    ("proposed_by", "anna"),
    ("public_key", HASH),
    ("purpose", "look at web-1"),
    ("removed", "look"),
    ("reason", "The order was withdrawn."),
    ("requested_by", "anna"),
    ("requesters", "anna"),
    ("roles", "worker"),
    ("roles_missing", "release manager"),
    ("root", HASH),
    ("rule", "production"),
    ("schedule", "nightly-report"),
    ("scope_id", "4711"),
    ("scope_kind", "customer"),
    ("section", "web-tier"),
    ("server_version", "15.14"),
    ("service", "reaper"),
    ("signature", "MEUCIQDx"),
    ("sink", "file"),
    ("source_system", "shop"),
    ("status", "ok"),
    ("step", "look"),
    ("step_id", "look"),
    ("steps", "look"),
    ("subject", "anna"),
    ("subscription", "repair"),
    ("target", "host:web-1"),
    ("target_ref", "web-1"),
    ("target_refs", "web-1"),
    ("target_type", "host"),
    ("target_types", "host"),
    ("targets", "host:web-1"),
    ("tenant", "shop"),
    ("title", "There is no such job."),
    ("triaged_by", "anna"),
    ("type", "/errors/job_unknown"),
    ("updated_by", "anna"),
    ("versions", "0.1.0"),
    ("waiting_for", "A second admin must approve it."),
    ("warnings", "The jobs of this kind are paused."),
    ("what", "There is no job 01990000-0000-7000-8000-000000000001."),
    ("why", "No job of this tenant has the id."),
    ("worker", "worker-1"),
    ("zone", "Europe/Berlin"),
    ("zones", "Europe/Berlin"),
];

/// What `name` names, by the noun that the path begins with.
const NAMES: &[(&str, &str)] = &[
    ("actions", "host.diagnose"),
    ("approval-rules", "production"),
    ("config", "queue.lease.duration_sec"),
    ("executors", "worker-1"),
    ("kinds", "report"),
    ("principals", "anna"),
    ("schedules", "nightly-report"),
    ("subscriptions", "repair"),
    ("target-types", "host"),
    ("tenants", "shop"),
];

/// Numbers by the name of the member that holds them.
const NUMBERS: &[(&str, i64)] = &[
    ("attempts_max", 20),
    ("backoff_base_seconds", 10),
    ("lease_seconds", 60),
    ("lease_seconds_max", 3600),
    ("retention_seconds", 604_800),
    ("status", 404),
];

const ID: &str = "01990000-0000-7000-8000-000000000001";
const TIME: &str = "2026-01-02T03:04:05Z";
const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// What stands where no example is known. A test finds it.
const UNKNOWN: &str = "…";

/// Adds an example to every request, every answer, and every parameter that must be given.
pub fn add_examples(document: &mut Value) {
    let schemas = document["components"]["schemas"].as_object().cloned();
    let schemas = schemas.unwrap_or_default();
    for (path, item) in members_of(document.get_mut("paths")) {
        let noun = path.trim_start_matches("/v1/").split('/').next().unwrap_or_default();
        let composer = |of| Composer {
            schemas: &schemas,
            noun,
            of,
        };
        let (request, answer) = (composer(Of::Request), composer(Of::Answer));
        for (_, operation) in members_of(Some(item)) {
            let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
            for parameter in parameters.into_iter().flatten() {
                request.add_to_parameter(parameter);
            }
            request.add_to_content(operation.get_mut("requestBody"));
            for (_, response) in members_of(operation.get_mut("responses")) {
                answer.add_to_content(Some(response));
            }
        }
    }
    let shared = Composer {
        schemas: &schemas,
        noun: "",
        of: Of::Answer,
    };
    for (_, response) in members_of(document.pointer_mut("/components/responses")) {
        shared.add_to_content(Some(response));
    }
}

/// The members of an object that may be missing. (An index would add it.)
fn members_of(value: Option<&mut Value>) -> impl Iterator<Item = (&String, &mut Value)> {
    value.and_then(Value::as_object_mut).into_iter().flatten()
}

/// What an example is of: a request shows what must be given, an answer all of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Request,
    Answer,
}

struct Composer<'a> {
    schemas: &'a Map<String, Value>,
    /// What the path is about.
    noun: &'a str,
    of: Of,
}

impl Composer<'_> {
    fn add_to_parameter(&self, parameter: &mut Value) {
        if parameter["required"] == true {
            let name = parameter["name"].as_str().unwrap_or_default();
            parameter["example"] = self.example(&parameter["schema"], name);
        }
    }

    /// Adds an example to the JSON that this request or response holds. Other contents speak for themselves.
    fn add_to_content(&self, holder: Option<&mut Value>) {
        for (kind, content) in members_of(holder.and_then(|holder| holder.get_mut("content"))) {
            if kind.ends_with("json") && name_of(&content["schema"]).is_some() {
                content["example"] = self.example(&content["schema"], "");
            }
        }
    }

    fn example(&self, schema: &Value, name: &str) -> Value {
        if let Some(own) = own_example(schema) {
            return own;
        }
        if let Some(inner) = name_of(schema).and_then(|name| self.schemas.get(name)) {
            return self.example(inner, name);
        }
        if let Some(inner) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            return inner.first().map_or(Value::Null, |inner| self.example(inner, name));
        }
        if let Some(words) = schema["enum"].as_array() {
            return words.first().cloned().unwrap_or_default();
        }
        match type_of(schema) {
            Some("object") => self.object(schema),
            Some("array") => self.list(schema, name),
            Some("integer" | "number") => number(schema, name),
            // Answers that have these members have them because they are true.
            Some("boolean") => matches!(name, "pending" | "deleted").into(),
            Some("string") => self.text(schema, name).into(),
            _ => any(name),
        }
    }

    /// The members that must be given, and those that bring an example of their own.
    fn object(&self, schema: &Value) -> Value {
        let required: Vec<&Value> = schema["required"].as_array().into_iter().flatten().collect();
        let members = schema["properties"].as_object().into_iter().flatten();
        let is_answer = self.of == Of::Answer;
        let shown = members.filter_map(|(name, member)| {
            let has_example = member.get("examples").is_some();
            if !has_example && is_nullable(member) {
                return is_answer.then(|| (name.clone(), Value::Null));
            }
            let is_shown = is_answer || has_example || required.iter().any(|required| *required == name);
            is_shown.then(|| (name.clone(), self.example(member, name)))
        });
        Value::Object(shown.collect())
    }

    fn list(&self, schema: &Value, name: &str) -> Value {
        let parts = schema["prefixItems"].as_array();
        let parts = parts.map(|parts| parts.iter().map(|part| self.example(part, name)).collect());
        parts.unwrap_or_else(|| json!([self.example(&schema["items"], name)]))
    }

    fn text(&self, schema: &Value, name: &str) -> &'static str {
        match schema["format"].as_str() {
            Some("uuid") => ID,
            Some("date-time") => TIME,
            _ if name == "name" => found_in(NAMES, self.noun).unwrap_or("nightly-report"),
            _ => found_in(TEXTS, name).unwrap_or(UNKNOWN),
        }
    }
}

fn found_in<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(of, _)| *of == name).map(|(_, found)| *found)
}

fn own_example(schema: &Value) -> Option<Value> {
    let given = schema["examples"].as_array().and_then(|examples| examples.first());
    let known = given.or(schema.get("const")).or(schema.get("default"));
    known.filter(|value| !value.is_null()).cloned()
}

fn is_nullable(schema: &Value) -> bool {
    let types = schema["type"].as_array().into_iter().flatten();
    let either = schema["anyOf"].as_array().into_iter().flatten();
    types
        .chain(either.map(|inner| &inner["type"]))
        .any(|kind| kind == "null")
}

fn type_of(schema: &Value) -> Option<&str> {
    let several = schema["type"].as_array().into_iter().flatten();
    let mut types = several.chain(Some(&schema["type"])).filter_map(Value::as_str);
    types.find(|kind| *kind != "null")
}

fn number(schema: &Value, name: &str) -> Value {
    let least = schema["minimum"].as_i64().unwrap_or(1);
    found_in(NUMBERS, name).unwrap_or(1).max(least).into()
}

/// A value of any type.
fn any(name: &str) -> Value {
    match name {
        "payload" => json!({"month": "2026-01"}),
        "value" | "default_value" | "old" => json!(60),
        "data" | "metadata" => json!({}),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{self, Brought};
    use crate::{Operation, for_each_operation, openapi};

    fn document() -> Value {
        let (paths, schemas) = openapi::document();
        let mut document = json!({"paths": paths, "components": {"schemas": schemas}});
        add_examples(&mut document);
        document
    }

    /// Reads the examples of an operation as the server reads its request, and as a client reads its answer.
    fn read<O: Operation>(document: &Value) {
        let operation = &document["paths"][O::ROUTE.path][O::ROUTE.method.to_ascii_lowercase()];
        let mut brought = Brought::default();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap_or_default().to_owned();
            let word = match &parameter["example"] {
                Value::Null => continue,
                Value::String(word) => word.clone(),
                other => other.to_string(),
            };
            let place = if parameter["in"] == "path" {
                &mut brought.path
            } else {
                &mut brought.query
            };
            place.push((name, word));
        }
        let body = &operation["requestBody"]["content"]["application/json"]["example"];
        assert_eq!(
            body.is_object(),
            O::ROUTE.has_body(),
            "{}: the example of its body",
            O::NAME
        );
        brought.body = body.as_object().cloned().unwrap_or_default();
        let request = request::read::<O>(brought).map(drop);
        assert_eq!(request, Ok(()), "{}: the example of its request", O::NAME);
        for (status, _) in O::ROUTE.statuses {
            let answer = &operation["responses"][status.to_string()]["content"]["application/json"]["example"];
            let read = serde_json::from_value::<O::Answer>(answer.clone());
            let is_read = read.map(drop).map_err(|error| error.to_string());
            assert_eq!(is_read, Ok(()), "{} {status}: {answer:#}", O::NAME);
        }
    }

    #[test]
    fn every_operation_reads_the_examples_of_its_request_and_of_its_answers() {
        let document = document();
        macro_rules! read_all {
            ($($how:ident $operation:ty,)*) => { $(read::<$operation>(&document);)* };
        }
        for_each_operation!(read_all);
    }

    #[test]
    fn every_text_has_an_example() {
        fn find_unknown(path: &str, value: &Value, found: &mut Vec<String>) {
            match value {
                Value::String(text) if text == UNKNOWN => found.push(path.to_owned()),
                Value::Object(members) => {
                    for (name, member) in members {
                        find_unknown(&format!("{path}.{name}"), member, found);
                    }
                }
                Value::Array(values) => values.iter().for_each(|value| find_unknown(path, value, found)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        find_unknown("", &document(), &mut found);
        assert!(
            found.is_empty(),
            "give these members an example, in TEXTS or of their own: {found:#?}"
        );
    }
}
