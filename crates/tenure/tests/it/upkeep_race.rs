//! Partition upkeep beside callers: it gives way, and none of them fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::Value;
use tenure::services::retention::keep_partitions;
use tenure::store::retention::PARTITIONED;
use tokio_postgres::Client;

use crate::fixture::{Db, enqueue, get, one, run, told};

/// Sessions that work beside the upkeeps.
const CALLERS: usize = 6;
/// The clock moves on by two days in each of these steps, which needs new partitions and ends old ones. A call that read the clock
/// before a step may write its event after it: each caller ends a call within a step, and events are kept for several steps.
const STEPS: usize = 20;
/// The callers make at least this many calls.
const CALLS_MIN: usize = 2000;
/// Upkeep is called this often at most until it has found a free moment.
const ROUNDS_MAX: usize = 200;

/// Each takes its locks in another order: jobs before events, attempts before jobs, events before all others.
const CALLS: &[&str] = &[
    "begin; select tenure.job_enqueue('report'); select tenure.health();
     select count(tenure.job_complete(c.job_id, c.token)) from tenure.job_claim_many('w', p_limit => 3) c; commit",
    "select tenure.job_enqueue('report', p_key => 'k' || floor(random() * 50))",
    "select count(tenure.job_complete(c.job_id, c.token)) from tenure.job_claim_many('w', p_limit => 3) c",
    "begin; select count(*) from tenure.event_list(p_limit => 5); select tenure.job_enqueue('report'); commit",
    "begin; select count(*) from tenure.attempts; select count(*) from tenure.job_queue; commit",
    "begin; set local tenure.tenant = '*'; select tenure.job_sweep(50); select tenure.job_reap(); commit",
];

async fn short_periods(c: &Client) {
    run(
        c,
        "begin; set local tenure.tenant = '*';
         select tenure.config_set('retention.partition_days', '1'), tenure.config_set('retention.events_days', '10'),
                tenure.config_set('retention.succeeded_seconds', '60'), tenure.config_set('retention.tombstone_days', '31');
         commit",
    )
    .await;
}

/// Calls until it is stopped, and has called often enough. Answers how often, and what failed.
async fn call_all_the_time(c: Client, stop: Arc<AtomicBool>, ended: Arc<AtomicUsize>) -> (usize, Vec<String>) {
    let (mut calls, mut failed) = (0, Vec::new());
    while !stop.load(Ordering::Relaxed) || calls < CALLS_MIN / CALLERS {
        if let Err(error) = c.batch_execute(CALLS[calls % CALLS.len()]).await {
            // A lease that ran out when the clock was moved is refused, which is an answer.
            if !error.code().is_some_and(|code| code.code().starts_with("TN")) {
                failed.push(told(&error));
            }
            let _ = c.batch_execute("rollback").await;
        }
        calls += 1;
        ended.store(calls, Ordering::Relaxed);
    }
    (calls, failed)
}

/// All of it in one call, as SQL users do.
async fn upkeep(c: &Client) -> Value {
    one(c, "select tenure.partition_upkeep()", &[]).await
}

/// Rule: 24.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_caller_fails_beside_partition_upkeep_and_upkeep_gets_done() {
    let db = Db::open().await;
    let (c, mut service, other) = (db.direct().await, db.direct().await, db.direct().await);
    short_periods(&c).await;
    let stop = Arc::new(AtomicBool::new(false));
    let (mut callers, mut counts) = (Vec::new(), Vec::new());
    for _ in 0..CALLERS {
        let ended = Arc::new(AtomicUsize::new(0));
        counts.push(ended.clone());
        callers.push(tokio::spawn(call_all_the_time(db.direct().await, stop.clone(), ended)));
    }
    let mut changed = 0;
    for _ in 0..STEPS {
        db.advance("2 days").await;
        let by_hand = async { upkeep(&other).await };
        let by_service = async {
            let mut changed = 0;
            for table in PARTITIONED {
                let kept = keep_partitions(&mut service, table).await.expect("upkeep never fails");
                changed += kept.made.len() + kept.dropped.len();
            }
            changed
        };
        let before: Vec<usize> = counts.iter().map(|it| it.load(Ordering::Relaxed)).collect();
        changed += tokio::join!(by_hand, by_service).1;
        for (count, before) in counts.iter().zip(before) {
            while count.load(Ordering::Relaxed) == before {
                tokio::task::yield_now().await;
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    let (mut calls, mut failed) = (0, Vec::new());
    for caller in callers {
        let (its_calls, its_failures) = caller.await.expect("no panic");
        calls += its_calls;
        failed.extend(its_failures);
    }
    assert!(
        failed.is_empty(),
        "{} of {calls} calls failed: {failed:#?}",
        failed.len()
    );
    assert!(changed > 0, "upkeep found its moments also beside {CALLERS} callers");
    for _ in 0..ROUNDS_MAX {
        if upkeep(&c).await["gave_way"] == false {
            break;
        }
    }
    assert_eq!(
        upkeep(&c).await["made"],
        serde_json::json!([]),
        "nothing is left to make"
    );
    for table in ["jobs", "events"] {
        let ahead: bool = get(
            &c,
            "select max(p.lower_at) >= tenure.now() + interval '2 days' or count(*) = 16 from tenure.partition_list($1) p",
            &[&table],
        )
        .await;
        assert!(ahead, "{table}");
    }
    let strays = "select count(*) from tenure.partition_list('attempts') a
                   where not exists (select from tenure.partition_list('jobs') j where j.lower_at < a.upper_at and j.upper_at > a.lower_at)";
    assert_eq!(get::<i64>(&c, strays, &[]).await, 0, "attempts went after their jobs");
}

/// Behind a lock that waits, all that come later wait too: upkeep must not wait for long.
///
/// Rule: 24.
#[tokio::test]
async fn a_long_transaction_makes_upkeep_give_way_and_holds_up_no_caller() {
    let db = Db::open().await;
    let (c, reader, caller) = (db.direct().await, db.direct().await, db.direct().await);
    run(
        &reader,
        "begin; select count(*) from tenure.jobs; select count(*) from tenure.events",
    )
    .await;
    db.advance("30 days").await;
    // Longer than upkeep waits, shorter than it waited once.
    run(&caller, "set lock_timeout = '1900ms'").await;
    for _ in 0..3 {
        let upkeeping = async { upkeep(&c).await };
        let calling = async {
            for _ in 0..20 {
                enqueue(&caller, "report").await;
            }
        };
        let kept = tokio::join!(upkeeping, calling).0;
        assert_eq!(kept["gave_way"], true, "{kept}");
        assert_eq!(kept["made"], serde_json::json!([]), "nothing half-done");
    }
    run(&reader, "commit").await;
    let kept = upkeep(&c).await;
    assert!(
        kept["made"].as_array().is_some_and(|it| !it.is_empty()),
        "the next try succeeds: {kept}"
    );
    assert_eq!(kept["gave_way"], false);
}

/// One table at a time, and still the same bounds in the end.
#[tokio::test]
async fn tables_kept_one_by_one_end_with_the_bounds_of_one_call() {
    let db = Db::open().await;
    let c = db.direct().await;
    short_periods(&c).await;
    for _ in 0..3 {
        db.advance("20 days").await;
        enqueue(&c, "report").await;
        for table in PARTITIONED {
            let kept = one(&c, "select tenure.partition_upkeep($1)", &[&table]).await;
            assert_eq!(kept["gave_way"], false, "{kept}");
        }
        let apart = "select count(*) from tenure.partition_list('jobs') j full join tenure.partition_list('attempts') a
                         on a.lower_at = j.lower_at and a.upper_at = j.upper_at where a.name is null or j.name is null";
        assert_eq!(
            get::<i64>(&c, apart, &[]).await,
            0,
            "jobs and attempts share their bounds"
        );
    }
    let unknown = crate::fixture::try_rows(&c, "select tenure.partition_upkeep('job')", &[]).await;
    crate::fixture::raised(unknown, "value_unknown");
}
