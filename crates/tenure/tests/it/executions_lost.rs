//! Steps that were taken from their worker in the middle, and executions that stop: nothing runs twice that may not, and all of it ends.

use serde_json::{Value, json};
use tenure::worker::Context;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{act, check_executions, id, people, plan, state_of, submit, tick, told, work, work_all};
use crate::fixture::{check_invariants, claim, claim_with, enqueue, get, one, reap, refused, rows, state, until, verb};
use crate::locks::{start, steps, take};
use crate::worker_scene::{AtWork, Crowd, until_true, worker};

fn once() -> Value {
    json!({"effects": "once"})
}

async fn claimable(c: &Client) -> usize {
    claim_with(c, "w", ", p_limit => 50").await.len()
}

async fn resolve(c: &Client, execution: Uuid, verdict: &str) -> Value {
    act(c, "pam").await;
    let sql = "select tenure.execution_resolve($1, 'a', $2, 'somebody looked')";
    let said = one(c, sql, &[&execution, &verdict]).await;
    assert_ne!(said["refused"], true, "{said}");
    said
}

/// What began and may not come twice is not given to the next worker as if nothing had been.
#[tokio::test]
async fn a_step_given_back_in_the_middle_runs_again_only_if_it_may() {
    let (_db, c) = people().await;
    let execution = start(&c, "a", "once", once()).await;
    let held = work(&c).await;
    verb(&c, "job_release", &held, "").await;
    assert_eq!(steps(&c, &[execution]).await, ["unknown"]);
    assert_eq!(claimable(&c).await, 0, "nobody runs it a second time");
    assert_eq!(told(&c, execution, "step_unknown").await, 1);
    refused(&take(&c, "ada", &["host:a"], 60).await, "lock_held");
    let late = verb(&c, "job_complete", &held, "").await;
    assert_eq!(
        late["state"], "failed",
        "who gave it back has nothing more to say: {late}"
    );
    resolve(&c, execution, "retry").await;
    work_all(&c).await;
    assert_eq!(state_of(&c, execution).await, "succeeded");

    // Not begun: nothing was done, and it waits for the next worker, as every other does.
    for (purpose, more, begun) in [("not begun", once(), false), ("idempotent", json!({}), true)] {
        let execution = start(&c, "b", purpose, more).await;
        let held = if begun { work(&c).await } else { claim(&c, "w").await };
        verb(&c, "job_release", &held, "").await;
        assert_eq!(steps(&c, &[execution]).await, ["running"], "{purpose}");
        assert_eq!(state(&c, held.job_id).await, "queued", "{purpose}");
        work_all(&c).await;
        assert_eq!(state_of(&c, execution).await, "succeeded", "{purpose}");
    }
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// The same, as a worker does it that is told to stop: by one batch of ends, with other jobs among them.
#[tokio::test]
async fn a_worker_that_shuts_down_in_the_middle_of_a_step_leaves_it_to_a_verdict() {
    let (db, c) = people().await;
    let execution = start(&c, "a", "p", once()).await;
    let again = start(&c, "b", "q", json!({})).await;
    let crowd = Crowd::default();
    let inside = crowd.clone();
    let plain = enqueue(&c, "touch").await;
    let no_time = std::time::Duration::from_millis(1);
    let at_work = AtWork::start(worker(&db).concurrency(3).drain(no_time).grace(no_time).handler(
        "touch",
        move |_: Value, _: Context| {
            let inside = inside.enter();
            async move {
                std::future::pending::<()>().await;
                drop(inside);
                Ok(())
            }
        },
    ));
    until_true("all three run", || crowd.now() == 3).await;
    let started = "select count(*) = 3 from tenure.active where started_at is not null";
    until(&c, started, &[], "all three have started").await;
    at_work.stop().await;
    assert_eq!(steps(&c, &[execution, again]).await, ["unknown", "running"]);
    assert_eq!(state(&c, plain).await, "queued");
    assert_eq!(claimable(&c).await, 2, "the others, and not the one that may not");
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// A worker that says it lost the step in the middle knows no more than one that says nothing.
#[tokio::test]
async fn a_step_whose_worker_ran_out_of_time_lost_its_lease_or_panicked_is_unknown() {
    let (_db, c) = people().await;
    for class in ["timeout", "lease", "panic"] {
        for permanence in ["transient", "permanent"] {
            let purpose = format!("{class} {permanence}");
            let execution = start(&c, &purpose, &purpose, once()).await;
            let held = work(&c).await;
            let arguments = format!(", 'gone', '{permanence}', 'x', '{class}'");
            verb(&c, "job_fail", &held, &arguments).await;
            assert_eq!(steps(&c, &[execution]).await, ["unknown"], "{purpose}");
            assert_eq!(state_of(&c, execution).await, "running", "{purpose}");
            assert_eq!(claimable(&c).await, 0, "{purpose}");
            let part = format!("host:{purpose}");
            refused(&take(&c, "ada", &[&part], 60).await, "lock_held");
            assert_eq!(resolve(&c, execution, "succeeded").await["state"], "succeeded");
            assert_ne!(take(&c, "ada", &[&part], 60).await["refused"], true, "{purpose}");
        }
    }
    // A worker that says what went wrong is believed; and what may come twice is tried again, or has failed.
    for (purpose, more, class) in [
        ("plain", once(), "null"),
        ("of a class", once(), "'io'"),
        ("idempotent", json!({"attempts_max": 1}), "'timeout'"),
    ] {
        let execution = start(&c, purpose, purpose, more).await;
        let held = work(&c).await;
        verb(&c, "job_fail", &held, &format!(", 'broken', 'permanent', 'x', {class}")).await;
        assert_eq!(steps(&c, &[execution]).await, ["failed"], "{purpose}");
        assert_eq!(state_of(&c, execution).await, "failed", "{purpose}");
        let part = format!("host:{purpose}");
        assert_ne!(take(&c, "ada", &[&part], 60).await["refused"], true, "{purpose}");
    }
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// Claimed and never started: nothing was done. That is no case for a verdict, and whoever retries it runs it once.
#[tokio::test]
async fn a_step_whose_workers_vanished_before_it_began_says_that_nothing_ran_and_may_be_retried() {
    let (db, c) = people().await;
    let execution = start(&c, "a", "p", once()).await;
    for state in ["running", "failed"] {
        claim(&c, "w").await;
        db.advance("1 hour").await;
        assert_eq!(reap(&c).await.len(), 1);
        assert_eq!(steps(&c, &[execution]).await, [state]);
    }
    let shown = one(&c, "select tenure.execution_show($1)", &[&execution]).await;
    assert_eq!(
        (&shown["state"], &shown["steps"][0]["error_code"]),
        (&json!("failed"), &json!("never_started")),
        "{shown}"
    );
    assert_eq!(shown["steps"][0]["started_at"], json!(null), "{shown}");
    assert_eq!(told(&c, execution, "step_unknown").await, 0);
    assert_ne!(take(&c, "ada", &["host:a"], 1).await["refused"], true, "it is free");
    db.advance("2 seconds").await;
    act(&c, "pam").await;
    let again = one(&c, "select tenure.execution_retry($1)", &[&execution]).await;
    work_all(&c).await;
    assert_eq!(state_of(&c, id(&again, "execution_id")).await, "succeeded");
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// What a step waits for tomorrow keeps no execution open that is over today.
#[tokio::test]
async fn an_execution_that_stops_after_a_failure_ends_with_its_time_though_a_retry_waits() {
    let (db, c) = people().await;
    let mut text = plan("p", &["a read", "b read"]);
    text["steps"][1]["attempts_max"] = json!(5);
    text["steps"][1]["lock_scope"] = json!("target");
    let execution = id(&submit(&c, "eve", &text, "").await, "execution_id");
    let (a, b) = (work(&c).await, work(&c).await);
    verb(&c, "job_fail", &a, ", 'no', 'permanent'").await;
    verb(&c, "job_fail", &b, ", 'no', 'transient', p_retry_seconds => 86400").await;
    db.advance("3 seconds").await;
    tick(&c).await;
    // Before its time the retry may still come, or is withdrawn already; after it nothing is open.
    db.advance("11 minutes").await;
    tick(&c).await;
    db.advance("3 seconds").await;
    tick(&c).await;
    assert_eq!(state_of(&c, execution).await, "failed");
    let states = steps(&c, &[execution]).await;
    assert_eq!(states[0], "failed");
    assert!(states[1] == "cancelled", "it had been tried: {states:?}");
    let held: i64 = get(&c, "select count(*) from tenure.locks", &[]).await;
    assert_eq!(held, 0);
    db.advance("2 days").await;
    assert_eq!(claimable(&c).await, 0, "what was withdrawn never comes");
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// So much that the summary of an execution could not hold all of it as it is.
const STEPS: usize = 10;
const SUMMARY_BYTES_MAX: i32 = 10_240;

/// A plan of independent steps that go on whatever fails.
fn crowd(purpose: &str, more: &Value) -> Value {
    let names: Vec<String> = (0..STEPS).map(|n| format!("s{n} read")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut text = plan(purpose, &names);
    text["on_step_failure"] = json!("continue");
    for step in text["steps"].as_array_mut().expect("steps") {
        for (field, value) in more.as_object().expect("fields") {
            step[field] = value.clone();
        }
    }
    text
}

/// Asserts that it failed, says why, and says it within its bounds.
async fn failed_in_bounds(c: &Client, execution: Uuid) {
    assert_eq!(state_of(c, execution).await, "failed");
    let sql =
        "select octet_length(result_summary::text), result_summary from tenure.execution_rows where execution_id = $1";
    let row = rows(c, sql, &[&execution]).await.remove(0);
    let (bytes, summary): (i32, Value) = (row.get(0), row.get(1));
    assert!(bytes <= SUMMARY_BYTES_MAX, "{bytes} bytes");
    assert_eq!(summary["failed"], STEPS, "{summary}");
    assert!(
        summary["errors"].as_array().is_some_and(|it| !it.is_empty()),
        "{summary}"
    );
}

/// However long the errors are, and in whatever script: the end of a run is an end, and the reaper reaps on.
#[tokio::test]
async fn long_errors_of_many_steps_fail_neither_an_end_nor_the_reaper() {
    let (db, c) = people().await;
    let (code, message) = ("故障".repeat(100), "连接被拒绝。".repeat(50));
    let fail = "select status from tenure.job_end_many(array[$1]::uuid[], array[$2]::uuid[], array['failed_permanently'], null, null, array[$3], null, array[$4])";
    let fail = async |held: &crate::fixture::Claimed| -> String {
        get(&c, fail, &[&held.job_id, &held.token, &code, &message]).await
    };
    let ended = id(&submit(&c, "eve", &crowd("ends", &json!({})), "").await, "execution_id");
    for held in claim_with(&c, "w", ", p_limit => 50, p_mode => 'started'").await {
        assert_eq!(fail(&held).await, "ended");
    }
    failed_in_bounds(&c, ended).await;

    // The last end is the reaper's, and others are lost at the same time.
    let text = crowd("reaped", &json!({"attempts_max": 1}));
    let reaped = id(&submit(&c, "eve", &text, "").await, "execution_id");
    let mut held = claim_with(&c, "w", ", p_limit => 50, p_mode => 'started'").await;
    held.pop();
    for held in &held {
        assert_eq!(fail(held).await, "ended");
    }
    let plain = enqueue(&c, "plain").await;
    work(&c).await;
    db.advance("1 hour").await;
    reap(&c).await;
    failed_in_bounds(&c, reaped).await;
    let left: i64 = get(&c, "select count(*) from tenure.active", &[]).await;
    assert_eq!(left, 0, "{}", state(&c, plain).await);
    check_executions(&c).await;
    check_invariants(&c).await;
}
