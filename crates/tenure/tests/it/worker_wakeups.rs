//! A worker hears of new work, or finds it.

use std::time::Duration;

use serde_json::Value;
use tenure::worker::Context;

use crate::fixture::{Db, enqueue, enqueue_with, run, until};
use crate::worker_scene::{AtWork, worker};

/// The poll is an hour away, so only the notification explains that the job runs. Rule: 19.
#[tokio::test]
async fn a_notification_wakes_an_idle_worker() {
    let db = Db::open().await;
    let c = db.client().await;
    let builder = worker(&db)
        .poll_interval(Duration::from_secs(3600))
        .listen_url(db.url());
    let at_work = AtWork::start(builder.handler("a", async |_: Value, _: Context| Ok(())));
    let parked = "select coalesce(bool_or(parked_until > now()), false) from tenure.lanes";
    until(&c, parked, &[], "a park, also of a kind that was never enqueued").await;
    for done in 1..=3i64 {
        enqueue(&c, "a").await;
        let all = "select count(*) = $1 from tenure.attempts where final";
        until(&c, all, &[&done], "its end").await;
    }
    assert_eq!(at_work.stop().await.succeeded, 3);
}

#[tokio::test]
async fn a_worker_that_cannot_listen_finds_work_by_polling() {
    let db = Db::open().await;
    let c = db.client().await;
    let nowhere = "postgres://nobody@127.0.0.1:1/none";
    let at_work = AtWork::start(
        worker(&db)
            .listen_url(nowhere)
            .handler("a", async |_: Value, _: Context| Ok(())),
    );
    for done in 1..=2i64 {
        enqueue(&c, "a").await;
        let all = "select count(*) = $1 from tenure.attempts where final";
        until(&c, all, &[&done], "its end").await;
    }
    // What becomes due is not told by anybody.
    enqueue_with(&c, "a", ", p_due => tenure.now() + interval '300 milliseconds'").await;
    until(
        &c,
        "select count(*) = 3 from tenure.attempts where final",
        &[],
        "its end",
    )
    .await;
    assert_eq!(at_work.stop().await.succeeded, 3);
}

/// The listening connection is lost and found again: work is heard of as before.
#[tokio::test]
async fn a_worker_listens_again_when_its_connection_was_cut() {
    let db = Db::open().await;
    let (c, admin) = (db.client().await, db.direct().await);
    let builder = worker(&db)
        .poll_interval(Duration::from_secs(3600))
        .listen_url(db.url());
    let at_work = AtWork::start(builder.handler("a", async |_: Value, _: Context| Ok(())));
    let parked = "select coalesce(bool_or(parked_until > now()), false) from tenure.lanes";
    until(&c, parked, &[], "a park").await;
    run(&admin, "update tenure.lanes set parked_until = null").await;
    let cut = "select count(pg_terminate_backend(pid)) = 1 from pg_stat_activity
                where datname = current_database() and query like 'listen%'";
    until(&admin, cut, &[], "the listener cut").await;
    until(&c, parked, &[], "a new park").await;
    enqueue(&c, "a").await;
    until(
        &c,
        "select count(*) = 1 from tenure.attempts where final",
        &[],
        "its end",
    )
    .await;
    assert_eq!(at_work.stop().await.succeeded, 1);
}
