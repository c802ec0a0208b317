//! Compares every field of every line with the story that plan and events tell.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use serde_json::{Map, Value};

use super::finding::{Fault, Finding};
use super::read::{Evidence, Record};
use super::story::Story;
use super::{sha256_hex, time};

/// A row that the story tells: its fields, without those that say nothing.
type Row = Map<String, Value>;

/// Kinds of lines, and the fields by which their rows are told apart.
const STEP: &[&str] = &["step_number"];
const APPROVAL: &[&str] = &["approval_id"];
const VOTE: &[&str] = &["approval_id", "principal"];
const ATTEMPT: &[&str] = &["step", "job_id", "run"];

/// What differs, by line, row and field.
pub(super) fn compare(evidence: &Evidence, story: &Story) -> Vec<Finding> {
    let mut execution = row(&story.execution);
    // The chain is checked for itself.
    execution.extend(evidence.execution.fields.get_key_value("chain_hash").map(owned));
    let head = Record {
        line: 1,
        fields: row(&evidence.head),
    };
    let mut findings = differences("evidence", &head, &told_head(evidence, story));
    findings.extend(differences("execution", &evidence.execution, &execution));
    findings.extend(pair("step", STEP, &evidence.steps, &rows(&story.steps)));
    findings.extend(pair("approval", APPROVAL, &evidence.approvals, &rows(&story.approvals)));
    findings.extend(pair("vote", VOTE, &evidence.votes, &rows(&story.votes)));
    let attempts: Vec<Record> = evidence.attempts.iter().map(digested).collect();
    findings.extend(pair("attempt", ATTEMPT, &attempts, &rows(&story.attempts)));
    findings
}

/// What the first line has to say. When it was written, and how many events there are, is not told by events.
fn told_head(evidence: &Evidence, story: &Story) -> Row {
    let head = &evidence.head;
    let mut told = Row::new();
    told.insert("execution_id".to_owned(), Value::from(head.execution_id.clone()));
    told.insert("tenant".to_owned(), Value::from(story.tenant.clone()));
    told.insert("plan_hash".to_owned(), Value::from(story.execution.plan_hash.clone()));
    told.insert("state".to_owned(), Value::from(story.execution.state.clone()));
    told.insert("exported_at".to_owned(), Value::from(head.exported_at.clone()));
    told.insert("events".to_owned(), Value::from(head.events));
    told
}

/// The file has the result of a run, the chained lines have its SHA-256.
fn digested(record: &Record) -> Record {
    let mut fields = record.fields.clone();
    // A result that is no text, and a hash without a result, stay what they are: fields that no event tells.
    let stated = ["result_hash", "result_bytes"].map(|field| fields.remove(field).map(|value| (field, value)));
    for (field, value) in stated.into_iter().flatten() {
        fields.insert(format!("stated {field}"), value);
    }
    if let Some(Value::String(result)) = record.fields.get("result") {
        fields.remove("result");
        fields.insert("result_hash".to_owned(), Value::from(sha256_hex(result.as_bytes())));
        fields.insert("result_bytes".to_owned(), Value::from(result.len()));
    }
    Record {
        line: record.line,
        fields,
    }
}

/// Finds for each row of the file the one of the story with the same key. Those that are left over on both sides are
/// taken for each other, in their order: then the key differs.
fn pair(kind: &str, key: &[&str], found: &[Record], told: &[Row]) -> Vec<Finding> {
    // As text: values have no order.
    let key_of = |fields: &Row| {
        let values: Vec<Option<&Value>> = key.iter().map(|field| fields.get(*field)).collect();
        serde_json::to_string(&values).unwrap_or_default()
    };
    let mut places = BTreeMap::<String, VecDeque<usize>>::new();
    for (place, row) in told.iter().enumerate() {
        places.entry(key_of(row)).or_default().push_back(place);
    }
    let mut left: Vec<Option<&Row>> = told.iter().map(Some).collect();
    let mut strangers = Vec::new();
    let mut findings = Vec::new();
    for record in found {
        let place = places.get_mut(&key_of(&record.fields)).and_then(VecDeque::pop_front);
        match place.and_then(|place| left[place].take()) {
            Some(row) => findings.extend(differences(kind, record, row)),
            None => strangers.push(record),
        }
    }
    let mut left = left.into_iter().flatten();
    for record in strangers {
        match left.next() {
            Some(row) => findings.extend(differences(kind, record, row)),
            None => {
                let what = format!("No event tells of this {kind}.");
                let finding = Finding::new(record.line, Fault::RowUnknown, what, "only what the events tell");
                findings.push(finding.of(&name(kind, &record.fields), None));
            }
        }
    }
    let line = found.last().map_or(3, |record| record.line);
    findings.extend(left.map(|row| {
        let name = name(kind, row);
        let what = format!("The file has no line for the {name}.");
        Finding::new(line, Fault::RowMissing, what, "a line for all that the events tell").of(&name, None)
    }));
    findings
}

/// The fields in which a line is not what the story says.
fn differences(kind: &str, record: &Record, told: &Row) -> Vec<Finding> {
    let empty = Value::Null;
    let row = name(kind, told);
    let fields = record
        .fields
        .keys()
        .chain(told.keys().filter(|field| !record.fields.contains_key(*field)));
    let differs = fields.filter(|field| *field != "kind").filter_map(|field| {
        let found = record.fields.get(field).unwrap_or(&empty);
        let expected = told.get(field).unwrap_or(&empty);
        // A field without a value is left out.
        let is_null = found.is_null() && record.fields.contains_key(field);
        if !is_null && is_same(field, found, expected) {
            return None;
        }
        let field = shown_field(kind, field);
        let found = if is_null { "null".to_owned() } else { shown(found) };
        let what = format!("The {field} of the {row} is {found}.");
        let finding = Finding::new(
            record.line,
            Fault::RowDiffers,
            what,
            format!("{}, by the events", shown(expected)),
        );
        Some(finding.of(&row, Some(field)))
    });
    differs.collect()
}

/// Of a result only its hash can be compared.
fn shown_field<'a>(kind: &str, field: &'a str) -> &'a str {
    match field {
        "result_hash" | "result_bytes" if kind == "attempt" => "result",
        field => field,
    }
}

/// How a row is called: its kind and what tells it from others.
fn name(kind: &str, fields: &Row) -> String {
    let part = |field: &str| fields.get(field).map(shown).unwrap_or_default();
    match kind {
        "step" => format!("step {}", part("step")),
        "approval" => format!("approval {}", part("approval_id")),
        "vote" => format!("vote of {} about {}", part("principal"), part("approval_id")),
        "attempt" => format!("run {} of step {}", part("run"), part("step")),
        kind => kind.to_owned(),
    }
}

fn is_same(field: &str, found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::String(found), Value::String(expected)) if field == "at" || field.ends_with("_at") => {
            time::is_same(found, expected)
        }
        // 1 and 1.0 are one number, as in JSON.
        (Value::Number(found), Value::Number(expected)) => found == expected || found.as_f64() == expected.as_f64(),
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| is_same("", a, b))
        }
        (Value::Object(found), Value::Object(expected)) => {
            let same =
                |(name, value): (&String, &Value)| expected.get(name).is_some_and(|other| is_same("", value, other));
            found.len() == expected.len() && found.iter().all(same)
        }
        (found, expected) => found == expected,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "not stated".to_owned(),
        value => value.to_string(),
    }
}

fn rows(rows: &[impl Serialize]) -> Vec<Row> {
    rows.iter().map(row).collect()
}

/// The fields of a row, without those that say nothing.
fn row(row: &impl Serialize) -> Row {
    let fields = serde_json::to_value(row).ok();
    let fields = fields.and_then(|value| match value {
        Value::Object(fields) => Some(fields),
        _ => None,
    });
    fields
        .unwrap_or_default()
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .collect()
}

fn owned((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}
