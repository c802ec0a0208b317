//! The end of a run: fenced, once, whatever moves at the same time.

use serde_json::json;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{
    Claimed, Db, check_invariants, claim, claim_with, enqueue, enqueue_with, get, one, reap, refused, rows, run, state,
    until_blocked, verb,
};

/// A job that is held and started.
pub(crate) async fn started(client: &Client, kind: &str) -> Claimed {
    enqueue(client, kind).await;
    claim_with(client, "w", ", p_mode => 'started'").await.remove(0)
}

/// Proves: S119. Rule: 6.
#[tokio::test]
async fn an_end_that_waited_for_a_cancel_request_ends_the_job_once() {
    for (function, arguments, becomes) in [
        ("job_complete", "", "succeeded"),
        ("job_fail", ", 'broken'", "cancelled"),
        ("job_release", "", "cancelled"),
        ("job_snooze", ", 60", "cancelled"),
    ] {
        let db = Db::open().await;
        let (a, b, watch) = (db.client().await, db.client().await, db.client().await);
        let held = started(&a, "race").await;
        run(&a, "begin").await;
        let asked = one(&a, "select tenure.job_cancel($1, 'superseded')", &[&held.job_id]).await;
        assert_eq!(asked["cancel_requested"], true, "{asked}");
        let (ended, ()) = tokio::join!(verb(&b, function, &held, arguments), async {
            until_blocked(&watch, function).await;
            run(&a, "commit").await;
        });
        assert_eq!(ended["state"], becomes, "{function}: {ended}");
        check_invariants(&watch).await;
        assert_eq!(state(&watch, held.job_id).await, becomes, "{function}");
    }
}

/// Proves: S101, S114, S152. Guards: D22, D49.
#[tokio::test]
async fn a_completed_job_keeps_its_result_and_when_it_ended() {
    let db = Db::open().await;
    let c = db.client().await;
    let held = started(&c, "a").await;
    let done = verb(&c, "job_complete", &held, ", '{\"rows\": 12}', 's3://bucket/report'").await;
    assert_eq!(
        (&done["status"], &done["state"]),
        (&json!("ended"), &json!("succeeded")),
        "{done}"
    );
    let shown = one(&c, "select tenure.job_show($1)", &[&held.job_id]).await;
    assert_eq!(shown["result"], json!({"rows": 12}));
    assert_eq!(shown["result_ref"], "s3://bucket/report");
    assert!(
        shown["finished_at"].is_string() && shown["started_at"].is_string(),
        "{shown}"
    );
    // A leased job may be completed too: the work was done, however it was started.
    enqueue(&c, "a").await;
    let held = claim(&c, "w").await;
    assert_eq!(verb(&c, "job_complete", &held, "").await["state"], "succeeded");
}

/// Proves: S52, S67, S68, S69, S80, S102, S105, S115. Guards: D7, D74.
#[tokio::test]
async fn a_failed_run_comes_back_after_its_backoff_and_not_sooner() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "a").await;
    for (attempt, delay) in [(1, 10.0), (2, 20.0), (3, 40.0), (4, 80.0)] {
        let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
        assert_eq!(held.attempt, attempt);
        let failed = verb(
            &c,
            "job_fail",
            &held,
            ", 'connection refused', p_code => 'connect', p_class => 'network'",
        )
        .await;
        assert_eq!(failed["state"], "retry_waiting", "{failed}");
        let waits: f64 = get(
            &c,
            "select extract(epoch from next_due - ended_at)::float8 from tenure.attempts where job_id = $1 and run = $2",
            &[&job, &held.run],
        )
        .await;
        assert_eq!(waits, delay, "attempt {attempt}");
        db.advance(&format!("{} seconds", delay - 1.0)).await;
        assert!(
            claim_with(&c, "w", "").await.is_empty(),
            "not claimable before it is due"
        );
        db.advance("2 seconds").await;
    }
    let held = claim(&c, "w").await;
    let failed = verb(&c, "job_fail", &held, ", 'connection refused', p_code => 'connect'").await;
    assert_eq!(failed["state"], "dead_letter", "five attempts are used up: {failed}");
    let seen = rows(
        &c,
        "select last_error, last_error_at is not null, attempts from tenure.job_queue where job_id = $1",
        &[&job],
    )
    .await;
    assert_eq!(seen[0].get::<_, &str>(0), "connection refused");
    assert!(seen[0].get::<_, bool>(1));
    assert_eq!(seen[0].get::<_, i32>(2), 5);
}

/// Proves: S51, S104. Guards: D2, D52, D69.
#[tokio::test]
async fn a_permanent_failure_gives_up_at_once() {
    let db = Db::open().await;
    let c = db.client().await;
    let held = started(&c, "a").await;
    let failed = verb(&c, "job_fail", &held, ", 'no such user', 'permanent'").await;
    assert_eq!(failed["state"], "dead_letter", "{failed}");
    let letter: String = get(
        &c,
        "select final_error from tenure.dead_letters where job_id = $1",
        &[&held.job_id],
    )
    .await;
    assert_eq!(letter, "no such user");
    // Where the kind says so, failed is where it rests.
    one(&c, "select tenure.kind_set('b', '{\"on_exhausted\": \"fail\"}')", &[]).await;
    let held = started(&c, "b").await;
    assert_eq!(
        verb(&c, "job_fail", &held, ", 'no such user', 'permanent'").await["state"],
        "failed"
    );
    assert_eq!(state(&c, held.job_id).await, "failed");
    // The caller's own delay replaces the backoff, within its bounds.
    let held = started(&c, "a").await;
    let failed = verb(&c, "job_fail", &held, ", 'later', p_retry_seconds => 3600").await;
    let waits: f64 = get(
        &c,
        "select extract(epoch from next_due - ended_at)::float8 from tenure.attempts where job_id = $1",
        &[&held.job_id],
    )
    .await;
    assert_eq!((failed["state"].as_str(), waits), (Some("retry_waiting"), 3600.0));
    let held = started(&c, "a").await;
    refused(
        &verb(&c, "job_fail", &held, ", 'x', p_retry_seconds => -1").await,
        "number_out_of_range",
    );
    refused(
        &verb(&c, "job_fail", &held, ", 'x', 'sometimes'").await,
        "value_unknown",
    );
    assert_eq!(state(&c, held.job_id).await, "in_progress");
}

/// Proves: S115, S231.
#[tokio::test]
async fn an_error_message_is_masked_and_cut() {
    let db = Db::open().await;
    let c = db.client().await;
    let held = started(&c, "a").await;
    let long = format!("password=hunter2 {}", "é".repeat(100_000));
    one(
        &c,
        "select tenure.job_fail($1, $2, $3, 'permanent')",
        &[&held.job_id, &held.token, &long],
    )
    .await;
    for place in [
        "error_message from tenure.attempts",
        "final_error from tenure.dead_letters",
    ] {
        let kept: String = get(&c, &format!("select {place} where job_id = $1"), &[&held.job_id]).await;
        assert!(kept.starts_with("password=*** ") && kept.ends_with('…'), "{place}");
        assert!(kept.len() <= 4000 && kept.len() > 3990, "{place}: {}", kept.len());
    }
}

/// Guards: D4. The attempt is given back; the run, which orders side effects, never goes back.
#[tokio::test]
async fn snooze_and_release_give_the_attempt_back_and_never_the_run() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "a").await;
    let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    let answer = verb(&c, "job_snooze", &held, ", 60").await;
    assert_eq!(answer["state"], "retry_waiting", "{answer}");
    assert!(claim_with(&c, "w", "").await.is_empty());
    db.advance("61 seconds").await;
    let held = claim(&c, "w").await;
    assert_eq!((held.job_id, held.attempt, held.run), (job, 1, 2));
    refused(&verb(&c, "job_snooze", &held, ", 60").await, "state_conflict");
    assert_eq!(verb(&c, "job_release", &held, "").await["state"], "queued");
    let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    assert_eq!((held.attempt, held.run), (1, 3));
    assert_eq!(verb(&c, "job_release", &held, "").await["state"], "queued");
    assert_eq!(claim(&c, "w").await.run, 4);
    for seconds in [-1, 30 * 86_400 + 1] {
        let held = started(&c, "b").await;
        let answer = one(
            &c,
            "select tenure.job_snooze($1, $2, $3)",
            &[&held.job_id, &held.token, &seconds],
        )
        .await;
        refused(&answer, "number_out_of_range");
    }
}

/// Proves: S13, S14, S91, S92, S100, S153. Guards: D21, D42, D77.
#[tokio::test]
async fn every_run_keeps_its_own_times_and_a_start_is_set_once() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "a").await;
    let held = claim(&c, "w").await;
    let first = verb(&c, "job_progress", &held, ", '{\"percent\": 10}'").await;
    assert_eq!(first["state"], "in_progress", "the first progress starts it: {first}");
    db.advance("5 seconds").await;
    let second = verb(&c, "job_progress", &held, ", '{\"percent\": 20}'").await;
    assert_eq!(second["started_at"], first["started_at"]);
    let unfinished: bool = get(
        &c,
        "select finished_at is null from tenure.job_queue where job_id = $1",
        &[&job],
    )
    .await;
    assert!(unfinished);
    verb(&c, "job_fail", &held, ", 'x', p_retry_seconds => 0").await;
    let held = claim_with(&c, "w2", ", p_mode => 'started'").await.remove(0);
    verb(&c, "job_complete", &held, "").await;
    let runs = rows(
        &c,
        "select run, owner, started_at > lag(started_at) over (order by run), ended_at >= started_at, started_at >= leased_at
           from tenure.attempts where job_id = $1 order by run",
        &[&job],
    )
    .await;
    let owners: Vec<&str> = runs.iter().map(|row| row.get(1)).collect();
    assert_eq!(owners, ["w", "w2"]);
    assert!(runs[1].get::<_, bool>(2) && runs.iter().all(|row| row.get::<_, bool>(3) && row.get::<_, bool>(4)));
    let finished: bool = get(
        &c,
        "select finished_at is not null from tenure.job_queue where job_id = $1",
        &[&job],
    )
    .await;
    assert!(finished);
}

/// Rule: 9.
#[tokio::test]
async fn an_end_outside_a_run_writes_the_next_run_without_a_token() {
    let db = Db::open().await;
    let c = db.client().await;
    let last = async |job: Uuid| -> (i32, bool, String, bool) {
        let row = rows(
            &c,
            "select run, token is null and leased_at is null, outcome, final from tenure.attempts where job_id = $1 order by run desc limit 1",
            &[&job],
        )
        .await;
        (row[0].get(0), row[0].get(1), row[0].get(2), row[0].get(3))
    };
    let cancelled = enqueue(&c, "a").await;
    one(&c, "select tenure.job_cancel($1, 'no need')", &[&cancelled]).await;
    assert_eq!(last(cancelled).await, (1, true, "cancelled".to_owned(), true));

    let moved = enqueue(&c, "a").await;
    one(&c, "select tenure.job_dead_letter($1, 'given up')", &[&moved]).await;
    assert_eq!(last(moved).await, (1, true, "moved".to_owned(), true));

    let late = enqueue_with(&c, "a", ", p_deadline => tenure.now() + interval '1 minute'").await;
    db.advance("2 minutes").await;
    reap(&c).await;
    assert_eq!(last(late).await, (1, true, "deadline_passed".to_owned(), true));

    let retried = enqueue(&c, "a").await;
    let held = claim(&c, "w").await;
    verb(&c, "job_fail", &held, ", 'x', p_retry_seconds => 600").await;
    one(&c, "select tenure.job_retry($1)", &[&retried]).await;
    assert_eq!(last(retried).await, (2, true, "rescheduled".to_owned(), false));
    one(&c, "select tenure.job_cancel($1, 'no need')", &[&retried]).await;
    assert_eq!(last(retried).await, (3, true, "cancelled".to_owned(), true));
    let seen: i64 = get(
        &c,
        "select count(*) from tenure.attempts where job_id = $1 and final",
        &[&retried],
    )
    .await;
    assert_eq!(seen, 1, "the latest run is the truth");
}

/// Proves: S119, S151. The trace is written in the transaction of the change, or neither is.
#[tokio::test]
async fn every_transition_leaves_its_event_in_the_same_transaction() {
    let db = Db::open().await;
    let c = db.client().await;
    let told = async |job: Uuid| -> Vec<String> {
        let sql = "select kind from tenure.events where $1 = any (job_ids) or subject = $1::text order by seq";
        rows(&c, sql, &[&job]).await.iter().map(|row| row.get(0)).collect()
    };
    let job = enqueue(&c, "a").await;
    let held = claim(&c, "w").await;
    verb(&c, "job_start", &held, "").await;
    verb(&c, "job_fail", &held, ", 'x', p_retry_seconds => 0").await;
    let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    one(&c, "select tenure.job_cancel($1, 'superseded')", &[&job]).await;
    verb(&c, "job_acknowledge_cancel", &held, "").await;
    assert_eq!(
        told(job).await,
        [
            "job.enqueued",
            "job.leased",
            "job.started",
            "job.failed",
            "job.retry_scheduled",
            "job.leased",
            "job.started",
            "job.cancel_requested",
            "job.cancelled",
        ]
    );
    let timeline = rows(&c, "select verb, actor from tenure.job_timeline($1)", &[&job]).await;
    let verbs: Vec<&str> = timeline.iter().map(|row| row.get(0)).collect();
    assert_eq!(
        verbs,
        [
            "enqueue",
            "claim",
            "start",
            "fail",
            "schedule_retry",
            "claim",
            "start",
            "cancel_requested",
            "cancel"
        ]
    );

    let before: i64 = get(&c, "select count(*) from tenure.events", &[]).await;
    run(&c, "begin").await;
    let lost = enqueue(&c, "a").await;
    claim(&c, "w").await;
    run(&c, "rollback").await;
    assert_eq!(state(&c, lost).await, "no such job");
    let after: i64 = get(&c, "select count(*) from tenure.events", &[]).await;
    assert_eq!(after, before);
    // An empty claim leaves no trace at all.
    assert!(claim_with(&c, "w", "").await.is_empty());
    let after: i64 = get(&c, "select count(*) from tenure.events", &[]).await;
    assert_eq!(after, before);
}
