//! Configuration and gates: typed, bounded, per tenant, and in force at once.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::fixture::{Db, claim, enqueue, get, one, raised, refused, rows, run, try_rows, verb};

/// Proves: S2, S3, S58, S59, S60, S61, S62, S63, S64, S65.
/// Guards: D32, D39.
#[tokio::test]
async fn after_migrating_everything_is_inert_and_has_its_documented_default() {
    let db = Db::inert().await;
    let c = db.client().await;
    let listed: BTreeMap<String, (Value, String, bool)> =
        rows(&c, "select key, value, origin, is_gate from tenure.config_list()", &[])
            .await
            .iter()
            .map(|row| (row.get(0), (row.get(1), row.get(2), row.get(3))))
            .collect();
    for (key, value) in [
        ("queue.job_substrate.enabled", json!(false)),
        ("queue.worker.enabled", json!(false)),
        ("queue.notify.enabled", json!(false)),
        ("queue.heartbeat.enabled", json!(false)),
        ("queue.heartbeat.stale_threshold_seconds", json!(300)),
        ("queue.retry.max_attempts_default", json!(5)),
        ("queue.retry.backoff_base_sec", json!(10)),
        ("queue.lease.duration_sec", json!(300)),
    ] {
        let (found, origin, _) = &listed[key];
        assert_eq!((found, origin.as_str()), (&value, "default"), "{key}");
        let got = one(&c, "select tenure.config_get($1)", &[&key]).await;
        assert_eq!(got, value, "{key}");
    }
    assert!(
        listed.values().filter(|it| it.2).all(|it| it.0 == json!(false)),
        "every gate is closed"
    );
    let stored: i64 = get(&c, "select count(*) from tenure.config", &[]).await;
    assert_eq!(
        stored, 0,
        "defaults are not stored, so running the migration again has nothing to repeat"
    );
    for table in [
        "jobs",
        "ready",
        "delayed",
        "active",
        "leases",
        "attempts",
        "dead_letters",
        "heartbeats",
        "idempotency",
        "events",
        "lanes",
        "kinds",
    ] {
        let rows: i64 = get(&c, &format!("select count(*) from tenure.{table}"), &[]).await;
        assert_eq!(rows, 0, "{table} is empty");
    }
}

/// Proves: S66.
#[tokio::test]
async fn a_value_has_its_type_and_its_bounds_and_a_misspelt_key_is_refused() {
    let db = Db::open().await;
    let c = db.client().await;
    let set =
        async |key: &str, value: Option<Value>| one(&c, "select tenure.config_set($1, $2)", &[&key, &value]).await;
    for (key, value) in [
        ("queue.lease.duration_sec", json!(0)),
        ("queue.lease.duration_sec", json!(-5)),
        ("queue.lease.duration_sec", json!(86401)),
        ("queue.lease.duration_sec", json!(1.5)),
        ("queue.lease.duration_sec", json!("60")),
        ("queue.lease.duration_sec", json!(true)),
        ("queue.lease.duration_sec", json!(null)),
        ("queue.lease.duration_sec", json!([60])),
        ("queue.retry.max_attempts_default", json!(0)),
        ("queue.retry.backoff_base_sec", json!(1e30)),
        ("queue.kind.strict", json!(1)),
        ("queue.notify.enabled", json!("open")),
        ("retention.tombstone_days", json!(30)),
    ] {
        refused(&set(key, Some(value)).await, "config_invalid");
    }
    refused(&set("queue.lease.duration", Some(json!(60))).await, "config_unknown");
    refused(&set("", Some(json!(60))).await, "config_unknown");
    raised(
        try_rows(&c, "select tenure.config_get('queue.lease.duration')", &[]).await,
        "config_unknown",
    );
    refused(
        &one(&c, "select tenure.gate_set('queue.lease.duration_sec', 'open')", &[]).await,
        "config_unknown",
    );
    refused(
        &one(&c, "select tenure.gate_set('queue.notify.enabled', 'ajar')", &[]).await,
        "value_unknown",
    );
    let tenant_rows: i64 = get(&c, "select count(*) from tenure.config where tenant_id = 1", &[]).await;
    assert_eq!(tenant_rows, 0, "nothing half-written");
}

/// Proves: S66.
/// Guards: D32.
#[tokio::test]
async fn the_tenants_value_wins_over_the_installations_and_null_takes_it_back() {
    let db = Db::open().await;
    let c = db.direct().await;
    let key = "queue.retry.max_attempts_default";
    let in_force = async || -> (Value, String) {
        let row = rows(
            &c,
            "select value, origin from tenure.config_list() where key = $1",
            &[&key],
        )
        .await;
        (row[0].get(0), row[0].get(1))
    };
    run(&c, "begin; set local tenure.tenant = '*'; select tenure.config_set('queue.retry.max_attempts_default', '7'); commit").await;
    assert_eq!(in_force().await, (json!(7), "installation".to_owned()));
    let set = one(&c, "select tenure.config_set($1, '3', 'the boss')", &[&key]).await;
    assert_eq!(set, json!({"key": key, "old": 7, "value": 3}));
    assert_eq!(in_force().await, (json!(3), "tenant".to_owned()));
    let event = rows(&c, "select actor, on_behalf_of, data from tenure.events where kind = 'config.changed' and subject = $1 and tenant_id = 1", &[&key]).await;
    assert_eq!(event.len(), 1);
    assert_eq!(event[0].get::<_, &str>(1), "the boss");
    assert_eq!(event[0].get::<_, Value>(2), json!({"key": key, "old": 7, "new": 3}));
    let back = one(&c, "select tenure.config_set($1, null)", &[&key]).await;
    assert_eq!(back["value"], 7);
    assert_eq!(in_force().await, (json!(7), "installation".to_owned()));
    run(&c, "begin; set local tenure.tenant = '*'; select tenure.config_set('queue.retry.max_attempts_default', null); commit").await;
    assert_eq!(in_force().await, (json!(5), "default".to_owned()));
}

/// Proves: S63, S64, S65, S66.
#[tokio::test]
async fn a_changed_key_changes_behaviour_without_a_restart() {
    let db = Db::open().await;
    let c = db.client().await;
    let set = async |key: &str, value: i64| {
        let answer = one(
            &c,
            "select tenure.config_set($1, to_jsonb($2::bigint))",
            &[&key, &value],
        )
        .await;
        assert_eq!(answer["value"], value, "{answer}");
    };
    let lease = async || -> i32 {
        enqueue(&c, "report").await;
        let held = claim(&c, "w").await;
        get(
            &c,
            "select lease_seconds from tenure.leases where token = $1",
            &[&held.token],
        )
        .await
    };
    assert_eq!(lease().await, 300);
    set("queue.lease.duration_sec", 45).await;
    assert_eq!(lease().await, 45);

    set("queue.retry.max_attempts_default", 2).await;
    set("queue.retry.backoff_base_sec", 100).await;
    let job = enqueue(&c, "report").await;
    let held = claim(&c, "w").await;
    assert_eq!(held.job_id, job);
    verb(&c, "job_fail", &held, ", 'no'").await;
    let row = rows(
        &c,
        "select j.attempts_max, round(extract(epoch from a.next_due - a.ended_at))::integer
           from tenure.jobs j join tenure.attempts a on a.job_id = j.job_id where j.job_id = $1",
        &[&job],
    )
    .await;
    assert_eq!((row[0].get::<_, i16>(0), row[0].get::<_, i32>(1)), (2, 100));

    set("queue.lease.duration_sec_max", 50).await;
    refused(
        &one(&c, "select tenure.job_claim('w', p_lease_seconds => 51)", &[]).await,
        "lease_seconds_out_of_range",
    );
}

/// How many rows all tables have together.
async fn rows_in_all(c: &Client) -> i64 {
    let tables = rows(c, "select relname::text from pg_class where relnamespace = 'tenure'::regnamespace and relkind in ('r', 'p') and not relispartition", &[]).await;
    let counts: Vec<String> = tables
        .iter()
        .map(|row| format!("(select count(*) from tenure.{})", row.get::<_, &str>(0)))
        .collect();
    get(c, &format!("select {}", counts.join(" + ")), &[]).await
}

/// Proves: S46, S50, S51, S52, S53, S57, S129, S130.
/// Guards: D33, D64.
#[tokio::test]
async fn a_closed_gate_refuses_every_gated_function_and_writes_nothing() {
    let db = Db::inert().await;
    let c = db.client().await;
    let before = rows_in_all(&c).await;
    let id = "'01990000-0000-7000-8000-000000000001'";
    let held = format!("{id}, {id}");
    for call in [
        "job_enqueue('report')".to_owned(),
        // The gate comes before any look at what was given.
        "job_enqueue(' ', '[]', p_priority => 'odd')".to_owned(),
        "job_claim('w')".to_owned(),
        format!("job_start({held})"),
        format!("job_heartbeat({held})"),
        format!("job_progress({held})"),
        format!("job_complete({held})"),
        format!("job_fail({held}, 'no')"),
        format!("job_snooze({held}, 1)"),
        format!("job_release({held})"),
        format!("job_acknowledge_cancel({held})"),
        format!("job_cancel({id}, 'no')"),
        format!("job_retry({id})"),
        format!("job_dead_letter({id}, 'no')"),
        format!("dead_letter_triage({id}, 'closed')"),
        format!("dead_letter_replay({id})"),
        "job_sweep()".to_owned(),
    ] {
        let answer = one(&c, &format!("select tenure.{call}"), &[]).await;
        refused(&answer, "gate_closed");
        assert!(
            answer["why"]
                .as_str()
                .is_some_and(|why| why.contains("job_substrate_disabled")),
            "{call}: {answer}"
        );
    }
    refused(
        &one(&c, "select tenure.executor_beat('w', 'DOT')", &[]).await,
        "gate_closed",
    );
    let arrays = format!("array[{id}]::uuid[], array[{id}]::uuid[]");
    for call in [
        "job_enqueue_many(array['report'])".to_owned(),
        "job_claim_many('w')".to_owned(),
        format!("job_start_many({arrays})"),
        format!("job_heartbeat_many({arrays})"),
        format!("job_end_many({arrays}, array['succeeded'])"),
        format!(
            "job_turn({arrays}, array['succeeded'], null, null, null, null, null, null, 'w', null, null, 1, 60, 'started', gen_random_uuid())"
        ),
        "lane_open('report')".to_owned(),
        "worker_park()".to_owned(),
        "job_reap()".to_owned(),
        "job_reap('dry_run')".to_owned(),
    ] {
        raised(
            try_rows(&c, &format!("select * from tenure.{call}"), &[]).await,
            "gate_closed",
        );
    }
    assert_eq!(rows_in_all(&c).await, before, "a closed installation writes nothing");

    let (_, operator) = db.login(&["tenure_operator", "tenure_producer"], "default", None).await;
    one(
        &operator,
        "select tenure.gate_set('queue.job_substrate.enabled', 'open')",
        &[],
    )
    .await;
    enqueue(&operator, "report").await;
}

/// Proves: S53, S57.
#[tokio::test]
async fn each_gate_closes_its_own_function_only() {
    let db = Db::open().await;
    let c = db.client().await;
    one(&c, "select tenure.gate_set('queue.heartbeat.enabled', 'closed')", &[]).await;
    refused(
        &one(&c, "select tenure.executor_beat('w', 'DOT')", &[]).await,
        "gate_closed",
    );
    enqueue(&c, "report").await;
    claim(&c, "w").await;
    let registered: i64 = get(&c, "select count(*) from tenure.heartbeats", &[]).await;
    assert_eq!(
        registered, 0,
        "a claim works, but registers nobody while heartbeats are off"
    );
    one(&c, "select tenure.gate_set('queue.heartbeat.enabled', 'open')", &[]).await;
    one(
        &c,
        "select tenure.gate_set('queue.job_substrate.enabled', 'closed')",
        &[],
    )
    .await;
    let beat = one(&c, "select tenure.executor_beat('w', 'DOT')", &[]).await;
    assert_eq!(beat["ticks_total"], 1);
    let stale = one(&c, "select tenure.stale_check()", &[]).await;
    assert_eq!(stale["stale_count"], 0, "reading needs no gate");
}

/// Proves: S57, S130.
#[tokio::test]
async fn one_tenants_closed_gate_stops_the_services_there_and_nowhere_else() {
    let db = Db::open().await;
    let c = db.direct().await;
    one(&c, "select tenure.tenant_create('beta')", &[]).await;
    for tenant in ["default", "beta"] {
        run(&c, &format!("begin; set local tenure.tenant = '{tenant}'")).await;
        enqueue(&c, "report").await;
        claim(&c, "w").await;
        run(&c, "commit").await;
    }
    one(
        &c,
        "select tenure.gate_set('queue.job_substrate.enabled', 'closed')",
        &[],
    )
    .await;
    db.advance("1 hour").await;
    run(&c, "begin; set local tenure.tenant = '*'").await;
    let reaped = rows(&c, "select tenant from tenure.job_reap()", &[]).await;
    run(&c, "commit").await;
    let tenants: Vec<&str> = reaped.iter().map(|row| row.get(0)).collect();
    assert_eq!(tenants, ["beta"]);
}
