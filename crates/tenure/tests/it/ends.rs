//! The end of a run: fenced, once, whatever moves at the same time.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{
    Claimed, Db, check_invariants, claim, claim_with, enqueue, enqueue_with, get, one, reap, refused, rows, run, state,
    try_rows, until_blocked, verb,
};

/// Ends a batch and answers with status and state for each, in the order asked.
async fn end_many(client: &Client, held: &[Claimed], outcomes: &[&str]) -> Vec<(String, Option<String>)> {
    let ids: Vec<Uuid> = held.iter().map(|it| it.job_id).collect();
    let tokens: Vec<Uuid> = held.iter().map(|it| it.token).collect();
    let sql = "select status, state from tenure.job_end_many($1, $2, $3)";
    let outcomes: Vec<&str> = outcomes.to_vec();
    let answers = rows(client, sql, &[&ids, &tokens, &outcomes]).await;
    answers.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// A job that is held and started.
async fn started(client: &Client, kind: &str) -> Claimed {
    enqueue(client, kind).await;
    claim_with(client, "w", ", p_mode => 'started'").await.remove(0)
}

/// Proves: S119. Rule: 6.
#[tokio::test]
async fn an_end_that_waited_for_a_cancel_request_ends_the_job_once() {
    for (function, arguments, becomes) in [
        ("job_complete", "", "succeeded"),
        ("job_fail", ", 'broken'", "cancelled"),
        ("job_release", "", "cancelled"),
        ("job_snooze", ", 60", "cancelled"),
        ("job_acknowledge_cancel", "", "cancelled"),
    ] {
        let db = Db::open().await;
        let (a, b, watch) = (db.client().await, db.client().await, db.client().await);
        let held = started(&a, "race").await;
        run(&a, "begin").await;
        let asked = one(&a, "select tenure.job_cancel($1, 'superseded')", &[&held.job_id]).await;
        assert_eq!(asked["cancel_requested"], true, "{asked}");
        let (ended, ()) = tokio::join!(verb(&b, function, &held, arguments), async {
            until_blocked(&watch, function).await;
            run(&a, "commit").await;
        });
        assert_eq!(ended["state"], becomes, "{function}: {ended}");
        check_invariants(&watch).await;
        assert_eq!(state(&watch, held.job_id).await, becomes, "{function}");
    }
}
