//! Operations on one job by its id: cancel, retry, give up. They find a job wherever it is.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{
    Db, all, check_invariants, claim, claim_with, enqueue, enqueue_with, get, one, raised, reap, refused, rows, run,
    state, try_rows, verb,
};

async fn cancel(client: &Client, job: Uuid) -> Value {
    one(client, "select tenure.job_cancel($1, 'superseded')", &[&job]).await
}

async fn due(client: &Client, job: Uuid) -> jiff::Timestamp {
    get(
        client,
        "select scheduled_at from tenure.job_queue where job_id = $1",
        &[&job],
    )
    .await
}

/// Proves: S107, S116, S146. Guards: D18.
#[tokio::test]
async fn a_waiting_job_is_cancelled_at_once_with_reason_and_actor() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "a").await;
    run(&c, "begin; set local tenure.principal = 'anna'").await;
    let answer = one(
        &c,
        "select tenure.job_cancel($1, 'superseded', p_on_behalf_of => 'bob')",
        &[&job],
    )
    .await;
    run(&c, "commit").await;
    assert_eq!(answer["state"], "cancelled", "{answer}");
    let kept = rows(
        &c,
        "select reason, actor, final from tenure.attempts where job_id = $1",
        &[&job],
    )
    .await;
    assert_eq!(
        (kept[0].get::<_, &str>(0), kept[0].get::<_, &str>(1)),
        ("superseded", "anna")
    );
    let told = rows(
        &c,
        "select actor, on_behalf_of from tenure.events where kind = 'job.cancelled'",
        &[],
    )
    .await;
    assert_eq!((told[0].get::<_, &str>(0), told[0].get::<_, &str>(1)), ("anna", "bob"));
    assert!(claim_with(&c, "w", "").await.is_empty());
    assert_eq!(
        cancel(&c, job).await["state"],
        "cancelled",
        "cancelling twice is no error"
    );
    for reason in ["", " \t"] {
        let job = enqueue(&c, "a").await;
        refused(
            &one(&c, "select tenure.job_cancel($1, $2)", &[&job, &reason]).await,
            "name_blank",
        );
        assert_eq!(state(&c, job).await, "queued");
    }
    refused(
        &one(&c, "select tenure.job_cancel($1, 'x', 'gently')", &[&job]).await,
        "value_unknown",
    );
    refused(&cancel(&c, Uuid::now_v7()).await, "job_not_found");
}

/// Guards: D18, D68.
#[tokio::test]
async fn held_work_is_cancelled_by_its_holder_and_never_retried() {
    let db = Db::open().await;
    let c = db.client().await;
    // Acknowledged.
    let job = enqueue(&c, "a").await;
    let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    refused(
        &verb(&c, "job_acknowledge_cancel", &held, "").await,
        "cancel_not_requested",
    );
    let asked = cancel(&c, job).await;
    assert_eq!(
        (&asked["state"], &asked["cancel_requested"]),
        (&json!("in_progress"), &json!(true))
    );
    assert_eq!(
        verb(&c, "job_acknowledge_cancel", &held, "").await["state"],
        "cancelled"
    );
    // Failed first.
    let job = enqueue(&c, "a").await;
    let held = claim(&c, "w").await;
    cancel(&c, job).await;
    assert_eq!(verb(&c, "job_fail", &held, ", 'x'").await["state"], "cancelled");
    // Expired first.
    let job = enqueue(&c, "a").await;
    claim(&c, "w").await;
    cancel(&c, job).await;
    db.advance("6 minutes").await;
    assert_eq!(reap(&c).await, [(job, "expired".to_owned(), "cancelled".to_owned())]);
    // Released, so that nobody runs it again.
    let job = enqueue(&c, "a").await;
    let held = claim(&c, "w").await;
    cancel(&c, job).await;
    assert_eq!(verb(&c, "job_release", &held, "").await["state"], "cancelled");
    // The work was done before the request reached it: that is the truth.
    let job = enqueue(&c, "a").await;
    let held = claim(&c, "w").await;
    cancel(&c, job).await;
    assert_eq!(verb(&c, "job_complete", &held, "").await["state"], "succeeded");
    // The first request stands, with its reason.
    let job = enqueue(&c, "a").await;
    let held = claim(&c, "w").await;
    cancel(&c, job).await;
    one(&c, "select tenure.job_cancel($1, 'another reason')", &[&job]).await;
    let beat = verb(&c, "job_heartbeat", &held, "").await;
    assert_eq!(
        (&beat["status"], &beat["cancel_reason"]),
        (&json!("cancel"), &json!("superseded"))
    );
    let requests: i64 = get(
        &c,
        "select count(*) from tenure.events where kind = 'job.cancel_requested' and subject = $1::text",
        &[&job],
    )
    .await;
    assert_eq!(requests, 1);
    check_invariants(&c).await;
}

/// Force takes the job from its holder, whose token is worth nothing then.
#[tokio::test]
async fn a_forced_cancel_takes_the_job_from_its_holder() {
    let db = Db::open().await;
    let c = db.client().await;
    for mode in ["leased", "started"] {
        let job = enqueue(&c, "a").await;
        let held = claim_with(&c, "w", &format!(", p_mode => '{mode}'")).await.remove(0);
        let answer = one(&c, "select tenure.job_cancel($1, 'at once', 'force')", &[&job]).await;
        assert_eq!(answer["state"], "cancelled", "{answer}");
        refused(&verb(&c, "job_complete", &held, "").await, "stale_lease");
        let kept = rows(
            &c,
            "select owner, reason, token from tenure.attempts where job_id = $1 and final",
            &[&job],
        )
        .await;
        assert_eq!((kept[0].get::<_, &str>(0), kept[0].get::<_, &str>(1)), ("w", "at once"));
        assert_eq!(kept[0].get::<_, Uuid>(2), held.token);
    }
    check_invariants(&c).await;
}

/// Each way into ready or delayed keeps an address by which the job is found again. Rule: 11, 18.
#[tokio::test]
async fn a_waiting_job_is_found_wherever_it_waits() {
    let db = Db::open().await;
    let c = db.client().await;
    let mut waiting: Vec<(&str, Uuid)> = Vec::new();
    waiting.push(("enqueued", enqueue_with(&c, "a", ", p_priority => '-31'").await));
    waiting.push((
        "due in the past",
        enqueue_with(&c, "b", ", p_due => tenure.now() - interval '3 days'").await,
    ));
    let scheduled = enqueue_with(&c, "c", ", p_due => tenure.now() + interval '1 hour'").await;
    waiting.push(("scheduled", scheduled));
    for (how, verb_name, arguments) in [
        ("failed", "job_fail", ", 'x'"),
        ("failed, at once", "job_fail", ", 'x', p_retry_seconds => 0"),
        ("snoozed", "job_snooze", ", 60"),
        ("released", "job_release", ""),
    ] {
        let job = enqueue_with(&c, how, ", p_priority => 'urgent'").await;
        let held = claim_with(&c, "w", &format!(", p_mode => 'started', p_kinds => array['{how}']"))
            .await
            .remove(0);
        verb(&c, verb_name, &held, arguments).await;
        waiting.push((how, job));
    }
    let job = enqueue(&c, "expired").await;
    claim_with(&c, "w", ", p_kinds => array['expired'], p_lease_seconds => 1").await;
    db.advance("2 seconds").await;
    reap(&c).await;
    waiting.push(("expired", job));
    let job = enqueue_with(&c, "run now", ", p_due => tenure.now() + interval '1 hour'").await;
    one(&c, "select tenure.job_retry($1)", &[&job]).await;
    waiting.push(("run now", job));
    one(
        &c,
        "select tenure.kind_set('rest', '{\"on_exhausted\": \"fail\"}')",
        &[],
    )
    .await;
    let job = enqueue(&c, "rest").await;
    let held = claim_with(&c, "w", ", p_kinds => array['rest']").await.remove(0);
    verb(&c, "job_fail", &held, ", 'x', 'permanent'").await;
    one(&c, "select tenure.job_retry($1)", &[&job]).await;
    waiting.push(("retried by an operator", job));
    // Promoted by a claim for another job of its lane.
    let job = enqueue_with(
        &c,
        "promoted",
        ", p_due => tenure.now() + interval '1 second', p_priority => 'bulk'",
    )
    .await;
    db.advance("2 seconds").await;
    enqueue(&c, "promoted").await;
    claim_with(&c, "w", ", p_kinds => array['promoted']").await;
    waiting.push(("promoted", job));
    check_invariants(&c).await;
    for (n, (how, job)) in waiting.into_iter().enumerate() {
        let (call, becomes) = if n % 2 == 0 {
            ("job_cancel", "cancelled")
        } else {
            ("job_dead_letter", "dead_letter")
        };
        let answer = one(&c, &format!("select tenure.{call}($1, 'no need')"), &[&job]).await;
        assert_eq!(answer["state"], becomes, "{how}: {answer}");
        assert_eq!(state(&c, job).await, becomes, "{how}");
    }
    check_invariants(&c).await;
}

/// A job that moves all the time is found, or the answer says that it kept moving; it is never lost. Rule: 11.
#[tokio::test]
async fn a_job_that_keeps_moving_is_still_cancelled() {
    let db = Db::open().await;
    let (mover, canceller) = (db.client().await, db.client().await);
    for round in 0..25 {
        // More attempts than moves: it cannot die of them before somebody cancels it.
        let job = enqueue_with(&mover, "a", ", p_attempts_max => 100").await;
        let moving = async {
            for _ in 0..40 {
                let Some(held) = claim_with(&mover, "w", ", p_mode => 'started'").await.pop() else {
                    return;
                };
                let (call, arguments) = [
                    ("job_release", ""),
                    ("job_snooze", ", 0"),
                    ("job_fail", ", 'x', p_retry_seconds => 0"),
                ][round % 3];
                verb(&mover, call, &held, arguments).await;
            }
        };
        let cancelling = async {
            let answer = cancel(&canceller, job).await;
            assert!(answer["refused"].is_null(), "{answer}");
        };
        tokio::join!(moving, cancelling);
        while let Some(held) = claim_with(&mover, "w", "").await.pop() {
            verb(&mover, "job_release", &held, "").await;
        }
        let ended = state(&mover, job).await;
        assert!(ended == "cancelled" || ended == "dead_letter", "{ended}");
    }
    check_invariants(&mover).await;
}

/// Two operators at once: one of them wins, and the other is told. Rule: 11.
#[tokio::test]
async fn operators_at_once_leave_one_truth() {
    let db = Db::open().await;
    let mut clients = Vec::new();
    for _ in 0..6 {
        clients.push(db.client().await);
    }
    for _ in 0..10 {
        let job = enqueue(&clients[0], "a").await;
        let calls = ["job_cancel($1, 'x')", "job_dead_letter($1, 'x')", "job_retry($1)"];
        let answers = all(clients
            .iter()
            .enumerate()
            .map(|(n, client)| {
                let sql = format!("select tenure.{}", calls[n % 3]);
                async move { one(client, &sql, &[&job]).await }
            })
            .collect())
        .await;
        for answer in answers {
            let code = answer["code"].as_str().unwrap_or("done");
            assert!(["done", "state_conflict", "busy_try_again"].contains(&code), "{answer}");
        }
        check_invariants(&clients[0]).await;
    }
}

/// "Retry now" keeps the state and makes the job due.
#[tokio::test]
async fn retry_now_keeps_the_state_and_makes_the_job_due() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "a").await;
    let held = claim(&c, "w").await;
    verb(&c, "job_fail", &held, ", 'x', p_retry_seconds => 3600").await;
    let before = due(&c, job).await;
    let answer = one(&c, "select tenure.job_retry($1, 'the disk is back')", &[&job]).await;
    assert_eq!(answer["state"], "retry_waiting", "{answer}");
    assert!(due(&c, job).await < before);
    let held = claim(&c, "w").await;
    assert_eq!((held.job_id, held.attempt), (job, 2), "no attempt is given or taken");
    let answer = one(&c, "select tenure.job_retry($1)", &[&job]).await;
    refused(&answer, "state_conflict");
    let scheduled = enqueue_with(&c, "a", ", p_due => tenure.now() + interval '1 day'").await;
    assert_eq!(
        one(&c, "select tenure.job_retry($1)", &[&scheduled]).await["state"],
        "queued"
    );
    assert_eq!(claim(&c, "w").await.job_id, scheduled);
    refused(
        &one(&c, "select tenure.job_retry($1)", &[&Uuid::now_v7()]).await,
        "job_not_found",
    );
}

/// Guards: D2, D28, D123.
#[tokio::test]
async fn an_operator_gives_a_resting_failed_job_fresh_attempts() {
    let db = Db::open().await;
    let c = db.client().await;
    one(
        &c,
        "select tenure.kind_set('a', '{\"on_exhausted\": \"fail\", \"attempts_max\": 1}')",
        &[],
    )
    .await;
    let job = enqueue(&c, "a").await;
    let held = claim(&c, "w").await;
    assert_eq!(verb(&c, "job_fail", &held, ", 'x'").await["state"], "failed");
    assert!(claim_with(&c, "w", "").await.is_empty(), "it rests");
    refused(&cancel(&c, job).await, "state_conflict");
    let answer = one(&c, "select tenure.job_retry($1)", &[&job]).await;
    assert_eq!(answer["state"], "queued", "{answer}");
    let held = claim(&c, "w").await;
    assert_eq!((held.job_id, held.attempt, held.run), (job, 1, 2));
    assert_eq!(verb(&c, "job_complete", &held, "").await["state"], "succeeded");
    check_invariants(&c).await;
}

/// Proves: S51. Guards: D33.
#[tokio::test]
async fn an_operator_gives_up_on_a_waiting_job_with_a_reason() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue_with(
        &c,
        "a",
        ", p_key => 'k', p_source_ref => 's', p_payload => '{\"n\": 1}'",
    )
    .await;
    let answer = one(&c, "select tenure.job_dead_letter($1, 'the customer left')", &[&job]).await;
    assert_eq!(answer["state"], "dead_letter", "{answer}");
    let letter = rows(
        &c,
        "select dead_letter_id::text, final_error, payload, source_ref, idempotency_key, triage_status from tenure.dead_letters where job_id = $1",
        &[&job],
    )
    .await;
    assert_eq!(answer["dead_letter_id"], letter[0].get::<_, &str>(0));
    assert_eq!(letter[0].get::<_, &str>(1), "the customer left");
    assert_eq!(letter[0].get::<_, Value>(2), json!({"n": 1}));
    let held_job = enqueue(&c, "a").await;
    let held = claim(&c, "w").await;
    refused(
        &one(&c, "select tenure.job_dead_letter($1, 'x')", &[&held_job]).await,
        "state_conflict",
    );
    verb(&c, "job_complete", &held, "").await;
    refused(
        &one(&c, "select tenure.job_dead_letter($1, 'x')", &[&held_job]).await,
        "state_conflict",
    );
}

/// Proves: S57, S129, S130. Guards: D33, D64. Every function behind the gate refuses before it looks at anything.
#[tokio::test]
async fn behind_a_closed_gate_nothing_happens() {
    let db = Db::inert().await;
    let c = db.client().await;
    let id = "'01990000-0000-7000-8000-000000000001'::uuid";
    for call in [
        "job_enqueue('a', '{\"password\": 1}')".to_owned(),
        "job_enqueue('')".to_owned(),
        "job_claim('')".to_owned(),
        format!("job_start({id}, {id})"),
        format!("job_progress({id}, {id}, '[]')"),
        format!("job_heartbeat({id}, {id})"),
        format!("job_complete({id}, {id})"),
        format!("job_fail({id}, {id}, 'x')"),
        format!("job_snooze({id}, {id}, -1)"),
        format!("job_release({id}, {id})"),
        format!("job_acknowledge_cancel({id}, {id})"),
        format!("job_cancel({id}, '')"),
        format!("job_retry({id})"),
        format!("job_dead_letter({id}, '')"),
        "executor_beat('', 'MOT')".to_owned(),
        "job_sweep()".to_owned(),
    ] {
        let answer = one(&c, &format!("select tenure.{call}"), &[]).await;
        refused(&answer, "gate_closed");
    }
    for call in [
        "job_enqueue_many(array['', 'b'])".to_owned(),
        "job_enqueue_many('{}')".to_owned(),
        "job_claim_many('')".to_owned(),
        format!("job_start_many(array[{id}], '{{}}')"),
        format!("job_heartbeat_many(array[{id}], '{{}}')"),
        format!("job_end_many(array[{id}], '{{}}', '{{}}')"),
        "job_turn('{}', '{}', '{}', null, null, null, null, null, null, 'w', null, null, 1, 60, 'started', null)"
            .to_owned(),
        "job_reap()".to_owned(),
        "lane_open('')".to_owned(),
        "worker_park()".to_owned(),
    ] {
        let told = raised(
            try_rows(&c, &format!("select * from tenure.{call}"), &[]).await,
            "gate_closed",
        );
        if call.starts_with("job_enqueue") {
            assert!(told.contains("job_substrate_disabled"), "{told}");
        }
    }
    let written: i64 = get(
        &c,
        "select (select count(*) from tenure.jobs) + (select count(*) from tenure.lanes) + (select count(*) from tenure.events)
              + (select count(*) from tenure.heartbeats) + (select count(*) from tenure.attempts)",
        &[],
    )
    .await;
    assert_eq!(written, 0);
    // One gate opens all of it, and closing it stops all of it at once.
    one(&c, "select tenure.gate_set('queue.job_substrate.enabled', 'open')", &[]).await;
    let job = enqueue(&c, "a").await;
    one(
        &c,
        "select tenure.gate_set('queue.job_substrate.enabled', 'closed')",
        &[],
    )
    .await;
    refused(&cancel(&c, job).await, "gate_closed");
    assert_eq!(state(&c, job).await, "queued");
}

/// Proves: S63, S64, S66. Guards: D32.
#[tokio::test]
async fn a_changed_tuning_key_holds_for_the_next_job() {
    let db = Db::open().await;
    let c = db.client().await;
    let before = enqueue(&c, "a").await;
    one(
        &c,
        "select tenure.config_set('queue.retry.max_attempts_default', '2')",
        &[],
    )
    .await;
    one(
        &c,
        "select tenure.config_set('queue.retry.backoff_base_sec', '100')",
        &[],
    )
    .await;
    let after = enqueue(&c, "a").await;
    let given = enqueue_with(&c, "a", ", p_attempts_max => 9").await;
    one(
        &c,
        "select tenure.kind_set('a', '{\"attempts_max\": 4, \"backoff_base_seconds\": 7}')",
        &[],
    )
    .await;
    let by_kind = enqueue(&c, "a").await;
    let policy = async |job: Uuid| -> (i16, i32) {
        let row = rows(
            &c,
            "select attempts_max, backoff_base_seconds from tenure.jobs where job_id = $1",
            &[&job],
        )
        .await;
        (row[0].get(0), row[0].get(1))
    };
    assert_eq!(
        policy(before).await,
        (5, 10),
        "a job keeps the policy it was enqueued under"
    );
    assert_eq!(policy(after).await, (2, 100));
    assert_eq!(policy(given).await, (9, 100));
    assert_eq!(policy(by_kind).await, (4, 7));
}
