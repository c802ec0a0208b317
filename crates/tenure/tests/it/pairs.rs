//! Verbs that take pairs of job and token: each pair answers for itself, also when a job comes with two tokens.

use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Claimed, Db, check_invariants, claim, claim_with, enqueue_with, get, reap, rows, state, verb};

/// One job with a token that the reaper took away, and with the live one.
async fn stale_and_live(db: &Db, c: &Client, arguments: &str) -> (Claimed, Claimed) {
    let job = enqueue_with(c, "a", arguments).await;
    let stale = claim(c, "before").await;
    db.advance("1 hour").await;
    reap(c).await;
    let live = claim(c, "after").await;
    assert_eq!((stale.job_id, live.job_id), (job, job));
    (stale, live)
}

/// The same pairs in both orders: what a pair answers does not depend on its place.
fn both_orders(stale: &Claimed, live: &Claimed) -> [(Vec<Uuid>, [usize; 2]); 2] {
    [
        (vec![stale.token, live.token], [0, 1]),
        (vec![live.token, stale.token], [1, 0]),
    ]
}

#[tokio::test]
async fn a_stale_token_is_refused_beside_the_live_one_by_every_start() {
    let db = Db::open().await;
    let c = db.client().await;
    for order in 0..2 {
        let (stale, live) = stale_and_live(&db, &c, "").await;
        let (tokens, [at, beside]) = both_orders(&stale, &live)[order].clone();
        let ids = vec![live.job_id; 2];
        let sql = "select status, started_at is not null from tenure.job_start_many($1, $2)";
        for expected in ["started", "already_started"] {
            let answers = rows(&c, sql, &[&ids, &tokens]).await;
            assert_eq!(answers[at].get::<_, &str>(0), "stale_lease");
            assert!(!answers[at].get::<_, bool>(1), "and no start is shown for it");
            assert_eq!(answers[beside].get::<_, &str>(0), expected);
        }
        verb(&c, "job_complete", &live, "").await;
    }
    // Past its deadline the live one went to the dead letters, and the stale one still held nothing.
    for order in 0..2 {
        let (stale, live) = stale_and_live(&db, &c, ", p_deadline => tenure.now() + interval '2 hours'").await;
        db.advance("61 minutes").await;
        let sql = "update tenure.leases set until = until + interval '1 day'";
        rows(&db.direct().await, sql, &[]).await;
        let (tokens, [at, beside]) = both_orders(&stale, &live)[order].clone();
        let ids = vec![live.job_id; 2];
        let answers = rows(&c, "select status from tenure.job_start_many($1, $2)", &[&ids, &tokens]).await;
        assert_eq!(answers[at].get::<_, &str>(0), "stale_lease");
        assert_eq!(answers[beside].get::<_, &str>(0), "deadline_passed");
    }
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_stale_token_is_refused_beside_the_live_one_by_every_end() {
    let db = Db::open().await;
    let c = db.client().await;
    for (outcome, becomes) in [
        ("succeeded", "succeeded"),
        ("failed", "retry_waiting"),
        ("failed_permanently", "dead_letter"),
        ("snoozed", "retry_waiting"),
        ("released", "queued"),
        ("cancelled", "cancelled"),
    ] {
        for order in 0..2 {
            let (stale, live) = stale_and_live(&db, &c, "").await;
            verb(&c, "job_start", &live, "").await;
            if outcome == "cancelled" {
                get::<serde_json::Value>(&c, "select tenure.job_cancel($1, 'no need')", &[&live.job_id]).await;
            }
            let (tokens, [at, beside]) = both_orders(&stale, &live)[order].clone();
            let ids = vec![live.job_id; 2];
            let outcomes = vec![outcome; 2];
            let sql = match outcome {
                "snoozed" => {
                    "select status, state from tenure.job_end_many($1, $2, $3, p_delay_seconds => array[5, 5])"
                }
                _ => "select status, state from tenure.job_end_many($1, $2, $3)",
            };
            let answers = rows(&c, sql, &[&ids, &tokens, &outcomes]).await;
            let answered = |at: usize| (answers[at].get::<_, String>(0), answers[at].get::<_, Option<String>>(1));
            assert_eq!(answered(at), ("stale_lease".to_owned(), None), "{outcome}");
            assert_eq!(
                answered(beside),
                ("ended".to_owned(), Some(becomes.to_owned())),
                "{outcome}"
            );
            assert_eq!(state(&c, live.job_id).await, becomes);
            let again = rows(&c, sql, &[&ids, &tokens, &outcomes]).await;
            assert_eq!(again[at].get::<_, &str>(0), "stale_lease", "{outcome}, repeated");
            assert_eq!(again[beside].get::<_, &str>(0), "already_ended", "{outcome}, repeated");
            if !["succeeded", "dead_letter", "cancelled"].contains(&becomes) {
                get::<serde_json::Value>(&c, "select tenure.job_cancel($1, 'done with')", &[&live.job_id]).await;
            }
        }
    }
    check_invariants(&c).await;
}

/// A turn answers only for ends that did not simply succeed: it names the token, or nothing would tell the two apart.
#[tokio::test]
async fn a_stale_token_is_refused_beside_the_live_one_by_a_turn() {
    let db = Db::open().await;
    let c = db.client().await;
    for order in 0..2 {
        let (stale, live) = stale_and_live(&db, &c, "").await;
        let (tokens, _) = both_orders(&stale, &live)[order].clone();
        let ids = vec![live.job_id; 2];
        let outcomes = vec!["succeeded"; 2];
        let sql = "select more ->> 'status', (more ->> 'token')::uuid
                     from tenure.job_turn($1, $2, $3, null, null, null, null, null, null, 'w', null, null, 0, null, 'leased', null)";
        let answers = rows(&c, sql, &[&ids, &tokens, &outcomes]).await;
        let answered: Vec<(String, Uuid)> = answers.iter().map(|row| (row.get(0), row.get(1))).collect();
        assert_eq!(answered, [("stale_lease".to_owned(), stale.token)]);
        assert_eq!(state(&c, live.job_id).await, "succeeded");
    }
}

#[tokio::test]
async fn a_stale_token_is_lost_beside_the_live_one_of_a_heartbeat() {
    let db = Db::open().await;
    let c = db.client().await;
    let (stale, live) = stale_and_live(&db, &c, "").await;
    for (tokens, [at, beside]) in both_orders(&stale, &live) {
        let ids = vec![live.job_id; 2];
        let answers = rows(
            &c,
            "select status from tenure.job_heartbeat_many($1, $2)",
            &[&ids, &tokens],
        )
        .await;
        assert_eq!(answers[at].get::<_, &str>(0), "lost");
        assert_eq!(answers[beside].get::<_, &str>(0), "ok");
    }
}

/// An end that its holder recorded before is that end, whatever the job's next holder says in the same batch.
#[tokio::test]
async fn an_end_repeated_beside_the_live_one_answers_with_its_own_record() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_with(&c, "a", "").await;
    let before = claim(&c, "w").await;
    verb(&c, "job_release", &before, "").await;
    let live = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    let (ids, tokens) = (vec![live.job_id; 2], vec![before.token, live.token]);
    let sql = "select status, state from tenure.job_end_many($1, $2, array['released', 'failed_permanently'])";
    let answers = rows(&c, sql, &[&ids, &tokens]).await;
    let answered: Vec<(String, String)> = answers.iter().map(|row| (row.get(0), row.get(1))).collect();
    let expected = [("already_ended", "queued"), ("ended", "dead_letter")];
    assert_eq!(
        answered,
        expected.map(|(status, state)| (status.to_owned(), state.to_owned()))
    );
}
