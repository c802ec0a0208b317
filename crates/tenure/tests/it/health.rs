//! Health and the doctor: one call each, and true also when nothing runs.

use serde_json::{Value, json};

use crate::fixture::{Db, claim_with, enqueue, enqueue_with, get, one, rows, run, verb};

/// Proves: S134, S135.
#[tokio::test]
async fn health_tells_backlog_held_open_dead_letters_oldest_age_and_leases() {
    let db = Db::open().await;
    let c = db.client().await;
    let empty = one(&c, "select tenure.health()", &[]).await;
    for field in [
        "backlog",
        "retry_waiting",
        "in_progress",
        "dead_letter_open",
        "lease_active",
        "lease_expired",
        "executors_alive",
        "oldest_queued_age_s",
    ] {
        assert_eq!(empty[field], json!(0), "{field}: {empty}");
    }
    for _ in 0..3 {
        enqueue(&c, "report").await;
    }
    enqueue_with(&c, "report", ", p_due => tenure.now() + interval '1 hour'").await;
    let held = claim_with(&c, "w", ", p_limit => 2, p_mode => 'started'").await;
    verb(&c, "job_fail", &held[0], ", 'no', 'permanent'").await;
    db.advance("90 seconds").await;
    let told = one(&c, "select tenure.health()", &[]).await;
    for (field, value) in [
        ("backlog", 2),
        ("in_progress", 1),
        ("dead_letter_open", 1),
        ("lease_active", 1),
        ("lease_expired", 0),
        ("executors_alive", 1),
    ] {
        assert_eq!(told[field], json!(value), "{field}: {told}");
    }
    assert!(
        told["oldest_queued_age_s"]
            .as_f64()
            .is_some_and(|age| (90.0..150.0).contains(&age)),
        "{told}"
    );
    assert_eq!(told["gates"]["queue.job_substrate.enabled"], true);
    let view: Value = get(&c, "select to_jsonb(h) from tenure.queue_health h", &[]).await;
    assert_eq!(
        (&view["in_progress"], &view["dead_letters_open"], &view["leases_active"]),
        (&json!(1), &json!(1), &json!(1)),
        "the view says the same"
    );

    db.advance("1 hour").await;
    let late = one(&c, "select tenure.health()", &[]).await;
    assert_eq!(
        (&late["lease_active"], &late["lease_expired"], &late["executors_alive"]),
        (&json!(0), &json!(1), &json!(0))
    );
}

/// Proves: S133.
#[tokio::test]
async fn closing_a_dead_letter_takes_it_off_the_open_list() {
    let db = Db::open().await;
    let c = db.client().await;
    for kind in ["a", "b"] {
        let job = enqueue(&c, kind).await;
        one(&c, "select tenure.job_dead_letter($1, 'no use')", &[&job]).await;
    }
    let open = async || -> Vec<String> {
        rows(&c, "select job_kind from tenure.dead_letters_open order by 1", &[])
            .await
            .iter()
            .map(|row| row.get(0))
            .collect()
    };
    assert_eq!(open().await, ["a", "b"]);
    run(
        &c,
        "select tenure.dead_letter_triage(dead_letter_id, 'closed') from tenure.dead_letters where kind = 'a'",
    )
    .await;
    assert_eq!(open().await, ["b"]);
    let told = one(&c, "select tenure.health()", &[]).await;
    assert_eq!(told["dead_letter_open"], 1);
}

/// Guards: D17.
#[tokio::test]
async fn the_doctor_sees_a_clock_that_is_not_the_servers() {
    let db = Db::open().await;
    let c = db.client().await;
    let well = one(&c, "select tenure.doctor()", &[]).await;
    assert_eq!(well["clock_replaced"], false);
    for table in ["ready", "delayed", "active", "leases", "offers", "idempotency"] {
        assert!(well["hot_tables"][table]["bytes"].is_number(), "{table}: {well}");
    }
    assert!(
        well["partitions"]["jobs"]
            .as_i64()
            .is_some_and(|it| (1..=16).contains(&it))
    );
    assert!(well["settings"]["fsync"].is_string() && well["server_version"].is_string());
    db.advance("1 hour").await;
    let moved = one(&c, "select tenure.doctor()", &[]).await;
    assert_eq!(moved["clock_replaced"], true);
}

/// Rule: 12.
#[tokio::test]
async fn every_function_reads_the_one_clock_and_leases_never_the_transactions() {
    let db = Db::open().await;
    let c = db.client().await;
    let others: Vec<String> = rows(
        &c,
        "select p.proname::text from pg_proc p where p.pronamespace = 'tenure'::regnamespace
            and regexp_replace(p.prosrc, '--[^\\n]*', '', 'g') ~* '(?<![.a-z_])(now\\(\\)|current_timestamp|localtimestamp|transaction_timestamp|statement_timestamp|clock_timestamp)'
          order by 1",
        &[],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    assert_eq!(
        others,
        ["doctor", "installation_stamp", "now"],
        "only what compares or stamps the installation looks at another clock"
    );
    let twice: Vec<String> = rows(
        &c,
        "select p.proname::text from pg_proc p where p.pronamespace = 'tenure'::regnamespace
            and (select count(*) from regexp_matches(p.prosrc, 'tenure\\.now\\(\\)', 'g')) > 1",
        &[],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    assert!(twice.is_empty(), "the clock is read once, into a variable: {twice:?}");
}
