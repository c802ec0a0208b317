//! The operations of `tenure-api` against the functions that they call: no field without its argument, no column without its field.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tenure_api::Shape;
use tenure_api::registry::{ENTRIES, Entry};

use crate::fixture::{Db, rows};

/// Arguments that an operation does not offer, with the reason.
const NOT_OFFERED: &[(&str, &str, &str)] = &[
    ("dead_letter_list", "before_id", "it is a part of the cursor"),
    (
        "job_claim",
        "hint_at",
        "only a worker that claims again and again has it",
    ),
    (
        "job_claim",
        "hint_due",
        "only a worker that claims again and again has it",
    ),
    (
        "job_claim",
        "hint_lane",
        "only a worker that claims again and again has it",
    ),
    (
        "job_claim",
        "hint_rank",
        "only a worker that claims again and again has it",
    ),
    (
        "job_claim",
        "lane_after",
        "only a worker that claims again and again has it",
    ),
    ("job_fail", "permanence", "the field permanent stands for it"),
    (
        "key_create",
        "digest",
        "it is a part of the key, which the program makes",
    ),
    (
        "key_create",
        "prefix",
        "it is a part of the key, which the program makes",
    ),
    ("lock_release", "fences", "it is a part of locks"),
    ("lock_release", "parts", "it is a part of locks"),
    ("lock_renew", "fences", "it is a part of locks"),
    ("lock_renew", "parts", "it is a part of locks"),
    (
        "schedule_backfill",
        "times",
        "they are the moments of the rule in the range",
    ),
];

/// Operations with a list of objects, whose functions take arrays that run parallel.
const LISTS: &[&str] = &[
    "job_end_many",
    "job_enqueue_many",
    "job_heartbeat_many",
    "job_start_many",
];

/// Columns that are not in an answer, with the reason.
const NOT_ANSWERED: &[(&str, &str, &str)] = &[(
    "job_enqueue_many",
    "ordinal",
    "the answers are in the order of the jobs",
)];

/// Operations whose answer is computed from what their function returns.
const COMPUTED: &[&str] = &["schedule_explain", "schedule_preview", "schedule_preview_rule"];

/// An argument or a column of a function.
#[derive(Debug)]
struct Part {
    name: String,
    type_name: String,
    is_argument: bool,
    has_default: bool,
}

/// The parts of a function, and whether it returns a set.
async fn parts(c: &tokio_postgres::Client, function: &str) -> (Vec<Part>, bool) {
    let sql = "select coalesce(n.name, ''), format_type(t.type, null), coalesce(n.mode, 'i') in ('i', 'b'),
                      t.at > p.pronargs - p.pronargdefaults, p.proretset
                 from pg_proc p
                 cross join unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) with ordinality t (type, at)
                 left join unnest(p.proargnames, p.proargmodes) with ordinality n (name, mode, at) on n.at = t.at
                where p.pronamespace = 'tenure'::regnamespace and p.proname = $1
                union all
               select a.attname::text, format_type(a.atttypid, null), false, false, p.proretset
                 from pg_proc p
                 join pg_type r on r.oid = p.prorettype and r.typrelid <> 0
                 join pg_attribute a on a.attrelid = r.typrelid and a.attnum > 0 and not a.attisdropped
                where p.pronamespace = 'tenure'::regnamespace and p.proname = $1";
    let found = rows(c, sql, &[&function]).await;
    let set = match found.first() {
        Some(row) => row.get(4),
        None => {
            let sql =
                "select p.proretset from pg_proc p where p.pronamespace = 'tenure'::regnamespace and p.proname = $1";
            let found = rows(c, sql, &[&function]).await;
            assert_eq!(found.len(), 1, "tenure.{function} exists once");
            found[0].get(0)
        }
    };
    let part = |row: &tokio_postgres::Row| Part {
        name: row.get(0),
        type_name: row.get(1),
        is_argument: row.get(2),
        has_default: row.get(3),
    };
    (found.iter().map(part).collect(), set)
}

/// The properties of the answer, or of its items.
fn answer_fields(entry: &Entry) -> BTreeMap<String, Value> {
    let mut schema = (entry.answer)();
    if entry.shape == Shape::Rows {
        let lists = schema["properties"].as_object().into_iter().flatten();
        let mut items = lists.filter_map(|(_, list)| list.get("items"));
        schema = items.next().cloned().unwrap_or_default();
    }
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    properties.into_iter().collect()
}

#[tokio::test]
async fn every_field_of_an_operation_is_an_argument_of_its_function() {
    let db = Db::open().await;
    let c = db.client().await;
    for entry in ENTRIES.iter().filter(|entry| !LISTS.contains(&entry.name)) {
        let (parts, _) = parts(&c, entry.function).await;
        let arguments: BTreeMap<&str, &Part> = parts
            .iter()
            .filter(|part| part.is_argument)
            .filter_map(|part| Some((part.name.strip_prefix("p_")?, part)))
            .collect();
        let description = (entry.describe)();
        let mut offered: BTreeSet<&str> = entry.cursor.iter().map(|(argument, _)| *argument).collect();
        for field in description.fields.iter().filter(|field| !field.is_in_spec) {
            let is_beside = entry.beside.contains(&field.name.as_str());
            let is_cursor = field.name == "cursor" && !entry.cursor.is_empty();
            if is_beside || is_cursor {
                continue;
            }
            let argument = arguments.get(field.name.as_str());
            let argument = argument.unwrap_or_else(|| panic!("{}: {} is no argument", entry.name, field.name));
            assert!(
                argument.has_default || field.is_required || field.default().is_some(),
                "{}: {} may be left out, but its argument has no default",
                entry.name,
                field.name
            );
            offered.insert(&field.name);
        }
        offered.extend(entry.route.spec);
        for (name, argument) in &arguments {
            let is_excused = NOT_OFFERED
                .iter()
                .any(|(of, argument, _)| of == &entry.name && argument == name);
            assert!(
                offered.contains(name) || is_excused,
                "{}: the argument {name} ({}) has no field",
                entry.name,
                argument.type_name
            );
        }
    }
}

#[tokio::test]
async fn every_column_of_a_list_is_a_field_of_its_answer_and_the_other_way_round() {
    let db = Db::open().await;
    let c = db.client().await;
    for entry in ENTRIES.iter().filter(|entry| !COMPUTED.contains(&entry.name)) {
        let (parts, is_set) = parts(&c, entry.function).await;
        assert_eq!(is_set, entry.shape != Shape::Value, "{}: its shape", entry.name);
        if matches!(entry.shape, Shape::Value | Shape::Values) {
            continue;
        }
        let columns: BTreeSet<&str> = parts
            .iter()
            .filter(|part| !part.is_argument)
            .map(|part| part.name.as_str())
            .filter(|name| {
                !NOT_ANSWERED
                    .iter()
                    .any(|(of, column, _)| of == &entry.name && column == name)
            })
            .collect();
        let fields = answer_fields(entry);
        let fields: BTreeSet<&str> = fields.keys().map(String::as_str).collect();
        assert_eq!(
            columns, fields,
            "{}: columns of tenure.{} and fields of its answer",
            entry.name, entry.function
        );
    }
}

#[test]
fn every_operation_field_and_answer_is_described_and_no_answer_is_a_bare_object() {
    fn check(entry: &Entry, path: &str, schema: &Value) {
        if let Some(members) = schema["properties"].as_object() {
            for (name, member) in members {
                let path = format!("{path}.{name}");
                assert!(
                    member["description"].is_string(),
                    "{}: {path} has no description",
                    entry.name
                );
                check(entry, &path, member);
            }
        }
        check_items(entry, path, schema);
    }
    fn check_items(entry: &Entry, path: &str, schema: &Value) {
        if schema.get("items").is_some() {
            check(entry, &format!("{path}[]"), &schema["items"]);
        }
    }
    let mut names = BTreeSet::new();
    for entry in ENTRIES {
        assert!(names.insert(entry.name), "{} is there twice", entry.name);
        let description = (entry.describe)();
        assert!(
            !description.summary.is_empty() && !description.summary.ends_with('.'),
            "{}: {:?}",
            entry.name,
            description.summary
        );
        for field in &description.fields {
            assert!(
                field.help().ends_with('.'),
                "{}: {} has no description",
                entry.name,
                field.name
            );
        }
        let answer = (entry.answer)();
        assert!(
            answer["properties"].is_object() || answer["oneOf"].is_array() || answer["anyOf"].is_array(),
            "{} answers a bare object",
            entry.name
        );
        check(entry, "", &answer);
    }
}
