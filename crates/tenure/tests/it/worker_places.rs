//! A worker runs as many jobs at once as it may, and asks the database seldom.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tenure::worker::{Context, Failure, HandlerOptions};
use tokio::sync::Semaphore;

use crate::fixture::{Db, check_invariants, enqueue, get};
use crate::worker_scene::{AtWork, Crowd, enqueue_many, finished, until_idle, until_true, worker};

/// A handler that joins the crowd and leaves with a permit.
fn crowded(
    crowd: &Crowd,
    permits: &Arc<Semaphore>,
) -> impl Fn(Value, Context) -> std::pin::Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>> + Send + Sync + 'static
{
    let (crowd, permits) = (crowd.clone(), permits.clone());
    move |_, _| {
        let (crowd, permits) = (crowd.clone(), permits.clone());
        Box::pin(async move {
            let _inside = crowd.enter();
            permits.acquire().await?.forget();
            Ok(())
        })
    }
}

#[tokio::test]
async fn neither_the_places_of_a_worker_nor_those_of_a_kind_are_ever_exceeded() {
    let db = Db::open().await;
    let c = db.client().await;
    for kind in ["free", "narrow", "single"] {
        enqueue_many(&c, kind, 60).await;
    }
    let (free, narrow, single, all) = (Crowd::default(), Crowd::default(), Crowd::default(), Crowd::default());
    let permits = Arc::new(Semaphore::new(0));
    let everybody = all.clone();
    let at_work = AtWork::start(
        worker(&db)
            .concurrency(8)
            .connections(3)
            .handler("free", crowded(&free, &permits))
            .handler_with(
                "narrow",
                HandlerOptions::default().concurrency(3),
                crowded(&narrow, &permits),
            )
            .handler_with(
                "single",
                HandlerOptions::default().concurrency(1),
                crowded(&single, &permits),
            )
            .middleware(move |context, next: tenure::worker::Next| {
                let inside = everybody.enter();
                async move {
                    let outcome = next.run(context).await;
                    drop(inside);
                    outcome
                }
            }),
    );
    until_true("every place in use", || all.now() == 8).await;
    // Let them out one by one and a few at a time: each way of refilling must keep to the limits.
    for round in 0..20 {
        let before = all.ever();
        let out = 1 + round % 3;
        permits.add_permits(out);
        until_true("others take their places", || all.ever() == before + out).await;
    }
    permits.add_permits(180);
    crate::fixture::until(
        &c,
        "select count(*) = 180 from tenure.attempts where final",
        &[],
        "all done",
    )
    .await;
    let report = at_work.stop().await;
    assert_eq!(report.succeeded, 180);
    assert_eq!((all.most(), narrow.most(), single.most()), (8, 3, 1));
    assert_eq!((free.ever(), narrow.ever(), single.ever()), (60, 60, 60));
    check_invariants(&c).await;
}

/// A kind of its own limit that has a long backlog does not keep others from their places.
#[tokio::test]
async fn a_kind_at_its_limit_leaves_the_other_places_to_others() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_many(&c, "narrow", 50).await;
    let (narrow, other, permits) = (Crowd::default(), Crowd::default(), Arc::new(Semaphore::new(0)));
    let at_work = AtWork::start(
        worker(&db)
            .concurrency(4)
            .handler_with(
                "narrow",
                HandlerOptions::default().concurrency(2),
                crowded(&narrow, &permits),
            )
            .handler("other", crowded(&other, &permits)),
    );
    until_true("the limit", || narrow.now() == 2).await;
    enqueue_many(&c, "other", 2).await;
    until_true("the others", || other.now() == 2).await;
    assert_eq!(narrow.most(), 2);
    permits.add_permits(100);
    crate::fixture::until(
        &c,
        "select count(*) = 52 from tenure.attempts where final",
        &[],
        "all done",
    )
    .await;
    assert_eq!(at_work.stop().await.succeeded, 52);
}

/// A place is filled again the moment it is free: with a poll every hour, only that explains that all run.
#[tokio::test]
async fn a_free_place_is_filled_at_once() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_many(&c, "a", 20).await;
    let (crowd, permits) = (Crowd::default(), Arc::new(Semaphore::new(0)));
    let builder = worker(&db).poll_interval(Duration::from_secs(3600)).concurrency(2);
    let at_work = AtWork::start(builder.handler("a", crowded(&crowd, &permits)));
    for seen in 1..=18 {
        until_true("two at a time", || crowd.ever() == seen + 1 && crowd.now() == 2).await;
        permits.add_permits(1);
    }
    permits.add_permits(2);
    crate::fixture::until(
        &c,
        "select count(*) = 20 from tenure.attempts where final",
        &[],
        "all done",
    )
    .await;
    assert_eq!(at_work.stop().await.succeeded, 20);
    assert_eq!(crowd.most(), 2);
}

/// The ends of a batch and the claim of the next are one statement and one commit, whatever the jobs did. Rule: 10.
#[tokio::test]
async fn a_batch_is_one_commit() {
    let db = Db::open().await;
    let c = db.client().await;
    for _ in 0..4 {
        enqueue_many(&c, "a", 250).await;
    }
    let before: i64 = get(&c, "select max(seq) from tenure.events", &[]).await;
    let report = until_idle(
        worker(&db)
            .concurrency(200)
            .batch_max(100)
            .handler("a", async |_: Value, _: Context| Ok(())),
    )
    .await;
    assert_eq!((report.succeeded, report.claimed), (1000, 1000));
    assert_eq!(finished(&c, "succeeded").await, 1000);
    let sql = "select count(distinct txid) from tenure.events where seq > $1 and kind like 'job.%'";
    let commits: i64 = get(&c, sql, &[&before]).await;
    assert!(
        (11..=22).contains(&commits),
        "{commits} commits for 10 batches of each of two loops at the most"
    );
    let sql = "select count(*) from (
                 select txid from tenure.events where seq > $1 group by txid
                 having bool_or(kind = 'job.succeeded') and bool_or(kind = 'job.started')) both_at_once";
    let both: i64 = get(&c, sql, &[&before]).await;
    assert!(both >= 8, "{both} turns that ended and claimed at once");
    check_invariants(&c).await;
}

/// No handler runs before its start is recorded: what the handler sees of its own job is in progress. Rule: 8.
#[tokio::test]
async fn a_handler_runs_only_after_its_start_is_recorded() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_many(&c, "a", 30).await;
    let watch = Arc::new(db.client().await);
    let report = until_idle(
        worker(&db)
            .concurrency(2)
            .buffer(5)
            .handler("a", move |_: Value, context: Context| {
                let watch = watch.clone();
                async move {
                    let state = crate::fixture::state(&watch, context.job().job_id).await;
                    assert_eq!(
                        (state.as_str(), context.job().state.as_str()),
                        ("in_progress", "in_progress")
                    );
                    Ok(())
                }
            }),
    )
    .await;
    assert_eq!((report.succeeded, report.failed), (30, 0));
}

/// What waits in the buffer is leased and not started, and goes back when it would wait too long. Rule: 8.
#[tokio::test]
async fn a_buffer_is_filled_ahead_and_given_back_when_it_waits_too_long() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_many(&c, "a", 10).await;
    let (crowd, permits) = (Crowd::default(), Arc::new(Semaphore::new(0)));
    let builder = worker(&db).concurrency(2).buffer(4).lease(Duration::from_secs(1));
    let at_work = AtWork::start(builder.handler("a", crowded(&crowd, &permits)));
    let leased = "select count(*) = $1 from tenure.active where started_at is null";
    crate::fixture::until(&c, leased, &[&4i64], "a full buffer").await;
    assert_eq!(crowd.now(), 2);
    crate::fixture::until(&c, leased, &[&0i64], "an empty buffer").await;
    let given_back = "select count(*) from tenure.attempts where outcome = 'released'";
    assert_eq!(get::<i64>(&c, given_back, &[]).await, 4);
    permits.add_permits(100);
    crate::fixture::until(
        &c,
        "select count(*) = 10 from tenure.attempts where final",
        &[],
        "all done",
    )
    .await;
    let report = at_work.stop().await;
    assert_eq!(report.succeeded, 10);
    assert!(report.released >= 4);
    let attempts: i16 = get(&c, "select max(attempt) from tenure.attempts where final", &[]).await;
    assert_eq!(attempts, 1, "waiting in a buffer costs no attempt");
    check_invariants(&c).await;
}

#[tokio::test]
async fn several_workers_share_a_backlog_and_run_each_job_once() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_many(&c, "a", 400).await;
    enqueue(&c, "b").await;
    let crowd = Crowd::default();
    let lives =
        (0..3).map(|number| {
            let crowd = crowd.clone();
            until_idle(worker(&db).name(format!("w{number}")).concurrency(20).handler(
                "a",
                move |_: Value, _: Context| {
                    let crowd = crowd.clone();
                    async move {
                        let _inside = crowd.enter();
                        tokio::task::yield_now().await;
                        Ok(())
                    }
                },
            ))
        });
    let reports = crate::fixture::all(lives.collect()).await;
    assert_eq!(reports.iter().map(|report| report.succeeded).sum::<u64>(), 400);
    assert_eq!(crowd.ever(), 400);
    check_invariants(&c).await;
}
