//! An enqueue as a part of a two-phase commit.

use crate::fixture::{claim_with, connect, enqueue, get, rows, run, told, try_rows};
use crate::own_cluster::own_cluster;

/// A transaction that has notified cannot be prepared, so whether `prepare transaction` worked depended on whether a
/// worker was idle. With `tenure.notify = off` it always works, and the worker finds the job when it looks.
#[tokio::test]
async fn a_transaction_that_wakes_no_worker_can_always_be_prepared() {
    let (_directory, mut options) = own_cluster();
    options
        .settings
        .push(("max_prepared_transactions".to_owned(), "4".to_owned()));
    let cluster = tenure_cluster::Cluster::start(options).await.expect("a server");
    let config = cluster.url("postgres").parse().expect("a URL");
    let mut c = connect(&config).await;
    tenure::migrate(&mut c, &tenure::migrate::Options::default())
        .await
        .expect("migrated");
    run(
        &c,
        "do $$ begin perform tenure.gate_set(k.key, 'open') from tenure.config_keys k where k.is_gate; end $$",
    )
    .await;
    get::<i32>(&c, "select tenure.lane_open('report')", &[]).await;
    let calls = [
        "select tenure.job_enqueue('report')",
        "select tenure.job_enqueue_plain('report', '{}', null)",
        "select tenure.job_enqueue_plain('report', '{}', null, true)",
        "select tenure.job_enqueue_many(array['report', 'report'])",
        "select tenure.job_enqueue_many(array['report', 'other'], p_priorities => array[1, 2])",
    ];
    for level in ["read committed", "repeatable read", "serializable"] {
        for (n, call) in calls.iter().enumerate() {
            get::<Vec<i32>>(
                &c,
                "select tenure.worker_park(p_kinds => array['report', 'other'], p_seconds => 60)",
                &[],
            )
            .await;
            run(
                &c,
                &format!(
                    "begin isolation level {level}; set local tenure.notify = off; {call}; prepare transaction 'two {n}'"
                ),
            )
            .await;
            run(&c, &format!("commit prepared 'two {n}'")).await;
        }
    }
    let found = claim_with(&c, "w", ", p_limit => 100").await;
    assert_eq!(found.len(), 21, "a look finds them");

    // Without it a worker that is parked is notified, and PostgreSQL refuses to prepare the transaction.
    get::<Vec<i32>>(
        &c,
        "select tenure.worker_park(p_kinds => array['report'], p_seconds => 60)",
        &[],
    )
    .await;
    run(&c, "begin").await;
    enqueue(&c, "report").await;
    let error = try_rows(&c, "prepare transaction 'refused'", &[])
        .await
        .expect_err("it has notified");
    assert!(told(&error).contains("NOTIFY"), "{}", told(&error));
    rows(&c, "select 1", &[]).await;
    cluster.stop().await.expect("stopped");
}
