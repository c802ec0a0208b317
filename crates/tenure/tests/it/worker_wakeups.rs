//! A worker hears of new work, or finds it.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use tenure::worker::Context;

use crate::fixture::{Db, enqueue, enqueue_with, get, run, until};
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
                where datname = current_database() and query like '%offer_lock%' and query not like '%pg_stat_activity%'";
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

/// A worker has parked, and looked for jobs once more after that.
const LOOKED: &str = "select exists (
    select from pg_stat_activity s, tenure.lanes l
     where s.datname = current_database() and s.state = 'idle' and s.query_start > l.parked_until - interval '60 seconds'
       and (s.query like '%tenure.job_turn(%' or s.query = 'select pg_catalog.pg_current_snapshot()::text')
       and s.query not like '%pg_stat_activity%')";

const PARK: &str = "select max(parked_until) from tenure.lanes";

/// An enqueue that looked for parked workers before there was one, and commits after the worker has looked for jobs. Nobody
/// is notified, and the poll is an hour away. Rule: 19.
#[tokio::test]
async fn a_job_whose_enqueue_was_under_way_while_the_worker_parked_is_found_when_it_commits() {
    let db = Db::open().await;
    let (c, early, unrelated) = (db.client().await, db.direct().await, db.direct().await);
    run(&c, "select tenure.lane_open('a')").await;
    run(&early, "begin; select tenure.job_enqueue('a')").await;
    let builder = worker(&db)
        .poll_interval(Duration::from_secs(3600))
        .listen_url(db.url());
    let at_work = AtWork::start(builder.handler("a", async |_: Value, _: Context| Ok(())));
    until(&c, LOOKED, &[], "a look after the park").await;
    // Another one that stays open for long holds nobody up.
    run(&unrelated, "begin; select pg_current_xact_id()").await;
    let park: SystemTime = get(&c, PARK, &[]).await;
    run(&early, "commit").await;
    let ended = "select count(*) = 1 from tenure.attempts where final";
    until(&c, ended, &[], "its end").await;
    assert_eq!(
        get::<SystemTime>(&c, PARK, &[]).await,
        park,
        "it was not found by a later park"
    );
    run(&unrelated, "rollback").await;
    assert_eq!(at_work.stop().await.succeeded, 1);
}
