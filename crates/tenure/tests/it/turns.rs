//! Ends by the batch: each row answers for itself, and a worker's turn is one statement.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::ends::started;
use crate::fixture::{
    Claimed, Db, check_invariants, claim, claim_with, enqueue, get, one, raised, reap, rows, run, state, try_rows,
    until_blocked, verb,
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

/// Outcome, result, its reference, error code, error message, delay; and what the row answers.
type EndRow = (
    &'static str,
    Option<Value>,
    Option<String>,
    Option<&'static str>,
    Option<String>,
    Option<i32>,
    &'static str,
);

/// Rule: 10.
#[tokio::test]
async fn one_bad_row_never_fails_a_batch() {
    let db = Db::open().await;
    let c = db.client().await;
    let kinds = vec!["a"; 12];
    rows(&c, "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
    let mut held = claim_with(&c, "w", ", p_limit => 11, p_mode => 'started'").await;
    held.push(claim(&c, "w").await);
    let mut ids: Vec<Uuid> = held.iter().map(|it| it.job_id).collect();
    let mut tokens: Vec<Uuid> = held.iter().map(|it| it.token).collect();
    tokens[1] = Uuid::new_v4();
    ids.push(Uuid::now_v7());
    tokens.push(Uuid::new_v4());
    ids.push(ids[0]); // The same row twice.
    tokens.push(tokens[0]);
    let huge = "x".repeat(tenure_core::limits::RESULT_BYTES_MAX);
    #[rustfmt::skip] // A table is read by column.
    let table: [EndRow; 14] = [
        ("succeeded",          Some(json!({"n": 1})), None, None, None, None, "ended"),
        ("succeeded",          None, None, None, None, None, "stale_lease"),
        ("done",               None, None, None, None, None, "outcome_unknown"),
        ("succeeded",          Some(json!({"n": huge})), None, None, None, None, "result_too_large"),
        ("succeeded",          None, Some("r".repeat(501)), None, None, None, "result_too_large"),
        ("failed",             None, None, None, None, Some(-1), "delay_out_of_range"),
        ("snoozed",            None, None, None, None, None, "delay_out_of_range"),
        ("cancelled",          None, None, None, None, None, "cancel_not_requested"),
        ("failed_permanently", None, None, Some(" "), Some("\t".to_owned()), None, "ended"),
        ("failed_permanently", None, None, Some(""), None, None, "ended"),
        ("failed",             None, None, Some("c"), Some("ü".repeat(1_000_000)), None, "ended"),
        ("snoozed",            None, None, None, None, Some(5), "not_started"),
        ("succeeded",          None, None, None, None, None, "stale_lease"),
        ("succeeded",          None, None, None, None, None, "ended"),
    ];
    let outcomes: Vec<&str> = table.iter().map(|it| it.0).collect();
    let results: Vec<Option<Value>> = table.iter().map(|it| it.1.clone()).collect();
    let refs: Vec<Option<String>> = table.iter().map(|it| it.2.clone()).collect();
    let codes: Vec<Option<&str>> = table.iter().map(|it| it.3).collect();
    let messages: Vec<Option<String>> = table.iter().map(|it| it.4.clone()).collect();
    let delays: Vec<Option<i32>> = table.iter().map(|it| it.5).collect();
    let sql = "select job_id, status from tenure.job_end_many($1, $2, $3, $4, $5, $6, null, $7, $8)";
    let answers = rows(
        &c,
        sql,
        &[&ids, &tokens, &outcomes, &results, &refs, &codes, &messages, &delays],
    )
    .await;
    let statuses: Vec<&str> = answers.iter().map(|row| row.get(1)).collect();
    let expected: Vec<&str> = table.iter().map(|it| it.6).collect();
    assert_eq!(statuses, expected);
    let order: Vec<Uuid> = answers.iter().map(|row| row.get(0)).collect();
    assert_eq!(order, ids, "in the order asked");
    assert_eq!(state(&c, ids[0]).await, "succeeded");
    assert_eq!(state(&c, ids[8]).await, "dead_letter");
    assert_eq!(state(&c, ids[2]).await, "in_progress", "a refused row is untouched");
    check_invariants(&c).await;
}

/// Rule: 10.
#[tokio::test]
async fn a_repeated_end_answers_with_what_was_recorded() {
    let db = Db::open().await;
    let c = db.client().await;
    for (outcome, becomes) in [
        ("succeeded", "succeeded"),
        ("failed", "retry_waiting"),
        ("failed_permanently", "dead_letter"),
        ("released", "queued"),
    ] {
        let held = started(&c, outcome).await;
        let first = end_many(&c, std::slice::from_ref(&held), &[outcome]).await;
        assert_eq!(first, [("ended".to_owned(), Some(becomes.to_owned()))]);
        let again = end_many(&c, std::slice::from_ref(&held), &[outcome]).await;
        assert_eq!(
            again,
            [("already_ended".to_owned(), Some(becomes.to_owned()))],
            "{outcome}"
        );
    }
    // A run that was taken away was not ended by its worker: its result must be dropped.
    let held = started(&c, "expired").await;
    db.advance("1 hour").await;
    reap(&c).await;
    assert_eq!(
        end_many(&c, std::slice::from_ref(&held), &["succeeded"]).await[0].0,
        "stale_lease"
    );
    let held = started(&c, "forced").await;
    one(&c, "select tenure.job_cancel($1, 'at once', 'force')", &[&held.job_id]).await;
    assert_eq!(
        end_many(&c, std::slice::from_ref(&held), &["succeeded"]).await[0].0,
        "stale_lease"
    );
}

/// Rule: 10.
#[tokio::test]
async fn a_turn_ends_one_batch_and_claims_the_next_in_one_statement() {
    let db = Db::open().await;
    let c = db.client().await;
    let kinds = vec!["a"; 6];
    rows(&c, "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
    let turn = async |held: &[Claimed], outcomes: &[&str], limit: i32, token: Uuid| {
        let ids: Vec<Uuid> = held.iter().map(|it| it.job_id).collect();
        let tokens: Vec<Uuid> = held.iter().map(|it| it.token).collect();
        let outcomes: Vec<&str> = outcomes.to_vec();
        let sql = "select part, more ->> 'status' as status, coalesce(job_id, $5) as job_id, coalesce((more ->> 'token')::uuid, $5) as token, coalesce(more ->> 'state', '') as state,
                          coalesce(run, 0) as run, coalesce(attempt, 0::smallint) as attempt, coalesce(lane, 0) as lane
                     from tenure.job_turn($1, $2, $3, null, null, null, null, null, null, 'w', null, null, $4, 60, 'started', $5)";
        rows(&c, sql, &[&ids, &tokens, &outcomes, &limit, &token]).await
    };
    let token = Uuid::new_v4();
    let first = turn(&[], &[], 3, token).await;
    let lease = &first[3];
    assert_eq!(
        (lease.get("part"), lease.get("token"), lease.get("state")),
        ("lease", token, "in_progress"),
        "what all jobs of a lane have in common is told once"
    );
    let held: Vec<Claimed> = first[..3].iter().map(Claimed::of).collect();
    assert_eq!(held.len(), 3);

    let second = turn(&held, &["succeeded", "failed", "succeeded"], 10, Uuid::new_v4()).await;
    let ends: Vec<(&str, Uuid)> = second
        .iter()
        .filter(|row| row.get::<_, &str>("part") == "end")
        .map(|row| (row.get("status"), row.get("job_id")))
        .collect();
    assert_eq!(
        ends,
        [("ended", held[1].job_id)],
        "only what did not simply succeed is told"
    );
    let claimed = second
        .iter()
        .filter(|row| row.get::<_, &str>("part") == "claim")
        .count();
    assert_eq!(claimed, 3);
    assert_eq!(state(&c, held[0].job_id).await, "succeeded");

    let none = turn(&[], &[], 0, Uuid::new_v4()).await;
    assert!(none.is_empty(), "no limit, no claim");
    let again = turn(&held[..1], &["succeeded"], 0, Uuid::new_v4()).await;
    assert_eq!(again[0].get::<_, &str>("status"), "already_ended");
    check_invariants(&c).await;
}

/// A turn is one transaction: what cannot be claimed leaves the ends undone too, and nothing half done. Rule: 10.
#[tokio::test]
async fn a_turn_that_is_refused_changes_nothing() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "a").await;
    let held = started(&c, "a").await;
    let sql =
        "select part from tenure.job_turn(array[$1], array[$2], array['succeeded'], null, null, null, null, null, null,
                 'w', null, null, 5, 60, 'started', $3)";
    // The token of the next claim belongs to another lease.
    enqueue(&c, "b").await;
    let other = claim_with(&c, "w", ", p_kinds => array['b']").await.remove(0);
    raised(
        try_rows(&c, sql, &[&held.job_id, &held.token, &other.token]).await,
        "token_reused",
    );
    assert_eq!(state(&c, held.job_id).await, "in_progress");
    check_invariants(&c).await;
}

/// Two workers that send the end of one run at once: it ends once.
#[tokio::test]
async fn two_ends_of_one_run_at_once_end_it_once() {
    let db = Db::open().await;
    let (a, b, watch) = (db.client().await, db.client().await, db.client().await);
    let held = started(&a, "a").await;
    run(&a, "begin").await;
    assert_eq!(verb(&a, "job_complete", &held, "").await["status"], "ended");
    let (second, ()) = tokio::join!(verb(&b, "job_complete", &held, ""), async {
        until_blocked(&watch, "job_complete").await;
        run(&a, "commit").await;
    });
    assert_eq!(
        (&second["status"], &second["state"]),
        (&json!("already_ended"), &json!("succeeded"))
    );
    check_invariants(&watch).await;
}

/// Guards: D63.
#[tokio::test]
async fn batch_limits_and_mismatched_arrays_are_refused() {
    let db = Db::open().await;
    let c = db.client().await;
    let held = started(&c, "a").await;
    let many: Vec<Uuid> = vec![held.job_id; 1001];
    let words = vec!["succeeded"; 1001];
    let sql = "select status from tenure.job_end_many($1, $2, $3)";
    raised(try_rows(&c, sql, &[&many, &many, &words]).await, "batch_too_large");
    let (two, one_token) = (vec![held.job_id; 2], vec![held.token]);
    raised(
        try_rows(&c, sql, &[&two, &one_token, &vec!["succeeded"; 2]]).await,
        "arguments_mismatched",
    );
    for optional in [
        "p_results => array[null::jsonb]",
        "p_delay_seconds => array[1, 2, 3]",
        "p_error_codes => array['x']",
    ] {
        let sql = format!("select status from tenure.job_end_many($1, $1, array['failed', 'failed'], {optional})");
        raised(try_rows(&c, &sql, &[&two]).await, "arguments_mismatched");
    }
    for call in ["tenure.job_start_many($1, $2)", "tenure.job_heartbeat_many($1, $2)"] {
        let sql = format!("select status from {call}");
        raised(try_rows(&c, &sql, &[&two, &one_token]).await, "arguments_mismatched");
        raised(try_rows(&c, &sql, &[&many, &many]).await, "batch_too_large");
    }
    assert!(
        rows(&c, "select status from tenure.job_end_many('{}', '{}', '{}')", &[])
            .await
            .is_empty()
    );
}

/// Successes of one claim are ended without telling rows apart; what is different in a batch is answered all the same. Rule: 7, 8.
#[tokio::test]
async fn a_batch_of_successes_answers_for_what_was_lost_told_twice_or_never_held() {
    let db = Db::open().await;
    let c = db.client().await;
    let kinds = vec!["a"; 4];
    rows(&c, "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
    let held = claim_with(&c, "w", ", p_limit => 4, p_mode => 'started'").await;
    verb(&c, "job_complete", &held[0], "").await;
    let token = held[0].token;
    let ids = [
        held[0].job_id,
        held[1].job_id,
        held[1].job_id,
        Uuid::new_v4(),
        held[2].job_id,
    ];
    let answers = rows(
        &c,
        "select job_id, status, state from tenure.job_end_many($1, $2, $3)",
        &[&ids.to_vec(), &vec![token; 5], &vec!["succeeded"; 5]],
    )
    .await;
    let told: Vec<(Uuid, &str)> = answers.iter().map(|row| (row.get(0), row.get(1))).collect();
    let statuses = ["already_ended", "ended", "ended", "stale_lease", "ended"];
    assert_eq!(told, ids.into_iter().zip(statuses).collect::<Vec<_>>());
    assert_eq!(state(&c, held[3].job_id).await, "in_progress", "nobody ended it");
    let left: i32 = get(&db.direct().await, "select held from tenure.leases", &[]).await;
    assert_eq!(left, 1, "the lease counts what it still holds");
    let events: i64 = get(
        &db.direct().await,
        "select sum(job_count)::bigint from tenure.events where kind = 'job.succeeded'",
        &[],
    )
    .await;
    assert_eq!(events, 3);
    check_invariants(&c).await;
}
