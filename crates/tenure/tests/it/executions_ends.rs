//! Ends of steps that meet trouble: a hand-over that fails, and a lease that has run out.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_race::sessions;
use crate::approvals_scene::{
    Asked, act, ask, check_executions, decide, id, people, plan, rule, state_of, submit, tick, told, work,
};
use crate::fixture::{Claimed, Db, check_invariants, claim_with, get, one, reap, rows, run, verb};
use crate::locks::{start, steps};

const STARTED: &str = ", p_limit => 10, p_mode => 'started'";

async fn free() -> (Db, Client) {
    let (db, c) = people().await;
    rule(&c, "free", json!({"level": 0, "target_refs": ["*"]})).await;
    (db, c)
}

/// Lets every change of the steps of an execution fail.
async fn spoil(c: &Client, execution: Uuid) {
    let fault = format!(
        "create or replace function public.boom() returns trigger language plpgsql
           as $$ begin raise exception 'boom'; end $$;
         create trigger boom before update on tenure.step_states for each row when (old.execution_id = '{execution}')
           execute function public.boom()"
    );
    run(c, &fault).await;
}

async fn mend(c: &Client) {
    run(c, "drop trigger boom on tenure.step_states").await;
}

/// What is left for the tick, with the error of its last try.
async fn left_over(c: &Client) -> Vec<String> {
    let sql = "select concat_ws(' ', task, reason) from tenure.follow_ups order by 1";
    rows(c, sql, &[]).await.iter().map(|row| row.get(0)).collect()
}

/// An execution that has a target, and one that waits for it and cannot get it without an error.
async fn spoilt(c: &Client) -> (Uuid, Uuid) {
    let first = start(c, "a", "first", json!({})).await;
    let second = start(c, "a", "second", json!({})).await;
    assert_eq!(steps(c, &[first, second]).await, ["running", "blocked"]);
    spoil(c, second).await;
    (first, second)
}

/// Cancelled or timed out: it stops at once, whatever is wrong with the next at its targets.
#[tokio::test]
async fn an_execution_stops_although_its_target_cannot_be_handed_over() {
    for because in ["cancelled", "timed_out"] {
        let (db, c) = free().await;
        let (first, second) = spoilt(&c).await;
        if because == "cancelled" {
            act(&c, "pam").await;
            let answer = one(&c, "select tenure.execution_cancel($1, 'enough')", &[&first]).await;
            assert_eq!(answer["state"], "cancelled", "{answer}");
        } else {
            db.advance("8 days").await;
            assert_eq!(tick(&c).await["timed_out"], 1);
            assert_eq!(state_of(&c, first).await, "failed");
        }
        assert!(claim_with(&c, "w", STARTED).await.is_empty(), "{because}");
        assert_eq!(steps(&c, &[first, second]).await, ["skipped", "blocked"], "{because}");
        tick(&c).await;
        assert_eq!(left_over(&c).await, ["lock_grant boom"], "{because}");
        mend(&c).await;
        tick(&c).await;
        assert_eq!(steps(&c, &[first, second]).await, ["skipped", "running"], "{because}");
        assert!(left_over(&c).await.is_empty(), "{because}");
        check_executions(&c).await;
        check_invariants(&c).await;
    }
}

/// A step failed: what is left of its execution never begins, whatever is wrong with the next at its targets.
#[tokio::test]
async fn an_execution_whose_step_failed_stops_although_a_target_cannot_be_handed_over() {
    let (_db, c) = free().await;
    let text = json!({"purpose": "two", "sla_class": "long", "steps": [
        {"id": "fails", "action": "fails", "action_class": "modify", "effects": "idempotent",
         "target_type": "host", "target_ref": "b"},
        {"id": "waits", "action": "touch", "action_class": "modify", "effects": "idempotent",
         "target_type": "host", "target_ref": "a"}]});
    let made = submit(&c, "eve", &text, "").await;
    let first = id(&made, "execution_id");
    let second = start(&c, "a", "second", json!({})).await;
    assert_eq!(steps(&c, &[first, second]).await, ["running", "running", "blocked"]);
    spoil(&c, second).await;
    let held = claim_with(&c, "w", ", p_kinds => array['fails'], p_mode => 'started'").await;
    let ended = verb(&c, "job_fail", &held[0], ", 'broken', 'permanent'").await;
    assert_ne!(ended["refused"], true, "{ended}");
    assert_eq!(state_of(&c, first).await, "failed");
    assert!(claim_with(&c, "w", STARTED).await.is_empty());
    assert_eq!(steps(&c, &[first, second]).await, ["failed", "skipped", "blocked"]);
    assert_eq!(left_over(&c).await, ["lock_grant"]);
    tick(&c).await;
    assert_eq!(left_over(&c).await, ["lock_grant boom"]);
    mend(&c).await;
    tick(&c).await;
    assert_eq!(steps(&c, &[second]).await, ["running"]);
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// A step was rejected: the decision stands, and its execution stops, whatever is wrong with the next at its targets.
#[tokio::test]
async fn a_step_is_rejected_although_a_target_cannot_be_handed_over() {
    let (_db, c) = free().await;
    rule(
        &c,
        "careful",
        json!({"position": 1, "target_refs": ["p a"], "level": 3}),
    )
    .await;
    let first = ask(&c, &plan("p", &["a modify", "b modify"])).await;
    decide(&c, "ada", &first, "approve", "").await;
    let second = start(&c, "p b", "second", json!({})).await;
    let both = [first.execution, second];
    assert_eq!(steps(&c, &both).await, ["awaiting_approval", "running", "blocked"]);
    spoil(&c, second).await;
    let of_step = Asked {
        approval: get(
            &c,
            "select approval_id from tenure.approval_list($1)",
            &[&first.execution],
        )
        .await,
        ..first
    };
    let answer = decide(&c, "ada", &of_step, "reject", ", 'not this one'").await;
    assert_eq!(answer["execution_state"], "failed", "{answer}");
    assert_eq!(steps(&c, &both).await, ["failed", "skipped", "blocked"]);
    mend(&c).await;
    tick(&c).await;
    assert_eq!(steps(&c, &[second]).await, ["running"]);
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// How many entries the chain of an execution has.
async fn chained(c: &Client, execution: Uuid) -> i64 {
    let sql = "select count(*) from tenure.execution_events where execution_id = $1";
    get(c, sql, &[&execution]).await
}

/// Ends one run in the three ways of a worker, and answers the status of each.
async fn end_late(c: &Client, held: &Claimed) -> Vec<String> {
    let mut statuses = Vec::new();
    for more in ["", ", array['{}'::jsonb]"] {
        let sql = format!("select status from tenure.job_end_many(array[$1], array[$2], array['succeeded']{more})");
        statuses.push(get::<String>(c, &sql, &[&held.job_id, &held.token]).await);
    }
    let single: Value = verb(c, "job_complete", held, "").await;
    statuses.push(single["code"].as_str().expect("a refusal").to_owned());
    statuses
}

/// The clock decides, not the reaper: an end after the lease has run out changes nothing, before the reaper came and after it.
#[tokio::test]
async fn the_end_of_a_step_whose_lease_has_run_out_changes_nothing() {
    let (db, c) = free().await;
    let once = start(&c, "once", "once", json!({"effects": "once"})).await;
    let again = start(
        &c,
        "again",
        "again",
        json!({"effects": "idempotent", "attempts_max": 3}),
    )
    .await;
    let mut held = Vec::new();
    for execution in [once, again] {
        let sql = "select job_id from tenure.step_rows where execution_id = $1";
        let job: Uuid = get(&c, sql, &[&execution]).await;
        held.push((execution, job));
    }
    let runs = claim_with(&c, "w", STARTED).await;
    let run_of = |job: Uuid| runs.iter().find(|it| it.job_id == job).expect("held");
    tick(&c).await;
    let lock = "select count(*) from tenure.locks where execution_id = $1";
    db.advance("2 hours").await;
    for (execution, job) in &held {
        let before = chained(&c, *execution).await;
        assert_eq!(end_late(&c, run_of(*job)).await, ["lease_expired"; 3]);
        assert_eq!(chained(&c, *execution).await, before);
        assert_eq!(get::<i64>(&c, lock, &[execution]).await, 1);
    }
    assert_eq!(steps(&c, &[once, again]).await, ["running", "running"]);

    reap(&c).await;
    assert_eq!(steps(&c, &[once, again]).await, ["unknown", "running"]);
    for (execution, job) in &held {
        let before = chained(&c, *execution).await;
        assert_eq!(end_late(&c, run_of(*job)).await, ["stale_lease"; 3]);
        assert_eq!(chained(&c, *execution).await, before);
        assert_eq!(get::<i64>(&c, lock, &[execution]).await, 1, "its target stays locked");
    }
    db.advance("1 hour").await;
    verb(&c, "job_complete", &work(&c).await, "").await;
    assert_eq!(state_of(&c, again).await, "succeeded");
    assert_eq!(
        (
            told(&c, again, "step_retrying").await,
            told(&c, again, "step_completed").await
        ),
        (1, 1)
    );
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// An end that came in time counts, also where its execution was locked and the follow-up is done when the lease would be over.
#[tokio::test]
async fn an_end_in_time_that_is_followed_up_after_its_lease_counts() {
    let (db, c) = free().await;
    let mut text = plan("p", &["a modify"]);
    text["steps"][0]["effects"] = json!("once");
    let execution = id(&submit(&c, "eve", &text, "").await, "execution_id");
    let held = work(&c).await;
    let other = sessions(&db, &["pam"]).await;
    run(
        &other[0],
        "begin; select from tenure.execution_states for no key update",
    )
    .await;
    verb(&c, "job_complete", &held, "").await;
    db.advance("2 hours").await;
    assert!(reap(&c).await.is_empty());
    run(&other[0], "commit").await;
    assert_eq!(steps(&c, &[execution]).await, ["running"]);
    let again = verb(&c, "job_fail", &held, ", 'too late'").await;
    assert_eq!(
        (&again["status"], &again["state"]),
        (&json!("already_ended"), &json!("succeeded"))
    );
    tick(&c).await;
    assert_eq!(state_of(&c, execution).await, "succeeded");
    assert_eq!(told(&c, execution, "step_unknown").await, 0);
    check_executions(&c).await;
    check_invariants(&c).await;
}
