//! A claim may begin where the last one ended.

use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{
    Db, check_invariants, claim, enqueue, enqueue_with, raised, rows, run, try_rows, until_blocked, verb,
};

/// Claims with the hint that the last row of a full batch gives.
async fn hinted(client: &Client, limit: i32, hint: (i32, i16, jiff::Timestamp, jiff::Timestamp)) -> Vec<Uuid> {
    let sql = "select job_id from tenure.job_claim_many('w', p_limit => $1, p_hint_lane => $2, p_hint_rank => $3, p_hint_due => $4, p_hint_at => $5)";
    let got = rows(client, sql, &[&limit, &hint.0, &hint.1, &hint.2, &hint.3]).await;
    got.iter().map(|row| row.get(0)).collect()
}

/// Rule: 16.
#[tokio::test]
async fn a_start_hint_hides_neither_urgent_work_nor_anything_else() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "a").await;
    let early = claim(&c, "w").await;
    let kinds = vec!["a"; 10];
    rows(&c, "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
    let batch = rows(
        &c,
        "select lane, rank, due, leased_at from tenure.job_claim_many('w', p_limit => 5)",
        &[],
    )
    .await;
    let row = &batch[4];
    let hint = (row.get(0), row.get(1), row.get(2), row.get(3));
    // Urgent work that came meanwhile, and a job of the hint's rank that was given back: it is due before the hint.
    let urgent = enqueue_with(&c, "a", ", p_priority => 'urgent'").await;
    verb(&c, "job_release", &early, "").await;
    let got = hinted(&c, 100, hint).await;
    assert_eq!(got[0], urgent, "better ranks are probed first");
    assert_eq!(got.len(), 7, "and nothing stays hidden behind the hint");
    assert!(got.contains(&early.job_id));

    // A hint that is wrong in every way only costs time.
    let kinds = vec!["a"; 3];
    rows(&c, "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
    let far = (hint.0, i16::MAX, hint.2 + jiff::SignedDuration::from_hours(1), hint.3);
    assert_eq!(hinted(&c, 100, far).await.len(), 3);
    rows(&c, "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
    let stale = (
        hint.0,
        hint.1,
        hint.2 + jiff::SignedDuration::from_hours(1),
        hint.3 - jiff::SignedDuration::from_secs(5),
    );
    assert_eq!(hinted(&c, 1, stale).await.len(), 1, "a hint is good for a second");
    check_invariants(&c).await;
}

/// A claim that keeps to its hint leaves alone what lies before it, however much room there is; one without finds it. Rule: 16.
#[tokio::test]
async fn a_claim_that_keeps_to_its_hint_passes_over_what_lies_before_it() {
    let db = Db::open().await;
    let c = db.client().await;
    let (old, newer, bulk) = (
        enqueue(&c, "a").await,
        enqueue(&c, "a").await,
        enqueue_with(&c, "a", ", p_priority => 'bulk'").await,
    );
    // The first lies a second before the others.
    run(
        &db.direct().await,
        &format!("update tenure.ready set due = due - interval '1 second' where job_id = '{old}'"),
    )
    .await;
    let hint: (i32, jiff::Timestamp) = {
        let row = &rows(
            &db.direct().await,
            "select lane, due from tenure.ready where job_id = $1",
            &[&newer],
        )
        .await[0];
        (row.get(0), row.get(1))
    };
    let claimed = async |at: &str, limit: i32| -> Vec<Uuid> {
        let sql = format!(
            "select job_id from tenure.job_turn(null, null, null, null, null, null, null, null, null, 'w', null, null, $1, null, 'started', null,
               p_hint_lane => $2, p_hint_rank => 0::smallint, p_hint_due => $3, p_hint_at => {at}, p_hint_alone => true) where part = 'claim'"
        );
        let got = rows(&c, &sql, &[&limit, &hint.0, &hint.1]).await;
        got.iter().map(|row| row.get(0)).collect()
    };
    assert_eq!(
        claimed("tenure.now()", 10).await,
        [newer, bulk],
        "worse ranks lie behind it"
    );
    assert!(claimed("tenure.now()", 10).await.is_empty());
    let urgent = enqueue_with(&c, "a", ", p_priority => 'urgent'").await;
    assert_eq!(
        claimed("tenure.now()", 10).await,
        [urgent, old],
        "where a better rank waits, the whole lane is looked at"
    );
    let late = enqueue(&c, "a").await;
    run(
        &db.direct().await,
        "update tenure.ready set due = due - interval '1 hour'",
    )
    .await;
    assert_eq!(
        claimed("tenure.now() - interval '2 minutes'", 10).await,
        [late],
        "no hint is good for ever"
    );
    check_invariants(&c).await;
}

/// The answer of a claim was lost, its transaction is not over yet, and its worker claims again with the same token: whoever comes second is refused, and nothing
/// is held that nobody was told of. Rule: 9, 19.
#[tokio::test]
async fn two_claims_under_way_with_one_token_never_share_a_lease() {
    let db = Db::open().await;
    let (first, second, watch) = (db.client().await, db.client().await, db.client().await);
    for _ in 0..4 {
        enqueue(&watch, "a").await;
    }
    let token = Uuid::new_v4();
    let claim = "select job_id from tenure.job_claim_many('w', p_limit => 2, p_token => $1)";
    run(&first, "begin").await;
    assert_eq!(rows(&first, claim, &[&token]).await.len(), 2);
    let again = async { try_rows(&second, claim, &[&token]).await };
    let (refused, ()) = tokio::join!(again, async {
        until_blocked(&watch, "job_claim_many").await;
        run(&first, "commit").await;
    });
    raised(refused, "token_reused");
    let held = rows(&watch, "select job_id from tenure.job_held($1)", &[&token]).await;
    assert_eq!(held.len(), 2, "the first claim stands alone");
    check_invariants(&watch).await;
}
