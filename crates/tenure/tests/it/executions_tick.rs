//! What happens to executions by itself: timeouts, clocks that stand still, and rounds that nothing stops.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{
    Asked, act, ask, check_executions, decide, id, people, plan, rule, state_of, story, submit, tick, told, work,
    work_all,
};
use crate::fixture::{check_invariants, get, one, reap, refused, rows, run, verb};

async fn shown(c: &Client, execution: Uuid) -> Value {
    one(c, "select tenure.execution_show($1)", &[&execution]).await
}

/// Proves: S171, S211.
#[tokio::test]
async fn an_execution_that_takes_too_long_starts_nothing_more_and_fails_when_its_last_step_has_ended() {
    let (db, c) = people().await;
    let mut text = plan("p", &["a read", "b read", "c read a"]);
    text["sla_class"] = json!("medium");
    text["steps"][0]["timeout_seconds"] = json!(300);
    let execution = id(&submit(&c, "eve", &text, "").await, "execution_id");
    let held = work(&c).await;
    assert_eq!(tick(&c).await["timed_out"], 0);
    db.advance("31 seconds").await;
    assert_eq!(tick(&c).await["timed_out"], 1);
    let after = shown(&c, execution).await;
    assert_eq!(
        (&after["state"], &after["stopping"]),
        (&json!("running"), &json!("timed_out")),
        "{after}"
    );
    let states: Vec<&str> = after["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|it| it["state"].as_str().expect("text"))
        .collect();
    assert_eq!(
        states,
        ["running", "skipped", "skipped"],
        "what nobody had begun never begins"
    );
    assert!(after["waiting_for"][0].as_str().expect("words").contains("timed_out"));
    assert_eq!(tick(&c).await["timed_out"], 0, "once");
    let beat = verb(&c, "job_heartbeat", &held, "").await;
    assert_eq!(beat["status"], "cancel", "its worker is asked to stop: {beat}");
    verb(&c, "job_acknowledge_cancel", &held, "").await;
    let last = shown(&c, execution).await;
    assert_eq!(
        (&last["state"], &last["reason_code"], &last["timed_out"]),
        (&json!("failed"), &json!("timed_out"), &json!(true))
    );
    assert!(
        last["error_message"].as_str().is_some_and(|it| !it.is_empty()),
        "{last}"
    );
    assert_eq!(told(&c, execution, "execution_timed_out").await, 1);
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// A verdict that lets a step run once more gives it the time for that.
#[tokio::test]
async fn the_clock_of_an_execution_stands_still_while_nobody_knows_and_a_retry_has_its_time() {
    let (db, c) = people().await;
    let mut text = plan("p", &["a read"]);
    text["steps"][0]["effects"] = json!("once");
    let execution = id(&submit(&c, "eve", &text, "").await, "execution_id");
    work(&c).await;
    db.advance("1 hour").await;
    reap(&c).await;
    assert_eq!(told(&c, execution, "step_unknown").await, 1);
    db.advance("5 days").await;
    tick(&c).await;
    assert_eq!(told(&c, execution, "execution_timed_out").await, 0);
    act(&c, "pam").await;
    let resolve = "select tenure.execution_resolve($1, 'a', 'retry', 'it had not begun')";
    let said = one(&c, resolve, &[&execution]).await;
    assert_eq!(said["step_state"], "running", "{said}");
    tick(&c).await;
    assert_eq!(told(&c, execution, "execution_timed_out").await, 0, "not at once");
    work_all(&c).await;
    assert_eq!(state_of(&c, execution).await, "succeeded");
    refused(&one(&c, resolve, &[&execution]).await, "state_conflict");
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// Whatever is wrong with one execution is its own: the others expire, start and time out in the same round.
#[tokio::test]
async fn an_execution_that_cannot_be_looked_at_keeps_no_other_waiting() {
    let (db, c) = people().await;
    let broken = ask(&c, &plan("broken", &["a modify"])).await;
    let sound = ask(&c, &plan("sound", &["a modify"])).await;
    let fault = format!(
        "alter table tenure.execution_states add constraint fault check (execution_id <> '{}' or state <> 'cancelled')",
        broken.execution
    );
    run(&c, &fault).await;
    db.advance("25 hours").await;
    let before = story(&c, broken.execution).await;
    assert_eq!(tick(&c).await["expired"], 1);
    assert_eq!(state_of(&c, sound.execution).await, "cancelled");
    assert_eq!(state_of(&c, broken.execution).await, "awaiting_approval");
    assert_eq!(story(&c, broken.execution).await, before, "half of an expiry is none");
    run(&c, "alter table tenure.execution_states drop constraint fault").await;
    db.advance("2 minutes").await;
    assert_eq!(tick(&c).await["expired"], 1);
    assert_eq!(state_of(&c, broken.execution).await, "cancelled");
    check_executions(&c).await;
}

/// A round looks at so many and no more; the next one at the others.
#[tokio::test]
async fn a_round_does_no_more_than_it_is_asked_for() {
    let (db, c) = people().await;
    for n in 0..5 {
        ask(&c, &plan(&format!("p{n}"), &["a modify"])).await;
    }
    db.advance("25 hours").await;
    for expired in [2, 2, 1, 0] {
        assert_eq!(
            one(&c, "select tenure.execution_tick(2)", &[]).await["expired"],
            expired
        );
    }
    for limit in ["0", "-1", "1000000", "null"] {
        let outcome = crate::fixture::try_rows(&c, &format!("select tenure.execution_tick({limit})"), &[]).await;
        crate::fixture::raised(outcome, "number_out_of_range");
    }
    check_executions(&c).await;
}

/// Cancelled between its steps: what runs may end, what it did counts, and nothing more begins.
/// Proves: S215.
#[tokio::test]
async fn a_cancelled_execution_ends_when_its_last_step_has_and_cancelling_twice_is_once() {
    let (_db, c) = people().await;
    let execution = id(
        &submit(&c, "eve", &plan("p", &["a read", "b read a", "c read"]), "").await,
        "execution_id",
    );
    let held = work(&c).await;
    act(&c, "pam").await;
    let cancel = "select tenure.execution_cancel($1, 'enough')";
    refused(
        &one(&c, "select tenure.execution_cancel($1, '')", &[&execution]).await,
        "name_blank",
    );
    let first = one(&c, cancel, &[&execution]).await;
    assert_eq!(
        (&first["state"], &first["stopping"]),
        (&json!("running"), &json!("cancelled")),
        "{first}"
    );
    one(&c, cancel, &[&execution]).await;
    verb(&c, "job_complete", &held, "").await;
    let states: String = get(
        &c,
        "select string_agg(step_id || ' ' || state, ', ' order by step_number) from tenure.step_list($1)",
        &[&execution],
    )
    .await;
    assert_eq!(states, "a succeeded, b skipped, c skipped");
    assert_eq!(state_of(&c, execution).await, "cancelled");
    let row = rows(
        &c,
        "select cancelled_by, reason from tenure.execution_rows where execution_id = $1",
        &[&execution],
    )
    .await
    .remove(0);
    assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), ("pam", "enough"));
    act(&c, "pam").await;
    assert_eq!(one(&c, cancel, &[&execution]).await["state"], "cancelled");
    for kind in ["execution_stopping", "execution_cancelled"] {
        assert_eq!(told(&c, execution, kind).await, 1, "{kind}");
    }
    let over = id(&submit(&c, "eve", &plan("q", &["a read"]), "").await, "execution_id");
    work_all(&c).await;
    refused(&one(&c, cancel, &[&over]).await, "state_conflict");
    refused(&one(&c, cancel, &[&Uuid::new_v4()]).await, "execution_unknown");
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// After a failure nothing more begins where the plan says stop; where it says continue, all goes on that does not need what failed.
#[tokio::test]
async fn a_failed_step_stops_the_plan_or_only_what_needs_it() {
    let (_db, c) = people().await;
    let steps = ["a read", "b read a", "c read b", "d read", "e read d", "f read a d"];
    for (mode, state, counts) in [
        ("stop", "failed", [1, 1, 4]),
        ("continue", "partially_failed", [2, 1, 3]),
    ] {
        let mut text = plan(mode, &steps);
        text["on_step_failure"] = json!(mode);
        let execution = id(&submit(&c, "eve", &text, "").await, "execution_id");
        let (a, d) = (work(&c).await, work(&c).await);
        verb(&c, "job_fail", &a, ", 'broken', 'permanent'").await;
        assert_eq!(verb(&c, "job_complete", &d, "").await["state"], "succeeded");
        work_all(&c).await;
        let last = shown(&c, execution).await;
        assert_eq!(last["state"], state, "{last}");
        let seen = ["succeeded", "failed", "skipped"].map(|it| last["counts"][it].as_i64().expect("a number"));
        assert_eq!(seen, counts, "{mode}");
    }
    check_executions(&c).await;
}

#[tokio::test]
async fn a_plan_that_names_an_executor_nobody_knows_is_refused_before_it_is_frozen() {
    let (_db, c) = people().await;
    let mut text = plan("p", &["a read"]);
    text["steps"][0]["executor"] = json!("Nobody");
    let refusal = submit(&c, "eve", &text, "").await;
    refused(&refusal, "executor_unknown");
    assert!(
        refusal["what"].as_str().is_some_and(|it| it.contains("steps[0]")),
        "{refusal}"
    );
    let left: i64 = get(
        &c,
        "select (select count(*) from tenure.execution_rows) + (select count(*) from tenure.plans)",
        &[],
    )
    .await;
    assert_eq!(left, 0);
    let good = ask(&c, &plan("q", &["a modify"])).await;
    assert_eq!(
        decide(&c, "ada", &good, "approve", "").await["execution_state"],
        "running"
    );
}

/// What has to start before a moment is called off in that moment, though an approval of it would wait for longer; and nobody decides about it any more.
/// Proves: S213.
#[tokio::test]
async fn a_window_that_passes_while_an_approval_is_awaited_calls_the_execution_off() {
    let (db, c) = people().await;
    let before = ", p_start_before => tenure.now() + interval '2 seconds'";
    let asked = Asked::of(&submit(&c, "eve", &plan("p", &["a modify"]), before).await);
    let waits = shown(&c, asked.execution).await["waiting_for"][0].to_string();
    let until: String = get(&c, "select start_before::text from tenure.execution_rows", &[]).await;
    assert!(waits.contains(&until), "until when it may be decided: {waits}");
    tick(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "awaiting_approval");
    let listed = "select count(*) from tenure.approval_list()";
    assert_eq!(get::<i64>(&c, listed, &[]).await, 1);

    // The moment has come, and nobody has looked yet.
    db.advance("4 seconds").await;
    assert_eq!(
        get::<i64>(&c, listed, &[]).await,
        0,
        "nobody is offered what cannot be decided"
    );
    for decision in ["approve", "reject"] {
        let late = decide(&c, "ada", &asked, decision, ", 'seen'").await;
        refused(&late, "approval_expired");
        assert!(late["what"].as_str().is_some_and(|it| it.contains(&until)), "{late}");
    }
    tick(&c).await;
    let over = shown(&c, asked.execution).await;
    assert_eq!(
        (&over["state"], &over["reason_code"], &over["next_at"]),
        (&json!("cancelled"), &json!("window_passed"), &json!(null)),
        "{over}"
    );
    assert_eq!(over["approvals"][0]["state"], "withdrawn");
    let late = decide(&c, "ada", &asked, "approve", "").await;
    refused(&late, "approval_expired");
    assert!(late["what"].as_str().is_some_and(|it| it.contains(&until)), "{late}");
    check_executions(&c).await;
}

/// So is one whose plan is approved and whose first step is not; and where an approval had expired before, that is what happened.
#[tokio::test]
async fn a_window_that_passes_while_a_step_is_to_be_approved_calls_the_execution_off() {
    let (db, c) = people().await;
    rule(&c, "careful", json!({"level": 3, "expires_seconds": 600})).await;
    let before = ", p_start_before => tenure.now() + interval '5 minutes'";
    let asked = Asked::of(&submit(&c, "eve", &plan("p", &["a modify"]), before).await);
    decide(&c, "ada", &asked, "approve", "").await;
    let sql = "select approval_id from tenure.approvals where execution_id = $1 and step_number = 1";
    let approval = get(&c, sql, &[&asked.execution]).await;
    let step = Asked { approval, ..asked };
    let later = ", p_start_before => tenure.now() + interval '1 hour'";
    let expired = Asked::of(&submit(&c, "eve", &plan("q", &["a modify"]), later).await);
    db.advance("6 minutes").await;
    refused(&decide(&c, "ada", &step, "approve", "").await, "approval_expired");
    tick(&c).await;
    db.advance("1 hour").await;
    tick(&c).await;
    for (execution, reason) in [
        (step.execution, "window_passed"),
        (expired.execution, "approval_expired"),
    ] {
        let over = shown(&c, execution).await;
        assert_eq!(
            (&over["state"], &over["reason_code"]),
            (&json!("cancelled"), &json!(reason))
        );
    }
    check_executions(&c).await;
}

/// What is looked at first may free the target of what is looked at next, which then is called off there and then.
#[tokio::test]
async fn what_the_same_round_has_ended_is_not_ended_once_more() {
    let (db, c) = people().await;
    rule(&c, "free", json!({"level": 0})).await;
    let at_x = |purpose: &str, class: &str| {
        let mut text = plan(purpose, &["a modify"]);
        text["sla_class"] = json!(class);
        text["steps"][0]["target_ref"] = json!("x");
        text
    };
    let first = id(&submit(&c, "eve", &at_x("first", "fast"), "").await, "execution_id");
    let until = ", p_start_before => tenure.now() + interval '90 minutes'";
    let second = id(&submit(&c, "eve", &at_x("second", "long"), until).await, "execution_id");
    db.advance("2 hours").await;
    tick(&c).await;
    assert_eq!(state_of(&c, first).await, "failed");
    assert_eq!(state_of(&c, second).await, "cancelled");
    assert_eq!(told(&c, second, "execution_cancelled").await, 1);
    check_executions(&c).await;
}

/// Each of them fails its step, and what follows from that is told before the next of them expires.
#[tokio::test]
async fn approvals_that_expire_in_one_round_are_told_in_the_order_of_their_times() {
    let (db, c) = people().await;
    rule(&c, "careful", json!({"target_refs": ["* a", "* b", "* c"], "level": 3})).await;
    let mut text = plan("p", &["z read", "a modify z", "b modify z", "c modify z"]);
    text["on_step_failure"] = json!("continue");
    let asked = ask(&c, &text).await;
    decide(&c, "ada", &asked, "approve", "").await;
    work_all(&c).await;
    db.advance("2 days").await;
    tick(&c).await;
    assert_eq!(told(&c, asked.execution, "approval_expired").await, 3);
    assert_eq!(state_of(&c, asked.execution).await, "partially_failed");
    check_executions(&c).await;
}
