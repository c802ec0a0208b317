//! What becomes of a slot's job is written to the slot, in the transaction of the end.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{claim_with, get, one, reap, run, state, verb};
use crate::leases::policy;
use crate::schedules_scene::{begin, events, job_of, look, look_after, on_the_hour, schedule, slot, slots};

/// Proves: S233, S236, S240, S243, S249.
#[tokio::test]
async fn a_success_is_written_to_the_slot_with_the_end_itself() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *"})).await;
    look(&mut s).await;
    look_after(&db, &mut s, "5 minutes").await;
    let held = begin(&c).await;
    let shown = one(
        &c,
        "select to_jsonb(x) from tenure.schedule_slots('a', '{running}') x",
        &[],
    )
    .await;
    assert_eq!(
        (&shown["job_state"], &shown["worker"], &shown["attempts"]),
        (&json!("in_progress"), &json!("w"), &json!(1))
    );
    db.advance("90 seconds").await;
    run(&c, "begin").await;
    verb(
        &c,
        "job_complete",
        &held,
        r#", '{"rows_affected": 12, "note": "fine"}', 's3://out'"#,
    )
    .await;
    assert_eq!(
        slots(&c, "a").await,
        ["5 succeeded", "10 planned"],
        "within the same transaction"
    );
    run(&c, "rollback").await;
    assert_eq!(slots(&c, "a").await, ["5 running", "10 planned"], "and not without it");

    verb(
        &c,
        "job_complete",
        &held,
        r#", '{"rows_affected": 12, "note": "fine"}', 's3://out'"#,
    )
    .await;
    let kept = one(
        &c,
        "select to_jsonb(x) from tenure.schedule_slots('a', '{succeeded}') x",
        &[],
    )
    .await;
    for (column, value) in [
        ("attempts", json!(1)),
        ("worker", json!("w")),
        ("rows_affected", json!(12)),
        ("result", json!({"rows_affected": 12, "note": "fine"})),
        ("result_ref", json!("s3://out")),
        ("error_code", Value::Null),
        ("job_id", json!(held.job_id.to_string())),
    ] {
        assert_eq!(kept[column], value, "{column}");
    }
    let took = kept["duration_ms"].as_i64().expect("a duration");
    assert!((90_000..150_000).contains(&took), "{took}");
    let told = events(&c, "schedule.slot_succeeded").await;
    assert_eq!((told.len(), &told[0]["duration_ms"]), (1, &json!(took)));
    let shown = one(&c, "select to_jsonb(x) from tenure.schedule_show('a') x", &[]).await;
    assert_eq!(
        shown["succeeded_slot"], kept["plan_time"],
        "how far behind it is, is told of its last success"
    );
    assert_eq!(shown["last_state"], "succeeded");
}

/// Proves: S234, S236, S242, S245.
#[tokio::test]
async fn a_failure_is_written_when_the_last_attempt_has_failed_and_a_retry_opens_the_slot_again() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    policy(
        &c,
        "report",
        json!({"on_exhausted": "fail", "attempts_max": 9, "backoff_base_seconds": 700, "backoff_jitter_percent": 0}),
    )
    .await;
    schedule(
        &c,
        "a",
        json!({"cron": "*/5 * * * *", "attempts_max": 2, "backoff_base_seconds": 20}),
    )
    .await;
    look(&mut s).await;
    look_after(&db, &mut s, "5 minutes").await;
    let held = begin(&c).await;
    verb(&c, "job_fail", &held, ", 'no paper', p_code => 'E1'").await;
    let shown = one(
        &c,
        "select to_jsonb(x) from tenure.schedule_slots('a', '{running}') x",
        &[],
    )
    .await;
    assert_eq!(
        (&shown["job_state"], &shown["attempts"], &shown["error_code"]),
        (&json!("retry_waiting"), &json!(1), &json!("E1"))
    );
    let soon: bool = get(&c, "select x.next_retry_at between tenure.now() + interval '10 s' and tenure.now() + interval '20 s' from tenure.schedule_slots('a', '{running}') x", &[]).await;
    assert!(soon, "the schedule's own delay: {shown}");
    db.advance("20 seconds").await;
    let held = begin(&c).await;
    verb(&c, "job_fail", &held, ", 'still no paper', p_code => 'E2'").await;
    assert_eq!(slots(&c, "a").await, ["5 failed E2", "10 planned"]);
    let (message, attempts): (String, i16) = (
        slot(&c, "failed", "error_message").await,
        slot(&c, "failed", "attempts").await,
    );
    assert_eq!((message.as_str(), attempts), ("still no paper", 2));
    assert_eq!(events(&c, "schedule.slot_failed").await.len(), 1);

    one(&c, "select tenure.job_retry($1)", &[&held.job_id]).await;
    assert_eq!(slots(&c, "a").await, ["5 running", "10 planned"]);
    let held = begin(&c).await;
    verb(&c, "job_complete", &held, "").await;
    assert_eq!(slots(&c, "a").await, ["5 succeeded", "10 planned"]);
    let error: Option<String> = slot(&c, "succeeded", "error_message").await;
    assert_eq!(error, None);
}

#[tokio::test]
async fn a_dead_letter_fails_the_slot_and_its_replay_runs_for_the_same_slot() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *", "attempts_max": 1})).await;
    look(&mut s).await;
    look_after(&db, &mut s, "5 minutes").await;
    let held = begin(&c).await;
    verb(&c, "job_fail", &held, &format!(", '{}'", "é".repeat(1990))).await;
    assert_eq!(state(&c, held.job_id).await, "dead_letter");
    assert_eq!(slots(&c, "a").await[0].split(' ').nth(1), Some("failed"));
    let letter: Uuid = get(&c, "select dead_letter_id from tenure.dead_letters", &[]).await;
    one(&c, "select tenure.dead_letter_triage($1, 'manual_replay')", &[&letter]).await;
    let replayed = one(&c, "select tenure.dead_letter_replay($1)", &[&letter]).await;
    assert_eq!(slots(&c, "a").await, ["5 running", "10 planned"]);
    let again = begin(&c).await;
    assert_eq!(replayed["job_id"], json!(again.job_id.to_string()));
    verb(&c, "job_complete", &again, "").await;
    assert_eq!(slots(&c, "a").await, ["5 succeeded", "10 planned"]);
    assert_eq!(job_of(&c, "a", 5).await, again.job_id);
}

#[tokio::test]
async fn a_cancelled_run_cancels_its_slot_whoever_cancels_it_and_however() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    for name in ["waiting", "held", "asked", "buried"] {
        schedule(&c, name, json!({"cron": "*/5 * * * *", "kind": name})).await;
    }
    look(&mut s).await;
    look_after(&db, &mut s, "5 minutes").await;
    let cancel = async |name: &str, mode: &str| {
        let job = job_of(&c, name, 5).await;
        one(&c, "select tenure.job_cancel($1, 'no longer', $2)", &[&job, &mode]).await
    };
    let claimed = async |kind: &str| {
        let arguments = format!(", p_kinds => array['{kind}'], p_mode => 'started'");
        claim_with(&c, "w", &arguments).await.remove(0)
    };
    cancel("waiting", "cooperative").await;
    assert_eq!(slots(&c, "waiting").await, ["5 cancelled cancelled", "10 planned"]);
    let (attempts, message): (i16, String) = (
        slot(&c, "cancelled", "attempts").await,
        slot(&c, "cancelled", "error_message").await,
    );
    assert_eq!((attempts, message.as_str()), (0, "no longer"));
    claimed("held").await;
    cancel("held", "force").await;
    assert_eq!(slots(&c, "held").await, ["5 cancelled cancelled", "10 planned"]);
    let held = claimed("asked").await;
    cancel("asked", "cooperative").await;
    assert_eq!(
        slots(&c, "asked").await,
        ["5 running", "10 planned"],
        "it was only asked"
    );
    verb(&c, "job_acknowledge_cancel", &held, "").await;
    assert_eq!(slots(&c, "asked").await, ["5 cancelled cancelled", "10 planned"]);
    assert_eq!(events(&c, "schedule.slot_cancelled").await.len(), 3);
    let buried = job_of(&c, "buried", 5).await;
    one(&c, "select tenure.job_dead_letter($1, 'hopeless')", &[&buried]).await;
    assert_eq!(slots(&c, "buried").await[0].split(' ').nth(1), Some("failed"));
}

/// Proves: S235, S239, S241, S250.
/// Guards: D117, D119.
#[tokio::test]
async fn a_lost_run_is_run_again_unless_its_schedule_refuses_and_then_it_is_a_stale_timeout() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "again", json!({"cron": "*/30 * * * *", "kind": "again"})).await;
    schedule(
        &c,
        "once",
        json!({"cron": "*/30 * * * *", "kind": "once", "reentry": "refused"}),
    )
    .await;
    schedule(
        &c,
        "timed",
        json!({"cron": "*/30 * * * *", "kind": "timed", "reentry": "refused", "run_timeout_seconds": 60}),
    )
    .await;
    look(&mut s).await;
    look_after(&db, &mut s, "30 minutes").await;
    let held = claim_with(&c, "w", ", p_limit => 3, p_mode => 'started'").await;
    assert_eq!(held.len(), 3);
    db.advance("70 seconds").await;
    assert_eq!(reap(&c).await.len(), 1, "the one with a run timeout");
    assert_eq!(slots(&c, "timed").await, ["30 failed stale_timeout", "60 planned"]);
    db.advance("6 minutes").await;
    assert_eq!(reap(&c).await.len(), 2);
    assert_eq!(slots(&c, "again").await, ["30 running", "60 planned"]);
    assert_eq!(slots(&c, "once").await, ["30 failed stale_timeout", "60 planned"]);
    db.advance("10 minutes").await;
    look(&mut s).await;
    let again = claim_with(&c, "v", ", p_limit => 3, p_mode => 'started'").await;
    assert_eq!(again.len(), 1, "no automatic rerun of the others");
    let old = held
        .iter()
        .find(|it| it.job_id == again[0].job_id)
        .expect("the first run");
    let late = verb(&c, "job_complete", old, "").await;
    assert_eq!(late["code"], "stale_lease", "{late}");
    assert_eq!(
        slots(&c, "again").await,
        ["30 running", "60 planned"],
        "who lost its lease writes nothing"
    );
    verb(&c, "job_complete", &again[0], "").await;
    let attempts: i16 = slot(&c, "succeeded", "attempts").await;
    assert_eq!(attempts, 2);
    let code: String = get(
        &c,
        "select string_agg(distinct error_code, ' ') from tenure.dead_letters",
        &[],
    )
    .await;
    assert_eq!(code, "stale_timeout");
}

/// A run that was claimed and never started did nothing: it may be run again whatever the schedule says.
#[tokio::test]
async fn a_run_that_never_started_is_no_reentry() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "once", json!({"cron": "*/30 * * * *", "reentry": "refused"})).await;
    look(&mut s).await;
    look_after(&db, &mut s, "30 minutes").await;
    claim_with(&c, "w", "").await;
    db.advance("6 minutes").await;
    assert_eq!(reap(&c).await.len(), 1);
    assert_eq!(slots(&c, "once").await, ["30 running", "60 planned"]);
    verb(&c, "job_complete", &begin(&c).await, "").await;
    assert_eq!(slots(&c, "once").await, ["30 succeeded", "60 planned"]);
}

#[tokio::test]
async fn a_run_timeout_holds_also_when_the_kind_has_moved_to_another_executor() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(
        &c,
        "a",
        json!({"cron": "*/30 * * * *", "run_timeout_seconds": 60, "attempts_max": 1}),
    )
    .await;
    policy(&c, "report", json!({"executor": "Codex"})).await;
    look(&mut s).await;
    look_after(&db, &mut s, "30 minutes").await;
    let held = claim_with(&c, "w", ", 'Codex', p_mode => 'started'").await;
    assert_eq!(held.len(), 1);
    db.advance("70 seconds").await;
    assert_eq!(reap(&c).await.len(), 1);
    assert_eq!(slots(&c, "a").await, ["30 failed timed_out", "60 planned"]);
}
