//! Jobs that are handed to an idle worker by whoever enqueues them.

use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Claimed, Db, check_invariants, get, one, raised, reap, rows, run, state, try_rows, verb};

const CHANNEL: &str = "tenure_hand_00112233445566778899aabbccddeeff";

/// An idle worker that is parked on the kind, offers one place and lives for as long as its connection.
async fn offered(db: &Db, kind: &str) -> (Client, Uuid) {
    let living = db.direct().await;
    rows(&living, "select pg_advisory_lock(tenure.offer_lock($1))", &[&CHANNEL]).await;
    run(&living, &format!("listen {CHANNEL}")).await;
    let token = Uuid::new_v4();
    offer(&living, kind, token).await;
    (living, token)
}

async fn offer(c: &Client, kind: &str, token: Uuid) {
    rows(c, "select tenure.lane_open($1)", &[&kind]).await;
    rows(c, "select tenure.worker_park(p_kinds => array[$1])", &[&kind]).await;
    let sql = "select token from tenure.offer_make($1, 'idle', $2, null, array[$3], null, 30)";
    let made = rows(c, sql, &[&vec![token], &CHANNEL, &kind]).await;
    assert_eq!(made.len(), 1, "the place stands offered");
}

/// Enqueues and says in which state the job is.
async fn hand(c: &Client, kind: &str) -> (Uuid, String) {
    let sql = "select job_id, state from tenure.job_enqueue_plain($1, '{\"n\": 1}', null, true)";
    let row = rows(c, sql, &[&kind]).await.remove(0);
    (row.get(0), row.get(1))
}

/// What a worker is told of a job that is handed to it names the trace as well.
#[tokio::test]
async fn a_job_that_is_handed_over_brings_its_trace() {
    let db = Db::open().await;
    let c = db.client().await;
    let (_living, token) = offered(&db, "a").await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    run(&c, &format!("begin; set local tenure.traceparent = '{trace}'")).await;
    assert_eq!(hand(&c, "a").await.1, "in_progress");
    run(&c, "commit").await;
    let held: Option<String> = get(&c, "select traceparent from tenure.job_held($1)", &[&token]).await;
    assert_eq!(held.as_deref(), Some(trace));
}

/// Rule: 7, 10.
#[tokio::test]
async fn a_job_is_held_and_started_by_the_worker_that_offered_a_place_when_its_enqueue_commits() {
    let db = Db::open().await;
    let (c, owner) = (db.client().await, db.direct().await);
    let (_living, token) = offered(&db, "a").await;
    let (id, told) = hand(&c, "a").await;
    assert_eq!(
        (told.as_str(), state(&c, id).await.as_str()),
        ("in_progress", "in_progress")
    );
    let held: Vec<Claimed> = rows(&c, "select * from tenure.job_held($1)", &[&token])
        .await
        .iter()
        .map(Claimed::of)
        .collect();
    assert_eq!((held[0].job_id, held[0].token, held[0].attempt), (id, token, 1));
    let events = "select string_agg(kind, ' ' order by seq) from tenure.events where job_ids = array[$1]";
    let events: String = get(&owner, events, &[&id]).await;
    assert_eq!(
        events, "job.enqueued job.leased job.started",
        "every transition has its event"
    );
    assert_eq!(verb(&c, "job_complete", &held[0], "").await["state"], "succeeded");
    assert_eq!(hand(&c, "a").await.1, "queued", "an offer is good for one job");
    check_invariants(&c).await;
}

#[tokio::test]
async fn nothing_is_handed_over_that_would_have_to_wait_or_may_not_run() {
    let db = Db::open().await;
    let c = db.client().await;
    let (living, _) = offered(&db, "a").await;
    for (shut, open) in [
        ("kind_pause('a')", "kind_resume('a')"),
        (
            "kind_set('a', '{\"concurrency_max\": 5}')",
            "kind_set('a', '{\"concurrency_max\": null}')",
        ),
        (
            "gate_set('queue.worker.enabled', 'closed')",
            "gate_set('queue.worker.enabled', 'open')",
        ),
    ] {
        one(&c, &format!("select tenure.{shut}"), &[]).await;
        let (id, told) = hand(&c, "a").await;
        assert_eq!(told, "queued", "{shut}");
        one(&c, &format!("select tenure.{open}"), &[]).await;
        one(&c, &format!("select tenure.job_cancel('{id}', 'no')"), &[]).await;
        // Whoever was not handed the job was woken for it.
        run(
            &c,
            "update tenure.lanes set parked_until = tenure.now() + interval '1 minute'",
        )
        .await;
    }
    let sql = "select state from tenure.job_enqueue_plain('a', '{}', null)";
    assert_eq!(
        get::<String>(&c, sql, &[]).await,
        "queued",
        "only who asks for it hands over"
    );
    drop(living);
}

/// A worker that died offers nothing, and a job is never given to it.
#[tokio::test]
async fn an_offer_dies_with_the_connection_of_its_worker() {
    let db = Db::open().await;
    let c = db.client().await;
    let (living, token) = offered(&db, "a").await;
    let pid: i32 = get(&living, "select pg_backend_pid()", &[]).await;
    drop(living);
    let gone = "select not exists (select from pg_stat_activity where pid = $1)";
    crate::fixture::until(&c, gone, &[&pid], "the worker's connection is gone").await;
    let (id, told) = hand(&c, "a").await;
    assert_eq!(told, "queued");
    assert_eq!(state(&c, id).await, "queued");
    let left: i64 = get(&db.direct().await, "select count(*) from tenure.offers", &[]).await;
    assert_eq!(left, 0, "what nobody will answer is removed");
    assert_eq!(withdraw(&c, token).await, [token]);
}

async fn withdraw(c: &Client, token: Uuid) -> Vec<Uuid> {
    get(c, "select tenure.offer_withdraw($1)", &[&vec![token]]).await
}

/// Whoever takes its offer back knows whether a job came with it: never both, never neither.
#[tokio::test]
async fn an_offer_is_taken_back_or_taken_and_never_both() {
    let db = Db::open().await;
    let (c, other) = (db.client().await, db.client().await);
    let (living, token) = offered(&db, "a").await;
    assert_eq!(withdraw(&living, token).await, [token]);
    assert_eq!(hand(&c, "a").await.1, "queued");
    rows(&c, "select job_id from tenure.job_claim_many('w', p_limit => 10)", &[]).await;

    // Somebody is about to take it: it is neither back nor gone, and nobody waits for them.
    offer(&living, "a", token).await;
    run(&other, "begin").await;
    assert_eq!(hand(&other, "a").await.1, "in_progress");
    assert!(withdraw(&living, token).await.is_empty());
    run(&other, "rollback").await;
    assert_eq!(
        withdraw(&living, token).await,
        [token],
        "it stands again, and is taken back"
    );

    let token = Uuid::new_v4();
    offer(&living, "a", token).await;
    let (id, _) = hand(&c, "a").await;
    assert!(withdraw(&living, token).await.is_empty(), "it brought a job");
    let held: Uuid = get(&living, "select job_id from tenure.job_held($1)", &[&token]).await;
    assert_eq!(held, id);
}

/// A worker that never takes what was handed to it loses it with its lease, like any other.
#[tokio::test]
async fn what_is_handed_over_and_never_run_comes_back_with_the_lease() {
    let db = Db::open().await;
    let c = db.client().await;
    let (_living, token) = offered(&db, "a").await;
    let (id, _) = hand(&c, "a").await;
    db.advance("10 minutes").await;
    assert_eq!(reap(&c).await.len(), 1);
    assert_eq!(state(&c, id).await, "retry_waiting");
    let late = "select status from tenure.job_end_many(array[$1], array[$2], array['succeeded'])";
    assert_eq!(get::<String>(&c, late, &[&id, &token]).await, "stale_lease");
}

/// What nobody took back is removed with the leases that have run out.
#[tokio::test]
async fn an_offer_that_has_run_out_is_not_taken_and_goes_with_the_reaper() {
    let db = Db::open().await;
    let (c, owner) = (db.client().await, db.direct().await);
    let (_living, _) = offered(&db, "a").await;
    db.advance("31 seconds").await;
    assert_eq!(hand(&c, "a").await.1, "queued");
    let left = "select count(*) from tenure.offers";
    assert_eq!(get::<i64>(&owner, left, &[]).await, 1);
    reap(&c).await;
    assert_eq!(get::<i64>(&owner, left, &[]).await, 0);
}

/// It was made with the rights that the login had.
#[tokio::test]
async fn whoever_binds_a_login_anew_ends_what_its_tenant_offers() {
    let db = Db::open().await;
    let c = db.client().await;
    let (living, token) = offered(&db, "a").await;
    let (login, _) = db.login(&["tenure_worker"], "default", Some(&["DOT"])).await;
    assert_eq!(hand(&c, "a").await.1, "queued");
    assert_eq!(withdraw(&c, token).await, [token]);
    offer(&living, "a", token).await;
    one(&c, &format!("select tenure.login_unbind('{login}')"), &[]).await;
    assert_eq!(hand(&c, "a").await.1, "queued");
}

/// An enqueue never fails for an offer that is gone, or for a token that holds something already.
#[tokio::test]
async fn an_enqueue_that_cannot_hand_over_lets_the_job_wait() {
    let db = Db::open().await;
    let (c, old, owner) = (db.client().await, db.direct().await, db.direct().await);
    let (living, token) = offered(&db, "a").await;
    run(&old, "begin isolation level repeatable read; select 1").await;
    assert_eq!(hand(&c, "a").await.1, "in_progress");
    assert_eq!(hand(&old, "a").await.1, "queued");
    run(&old, "commit").await;

    // The token of the job that runs is offered once more: by the function not at all, and by hand in vain.
    let sql = "select token from tenure.offer_make(array[$1::uuid], 'idle', $2, null, array['a'], null, 30)";
    assert!(rows(&living, sql, &[&token, &CHANNEL]).await.is_empty());
    let by_hand = "insert into tenure.offers select l.token, l.lane, l.tenant_id, l.owner, l.executor, l.principal, $1, 30, now() + interval '1 minute' from tenure.leases l";
    rows(&owner, by_hand, &[&CHANNEL]).await;
    run(
        &owner,
        "update tenure.lanes set parked_until = tenure.now() + interval '1 minute'",
    )
    .await;
    assert_eq!(hand(&c, "a").await.1, "queued");
    check_invariants(&c).await;
}

#[tokio::test]
async fn an_offer_that_makes_no_sense_is_refused() {
    let db = Db::open().await;
    let c = db.client().await;
    for (channel, seconds, code) in [
        ("tenure_lane", 30, "name_invalid"),
        ("tenure_hand_xyz", 30, "name_invalid"),
        (CHANNEL, 0, "number_out_of_range"),
        (CHANNEL, 61, "number_out_of_range"),
    ] {
        let sql = "select token from tenure.offer_make($1, 'idle', $2, null, null, null, $3)";
        raised(
            try_rows(&c, sql, &[&vec![Uuid::new_v4()], &channel, &seconds]).await,
            code,
        );
    }
}
