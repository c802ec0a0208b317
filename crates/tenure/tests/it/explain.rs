//! Why is this job not running? Every reason has a code, what, why and what to do next.

use serde_json::Value;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, claim_with, enqueue, enqueue_with, one, rows, verb};

/// The codes of all reasons, each checked to say something.
async fn reasons(c: &Client, job: Uuid) -> Vec<String> {
    let told: Value = one(c, "select tenure.job_explain($1)", &[&job]).await;
    told["reasons"]
        .as_array()
        .expect("reasons")
        .iter()
        .map(|reason| {
            for part in ["what", "why", "next"] {
                assert!(
                    reason[part].as_str().is_some_and(|it| !it.trim().is_empty()),
                    "{part} is missing: {told}"
                );
            }
            reason["code"].as_str().expect("a code").to_owned()
        })
        .collect()
}

/// Proves: S69.
#[tokio::test]
async fn a_waiting_job_says_all_that_stands_in_its_way() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "report").await;
    assert_eq!(reasons(&c, job).await, ["no_live_executor"]);
    one(&c, "select tenure.executor_beat('w', 'external_worker')", &[]).await;
    assert_eq!(reasons(&c, job).await, ["waiting_turn"]);
    let later = enqueue(&c, "report").await;
    let told = one(&c, "select tenure.job_explain($1)", &[&later]).await;
    assert!(
        told["reasons"][0]["what"]
            .as_str()
            .is_some_and(|it| it.starts_with("1 jobs are ahead")),
        "{told}"
    );

    let scheduled = enqueue_with(&c, "report", ", p_due => tenure.now() + interval '1 hour'").await;
    assert_eq!(reasons(&c, scheduled).await, ["not_due"]);
    let mortal = enqueue_with(&c, "report", ", p_deadline => tenure.now() + interval '1 minute'").await;
    db.advance("2 minutes").await;
    assert_eq!(reasons(&c, mortal).await, ["deadline_passed"]);
    one(
        &c,
        "select tenure.gate_set('queue.job_substrate.enabled', 'closed')",
        &[],
    )
    .await;
    db.advance("20 minutes").await;
    assert_eq!(
        reasons(&c, mortal).await,
        ["gate_closed", "deadline_passed", "no_live_executor"],
        "every reason at once"
    );
    assert_eq!(
        reasons(&c, scheduled).await,
        ["gate_closed", "not_due", "no_live_executor"]
    );
}

/// Proves: S69.
#[tokio::test]
async fn a_retry_says_when_it_runs_again_and_why_it_failed() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "report").await;
    let held = claim_with(&c, "w", "").await.remove(0);
    verb(&c, "job_fail", &held, ", 'the disk is full'").await;
    assert_eq!(reasons(&c, job).await, ["waiting_retry"]);
    let told = one(&c, "select tenure.job_explain($1)", &[&job]).await;
    assert_eq!(told["state"], "retry_waiting");
    assert!(
        told["reasons"][0]["why"]
            .as_str()
            .is_some_and(|it| it.contains("Attempt 1 of 5") && it.contains("the disk is full")),
        "{told}"
    );
    db.advance("1 minute").await;
    assert_eq!(reasons(&c, job).await, ["waiting_turn"], "due again");
}

#[tokio::test]
async fn a_held_job_says_who_holds_it_and_whether_anybody_still_does() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "report").await;
    let held = claim_with(&c, "w", "").await.remove(0);
    assert_eq!(reasons(&c, job).await, ["leased"]);
    verb(&c, "job_start", &held, "").await;
    assert_eq!(reasons(&c, job).await, ["in_progress"]);
    one(&c, "select tenure.job_cancel($1, 'superseded')", &[&job]).await;
    assert_eq!(reasons(&c, job).await, ["in_progress", "cancel_requested"]);
    db.advance("1 hour").await;
    assert_eq!(reasons(&c, job).await, ["lease_expired", "cancel_requested"]);
}

#[tokio::test]
async fn an_ended_job_says_how_it_ended() {
    let db = Db::open().await;
    let c = db.client().await;
    one(
        &c,
        r#"select tenure.kind_set('rests', '{"on_exhausted": "fail"}')"#,
        &[],
    )
    .await;
    let end = async |kind: &str, how: &str, arguments: &str| {
        let job = enqueue(&c, kind).await;
        let held = claim_with(&c, "w", "").await.remove(0);
        verb(&c, how, &held, arguments).await;
        job
    };
    let done = end("report", "job_complete", "").await;
    assert_eq!(reasons(&c, done).await, ["succeeded"]);
    assert_eq!(
        reasons(&c, end("report", "job_fail", ", 'no', 'permanent'").await).await,
        ["dead_letter"]
    );
    assert_eq!(
        reasons(&c, end("rests", "job_fail", ", 'no', 'permanent'").await).await,
        ["failed"]
    );
    let cancelled = enqueue(&c, "report").await;
    one(&c, "select tenure.job_cancel($1, 'superseded')", &[&cancelled]).await;
    assert_eq!(reasons(&c, cancelled).await, ["cancelled"]);
    db.advance("8 days").await;
    one(&c, "select tenure.job_sweep()", &[]).await;
    assert_eq!(reasons(&c, done).await, ["cleaned"]);
}

/// The codes in the function and those that `sql/README.md` promises are the same.
#[tokio::test]
async fn the_readme_lists_every_reason() {
    let db = Db::open().await;
    let c = db.client().await;
    let source: String = rows(
        &c,
        "select string_agg(prosrc, ' ') from pg_proc where pronamespace = 'tenure'::regnamespace and proname ~ '^explain_'",
        &[],
    )
    .await[0]
        .get(0);
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../sql/README.md")).expect("sql/README.md");
    let section = readme
        .split("#### `job_explain`")
        .nth(1)
        .and_then(|it| it.split("####").next())
        .expect("its section");
    for code in [
        "gate_closed",
        "deadline_passed",
        "waiting_retry",
        "not_due",
        "no_live_executor",
        "waiting_turn",
        "lease_expired",
        "cancel_requested",
    ] {
        assert!(
            source.contains(&format!("'{code}'")),
            "{code} is no reason of the function any more"
        );
        assert!(section.contains(code), "{code} is not in the README");
    }
}
