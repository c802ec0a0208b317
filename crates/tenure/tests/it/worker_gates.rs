//! A worker and the gates: it waits for them, and loses nothing meanwhile.

use std::sync::Arc;

use serde_json::Value;
use tenure::worker::Context;
use tokio::sync::Semaphore;
use tokio_postgres::Client;

use crate::fixture::{Db, check_invariants, get, one, until};
use crate::worker_scene::{AtWork, Crowd, enqueue_many, until_true, worker};

async fn gate(client: &Client, key: &str, position: &str) {
    one(client, "select tenure.gate_set($1, $2)", &[&key, &position]).await;
}

/// Starts a worker that runs two of five jobs, each until it gets a permit.
async fn two_of_five(db: &Db, c: &Client) -> (AtWork, Crowd, Arc<Semaphore>) {
    enqueue_many(c, "a", 5).await;
    let (crowd, permits) = (Crowd::default(), Arc::new(Semaphore::new(0)));
    let (inside, letting) = (crowd.clone(), permits.clone());
    let at_work = AtWork::start(worker(db).concurrency(2).handler("a", move |_: Value, _: Context| {
        let (inside, letting) = (inside.clone(), letting.clone());
        async move {
            let _inside = inside.enter();
            letting.acquire().await?.forget();
            Ok(())
        }
    }));
    until_true("two run", || crowd.now() == 2).await;
    (at_work, crowd, permits)
}

/// Proves: S59.
#[tokio::test]
async fn a_worker_whose_gate_is_closed_records_what_it_runs_and_claims_nothing() {
    let db = Db::open().await;
    let c = db.client().await;
    let (at_work, crowd, permits) = two_of_five(&db, &c).await;
    gate(&c, "queue.worker.enabled", "closed").await;
    permits.add_permits(5);
    until(
        &c,
        "select count(*) = 2 from tenure.attempts where final",
        &[],
        "their ends",
    )
    .await;
    assert_eq!(get::<i64>(&c, "select count(*) from tenure.ready", &[]).await, 3);
    assert_eq!(crowd.ever(), 2);
    gate(&c, "queue.worker.enabled", "open").await;
    until(
        &c,
        "select count(*) = 5 from tenure.attempts where final",
        &[],
        "the others",
    )
    .await;
    let report = at_work.stop().await;
    assert_eq!((report.succeeded, report.lost), (5, 0));
    check_invariants(&c).await;
}

#[tokio::test]
async fn ends_wait_for_the_gate_of_all_jobs_and_are_recorded_then() {
    let db = Db::open().await;
    let c = db.client().await;
    let (at_work, crowd, permits) = two_of_five(&db, &c).await;
    gate(&c, "queue.job_substrate.enabled", "closed").await;
    permits.add_permits(5);
    until_true("both have ended", || crowd.now() == 0).await;
    // Refused at least once before the gate opens.
    let refused = "select xact_rollback from pg_stat_database where datname = current_database()";
    let before: i64 = get(&c, refused, &[]).await;
    until(
        &c,
        &format!("select xact_rollback > {before} from pg_stat_database where datname = current_database()"),
        &[],
        "a refusal",
    )
    .await;
    assert_eq!(get::<i64>(&c, "select count(*) from tenure.attempts", &[]).await, 0);
    gate(&c, "queue.job_substrate.enabled", "open").await;
    until(
        &c,
        "select count(*) = 5 from tenure.attempts where final",
        &[],
        "all ends",
    )
    .await;
    let report = at_work.stop().await;
    assert_eq!((report.succeeded, report.lost), (5, 0));
    assert_eq!(crowd.ever(), 5, "none ran twice");
    check_invariants(&c).await;
}

/// Proves: S60.
#[tokio::test]
async fn a_worker_that_nobody_may_notify_finds_its_work_by_polling() {
    let db = Db::open().await;
    let c = db.client().await;
    gate(&c, "queue.notify.enabled", "closed").await;
    let builder = worker(&db).listen_url(db.url());
    let at_work = AtWork::start(builder.handler("a", async |_: Value, _: Context| Ok(())));
    let parked = "select coalesce(bool_or(parked_until > now()), false) from tenure.lanes";
    until(&c, parked, &[], "a park").await;
    enqueue_many(&c, "a", 3).await;
    until(
        &c,
        "select count(*) = 3 from tenure.attempts where final",
        &[],
        "their ends",
    )
    .await;
    assert_eq!(at_work.stop().await.succeeded, 3);
}
