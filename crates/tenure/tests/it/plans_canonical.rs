//! One plan has one hash, by SQL as by every other way: its canonical text is what is stored.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tenure_core::Plan;
use tenure_core::limits::{PLAN_BYTES_MAX, PLAN_SUBMITTED_BYTES_MAX};
use tokio_postgres::Client;

use crate::approvals_scene::{people, plan, submit};
use crate::backoff::vectors;
use crate::fixture::{Db, get, one, raised, refused, rows, try_rows};

/// The canonical texts of these plans, by SQL.
async fn canonical(c: &Client, texts: &[String]) -> Vec<String> {
    let sql = "select tenure.plan_canonical(tenure.plan_check(t.text)) from unnest($1) with ordinality t (text, n) order by t.n";
    rows(c, sql, &[&texts.to_vec()])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect()
}

/// A plan that carries this text as its payload.
fn carrying(payload: &str) -> String {
    format!(
        r#" {{ "purpose" : "p", "steps" : [ {{ "payload" : {payload}, "id" : "a", "action" : "x", "action_class" : "read",
               "target_type" : "t", "target_ref" : "r" }} ], "sla_class" : "fast" }} "#
    )
}

/// Proves: S165, S166.
#[tokio::test]
async fn the_canonical_text_of_sql_is_that_of_another_implementation() {
    let db = Db::inert().await;
    let c = db.client().await;
    for row in vectors("plans/valid.tsv").lines() {
        let [name, hash, text] = row.split('\t').collect::<Vec<_>>().try_into().expect("three columns");
        let written = vectors(&format!("plans/valid/{name}.json"));
        for given in [text.to_owned(), written] {
            assert_eq!(canonical(&c, &[given]).await, [text], "{name}");
        }
        let said: String = get(&c, "select tenure.text_hash($1)", &[&text]).await;
        assert_eq!(said, hash, "{name}");
    }
}

/// A number as people and programs write it.
fn any_number() -> impl Strategy<Value = String> {
    let bounded = |number: f64| number.is_finite() && number.abs() <= 9_007_199_254_740_991.0;
    let bits = any::<u64>()
        .prop_map(f64::from_bits)
        .prop_filter("within bounds", move |it| bounded(*it));
    let near = (any::<u32>(), -30..16_i32).prop_map(|(digits, power)| f64::from(digits) * 10_f64.powi(power));
    let two = (-1074..53_i32, any::<bool>()).prop_map(|(power, less)| {
        let number = 2_f64.powi(power);
        if less {
            f64::from_bits(number.to_bits().saturating_sub(1))
        } else {
            number
        }
    });
    let number = prop_oneof![bits, near.prop_filter("within bounds", move |it| bounded(*it)), two];
    (number, 0..4_u8).prop_map(|(number, form)| match form {
        0 => format!("{number:e}"),
        1 => format!("{number}"),
        2 => format!("{number:.25e}"),
        _ => format!("{:E}", -number),
    })
}

/// Names and texts: where UTF-16 and UTF-8 order differently, and what has to be escaped.
fn any_text() -> impl Strategy<Value = String> {
    let sign = prop_oneof![
        4 => prop::char::range(' ', '~'),
        1 => prop::char::range('\u{1}', '\u{1f}'),
        1 => prop::char::range('\u{7f}', '\u{ff}'),
        1 => prop::char::range('\u{2020}', '\u{2030}'),
        1 => prop::char::range('\u{d700}', '\u{d7ff}'),
        2 => prop::char::range('\u{e000}', '\u{f8ff}'),
        1 => prop::char::range('\u{ff00}', '\u{fffd}'),
        2 => prop::char::range('\u{10000}', '\u{10ffff}'),
    ];
    prop::collection::vec(sign, 0..6).prop_map(|signs| signs.into_iter().collect())
}

fn any_json() -> impl Strategy<Value = String> {
    let quoted = |text: String| Value::from(text).to_string();
    let leaf = prop_oneof![
        3 => any_number(),
        2 => any_text().prop_map(quoted),
        1 => prop::sample::select(&["true", "false", "null", "[]", "{}", "\"\\u00e9\\/\\ud83d\\ude00\""][..]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(|items| format!("[{}]", items.join(" , "))),
            prop::collection::btree_map(any_text(), inner, 0..6).prop_map(move |members| {
                let members: Vec<String> = members
                    .into_iter()
                    .rev()
                    .map(|(name, value)| format!("{} :{value}", Value::from(name)))
                    .collect();
                format!("{{{}}}", members.join(", "))
            }),
        ]
    })
}

/// Proves: S165.
#[tokio::test]
async fn rust_and_sql_write_one_canonical_text_of_whatever_a_plan_carries() {
    let db = Db::inert().await;
    let c = db.client().await;
    let mut runner = TestRunner::deterministic();
    let mut texts = Vec::new();
    while texts.len() < 1500 {
        let payload = any_json().new_tree(&mut runner).expect("JSON").current();
        let text = carrying(&format!("{{\"value\" : {payload}}}"));
        if Plan::read(&text).is_ok() {
            texts.push(text);
        }
    }
    for (text, sql) in texts.iter().zip(canonical(&c, &texts).await) {
        let rust = Plan::read(text).expect("a plan");
        assert_eq!(sql, rust.canonical(), "{text}");
    }
}

/// Proves: S166.
#[tokio::test]
async fn however_a_plan_is_written_in_sql_it_is_one_execution_with_one_hash() {
    let (_db, c) = people().await;
    let text = plan("one", &["a modify"]);
    let (rust, spaced) = (Plan::read(&text.to_string()).expect("a plan"), format!("{text:#}\n"));
    let escaped = rust.canonical().replace("one", "\\u006fne");
    let made = submit(&c, "eve", &text, "").await;
    assert_eq!(made["plan_hash"], rust.hash().as_str());
    let sql = "select tenure.execution_submit($1, p_plan_hash => $2)";
    for given in [&spaced, &escaped, rust.canonical()] {
        let again = one(&c, sql, &[&given, &rust.hash()]).await;
        assert_eq!(
            (&again["execution_id"], &again["duplicate"]),
            (&made["execution_id"], &json!(true)),
            "{given}"
        );
        let preview = one(&c, "select tenure.execution_preview($1)", &[&given]).await;
        assert_eq!(preview["plan_hash"], rust.hash().as_str());
    }
    let stored: String = get(&c, "select plan from tenure.plans", &[]).await;
    assert_eq!(stored, rust.canonical());
    // The hash of the text as it was given names no plan.
    let other: String = get(&c, "select tenure.text_hash($1)", &[&spaced]).await;
    let answer = one(&c, sql, &[&spaced, &other]).await;
    refused(&answer, "plan_hash_mismatch");
    assert!(
        answer["what"].as_str().expect("text").contains(&rust.hash()),
        "{answer}"
    );
}

#[tokio::test]
async fn white_space_does_not_count_towards_the_size_of_a_plan_in_sql() {
    let db = Db::inert().await;
    let c = db.client().await;
    let check = "select tenure.plan_check($1)";
    let small = carrying("{}");
    let padded = |bytes: usize| format!("{small}{}", " ".repeat(bytes - small.len()));
    assert_eq!(
        canonical(&c, &[padded(PLAN_SUBMITTED_BYTES_MAX)]).await,
        canonical(&c, std::slice::from_ref(&small)).await
    );
    let told = raised(
        try_rows(&c, check, &[&padded(PLAN_SUBMITTED_BYTES_MAX + 1)]).await,
        "plan_too_large",
    );
    assert!(told.contains("1048577 bytes"), "{told}");
    // Numbers may be longer in the canonical text: it is what counts.
    let numbers = vec!["1e15"; PLAN_BYTES_MAX / 16].join(",");
    let long = format!(r#"{{"purpose": "p", "sla_class": "fast", "steps": [], "generator": "g", "x": [{numbers}]}}"#);
    assert!(long.len() < PLAN_BYTES_MAX);
    let told = raised(try_rows(&c, check, &[&long]).await, "plan_too_large");
    assert!(told.contains("without white space"), "{told}");
    assert!(
        Plan::read(&long)
            .expect_err("too long")
            .what
            .contains("without white space")
    );
}
