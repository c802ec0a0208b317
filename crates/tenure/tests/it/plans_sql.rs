//! A plan that comes by SQL is read as Rust reads it: the same is accepted, the same is refused, with the same code and
//! place. Rust words the refusal; SQL names the finding.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tenure_core::limits::{NEEDS_MAX, PLAN_BYTES_MAX, PLAN_DEPTH_MAX, PLAN_STEPS_MAX};
use tenure_core::{Plan, Refusal, codes};
use tokio_postgres::Client;

use crate::backoff::{json_lines, vectors};
use crate::fixture::{Db, get, one, raised, rows, run, try_rows};

const CHECK: &str = "select tenure.plan_check($1)";

/// Answers what the check says of each text: a refusal, or null.
const SAID: &str = "
    create function fixture.plan_said(p_text text) returns jsonb
    language plpgsql
    as $$
    declare
      v_state text; v_what text; v_why text; v_next text;
    begin
      perform tenure.plan_check(p_text);
      return null;
    exception when others then
      get stacked diagnostics v_state = returned_sqlstate, v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
      return tenure.refusal(v_state, v_what, v_why, v_next);
    end
    $$";

fn step(id: &str, needs: &[&str]) -> Value {
    json!({"id": id, "action": "x", "action_class": "read", "target_type": "t", "target_ref": "r", "needs": needs})
}

fn plan(steps: Vec<Value>) -> Value {
    json!({"purpose": "p", "sla_class": "fast", "steps": steps})
}

/// What SQL says to each text.
async fn said(c: &Client, texts: &[String]) -> Vec<Option<Refusal>> {
    let sql = "select fixture.plan_said(t.text) from unnest($1) with ordinality t (text, n) order by t.n";
    let answers = rows(c, sql, &[&texts.to_vec()]).await;
    answers
        .iter()
        .map(|row| {
            row.get::<_, Option<Value>>(0)
                .map(|it| serde_json::from_value(it).expect("a refusal"))
        })
        .collect()
}

/// The finding of a refusal by SQL, if it is at this place: `steps[3].needs[0]: step_unknown`.
fn finding<'a>(sql: &'a Refusal, place: &str) -> Option<&'a str> {
    let finding = sql.what.strip_prefix(place)?.strip_prefix(": ")?;
    let is_word = finding.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    is_word.then_some(finding)
}

/// Rust and SQL refuse the same, with the same code and place.
fn assert_alike(text: &str, sql: Option<&Refusal>) {
    let rust = Plan::read(text).err();
    let codes = (rust.as_ref().map(|it| it.code.as_ref()), sql.map(|it| it.code.as_ref()));
    assert_eq!(codes.0, codes.1, "{text}\n{rust:?}\n{sql:?}");
    let (Some(rust), Some(sql)) = (rust, sql) else { return };
    // What Rust says begins with the place and a space.
    let places = rust.what.match_indices(' ').map(|(at, _)| &rust.what[..at]);
    assert!(
        places.into_iter().any(|place| finding(sql, place).is_some()),
        "{text}\n{rust:?}\n{sql:?}"
    );
    assert!(!sql.why.is_empty() && !sql.next.is_empty(), "{text}\n{sql:?}");
    let steers = |c: char| c.is_control() && c != '\n';
    assert!(!sql.to_string().contains(steers), "{text}\n{sql:?}");
}

/// Each finding has a code that exists, and the page of `plan_invalid` says what it means.
#[tokio::test]
async fn every_finding_is_explained() {
    let db = Db::inert().await;
    let c = db.client().await;
    let unknown = "select count(*) from tenure.plan_findings() f
                    where not exists (select from tenure.refusal_codes() c where c.code = f.code)";
    assert_eq!(get::<i64>(&c, unknown, &[]).await, 0);
    let page = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/errors/plan_invalid.md"
    ))
    .expect("a page");
    for row in rows(&c, "select f.finding from tenure.plan_findings() f", &[]).await {
        let finding: String = row.get(0);
        assert!(page.contains(&format!("`{finding}`")), "{finding}");
    }
}

/// Proves: S178, S187. Guards: D107.
#[tokio::test]
async fn a_plan_that_rust_refuses_is_refused_by_sql_with_the_same_code_and_place() {
    let db = Db::inert().await;
    let c = db.client().await;
    run(&c, SAID).await;
    let refused = json_lines("plans/refused.jsonl");
    assert!(refused.len() > 100);
    let texts: Vec<String> = refused
        .iter()
        .map(|row| row["text"].as_str().expect("a text").to_owned())
        .collect();
    for (row, sql) in refused.iter().zip(said(&c, &texts).await) {
        let sql = sql.unwrap_or_else(|| panic!("accepted: {row}"));
        assert_eq!(row["code"], sql.code.as_ref(), "{row}\n{sql}");
        let place = row["path"].as_str().expect("a place");
        assert!(finding(&sql, place).is_some(), "{row}\n{sql}");
        assert_alike(row["text"].as_str().expect("a text"), Some(&sql));
    }
}

#[tokio::test]
async fn a_plan_in_order_is_answered_as_it_is() {
    let db = Db::inert().await;
    let c = db.client().await;
    let valid = vectors("plans/valid.tsv");
    for row in valid.lines() {
        let [name, hash, canonical] = row.split('\t').collect::<Vec<_>>().try_into().expect("three columns");
        for text in [canonical, &vectors(&format!("plans/valid/{name}.json"))] {
            let answer = one(&c, CHECK, &[&text]).await;
            let again = Plan::read(&answer.to_string()).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
            assert_eq!(again.hash(), hash, "{name}");
        }
    }
}

#[tokio::test]
async fn what_goes_without_saying_is_the_same_in_sql() {
    let db = Db::inert().await;
    let c = db.client().await;
    let meant = vectors("plans/steps.tsv");
    for row in meant.lines() {
        let columns: Vec<&str> = row.split('\t').collect();
        let (name, id) = (columns[0], columns[1]);
        let text = vectors(&format!("plans/valid/{name}.json"));
        let sql = "select array[s.kind, coalesce(s.executor, '-'), s.effects, coalesce(s.attempts_max::text, '-'), coalesce(s.timeout_seconds::text, '-'),
                                coalesce(s.lock_target || coalesce(':' || nullif(s.lock_action, ''), ''), '-')]
                     from tenure.plan_steps(tenure.plan_check($1)) s where s.step_id = $2";
        let step: Vec<String> = get(&c, sql, &[&text, &id]).await;
        assert_eq!(step, columns[3..], "{name} {id}");
    }
}

#[tokio::test]
async fn every_limit_of_a_plan_holds_in_sql_to_the_last_one() {
    let db = Db::inert().await;
    let c = db.client().await;
    run(&c, SAID).await;
    let ids: Vec<String> = (0..=PLAN_STEPS_MAX).map(|n| n.to_string()).collect();
    let names = |count: usize| ids[..count].iter().map(String::as_str).collect::<Vec<_>>();
    let many = |count: usize| plan(names(count).into_iter().map(|id| step(id, &[])).collect());
    let needing = |count: usize| {
        let mut steps: Vec<Value> = names(count).into_iter().map(|id| step(id, &[])).collect();
        steps.push(step("last", &names(count)));
        plan(steps)
    };
    let deep = |lists: usize| {
        let mut holding = step("a", &[]);
        holding["payload"] = json!({"a": (0..lists).fold(json!(1), |inner, _| json!([inner]))});
        plan(vec![holding])
    };
    // The plan, the steps, the step and the payload lie around it.
    let lists = PLAN_DEPTH_MAX - 4;
    let large = |bytes: usize| {
        let mut holding = step("a", &[]);
        holding["payload"] = json!({"a": "ä".repeat((bytes - r#"{"a": ""}"#.len()) / 2) + &"x".repeat(bytes % 2)});
        plan(vec![holding])
    };
    let texts: Vec<String> = [
        many(PLAN_STEPS_MAX),
        many(PLAN_STEPS_MAX + 1),
        needing(NEEDS_MAX),
        needing(NEEDS_MAX + 1),
        deep(lists),
        deep(lists + 1),
        large(8191),
        large(8193),
    ]
    .iter()
    .map(Value::to_string)
    .collect();
    for (at, (text, sql)) in texts.iter().zip(said(&c, &texts).await).enumerate() {
        assert_eq!(sql.is_some(), at % 2 == 1, "{at}: {sql:?}");
        assert_alike(text, sql.as_ref());
    }

    let half = PLAN_BYTES_MAX / 2;
    let endless = "[".repeat(half) + &"]".repeat(half);
    raised(try_rows(&c, CHECK, &[&endless]).await, "plan_too_large");
    raised(try_rows(&c, CHECK, &[&None::<String>]).await, "plan_invalid");
}

/// Numbers that Rust takes for 0 and jsonb cannot hold are refused, not an error of the database.
#[tokio::test]
async fn a_number_that_jsonb_cannot_hold_is_refused_with_its_place() {
    let db = Db::inert().await;
    let c = db.client().await;
    for number in ["0e-20000", "0e99999999999999", &format!("0.{}1", "0".repeat(20_000))] {
        let text = plan(vec![step("a", &[])]).to_string().replacen(
            r#""id""#,
            &format!(r#""payload":{{"n":{number}}},"id""#),
            1,
        );
        let told = raised(try_rows(&c, CHECK, &[&text]).await, "number_out_of_range");
        assert!(told.starts_with("steps[0].payload.n: number_rounded"), "{told}");
    }
}

#[tokio::test]
async fn a_thousand_steps_that_need_as_many_as_fit_are_checked_whatever_their_order() {
    let db = Db::inert().await;
    let c = db.client().await;
    run(&c, SAID).await;
    let ids: Vec<String> = (0..PLAN_STEPS_MAX).map(|n| format!("{n:x}")).collect();
    let needing = |needs: &dyn Fn(usize) -> Vec<usize>| {
        let steps = (0..ids.len()).map(|n| {
            let needs: Vec<&str> = needs(n).iter().map(|need| ids[*need].as_str()).collect();
            step(&ids[n], &needs)
        });
        plan(steps.collect()).to_string()
    };
    let last = ids.len() - 1;
    let texts = [
        needing(&|n| (n.saturating_sub(25)..n).collect()),
        needing(&|n| (n + 1..ids.len().min(n + 25)).collect()),
        needing(&|n| if n == 0 { vec![] } else { vec![n - 1] }),
        needing(&|n| if n == last { vec![] } else { vec![n + 1] }),
        // The way through the circle is long, or short, or begins with a tail.
        needing(&|n| vec![(n + 1) % ids.len()]),
        needing(&|n| vec![(n + last) % ids.len()]),
        needing(&|n| {
            if n == 0 {
                vec![last]
            } else {
                (n.saturating_sub(25)..n).collect()
            }
        }),
        needing(&|n| if n == last { vec![500] } else { vec![n + 1] }),
        needing(&|n| if n > 990 { vec![981 + n % 10] } else { vec![n + 1] }),
    ];
    for (at, (text, sql)) in texts.iter().zip(said(&c, &texts).await).enumerate() {
        assert_eq!(
            sql.as_ref().is_some_and(|it| it.is(codes::PLAN_CYCLE)),
            at > 3,
            "{at}: {sql:?}"
        );
        assert_alike(text, sql.as_ref());
    }
}

/// Names that a member may have or get.
const NAMES: &[&str] = &[
    "id",
    "action",
    "needs",
    "payload",
    "effects",
    "attempts_max",
    "approval_level",
    "approval_roles",
    "runbook_ref",
    "priority",
    "mode",
    "lock_scope",
    "timeout_seconds",
    "compensation_note",
    "step",
    "Secret",
    "to\u{212a}en",
    "other",
    "",
    "a \u{1b}\"\\\u{200b}",
];

/// Values as JSON text: of every type, at the edges of what is allowed, and some that no reader takes.
const VALUES: &[&str] = &[
    "null",
    "true",
    "0",
    "-1",
    "1",
    "2",
    "3.0",
    "3e0",
    "4",
    "1.5",
    "86400",
    "86401",
    "1000",
    "1001",
    "32767",
    "32768",
    "-32769",
    "9007199254740991",
    "9007199254740991.4",
    "9007199254740991.5",
    "-9007199254740992",
    "1e400",
    "1e-400",
    "5e-324",
    "\"\"",
    "\" \\u00a0\\u200b\"",
    "\"a\"",
    "\"drain\"",
    "\"one\"",
    "\"two\"",
    "\"a:b%\"",
    "\"a\\nb\"",
    "\"\\u0007\"",
    "\"\\u0085\"",
    "\"\\u0000\"",
    "\"\\\\u0000\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ude00\\ud83d\"",
    "\"\\\\\\ud83d\"",
    "\"read\"",
    "\"modify\"",
    "\"once\"",
    "\"idempotent\"",
    "\"target\"",
    "\"target_and_action\"",
    "\"urgent\"",
    "\"Urgent\"",
    "[]",
    "[\"one\"]",
    "[\"one\",\"two\",\"one\"]",
    "[\"three\",7]",
    "[[[]]]",
    "{}",
    "{\"a\":1,\"b\":2,\"a\":3}",
    "{\"a\":{\"\\u0070assword\":1}}",
    "{\"\\u0000\":1,\"token\":2}",
    "{\"a\":1,\"\\udfff\":2,\"a\":3}",
    "{\"step\":0}",
];

#[derive(Clone, Debug)]
enum Change {
    /// Puts another value in its place.
    Replace(&'static str),
    /// Takes it out.
    Remove,
    /// Puts it there a second time, at the end of its list.
    Repeat,
    /// Gives it a member, if it is an object, or an item.
    Add(&'static str, &'static str),
    /// Makes its text this long.
    Lengthen(usize),
}

fn any_change() -> impl Strategy<Value = Change> {
    let value = || prop::sample::select(VALUES);
    prop_oneof![
        3 => value().prop_map(Change::Replace),
        1 => Just(Change::Remove),
        1 => Just(Change::Repeat),
        3 => (prop::sample::select(NAMES), value()).prop_map(|(name, value)| Change::Add(name, value)),
        1 => prop::sample::select(&[199_usize, 200, 201, 255, 256, 398, 399, 500, 501, 2000, 2001, 9000][..])
            .prop_map(Change::Lengthen),
    ]
}

/// How many values there are in it, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

/// The value at a place, counted as one reads; `at` is used up on the way.
fn nth<'a>(value: &'a mut Value, at: &mut usize) -> Option<&'a mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, at)),
        Value::Object(members) => members.values_mut().find_map(|member| nth(member, at)),
        _ => None,
    }
}

/// What stands for a piece of JSON text until the whole is written: serde_json would not write most of them.
fn piece(text: &str) -> Value {
    json!(format!(
        "<{}>",
        VALUES.iter().position(|it| *it == text).expect("a value")
    ))
}

fn changed(plan: &mut Value, place: &prop::sample::Index, change: &Change) {
    let mut at = place.index(count(plan));
    let value = nth(plan, &mut at).expect("a place in the plan");
    match (change, value) {
        (Change::Replace(text), value) => *value = piece(text),
        (Change::Remove, Value::Object(members)) => {
            let name = members.keys().nth(place.index(members.len().max(1))).cloned();
            name.map(|name| members.remove(&name));
        }
        (Change::Remove, Value::Array(items)) => drop(items.pop()),
        (Change::Repeat, Value::Array(items)) => items.extend(items.first().cloned()),
        (Change::Add(name, text), Value::Object(members)) => {
            members.insert((*name).to_owned(), piece(text));
        }
        (Change::Add(_, text), Value::Array(items)) => items.push(piece(text)),
        (Change::Lengthen(chars), Value::String(text)) => *text = "ä".repeat(*chars),
        _ => {}
    }
}

fn written(plan: &Value) -> String {
    VALUES.iter().enumerate().fold(plan.to_string(), |text, (at, value)| {
        text.replace(&format!("\"<{at}>\""), value)
    })
}

#[tokio::test]
async fn rust_and_sql_agree_on_whatever_becomes_of_a_plan() {
    let db = Db::inert().await;
    let c = db.client().await;
    run(&c, SAID).await;
    let valid: Vec<Value> = vectors("plans/valid.tsv")
        .lines()
        .map(|row| serde_json::from_str(row.split('\t').next_back().expect("a plan")).expect("a plan"))
        .collect();
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any_change()), 0..4);
    let any_text = (prop::sample::select(valid), changes).prop_map(|(mut plan, changes)| {
        for (place, change) in &changes {
            changed(&mut plan, place, change);
        }
        written(&plan)
    });
    let mut runner = TestRunner::deterministic();
    let texts: Vec<String> = (0..600)
        .map(|_| any_text.new_tree(&mut runner).expect("a plan").current())
        .collect();
    let answers = said(&c, &texts).await;
    for (text, sql) in texts.iter().zip(&answers) {
        assert_alike(text, sql.as_ref());
    }
    let accepted = answers.iter().filter(|it| it.is_none()).count();
    let codes: std::collections::BTreeSet<_> = answers.iter().flatten().map(|it| it.code.as_ref()).collect();
    assert!(
        (100..900).contains(&accepted) && codes.len() >= 8,
        "{accepted} {codes:?}"
    );
}
