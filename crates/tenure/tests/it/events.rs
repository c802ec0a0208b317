//! The event stream: append-only, grouped, complete, and never out of order for a reader.

use serde_json::json;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, claim, claim_with, enqueue, get, one, raised, reap, rows, run, state, try_rows, until, verb};

/// The kinds of the events that tell of this job, in the order they were written.
async fn kinds_of(c: &Client, job: Uuid) -> Vec<String> {
    rows(
        c,
        "select kind from tenure.events where $1 = any (job_ids) or subject = $1::text order by txid, seq",
        &[&job],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect()
}

/// Waits until the stream hands out so many events of this kind: open transactions of other tests hold it back too.
pub(crate) async fn until_handed_out(c: &Client, kind: &str, events: i64) {
    let sql = "select count(*) = $2 from tenure.event_list(p_kind => $1, p_limit => 1000)";
    until(c, sql, &[&kind, &events], "the stream").await;
}

/// Proves: S70, S119.
#[tokio::test]
async fn an_event_is_never_changed_or_deleted() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "report").await;
    raised(
        try_rows(&c, "update tenure.events set actor = 'somebody else'", &[]).await,
        "state_conflict",
    );
    raised(try_rows(&c, "delete from tenure.events", &[]).await, "state_conflict");
    let partition: String = get(
        &c,
        "select tableoid::regclass::text from tenure.events where kind = 'job.enqueued'",
        &[],
    )
    .await;
    raised(
        try_rows(&c, &format!("delete from {partition}"), &[]).await,
        "state_conflict",
    );
}

/// Proves: S102, S119.
#[tokio::test]
async fn every_transition_writes_its_event_with_its_actor() {
    let db = Db::open().await;
    let c = db.client().await;
    let (name, worker) = db.login(&["tenure_worker"], "default", None).await;
    let told = async |outcome: &str, arguments: &str, expected: &[&str]| {
        let job = enqueue(&c, "report").await;
        let held = claim_with(&worker, "w", ", p_mode => 'started'").await.remove(0);
        assert_eq!(held.job_id, job);
        verb(&worker, outcome, &held, arguments).await;
        let kinds = kinds_of(&c, job).await;
        assert_eq!(kinds[..3], ["job.enqueued", "job.leased", "job.started"], "{outcome}");
        assert_eq!(kinds[3..], *expected, "{outcome}");
        let actors: Vec<String> = rows(
            &c,
            "select distinct actor from tenure.events where $1 = any (job_ids) and kind <> 'job.enqueued'",
            &[&job],
        )
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
        assert_eq!(
            actors,
            std::slice::from_ref(&name),
            "{outcome}: the login's principal, not the worker's name"
        );
        one(&c, "select tenure.job_cancel($1, 'out of the way')", &[&job]).await;
    };
    told("job_complete", "", &["job.succeeded"]).await;
    told("job_fail", ", 'no'", &["job.failed", "job.retry_scheduled"]).await;
    told("job_fail", ", 'no', 'permanent'", &["job.failed", "job.dead_lettered"]).await;
    told("job_snooze", ", 60", &["job.snoozed"]).await;
    told("job_release", "", &["job.released"]).await;
}

/// Proves: S107, S119.
#[tokio::test]
async fn what_operators_and_services_do_is_told_too() {
    let db = Db::open().await;
    let c = db.client().await;
    let waiting = enqueue(&c, "report").await;
    one(&c, "select tenure.job_retry($1, 'now')", &[&waiting]).await;
    one(&c, "select tenure.job_cancel($1, 'enough')", &[&waiting]).await;
    assert_eq!(
        kinds_of(&c, waiting).await,
        ["job.enqueued", "job.rescheduled", "job.cancelled"]
    );

    let moved = enqueue(&c, "report").await;
    one(&c, "select tenure.job_dead_letter($1, 'no use')", &[&moved]).await;
    assert_eq!(kinds_of(&c, moved).await, ["job.enqueued", "job.dead_lettered"]);

    let lost = enqueue(&c, "report").await;
    claim_with(&c, "w", ", p_mode => 'started'").await;
    one(&c, "select tenure.job_cancel($1, 'please stop')", &[&lost]).await;
    db.advance("1 hour").await;
    assert_eq!(reap(&c).await.len(), 1);
    assert_eq!(
        kinds_of(&c, lost).await,
        [
            "job.enqueued",
            "job.leased",
            "job.started",
            "job.cancel_requested",
            "job.cancelled"
        ]
    );

    let expired = enqueue(&c, "report").await;
    claim_with(&c, "w", ", p_mode => 'started'").await;
    db.advance("1 hour").await;
    reap(&c).await;
    assert_eq!(
        kinds_of(&c, expired).await[3..],
        ["job.expired", "job.failed", "job.retry_scheduled"]
    );
    let by: String = get(&c, "select actor from tenure.events where kind = 'job.expired'", &[]).await;
    assert_eq!(by, "reaper");

    one(
        &c,
        r#"select tenure.kind_set('rests', '{"on_exhausted": "fail"}')"#,
        &[],
    )
    .await;
    let rests = enqueue(&c, "rests").await;
    let held = claim_with(&c, "w", ", p_kinds => array['rests']").await.remove(0);
    verb(&c, "job_fail", &held, ", 'no', 'permanent'").await;
    one(&c, "select tenure.job_retry($1, 'try again')", &[&rests]).await;
    assert_eq!(
        kinds_of(&c, rests).await,
        ["job.enqueued", "job.leased", "job.failed", "job.retried"]
    );
}

/// Proves: S119.
#[tokio::test]
async fn a_state_and_its_event_are_one_transaction() {
    let db = Db::open().await;
    let c = db.direct().await;
    run(&c, "begin").await;
    let job = enqueue(&c, "report").await;
    assert_eq!(kinds_of(&c, job).await, ["job.enqueued"]);
    run(&c, "rollback").await;
    assert_eq!(state(&c, job).await, "no such job");
    assert!(kinds_of(&c, job).await.is_empty());
}

/// Guards: D63.
#[tokio::test]
async fn an_empty_claim_leaves_no_trace() {
    let db = Db::open().await;
    let c = db.direct().await;
    enqueue(&c, "report").await;
    claim(&c, "w").await;
    let events: i64 = get(&c, "select count(*) from tenure.events", &[]).await;
    run(&c, "begin").await;
    for _ in 0..3 {
        assert!(claim_with(&c, "w", ", p_limit => 10").await.is_empty());
        assert!(
            claim_with(&c, "w", ", p_kinds => array['no such kind']")
                .await
                .is_empty()
        );
    }
    let wrote: bool = get(&c, "select pg_current_xact_id_if_assigned() is not null", &[]).await;
    run(&c, "commit").await;
    assert!(!wrote, "polling writes nothing at all");
    let after: i64 = get(&c, "select count(*) from tenure.events", &[]).await;
    assert_eq!(after, events);
}

/// Rule: 21.
#[tokio::test]
async fn one_statement_over_many_jobs_writes_one_event_per_lane_with_parallel_runs() {
    let db = Db::open().await;
    let c = db.client().await;
    let made = rows(
        &c,
        "select job_id from tenure.job_enqueue_many(array['a', 'b', 'a', 'a'])",
        &[],
    )
    .await;
    assert_eq!(made.len(), 4);
    let grouped: Vec<i32> = rows(
        &c,
        "select cardinality(job_ids) from tenure.events where kind = 'job.enqueued' order by 1",
        &[],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    assert_eq!(grouped, [1, 3], "grouped by lane");
    let held = claim_with(&c, "w", ", p_limit => 10, p_mode => 'started'").await;
    let (ids, tokens): (Vec<Uuid>, Vec<Uuid>) = held.iter().map(|it| (it.job_id, it.token)).unzip();
    rows(
        &c,
        "select * from tenure.job_end_many($1, $2, array['failed', 'failed', 'failed', 'failed'])",
        &[&ids, &tokens],
    )
    .await;
    let parallel: bool = get(
        &c,
        "select bool_and(cardinality(e.runs) = cardinality(e.job_ids)
                and not exists (select from unnest(e.job_ids, e.runs) t (job_id, run)
                                 where t.run <> 1))
           from tenure.events e where e.kind in ('job.leased', 'job.started', 'job.failed', 'job.retry_scheduled')",
        &[],
    )
    .await;
    assert!(parallel);
    let many = rows(
        &c,
        "select * from tenure.job_enqueue_many(array_fill('a'::text, array[1000]))",
        &[],
    )
    .await;
    assert_eq!(many.len(), 1000);
    let most: i32 = get(&c, "select max(cardinality(job_ids)) from tenure.events", &[]).await;
    assert_eq!(most, 1000, "and never more in one event");
}

/// Rule: 22.
#[tokio::test]
async fn a_reader_never_misses_an_event_that_commits_late() {
    let db = Db::open().await;
    let c = db.direct().await;
    let slow = db.direct().await;
    run(&c, "select tenure.lane_open('slow'); select tenure.lane_open('fast')").await;
    run(&slow, "begin; select tenure.job_enqueue('slow')").await;
    enqueue(&c, "fast").await;
    let handed: i64 = get(
        &c,
        "select count(*) from tenure.event_list(p_kind => 'job.enqueued')",
        &[],
    )
    .await;
    assert_eq!(handed, 0, "the later event waits for the earlier, still open one");
    run(&slow, "commit").await;
    until_handed_out(&c, "job.enqueued", 2).await;
    let order: Vec<String> = rows(
        &c,
        "select job_kind from tenure.event_list(p_kind => 'job.enqueued')",
        &[],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    assert_eq!(order, ["slow", "fast"]);
}

/// Rule: 22.
#[tokio::test]
async fn a_cursor_pages_through_whole_events_each_once_and_in_order() {
    let db = Db::open().await;
    let c = db.client().await;
    for _ in 0..7 {
        rows(&c, "select * from tenure.job_enqueue_many(array['a', 'a'])", &[]).await;
    }
    until_handed_out(&c, "job.enqueued", 7).await;
    let mut after: Option<String> = None;
    let mut seen: Vec<Uuid> = Vec::new();
    loop {
        let page = rows(
            &c,
            "select cursor, job_ids, kind, executor, job_kind from tenure.event_list($1, 3, 'job.enqueued')",
            &[&after],
        )
        .await;
        assert!(page.len() <= 3);
        let Some(last) = page.last() else { break };
        after = Some(last.get(0));
        for row in &page {
            assert_eq!(
                (row.get::<_, &str>(2), row.get::<_, &str>(3), row.get::<_, &str>(4)),
                ("job.enqueued", "external_worker", "a")
            );
            seen.extend(row.get::<_, Vec<Uuid>>(1));
        }
    }
    let all: Vec<Uuid> = rows(&c, "select job_id from tenure.jobs order by created_at, job_id", &[])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(seen, all);
    let job = all[0];
    one(&c, "select tenure.job_retry($1)", &[&job]).await;
    let sql = "select count(*) = 1 from tenure.event_list(p_subject => $1)";
    until(&c, sql, &[&job.to_string()], "the event about this job").await;
}

#[tokio::test]
async fn a_cursor_that_was_never_handed_out_is_refused() {
    let db = Db::open().await;
    let c = db.client().await;
    for cursor in [
        "",
        "x",
        "1",
        "1.2",
        "1.2.3.4",
        "-1.2.3",
        "1.2.x",
        "1.2.3 ",
        "9999999999.1.1",
        "1.1.9999999999999999999",
        "999999999.9999999999999999999.999999999999999999",
    ] {
        raised(
            try_rows(&c, "select * from tenure.event_list($1)", &[&cursor]).await,
            "cursor_invalid",
        );
    }
    for limit in [0, -1, 1001] {
        raised(
            try_rows(&c, "select * from tenure.event_list(p_limit => $1)", &[&limit]).await,
            "number_out_of_range",
        );
    }
}

/// Rule: 22.
#[tokio::test]
async fn the_lag_of_the_stream_names_who_holds_it_back() {
    let db = Db::open().await;
    let c = db.direct().await;
    run(&c, "select tenure.lane_open('report')").await;
    let (name, blocker) = db.login(&["tenure_producer"], "default", None).await;
    run(
        &blocker,
        "set application_name = 'a long import'; begin; select tenure.job_enqueue('report')",
    )
    .await;
    let pid = crate::fixture::backend(&blocker).await;
    enqueue(&c, "report").await;
    until(
        &c,
        "select coalesce(pid = $1, false) from tenure.stream_lag()",
        &[&pid],
        "the blocker to be the oldest",
    )
    .await;
    let row = rows(
        &c,
        "select login, application, waiting_events, held_seconds > 0 from tenure.stream_lag()",
        &[],
    )
    .await;
    assert_eq!(
        (row[0].get::<_, &str>(0), row[0].get::<_, &str>(1)),
        (name.as_str(), "a long import")
    );
    assert!(row[0].get::<_, i64>(2) >= 1 && row[0].get::<_, bool>(3));
    let (_, viewer) = db.login(&["tenure_viewer"], "default", None).await;
    let seen: Option<i32> = get(&viewer, "select pid from tenure.stream_lag()", &[]).await;
    assert_eq!(seen, Some(pid), "for everybody who reads the stream");
    let doctor = one(&c, "select tenure.doctor()", &[]).await;
    assert_eq!(doctor["stream"]["pid"], json!(pid));
    assert!(
        doctor["oldest_transaction_seconds"].as_f64().is_some_and(|it| it > 0.0),
        "{doctor}"
    );
    run(&blocker, "commit").await;
    until_handed_out(&c, "job.enqueued", 2).await;
}
