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
