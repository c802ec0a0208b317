//! Ways round registered actions, approvals and their rules that a review found. Each is closed.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::actions::{action, close, one_step, preview};
use crate::approvals_makers::{begin_as, decide_over, key_over, login_of};
use crate::approvals_scene::{
    act, ask, check_executions, decide, id, people, plan, rule, state_of, submit, tick, work, work_all,
};
use crate::fixture::{get, one, refused, rows, run, until_blocked, verb};

async fn freeze(c: &Client) {
    act(c, "pam").await;
    run(c, "select tenure.execution_freeze('a freeze')").await;
}

async fn unfreeze(c: &Client) {
    act(c, "pam").await;
    run(c, "select tenure.execution_unfreeze('it is over')").await;
    tick(c).await;
}

/// A rule may name executors. The kind's policy changes after the approval; the step runs where the approver saw it.
#[tokio::test]
async fn a_step_runs_on_the_executor_that_its_rules_were_read_for() {
    let (_db, c) = people().await;
    rule(
        &c,
        "database",
        json!({"position": 1, "executors": ["PG_worker"], "level": 3}),
    )
    .await;
    freeze(&c).await;
    let asked = ask(&c, &one_step("touch", json!({"action_class": "modify"}))).await;
    assert_eq!(
        decide(&c, "ada", &asked, "approve", "").await["execution_state"],
        "approved"
    );
    act(&c, "pam").await;
    one(
        &c,
        r#"select tenure.kind_set('touch', '{"executor": "PG_worker"}')"#,
        &[],
    )
    .await;
    unfreeze(&c).await;
    let executor: String = get(
        &c,
        "select j.executor from tenure.job_list() j where j.kind = 'touch'",
        &[],
    )
    .await;
    assert_eq!(executor, "external_worker");
    let next = preview(&c, &one_step("touch", json!({"action_class": "modify"}))).await;
    assert_eq!(next["approval_level"], 3, "the next plan meets the rule: {next}");
    // The evidence says so too, though the plan names no executor.
    verb(&c, "job_complete", &work(&c).await, "").await;
    check_executions(&c).await;
    let evidence = tenure::store::evidence::execution_evidence(&c, asked.execution)
        .await
        .expect("lines");
    let key = tenure_core::evidence::SecretKey::from_seed(&[7; 32]);
    let file = tenure_core::evidence::sign(&evidence, &key);
    let verified = tenure_core::evidence::verify(file.as_bytes(), &key.public_key()).expect("it verifies");
    assert_eq!(verified.evidence.steps[0].text("executor"), Some("external_worker"));
}

/// One person makes two keys and uses both.
#[tokio::test]
async fn two_keys_that_a_third_made_are_not_two_admins() {
    let (db, c) = people().await;
    let server = db.direct().await;
    act(&c, "eve").await;
    one(
        &c,
        "select tenure.config_set('governance.changes.need_approval', 'true')",
        &[],
    )
    .await;
    act(&c, "eve").await;
    let first = key_over(&c, &c, "ada", "array['admin']").await;
    act(&c, "eve").await;
    let second = key_over(&c, &c, "bob", "array['admin']").await;
    begin_as(&server, first, "action_set").await;
    let asked = one(
        &server,
        r#"select tenure.action_set('pay', '{"action_class": "read"}')"#,
        &[],
    )
    .await;
    run(&server, "commit").await;
    let change = id(&asked, "change_id");
    begin_as(&server, second, "governance_change_decide").await;
    let answer = one(
        &server,
        "select tenure.governance_change_decide($1, 'approve')",
        &[&change],
    )
    .await;
    run(&server, "rollback").await;
    refused(&answer, "self_approval");
    // Somebody who comes by a login of their own may.
    act(&c, "pam").await;
    let answer = one(&c, "select tenure.governance_change_decide($1, 'approve')", &[&change]).await;
    assert_eq!(answer["state"], "approved", "{answer}");
}

/// An old snapshot does not know that changes need a second admin since.
#[tokio::test]
async fn an_old_snapshot_makes_no_change_that_needs_a_second_admin() {
    let (db, c) = people().await;
    let old = db.direct().await;
    run(
        &old,
        "begin isolation level repeatable read; set local tenure.principal = 'eve'",
    )
    .await;
    rows(
        &old,
        "select tenure.config_get('governance.changes.need_approval')",
        &[],
    )
    .await;
    act(&c, "pam").await;
    one(
        &c,
        "select tenure.config_set('governance.changes.need_approval', 'true')",
        &[],
    )
    .await;
    let spec = r#"{"action_class": "read"}"#;
    let sql = format!("select tenure.action_set('pay', '{spec}')");
    let outcome = old.query(&sql, &[]).await;
    assert!(outcome.is_err(), "it is refused");
    let left: i64 = get(&c, "select count(*) from tenure.actions", &[]).await;
    assert_eq!(left, 0);
}

/// What a proposal would replace is compared over sessions in different time zones.
#[tokio::test]
async fn a_proposal_is_approved_from_another_time_zone() {
    let (db, c) = people().await;
    action(&c, "pay", json!({"action_class": "modify"})).await;
    act(&c, "eve").await;
    one(
        &c,
        "select tenure.config_set('governance.changes.need_approval', 'true')",
        &[],
    )
    .await;
    let asked = one(
        &c,
        r#"select tenure.action_set('pay', '{"action_class": "deploy"}')"#,
        &[],
    )
    .await;
    let far = db.direct().await;
    run(&far, "set timezone = 'Pacific/Auckland'; set tenure.principal = 'pam'").await;
    let decide = "select tenure.governance_change_decide($1, 'approve')";
    let answer = one(&far, decide, &[&id(&asked, "change_id")]).await;
    assert_eq!(answer["state"], "approved", "{answer}");
}

/// The difference to a superseded plan shows no payload that the plan itself would not.
#[tokio::test]
async fn superseding_a_plan_shows_no_restricted_payload() {
    let (db, c) = people().await;
    action(&c, "pay", json!({"action_class": "modify", "payload_restricted": true})).await;
    let made = submit(&c, "eve", &one_step("pay", json!({"payload": {"pin": "hunter2"}})), "").await;
    let old = id(&made, "execution_id");
    let (_, operator) = db.login(&["tenure_operator"], "default", None).await;
    let text = one_step("pay", json!({"payload": {"pin": "mine"}})).to_string();
    let answer = one(
        &operator,
        "select tenure.execution_submit($1, p_supersedes => $2)",
        &[&text.as_str(), &old],
    )
    .await;
    assert!(answer["execution_id"].is_string(), "{answer}");
    assert!(!answer.to_string().contains("hunter2"), "{answer}");
}

/// A case rule changes between submissions only: else one target would have two locks.
#[tokio::test]
async fn a_case_rule_does_not_change_beside_a_submission_under_way() {
    let (db, c) = people().await;
    let open = db.direct().await;
    run(&open, "begin; set local tenure.principal = 'eve'").await;
    let text = one_step("touch", json!({"action_class": "modify", "target_ref": "WEB-1"})).to_string();
    let made = one(&open, "select tenure.execution_submit($1)", &[&text.as_str()]).await;
    assert!(made["execution_id"].is_string(), "{made}");
    act(&c, "pam").await;
    let lower = r#"select tenure.target_type_set('host', '{"case_rule": "lower"}')"#;
    refused(&one(&c, lower, &[]).await, "busy_try_again");
    run(&open, "commit").await;
    refused(&one(&c, lower, &[]).await, "state_conflict");
    let cancel = "select tenure.execution_cancel(execution_id, 'x') from tenure.execution_list()";
    rows(&c, cancel, &[]).await;
    assert_eq!(one(&c, lower, &[]).await["case_rule"], "lower");
    // Two submissions do not wait for each other.
    run(&open, "begin; set local tenure.principal = 'eve'").await;
    one(&open, "select tenure.execution_submit($1, 'one')", &[&text.as_str()]).await;
    let other = submit(&c, "eve", &one_step("touch", json!({"action_class": "read"})), "").await;
    assert!(other["execution_id"].is_string(), "{other}");
    run(&open, "commit").await;
}

/// A submission waits for another of the same key while an admin takes a kind from its action.
#[tokio::test]
async fn a_submission_that_waited_meets_the_kinds_of_its_action_as_they_are_then() {
    let (db, c) = people().await;
    action(&c, "ping", json!({"action_class": "read", "kinds": ["*"]})).await;
    let text = one_step("ping", json!({"kind": "danger"})).to_string();
    let (first, second) = (db.direct().await, db.direct().await);
    run(&first, "begin; set local tenure.principal = 'eve'").await;
    let sql = "select tenure.execution_submit($1, 'one')";
    one(&first, sql, &[&text.as_str()]).await;
    act(&second, "eve").await;
    let waiting = tokio::spawn(async move { one(&second, sql, &[&text.as_str()]).await });
    until_blocked(&c, "execution_submit").await;
    action(&c, "ping", json!({"action_class": "read"})).await;
    run(&first, "rollback").await;
    refused(&waiting.await.expect("an answer"), "action_kind_refused");
}

/// The end of a job hands its target on to a step whose approver is being changed: it does not wait for that.
#[tokio::test]
async fn the_end_of_a_job_does_not_wait_for_a_change_of_an_approver() {
    let (db, c) = people().await;
    let at = |purpose: &str, level: i32| {
        let mut plan = one_step("touch", json!({"action_class": "modify"}));
        plan["purpose"] = json!(purpose);
        plan["approval_level"] = json!(level);
        plan["runbook_ref"] = json!("wiki/touch");
        plan
    };
    let approve = async |c: &Client| {
        act(c, "ada").await;
        rows(
            c,
            "select tenure.approval_decide(a.approval_id, 'approve', a.plan_hash) from tenure.approval_list() a",
            &[],
        )
        .await;
    };
    let first = ask(&c, &at("first", 1)).await;
    approve(&c).await;
    let held = work(&c).await;
    let mut text = at("second", 3);
    let other =
        json!({"id": "other", "action": "touch", "action_class": "read", "target_type": "host", "target_ref": "other"});
    text["steps"].as_array_mut().expect("steps").push(other);
    let second = ask(&c, &text).await;
    approve(&c).await;
    approve(&c).await;
    assert_eq!(
        state_of(&c, second.execution).await,
        "running",
        "its other step has begun"
    );
    let state: String = get(
        &c,
        "select state from tenure.step_rows where execution_id = $1 and step_number = 1",
        &[&second.execution],
    )
    .await;
    assert_eq!(state, "blocked", "it is approved and waits for the target");

    let admin = db.direct().await;
    run(
        &admin,
        r#"begin; set local tenure.principal = 'pam'; select tenure.principal_set('ada', '{"approval_roles": ["dba"]}')"#,
    )
    .await;
    run(&c, "set statement_timeout = '10s'").await;
    verb(&c, "job_complete", &held, "").await;
    assert_eq!(state_of(&c, first.execution).await, "succeeded");
    run(&admin, "commit").await;
    tick(&c).await;
    approve(&c).await;
    work_all(&c).await;
    assert_eq!(state_of(&c, second.execution).await, "succeeded");
    check_executions(&c).await;
}

/// For a login the database role is the right itself.
#[tokio::test]
async fn an_approval_does_not_outlive_the_role_of_a_login() {
    let (db, c) = people().await;
    run(&c, "reset tenure.principal").await;
    let (login, bob) = login_of(&db, &c, "bob").await;
    freeze(&c).await;
    let asked = ask(&c, &plan("role", &["a modify"])).await;
    let answer = decide_over(&bob, &asked, "approve").await;
    assert_eq!(answer["execution_state"], "approved", "{answer}");
    run(&c, &format!("revoke tenure_approver from \"{login}\"")).await;
    unfreeze(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "cancelled");
}

/// A login without a binding of its own acts by the one for all.
#[tokio::test]
async fn an_approval_does_not_outlive_the_binding_of_all_logins() {
    let (db, c) = people().await;
    let (login, dave) = db.login(&["tenure_approver"], "default", None).await;
    run(&c, "reset tenure.principal").await;
    run(
        &c,
        &format!("select tenure.login_unbind('{login}'); select tenure.login_bind('*', 'default', 'bob')"),
    )
    .await;
    freeze(&c).await;
    let asked = ask(&c, &plan("all", &["a modify"])).await;
    let answer = decide_over(&dave, &asked, "approve").await;
    assert_eq!(answer["execution_state"], "approved", "{answer}");
    run(&c, "reset tenure.principal").await;
    run(&c, "select tenure.login_bind('*', 'default', 'cyd')").await;
    unfreeze(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "cancelled");
}

/// An agent of the installation stays one when a tenant registers a person of its name.
#[tokio::test]
async fn an_agent_of_the_installation_does_not_approve_under_a_persons_name() {
    let (_db, c) = people().await;
    run(
        &c,
        "begin; set local tenure.tenant = '*'; set local tenure.principal = ''; select tenure.principal_create('ibot', 'agent'); commit",
    )
    .await;
    act(&c, "pam").await;
    one(&c, "select tenure.principal_create('ibot', 'human')", &[]).await;
    one(
        &c,
        r#"select tenure.principal_set('ibot', '{"approver_level": 3}')"#,
        &[],
    )
    .await;
    let asked = ask(&c, &plan("ibot", &["a modify"])).await;
    refused(&decide(&c, "ibot", &asked, "approve", "").await, "not_permitted");
    let kind: String = get(&c, "select tenure.principal_kind(1, 'ibot')", &[]).await;
    assert_eq!(kind, "agent");
}

/// Far moments are refused when they are given, not when somebody approves.
#[tokio::test]
async fn a_moment_too_far_away_is_refused() {
    let (_db, c) = people().await;
    for more in [
        ", p_start_after => '294276-12-31 12:00Z'",
        ", p_start_after => 'infinity'",
        ", p_start_before => '294276-12-31 12:00Z'",
    ] {
        refused(
            &submit(&c, "eve", &plan("far", &["a modify"]), more).await,
            "range_invalid",
        );
    }
    act(&c, "pam").await;
    let freeze = "select tenure.execution_freeze('x', '294276-12-31 12:00Z')";
    refused(&one(&c, freeze, &[]).await, "range_invalid");
}

#[tokio::test]
async fn numbers_and_names_of_registrations_are_checked() {
    let (_db, c) = people().await;
    act(&c, "pam").await;
    for (spec, code) in [
        (
            r#"'a', '{"action_class": "read", "level_min": 1e30}'"#,
            "number_out_of_range",
        ),
        (r#"'a, b', '{"action_class": "read"}'"#, "name_invalid"),
        (r#"' a', '{"action_class": "read"}'"#, "name_invalid"),
    ] {
        refused(&one(&c, &format!("select tenure.action_set({spec})"), &[]).await, code);
    }
    for level in ["1e30", "2.5"] {
        let sql = format!(r#"select tenure.principal_set('bob', '{{"approver_level": {level}}}')"#);
        refused(&one(&c, &sql, &[]).await, "number_out_of_range");
    }
    let nothing: Value = one(
        &c,
        "select tenure.governance_change_decide($1, 'approve')",
        &[&None::<Uuid>],
    )
    .await;
    assert_eq!(nothing["what"], "There is no change without an id.");
}

/// Dashes and scripts that look like those of another target.
#[tokio::test]
async fn dashes_and_letters_that_look_alike_are_refused_outside_open_mode() {
    let (_db, c) = people().await;
    action(&c, "touch", json!({"action_class": "read"})).await;
    close(&c).await;
    for target in ["prod\u{2010}1", "prod\u{2212}1", "PRO\u{a4d3}-1", "\u{2c9f}prod"] {
        let answer = submit(&c, "eve", &one_step("touch", json!({"target_ref": target})), "").await;
        refused(&answer, "name_invalid");
    }
}
