//! Retention: past its time a job is emptied, key first; the tombstone still answers, and nothing alive is touched.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{
    Db, check_invariants, claim, claim_with, enqueue, enqueue_with, get, id_of, one, raised, refused, rows, run, state,
    try_rows, verb,
};

async fn sweep(c: &Client) -> Value {
    one(c, "select tenure.job_sweep()", &[]).await
}

/// A job of this kind that has just ended so.
async fn ended(c: &Client, kind: &str, how: &str, arguments: &str) -> Uuid {
    let job = enqueue_with(
        c,
        kind,
        r#", '{"n": 1}', p_source_ref => 's', p_target_ref => 't', p_payload_ref => 'p'"#,
    )
    .await;
    let held = claim_with(c, "w", ", p_mode => 'started'").await.remove(0);
    assert_eq!(held.job_id, job);
    verb(c, how, &held, arguments).await;
    job
}

/// Proves: S27, S108, S117.
#[tokio::test]
async fn a_job_is_cleaned_when_the_time_of_its_ending_is_over() {
    let db = Db::open().await;
    let c = db.client().await;
    one(
        &c,
        r#"select tenure.kind_set('rests', '{"on_exhausted": "fail"}')"#,
        &[],
    )
    .await;
    one(
        &c,
        r#"select tenure.kind_set('short', '{"retention_seconds": 3600}')"#,
        &[],
    )
    .await;
    let succeeded = ended(&c, "report", "job_complete", "").await;
    let failed = ended(&c, "rests", "job_fail", ", 'no', 'permanent'").await;
    let dead = ended(&c, "report", "job_fail", ", 'no', 'permanent'").await;
    let short = ended(&c, "short", "job_complete", "").await;
    let cancelled = enqueue(&c, "report").await;
    one(&c, "select tenure.job_cancel($1, 'enough')", &[&cancelled]).await;
    let states = async || {
        let mut found = Vec::new();
        for job in [succeeded, cancelled, failed, dead, short] {
            found.push(state(&c, job).await);
        }
        found
    };
    sweep(&c).await;
    assert_eq!(
        states().await,
        ["succeeded", "cancelled", "failed", "dead_letter", "succeeded"],
        "too early"
    );
    db.advance("2 hours").await;
    sweep(&c).await;
    assert_eq!(
        states().await,
        ["succeeded", "cancelled", "failed", "dead_letter", "cleaned"],
        "its kind says an hour"
    );
    db.advance("7 days").await;
    // The walk starts again from the front once a day, for those it had to leave behind.
    sweep(&c).await;
    sweep(&c).await;
    assert_eq!(
        states().await,
        ["cleaned", "cleaned", "failed", "dead_letter", "cleaned"]
    );
    run(
        &c,
        "select tenure.dead_letter_triage(dead_letter_id, 'closed') from tenure.dead_letters",
    )
    .await;
    db.advance("24 days").await;
    sweep(&c).await;
    sweep(&c).await;
    assert_eq!(states().await, ["cleaned"; 5]);
    let told: i64 = get(&c, "select sum(cardinality(job_ids))::bigint from tenure.events where kind = 'job.cleaned' and actor = 'retention'", &[]).await;
    assert_eq!(told, 5, "each told once");
    let again = sweep(&c).await;
    assert_eq!(again["cleaned"], 0);
}

/// Proves: S108.
/// Rule: 25.
#[tokio::test]
async fn a_cleaned_job_is_empty_and_still_answers() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = ended(&c, "report", "job_complete", r#", '{"rows": 5}', 'result-ref'"#).await;
    db.advance("8 days").await;
    assert_eq!(sweep(&c).await["cleaned"], 1);
    let row: Value = get(&c, "select to_jsonb(j) from tenure.jobs j where job_id = $1", &[&job]).await;
    assert_eq!(row["payload"], json!({}));
    for gone in ["source_ref", "target_ref", "payload_ref"] {
        assert!(row[gone].is_null(), "{gone}");
    }
    let shown = one(&c, "select tenure.job_show($1)", &[&job]).await;
    assert_eq!(
        (&shown["state"], &shown["kind"], &shown["result"]),
        (&json!("cleaned"), &json!("report"), &Value::Null)
    );
    let listed: String = get(&c, "select state from tenure.job_queue where job_id = $1", &[&job]).await;
    assert_eq!(listed, "cleaned");
    for call in ["job_cancel($1, 'no')", "job_retry($1)", "job_dead_letter($1, 'no')"] {
        refused(
            &one(&c, &format!("select tenure.{call}"), &[&job]).await,
            "state_conflict",
        );
    }
    check_invariants(&c).await;
}

/// Guards: D21.
/// Rule: 25.
#[tokio::test]
async fn nothing_of_a_job_changes_but_by_cleaning() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = ended(&c, "report", "job_complete", "").await;
    for change in [
        "set priority = 5",
        "set payload = '{}'",
        "set kind = 'other'",
        "set cleaned_at = now()",
        "set payload = '{}', source_ref = null, target_ref = null, payload_ref = null, cleaned_at = now(), enqueued_by = 'x'",
    ] {
        raised(
            try_rows(&c, &format!("update tenure.jobs {change}"), &[]).await,
            "state_conflict",
        );
    }
    for change in [
        "set final = false",
        "set outcome = 'failed'",
        "set ended_at = now()",
        "set token = null",
    ] {
        raised(
            try_rows(&c, &format!("update tenure.attempts {change}"), &[]).await,
            "state_conflict",
        );
    }
    db.advance("8 days").await;
    sweep(&c).await;
    assert_eq!(state(&c, job).await, "cleaned");
    raised(
        try_rows(&c, "update tenure.jobs set cleaned_at = null", &[]).await,
        "state_conflict",
    );
}

/// Proves: S23.
/// Rule: 2.
#[tokio::test]
async fn the_key_goes_with_its_job_but_never_the_key_of_a_newer_one() {
    let db = Db::open().await;
    let c = db.client().await;
    let finish = async |key: &str| {
        let job = enqueue_with(&c, "report", &format!(", p_key => '{key}'")).await;
        let held = claim(&c, "w").await;
        assert_eq!(held.job_id, job);
        verb(&c, "job_complete", &held, "").await;
        job
    };
    let (old, alone) = (finish("again").await, finish("once").await);
    db.advance("7 days").await;
    let newer = enqueue_with(&c, "report", ", p_key => 'again'").await;
    assert_ne!(newer, old);
    db.advance("1 day").await;
    assert_eq!(sweep(&c).await["cleaned"], 2);
    let keys: Vec<Uuid> = rows(&c, "select job_id from tenure.idempotency", &[])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(
        keys,
        [newer],
        "the key of {alone} went, the one that {newer} has taken over stays"
    );
    let same = one(&c, "select tenure.job_enqueue('report', p_key => 'again')", &[]).await;
    assert_eq!((id_of(&same), &same["duplicate"]), (newer, &json!(true)));
    let fresh = one(&c, "select tenure.job_enqueue('report', p_key => 'once')", &[]).await;
    assert_eq!(fresh["duplicate"], false, "a cleaned job's key is free");
}

/// Proves: S108, S117.
#[tokio::test]
async fn a_sweep_is_bounded_and_walks_on_where_it_stopped() {
    let db = Db::open().await;
    let c = db.client().await;
    for _ in 0..5 {
        ended(&c, "report", "job_complete", "").await;
    }
    db.advance("8 days").await;
    let mut cleaned = Vec::new();
    for _ in 0..3 {
        let swept = one(&c, "select tenure.job_sweep(2)", &[]).await;
        cleaned.push((
            swept["examined"].clone(),
            swept["cleaned"].clone(),
            swept["end_of_pass"].clone(),
        ));
    }
    assert_eq!(
        cleaned,
        [
            (json!(2), json!(2), json!(false)),
            (json!(2), json!(2), json!(false)),
            (json!(1), json!(1), json!(true))
        ]
    );
    refused(&one(&c, "select tenure.job_sweep(0)", &[]).await, "number_out_of_range");
    refused(
        &one(&c, "select tenure.job_sweep(10001)", &[]).await,
        "number_out_of_range",
    );
}

/// Proves: S117.
#[tokio::test]
async fn work_that_is_not_done_is_never_cleaned_and_found_again_when_it_is() {
    let db = Db::open().await;
    let c = db.client().await;
    let waiting = enqueue(&c, "waits").await;
    enqueue(&c, "held").await;
    let held = claim_with(&c, "w", ", p_kinds => array['held'], p_mode => 'started'")
        .await
        .remove(0);
    db.advance("40 days").await;
    for _ in 0..3 {
        assert_eq!(sweep(&c).await["cleaned"], 0);
    }
    assert_eq!(
        (state(&c, waiting).await.as_str(), state(&c, held.job_id).await.as_str()),
        ("queued", "in_progress")
    );
    let late = claim_with(&c, "w", ", p_kinds => array['waits']").await.remove(0);
    verb(&c, "job_complete", &late, "").await;
    db.advance("8 days").await;
    sweep(&c).await;
    sweep(&c).await;
    assert_eq!(
        state(&c, waiting).await,
        "cleaned",
        "passed by while it waited, found in the next pass"
    );
}

/// Proves: S130.
#[tokio::test]
async fn a_closed_gate_keeps_every_job_as_it_is() {
    let db = Db::open().await;
    let c = db.direct().await;
    let job = ended(&c, "report", "job_complete", "").await;
    db.advance("8 days").await;
    one(
        &c,
        "select tenure.gate_set('queue.job_substrate.enabled', 'closed')",
        &[],
    )
    .await;
    refused(&sweep(&c).await, "gate_closed");
    run(&c, "begin; set local tenure.tenant = '*'").await;
    let swept = sweep(&c).await;
    run(&c, "commit").await;
    assert_eq!(
        (&swept["examined"], &swept["cleaned"]),
        (&json!(0), &json!(0)),
        "the service of every tenant leaves it alone too"
    );
    assert_eq!(state(&c, job).await, "succeeded");
}

/// Proves: S117.
#[tokio::test]
async fn two_sweeps_do_not_walk_the_same_way() {
    let db = Db::open().await;
    let c = db.direct().await;
    let other = db.direct().await;
    ended(&c, "report", "job_complete", "").await;
    db.advance("8 days").await;
    sweep(&c).await;
    run(&other, "begin; select tenure.job_sweep()").await;
    let swept = sweep(&c).await;
    assert_eq!(
        (&swept["examined"], &swept["why"]),
        (&json!(0), &json!("another sweep is at work"))
    );
    run(&other, "commit").await;
    assert_eq!(sweep(&c).await["examined"], 0);
}

/// An execution that has failed.
async fn failed(c: &Client, purpose: &str) -> Uuid {
    let plan = json!({"purpose": purpose, "sla_class": "long", "steps": [
        {"action": "look", "action_class": "read", "id": "a", "target_ref": purpose, "target_type": "host"}
    ]});
    let plan = tenure_core::Plan::read(&plan.to_string()).expect("a plan");
    let made = one(c, "select tenure.execution_submit($1)", &[&plan.canonical()]).await;
    let held = claim_with(c, "w", ", p_mode => 'started'").await.remove(0);
    verb(c, "job_fail", &held, ", 'no', 'permanent'").await;
    made["execution_id"].as_str().expect("an id").parse().expect("an id")
}

/// As those of jobs do, by the same setting.
/// Proves: S117.
#[tokio::test]
async fn a_closed_dead_letter_of_an_execution_goes_when_its_time_is_over_and_an_open_one_never() {
    let db = Db::open().await;
    let c = db.client().await;
    let (open, closed, late) = (
        failed(&c, "open").await,
        failed(&c, "closed").await,
        failed(&c, "late").await,
    );
    let triage = "select tenure.execution_dead_letter_triage($1, $2)";
    let letters = async || {
        let sql = "select execution_id from tenure.execution_dead_letter_list(3650) order by execution_id";
        let found = rows(&c, sql, &[]).await;
        found.iter().map(|row| row.get::<_, Uuid>(0)).collect::<Vec<_>>()
    };
    one(&c, triage, &[&closed, &"closed"]).await;
    one(&c, triage, &[&open, &"acknowledged"]).await;
    db.advance("89 days").await;
    assert_eq!(sweep(&c).await["dead_letters_removed"], 0);
    one(&c, triage, &[&late, &"closed"]).await;
    db.advance("2 days").await;
    assert_eq!(sweep(&c).await["dead_letters_removed"], 1);
    assert_eq!(
        letters().await,
        [open, late],
        "90 days after it was closed, not after it failed"
    );
    refused(
        &one(&c, "select tenure.execution_dead_letter_show($1)", &[&closed]).await,
        "dead_letter_not_found",
    );
    one(&c, "select tenure.config_set('retention.dead_letters_days', '1')", &[]).await;
    assert_eq!(sweep(&c).await["dead_letters_removed"], 1, "the setting counts");
    assert_eq!(letters().await, [open]);

    // At most so many at once.
    for purpose in ["one", "two", "three"] {
        let letter = failed(&c, purpose).await;
        one(&c, triage, &[&letter, &"closed"]).await;
    }
    db.advance("2 days").await;
    let mut removed = Vec::new();
    for _ in 0..3 {
        removed.push(one(&c, "select tenure.job_sweep(2)", &[]).await["dead_letters_removed"].clone());
    }
    assert_eq!(removed, [json!(2), json!(1), json!(0)]);
}
