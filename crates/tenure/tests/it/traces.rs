//! A job carries the trace it was enqueued in, to whoever runs it.

use serde_json::Value;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, claim, enqueue, get, id_of, one, reap, rows, run, verb};

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const OTHER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

/// Enqueues in a transaction that names this trace.
async fn enqueue_in(c: &Client, trace: &str, kind: &str) -> Uuid {
    run(c, "begin").await;
    rows(c, "select set_config('tenure.traceparent', $1, true)", &[&trace]).await;
    let job = enqueue(c, kind).await;
    run(c, "commit").await;
    job
}

async fn trace_of(c: &Client, job: Uuid) -> Option<String> {
    let shown = one(c, "select tenure.job_show($1)", &[&job]).await;
    shown["traceparent"].as_str().map(str::to_owned)
}

async fn claimed_trace(c: &Client) -> Option<String> {
    let sql = "select traceparent from tenure.job_claim_many('w', p_mode => 'started')";
    get(c, sql, &[]).await
}

#[tokio::test]
async fn a_job_carries_the_trace_of_its_transaction_to_whoever_claims_it() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue_in(&c, TRACE, "a").await;
    assert_eq!(trace_of(&c, job).await.as_deref(), Some(TRACE));
    let sql = "select token, traceparent from tenure.job_claim_many('w')";
    let claimed = rows(&c, sql, &[]).await.remove(0);
    assert_eq!(claimed.get::<_, Option<&str>>(1), Some(TRACE));
    let held: Option<String> = get(
        &c,
        "select traceparent from tenure.job_held($1)",
        &[&claimed.get::<_, Uuid>(0)],
    )
    .await;
    assert_eq!(held.as_deref(), Some(TRACE));
    // Beside what else few jobs have, and by the call for people.
    run(&c, &format!("begin; set local tenure.traceparent = '{TRACE}'")).await;
    one(&c, "select tenure.job_enqueue('b', p_correlation_id => 'c')", &[]).await;
    run(&c, "commit").await;
    let told = one(&c, "select tenure.job_claim('w')", &[]).await;
    assert_eq!(told["job"]["traceparent"], TRACE, "{told}");
    assert_eq!(told["job"]["correlation_id"], "c");
    // A transaction that names none: the setting is gone with the one before.
    let job = enqueue(&c, "c").await;
    assert_eq!(trace_of(&c, job).await, None);
    assert_eq!(claimed_trace(&c).await, None);
    let many = "select count(*) from tenure.job_enqueue_many(array['d', 'd', 'e'], p_keys => array['1', '2', '3'])";
    run(&c, &format!("begin; set local tenure.traceparent = '{OTHER}'")).await;
    rows(&c, many, &[]).await;
    run(&c, "commit").await;
    let traced: i64 = get(
        &c,
        "select count(*) from tenure.job_claim_many('w', p_limit => 10) where traceparent = $1",
        &[&OTHER],
    )
    .await;
    assert_eq!(traced, 3, "each job of a batch");
}

/// The vectors bind the rule of SQL to that of Rust: what Rust makes of a header is taken as it is.
#[tokio::test]
async fn what_is_no_trace_is_ignored_and_refuses_nothing() {
    let db = Db::open().await;
    let c = db.client().await;
    let vectors = include_str!("../../../core/testdata/traceparent.tsv");
    for line in vectors.lines() {
        let (header, trace) = line.split_once('\t').expect("two columns");
        let taken = trace_of(&c, enqueue_in(&c, header, "a").await).await;
        assert_eq!(taken.is_some(), header == trace, "{header}");
        if trace != "none" {
            let taken = trace_of(&c, enqueue_in(&c, trace, "a").await).await;
            assert_eq!(taken.as_deref(), Some(trace));
        }
    }
    assert_eq!(trace_of(&c, enqueue_in(&c, "", "a").await).await, None);
}

#[tokio::test]
async fn a_job_stays_in_its_trace_through_retries_and_lost_leases() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue_in(&c, TRACE, "a").await;
    let held = claim(&c, "w").await;
    verb(&c, "job_fail", &held, ", 'no'").await;
    db.advance("1 hour").await;
    assert_eq!(claimed_trace(&c).await.as_deref(), Some(TRACE), "the second attempt");
    db.advance("1 hour").await;
    assert_eq!(reap(&c).await.len(), 1);
    db.advance("1 hour").await;
    assert_eq!(claimed_trace(&c).await.as_deref(), Some(TRACE), "the third");
    assert_eq!(trace_of(&c, job).await.as_deref(), Some(TRACE));
}

#[tokio::test]
async fn a_replay_goes_on_with_the_trace_of_the_job_that_died() {
    let db = Db::open().await;
    let c = db.client().await;
    let replayed = async |trace: &str| -> Value {
        enqueue_in(&c, trace, "a").await;
        let held = claim(&c, "w").await;
        verb(&c, "job_fail", &held, ", 'no', 'permanent'").await;
        let letter: Uuid = get(
            &c,
            "select dead_letter_id from tenure.dead_letters where job_id = $1",
            &[&held.job_id],
        )
        .await;
        one(&c, "select tenure.dead_letter_triage($1, 'manual_replay')", &[&letter]).await;
        run(&c, &format!("begin; set local tenure.traceparent = '{OTHER}'")).await;
        let made = one(&c, "select tenure.dead_letter_replay($1)", &[&letter]).await;
        run(&c, "commit").await;
        made
    };
    let job = id_of(&replayed(TRACE).await);
    assert_eq!(trace_of(&c, job).await.as_deref(), Some(TRACE));
    assert_eq!(claimed_trace(&c).await.as_deref(), Some(TRACE));
    // One that had none belongs to the request that replays it.
    let job = id_of(&replayed("").await);
    assert_eq!(trace_of(&c, job).await.as_deref(), Some(OTHER));
}

#[tokio::test]
async fn whoever_acts_for_a_key_names_the_trace_of_the_request() {
    let db = Db::open().await;
    let c = db.direct().await;
    one(&c, "select tenure.principal_create('ann', 'human')", &[]).await;
    let sql = "select tenure.key_create('ann', 'annskey1', sha256('x'), array['producer'])";
    one(&c, sql, &[]).await;
    let key: Uuid = get(&c, "select tenure.key_check('annskey1', sha256('x'))", &[]).await;
    let act = "select tenant, principal from tenure.act_for_key($1, 'job_enqueue', null, 'POST /v1/jobs', $2)";
    run(&c, "begin").await;
    let acted = rows(&c, act, &[&key, &TRACE]).await.remove(0);
    assert_eq!(
        (acted.get::<_, Option<&str>>(0), acted.get::<_, Option<&str>>(1)),
        (Some("default"), Some("ann"))
    );
    let job = enqueue(&c, "a").await;
    run(&c, "commit").await;
    assert_eq!(trace_of(&c, job).await.as_deref(), Some(TRACE));
    // A server of the version before names none, and gets nothing to read.
    run(&c, &format!("begin; set local tenure.traceparent = '{OTHER}'")).await;
    let sql = "select tenant, principal from tenure.act_for_key($1, 'job_enqueue', null, 'POST /v1/jobs')";
    let acted = rows(&c, sql, &[&key]).await.remove(0);
    assert_eq!(acted.get::<_, Option<&str>>(1), None);
    let job = enqueue(&c, "a").await;
    run(&c, "commit").await;
    assert_eq!(
        trace_of(&c, job).await,
        None,
        "a setting from outside is not the request's"
    );
}
