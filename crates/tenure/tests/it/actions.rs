//! Registered actions: a requester's word never lowers the class, level or lock of a step.

use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::approvals_scene::{act, id, people, rule, state_of, submit, work};
use crate::fixture::{get, one, refused, rows, run, until_blocked, verb};

/// Registers an action as pam.
pub(crate) async fn action(c: &Client, name: &str, spec: Value) -> Value {
    act(c, "pam").await;
    let set = one(c, "select tenure.action_set($1, $2)", &[&name, &spec]).await;
    assert_eq!(set["name"], name, "{set}");
    set
}

/// The tenant leaves open mode: an action without a registration counts as the strictest.
pub(crate) async fn close(c: &Client) {
    act(c, "pam").await;
    let set = one(c, "select tenure.config_set('executions.actions.open', 'false')", &[]).await;
    assert_eq!(set["value"], false, "{set}");
}

/// A plan of one step, with these fields of the step besides.
pub(crate) fn one_step(action: &str, more: Value) -> Value {
    let mut step = json!({"id": "a", "action": action, "target_type": "host", "target_ref": "prod-1"});
    for (field, value) in more.as_object().expect("an object") {
        step[field] = value.clone();
    }
    json!({"purpose": action, "sla_class": "long", "runbook_ref": "runbooks/x.md", "steps": [step]})
}

pub(crate) async fn preview(c: &Client, plan: &Value) -> Value {
    act(c, "eve").await;
    one(c, "select tenure.execution_preview($1)", &[&plan.to_string()]).await
}

async fn executions(c: &Client) -> i64 {
    get(c, "select count(*) from tenure.execution_rows", &[]).await
}

/// The rule asks for level 2 on modify, and the step says that it is a read.
#[tokio::test]
async fn a_step_that_says_read_of_a_registered_modify_is_refused_by_whoever_submits_it() {
    let (db, c) = people().await;
    rule(
        &c,
        "prod",
        json!({"action_classes": ["modify", "deploy"], "target_refs": ["prod-*"], "level": 2}),
    )
    .await;
    action(&c, "service.*", json!({"action_class": "modify", "level_min": 1})).await;
    let lie = one_step("service.restart", json!({"action_class": "read"}));
    for who in ["eve", "pam", "cyd", "bot", "not registered"] {
        for answer in [submit(&c, who, &lie, "").await, preview(&c, &lie).await] {
            refused(&answer, "action_lowered");
            assert_eq!(
                answer["what"],
                "steps[0].action_class is read; the action \"service.restart\" demands at least modify.",
                "{who}"
            );
            let why = answer["why"].as_str().expect("a reason");
            assert!(
                why.starts_with("The registration service.* says so: class modify, level 1, lock target."),
                "{why}"
            );
        }
    }
    // Each role that may submit at all, by a login of its own.
    for role in ["tenure_requester", "tenure_operator", "tenure_admin"] {
        let (_, session) = db.login(&[role], "default", None).await;
        let answer = one(&session, "select tenure.execution_submit($1)", &[&lie.to_string()]).await;
        refused(&answer, "action_lowered");
    }
    assert_eq!(executions(&c).await, 0, "nothing was submitted");

    let honest = submit(&c, "eve", &one_step("service.restart", json!({})), "").await;
    assert_eq!(
        (&honest["approval_level"], &honest["rule"]),
        (&json!(2), &json!("prod")),
        "{honest}"
    );
    let step = &rows(
        &c,
        "select action_class, registration, level_min, lock_target, effects from tenure.step_rows where execution_id = $1",
        &[&id(&honest, "execution_id")],
    )
    .await[0];
    assert_eq!(step.get::<_, String>(0), "modify");
    assert_eq!(step.get::<_, String>(1), "service.*");
    assert_eq!(step.get::<_, i16>(2), 1);
    assert_eq!(step.get::<_, String>(3), "host:prod-1");
    assert_eq!(step.get::<_, String>(4), "once");
}

#[tokio::test]
async fn a_lock_that_the_action_demands_cannot_be_left_out_and_a_smaller_one_is_refused() {
    let (_db, c) = people().await;
    action(&c, "db.dump", json!({"action_class": "read", "lock_scope": "target"})).await;
    action(
        &c,
        "restart",
        json!({"action_class": "modify", "lock_scope": "target_and_action"}),
    )
    .await;
    for scope in ["none", "target_and_action"] {
        let answer = submit(&c, "eve", &one_step("db.dump", json!({"lock_scope": scope})), "").await;
        refused(&answer, "action_lowered");
        assert_eq!(
            answer["what"],
            format!("steps[0].lock_scope is {scope}; the action \"db.dump\" demands at least target.")
        );
    }
    refused(
        &submit(&c, "eve", &one_step("restart", json!({"lock_scope": "none"})), "").await,
        "action_lowered",
    );
    let lock = async |plan: &Value| -> (String, String) {
        let made = submit(&c, "eve", plan, "").await;
        let sql = "select lock_target, lock_action from tenure.step_rows where execution_id = $1";
        let row = &rows(&c, sql, &[&id(&made, "execution_id")]).await[0];
        (row.get(0), row.get(1))
    };
    let whole = ("host:prod-1".to_owned(), String::new());
    assert_eq!(lock(&one_step("db.dump", json!({}))).await, whole);
    assert_eq!(
        lock(&one_step("restart", json!({}))).await,
        whole,
        "what goes without saying is the whole target"
    );
    let part = one_step("restart", json!({"lock_scope": "target_and_action"}));
    assert_eq!(lock(&part).await, ("host:prod-1".to_owned(), "restart".to_owned()));
}

#[tokio::test]
async fn a_harmless_action_is_no_cover_for_another_kind() {
    let (_db, c) = people().await;
    action(&c, "host.look", json!({"action_class": "read"})).await;
    action(
        &c,
        "report",
        json!({"action_class": "read", "kinds": ["report.*", "mail"]}),
    )
    .await;
    let answer = submit(
        &c,
        "eve",
        &one_step("host.look", json!({"kind": "service.restart"})),
        "",
    )
    .await;
    refused(&answer, "action_kind_refused");
    assert_eq!(
        answer["what"],
        "steps[0].kind is \"service.restart\"; the action \"host.look\" may be carried by: host.look."
    );
    refused(
        &submit(&c, "eve", &one_step("report", json!({})), "").await,
        "action_kind_refused",
    );
    refused(
        &submit(&c, "eve", &one_step("report", json!({"kind": "mails"})), "").await,
        "action_kind_refused",
    );
    for kind in ["report.day", "mail"] {
        let made = submit(&c, "eve", &one_step("report", json!({"kind": kind})), "").await;
        assert_eq!(made["state"], "running", "{made}");
    }
}

#[tokio::test]
async fn a_plan_may_raise_what_its_action_demands() {
    let (_db, c) = people().await;
    action(&c, "look", json!({"action_class": "read"})).await;
    let raised = one_step("look", json!({"action_class": "deploy", "lock_scope": "target"}));
    let made = submit(&c, "eve", &raised, "").await;
    assert_eq!(
        (&made["approval_level"], &made["state"]),
        (&json!(2), &json!("awaiting_approval")),
        "{made}"
    );
    let mut asks = one_step("look", json!({}));
    asks["approval_level"] = json!(3);
    assert_eq!(submit(&c, "eve", &asks, "").await["approval_level"], 3);
}

#[tokio::test]
async fn the_level_of_an_action_holds_whatever_the_rules_say() {
    let (_db, c) = people().await;
    rule(&c, "free", json!({"level": 0})).await;
    action(&c, "pay", json!({"action_class": "read", "level_min": 2})).await;
    let made = submit(&c, "eve", &one_step("pay", json!({})), "").await;
    assert_eq!(
        (&made["approval_level"], &made["rule"]),
        (&json!(2), &json!("free, action pay")),
        "{made}"
    );
    let mut bare = one_step("pay", json!({}));
    bare["purpose"] = json!("without a runbook");
    bare.as_object_mut().expect("a plan").remove("runbook_ref");
    refused(&submit(&c, "eve", &bare, "").await, "runbook_required");
    let shown = preview(&c, &one_step("pay", json!({}))).await;
    let step = &shown["steps"][0];
    assert_eq!(
        [
            &step["level"],
            &step["level_min"],
            &step["registration"],
            &step["action_class"],
            &step["rule"]
        ],
        [
            &json!(2),
            &json!(2),
            &json!("pay"),
            &json!("read"),
            &json!("free, action pay")
        ],
        "{shown}"
    );
    let story: Value = get(
        &c,
        "select data from tenure.execution_timeline($1) where kind = 'execution_submitted'",
        &[&id(&made, "execution_id")],
    )
    .await;
    assert_eq!(story["registrations"][0]["name"], "pay", "{story}");
    assert_eq!(story["registrations"][0]["updated_by"], "pam", "{story}");
}

#[tokio::test]
async fn outside_open_mode_an_action_without_a_registration_is_the_strictest_there_is() {
    let (_db, c) = people().await;
    close(&c).await;
    let unknown = one_step("unheard.of", json!({}));
    let made = submit(&c, "eve", &unknown, "").await;
    assert_eq!(
        (&made["approval_level"], &made["rule"]),
        (&json!(2), &json!("default")),
        "{made}"
    );
    for (field, value, demanded) in [("action_class", "modify", "deploy"), ("lock_scope", "none", "target")] {
        let answer = submit(&c, "eve", &one_step("unheard.of", json!({field: value})), "").await;
        refused(&answer, "action_lowered");
        assert_eq!(
            answer["what"],
            format!("steps[0].{field} is {value}; the action \"unheard.of\" demands at least {demanded}.")
        );
        assert!(
            answer["why"]
                .as_str()
                .is_some_and(|why| why.starts_with("The action is not registered")),
            "{answer}"
        );
    }
    // The strictest level that any rule or action of the tenant has.
    rule(&c, "free", json!({"action_classes": ["deploy"], "level": 0})).await;
    let mut other = unknown.clone();
    other["purpose"] = json!("with a rule of level 0");
    let made = submit(&c, "eve", &other, "").await;
    assert_eq!(made["rule"], "free, action unregistered", "{made}");
    action(&c, "pay", json!({"action_class": "modify", "level_min": 3})).await;
    let shown = one(&c, "select tenure.action_show('unheard.of')", &[]).await;
    assert_eq!(
        [
            &shown["registered"],
            &shown["action_class"],
            &shown["level_min"],
            &shown["lock_scope"]
        ],
        [&json!(false), &json!("deploy"), &json!(3), &json!("target")],
        "{shown}"
    );
    assert_eq!(preview(&c, &unknown).await["approval_level"], 3);
}

#[tokio::test]
async fn in_open_mode_the_word_of_the_plan_counts_for_actions_without_a_registration() {
    let (_db, c) = people().await;
    let read = submit(&c, "eve", &one_step("look", json!({"action_class": "read"})), "").await;
    assert_eq!(
        (&read["approval_level"], &read["state"]),
        (&json!(0), &json!("running")),
        "{read}"
    );
    let silent = submit(&c, "eve", &one_step("look", json!({})), "").await;
    assert_eq!(silent["approval_level"], 2, "what says nothing is a deploy: {silent}");
    action(&c, "look", json!({"action_class": "modify"})).await;
    let lie = one_step("look", json!({"action_class": "read", "lock_scope": "none"}));
    refused(&submit(&c, "eve", &lie, "").await, "action_lowered");
}

#[tokio::test]
async fn a_retry_meets_the_registry_as_it_is_then() {
    let (_db, c) = people().await;
    let made = submit(&c, "eve", &one_step("look", json!({"action_class": "read"})), "").await;
    let execution = id(&made, "execution_id");
    let held = work(&c).await;
    verb(&c, "job_fail", &held, ", 'no', 'permanent'").await;
    assert_eq!(state_of(&c, execution).await, "failed");
    action(&c, "look", json!({"action_class": "modify"})).await;
    act(&c, "pam").await;
    refused(
        &one(&c, "select tenure.execution_retry($1)", &[&execution]).await,
        "action_lowered",
    );
    action(&c, "look", json!({"action_class": "read", "level_min": 1})).await;
    let again = one(&c, "select tenure.execution_retry($1)", &[&execution]).await;
    assert_eq!(
        (&again["approval_level"], &again["state"]),
        (&json!(1), &json!("awaiting_approval")),
        "{again}"
    );
}

/// Saying the same twice is answered as before, also when the registry has changed since.
#[tokio::test]
async fn a_submission_that_is_repeated_is_the_same_execution_after_a_change_of_the_registry() {
    let (_db, c) = people().await;
    let plan = one_step("change", json!({"action_class": "modify"}));
    let made = submit(&c, "eve", &plan, "").await;
    action(&c, "change", json!({"action_class": "deploy"})).await;
    let again = submit(&c, "eve", &plan, "").await;
    assert_eq!(
        (&again["duplicate"], &again["execution_id"]),
        (&json!(true), &made["execution_id"]),
        "{again}"
    );
}

/// A plan whose registration changes while its submission waits is not admitted by the old one.
#[tokio::test]
async fn a_change_of_the_registry_during_a_submission_makes_it_try_again() {
    let (db, c) = people().await;
    let other = db.direct().await;
    run(&other, "begin").await;
    let sql = "insert into tenure.lock_targets (tenant_id, target) values (1, 'host:prod-1')";
    run(&other, sql).await;
    let text = one_step("look", json!({"action_class": "read", "lock_scope": "target"})).to_string();
    let submitting = tokio::spawn(async move {
        let answer = one(&c, "select tenure.execution_submit($1)", &[&text]).await;
        (c, answer)
    });
    let watching = db.direct().await;
    until_blocked(&watching, "execution_submit").await;
    action(&watching, "look", json!({"action_class": "modify", "level_min": 0})).await;
    run(&other, "commit").await;
    let (c, answer) = submitting.await.expect("an answer");
    refused(&answer, "busy_try_again");
    assert_eq!(executions(&c).await, 0);
}
