//! A worker whose connections are cut loses nothing and does nothing twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tenure::worker::Context;
use uuid::Uuid;

use crate::fixture::{Db, check_invariants, get, rows, run, until};
use crate::worker_scene::{AtWork, enqueue_many, worker};

/// Cut at any moment: before a turn, within it, and between its commit and its answer. Rule: 10.
#[tokio::test]
async fn cut_connections_lose_nothing_and_complete_nothing_twice() {
    let db = Db::open().await;
    let c = db.client().await;
    const JOBS: i64 = 600;
    enqueue_many(&c, "a", JOBS as usize).await;
    let runs: Arc<Mutex<HashMap<Uuid, usize>>> = Arc::default();
    let seen = runs.clone();
    let builder = worker(&db).name("cut").concurrency(20).batch_max(10);
    let at_work = AtWork::start(builder.handler("a", move |_: Value, context: Context| {
        *seen
            .lock()
            .expect("no panic holds it")
            .entry(context.job().job_id)
            .or_default() += 1;
        async move {
            tokio::task::yield_now().await;
            Ok(())
        }
    }));
    let admin = db.direct().await;
    let cut = "select count(pg_terminate_backend(a.pid)) from pg_stat_activity a
                where a.datname = current_database() and a.pid <> pg_backend_pid() and a.query like '%job_turn%'";
    let mut cuts = 0;
    let all = "select count(*) = $1 from tenure.attempts where final";
    while !get::<bool>(&admin, all, &[&JOBS]).await {
        if cuts < 25 {
            cuts += get::<i64>(&admin, cut, &[]).await;
        }
        tokio::task::yield_now().await;
    }
    let report = at_work.stop().await;
    assert!(cuts > 0);
    assert_eq!((report.succeeded, report.lost), (JOBS as u64, 0), "after {cuts} cuts");
    let runs = runs.lock().expect("no panic holds it").clone();
    assert_eq!(runs.len(), JOBS as usize);
    assert!(runs.values().all(|count| *count == 1), "each handler ran once");
    let ended = rows(&c, "select job_id from tenure.attempts", &[]).await;
    assert_eq!(ended.len(), JOBS as usize, "one record each");
    assert_eq!(get::<i64>(&c, "select count(*) from tenure.leases", &[]).await, 0);
    check_invariants(&c).await;
}

/// A claim that commits after its connection was given up is found by its token. Rule: 10.
#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_found_again() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_many(&c, "a", 5).await;
    // The claim waits for the lock within its statement; then its connection is cut, and nothing was done.
    let blocker = db.direct().await;
    run(
        &blocker,
        "begin; lock table tenure.attempts, tenure.active in access exclusive mode",
    )
    .await;
    let at_work = AtWork::start(worker(&db).handler("a", async |_: Value, _: Context| Ok(())));
    let admin = db.direct().await;
    crate::fixture::until_blocked(&admin, "job_turn").await;
    let cut = "select count(pg_terminate_backend(pid)) > 0 from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock' and query like '%job_turn%'";
    until(&admin, cut, &[], "a cut").await;
    run(&blocker, "rollback").await;
    until(
        &c,
        "select count(*) = 5 from tenure.attempts where final",
        &[],
        "all done",
    )
    .await;
    let report = at_work.stop().await;
    assert_eq!((report.succeeded, report.lost), (5, 0));
    let attempts: i16 = get(&c, "select max(attempt) from tenure.attempts", &[]).await;
    assert_eq!(attempts, 1);
}
