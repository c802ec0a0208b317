//! Pausing a kind, and the gate of the worker loop: nothing new is claimed, and what runs goes on.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::worker::Context;
use tokio_postgres::Client;

use crate::fixture::{
    Claimed, Db, claim, claim_with, enqueue, get, id_of, one, refused, rows, state, told, try_rows, until, verb,
};
use crate::worker_scene::{AtWork, worker};

async fn pause(c: &Client, kind: &str) -> Value {
    one(c, "select tenure.kind_pause($1, 'the printer is broken')", &[&kind]).await
}

async fn resume(c: &Client, kind: &str) -> Value {
    one(c, "select tenure.kind_resume($1)", &[&kind]).await
}

/// A turn that ends one job and claims what it can get: parts, and what each is about.
async fn turn(c: &Client, end: Option<&Claimed>) -> Vec<(String, Option<String>)> {
    let (ids, tokens): (Vec<_>, Vec<_>) = end.iter().map(|job| (job.job_id, job.token)).unzip();
    let outcomes = vec!["succeeded"; ids.len()];
    let sql = "select part, coalesce(more ->> 'gate', more ->> 'status', job_id::text) from tenure.job_turn($1, $2, $3, null, null, null, null, null, null,
                 'w', null, null, 10, null, 'started', null)";
    let rows = rows(c, sql, &[&ids, &tokens, &outcomes]).await;
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[tokio::test]
async fn a_paused_kind_is_enqueued_and_finished_but_not_claimed() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "print").await;
    let running = claim(&c, "w").await;
    pause(&c, "print").await;

    let waiting = enqueue(&c, "print").await;
    let other = enqueue(&c, "scan").await;
    let got = claim_with(&c, "w", ", p_limit => 10").await;
    assert_eq!(got.len(), 1, "the other kind goes on");
    assert_eq!(got[0].job_id, other);
    assert!(claim_with(&c, "w", ", p_kinds => array['print']").await.is_empty());
    let by_hand = one(&c, "select tenure.job_claim('w', p_kinds => array['print'])", &[]).await;
    assert_eq!(by_hand, json!({"job": null}), "nor by hand");
    assert_eq!(verb(&c, "job_heartbeat", &running, "").await["status"], "ok");
    assert_eq!(
        turn(&c, Some(&running)).await,
        [],
        "its end is recorded, and nothing is claimed"
    );
    assert_eq!(state(&c, running.job_id).await, "succeeded");
    assert_eq!(state(&c, waiting).await, "queued");

    resume(&c, "print").await;
    assert_eq!(claim(&c, "w").await.job_id, waiting);
}

#[tokio::test]
async fn a_pause_tells_who_made_it_and_why_and_stays_with_the_first() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "print").await;
    let (operator_name, operator) = db.login(&["tenure_operator"], "default", None).await;
    let paused = pause(&operator, "print").await;
    assert_eq!(paused["paused_by"], json!(operator_name));
    assert_eq!(paused["pause_note"], "the printer is broken");
    let again = one(&c, "select tenure.kind_pause('print', 'another reason')", &[]).await;
    assert_eq!(again, paused, "the first pause stands");
    let resumed = resume(&operator, "print").await;
    assert_eq!(
        (&resumed["paused_at"], &resumed["pause_note"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(resume(&c, "print").await, resumed, "resuming twice is no error");

    let sql = "select kind || ' ' || subject, actor, data from tenure.events where kind in ('kind.paused', 'kind.resumed') order by seq";
    let events: Vec<(String, String, Value)> = rows(&c, sql, &[])
        .await
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect();
    let note = json!({"kind": "print", "note": "the printer is broken"});
    assert_eq!(events.len(), 2, "what changed nothing is no event: {events:?}");
    assert_eq!(events[0], ("kind.paused print".to_owned(), operator_name.clone(), note));
    assert_eq!((&*events[1].0, &events[1].1), ("kind.resumed print", &operator_name));
}

#[tokio::test]
async fn who_only_works_or_enqueues_cannot_pause() {
    let db = Db::open().await;
    enqueue(&db.client().await, "print").await;
    let (_, worker) = db.login(&["tenure_worker", "tenure_producer"], "default", None).await;
    for statement in [
        "select tenure.kind_pause('print')",
        "select tenure.kind_resume('print')",
    ] {
        let error = try_rows(&worker, statement, &[]).await.expect_err("a refusal");
        assert!(told(&error).starts_with("42501"), "{}", told(&error));
    }
}

#[tokio::test]
async fn a_pause_of_what_nobody_knows_is_refused() {
    let db = Db::open().await;
    let c = db.client().await;
    refused(&pause(&c, "prnt").await, "kind_not_found");
    refused(&resume(&c, "prnt").await, "kind_not_found");
    enqueue(&c, "print").await;
    let answer = one(&c, "select tenure.kind_pause('print', E'two\\nlines')", &[]).await;
    refused(&answer, "name_invalid");
    assert_eq!(claim_with(&c, "w", "").await.len(), 1, "nothing is paused by a refusal");
}

#[tokio::test]
async fn a_pause_is_no_business_of_another_tenant() {
    let db = Db::open().await;
    let c = db.client().await;
    one(&c, "select tenure.tenant_create('acme')", &[]).await;
    let (_, theirs) = db.login(&["tenure_worker", "tenure_producer"], "acme", None).await;
    enqueue(&c, "print").await;
    enqueue(&theirs, "print").await;
    pause(&c, "print").await;
    assert_eq!(claim_with(&theirs, "w", "").await.len(), 1);
    assert!(claim_with(&c, "w", "").await.is_empty());
}

#[tokio::test]
async fn explain_says_that_a_kind_is_paused() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "print").await;
    pause(&c, "print").await;
    let told = one(&c, "select tenure.job_explain($1)", &[&job]).await;
    let reason = &told["reasons"][0];
    assert_eq!(
        (&reason["code"], &reason["why"]),
        (&json!("paused"), &json!("the printer is broken")),
        "{told}"
    );
    assert!(
        reason["next"]
            .as_str()
            .is_some_and(|next| next.contains("kind_resume('print')")),
        "{told}"
    );
}

/// The poll is an hour away, so only the notification explains that the job runs. Rule: 19.
#[tokio::test]
async fn a_resume_wakes_a_parked_worker_whenever_it_parked() {
    for parks in ["before the pause", "during the pause"] {
        let db = Db::open().await;
        let (c, direct) = (db.client().await, db.direct().await);
        let parked = "select coalesce(bool_or(parked_until > tenure.now()), false) from tenure.lanes";
        get::<i32>(&c, "select tenure.lane_open('print')", &[]).await;
        if parks == "during the pause" {
            pause(&c, "print").await;
        }
        let builder = worker(&db)
            .poll_interval(Duration::from_secs(3600))
            .listen_url(db.url());
        let at_work = AtWork::start(builder.handler("print", async |_: Value, _: Context| Ok(())));
        until(&direct, parked, &[], parks).await;
        if parks == "before the pause" {
            pause(&c, "print").await;
            // A claim that was under way may know nothing of the pause yet.
            let known = "select not exists (select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
                           and state <> 'idle' and xact_start < (select paused_at from tenure.kinds where kind = 'print'))";
            until(&direct, known, &[], "the end of what had begun before").await;
        }
        let job = id_of(&one(&c, "select tenure.job_enqueue('print')", &[]).await);
        until(&direct, parked, &[], "the park that follows a vain look").await;
        assert_eq!(state(&c, job).await, "queued", "{parks}");
        resume(&c, "print").await;
        let done = "select count(*) = 1 from tenure.attempts where final";
        until(&direct, done, &[], "its end").await;
        assert_eq!(at_work.stop().await.succeeded, 1, "{parks}");
    }
}

/// Proves: S59.
#[tokio::test]
async fn a_closed_gate_stops_the_worker_loop_and_not_the_hand() {
    let db = Db::open().await;
    let c = db.client().await;
    for _ in 0..3 {
        enqueue(&c, "print").await;
    }
    let running = claim(&c, "w").await;
    one(&c, "select tenure.gate_set('queue.worker.enabled', 'closed')", &[]).await;
    let closed = [("gate".to_owned(), Some("queue.worker.enabled".to_owned()))];
    assert_eq!(turn(&c, Some(&running)).await, closed);
    assert_eq!(state(&c, running.job_id).await, "succeeded", "the end stands");
    assert_eq!(turn(&c, None).await, closed, "and nothing is claimed");
    let by_hand = one(&c, "select tenure.job_claim('me')", &[]).await;
    id_of(&by_hand["job"]);
    assert_eq!(claim_with(&c, "me", "").await.len(), 1);

    enqueue(&c, "print").await;
    one(&c, "select tenure.gate_set('queue.worker.enabled', 'open')", &[]).await;
    let parts: Vec<String> = turn(&c, None).await.into_iter().map(|(part, _)| part).collect();
    assert_eq!(parts, ["claim", "lease"]);
}
