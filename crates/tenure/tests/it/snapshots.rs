//! Enqueues in repeatable read and serializable transactions, whose snapshot is older than what happens meanwhile.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use crate::fixture::{
    Db, all, check_invariants, claim, claim_with, enqueue_with, get, one, rows, run, state, told, try_rows, verb,
};

const LEVELS: [&str; 2] = ["repeatable read", "serializable"];
/// The ways to enqueue one keyed job: job and whether it is a duplicate.
const WAYS: [&str; 3] = [
    "select job_id, duplicate from tenure.job_enqueue_plain('report', '{}', $1)",
    "select job_id, duplicate from tenure.job_enqueue_many(array['report'], p_keys => array[$1])",
    "select (a ->> 'job_id')::uuid, (a ->> 'duplicate')::boolean from tenure.job_enqueue('report', p_key => $1) a",
];

/// Begins a transaction and takes its snapshot.
async fn begin(client: &Client, level: &str) {
    run(client, &format!("begin isolation level {level}")).await;
    rows(client, "select count(*) from tenure.jobs", &[]).await;
}

/// Asserts that the enqueue fails with serialization_failure, and that its transaction can be run again.
async fn must_run_again(client: &Client, sql: &str, key: &str) {
    let error = try_rows(client, sql, &[&key])
        .await
        .expect_err("an old snapshot cannot know");
    assert_eq!(
        error.code(),
        Some(&SqlState::T_R_SERIALIZATION_FAILURE),
        "{}",
        told(&error)
    );
    run(client, "rollback").await;
}

/// The job that had the key ends while the transaction is open: its enqueue makes a job or fails, and is never
/// answered with the job that is over.
/// Rule: 1.
#[tokio::test]
async fn an_enqueue_with_an_old_snapshot_is_never_swallowed() {
    let db = Db::open().await;
    let (a, b) = (db.direct().await, db.direct().await);
    for level in LEVELS {
        for (way, sql) in WAYS.iter().enumerate() {
            let key = format!("{level} {way}");
            let old = enqueue_with(&b, "report", &format!(", p_key => '{key}'")).await;
            begin(&a, level).await;
            let held = claim(&b, "w").await;
            verb(&b, "job_complete", &held, "").await;
            must_run_again(&a, sql, &key).await;

            begin(&a, level).await;
            let row = rows(&a, sql, &[&key]).await.remove(0);
            run(&a, "commit").await;
            assert!(!row.get::<_, bool>(1) && row.get::<_, Uuid>(0) != old, "a new job");
            let held = claim(&b, "w").await;
            assert_eq!(held.job_id, row.get::<_, Uuid>(0));
            verb(&b, "job_complete", &held, "").await;
        }
    }
    check_invariants(&b).await;
}

/// The snapshot shows a final record that an operator has taken back since.
/// Rule: 1. Rule: 3.
#[tokio::test]
async fn an_enqueue_with_an_old_snapshot_never_takes_the_key_of_a_retried_job() {
    let db = Db::open().await;
    let (a, b) = (db.direct().await, db.direct().await);
    one(
        &b,
        "select tenure.kind_set('report', '{\"on_exhausted\": \"fail\", \"attempts_max\": 1}')",
        &[],
    )
    .await;
    for level in LEVELS {
        let old = enqueue_with(&b, "report", &format!(", p_key => '{level}'")).await;
        let held = claim(&b, "w").await;
        verb(&b, "job_fail", &held, ", 'broken', 'permanent'").await;
        begin(&a, level).await;
        one(&b, "select tenure.job_retry($1)", &[&old]).await;
        must_run_again(&a, WAYS[0], level).await;
        let held = claim(&b, "w").await;
        assert_eq!(held.job_id, old);
        verb(&b, "job_complete", &held, "").await;
    }
    check_invariants(&b).await;
}

/// A duplicate of a job that stands where the snapshot shows it is answered, wherever that is, and the open transaction
/// keeps no worker from it.
/// Rule: 1.
#[tokio::test]
async fn a_duplicate_with_an_old_snapshot_is_answered_and_holds_no_worker_up() {
    let db = Db::open().await;
    let (a, b) = (db.direct().await, db.direct().await);
    run(&b, "set lock_timeout = '5s'").await;
    for level in LEVELS {
        let job = enqueue_with(&b, "report", &format!(", p_key => '{level}'")).await;
        let duplicate = async || {
            let row = rows(&a, WAYS[0], &[&level]).await.remove(0);
            assert_eq!((row.get::<_, Uuid>(0), row.get::<_, bool>(1)), (job, true));
        };
        // Waiting: it can be claimed while the transaction is open.
        begin(&a, level).await;
        duplicate().await;
        let held = claim(&b, "w").await;
        run(&a, "commit").await;
        // Held: it can be ended, or be ended for now and wait for its time.
        begin(&a, level).await;
        duplicate().await;
        verb(&b, "job_start", &held, "").await;
        verb(&b, "job_fail", &held, ", 'broken', p_retry_seconds => 3600").await;
        run(&a, "commit").await;
        assert_eq!(state(&b, job).await, "retry_waiting");
        begin(&a, level).await;
        duplicate().await;
        one(&b, "select tenure.job_cancel($1, 'done')", &[&job]).await;
        run(&a, "commit").await;
    }
    check_invariants(&b).await;
}

/// Sessions in repeatable read enqueue the same few keys while others claim and complete: every answer names a job that
/// was not over before the call began, and at the end every job that was made has run once.
/// Rule: 1.
#[tokio::test]
async fn enqueues_in_repeatable_read_beside_workers_lose_nothing() {
    const ROUNDS: usize = 40;
    let db = Db::open().await;
    let open = AtomicUsize::new(4);
    let producer = async |level: &'static str| {
        let (a, watch) = (db.direct().await, db.direct().await);
        let mut made = 0;
        for round in 0..ROUNDS {
            let key = format!("k{}", round % 3);
            loop {
                begin(&a, level).await;
                let over: BTreeSet<Uuid> = rows(
                    &watch,
                    "select t.job_id from tenure.attempts t join tenure.jobs j using (job_id) where t.final and j.idempotency_key = $1",
                    &[&key],
                )
                .await
                .iter()
                .map(|row| row.get(0))
                .collect();
                let answer = try_rows(&a, WAYS[0], &[&key]).await;
                let ended = match &answer {
                    Ok(_) => try_rows(&a, "commit", &[]).await.map(|_| ()),
                    Err(_) => try_rows(&a, "rollback", &[]).await.map(|_| ()),
                };
                match (answer, ended) {
                    (Ok(answered), Ok(())) => {
                        let (job, duplicate) = (answered[0].get::<_, Uuid>(0), answered[0].get::<_, bool>(1));
                        assert!(!over.contains(&job), "{key}: answered with {job}, which was over");
                        made += usize::from(!duplicate);
                        break;
                    }
                    (Err(error), _) | (_, Err(error)) => {
                        assert_eq!(
                            error.code(),
                            Some(&SqlState::T_R_SERIALIZATION_FAILURE),
                            "{}",
                            told(&error)
                        );
                    }
                }
            }
        }
        open.fetch_sub(1, Ordering::Relaxed);
        made
    };
    let worker = async |_: &'static str| {
        let c = db.direct().await;
        let mut done = 0;
        loop {
            let last = open.load(Ordering::Relaxed) == 0;
            let held = claim_with(&c, "w", ", p_mode => 'started'").await;
            if last && held.is_empty() {
                return done;
            }
            for job in held {
                verb(&c, "job_complete", &job, "").await;
                done += 1;
            }
            tokio::task::yield_now().await;
        }
    };
    let producers = all(LEVELS.iter().chain(&LEVELS).map(|level| producer(level)).collect());
    let workers = all(vec![worker(""), worker("")]);
    let (made, done) = tokio::join!(producers, workers);
    let (made, done) = (made.iter().sum::<usize>(), done.iter().sum::<usize>());
    let c = db.client().await;
    let jobs: i64 = get(&c, "select count(*) from tenure.jobs", &[]).await;
    assert_eq!(
        (made, done),
        (jobs.try_into().expect("a count"), made),
        "each job that was made has run once"
    );
    check_invariants(&c).await;
}
