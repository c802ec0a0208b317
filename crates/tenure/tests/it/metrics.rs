//! The numbers for a monitoring system: right, within the walls, and for a bounded price.

use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::fixture::{Db, PATIENCE, claim, claim_with, enqueue, enqueue_with, get, one, raised, run, try_rows, verb};

async fn metrics(c: &Client) -> Value {
    one(c, "select tenure.metrics()", &[]).await
}

/// The value of a series; none: there is no such series.
fn value(metrics: &Value, name: &str, labels: Value) -> Option<f64> {
    let series = metrics["series"].as_array().expect("series");
    let found: Vec<&Value> = series.iter().filter(|it| it[0] == name && it[1] == labels).collect();
    assert!(found.len() <= 1, "a series stands twice: {found:?}");
    found.first().and_then(|it| it[2].as_f64())
}

fn jobs(metrics: &Value, kind: &str, state: &str) -> Option<f64> {
    value(
        metrics,
        "tenure_jobs",
        json!({"tenant": "default", "kind": kind, "state": state}),
    )
}

#[tokio::test]
async fn every_job_is_counted_where_it_is() {
    let db = Db::open().await;
    let c = db.client().await;
    for _ in 0..3 {
        enqueue(&c, "a").await;
    }
    enqueue_with(&c, "a", ", p_due => now() + interval '1 hour'").await;
    enqueue(&c, "dies").await;
    let dies = claim_with(&c, "w", ", p_kinds => array['dies']").await.remove(0);
    verb(&c, "job_fail", &dies, ", 'no', 'permanent'").await;
    claim_with(&c, "w", ", p_kinds => array['a']").await;
    claim_with(&c, "w", ", p_kinds => array['a'], p_mode => 'started'").await;
    db.advance("1 minute").await;
    let told = metrics(&c).await;
    for (state, count) in [
        ("queued", 1.0),
        ("scheduled", 1.0),
        ("leased", 1.0),
        ("in_progress", 1.0),
    ] {
        assert_eq!(jobs(&told, "a", state), Some(count), "{state}");
    }
    assert_eq!(
        jobs(&told, "dies", "queued"),
        Some(0.0),
        "a kind that waits for nothing"
    );
    let label = json!({"tenant": "default", "kind": "dies", "triage_status": "pending"});
    assert_eq!(value(&told, "tenure_dead_letters_open", label), Some(1.0));
    for (name, labels) in [
        (
            "tenure_oldest_waiting_seconds",
            json!({"tenant": "default", "kind": "a"}),
        ),
        ("tenure_longest_run_seconds", json!({"tenant": "default", "kind": "a"})),
        ("tenure_oldest_pending_dead_letter_seconds", json!({})),
        (
            "tenure_executor_heartbeat_age_seconds",
            json!({"tenant": "default", "worker": "w", "executor": "external_worker"}),
        ),
    ] {
        let age = value(&told, name, labels).unwrap_or_else(|| panic!("no {name}"));
        assert!((60.0..3600.0).contains(&age), "{name}: {age}");
    }
    let gate = json!({"tenant": "default", "gate": "queue.job_substrate.enabled"});
    assert_eq!(value(&told, "tenure_gate_open", gate), Some(1.0));
    assert_eq!(
        value(&told, "tenure_schema_version", json!({})),
        Some(f64::from(tenure::migrate::SCHEMA_VERSION))
    );
    db.advance("40 minutes").await;
    let told = metrics(&c).await;
    let executors = |state: &str| json!({"executor": "external_worker", "state": state});
    assert_eq!(value(&told, "tenure_executors", executors("silent")), Some(1.0));
    assert_eq!(value(&told, "tenure_executors", executors("alive")), Some(0.0));
    assert_eq!(value(&told, "tenure_leases", json!({"state": "expired"})), Some(2.0));
}

/// What happened is told once, and never before a transaction that is still open.
#[tokio::test]
async fn each_event_is_counted_once_by_whoever_asks_from_a_cursor() {
    let db = Db::open().await;
    let (c, other) = (db.client().await, db.direct().await);
    let count = async |after: &str, event: &str| -> (String, f64, Value) {
        let told = one(&c, "select tenure.metrics($1)", &[&after]).await;
        let counts = told["counts"].as_array().expect("counts").clone();
        let of = counts
            .iter()
            .filter(|it| it[0] == "default" && it[1] == "a" && it[2] == event);
        let sum = of.filter_map(|it| it[3].as_f64()).sum();
        (text(&told["cursor"]), sum, told["samples"].clone())
    };
    // The lane first: whoever makes it holds up the others.
    run(&c, "select tenure.lane_open('a')").await;
    let cursor = text(&metrics(&c).await["cursor"]);
    run(&other, "begin").await;
    enqueue(&other, "a").await;
    enqueue(&c, "a").await;
    let (cursor, early, _) = count(&cursor, "enqueued").await;
    run(&other, "commit").await;
    // Other tests share the cluster: their transactions hold the stream back for a while.
    let (mut cursor, mut counted) = (cursor, early);
    let deadline = std::time::Instant::now() + PATIENCE;
    while counted < 2.0 {
        assert!(std::time::Instant::now() < deadline, "{counted} of 2 were counted");
        let (next, more, _) = count(&cursor, "enqueued").await;
        (cursor, counted) = (next, counted + more);
    }
    assert_eq!(counted, 2.0);
    let held = claim_with(&c, "w", ", p_limit => 2, p_mode => 'started'").await;
    for held in &held {
        verb(&c, "job_complete", held, "").await;
    }
    let (mut succeeded, mut sampled) = (0.0, 0);
    while succeeded < 2.0 {
        assert!(std::time::Instant::now() < deadline, "{succeeded} of 2 have succeeded");
        let (next, more, samples) = count(&cursor, "succeeded").await;
        for sample in samples.as_array().expect("samples") {
            assert_eq!((&sample[0], &sample[1]), (&json!("default"), &json!("a")), "{sample}");
            let (waited, ran) = (sample[2].as_f64(), sample[3].as_f64());
            assert!(waited >= Some(0.0) && ran >= Some(0.0), "{sample}");
            sampled += 1;
        }
        (cursor, succeeded) = (next, succeeded + more);
    }
    assert_eq!((succeeded, sampled), (2.0, 2));
    assert_eq!(count(&cursor, "succeeded").await.1, 0.0, "told already");
    raised(
        try_rows(&c, "select tenure.metrics('yesterday')", &[]).await,
        "cursor_invalid",
    );
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

#[tokio::test]
async fn a_tenant_is_told_of_itself_and_a_server_of_all() {
    let db = Db::open().await;
    let c = db.direct().await;
    one(&c, "select tenure.tenant_create('beta')", &[]).await;
    enqueue(&c, "ours").await;
    let cursor = text(&metrics(&c).await["cursor"]);
    run(&c, "set tenure.tenant = 'beta'").await;
    one(&c, "select tenure.gate_set('queue.job_substrate.enabled', 'open')", &[]).await;
    enqueue(&c, "theirs").await;
    claim(&c, "beta worker").await;
    let (_, viewer) = db.login(&["tenure_viewer"], "default", None).await;
    let seen = one(&viewer, "select tenure.metrics($1)", &[&cursor]).await.to_string();
    assert!(
        seen.contains("ours") && !seen.contains("theirs") && !seen.contains("beta"),
        "{seen}"
    );
    run(&c, "set tenure.tenant = '*'").await;
    let seen = metrics(&c).await.to_string();
    assert!(seen.contains("ours") && seen.contains("theirs") && seen.contains("beta worker"));
}

#[tokio::test]
async fn however_much_there_is_a_bounded_number_is_counted_and_named() {
    let db = Db::open().await;
    let c = db.direct().await;
    one(&c, "select tenure.kind_set('policed', '{}')", &[]).await;
    let (series, rows_max): (i64, i64) = (
        get(&c, "select tenure.limit_of('metrics_series_max')", &[]).await,
        get(&c, "select tenure.limit_of('metrics_rows_max')", &[]).await,
    );
    let many = format!(
        "select tenure.job_enqueue('k' || n) from generate_series(1, {}) n",
        series + 20
    );
    run(&c, &many).await;
    enqueue(&c, "policed").await;
    // Rows that only stand in line: nobody claims them here.
    let full = format!(
        "insert into tenure.ready (lane, rank, due, job_id, state, run, attempts)
         select l.lane, (n % 3)::smallint, now(), gen_random_uuid(), 'queued', 0, 0
           from tenure.lanes l cross join generate_series(1, {}) n where l.kind = 'k1'",
        rows_max + 500
    );
    run(&c, &full).await;
    let told = metrics(&c).await;
    assert_eq!(jobs(&told, "k1", "queued"), Some(rows_max as f64), "so many or more");
    assert_eq!(
        jobs(&told, "policed", "queued"),
        Some(1.0),
        "a kind with a policy goes first"
    );
    let named = told["series"].as_array().expect("series");
    let named = named
        .iter()
        .filter(|it| it[0] == "tenure_jobs" && it[1]["kind"] != "other");
    assert_eq!(named.count(), usize::try_from(series).expect("a limit"));
    let other = json!({"tenant": "other", "kind": "other", "state": "queued"});
    assert_eq!(value(&told, "tenure_jobs", other), Some(21.0));
}

fn of_slots(metrics: &Value, name: &str) -> f64 {
    value(metrics, name, json!({"tenant": "default"})).unwrap_or_else(|| panic!("no {name}"))
}

#[tokio::test]
async fn schedules_their_lag_and_what_became_of_slots_are_told() {
    let db = Db::open().await;
    let (c, mut server) = (db.client().await, db.direct().await);
    let told = metrics(&c).await;
    for name in [
        "tenure_schedule_lag_seconds",
        "tenure_slots_running",
        "tenure_slots_waiting",
        "tenure_slots_missed",
    ] {
        assert_eq!(of_slots(&told, name), 0.0, "{name} is there before there is a schedule");
    }
    for (name, more) in [
        ("queues", r#""overlap": "queue""#),
        ("skips", r#""overlap": "skip""#),
        ("drops", r#""catch_up": "none", "overlap": "allow""#),
    ] {
        let spec = format!(r#"{{"every_seconds": 600, "kind": "report", "start_at": "2020-01-01T00:00:00Z", {more}}}"#);
        let spec: Value = serde_json::from_str(&spec).expect("JSON");
        one(&c, "select tenure.schedule_create($1, $2)", &[&name, &spec]).await;
    }
    one(
        &c,
        r#"select tenure.schedule_create('broken', '{"cron": "0 0 30 2 *", "kind": "report"}')"#,
        &[],
    )
    .await;
    one(
        &c,
        r#"select tenure.schedule_create('over', '{"cron": "0 0 1 1 *", "kind": "report", "end_at": "2020-02-01T00:00:00Z"}')"#,
        &[],
    )
    .await;
    one(
        &c,
        r#"select tenure.schedule_create('rests', '{"cron": "0 0 1 1 *", "kind": "report"}')"#,
        &[],
    )
    .await;
    one(&c, "select tenure.schedule_pause('rests', 'winter')", &[]).await;
    tenure::services::scheduler::run_once(&mut server).await.expect("plans");
    let told = metrics(&c).await;
    for (state, count) in [("active", 3.0), ("paused", 1.0), ("failing", 1.0), ("ended", 1.0)] {
        let labels = json!({"tenant": "default", "state": state});
        assert_eq!(value(&told, "tenure_schedules", labels), Some(count), "{state}");
    }
    assert_eq!(of_slots(&told, "tenure_schedule_lag_seconds"), 0.0);

    // Due, and nobody looks. The failing one is looked at again after five minutes; it waits too.
    db.advance("660 seconds").await;
    let lag = of_slots(&metrics(&c).await, "tenure_schedule_lag_seconds");
    assert!((60.0..660.0).contains(&lag), "{lag}");
    tenure::services::scheduler::run_once(&mut server)
        .await
        .expect("starts");
    // Two intervals later: one is behind its run, one gives way, and one comes too late.
    db.advance("1320 seconds").await;
    tenure::services::scheduler::run_once(&mut server)
        .await
        .expect("goes on");
    let told = metrics(&c).await;
    assert_eq!(of_slots(&told, "tenure_slots_waiting"), 1.0);
    let ended = |state: &str, reason: Option<&str>| {
        let mut labels = json!({"tenant": "default", "state": state});
        if let Some(reason) = reason {
            labels["reason"] = json!(reason);
        }
        value(&told, "tenure_slots_ended", labels)
    };
    assert_eq!(ended("skipped", Some("overlap")), Some(1.0));
    let rows: i64 = get(
        &c,
        "select count(*) from tenure.planned_slots where state = 'running'",
        &[],
    )
    .await;
    assert_eq!(of_slots(&told, "tenure_slots_running"), rows as f64);
    let missed: i64 = get(
        &c,
        "select coalesce(sum(missed), 0) from tenure.planned_slots where skip_reason = 'missed_window'",
        &[],
    )
    .await;
    assert!(missed > 0);
    assert_eq!(of_slots(&told, "tenure_slots_missed"), missed as f64);
    db.advance("2 hours").await;
    let later = metrics(&c).await;
    assert_eq!(of_slots(&later, "tenure_slots_missed"), 0.0, "an hour is remembered");
}

/// The price of the numbers does not grow with schedules of which none is due.
#[tokio::test]
async fn many_schedules_are_counted_up_to_a_bound() {
    let db = Db::open().await;
    let c = db.direct().await;
    let rows_max: i64 = get(&c, "select tenure.limit_of('metrics_rows_max')", &[]).await;
    one(
        &c,
        r#"select tenure.schedule_create('one', '{"every_seconds": 600, "kind": "report"}')"#,
        &[],
    )
    .await;
    let many = format!(
        "insert into tenure.schedules (tenant_id, name, every_seconds, zone, jitter_seconds, scope_kind, scope_id, kind, priority, payload, classification, overlap, catch_up,
           catch_up_window_seconds, catch_up_slots_max, reentry, description, plan_from, next_at, created_at, created_by, updated_at, updated_by)
         select s.tenant_id, 'n' || n, 600, 'UTC', 0, 'global', 'global', 'report', 0, '{{}}', 'safe_metadata', 'skip', 'none', 60, 1, 'allowed', '', now(), now() + interval '1 day',
                now(), 'me', now(), 'me'
           from tenure.schedules s cross join generate_series(1, {}) n",
        rows_max + 10
    );
    run(&c, &many).await;
    let told = metrics(&c).await;
    let active = json!({"tenant": "default", "state": "active"});
    assert_eq!(value(&told, "tenure_schedules", active), Some(rows_max as f64));
}
