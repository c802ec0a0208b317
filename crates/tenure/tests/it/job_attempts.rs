//! How many attempts a job has used, as everything that is read of it says.

use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, claim, claim_with, enqueue_with, get, one, reap, state, verb};

/// What the job shows, what the list shows without and with a state, and what the view shows: one number.
async fn attempts(c: &Client, job: Uuid) -> i32 {
    let shown = one(c, "select tenure.job_show($1)", &[&job]).await["attempts"].clone();
    let state = state(c, job).await;
    let all = "select attempts from tenure.job_list() where job_id = $1";
    let some = "select attempts from tenure.job_list(array[$2]) where job_id = $1";
    let view = "select attempts from tenure.job_queue where job_id = $1";
    let listed: i32 = get(c, all, &[&job]).await;
    assert_eq!(shown, listed, "shown and listed in state {state}");
    assert_eq!(get::<i32>(c, some, &[&job, &state]).await, listed, "listed as {state}");
    assert_eq!(get::<i32>(c, view, &[&job]).await, listed, "the view in state {state}");
    listed
}

#[tokio::test]
async fn an_expiry_before_the_start_is_no_attempt_in_what_is_read() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue_with(&c, "a", ", p_attempts_max => 1").await;
    assert_eq!(attempts(&c, job).await, 0);
    for _ in 0..2 {
        claim(&c, "w").await;
        assert_eq!(attempts(&c, job).await, 1, "the one under way");
        db.advance("1 hour").await;
        reap(&c).await;
        assert_eq!(attempts(&c, job).await, 0, "it never reached a handler");
    }
    assert_eq!(state(&c, job).await, "dead_letter", "never started too often");
    let buried: i32 = get(
        &c,
        "select attempts from tenure.dead_letters where job_id = $1",
        &[&job],
    )
    .await;
    assert_eq!(buried, 0, "and its dead letter says the same");
}

#[tokio::test]
async fn what_was_given_back_is_no_attempt_in_what_is_read() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue_with(&c, "a", "").await;
    let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    verb(&c, "job_fail", &held, ", 'x', p_retry_seconds => 0").await;
    assert_eq!(attempts(&c, job).await, 1, "a failure is one");
    let held = claim(&c, "w").await;
    verb(&c, "job_release", &held, "").await;
    assert_eq!(attempts(&c, job).await, 1, "a release is none");
    let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    verb(&c, "job_snooze", &held, ", 5").await;
    assert_eq!(attempts(&c, job).await, 1, "a snooze is none");
    one(&c, "select tenure.job_retry($1, 'now')", &[&job]).await;
    assert_eq!(attempts(&c, job).await, 1, "called forward, and no attempt more");
}

#[tokio::test]
async fn a_retry_by_hand_begins_to_count_anew_in_what_is_read() {
    let db = Db::open().await;
    let c = db.client().await;
    one(
        &c,
        r#"select tenure.kind_set('a', '{"on_exhausted": "fail", "attempts_max": 2}')"#,
        &[],
    )
    .await;
    let job = enqueue_with(&c, "a", "").await;
    for expected in 1..=2 {
        let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
        assert_eq!(i32::from(held.attempt), expected);
        verb(&c, "job_fail", &held, ", 'x', p_retry_seconds => 0").await;
        assert_eq!(attempts(&c, job).await, expected);
    }
    assert_eq!(state(&c, job).await, "failed");
    one(&c, "select tenure.job_retry($1, 'again')", &[&job]).await;
    assert_eq!(attempts(&c, job).await, 0, "it has all its attempts again");
    let held = claim(&c, "w").await;
    assert_eq!((held.attempt, attempts(&c, job).await), (1, 1));
}
