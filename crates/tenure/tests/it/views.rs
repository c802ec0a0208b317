//! The read views: the nine states, health with or without executors, and plans that do not read history.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, claim_with, enqueue, enqueue_with, get, one, raised, rows, run, try_rows, verb};

/// One job in each of the nine states, by state.
pub(crate) async fn one_of_each(db: &Db, c: &Client) -> BTreeMap<&'static str, Uuid> {
    one(c, r#"select tenure.kind_set('rests', '{"on_exhausted": "fail"}')"#, &[]).await;
    let hold = async |kind: &str, mode: &str| {
        enqueue(c, kind).await;
        claim_with(c, "w", &format!(", p_kinds => array['{kind}'], p_mode => '{mode}'"))
            .await
            .remove(0)
    };
    let cleaned = hold("report", "started").await;
    verb(c, "job_complete", &cleaned, "").await;
    db.advance("8 days").await;
    one(c, "select tenure.job_sweep()", &[]).await;
    let succeeded = hold("report", "started").await;
    verb(c, "job_complete", &succeeded, ", p_result_ref => 'r'").await;
    let failed = hold("rests", "started").await;
    verb(c, "job_fail", &failed, ", 'rests now', 'permanent'").await;
    let dead = hold("report", "started").await;
    verb(c, "job_fail", &dead, ", 'died', 'permanent'").await;
    let retry = hold("report", "started").await;
    verb(c, "job_fail", &retry, ", 'will come back'").await;
    let cancelled = enqueue(c, "report").await;
    one(c, "select tenure.job_cancel($1, 'enough')", &[&cancelled]).await;
    let leased = hold("report", "leased").await;
    let running = hold("report", "started").await;
    let queued = enqueue_with(c, "report", r#", '{"n": 1}', 'key', p_priority => 'urgent'"#).await;
    BTreeMap::from([
        ("cleaned", cleaned.job_id),
        ("succeeded", succeeded.job_id),
        ("failed", failed.job_id),
        ("dead_letter", dead.job_id),
        ("retry_waiting", retry.job_id),
        ("cancelled", cancelled),
        ("leased", leased.job_id),
        ("in_progress", running.job_id),
        ("queued", queued),
    ])
}

/// Proves: S7, S12, S13, S14, S15, S18, S20, S21, S55, S56, S79, S80, S81, S82, S84, S90, S91, S92, S137, S139, S151, S152.
/// Guards: D11, D12, D13, D16, D22, D24.
#[tokio::test]
async fn each_of_the_nine_states_shows_up_with_what_belongs_to_it() {
    let db = Db::open().await;
    let c = db.client().await;
    let jobs = one_of_each(&db, &c).await;
    let shown: i64 = get(&c, "select count(*) from tenure.job_queue", &[]).await;
    assert_eq!(shown, 9, "each job once");
    for (state, job) in &jobs {
        let q: Value = get(
            &c,
            "select to_jsonb(q) from tenure.job_queue q where job_id = $1",
            &[job],
        )
        .await;
        assert_eq!(q["state"], json!(state));
        let by_list: Vec<Uuid> = rows(&c, "select job_id from tenure.job_list(array[$1])", &[state])
            .await
            .iter()
            .map(|row| row.get(0))
            .collect();
        assert_eq!(by_list, [*job], "{state}");
        let held = matches!(*state, "leased" | "in_progress");
        let terminal = matches!(*state, "succeeded" | "failed" | "dead_letter" | "cancelled" | "cleaned");
        assert_eq!(q["lease_owner"].is_string(), held, "{state}");
        assert_eq!(q["lease_until"].is_string(), held, "{state}: owner and until together");
        assert_eq!(q["finished_at"].is_string(), terminal, "{state}");
        for field in [
            "scheduled_at",
            "created_at",
            "actor",
            "idempotency_key",
            "job_kind",
            "executor",
            "source_system",
            "payload_json",
        ] {
            assert!(!q[field].is_null(), "{state} has no {field}");
        }
        if *state != "queued" && *state != "cancelled" {
            assert!(q["updated_at"].is_string() && q["attempts"] == json!(1), "{state}: {q}");
        }
        assert!(q.get("token").is_none(), "the proof of holding is not shown");
    }
    let q = async |state: &str| -> Value {
        get(
            &c,
            "select to_jsonb(q) from tenure.job_queue q where job_id = $1",
            &[&jobs[state]],
        )
        .await
    };
    let retry = q("retry_waiting").await;
    assert_eq!(
        (&retry["last_error"], retry["last_error_at"].is_string()),
        (&json!("will come back"), true)
    );
    assert!(
        retry["scheduled_at"].as_str() > retry["last_error_at"].as_str(),
        "it is due after its failure"
    );
    let queued = q("queued").await;
    assert_eq!(
        (
            &queued["priority"],
            &queued["attempts"],
            &queued["idempotency_key"],
            &queued["payload_json"]
        ),
        (&json!(100), &json!(0), &json!("key"), &json!({"n": 1}))
    );
    assert_eq!(
        q("leased").await["idempotency_key"],
        json!(jobs["leased"]),
        "without a key, the id stands for it"
    );
    let running = q("in_progress").await;
    assert!(running["started_at"].is_string() && running["picked_at"].is_string());
    assert_eq!(q("succeeded").await["result_ref"], json!("r"));
    raised(
        try_rows(&c, "select * from tenure.job_list('{running}')", &[]).await,
        "state_unknown",
    );
    raised(
        try_rows(&c, "select * from tenure.job_list(p_limit => 1001)", &[]).await,
        "number_out_of_range",
    );
}

/// Proves: S26, S44, S131, S132.
#[tokio::test]
async fn the_backlog_counts_each_kind_and_state() {
    let db = Db::open().await;
    let c = db.client().await;
    one_of_each(&db, &c).await;
    enqueue(&c, "report").await;
    let counted: BTreeMap<String, i64> = rows(
        &c,
        "select job_kind || ' ' || state, row_count from tenure.job_backlog",
        &[],
    )
    .await
    .iter()
    .map(|row| (row.get(0), row.get(1)))
    .collect();
    assert_eq!(counted.get("report queued"), Some(&2));
    assert_eq!(counted.get("rests failed"), Some(&1));
    assert_eq!(counted.len(), 9);
    let row: Value = get(
        &c,
        "select to_jsonb(b) from tenure.job_backlog b where state = 'queued'",
        &[],
    )
    .await;
    assert!(row["oldest_created_at"].as_str() < row["newest_created_at"].as_str());
    assert!(
        row["next_scheduled_at"].is_string() && row["attempts_max"] == json!(0),
        "{row}"
    );
    let held = rows(
        &c,
        "select job_kind, executor, leased, in_progress from tenure.job_in_progress",
        &[],
    )
    .await;
    assert_eq!(held.len(), 1);
    assert_eq!(
        (
            held[0].get::<_, &str>(0),
            held[0].get::<_, i64>(2),
            held[0].get::<_, i64>(3)
        ),
        ("report", 1, 1)
    );
}

/// Proves: S43, S134, S135.
/// Guards: D38.
#[tokio::test]
async fn queue_health_has_25_columns_and_a_row_even_when_nobody_is_alive() {
    let db = Db::inert().await;
    let c = db.client().await;
    let columns: Vec<String> = rows(
        &c,
        "select attname::text from pg_attribute where attrelid = 'tenure.queue_health'::regclass and attnum > 0 order by attnum",
        &[],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    assert_eq!(columns.len(), 25);
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../sql/README.md")).expect("sql/README.md");
    for column in &columns {
        assert!(readme.contains(column), "{column} is not documented");
    }
    let row: Value = get(&c, "select to_jsonb(h) from tenure.queue_health h", &[]).await;
    assert_eq!(
        (
            &row["freshness"],
            &row["executor_name"],
            &row["queued"],
            &row["gate_worker"]
        ),
        (&json!("none"), &Value::Null, &json!(0), &json!(false))
    );

    run(
        &c,
        "select tenure.gate_set(key, 'open') from tenure.config_keys where is_gate",
    )
    .await;
    one_of_each(&db, &c).await;
    one(&c, "select tenure.executor_beat('second', 'DOT', 'warn')", &[]).await;
    let row: Value = get(
        &c,
        "select to_jsonb(h) from tenure.queue_health h where executor_name = 'second'",
        &[],
    )
    .await;
    for (field, value) in [
        ("queued", 1),
        ("delayed", 1),
        ("retry_waiting", 1),
        ("leased", 1),
        ("in_progress", 1),
        ("succeeded_last_hour", 1),
        ("failed", 1),
        ("cancelled", 1),
        ("dead_letter", 1),
        ("dead_letters_pending", 1),
        ("dead_letters_open", 1),
        ("leases_active", 2),
        ("ticks_total", 1),
    ] {
        assert_eq!(row[field], json!(value), "{field}: {row}");
    }
    assert_eq!(
        (&row["executor_kind"], &row["last_tick_status"], &row["freshness"]),
        (&json!("DOT"), &json!("warn"), &json!("fresh"))
    );
    for gate in ["gate_job_substrate", "gate_worker", "gate_notify", "gate_heartbeat"] {
        assert_eq!(row[gate], true, "{gate}");
    }
    let rows: i64 = get(&c, "select count(*) from tenure.queue_health", &[]).await;
    assert_eq!(rows, 2, "one per executor");
}

/// Fills the history with this many succeeded jobs and a few that failed.
async fn fill(c: &Client, jobs: i32, rare: i32) {
    let lane: i32 = get(c, "select tenure.lane_open('bulk')", &[]).await;
    run(
        c,
        &format!(
            "begin;
             create temp table made on commit drop as select n, tenure.new_id(tenure.now() + n * interval '1 microsecond') as id from generate_series(1, {jobs}) n;
             insert into tenure.jobs (job_id, tenant_id, lane, kind, executor, event_domain, priority, due, attempts_max, backoff_base_seconds, backoff_jitter_percent,
               on_exhausted, payload_classification, payload, source_system, enqueued_by, created_at)
             select id, 1, {lane}, 'bulk', 'external_worker', 'job', 0, tenure.now(), 5, 10, 0, 'fail', 'safe_metadata', '{{}}', 'test', 'test', tenure.now() from made;
             insert into tenure.attempts (job_id, run, tenant_id, lane, attempt, outcome, state, final, token, owner, leased_at, ended_at, actor)
             select id, 1, 1, {lane}, 1, case when n <= {rare} then 'failed' else 'succeeded' end, case when n <= {rare} then 'failed' else 'succeeded' end, true,
               gen_random_uuid(), 'w', tenure.now(), tenure.now(), 'w' from made;
             commit;
             analyze tenure.jobs, tenure.attempts, tenure.ready, tenure.delayed, tenure.active, tenure.leases, tenure.lanes"
        ),
    )
    .await;
}

/// Proves: S26, S124.
/// Rule: 20.
#[tokio::test]
async fn rare_states_are_found_without_reading_the_history() {
    let db = Db::open().await;
    let c = db.direct().await;
    fill(&c, 100_000, 20).await;
    enqueue(&c, "report").await;
    let (_, viewer) = db.login(&["tenure_viewer"], "default", None).await;
    for (state, expected) in [
        ("failed", 20_i64),
        ("dead_letter", 0),
        ("cancelled", 0),
        ("queued", 1),
        ("leased", 0),
        ("in_progress", 0),
    ] {
        let sql = format!(
            "explain (analyze, format json) select job_id, last_error from tenure.job_queue where state = '{state}' limit 50"
        );
        let plan: Value = get(&c, &sql, &[]).await;
        let text = plan.to_string();
        let mut read = 0.0;
        rows_read(&plan[0]["Plan"], &mut read);
        assert!(read < 5_000.0, "{state} reads {read} rows: {plan:#}");
        if expected > 1 {
            assert!(
                text.contains("rare_endings") || text.contains("tenant_id_state_ended_at"),
                "the index of rare endings: {plan:#}"
            );
        }
        let found: i64 = get(
            &viewer,
            &format!("select count(*) from tenure.job_queue where state = '{state}'"),
            &[],
        )
        .await;
        assert_eq!(found, expected, "{state}");
    }
}

/// Adds up the rows that the scans of a plan have touched.
fn rows_read(plan: &Value, sum: &mut f64) {
    let of = |field: &str| plan[field].as_f64().unwrap_or_default();
    if plan["Node Type"].as_str().is_some_and(|it| it.contains("Scan")) {
        *sum += (of("Actual Rows") + of("Rows Removed by Filter")) * of("Actual Loops");
    }
    for part in plan["Plans"].as_array().into_iter().flatten() {
        rows_read(part, sum);
    }
}

/// Proves: S127.
#[tokio::test]
async fn an_active_job_costs_few_bytes_and_history_costs_the_hot_path_none() {
    let db = Db::open().await;
    let c = db.direct().await;
    let size = async |tables: &str| -> i64 {
        get(
            &c,
            &format!("select sum(pg_total_relation_size(c.oid))::bigint from pg_class c where c.relnamespace = 'tenure'::regnamespace and c.relname ~ '^({tables})$'"),
            &[],
        )
        .await
    };
    let hot = "ready|delayed|active|leases|idempotency";
    let before = (size(hot).await, size("jobs_p.*").await);
    for batch in 0..20 {
        let sql = "select count(*) from tenure.job_enqueue_many(array_fill('report'::text, array[1000]), array_fill('{\"ref\": \"a/b/c\"}'::json, array[1000]),
                     (select array_agg('key:' || $1 || ':' || n) from generate_series(1, 1000) n))";
        let made: i64 = get(&c, sql, &[&batch]).await;
        assert_eq!(made, 1000);
    }
    let waiting = (
        (size(hot).await - before.0) / 20_000,
        (size("jobs_p.*").await - before.1) / 20_000,
    );
    println!(
        "bytes per waiting job: {} in the hot tables (with its key), {} in jobs",
        waiting.0, waiting.1
    );
    assert!(waiting.0 < 400, "the hot path: {} bytes a job", waiting.0);
    assert!(
        waiting.0 + waiting.1 < 900,
        "all in all: {} bytes a job",
        waiting.0 + waiting.1
    );

    for _ in 0..10 {
        claim_with(&c, "w", ", p_limit => 1000, p_mode => 'started'").await;
    }
    let held = size("active|leases").await / 10_000;
    println!("bytes per held job: {held} in active and leases");
    assert!(held < 400, "{held} bytes a held job");
    let (rows_hot, rows_all): (i64, i64) = {
        let row = rows(&c, "select (select count(*) from tenure.ready) + (select count(*) from tenure.active), (select count(*) from tenure.jobs)", &[]).await;
        (row[0].get(0), row[0].get(1))
    };
    assert_eq!(
        (rows_hot, rows_all),
        (20_000, 20_000),
        "what has ended leaves these tables"
    );
}
