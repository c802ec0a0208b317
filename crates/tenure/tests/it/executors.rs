//! Executors: the whitelist, heartbeats, passive registration, and who is stale.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, claim_with, enqueue, get, one, raised, refused, rows, try_rows};

/// Proves: S37, S78, S112.
/// Guards: D40, D65.
#[tokio::test]
async fn seven_executors_hold_work_and_a_generator_never_does() {
    let db = Db::open().await;
    let c = db.client().await;
    let executors: Vec<String> = rows(
        &c,
        "select executor from tenure.executor_list() where role = 'executor'",
        &[],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    assert_eq!(
        executors,
        [
            "Agent",
            "Codex",
            "DOT",
            "Hermes",
            "PG_worker",
            "external_worker",
            "future_Kestra_adapter"
        ]
    );
    for name in &executors {
        let made = one(&c, "select tenure.job_enqueue('report', p_executor => $1)", &[name]).await;
        assert_eq!(made["state"], "queued", "{made}");
        let beat = one(&c, "select tenure.executor_beat($1, $2)", &[&format!("{name}-1"), name]).await;
        assert_eq!(beat["executor"], name.as_str());
    }
    for (name, code) in [
        ("MOT", "executor_cannot_claim"),
        ("mot", "executor_unknown"),
        ("nobody", "executor_unknown"),
        ("", "executor_unknown"),
    ] {
        refused(
            &one(&c, "select tenure.job_enqueue('report', p_executor => $1)", &[&name]).await,
            code,
        );
        refused(&one(&c, "select tenure.job_claim('w', $1)", &[&name]).await, code);
        refused(&one(&c, "select tenure.executor_beat('w', $1)", &[&name]).await, code);
        refused(
            &one(
                &c,
                "select tenure.kind_set('report', jsonb_build_object('executor', $1::text))",
                &[&name],
            )
            .await,
            code,
        );
        raised(
            try_rows(&c, "select tenure.lane_open('report', $1)", &[&name]).await,
            code,
        );
    }
    let jobs: i64 = get(&c, "select count(*) from tenure.jobs", &[]).await;
    assert_eq!(jobs, 7);
    let past_the_functions = try_rows(
        &c,
        "insert into tenure.heartbeats (tenant_id, executor_name, executor_kind, last_tick_at, created_at, updated_at) values (1, 'MOT', 'MOT', now(), now(), now())",
        &[],
    )
    .await;
    raised(past_the_functions, "executor_cannot_claim");
}

/// Proves: S78.
#[tokio::test]
async fn a_job_without_an_executor_takes_its_kinds_and_else_the_default() {
    let db = Db::open().await;
    let c = db.client().await;
    one(&c, r#"select tenure.kind_set('code', '{"executor": "Codex"}')"#, &[]).await;
    let (code, other) = (enqueue(&c, "code").await, enqueue(&c, "other").await);
    let executor =
        async |job: Uuid| -> String { get(&c, "select executor from tenure.jobs where job_id = $1", &[&job]).await };
    assert_eq!(executor(code).await, "Codex");
    assert_eq!(executor(other).await, "external_worker");
    assert!(
        claim_with(&c, "w", ", p_executor => 'DOT', p_limit => 10")
            .await
            .is_empty(),
        "another executor's work is not claimed"
    );
    assert_eq!(
        claim_with(&c, "w", ", p_executor => 'Codex', p_limit => 10")
            .await
            .len(),
        1
    );
}

/// Proves: S36, S38, S39, S40, S41, S53.
#[tokio::test]
async fn a_beat_is_an_upsert_that_counts() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "report").await;
    let first = one(&c, "select tenure.executor_beat('w1', 'DOT')", &[]).await;
    assert_eq!(
        (&first["ticks_total"], &first["last_tick_status"], &first["name_shared"]),
        (&json!(1), &json!("ok"), &json!(false))
    );
    db.advance("10 seconds").await;
    let second = one(
        &c,
        "select tenure.executor_beat('w1', 'DOT', 'warn', $1, '{\"host\": \"a\"}')",
        &[&job],
    )
    .await;
    assert_eq!(
        (&second["ticks_total"], &second["last_tick_status"]),
        (&json!(2), &json!("warn"))
    );
    let row = rows(
        &c,
        "select count(*) over (), current_job_id, lease_owner, metadata, updated_at > created_at, updated_at = last_tick_at from tenure.heartbeats",
        &[],
    )
    .await;
    assert_eq!(row[0].get::<_, i64>(0), 1);
    assert_eq!(row[0].get::<_, Uuid>(1), job);
    assert_eq!(row[0].get::<_, &str>(2), "w1");
    assert_eq!(row[0].get::<_, Value>(3), json!({"host": "a"}));
    assert!(row[0].get::<_, bool>(4) && row[0].get::<_, bool>(5));
    let told: i64 = get(
        &c,
        "select count(*) from tenure.events where kind = 'executor.registered' and subject = 'w1'",
        &[],
    )
    .await;
    assert_eq!(told, 1, "registered once");
}

/// Proves: S36, S38, S40.
#[tokio::test]
async fn a_beat_with_nonsense_is_refused_and_leaves_no_row() {
    let db = Db::open().await;
    let c = db.client().await;
    for (arguments, code) in [
        ("' ', 'DOT'", "name_blank"),
        ("E'\\t\\n', 'DOT'", "name_blank"),
        ("E'a\\tb', 'DOT'", "name_invalid"),
        ("repeat('x', 201), 'DOT'", "name_invalid"),
        ("'w', 'DOT', 'fine'", "value_unknown"),
        ("'w', 'DOT', null", "value_unknown"),
        ("'w', 'DOT', p_metadata => '[]'", "payload_not_object"),
        ("'w', 'DOT', p_metadata => null", "payload_not_object"),
        (
            "'w', 'DOT', p_metadata => jsonb_build_object('x', repeat('y', 9000))",
            "payload_too_large",
        ),
    ] {
        refused(
            &one(&c, &format!("select tenure.executor_beat({arguments})"), &[]).await,
            code,
        );
    }
    for key in [
        "body",
        "content",
        "raw",
        "vector",
        "embedding",
        "secret",
        "token",
        "password",
        "ssn",
        "personal_data",
        "PassWord",
    ] {
        let answer = one(&c, "select tenure.executor_beat('w', 'DOT', p_metadata => jsonb_build_object('deep', jsonb_build_array(jsonb_build_object($1::text, 1))))", &[&key]).await;
        refused(&answer, "payload_forbidden_key");
        assert!(
            answer["what"]
                .as_str()
                .is_some_and(|what| what.contains(&format!("$.deep[0].{key}"))),
            "{answer}"
        );
    }
    let beats: i64 = get(&c, "select count(*) from tenure.heartbeats", &[]).await;
    assert_eq!(beats, 0);
}

/// Proves: S36.
/// Guards: D36.
#[tokio::test]
async fn two_processes_under_one_name_are_told() {
    let db = Db::open().await;
    let c = db.client().await;
    let (one_process, other) = (Uuid::new_v4(), Uuid::new_v4());
    let beat = async |instance: Uuid| {
        one(
            &c,
            "select tenure.executor_beat('w', 'DOT', p_instance => $1)",
            &[&instance],
        )
        .await
    };
    assert_eq!(beat(one_process).await["name_shared"], false);
    assert_eq!(beat(one_process).await["name_shared"], false);
    let second = beat(other).await;
    assert_eq!(
        (&second["name_shared"], &second["last_tick_status"]),
        (&json!(true), &json!("warn"))
    );
    assert_eq!(beat(other).await["name_shared"], false, "it has the name now");
    db.advance("20 minutes").await;
    assert_eq!(
        beat(one_process).await["name_shared"],
        false,
        "a name that nobody used for long is free"
    );
}

/// Proves: S53.
#[tokio::test]
async fn whoever_claims_is_registered_without_a_beat() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue(&c, "report").await;
    claim_with(&c, "silent", "").await;
    let row = rows(
        &c,
        "select executor_kind, ticks_total, last_tick_status from tenure.heartbeats where executor_name = 'silent'",
        &[],
    )
    .await;
    assert_eq!(
        (
            row[0].get::<_, &str>(0),
            row[0].get::<_, i64>(1),
            row[0].get::<_, &str>(2)
        ),
        ("external_worker", 1, "ok")
    );
    claim_with(&c, "silent", "").await;
    let ticks = async || -> i64 {
        get(
            &c,
            "select ticks_total from tenure.heartbeats where executor_name = 'silent'",
            &[],
        )
        .await
    };
    assert_eq!(ticks().await, 1, "a fresh worker is not written again at every claim");
    db.advance("2 minutes").await;
    claim_with(&c, "silent", "").await;
    assert_eq!(ticks().await, 2, "a third of the threshold later it is");
}

async fn freshness(c: &Client, name: &str) -> String {
    get(
        c,
        "select freshness from tenure.queue_health where executor_name = $1",
        &[&name],
    )
    .await
}

/// Proves: S43, S54, S62.
/// Guards: D37, D39.
#[tokio::test]
async fn an_executor_is_fresh_then_a_warning_then_stale_and_looking_changes_nothing() {
    let db = Db::open().await;
    let c = db.client().await;
    one(&c, "select tenure.executor_beat('w', 'DOT')", &[]).await;
    let stale = async || one(&c, "select tenure.stale_check()", &[]).await;
    assert_eq!(freshness(&c, "w").await, "fresh");
    db.advance("299 seconds").await;
    assert_eq!(freshness(&c, "w").await, "fresh");
    db.advance("2 seconds").await;
    assert_eq!(freshness(&c, "w").await, "warning");
    assert_eq!(
        stale().await["stale_count"],
        0,
        "a warning is not stale yet, in both places"
    );
    db.advance("298 seconds").await;
    assert_eq!(freshness(&c, "w").await, "warning");
    db.advance("2 seconds").await;
    assert_eq!(freshness(&c, "w").await, "stale");
    let before: String = get(&c, "select md5(string_agg(h::text, '')) from tenure.heartbeats h", &[]).await;
    let found = stale().await;
    assert_eq!(
        (
            &found["stale_count"],
            &found["stale"][0]["executor_name"],
            &found["threshold_seconds"]
        ),
        (&json!(1), &json!("w"), &json!(600))
    );
    let after: String = get(&c, "select md5(string_agg(h::text, '')) from tenure.heartbeats h", &[]).await;
    assert_eq!(before, after);
    let asked = one(&c, "select tenure.stale_check(3600)", &[]).await;
    assert_eq!(asked["stale_count"], 0, "another threshold may be asked for");
    raised(
        try_rows(&c, "select tenure.stale_check(0)", &[]).await,
        "number_out_of_range",
    );

    one(
        &c,
        "select tenure.config_set('queue.heartbeat.stale_threshold_seconds', '1000')",
        &[],
    )
    .await;
    assert_eq!(freshness(&c, "w").await, "fresh", "one threshold, read by both");
    let (volatility, definer): (String, bool) = {
        let row = rows(
            &c,
            "select provolatile::text, prosecdef from pg_proc where oid = 'tenure.stale_check'::regproc",
            &[],
        )
        .await;
        (row[0].get(0), row[0].get(1))
    };
    assert_eq!(
        (volatility.as_str(), definer),
        ("s", false),
        "stable, with the caller's own eyes"
    );
}

/// Proves: S97.
#[tokio::test]
async fn a_generator_makes_work_under_its_own_name() {
    let db = Db::open().await;
    let c = db.client().await;
    let (login, generator) = db.login(&["tenure_producer"], "default", None).await;
    one(
        &c,
        "select tenure.login_bind($1, p_principal => 'MOT:template')",
        &[&login],
    )
    .await;
    let job = enqueue(&generator, "report").await;
    let by: String = get(&c, "select enqueued_by from tenure.jobs where job_id = $1", &[&job]).await;
    assert_eq!(by, "MOT:template");
    assert!(
        try_rows(&generator, "select tenure.job_claim('MOT:template')", &[])
            .await
            .is_err(),
        "and never claims"
    );
}
