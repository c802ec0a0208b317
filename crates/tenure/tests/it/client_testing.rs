//! What Tenure offers to the tests of others.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::testing::{assert_enqueued, assert_none_enqueued, drain, enqueued};
use tenure::worker::{Context, Failure};
use tenure::{Client, NewJob, enqueue_in};

use crate::fixture::Db;
use crate::worker_scene::{pool, worker};

#[tokio::test]
async fn a_test_sees_what_was_enqueued_and_may_roll_it_back() {
    let db = Db::open().await;
    let mut c = db.direct().await;
    let transaction = c.transaction().await.expect("a transaction");
    for order in 1..=3 {
        let job = NewJob::of("order.ship", &json!({"order": order})).expect("a payload");
        enqueue_in(&transaction, &job.key(format!("order-{order}")))
            .await
            .expect("a job");
    }
    let found = assert_enqueued(&transaction, "order.ship", |payload: &Value| payload["order"] == 2).await;
    assert_eq!((found.idempotency_key.as_deref(), found.priority), (Some("order-2"), 0));
    let all = enqueued(&transaction, "order.ship").await.expect("a list");
    let orders: Vec<&Value> = all.iter().map(|job| &job.payload["order"]).collect();
    assert_eq!(orders, [1, 2, 3], "oldest first");
    transaction.rollback().await.expect("rolled back");
    assert_none_enqueued(&c, "order.ship").await;
}

#[tokio::test]
async fn a_job_that_is_missed_is_told_with_those_that_are_there() {
    let db = Db::open().await;
    let client = Client::new(pool(&db));
    let job = NewJob::of("order.ship", &json!({"order": 7})).expect("a payload");
    client.enqueue(&job).await.expect("a job");
    let c = db.client().await;
    let asserting = tokio::spawn(async move {
        assert_enqueued(&c, "order.ship", |payload: &Value| payload["order"] == 8).await;
    });
    let panic = asserting.await.expect_err("a panic").into_panic();
    let told = panic.downcast_ref::<String>().expect("a text");
    assert!(told.contains(r#"{"order":7}"#), "{told}");
    let c = db.client().await;
    let asserting = tokio::spawn(async move { assert_none_enqueued(&c, "order.ship").await });
    assert!(asserting.await.is_err());
}

#[tokio::test]
async fn draining_runs_what_is_due_and_counts_how_it_ended() {
    let db = Db::open().await;
    let client = Client::new(pool(&db));
    let c = db.client().await;
    for order in 0..5 {
        let job = NewJob::of("order.ship", &json!({"order": order})).expect("a payload");
        client.enqueue(&job).await.expect("a job");
    }
    client
        .enqueue(&NewJob::new("order.ship").due_in(Duration::from_secs(600)))
        .await
        .expect("a job");
    client.enqueue(&NewJob::new("other")).await.expect("a job");
    let shipping = worker(&db).handler("order.ship", async |order: Value, _: Context| match &order["order"] {
        number if *number == 3 => Err(Failure::retry("no box left")),
        _ => Ok(()),
    });
    let report = drain(shipping).await.expect("a report");
    assert_eq!((report.succeeded, report.failed), (4, 1));
    let left = enqueued(&c, "order.ship").await.expect("a list");
    let states: Vec<&str> = left.iter().map(|job| &*job.state).collect();
    assert_eq!(
        states,
        ["retry_waiting", "queued"],
        "the one that failed, and the one that is not due"
    );
    assert_eq!(
        enqueued(&c, "other").await.expect("a list").len(),
        1,
        "no kind of this worker"
    );
}
