//! A worker keeps what it holds, and lets go of what it has lost.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tenure::worker::{CancelReason, Context, Done, Failure, WorkerBuilder};
use tokio::sync::Notify;

use crate::fixture::{Db, check_invariants, enqueue, get, one, reap, run, state, until};
use crate::worker_scene::{AtWork, last_run, until_true, worker};

/// Why a handler was told to stop, and in whose words.
type Reason = (CancelReason, Option<String>);

/// What a handler that waits to be cancelled was told.
#[derive(Clone, Default)]
struct Told {
    reason: Arc<Mutex<Option<Reason>>>,
    may_end: Arc<Notify>,
}

impl Told {
    fn reason(&self) -> Option<Reason> {
        self.reason.lock().expect("no panic holds it").clone()
    }
}

/// Waits until it is cancelled or may end; what it returns then is up to the test.
fn waiting(builder: WorkerBuilder, told: &Told, then: fn() -> Result<Done, Failure>) -> WorkerBuilder {
    let told = told.clone();
    builder
        .lease(Duration::from_secs(1))
        .handler("wait", move |_: Value, context: Context| {
            let told = told.clone();
            async move {
                tokio::select! {
                    reason = context.cancelled() => {
                        let wish = context.cancel_wish().map(str::to_owned);
                        *told.reason.lock().expect("no panic holds it") = Some((reason, wish));
                        then()
                    }
                    () = told.may_end.notified() => Ok(Done::nothing()),
                }
            }
        })
}

/// Rule: 7.
#[tokio::test]
async fn a_heartbeat_keeps_what_takes_longer_than_its_lease() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "wait").await;
    let told = Told::default();
    let at_work = AtWork::start(waiting(worker(&db), &told, || Ok(Done::nothing())));
    // Four renewals of a lease of one second, each after a third of it: it would have run out by then.
    until(
        &c,
        "select coalesce(max(renewals), 0) >= 4 from tenure.leases",
        &[],
        "renewals",
    )
    .await;
    assert_eq!(state(&c, job).await, "in_progress");
    assert!(reap(&c).await.is_empty());
    told.may_end.notify_one();
    until(
        &c,
        "select count(*) = 1 from tenure.attempts where final",
        &[],
        "its end",
    )
    .await;
    let report = at_work.stop().await;
    assert_eq!((report.succeeded, report.lost), (1, 0));
    assert_eq!(told.reason(), None);
    assert_eq!(last_run(&c, job).await["attempt"], 1);
}

#[tokio::test]
async fn a_lost_lease_cancels_the_handler_and_its_result_is_dropped() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "wait").await;
    let told = Told::default();
    let at_work = AtWork::start(waiting(worker(&db), &told, || Ok(Done::with("too late")?)));
    until(
        &c,
        "select count(*) = 1 from tenure.active where started_at is not null",
        &[],
        "a start",
    )
    .await;
    // Taken away: the database says so at the next heartbeat.
    one(&c, "select tenure.job_cancel($1, 'by force', 'force')", &[&job]).await;
    until_true("the handler is told", || told.reason().is_some()).await;
    assert_eq!(told.reason().map(|it| it.0), Some(CancelReason::LeaseLost));
    let report = at_work.stop().await;
    assert_eq!((report.succeeded, report.lost), (0, 1));
    assert_eq!(state(&c, job).await, "cancelled");
    let succeeded: i64 = get(
        &c,
        "select count(*) from tenure.attempts where outcome = 'succeeded'",
        &[],
    )
    .await;
    assert_eq!(succeeded, 0);
    check_invariants(&c).await;
}

/// The local clock decides when the database does not answer: nobody works on under a lease that may have run out.
#[tokio::test]
async fn a_lease_that_cannot_be_renewed_is_lost_when_its_time_is_up() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "wait").await;
    let told = Told::default();
    let at_work = AtWork::start(waiting(worker(&db), &told, || Ok(Done::nothing())));
    until(
        &c,
        "select count(*) = 1 from tenure.active where started_at is not null",
        &[],
        "a start",
    )
    .await;
    // From now on no heartbeat comes through.
    let blocker = db.direct().await;
    run(&blocker, "begin; lock table tenure.leases in access exclusive mode").await;
    until_true("the handler is told", || told.reason().is_some()).await;
    assert_eq!(told.reason().map(|it| it.0), Some(CancelReason::LeaseLost));
    run(&blocker, "rollback").await;
    let report = at_work.stop().await;
    assert_eq!((report.succeeded, report.lost), (0, 1));
}

/// A handler that does not stop by itself is stopped after the grace, and its place is free again.
#[tokio::test]
async fn a_handler_that_ignores_its_lost_lease_is_stopped() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "deaf").await;
    let crowd = crate::worker_scene::Crowd::default();
    let (inside, builder) = (crowd.clone(), worker(&db).lease(Duration::from_secs(1)));
    let builder = builder
        .grace(Duration::from_millis(10))
        .drain(Duration::ZERO)
        .concurrency(1);
    let at_work = AtWork::start(builder.handler("deaf", move |_: Value, _: Context| {
        let inside = inside.enter();
        async move {
            std::future::pending::<()>().await;
            drop(inside);
            Ok(())
        }
    }));
    until(
        &c,
        "select count(*) = 1 from tenure.active where started_at is not null",
        &[],
        "a start",
    )
    .await;
    one(&c, "select tenure.job_cancel($1, 'by force', 'force')", &[&job]).await;
    until_true("it is dropped", || crowd.now() == 0).await;
    enqueue(&c, "deaf").await;
    until_true("the next one runs", || crowd.now() == 1).await;
    assert_eq!(at_work.stop().await.lost, 1);
}

#[tokio::test]
async fn a_cancel_request_reaches_the_handler_and_is_acknowledged() {
    let db = Db::open().await;
    let c = db.client().await;
    for (then, becomes) in [
        (
            (|| Err(Failure::cancelled())) as fn() -> Result<Done, Failure>,
            "cancelled",
        ),
        (|| Err(Failure::retry("stopped in the middle")), "cancelled"),
        (|| Ok(Done::with("done all the same")?), "succeeded"),
    ] {
        let job = enqueue(&c, "wait").await;
        let told = Told::default();
        let builder = worker(&db).heartbeat_interval(Duration::from_millis(20));
        let at_work = AtWork::start(waiting(builder, &told, then));
        until(
            &c,
            "select count(*) = 1 from tenure.active where started_at is not null",
            &[],
            "a start",
        )
        .await;
        one(&c, "select tenure.job_cancel($1, 'no longer needed')", &[&job]).await;
        until_true("the handler is told", || told.reason().is_some()).await;
        let wish = Some("no longer needed".to_owned());
        assert_eq!(told.reason(), Some((CancelReason::Requested, wish)));
        let report = at_work.stop().await;
        assert_eq!(state(&c, job).await, becomes);
        assert_eq!(
            (report.cancelled, report.succeeded),
            if becomes == "cancelled" { (1, 0) } else { (0, 1) }
        );
    }
    check_invariants(&c).await;
}

/// Handlers that use the worker's own pool may all wait for a lock: what they hold is renewed all the same. Rule: 7.
#[tokio::test]
async fn heartbeats_go_on_while_every_connection_of_the_pool_waits_for_a_lock() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "known").await;
    let holder = db.direct().await;
    run(
        &holder,
        "begin; select tenure.job_enqueue('known', '{}', p_key => 'held')",
    )
    .await;
    let options = tenure::pool::PoolOptions {
        connections_max: 3,
        ..Default::default()
    };
    let pool = tenure::Pool::new(db.url(), &options).expect("a pool");
    let client = tenure::Client::new(pool.clone());
    client.open_lanes(["known"]).await.expect("it is there");
    let builder = tenure::worker::Worker::builder(pool)
        .name("w")
        .connections(1)
        .poll_interval(Duration::from_millis(20))
        .lease(Duration::from_secs(1));
    let at_work = AtWork::start(builder.handler("wait", move |_: Value, _: Context| {
        let client = client.clone();
        async move {
            let job = tenure::NewJob::new("known").key("held");
            loop {
                match client.enqueue(&job).await {
                    Err(error) if error.is(tenure_core::codes::BUSY_TRY_AGAIN) => {}
                    enqueued => break enqueued.map(|_| ()).map_err(Failure::from),
                }
            }
        }
    }));
    for _ in 0..4 {
        enqueue(&c, "wait").await;
    }
    let admin = db.direct().await;
    let sql = "select count(*) >= 2 from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock' and query like '%enqueue%'";
    until(&admin, sql, &[], "handlers that wait").await;
    until(
        &c,
        "select count(*) = 4 and min(l.renewals) >= 4 from tenure.leases l join tenure.active a using (token)",
        &[],
        "renewals of all",
    )
    .await;
    run(&holder, "commit").await;
    until(
        &c,
        "select count(*) = 4 from tenure.attempts where final",
        &[],
        "all done",
    )
    .await;
    let report = at_work.stop().await;
    assert_eq!((report.succeeded, report.lost), (4, 0));
}
