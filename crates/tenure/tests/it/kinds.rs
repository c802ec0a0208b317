//! Kind policies and lanes.

use serde_json::{Value, json};

use crate::fixture::{Db, claim, enqueue, get, one, raised, refused, rows, run, try_rows, verb};

/// Proves: S17, S138.
/// Guards: D6, D32.
#[tokio::test]
async fn a_policy_is_set_field_by_field_and_null_goes_back_to_the_configuration() {
    let db = Db::open().await;
    let c = db.client().await;
    let set = one(&c, r#"select tenure.kind_set('report', '{"attempts_max": 2, "lease_seconds": 30, "on_exhausted": "fail", "executor": "DOT"}')"#, &[]).await;
    assert_eq!(
        (
            &set["attempts_max"],
            &set["lease_seconds"],
            &set["executor"],
            &set["known"]
        ),
        (&json!(2), &json!(30), &json!("DOT"), &json!(true))
    );
    let set = one(
        &c,
        r#"select tenure.kind_set('report', '{"attempts_max": null, "description": "monthly"}')"#,
        &[],
    )
    .await;
    assert_eq!(
        (&set["attempts_max"], &set["lease_seconds"], &set["description"]),
        (&json!(5), &json!(30), &json!("monthly"))
    );
    let shown = one(&c, "select tenure.kind_show('report')", &[]).await;
    assert_eq!(shown, set);
    let listed: String = get(&c, "select kind || ' ' || executor from tenure.kind_list()", &[]).await;
    assert_eq!(listed, "report DOT");
    let told: Value = get(
        &c,
        "select data from tenure.events where kind = 'kind.changed' order by seq desc limit 1",
        &[],
    )
    .await;
    assert_eq!(
        told,
        json!({"kind": "report", "set": {"attempts_max": null, "description": "monthly"}})
    );
}

/// Proves: S138.
#[tokio::test]
async fn a_kind_is_free_text_until_strict_mode_closes_the_list() {
    let db = Db::open().await;
    let c = db.client().await;
    raised(
        try_rows(&c, "select tenure.kind_show('codex_exec')", &[]).await,
        "kind_not_found",
    );
    for kind in ["codex_exec", "codex_skill", "report", "anything at all"] {
        enqueue(&c, kind).await;
        let shown = one(&c, "select tenure.kind_show($1)", &[&kind]).await;
        assert_eq!(
            (&shown["known"], &shown["executor"]),
            (&json!(false), &json!("external_worker")),
            "the default policy"
        );
    }
    one(&c, "select tenure.kind_set('report')", &[]).await;
    one(&c, "select tenure.config_set('queue.kind.strict', 'true')", &[]).await;
    let answer = one(&c, "select tenure.job_enqueue('reprot')", &[]).await;
    refused(&answer, "kind_unknown");
    assert!(
        answer["why"].as_str().is_some_and(|why| why.contains("report")),
        "the nearest is named: {answer}"
    );
    enqueue(&c, "report").await;
    let lanes: i64 = get(&c, "select count(*) from tenure.lanes where kind = 'reprot'", &[]).await;
    assert_eq!(lanes, 0);
}

#[tokio::test]
async fn a_policy_with_nonsense_is_refused() {
    let db = Db::open().await;
    let c = db.client().await;
    for (policy, code) in [
        (r#"{"attempts_max": 0}"#, "number_out_of_range"),
        (r#"{"attempts_max": 1001}"#, "number_out_of_range"),
        (r#"{"attempts_max": 2.5}"#, "number_out_of_range"),
        (r#"{"attempts_max": "3"}"#, "number_out_of_range"),
        (r#"{"attempts_max": 1e40}"#, "number_out_of_range"),
        (r#"{"backoff_base_seconds": 0}"#, "number_out_of_range"),
        (r#"{"backoff_jitter_percent": 101}"#, "number_out_of_range"),
        (r#"{"lease_seconds": 90000}"#, "number_out_of_range"),
        (
            r#"{"lease_seconds": 60, "lease_seconds_max": 30}"#,
            "lease_seconds_out_of_range",
        ),
        (r#"{"renewals_max": -1}"#, "number_out_of_range"),
        (r#"{"run_timeout_seconds": 0}"#, "number_out_of_range"),
        (r#"{"retention_seconds": 59}"#, "number_out_of_range"),
        (r#"{"on_exhausted": "explode"}"#, "value_unknown"),
        (r#"{"event_domain": "weather"}"#, "value_unknown"),
        (r#"{"executor": "MOT"}"#, "executor_cannot_claim"),
        (r#"{"attempt_max": 3}"#, "value_unknown"),
        (r#"{"updated_by": "me"}"#, "value_unknown"),
        (r#"{"tenant_id": 2}"#, "value_unknown"),
        ("[]", "payload_not_object"),
    ] {
        refused(
            &one(&c, "select tenure.kind_set('report', $1::text::jsonb)", &[&policy]).await,
            code,
        );
    }
    refused(&one(&c, "select tenure.kind_set(E'\\t')", &[]).await, "name_blank");
    refused(&one(&c, "select tenure.kind_set(E'a\\nb')", &[]).await, "name_invalid");
    let kinds: i64 = get(&c, "select count(*) from tenure.kinds", &[]).await;
    assert_eq!(kinds, 0, "nothing half-written");
}

/// Proves: S75.
#[tokio::test]
async fn a_job_has_one_of_nine_event_domains() {
    let db = Db::open().await;
    let c = db.client().await;
    let domains: Vec<String> = rows(&c, "select domain from tenure.event_domains order by domain", &[])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(
        domains,
        [
            "agent",
            "approval",
            "artifact",
            "config",
            "execution",
            "job",
            "lock",
            "schedule",
            "system"
        ]
    );
    one(
        &c,
        r#"select tenure.kind_set('chat', '{"event_domain": "agent"}')"#,
        &[],
    )
    .await;
    let (kinds, own, usual) = (
        enqueue(&c, "chat").await,
        crate::fixture::enqueue_with(&c, "chat", ", p_event_domain => 'system'").await,
        enqueue(&c, "other").await,
    );
    for (job, domain) in [(kinds, "agent"), (own, "system"), (usual, "job")] {
        let found: String = get(
            &c,
            "select event_domain from tenure.job_queue where job_id = $1",
            &[&job],
        )
        .await;
        assert_eq!(found, domain);
    }
    refused(
        &one(
            &c,
            "select tenure.job_enqueue('chat', p_event_domain => 'weather')",
            &[],
        )
        .await,
        "value_unknown",
    );
}

/// Proves: S17, S66.
#[tokio::test]
async fn a_job_keeps_the_policy_it_was_enqueued_under() {
    let db = Db::open().await;
    let c = db.client().await;
    one(&c, r#"select tenure.kind_set('report', '{"attempts_max": 1}')"#, &[]).await;
    let job = enqueue(&c, "report").await;
    one(
        &c,
        r#"select tenure.kind_set('report', '{"attempts_max": 9, "on_exhausted": "fail"}')"#,
        &[],
    )
    .await;
    let held = claim(&c, "w").await;
    let ended = verb(&c, "job_fail", &held, ", 'no'").await;
    assert_eq!(
        (held.job_id, &ended["state"]),
        (job, &json!("dead_letter")),
        "one attempt, and its dead letter"
    );
}

/// Rule: 14.
#[tokio::test]
async fn a_lane_opened_before_keeps_a_first_enqueue_from_holding_others() {
    let db = Db::open().await;
    let c = db.direct().await;
    let (a, b) = (db.direct().await, db.direct().await);
    let lane: i32 = get(&c, "select tenure.lane_open('report')", &[]).await;
    let again: i32 = get(&c, "select tenure.lane_open('report')", &[]).await;
    assert_eq!(lane, again, "opening twice is no error");
    run(&a, "begin; select tenure.job_enqueue('report')").await;
    enqueue(&b, "report").await;
    run(&a, "commit").await;

    let lanes: i64 = get(&c, "select count(*) from tenure.lanes where kind = 'report'", &[]).await;
    assert_eq!(lanes, 1);
}

/// Rule: 13.
#[tokio::test]
async fn each_tenant_kind_and_executor_has_one_lane() {
    let db = Db::open().await;
    let c = db.client().await;
    one(&c, "select tenure.job_enqueue('report', p_executor => 'DOT')", &[]).await;
    one(&c, "select tenure.job_enqueue('report', p_executor => 'DOT')", &[]).await;
    one(&c, "select tenure.job_enqueue('report', p_executor => 'Codex')", &[]).await;
    one(&c, "select tenure.job_enqueue('audit', p_executor => 'DOT')", &[]).await;
    let lanes: i64 = get(&c, "select count(*) from tenure.lanes", &[]).await;
    assert_eq!(lanes, 3);
    let split: bool = get(
        &c,
        "select bool_and(r.lane = j.lane) from tenure.ready r join tenure.jobs j on j.job_id = r.job_id",
        &[],
    )
    .await;
    assert!(split);
}
