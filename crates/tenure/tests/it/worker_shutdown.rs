//! A worker that is told to stop: it drains, then cancels, then gives back.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tenure::worker::{CancelReason, Context, Failure};
use tokio::sync::Semaphore;

use crate::fixture::{Db, check_invariants, enqueue, get, state, until};
use crate::worker_scene::{AtWork, Crowd, enqueue_many, until_true, worker};

#[tokio::test]
async fn running_jobs_end_and_waiting_ones_stay_when_a_worker_stops() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_many(&c, "a", 10).await;
    let (crowd, permits) = (Crowd::default(), Arc::new(Semaphore::new(0)));
    let (inside, letting) = (crowd.clone(), permits.clone());
    let builder = worker(&db).concurrency(3).buffer(2);
    let at_work = AtWork::start(builder.handler("a", move |_: Value, context: Context| {
        let (inside, letting) = (inside.clone(), letting.clone());
        async move {
            let _inside = inside.enter();
            letting.acquire().await?.forget();
            assert!(!context.is_cancelled(), "drained, not cancelled");
            Ok(())
        }
    }));
    until_true("every place in use", || crowd.now() == 3).await;
    until(
        &c,
        "select count(*) = 2 from tenure.active where started_at is null",
        &[],
        "a full buffer",
    )
    .await;
    let stopping = tokio::spawn(at_work.stop());
    // The buffer goes back at once; then what runs may end.
    until(
        &c,
        "select count(*) = 7 from tenure.ready",
        &[],
        "the buffer given back",
    )
    .await;
    assert_eq!(crowd.now(), 3);
    permits.add_permits(10);
    let report = stopping.await.expect("a report");
    assert_eq!((report.succeeded, report.released, report.lost), (3, 2, 0));
    assert_eq!(crowd.ever(), 3, "nothing new was started");
    assert_eq!(get::<i64>(&c, "select count(*) from tenure.active", &[]).await, 0);
    assert_eq!(get::<i64>(&c, "select count(*) from tenure.leases", &[]).await, 0);
    check_invariants(&c).await;
}

#[tokio::test]
async fn what_does_not_end_in_time_is_cancelled_and_then_given_back() {
    let db = Db::open().await;
    let c = db.client().await;
    let (polite, deaf, quick) = (
        enqueue(&c, "polite").await,
        enqueue(&c, "deaf").await,
        enqueue(&c, "quick").await,
    );
    let crowd = Crowd::default();
    let inside = crowd.clone();
    let builder = worker(&db)
        .drain(Duration::from_millis(10))
        .grace(Duration::from_millis(300));
    let at_work = AtWork::start(
        builder
            .handler("polite", async |_: Value, context: Context| -> Result<(), Failure> {
                assert_eq!(context.cancelled().await, CancelReason::Shutdown);
                Err(Failure::cancelled())
            })
            .handler("quick", async |_: Value, context: Context| -> Result<(), Failure> {
                context.cancelled().await;
                Ok(())
            })
            .handler("deaf", move |_: Value, _: Context| {
                let inside = inside.enter();
                async move {
                    std::future::pending::<()>().await;
                    drop(inside);
                    Ok(())
                }
            }),
    );
    until(
        &c,
        "select count(*) = 3 from tenure.active where started_at is not null",
        &[],
        "all started",
    )
    .await;
    until_true("the deaf one runs", || crowd.now() == 1).await;
    let report = at_work.stop().await;
    assert_eq!((report.succeeded, report.released, report.failed), (1, 2, 0));
    assert_eq!(crowd.now(), 0, "dropped");
    assert_eq!(state(&c, quick).await, "succeeded");
    for job in [polite, deaf] {
        assert_eq!(state(&c, job).await, "queued");
        let attempts: i16 = get(&c, "select attempts from tenure.ready where job_id = $1", &[&job]).await;
        assert_eq!(attempts, 0, "given back at no cost");
    }
    check_invariants(&c).await;
}

/// A worker whose future is dropped stops its handlers; nothing of it goes on.
#[tokio::test]
async fn a_dropped_worker_leaves_no_handler_behind() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "a").await;
    let crowd = Crowd::default();
    let inside = crowd.clone();
    let built = worker(&db)
        .handler("a", move |_: Value, _: Context| {
            let inside = inside.enter();
            async move {
                std::future::pending::<()>().await;
                drop(inside);
                Ok(())
            }
        })
        .build()
        .expect("a worker");
    let life = tokio::spawn(built.run_until(std::future::pending()));
    until_true("it runs", || crowd.now() == 1).await;
    life.abort();
    until_true("it is gone", || crowd.now() == 0).await;
}

#[tokio::test]
async fn an_idle_worker_stops_at_once() {
    let db = Db::open().await;
    let builder = worker(&db).poll_interval(Duration::from_secs(3600));
    let at_work = AtWork::start(
        builder
            .listen_url(db.url())
            .handler("a", async |_: Value, _: Context| Ok(())),
    );
    let c = db.client().await;
    until(
        &c,
        "select coalesce(bool_or(parked_until is not null), false) from tenure.lanes",
        &[],
        "a park",
    )
    .await;
    assert_eq!(at_work.stop().await.claimed, 0);
}
