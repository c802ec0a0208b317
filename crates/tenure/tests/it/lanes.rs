//! The first jobs of a kind: lanes that transactions make beside each other, and what they are to all others.

use serde_json::json;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, check_invariants, claim_with, enqueue, get, one, rows, run, verb};

/// The lanes of a kind as (number, twin), lowest twin first.
async fn lanes(c: &Client, kind: &str) -> Vec<(i32, i32)> {
    rows(
        c,
        "select lane, twin from tenure.lanes where kind = $1 order by twin",
        &[&kind],
    )
    .await
    .iter()
    .map(|row| (row.get(0), row.get(1)))
    .collect()
}

/// A kind with two lanes, and a job in each.
async fn twins(db: &Db, kind: &str) -> [Uuid; 2] {
    let (a, b) = (db.direct().await, db.direct().await);
    run(&a, "begin").await;
    let first = enqueue(&a, kind).await;
    let second = enqueue(&b, kind).await;
    run(&a, "commit").await;
    [first, second]
}

/// The second enqueue of a new kind waited for the transaction of the first.
/// Rule: 14.
#[tokio::test]
async fn the_first_job_of_a_kind_in_an_open_transaction_holds_up_no_other() {
    let db = Db::open().await;
    let c = db.direct().await;
    run(&c, "set statement_timeout = '20s'").await;
    for (n, call) in [
        "select job_id from tenure.job_enqueue_plain($1, '{}', null)",
        "select job_id from tenure.job_enqueue_many(array[$1, $1], p_priorities => array[1, 2])",
        "select tenure.job_enqueue($1)",
        "select tenure.lane_open($1)",
    ]
    .iter()
    .enumerate()
    {
        let kind = format!("fresh {n}");
        let a = db.direct().await;
        run(&a, "begin").await;
        enqueue(&a, &kind).await;
        rows(&c, call, &[&kind]).await;
        run(&a, "commit").await;
        let found = lanes(&c, &kind).await;
        assert!(
            found.len() == 2 && found[0].1 == 0 && found[1].0 == found[1].1,
            "{found:?}"
        );
        // From then on there is one again for all.
        let job = enqueue(&c, &kind).await;
        let lane: i32 = get(&c, "select lane from tenure.jobs where job_id = $1", &[&job]).await;
        assert_eq!(lane, found[0].0, "the lowest that is seen");
    }
    check_invariants(&c).await;
}

/// Rule: 14.
#[tokio::test]
async fn two_transactions_that_make_two_kinds_in_opposite_order_both_go_on() {
    let db = Db::open().await;
    let (a, b) = (db.direct().await, db.direct().await);
    run(&a, "begin").await;
    run(&b, "begin").await;
    enqueue(&a, "one").await;
    enqueue(&b, "two").await;
    tokio::join!(enqueue(&a, "two"), enqueue(&b, "one"));
    run(&a, "commit").await;
    run(&b, "commit").await;
    assert_eq!(claim_with(&a, "w", ", p_limit => 10").await.len(), 4);
}

/// A snapshot that is older than the lane does not show it: the enqueue makes another, and does not fail.
/// Rule: 14.
#[tokio::test]
async fn an_enqueue_with_an_old_snapshot_makes_the_lane_it_does_not_see() {
    let db = Db::open().await;
    let (a, b) = (db.direct().await, db.direct().await);
    for level in ["repeatable read", "serializable"] {
        run(
            &a,
            &format!("begin isolation level {level}; select count(*) from tenure.jobs"),
        )
        .await;
        enqueue(&b, level).await;
        enqueue(&a, level).await;
        run(&a, "commit").await;
        assert_eq!(claim_with(&b, "w", ", p_limit => 10").await.len(), 2);
    }
}

/// Claims, limits, parks, metrics and the backlog go by kind.
/// Rule: 14.
#[tokio::test]
async fn twin_lanes_are_one_kind_to_all_who_claim_count_limit_and_park() {
    let db = Db::open().await;
    let c = db.direct().await;
    let jobs = twins(&db, "report").await;
    let found = lanes(&c, "report").await;
    assert_eq!(found.len(), 2);

    let backlog = rows(
        &c,
        "select row_count from tenure.job_backlog where job_kind = 'report'",
        &[],
    )
    .await;
    assert_eq!(backlog.iter().map(|row| row.get(0)).collect::<Vec<i64>>(), [2]);
    let sum: f64 = get(
        &c,
        "select sum(value) from tenure.metrics_queue(array[1], tenure.now()) where name = 'tenure_jobs' and labels ->> 'kind' = 'report'",
        &[],
    )
    .await;
    assert!((sum - 2.0).abs() < f64::EPSILON, "{sum}");
    let parked: Vec<i32> = get(
        &c,
        "select tenure.worker_park(p_kinds => array['report'], p_seconds => 60)",
        &[],
    )
    .await;
    assert_eq!(parked.len(), 2);
    for job in jobs {
        let explained = one(&c, "select tenure.job_explain($1)", &[&job]).await;
        assert_eq!(explained["state"], json!("queued"), "{explained}");
    }

    one(&c, "select tenure.kind_set('report', '{\"concurrency_max\": 1}')", &[]).await;
    let held = claim_with(&c, "w", ", p_limit => 10").await;
    assert_eq!(held.len(), 1, "the limit is the kind's, not the lane's");
    assert!(claim_with(&c, "w", ", p_limit => 10").await.is_empty());
    verb(&c, "job_complete", &held[0], "").await;
    let rest = claim_with(&c, "w", ", p_limit => 10").await;
    assert_eq!(rest.len(), 1);
    verb(&c, "job_complete", &rest[0], "").await;
    check_invariants(&c).await;
}

/// A worker that is parked on the lane of a kind does not know a lane of that kind that is made later: who makes it wakes
/// the worker, which finds it.
/// Rule: 19.
#[tokio::test]
async fn a_worker_parked_on_a_kind_is_woken_by_a_new_lane_of_that_kind() {
    let db = Db::open().await;
    let c = db.direct().await;
    let lane: i32 = get(&c, "select tenure.lane_open('report')", &[]).await;
    let parked: Vec<i32> = get(
        &c,
        "select tenure.worker_park(p_kinds => array['report'], p_seconds => 60)",
        &[],
    )
    .await;
    assert_eq!(parked, [lane]);
    // As the dispatch of a step does.
    let other: i32 = get(
        &c,
        "select tenure.lane_ensure(tenure.caller(), 'report', null, '', true)",
        &[],
    )
    .await;
    let still: bool = get(
        &c,
        "select parked_until is not null from tenure.lanes where lane = $1",
        &[&lane],
    )
    .await;
    assert!(other != lane && !still, "a worker that was woken is parked no more");
}
