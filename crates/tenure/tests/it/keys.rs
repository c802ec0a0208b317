//! Idempotency keys: one unfinished job per tenant, kind and key, whatever races.

use std::collections::BTreeSet;

use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{
    Claimed, Db, all, check_invariants, claim, claim_with, enqueue, enqueue_with, get, id_of, one, reap, refused, rows,
    run, state, until_blocked, verb,
};

/// Enqueues under the key and answers with the job and whether it stood already.
async fn keyed(client: &Client, kind: &str, key: &str) -> (Uuid, bool) {
    let answer = one(client, "select tenure.job_enqueue($1, p_key => $2)", &[&kind, &key]).await;
    let duplicate = answer["duplicate"].as_bool().unwrap_or_else(|| panic!("{answer}"));
    (id_of(&answer), duplicate)
}

async fn keep_failed_at_rest(client: &Client, kind: &str) {
    let policy = serde_json::json!({"on_exhausted": "fail", "attempts_max": 1});
    one(client, "select tenure.kind_set($1, $2)", &[&kind, &policy]).await;
}

/// A job of the kind that failed for good and rests.
async fn resting(client: &Client, kind: &str, key: &str) -> Uuid {
    keep_failed_at_rest(client, kind).await;
    let (job, duplicate) = keyed(client, kind, key).await;
    assert!(!duplicate);
    let held = claim_with(client, "w", &format!(", p_kinds => array['{kind}']"))
        .await
        .remove(0);
    verb(client, "job_fail", &held, ", 'broken', 'permanent'").await;
    assert_eq!(state(client, job).await, "failed");
    job
}

/// Proves: S18, S22, S47, S48, S74. Guards: D29, D72. Rule: 1.
#[tokio::test]
async fn many_concurrent_enqueues_of_one_key_make_one_job() {
    let db = Db::open().await;
    let mut clients = Vec::new();
    for _ in 0..12 {
        clients.push(db.client().await);
    }
    for round in 0..5 {
        let key = format!("key {round}");
        let answers: Vec<(Uuid, bool)> = all(clients.iter().map(|client| keyed(client, "race", &key)).collect()).await;
        assert_eq!(
            answers.iter().filter(|(_, duplicate)| !duplicate).count(),
            1,
            "{answers:?}"
        );
        let jobs: BTreeSet<Uuid> = answers.iter().map(|(job, _)| *job).collect();
        assert_eq!(jobs.len(), 1, "{answers:?}");
    }
    let stored: i64 = get(&clients[0], "select count(*) from tenure.jobs", &[]).await;
    assert_eq!(stored, 5);
    check_invariants(&clients[0]).await;
}

/// Proves: S22, S23. Guards: D2, D28. Rule: 1.
#[tokio::test]
async fn a_key_is_taken_until_the_final_record_and_free_after_it() {
    let db = Db::open().await;
    let c = db.client().await;

    // Succeeded, by way of every unfinished state.
    let (job, _) = keyed(&c, "a", "k").await;
    assert_eq!(keyed(&c, "a", "k").await, (job, true), "queued");
    let held = claim(&c, "w").await;
    assert_eq!(keyed(&c, "a", "k").await, (job, true), "leased");
    verb(&c, "job_start", &held, "").await;
    assert_eq!(keyed(&c, "a", "k").await, (job, true), "in_progress");
    verb(&c, "job_fail", &held, ", 'broken', p_retry_seconds => 0").await;
    assert_eq!(state(&c, job).await, "retry_waiting");
    assert_eq!(
        keyed(&c, "a", "k").await,
        (job, true),
        "a failed run that will be retried is not final"
    );
    let held = claim(&c, "w").await;
    verb(&c, "job_complete", &held, "").await;
    let (second, duplicate) = keyed(&c, "a", "k").await;
    assert!(!duplicate && second != job, "free after succeeded, with a new id");

    // Cancelled.
    one(&c, "select tenure.job_cancel($1, 'no need')", &[&second]).await;
    let (third, duplicate) = keyed(&c, "a", "k").await;
    assert!(!duplicate, "free after cancelled");

    // Dead letter.
    one(&c, "select tenure.job_dead_letter($1, 'given up')", &[&third]).await;
    let (fourth, duplicate) = keyed(&c, "a", "k").await;
    assert!(!duplicate, "free after dead_letter");

    // Cleaned.
    one(&c, "select tenure.job_cancel($1, 'no need')", &[&fourth]).await;
    db.advance("8 days").await;
    let swept = one(&c, "select tenure.job_sweep()", &[]).await;
    assert!(swept["cleaned"].as_i64() >= Some(2), "{swept}");
    assert_eq!(state(&c, fourth).await, "cleaned");
    let (_, duplicate) = keyed(&c, "a", "k").await;
    assert!(!duplicate, "free after cleaned");

    // A failed job at rest keeps its key only until somebody enqueues.
    let job = resting(&c, "rest", "k").await;
    let (other, duplicate) = keyed(&c, "rest", "k").await;
    assert!(!duplicate && other != job);
    check_invariants(&c).await;
}

/// With "absence from ready and active" as evidence, two enqueues made two jobs: one sees the other's row by its
/// conflict, but the old job by its old snapshot. Rule: 1.
#[tokio::test]
async fn two_enqueues_after_the_end_of_the_old_job_make_one_job() {
    let db = Db::open().await;
    let (a, b, watch) = (db.client().await, db.client().await, db.client().await);
    let (old, _) = keyed(&a, "race", "k").await;
    let held = claim(&a, "w").await;
    verb(&a, "job_complete", &held, "").await;

    run(&a, "begin").await;
    let (first, duplicate) = keyed(&a, "race", "k").await;
    assert!(!duplicate && first != old);
    let (second, ()) = tokio::join!(keyed(&b, "race", "k"), async {
        until_blocked(&watch, "job_enqueue").await;
        run(&a, "commit").await;
    });
    assert_eq!(second, (first, true));
    check_invariants(&watch).await;
}

/// Rule: 1.
#[tokio::test]
async fn an_enqueue_never_sees_a_key_as_free_while_the_end_of_its_job_is_open() {
    let db = Db::open().await;
    let (a, b) = (db.client().await, db.client().await);
    let (old, _) = keyed(&a, "race", "k").await;
    let held = claim(&a, "w").await;

    run(&a, "begin").await;
    verb(&a, "job_complete", &held, "").await;
    assert_eq!(keyed(&b, "race", "k").await, (old, true), "not final for others yet");
    run(&a, "rollback").await;
    assert_eq!(keyed(&b, "race", "k").await, (old, true));

    verb(&a, "job_complete", &held, "").await;
    let (new, duplicate) = keyed(&b, "race", "k").await;
    assert!(!duplicate && new != old);
    check_invariants(&a).await;
}

/// An enqueue that is rolled back leaves the key to the one that waited. Rule: 1.
#[tokio::test]
async fn a_rolled_back_enqueue_leaves_its_key_to_the_next() {
    let db = Db::open().await;
    let (a, b, watch) = (db.client().await, db.client().await, db.client().await);
    keyed(&a, "race", "another").await;
    run(&a, "begin").await;
    let (lost, _) = keyed(&a, "race", "k").await;
    let (got, ()) = tokio::join!(keyed(&b, "race", "k"), async {
        until_blocked(&watch, "job_enqueue").await;
        run(&a, "rollback").await;
    });
    assert!(!got.1 && got.0 != lost);
    assert_eq!(state(&watch, lost).await, "no such job");
}

/// Rule: 2.
#[tokio::test]
async fn cleaning_deletes_the_key_of_its_own_job_and_no_other() {
    let db = Db::open().await;
    let c = db.client().await;
    let (old, _) = keyed(&c, "a", "reused").await;
    let held = claim(&c, "w").await;
    verb(&c, "job_complete", &held, "").await;
    let (gone, _) = keyed(&c, "a", "gone").await;
    one(&c, "select tenure.job_cancel($1, 'no need')", &[&gone]).await;
    db.advance("8 days").await;
    let (new, duplicate) = keyed(&c, "a", "reused").await;
    assert!(!duplicate);

    one(&c, "select tenure.job_sweep()", &[]).await;
    assert_eq!(state(&c, old).await, "cleaned");
    assert_eq!(state(&c, gone).await, "cleaned");
    let keys = rows(&c, "select job_id from tenure.idempotency", &[]).await;
    let keys: Vec<Uuid> = keys.iter().map(|row| row.get(0)).collect();
    assert_eq!(
        keys,
        [new],
        "the key of the cleaned job is gone, the key of the new one stays"
    );
    assert_eq!(keyed(&c, "a", "reused").await, (new, true));
}

/// The sweep that meets an operator's retry of a resting job leaves the job, its data and its key alone. Rule: 2, 3.
#[tokio::test]
async fn the_sweep_never_empties_a_job_that_an_operator_just_retried() {
    for key in [Some("k"), None] {
        let db = Db::open().await;
        let (a, b, watch) = (db.client().await, db.client().await, db.client().await);
        keep_failed_at_rest(&a, "rest").await;
        let arguments = key.map_or_else(String::new, |key| format!(", p_key => '{key}'"));
        let job = enqueue_with(&a, "rest", &format!("{arguments}, p_payload => '{{\"n\": 1}}'")).await;
        let held = claim(&a, "w").await;
        verb(&a, "job_fail", &held, ", 'broken', 'permanent'").await;
        db.advance("31 days").await;

        run(&a, "begin").await;
        let retried = one(&a, "select tenure.job_retry($1)", &[&job]).await;
        assert_eq!(retried["state"], "queued", "{retried}");
        let (swept, ()) = tokio::join!(async { one(&b, "select tenure.job_sweep()", &[]).await }, async {
            // It may pass the job over or wait for the retry: both are right.
            let done = "select exists (select from pg_stat_activity where datname = current_database() and
                         pid <> pg_backend_pid() and strpos(query, 'job_sweep') > 0
                         and (wait_event_type = 'Lock' or state = 'idle'))";
            crate::fixture::until(&watch, done, &[], "the sweep to wait or to end").await;
            run(&a, "commit").await;
        });
        assert_eq!(swept["cleaned"], 0, "{swept}");
        assert_eq!(state(&watch, job).await, "queued");
        let payload: serde_json::Value =
            get(&watch, "select payload from tenure.jobs where job_id = $1", &[&job]).await;
        assert_eq!(payload, serde_json::json!({"n": 1}));
        if let Some(key) = key {
            assert_eq!(keyed(&watch, "rest", key).await, (job, true));
        }
        check_invariants(&watch).await;
    }
}

/// And the other way round: what the sweep has emptied cannot be retried. Rule: 2, 3.
#[tokio::test]
async fn a_retry_that_waited_for_the_sweep_finds_the_job_cleaned() {
    for key in [Some("k"), None] {
        let db = Db::open().await;
        let (a, b, watch) = (db.client().await, db.client().await, db.client().await);
        keep_failed_at_rest(&a, "rest").await;
        let arguments = key.map_or_else(String::new, |key| format!(", p_key => '{key}'"));
        let job = enqueue_with(&a, "rest", &arguments).await;
        let held = claim(&a, "w").await;
        verb(&a, "job_fail", &held, ", 'broken', 'permanent'").await;
        db.advance("31 days").await;

        run(&a, "begin").await;
        let swept = one(&a, "select tenure.job_sweep()", &[]).await;
        assert_eq!(swept["cleaned"], 1, "{swept}");
        let (retried, ()) = tokio::join!(async { one(&b, "select tenure.job_retry($1)", &[&job]).await }, async {
            until_blocked(&watch, "job_retry").await;
            run(&a, "commit").await;
        });
        refused(&retried, "state_conflict");
        assert_eq!(state(&watch, job).await, "cleaned");
        check_invariants(&watch).await;
    }
}

/// Guards: D28. Rule: 3.
#[tokio::test]
async fn a_retry_is_refused_when_another_unfinished_job_took_the_key() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = resting(&c, "rest", "k").await;
    let (other, duplicate) = keyed(&c, "rest", "k").await;
    assert!(!duplicate);
    let answer = one(&c, "select tenure.job_retry($1)", &[&job]).await;
    refused(&answer, "key_taken");
    assert!(
        answer["what"]
            .as_str()
            .is_some_and(|what| what.contains(&other.to_string())),
        "{answer}"
    );
    assert_eq!(state(&c, job).await, "failed");

    one(&c, "select tenure.job_cancel($1, 'no need')", &[&other]).await;
    let answer = one(&c, "select tenure.job_retry($1)", &[&job]).await;
    assert_eq!(
        answer["state"], "queued",
        "free again once that job has ended: {answer}"
    );
    assert_eq!(
        keyed(&c, "rest", "k").await,
        (job, true),
        "the retried job has its key back"
    );
    check_invariants(&c).await;
}

/// Rule: 3.
#[tokio::test]
async fn an_enqueue_that_waited_for_a_retry_is_a_duplicate_of_the_retried_job() {
    let db = Db::open().await;
    let (a, b, watch) = (db.client().await, db.client().await, db.client().await);
    let job = resting(&a, "rest", "k").await;
    run(&a, "begin").await;
    one(&a, "select tenure.job_retry($1)", &[&job]).await;
    let (answer, ()) = tokio::join!(keyed(&b, "rest", "k"), async {
        until_blocked(&watch, "job_enqueue").await;
        run(&a, "commit").await;
    });
    assert_eq!(answer, (job, true));
    check_invariants(&watch).await;
}

/// Rule: 3.
#[tokio::test]
async fn a_retry_that_waited_for_an_enqueue_finds_the_key_taken() {
    let db = Db::open().await;
    let (a, b, watch) = (db.client().await, db.client().await, db.client().await);
    let job = resting(&a, "rest", "k").await;
    run(&a, "begin").await;
    let (other, duplicate) = keyed(&a, "rest", "k").await;
    assert!(!duplicate);
    let (answer, ()) = tokio::join!(async { one(&b, "select tenure.job_retry($1)", &[&job]).await }, async {
        until_blocked(&watch, "job_retry").await;
        run(&a, "commit").await;
    });
    refused(&answer, "key_taken");
    assert_eq!(state(&watch, job).await, "failed");
    assert_eq!(state(&watch, other).await, "queued");
    check_invariants(&watch).await;
}

/// Rule: 4.
#[tokio::test]
async fn equal_keys_in_one_batch_are_folded_into_the_first() {
    let db = Db::open().await;
    let c = db.client().await;
    let answers = rows(
        &c,
        "select ordinal, job_id, duplicate from tenure.job_enqueue_many(
           array['a', 'a', 'b', 'a', 'a'], p_keys => array['k', 'k', 'k', null, null])",
        &[],
    )
    .await;
    let answers: Vec<(i32, Uuid, bool)> = answers.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let duplicates: Vec<bool> = answers.iter().map(|it| it.2).collect();
    assert_eq!(duplicates, [false, true, false, false, false]);
    assert_eq!(answers[0].1, answers[1].1);
    let jobs: BTreeSet<Uuid> = answers.iter().map(|it| it.1).collect();
    assert_eq!(jobs.len(), 4);
    check_invariants(&c).await;
}

/// Rule: 4.
#[tokio::test]
async fn batches_with_the_same_keys_in_any_order_never_deadlock() {
    let db = Db::open().await;
    let mut clients = Vec::new();
    for _ in 0..6 {
        clients.push(db.client().await);
    }
    enqueue(&clients[0], "batch").await;
    for round in 0..15 {
        let keys: Vec<String> = (0..40).map(|n| format!("{} {n}", round % 3)).collect();
        let batches = clients.iter().enumerate().map(|(n, client)| {
            let mut keys = keys.clone();
            match n % 3 {
                0 => keys.reverse(),
                1 => keys.rotate_left(7 * n),
                _ => {}
            }
            async move {
                let kinds = vec!["batch"; keys.len()];
                let made = rows(
                    client,
                    "select job_id from tenure.job_enqueue_many($1, p_keys => $2) where not duplicate",
                    &[&kinds, &keys],
                )
                .await;
                made.len()
            }
        });
        let made = all(batches.collect()).await;
        assert_eq!(
            made.iter().sum::<usize>(),
            if round < 3 { 40 } else { made.iter().sum() }
        );
        // Half of the jobs end, so that some keys of the next round are free and others are not.
        let ended = "select e.status from tenure.job_claim_many('w', p_limit => 20) c,
                     lateral tenure.job_end_many(array[c.job_id], array[c.token], array['succeeded']) e";
        rows(&clients[0], ended, &[]).await;
    }
    let twice: i64 = get(
        &clients[0],
        "select count(*) from (select idempotency_key from tenure.job_queue
           where state in ('queued', 'leased', 'in_progress', 'retry_waiting') group by job_kind, idempotency_key having count(*) > 1) x",
        &[],
    )
    .await;
    assert_eq!(twice, 0);
    check_invariants(&clients[0]).await;
}

/// New kinds are lanes to be made; in any order of the batch they are made in one. Rule: 14.
#[tokio::test]
async fn batches_that_make_the_same_lanes_in_any_order_never_deadlock() {
    let db = Db::open().await;
    let (a, b) = (db.client().await, db.client().await);
    for round in 0..10 {
        let kinds: Vec<String> = (0..30).map(|n| format!("kind {round} {n}")).collect();
        let reversed: Vec<String> = kinds.iter().rev().cloned().collect();
        let sql = "select job_id from tenure.job_enqueue_many($1)";
        tokio::join!(async { rows(&a, sql, &[&kinds]).await }, async {
            rows(&b, sql, &[&reversed]).await
        });
    }
    // One that waited too long for the other has made a twin.
    let lanes: i64 = get(&a, "select count(*) from tenure.lanes where twin = 0", &[]).await;
    assert_eq!(lanes, 300);
}

/// Guards: D3.
#[tokio::test]
async fn the_same_key_is_another_key_under_another_kind_or_tenant() {
    let db = Db::open().await;
    let c = db.client().await;
    one(&c, "select tenure.tenant_create('other')", &[]).await;
    let (first, _) = keyed(&c, "a", "k").await;
    let (second, duplicate) = keyed(&c, "b", "k").await;
    assert!(!duplicate && second != first);
    run(&c, "begin; set local tenure.tenant = 'other'").await;
    let (third, duplicate) = keyed(&c, "a", "k").await;
    assert!(!duplicate && third != first);
    run(&c, "commit").await;
    // Parts are told apart by their length: (ab, c) is not (a, bc).
    let hashes: bool = get(
        &c,
        "select tenure.idempotency_hash(tenure.idempotency_scope(1, 'ab'), 'c') <> tenure.idempotency_hash(tenure.idempotency_scope(1, 'a'), 'bc')",
        &[],
    )
    .await;
    assert!(hashes);
}

/// Guards: D27.
#[tokio::test]
async fn a_blank_key_is_refused() {
    let db = Db::open().await;
    let c = db.client().await;
    for key in ["", " ", "\t", "\n\n", "\u{a0}\u{200b}"] {
        refused(
            &one(&c, "select tenure.job_enqueue('a', p_key => $1)", &[&key]).await,
            "name_blank",
        );
    }
    let long = "k".repeat(256);
    refused(
        &one(&c, "select tenure.job_enqueue('a', p_key => $1)", &[&long]).await,
        "name_invalid",
    );
    let jobs: i64 = get(&c, "select count(*) from tenure.jobs", &[]).await;
    assert_eq!(jobs, 0);
}

/// A key whose job was reaped is still taken: expiry is not an end. Rule: 1.
#[tokio::test]
async fn a_reaped_job_keeps_its_key() {
    let db = Db::open().await;
    let c = db.client().await;
    let (job, _) = keyed(&c, "a", "k").await;
    let held: Claimed = claim(&c, "w").await;
    verb(&c, "job_start", &held, "").await;
    db.advance("10 minutes").await;
    assert_eq!(reap(&c).await.len(), 1);
    assert_eq!(keyed(&c, "a", "k").await, (job, true));
}

/// A call that is repeated late, after the job is done, makes no second job for as long as its kind keeps keys.
#[tokio::test]
async fn a_kind_can_keep_the_key_of_a_job_for_a_while_after_its_end() {
    let db = Db::open().await;
    let c = db.client().await;
    let policy = serde_json::json!({"key_keep_seconds": 3600});
    one(&c, "select tenure.kind_set('hook', $1)", &[&policy]).await;
    let (job, _) = keyed(&c, "hook", "k").await;
    let held = claim(&c, "w").await;
    verb(&c, "job_complete", &held, "").await;
    let again = one(&c, "select tenure.job_enqueue('hook', p_key => 'k')", &[]).await;
    assert_eq!((id_of(&again), &again["state"]), (job, &"succeeded".into()), "{again}");
    assert_eq!(again["duplicate"], true);
    let sql = "select tenure.job_enqueue('hook', p_key => 'k', p_job_id => $1)";
    assert_eq!(one(&c, sql, &[&job]).await["duplicate"], true, "also with the id");
    db.advance("59 minutes").await;
    assert_eq!(keyed(&c, "hook", "k").await, (job, true));
    db.advance("2 minutes").await;
    let (next, duplicate) = keyed(&c, "hook", "k").await;
    assert!(!duplicate && next != job, "free after the period");

    // No longer than the job itself is kept, and only for kinds that say so.
    let too_long = serde_json::json!({"key_keep_seconds": 7200, "retention_seconds": 3600});
    let answer = one(&c, "select tenure.kind_set('hook', $1)", &[&too_long]).await;
    refused(&answer, "number_out_of_range");
    let (plain, _) = keyed(&c, "plain", "k").await;
    one(&c, "select tenure.job_cancel($1, 'no need')", &[&plain]).await;
    assert!(!keyed(&c, "plain", "k").await.1);
    check_invariants(&c).await;
}
