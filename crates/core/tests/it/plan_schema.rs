//! `docs/plan.schema.json` says of plans what the reader does, as far as a schema can.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::{Value, json};
use tenure_core::plan::{
    ActionClass, Effects, LockScope, Mode, OnStepFailure, PLAN_FIELDS, Plan, STEP_FIELDS, SlaClass,
};
use tenure_core::{limits, payload, priority};

use crate::{in_repository, json_lines, vectors};

fn schema() -> Option<Value> {
    let text = std::fs::read_to_string(in_repository("docs/plan.schema.json")?).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

#[test]
fn the_schema_has_the_fields_the_words_and_the_limits_of_the_reader() {
    let Some(schema) = schema() else { return };
    let step = &schema["$defs"]["step"];
    for (object, known) in [(&schema, PLAN_FIELDS), (step, STEP_FIELDS)] {
        let described: BTreeSet<&str> = object["properties"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(described, known.iter().copied().collect());
        assert_eq!(object["additionalProperties"], false);
        for (name, field) in object["properties"].as_object().unwrap() {
            assert!(
                field["description"].as_str().is_some_and(|text| text.ends_with('.')),
                "{name}"
            );
        }
    }

    macro_rules! words {
        ($of:ty) => {
            json!(<$of>::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>())
        };
    }
    let plan = &schema["properties"];
    let step = &step["properties"];
    assert_eq!(plan["sla_class"]["enum"], words!(SlaClass));
    assert_eq!(plan["mode"]["enum"], words!(Mode));
    assert_eq!(plan["on_step_failure"]["enum"], words!(OnStepFailure));
    assert_eq!(step["action_class"]["enum"], words!(ActionClass));
    assert_eq!(step["effects"]["enum"], words!(Effects));
    assert_eq!(step["lock_scope"]["enum"], words!(LockScope));
    let priorities: Vec<&str> = priority::NAMED.iter().map(|(name, _)| *name).collect();
    assert_eq!(plan["priority"]["anyOf"][0]["enum"], json!(priorities));

    let defs = &schema["$defs"];
    assert_eq!(plan["priority"]["anyOf"][1]["minimum"], i16::MIN);
    assert_eq!(plan["priority"]["anyOf"][1]["maximum"], i16::MAX);
    assert_eq!(plan["steps"]["maxItems"], limits::PLAN_STEPS_MAX);
    assert_eq!(plan["approval_roles"]["maxItems"], limits::APPROVAL_ROLES_MAX);
    assert_eq!(plan["approval_level"]["maximum"], limits::APPROVAL_LEVEL_MAX);
    assert_eq!(plan["correlation_id"]["maxLength"], limits::KEY_CHARS_MAX);
    assert_eq!(defs["name"]["maxLength"], limits::NAME_CHARS_MAX);
    assert_eq!(defs["reference"]["maxLength"], limits::REF_CHARS_MAX);
    assert_eq!(step["needs"]["maxItems"], limits::NEEDS_MAX);
    assert_eq!(step["timeout_seconds"]["maximum"], limits::STEP_TIMEOUT_SECONDS_MAX);
    assert_eq!(
        plan["timeout_seconds"]["maximum"],
        limits::EXECUTION_TIMEOUT_SECONDS_MAX
    );
    assert_eq!(step["attempts_max"]["maximum"], limits::ATTEMPTS_MAX);
    assert_eq!(
        step["compensation_note"]["maxLength"],
        limits::COMPENSATION_NOTE_CHARS_MAX
    );
    for said in [
        limits::PLAN_BYTES_MAX,
        limits::PAYLOAD_BYTES_MAX,
        limits::LOCK_TARGET_CHARS_MAX,
    ] {
        assert!(schema.to_string().contains(&format!(" {said} ")), "{said}");
    }
    for key in payload::FORBIDDEN_KEYS {
        for key in [key.to_owned(), key.to_uppercase()] {
            assert!(!accepts(&schema, &defs["signal"], &json!({ key: 1 })));
        }
    }
}

#[test]
fn the_schema_accepts_every_plan_that_is_read() {
    let Some(schema) = schema() else { return };
    for row in vectors("plans/valid.tsv").lines() {
        let canonical = row.split('\t').next_back().unwrap();
        assert!(
            accepts(&schema, &schema, &serde_json::from_str(canonical).unwrap()),
            "{row}"
        );
    }
    for example in schema["examples"].as_array().unwrap() {
        assert!(accepts(&schema, &schema, example));
        Plan::read(&example.to_string()).unwrap();
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses_where_a_schema_can() {
    let Some(schema) = schema() else { return };
    let mut refused = 0;
    for row in json_lines("plans/refused.jsonl") {
        // What is no JSON, or not one value, never reaches a schema.
        let Some(can) = row["schema"].as_bool() else { continue };
        let plan = serde_json::from_str(row["text"].as_str().unwrap()).unwrap();
        assert_eq!(accepts(&schema, &schema, &plan), !can, "{}", row["name"]);
        refused += usize::from(can);
    }
    assert!(refused > 80, "{refused}");
}

/// Whether a schema accepts a value: JSON Schema 2020-12, as far as ours goes. A keyword it does not know fails the test.
fn accepts(root: &Value, schema: &Value, value: &Value) -> bool {
    let holds = |inner: &Value| accepts(root, inner, value);
    let list = |inner: &Value| inner.as_array().unwrap().clone();
    let number = |value: &Value| value.as_f64();
    schema
        .as_object()
        .unwrap()
        .iter()
        .all(|(keyword, rule)| match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" | "default" | "examples" | "then" => true,
            "$ref" => holds(root.pointer(rule.as_str().unwrap().strip_prefix('#').unwrap()).unwrap()),
            "allOf" => list(rule).iter().all(holds),
            "anyOf" => list(rule).iter().any(holds),
            "not" => !holds(rule),
            "if" => !holds(rule) || holds(&schema["then"]),
            "const" => value == rule,
            "enum" => list(rule).contains(value),
            "type" => match rule.as_str().unwrap() {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "number" => value.is_number(),
                "integer" => number(value).is_some_and(|number| number.fract() == 0.0),
                other => panic!("type {other}"),
            },
            "minimum" => number(value).is_none_or(|found| found >= number(rule).unwrap()),
            "maximum" => number(value).is_none_or(|found| found <= number(rule).unwrap()),
            "maxLength" => value
                .as_str()
                .is_none_or(|text| text.chars().count() as u64 <= rule.as_u64().unwrap()),
            "pattern" => value
                .as_str()
                .is_none_or(|text| Regex::new(rule.as_str().unwrap()).unwrap().is_match(text)),
            "minItems" => value
                .as_array()
                .is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
            "maxItems" => value
                .as_array()
                .is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap()),
            "uniqueItems" => value.as_array().is_none_or(|items| {
                let texts: BTreeSet<String> = items.iter().map(Value::to_string).collect();
                texts.len() == items.len()
            }),
            "items" => value
                .as_array()
                .is_none_or(|items| items.iter().all(|item| accepts(root, rule, item))),
            "required" => value.as_object().is_none_or(|object| {
                list(rule)
                    .iter()
                    .all(|name| object.contains_key(name.as_str().unwrap()))
            }),
            "properties" => value.as_object().is_none_or(|object| {
                rule.as_object()
                    .unwrap()
                    .iter()
                    .all(|(name, rule)| object.get(name).is_none_or(|field| accepts(root, rule, field)))
            }),
            "propertyNames" => value.as_object().is_none_or(|object| {
                object
                    .keys()
                    .all(|name| accepts(root, rule, &Value::from(name.as_str())))
            }),
            "additionalProperties" => value.as_object().is_none_or(|object| {
                let known = schema.get("properties").and_then(Value::as_object);
                let mut others = object
                    .iter()
                    .filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name)));
                others.all(|(_, field)| *rule != false && accepts(root, rule, field))
            }),
            other => panic!("this test does not know the keyword {other}"),
        })
}
