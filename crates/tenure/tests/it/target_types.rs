//! Targets have one spelling: case rules, look-alikes, and what is known outside open mode.

use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::actions::{action, close, one_step};
use crate::approvals_scene::{act, id, people, rule, submit};
use crate::fixture::{get, one, refused, rows};

async fn target_type(c: &Client, name: &str, case_rule: &str) -> Value {
    act(c, "pam").await;
    let spec = json!({"case_rule": case_rule});
    one(c, "select tenure.target_type_set($1, $2)", &[&name, &spec]).await
}

fn at(target: &str) -> Value {
    let mut plan = one_step("restart", json!({"target_ref": target}));
    plan["purpose"] = json!(format!("at {target}"));
    plan
}

#[tokio::test]
async fn with_the_rule_lower_two_spellings_are_one_target_for_locks_and_rules() {
    let (_db, c) = people().await;
    action(&c, "restart", json!({"action_class": "modify"})).await;
    rule(&c, "prod", json!({"target_refs": ["Prod-*"], "level": 3})).await;
    rule(&c, "rest", json!({"level": 1})).await;
    let level = async |target: &str| submit(&c, "eve", &at(target), "").await["approval_level"].clone();
    assert_eq!(level("pROD-1").await, 1, "exact, unless a rule says otherwise");
    refused(&target_type(&c, "host", "lower").await, "state_conflict");
    let cancel = "select tenure.execution_cancel(execution_id, 'x') from tenure.execution_list()";
    rows(&c, cancel, &[]).await;
    assert_eq!(target_type(&c, "host", "lower").await["case_rule"], "lower");
    let made = submit(&c, "eve", &at("PROD-2:a"), "").await;
    assert_eq!(
        (&made["approval_level"], &made["rule"]),
        (&json!(3), &json!("prod")),
        "{made}"
    );
    let sql = "select lock_target || ' ' || target_ref from tenure.step_rows where execution_id = $1";
    let step: String = get(&c, sql, &[&id(&made, "execution_id")]).await;
    assert_eq!(
        step, "host:prod-2%3Aa PROD-2:a",
        "the lock has one spelling, the step that of its plan"
    );
    let found: i64 = get(
        &c,
        "select count(*) from tenure.execution_list(p_target => 'host:Prod-2%3AA')",
        &[],
    )
    .await;
    assert_eq!(found, 1, "whichever is asked for");

    let taken = one(&c, "select tenure.lock_acquire(array['host:WEB-1'], 60)", &[]).await;
    assert_eq!(
        taken["locks"][0]["lock_key"]
            .as_str()
            .map(|it| it.ends_with(":host:web-1")),
        Some(true),
        "{taken}"
    );
    act(&c, "ada").await;
    let again = one(&c, "select tenure.lock_acquire(array['host:web-1'], 60)", &[]).await;
    refused(&again, "lock_held");
    refused(&target_type(&c, "host", "exact").await, "state_conflict");
    refused(
        &one(&c, "select tenure.target_type_delete('host')", &[]).await,
        "state_conflict",
    );
}

#[tokio::test]
async fn white_space_around_a_target_is_refused_in_every_mode() {
    let (_db, c) = people().await;
    for target in ["prod-1 ", " prod-1", "prod-1\u{a0}", "\u{3000}prod-1"] {
        refused(&submit(&c, "eve", &at(target), "").await, "name_invalid");
    }
    let inner = submit(&c, "eve", &at("prod 1"), "").await;
    assert_eq!(inner["state"], "awaiting_approval", "{inner}");
}

#[tokio::test]
async fn a_target_that_looks_like_another_is_refused_outside_open_mode() {
    let (_db, c) = people().await;
    let mixed = "pr\u{43e}d-1";
    let open = submit(&c, "eve", &at("pr\u{43e}d-2"), "").await;
    assert_eq!(open["state"], "awaiting_approval", "in open mode it is taken: {open}");
    close(&c).await;
    for (target, why) in [
        (mixed, "Latin and Cyrillic"),
        ("\u{3c1}rod-1", "Latin and Greek"),
        ("prod-\u{ff11}", "NFKC"),
        ("pr\u{251}d-1", "Latin and phonetic"),
        ("gro\u{308}\u{df}e", "NFKC"),
    ] {
        let answer = submit(&c, "eve", &at(target), "").await;
        refused(&answer, "name_invalid");
        assert!(answer["why"].as_str().is_some_and(|it| it.contains(why)), "{answer}");
    }
    for target in ["größe", "сервер-1", "εξυπηρετητής", "東京-web", "server-Ä1"] {
        let made = submit(&c, "eve", &at(target), "").await;
        assert_eq!(made["state"], "awaiting_approval", "{made}");
    }
}

#[tokio::test]
async fn outside_open_mode_registered_types_make_the_others_unknown() {
    let (_db, c) = people().await;
    assert_eq!(target_type(&c, "host", "exact").await["name"], "host");
    let mut elsewhere = at("x");
    elsewhere["steps"][0]["target_type"] = json!("hsot");
    let made = submit(&c, "eve", &elsewhere, "").await;
    assert_eq!(made["state"], "awaiting_approval", "open mode takes it: {made}");
    close(&c).await;
    elsewhere["purpose"] = json!("again");
    let answer = submit(&c, "eve", &elsewhere, "").await;
    refused(&answer, "target_unknown");
    assert!(
        answer["next"].as_str().is_some_and(|it| it.contains("target_type_set")),
        "{answer}"
    );
    assert_eq!(submit(&c, "eve", &at("x"), "").await["state"], "awaiting_approval");
    rule(&c, "known", json!({"target_types": ["hsot"], "level": 1})).await;
    assert_eq!(
        submit(&c, "eve", &elsewhere, "").await["state"],
        "awaiting_approval",
        "a rule names it"
    );
}

#[tokio::test]
async fn a_target_type_that_is_wrong_is_refused_with_its_code() {
    let (_db, c) = people().await;
    act(&c, "pam").await;
    for (name, spec, code) in [
        ("x", json!(1), "payload_not_object"),
        ("x", json!({}), "value_unknown"),
        ("x", json!({"case_rule": "upper"}), "value_unknown"),
        ("x", json!({"case_rule": "lower", "refs": []}), "value_unknown"),
        ("x", json!({"case_rule": "lower", "note": []}), "text_invalid"),
        ("a:b", json!({"case_rule": "lower"}), "name_invalid"),
    ] {
        refused(
            &one(&c, "select tenure.target_type_set($1, $2)", &[&name, &spec]).await,
            code,
        );
    }
    refused(
        &one(&c, "select tenure.target_type_delete('x')", &[]).await,
        "target_type_unknown",
    );
}
