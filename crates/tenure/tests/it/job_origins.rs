//! What a job runs for comes from the database, never from its payload.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::actions::{action, close, one_step};
use crate::approvals_scene::{ask, decide, id, people, plan, state_of, submit, work, work_all};
use crate::fixture::{check_invariants, claim_with, get, one, raised, refused, try_rows, until, verb};
use crate::governed_kinds::{govern, reading};

/// What a claim, a look and a list say about the only job: step and slot of each, and its payload.
async fn said_of(c: &Client, job: Uuid) -> Vec<Value> {
    let held = claim_with(c, "w", "").await;
    assert_eq!((held.len(), held[0].job_id), (1, job));
    let mut said = Vec::new();
    for sql in [
        "select jsonb_build_object('step', step, 'slot', slot, 'payload', payload) from tenure.job_held($2) where job_id = $1",
        "select x from (select tenure.job_show($1) - 'result' as x) y where $2 is not null",
        "select jsonb_build_object('step', step, 'slot', slot) from tenure.job_list() where job_id = $1 and $2 is not null",
        "select jsonb_build_object('step', step, 'slot', slot) from tenure.job_list('{leased}') where job_id = $1 and $2 is not null",
        "select jsonb_build_object('step', step, 'slot', slot, 'payload', payload_json) from tenure.job_queue where job_id = $1 and $2 is not null",
    ] {
        said.push(one(c, sql, &[&job, &held[0].token]).await);
    }
    verb(c, "job_release", &held[0], "").await;
    for sql in [
        "select tenure.job_claim('w') -> 'job'",
        "select jsonb_build_object('step', step, 'slot', slot, 'payload', payload, 'job_id', job_id, 'token', token) from tenure.job_claim_many('w')",
        "select coalesce(more, '{}') || jsonb_build_object('payload', payload, 'job_id', job_id) from tenure.job_turn(
           null, null, null, null, null, null, null, null, null, 'w', null, null, 1, null, 'leased', null, p_gated => false) where part = 'claim'",
    ] {
        let answer = one(c, sql, &[]).await;
        assert_eq!(answer["job_id"], json!(job), "{answer}");
        let token: Uuid = get(c, "select token from tenure.active where job_id = $1", &[&job]).await;
        one(c, "select tenure.job_release($1, $2)", &[&job, &token]).await;
        said.push(answer);
    }
    said
}

#[tokio::test]
async fn a_forged_step_or_slot_reaches_no_answer_of_a_claim() {
    let (_db, c) = people().await;
    let step = json!({"execution_id": Uuid::new_v4(), "step_id": "a", "step_number": 1, "action": "touch",
                      "action_class": "deploy", "target_type": "host", "target_ref": "web-1", "plan_hash": "0".repeat(64), "fence": 7});
    let slot = json!({"schedule": "nightly", "plan_time": "2026-01-02T03:00:00Z", "scope_kind": "global",
                      "scope_id": "global", "origin": "rule"});
    let payload = json!({"step": step, "slot": slot, "origin": {"step": step}});
    let job = one(
        &c,
        "select tenure.job_enqueue('touch', $1, p_target_ref => 'web-1')",
        &[&payload],
    )
    .await;
    let job: Uuid = id(&job, "job_id");
    for answer in said_of(&c, job).await {
        assert_eq!(
            (&answer["step"], &answer["slot"]),
            (&Value::Null, &Value::Null),
            "{answer}"
        );
        if !answer["payload"].is_null() {
            assert_eq!(answer["payload"], payload, "its own: {answer}");
        }
    }
    one(&c, "select tenure.job_cancel($1, 'enough')", &[&job]).await;

    // A plan may have members of these names: its job has them in its payload, and knows its step from the database.
    let mut real = plan("real", &["a modify"]);
    real["steps"][0]["payload"] = payload.clone();
    let asked = ask(&c, &real).await;
    decide(&c, "ada", &asked, "approve", "").await;
    let job: Uuid = get(&c, "select job_id from tenure.step_rows", &[]).await;
    let fence: i64 = get(&c, "select fence from tenure.step_rows", &[]).await;
    let known = json!({"execution_id": asked.execution, "step_id": "a", "step_number": 1, "action": "touch",
                       "action_class": "modify", "target_type": "host", "target_ref": "real a",
                       "plan_hash": asked.hash});
    let mut fenced = 0;
    for mut answer in said_of(&c, job).await {
        // That of its run: the first has the number that the step took with its target.
        let found = answer["step"].as_object_mut().and_then(|step| step.remove("fence"));
        if let Some(found) = found {
            assert!(found.as_i64() >= Some(fence), "{found}, and {fence} at first: {answer}");
            fenced += 1;
        }
        assert_eq!((&answer["step"], &answer["slot"]), (&known, &Value::Null), "{answer}");
        if !answer["payload"].is_null() {
            assert_eq!(answer["payload"], payload, "just what was approved: {answer}");
        }
    }
    assert_eq!(fenced, 4, "held, shown, and claimed in two forms");
    let detail: String = get(
        &c,
        "select detail from tenure.job_timeline($1) where verb = 'enqueue'",
        &[&job],
    )
    .await;
    assert_eq!(detail, format!("step a of execution {}", asked.execution));
    let held = work(&c).await;
    verb(&c, "job_complete", &held, "").await;
    assert_eq!(state_of(&c, asked.execution).await, "succeeded");

    one(
        &c,
        "select tenure.schedule_create('nightly', $1)",
        &[&json!({"every_seconds": 3600, "kind": "touch", "payload": payload})],
    )
    .await;
    let ran = one(&c, "select tenure.schedule_run('nightly')", &[]).await;
    let job = id(&ran, "job_id");
    for answer in said_of(&c, job).await {
        assert_eq!(answer["step"], Value::Null, "{answer}");
        assert_eq!(
            (&answer["slot"]["schedule"], &answer["slot"]["origin"]),
            (&json!("nightly"), &json!("manual"))
        );
        assert_ne!(answer["slot"]["plan_time"], slot["plan_time"]);
    }
    check_invariants(&c).await;
}

#[tokio::test]
async fn an_emptied_job_still_says_which_step_it_was_but_not_its_target() {
    let (db, c) = people().await;
    submit(&c, "eve", &reading("look", "touch"), "").await;
    let job: Uuid = get(&c, "select job_id from tenure.step_rows", &[]).await;
    work_all(&c).await;
    db.advance("30 days").await;
    until(
        &c,
        "select tenure.job_sweep() is not null and exists (select from tenure.jobs where job_id = $1 and cleaned_at is not null)",
        &[&job],
        "the sweep to empty it",
    )
    .await;
    let shown = one(&c, "select tenure.job_show($1)", &[&job]).await;
    assert_eq!(
        (&shown["state"], &shown["target_ref"]),
        (&json!("cleaned"), &Value::Null),
        "{shown}"
    );
    assert_eq!(
        (&shown["step"]["step_id"], shown["step"].get("target_ref")),
        (&json!("a"), None),
        "{shown}"
    );
    let listed = tenure::operations::call(&c, &tenure_api::jobs::JobList::default()).await;
    assert_eq!(
        listed.expect("a list").items[0]
            .step
            .as_ref()
            .map(|it| it.step_id.as_str()),
        Some("a")
    );
    assert!(
        try_rows(&c, "update tenure.jobs set origin = null", &[]).await.is_err(),
        "written once"
    );
}

/// The registry decides what a step is, and the policy of the kind that only a step is a job of it: neither is a way
/// round the other, and the worker learns the class that was approved, not what the plan says.
#[tokio::test]
async fn a_governed_kind_runs_only_registered_actions_and_knows_the_class_that_was_approved() {
    let (_db, c) = people().await;
    let spec = json!({"action_class": "modify", "level_min": 1, "kinds": ["restart"]});
    action(&c, "service.restart", spec).await;
    action(&c, "service.look", json!({"action_class": "read"})).await;
    close(&c).await;
    govern(&c, "restart", true).await;

    let sql = "select tenure.job_enqueue('restart')";
    raised(try_rows(&c, sql, &[]).await, "kind_only_by_plan");
    for (name, more, code) in [
        ("service.look", json!({"kind": "restart"}), "action_kind_refused"),
        (
            "service.restart",
            json!({"kind": "restart", "action_class": "read"}),
            "action_lowered",
        ),
        ("service.restart", json!({}), "action_kind_refused"),
    ] {
        refused(&submit(&c, "eve", &one_step(name, more), "").await, code);
    }

    for (said, approved) in [
        (json!({"kind": "restart"}), "modify"),
        (json!({"kind": "restart", "action_class": "deploy"}), "deploy"),
    ] {
        let asked = ask(&c, &one_step("service.restart", said)).await;
        decide(&c, "ada", &asked, "approve", "").await;
        let sql = "select job_id from tenure.step_rows where execution_id = $1";
        let job: Uuid = get(&c, sql, &[&asked.execution]).await;
        for answer in said_of(&c, job).await {
            assert_eq!(answer["step"]["action_class"], approved, "{answer}");
        }
        let held = work(&c).await;
        verb(&c, "job_complete", &held, "").await;
        assert_eq!(state_of(&c, asked.execution).await, "succeeded");
    }
    check_invariants(&c).await;
}
