//! The reaper, the limits of a run, and everything at once.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::json;
use uuid::Uuid;

use crate::fixture::{
    Claimed, Db, all, check_invariants, claim, claim_with, enqueue, enqueue_with, get, one, reap, refused, rows, run,
    state, until_blocked, verb,
};
use crate::leases::{beat, leases, policy};

/// Proves: S25, S118, S149, S197. Guards: D23, D67.
#[tokio::test]
async fn the_reaper_takes_expired_jobs_whether_leased_or_in_progress() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "a").await;
    enqueue(&c, "a").await;
    let held = claim_with(&c, "w", ", p_limit => 2").await;
    verb(&c, "job_start", &held[0], "").await;
    assert!(reap(&c).await.is_empty(), "nothing has expired yet");
    db.advance("6 minutes").await;
    let dry = rows(&c, "select job_id, finding, state from tenure.job_reap('dry_run')", &[]).await;
    assert_eq!(dry.len(), 2, "a dry run tells");
    assert_eq!(state(&c, held[0].job_id).await, "in_progress", "and changes nothing");
    let reaped: BTreeSet<Uuid> = reap(&c).await.into_iter().map(|it| it.0).collect();
    assert_eq!(reaped, held.iter().map(|it| it.job_id).collect());
    assert_eq!(leases(&c).await, 0, "a lease of which nothing is left goes");
    assert_eq!(state(&c, held[0].job_id).await, "retry_waiting");
    assert_eq!(state(&c, held[1].job_id).await, "retry_waiting");
    let again = claim(&c, "w2").await;
    assert_eq!(
        again.job_id, held[1].job_id,
        "the one that never started is claimable at once"
    );
    check_invariants(&c).await;
}

/// Rule: 5.
#[tokio::test]
async fn the_reaper_never_waits_for_anybody() {
    let db = Db::open().await;
    let (a, b) = (db.client().await, db.client().await);
    policy(&a, "timed", json!({"run_timeout_seconds": 10})).await;
    for kind in ["plain", "plain", "timed", "timed"] {
        enqueue(&a, kind).await;
    }
    let plain = claim_with(&a, "w", ", p_limit => 2, p_kinds => array['plain']").await;
    let timed = claim_with(
        &a,
        "w",
        ", p_limit => 2, p_kinds => array['timed'], p_mode => 'started'",
    )
    .await;

    // Somebody has a run of each lease locked; the second run of the timed lease is past its time, its lease lives.
    db.advance("20 seconds").await;
    run(&a, "begin").await;
    verb(&a, "job_complete", &timed[0], "").await;
    one(&a, "select tenure.job_cancel($1, 'superseded')", &[&plain[0].job_id]).await;
    run(&b, "begin; set local lock_timeout = '2s'").await;
    let found = reap(&b).await;
    assert_eq!(
        found,
        [(timed[1].job_id, "timed_out".to_owned(), "retry_waiting".to_owned())]
    );
    run(&b, "commit").await;
    run(&a, "commit").await;
    check_invariants(&a).await;

    // All leases have run out now; one job is locked and stays for the next round, with its lease.
    db.advance("10 minutes").await;
    run(&a, "begin").await;
    rows(
        &a,
        "select from tenure.active where job_id = $1 for update",
        &[&plain[0].job_id],
    )
    .await;
    run(&b, "begin; set local lock_timeout = '2s'").await;
    let found: Vec<Uuid> = reap(&b).await.into_iter().map(|it| it.0).collect();
    assert_eq!(found, [plain[1].job_id]);
    run(&b, "commit").await;
    run(&a, "commit").await;
    let found: Vec<Uuid> = reap(&b).await.into_iter().map(|it| it.0).collect();
    assert_eq!(found, [plain[0].job_id]);
    assert_eq!(leases(&a).await, 0);
    assert_eq!(
        state(&a, plain[0].job_id).await,
        "cancelled",
        "its cancel request outlived its lease"
    );
    check_invariants(&a).await;
}

/// The reaper sees the lease as expired by its snapshot; the heartbeat that has just renewed it wins. Rule: 5.
#[tokio::test]
async fn the_reaper_never_takes_what_a_heartbeat_has_just_renewed() {
    let db = Db::open().await;
    let (a, b) = (db.client().await, db.client().await);
    enqueue(&a, "a").await;
    let held = claim(&a, "w").await;
    db.advance("290 seconds").await;
    run(&a, "begin").await;
    assert_eq!(beat(&a, std::slice::from_ref(&held)).await, ["ok"]);
    db.advance("20 seconds").await;
    run(&b, "begin; set local lock_timeout = '2s'").await;
    assert!(reap(&b).await.is_empty(), "the heartbeat holds the lease");
    run(&b, "commit").await;
    run(&a, "commit").await;
    assert!(reap(&b).await.is_empty(), "the lease is renewed");
    assert_eq!(verb(&a, "job_complete", &held, "").await["state"], "succeeded");
}

/// Rule: 5.
#[tokio::test]
async fn a_heartbeat_that_meets_the_reaper_is_lost() {
    let db = Db::open().await;
    let (a, b) = (db.client().await, db.client().await);
    enqueue(&a, "a").await;
    let held = claim(&a, "w").await;
    db.advance("6 minutes").await;
    run(&b, "begin").await;
    assert_eq!(reap(&b).await.len(), 1);
    run(&a, "begin; set local lock_timeout = '2s'").await;
    assert_eq!(beat(&a, std::slice::from_ref(&held)).await, ["lost"]);
    run(&a, "commit").await;
    run(&b, "commit").await;
    assert_eq!(beat(&a, std::slice::from_ref(&held)).await, ["lost"]);
    assert_eq!(state(&a, held.job_id).await, "retry_waiting");
}

/// The lease lives and is waited for while the reaper takes one of its jobs: the answer is of after that. Rule: 5, 7.
#[tokio::test]
async fn a_heartbeat_that_waited_for_the_reaper_knows_what_it_took() {
    let db = Db::open().await;
    let (a, b, watch) = (db.client().await, db.client().await, db.client().await);
    policy(&a, "a", json!({"run_timeout_seconds": 10})).await;
    enqueue(&a, "a").await;
    enqueue(&a, "a").await;
    let held = claim_with(&a, "w", ", p_limit => 2").await;
    verb(&a, "job_start", &held[0], "").await;
    db.advance("20 seconds").await;
    run(&b, "begin").await;
    assert_eq!(reap(&b).await.len(), 1);
    let (answers, ()) = tokio::join!(beat(&a, &held), async {
        until_blocked(&watch, "job_heartbeat_many").await;
        run(&b, "commit").await;
    });
    assert_eq!(answers, ["lost", "ok"]);
}

/// However many wait past their deadline, a call takes no more than asked for, and an event tells of a bounded number.
/// Rule: 17, 21.
#[tokio::test]
async fn a_wave_of_late_jobs_is_reaped_within_the_limit() {
    let db = Db::open().await;
    let c = db.client().await;
    for due in ["0 seconds", "30 seconds"] {
        let sql = format!(
            "select job_id from tenure.job_enqueue_many(array_fill('a'::text, array[700]),
               p_due => array_fill(tenure.now() + interval '{due}', array[700]),
               p_deadlines => array_fill(tenure.now() + interval '1 minute', array[700]))"
        );
        rows(&c, &sql, &[]).await;
    }
    db.advance("2 minutes").await;
    let mut sizes = Vec::new();
    for _ in 0..3 {
        let found = rows(&c, "select job_id from tenure.job_reap(p_limit => 1000)", &[]).await;
        sizes.push(found.len());
    }
    assert_eq!(sizes, [1000, 400, 0]);
    let letters: i64 = get(&c, "select count(*) from tenure.dead_letters", &[]).await;
    assert_eq!(letters, 1400);
    check_invariants(&c).await;
}

/// Two reapers share the work, and each job is reaped once. Rule: 5.
#[tokio::test]
async fn many_reapers_at_once_reap_each_job_once() {
    let db = Db::open().await;
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(db.client().await);
    }
    let kinds = vec!["a"; 200];
    rows(&clients[0], "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
    for n in 0..20 {
        claim_with(&clients[0], &format!("w{n}"), ", p_limit => 10").await;
    }
    db.advance("6 minutes").await;
    let found: Vec<_> = all(clients.iter().map(reap).collect())
        .await
        .into_iter()
        .flatten()
        .collect();
    let jobs: BTreeSet<Uuid> = found.iter().map(|it| it.0).collect();
    assert_eq!((found.len(), jobs.len()), (200, 200));
    check_invariants(&clients[0]).await;
}

/// Guards: D24, D88. Rule: 7.
#[tokio::test]
async fn a_held_job_without_a_lease_is_expired() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "a").await;
    let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    run(&c, "delete from tenure.leases").await;
    refused(&verb(&c, "job_complete", &held, "").await, "lease_expired");
    assert_eq!(beat(&c, std::slice::from_ref(&held)).await, ["lost"]);
    assert_eq!(
        reap(&c).await,
        [(held.job_id, "expired".to_owned(), "retry_waiting".to_owned())]
    );
    check_invariants(&c).await;
}

/// Proves: S103. Guards: D5, D25.
#[tokio::test]
async fn a_job_that_kills_its_worker_runs_out_of_attempts() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue_with(&c, "a", ", p_attempts_max => 3").await;
    for attempt in 1..=3_i16 {
        let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
        assert_eq!(
            (held.attempt, held.run),
            (attempt, i32::from(attempt)),
            "the claim counts, not the end"
        );
        db.advance("1 hour").await;
        assert_eq!(reap(&c).await.len(), 1);
        db.advance("1 hour").await;
    }
    assert_eq!(state(&c, job).await, "dead_letter");
    let letter = rows(
        &c,
        "select attempts, error_code, final_error from tenure.dead_letters where job_id = $1",
        &[&job],
    )
    .await;
    assert_eq!(
        (letter[0].get::<_, i32>(0), letter[0].get::<_, &str>(1)),
        (3, "expired")
    );
    assert!(letter[0].get::<_, &str>(2).contains("lease"));
    let over: i64 = get(
        &c,
        "select count(*) from tenure.attempts a join tenure.jobs j using (job_id) where a.attempt > j.attempts_max",
        &[],
    )
    .await;
    assert_eq!(over, 0);
}

/// Rule: 7.
#[tokio::test]
async fn expiry_before_start_gives_the_attempt_back_up_to_twice_the_runs() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue_with(&c, "a", ", p_attempts_max => 2").await;
    for run in 1..=4 {
        let held = claim(&c, "w").await;
        assert_eq!(
            (held.attempt, held.run),
            (1, run),
            "the attempt was given back, the run was not"
        );
        db.advance("6 minutes").await;
        assert_eq!(reap(&c).await.len(), 1);
    }
    assert_eq!(state(&c, job).await, "dead_letter");
    let code: String = get(
        &c,
        "select error_code from tenure.attempts where job_id = $1 and final",
        &[&job],
    )
    .await;
    assert_eq!(code, "never_started");
}

/// Runs that were put aside are no reason to give up on a job whose buffer was slow once. Rule: 7.
#[tokio::test]
async fn a_job_that_was_put_aside_often_survives_a_slow_buffer() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue_with(&c, "a", ", p_attempts_max => 2").await;
    for _ in 0..6 {
        let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
        verb(&c, "job_snooze", &held, ", 0").await;
    }
    claim(&c, "w").await;
    db.advance("6 minutes").await;
    reap(&c).await;
    assert_eq!(state(&c, job).await, "retry_waiting");
}

/// Proves: S209. Rule: 7.
#[tokio::test]
async fn too_many_renewals_end_one_job_and_not_its_neighbours() {
    let db = Db::open().await;
    let c = db.client().await;
    policy(&c, "a", json!({"renewals_max": 2, "lease_seconds": 10})).await;
    enqueue(&c, "a").await;
    enqueue(&c, "a").await;
    let held = claim_with(&c, "w", ", p_limit => 2").await;
    verb(&c, "job_start", &held[0], "").await;
    for _ in 0..3 {
        assert!(reap(&c).await.is_empty());
        db.advance("8 seconds").await;
        assert_eq!(beat(&c, &held).await, ["ok", "ok"]);
    }
    verb(&c, "job_start", &held[1], "").await;
    db.advance("8 seconds").await;
    assert_eq!(beat(&c, &held).await, ["ok", "ok"], "the lease lives");
    assert_eq!(
        reap(&c).await,
        [(held[0].job_id, "renewals_exceeded".to_owned(), "dead_letter".to_owned())]
    );
    assert_eq!(beat(&c, &held).await, ["lost", "ok"]);
    assert_eq!(verb(&c, "job_complete", &held[1], "").await["state"], "succeeded");
    refused(&verb(&c, "job_complete", &held[0], "").await, "stale_lease");
    check_invariants(&c).await;
}

/// Rule: 7.
#[tokio::test]
async fn a_run_past_its_timeout_ends_while_its_lease_lives() {
    let db = Db::open().await;
    let c = db.client().await;
    policy(&c, "a", json!({"run_timeout_seconds": 60, "attempts_max": 2})).await;
    enqueue(&c, "a").await;
    enqueue(&c, "a").await;
    let held = claim_with(&c, "w", ", p_limit => 2").await;
    verb(&c, "job_start", &held[0], "").await;
    db.advance("50 seconds").await;
    verb(&c, "job_start", &held[1], "").await;
    assert!(reap(&c).await.is_empty());
    db.advance("20 seconds").await;
    assert_eq!(beat(&c, &held).await, ["ok", "ok"]);
    assert_eq!(
        reap(&c).await,
        [(held[0].job_id, "timed_out".to_owned(), "retry_waiting".to_owned())]
    );
    assert_eq!(
        beat(&c, &held).await,
        ["lost", "ok"],
        "counted from each job's own start"
    );
    db.advance("1 hour").await;
    reap(&c).await;
    check_invariants(&c).await;
}

/// The lock order holds: ends, cancels, heartbeats, releases and reapers on the same jobs and leases, in any order of
/// theirs, never deadlock, and every job stays in exactly one place. Rule: 6, 7, 11.
#[tokio::test]
async fn everything_at_once_never_deadlocks_and_loses_nothing() {
    const ROUNDS: usize = 40;
    let db = Db::open().await;
    let setup = db.client().await;
    policy(&setup, "b", json!({"run_timeout_seconds": 120})).await;
    policy(&setup, "c", json!({"on_exhausted": "fail", "attempts_max": 2})).await;
    for kind in ["a", "b", "c", "d"] {
        let kinds = vec![kind; 60];
        rows(&setup, "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
    }
    let ids = rows(&setup, "select job_id from tenure.jobs order by job_id", &[]).await;
    let ids: Vec<Uuid> = ids.iter().map(|row| row.get(0)).collect();
    let held: RefCell<Vec<Claimed>> = RefCell::default();
    let pick = |seed: usize, length: usize| seed.wrapping_mul(2_654_435_761) % length.max(1);

    let mut actors: Vec<std::pin::Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
    for n in 0..10_usize {
        let client = db.client().await;
        let (held, ids, db) = (&held, &ids, &db);
        actors.push(Box::pin(async move {
            for round in 0..ROUNDS {
                let seed = n * 1000 + round;
                let mut mine: Vec<Claimed> = held.borrow().iter().rev().take(30).cloned().collect();
                if seed % 2 == 0 {
                    mine.reverse();
                }
                let jobs: Vec<Uuid> = mine.iter().map(|it| it.job_id).collect();
                let tokens: Vec<Uuid> = mine.iter().map(|it| it.token).collect();
                match n {
                    0 | 1 => {
                        let got = claim_with(&client, &format!("w{n}"), ", p_limit => 12, p_mode => 'started'").await;
                        held.borrow_mut().extend(got);
                    }
                    2..=4 => {
                        let words = ["succeeded", "failed", "released", "snoozed"];
                        let outcomes: Vec<&str> = (0..jobs.len()).map(|it| words[pick(seed + it, 4)]).collect();
                        let delays = vec![0; jobs.len()];
                        let sql = "select status from tenure.job_end_many($1, $2, $3, p_delay_seconds => $4)";
                        rows(&client, sql, &[&jobs, &tokens, &outcomes, &delays]).await;
                    }
                    5 | 6 => {
                        beat(&client, &mine).await;
                    }
                    7 => {
                        let mode = if seed % 3 == 0 { "force" } else { "cooperative" };
                        let job = ids[pick(seed, ids.len())];
                        one(&client, "select tenure.job_cancel($1, 'stress', $2)", &[&job, &mode]).await;
                    }
                    8 => {
                        let job = ids[pick(seed + 7, ids.len())];
                        one(&client, "select tenure.job_retry($1)", &[&job]).await;
                        one(
                            &client,
                            "select tenure.job_dead_letter($1, 'stress')",
                            &[&ids[pick(seed + 3, ids.len())]],
                        )
                        .await;
                    }
                    _ => {
                        db.advance("20 seconds").await;
                        reap(&client).await;
                    }
                }
            }
        }));
    }
    all(actors).await;
    check_invariants(&setup).await;
    // What is left can still be worked off: nothing is stuck.
    db.advance("1 hour").await;
    for _ in 0..20 {
        reap(&setup).await;
        db.advance("1 hour").await;
    }
    let stuck: i64 = get(&setup, "select count(*) from tenure.active", &[]).await;
    assert_eq!((stuck, leases(&setup).await), (0, 0));
    check_invariants(&setup).await;
}
