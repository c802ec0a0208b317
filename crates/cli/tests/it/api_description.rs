//! What `docs/openapi.json` promises as a whole. `script/test` gives it to two validators besides.

use serde_json::{Value, json};

use crate::workbench::{Answer, tenure};

/// Answers whose members are not in the description, with the reason.
const BARE: &[(&str, &str)] = &[("/plan.schema.json", "it is a JSON Schema itself")];

/// Named objects with members of any name.
const OPEN: &[(&str, &str)] = &[("JsonObject", "payloads, plans and metadata belong to their writers")];

fn document() -> Value {
    let printed = Answer::of(tenure().args(["serve", "--openapi"])).ok();
    serde_json::from_str(&printed).expect("a document")
}

/// Path, method and description of each operation.
fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().expect("paths").iter();
    paths
        .flat_map(|(path, item)| {
            let methods = item.as_object().expect("methods").iter();
            methods.map(|(method, operation)| (path.as_str(), method.as_str(), operation))
        })
        .collect()
}

/// The schema itself, or the one that it refers to.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).expect("a schema"),
        None => schema,
    }
}

#[test]
fn no_operation_answers_a_bare_object() {
    let document = document();
    for (path, method, operation) in operations(&document) {
        for (status, response) in operation["responses"].as_object().expect("responses") {
            for (kind, content) in resolved(&document, response)["content"]
                .as_object()
                .into_iter()
                .flatten()
            {
                let schema = resolved(&document, &content["schema"]);
                let is_described = schema["properties"].is_object() || schema["type"] == "string";
                assert!(
                    is_described || BARE.iter().any(|(bare, _)| *bare == path),
                    "{method} {path} answers {status} with {kind} of {schema}"
                );
            }
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().expect("schemas") {
        assert!(
            schema["type"] != "object" || schema["properties"].is_object() || OPEN.iter().any(|(open, _)| open == name),
            "{name} is a bare object"
        );
    }
}

#[test]
fn every_operation_says_what_it_does_what_it_takes_and_what_it_answers_with_examples() {
    let document = document();
    assert!(document["servers"][0]["url"].is_string());
    for (path, method, operation) in operations(&document) {
        let id = format!("{method} {path}");
        assert!(operation["operationId"].is_string(), "{id}");
        assert!(
            operation["summary"].as_str().is_some_and(|text| !text.is_empty()),
            "{id}: summary"
        );
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            assert!(parameter["description"].is_string(), "{id}: {parameter}");
            let needs_example = parameter["required"] == true;
            assert!(!needs_example || !parameter["example"].is_null(), "{id}: {parameter}");
        }
        let responses = operation["responses"].as_object().expect("responses");
        let contents = responses.values().map(|response| resolved(&document, response));
        for holder in contents.chain(operation.get("requestBody")) {
            let is_body = holder.get("required").is_some();
            assert!(is_body || holder["description"].is_string(), "{id}: {holder}");
            for (kind, content) in holder["content"].as_object().expect("content") {
                let has_example = content["example"].is_object() || content["schema"]["$ref"].is_null();
                assert!(has_example, "{id}: {kind}");
            }
        }
    }
}

/// A filter by state has the same words, under the same name, as the state in the answers.
#[test]
fn words_have_one_name_in_parameters_requests_and_answers() {
    let document = document();
    let state = json!({"$ref": "#/components/schemas/JobState"});
    let list = &document["paths"]["/v1/jobs"]["get"]["parameters"];
    let filter = list
        .as_array()
        .into_iter()
        .flatten()
        .find(|parameter| parameter["name"] == "state");
    assert_eq!(filter.map(|filter| &filter["schema"]["items"]), Some(&state));
    for (path, method, operation) in operations(&document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let schema = &parameter["schema"];
            assert!(
                schema["enum"].is_null() && schema["items"]["enum"].is_null(),
                "{method} {path}: the words of {} have no name",
                parameter["name"]
            );
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().expect("schemas") {
        for (member, of) in schema["properties"].as_object().into_iter().flatten() {
            let either = of["anyOf"].as_array().into_iter().flatten();
            let mut parts = either.chain([of, &of["items"]]);
            assert!(
                parts.all(|part| part["enum"].is_null()),
                "{name}: the words of {member} have no name"
            );
        }
    }
}
