//! Waking parked workers: a notification only where somebody listens, and none that a worker needs is lost.

use std::future::poll_fn;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_postgres::{AsyncMessage, Client, Config, NoTls};

use crate::fixture::{Db, claim_with, enqueue, get, one, raised, run, try_rows};

/// A session that listens for lanes, and what it hears.
async fn listen(db: &Db) -> (Client, UnboundedReceiver<String>) {
    let config: Config = db.url().parse().expect("the database's URL");
    let (client, mut connection) = config.connect(NoTls).await.expect("connect");
    let (heard, receiver) = unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(it) = message {
                let _ = heard.send(it.payload().to_owned());
            }
        }
    });
    run(&client, "listen tenure_lane").await;
    (client, receiver)
}

/// Everything heard up to now: a marker of our own comes after it, since notifications arrive in the order of commits.
async fn heard(c: &Client, receiver: &mut UnboundedReceiver<String>) -> Vec<String> {
    run(c, "select pg_notify('tenure_lane', 'that is all')").await;
    let mut all = Vec::new();
    loop {
        let next = receiver.recv().await.expect("the listening session lives");
        if next == "that is all" {
            return all;
        }
        all.push(next);
    }
}

async fn park(c: &Client, arguments: &str) -> Vec<i32> {
    get(c, &format!("select tenure.worker_park({arguments})"), &[]).await
}

/// Proves: S60.
/// Rule: 19.
#[tokio::test]
async fn an_enqueue_notifies_only_lanes_where_somebody_is_parked() {
    let db = Db::open().await;
    let c = db.client().await;
    let (_listening, mut receiver) = listen(&db).await;
    let lane: i32 = get(&c, "select tenure.lane_open('report')", &[]).await;
    enqueue(&c, "report").await;
    assert!(
        heard(&c, &mut receiver).await.is_empty(),
        "nobody parked, nobody notified"
    );

    assert_eq!(park(&c, "p_kinds => array['report'], p_seconds => 60").await, [lane]);
    enqueue(&c, "report").await;
    enqueue(&c, "other").await;
    assert_eq!(
        heard(&c, &mut receiver).await,
        [lane.to_string()],
        "the parked lane, and no other"
    );
    let waiting = enqueue(&c, "report").await;
    assert!(
        heard(&c, &mut receiver).await.is_empty(),
        "whoever is awake is not woken again"
    );
    park(&c, "p_kinds => array['report'], p_seconds => 60").await;
    one(&c, "select tenure.job_retry($1)", &[&waiting]).await;
    assert_eq!(
        heard(&c, &mut receiver).await.len(),
        1,
        "a job that an operator runs now wakes too"
    );

    park(&c, "p_kinds => array['report'], p_seconds => 60").await;
    one(&c, "select tenure.gate_set('queue.notify.enabled', 'closed')", &[]).await;
    enqueue(&c, "report").await;
    assert!(heard(&c, &mut receiver).await.is_empty(), "its gate is closed");
    one(&c, "select tenure.gate_set('queue.notify.enabled', 'open')", &[]).await;
    db.advance("61 seconds").await;
    enqueue(&c, "report").await;
    assert!(heard(&c, &mut receiver).await.is_empty(), "the park is over");
}

/// Rule: 19.
#[tokio::test]
async fn a_worker_that_parks_and_looks_once_more_misses_nothing() {
    let db = Db::open().await;
    let c = db.direct().await;
    let producer = db.direct().await;
    let (worker, mut receiver) = listen(&db).await;
    run(&c, "select tenure.lane_open('report')").await;

    // The job comes after the empty claim and before the park: nobody is notified, the second look finds it.
    assert!(claim_with(&worker, "w", "").await.is_empty());
    enqueue(&c, "report").await;
    park(&worker, "").await;
    assert_eq!(claim_with(&worker, "w", "").await.len(), 1);

    // Enqueued by a transaction that was open when the worker parked: it is notified when that commits, or sees the jobs.
    run(&c, "update tenure.lanes set parked_until = null").await;
    run(&producer, "begin; select tenure.job_enqueue('report')").await;
    park(&worker, "").await;
    run(&producer, "select tenure.job_enqueue('report'); commit").await;
    let found = claim_with(&worker, "w", ", p_limit => 10").await.len();
    assert!(found == 2 || !heard(&c, &mut receiver).await.is_empty());
}

/// A transaction that has enqueued and stays open wakes the worker when it commits, and nobody knows when that is. Rule: 19.
#[tokio::test]
async fn an_enqueue_that_stays_open_does_not_keep_others_from_waking_a_worker() {
    let db = Db::open().await;
    let (c, open) = (db.client().await, db.direct().await);
    let (worker, mut receiver) = listen(&db).await;
    let lane: i32 = get(&c, "select tenure.lane_open('report')", &[]).await;
    park(&worker, "").await;
    run(&open, "begin; select tenure.job_enqueue('report')").await;
    for _ in 0..2 {
        enqueue(&c, "report").await;
        assert_eq!(heard(&c, &mut receiver).await, [lane.to_string()]);
        park(&worker, "").await;
    }
    run(&open, "commit").await;
    assert_eq!(heard(&c, &mut receiver).await, [lane.to_string()]);
}

/// It cannot see a park that began after it, nor take one away that has changed since. Rule: 19.
#[tokio::test]
async fn an_enqueue_with_an_old_snapshot_wakes_in_any_case_and_never_fails_for_it() {
    let db = Db::open().await;
    let (c, old) = (db.client().await, db.direct().await);
    let (worker, mut receiver) = listen(&db).await;
    let lane: i32 = get(&c, "select tenure.lane_open('report')", &[]).await;
    for park_again in [false, true] {
        run(&old, "begin isolation level repeatable read; select 1").await;
        if park_again {
            run(&c, "update tenure.lanes set parked_until = null").await;
        }
        park(&worker, "").await;
        run(
            &old,
            "select tenure.job_enqueue_plain('report', '{}', null); select tenure.job_enqueue('report'); commit",
        )
        .await;
        assert_eq!(heard(&c, &mut receiver).await, [lane.to_string()]);
    }
}

/// Somebody has the row of the lane: a park there does not stand, and its worker has to know. Rule: 19.
#[tokio::test]
async fn a_park_that_could_not_be_written_is_not_answered() {
    let db = Db::open().await;
    let (c, open) = (db.direct().await, db.direct().await);
    let lane: i32 = get(&c, "select tenure.lane_open('report')", &[]).await;
    run(&open, "begin; select from tenure.lanes for update").await;
    assert!(park(&c, "p_seconds => 60").await.is_empty());
    run(&open, "rollback").await;
    assert_eq!(park(&c, "p_seconds => 60").await, [lane]);
    run(&open, "begin; select from tenure.lanes for update").await;
    assert_eq!(
        park(&c, "p_seconds => 60").await,
        [lane],
        "the one that stands is good enough"
    );
    db.advance("40 seconds").await;
    assert!(park(&c, "p_seconds => 60").await.is_empty(), "it is no more");
    run(&open, "rollback").await;
}

/// Rule: 19.
#[tokio::test]
async fn a_park_covers_what_the_caller_may_claim_and_is_not_written_over_and_over() {
    let db = Db::open().await;
    let c = db.client().await;
    run(&c, "select tenure.lane_open('report', 'DOT'); select tenure.lane_open('report', 'Codex'); select tenure.lane_open('audit', 'DOT')").await;
    let (_, worker) = db.login(&["tenure_worker"], "default", Some(&["DOT"])).await;
    assert_eq!(park(&worker, "").await.len(), 2, "the lanes of its executor");
    assert_eq!(park(&worker, "p_kinds => array['audit']").await.len(), 1);
    assert!(park(&worker, "p_executor => 'Codex'").await.is_empty());
    let written = "select string_agg(xmin::text, ' ' order by lane) from tenure.lanes";
    let before: String = get(&c, written, &[]).await;
    park(&worker, "p_seconds => 30").await;
    let after: String = get(&c, written, &[]).await;
    assert_eq!(before, after, "already parked for longer: nothing to write");
    for seconds in ["0", "3601"] {
        raised(
            try_rows(&c, &format!("select tenure.worker_park(p_seconds => {seconds})"), &[]).await,
            "number_out_of_range",
        );
    }
}
