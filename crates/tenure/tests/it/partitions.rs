//! Partitions: made ahead, open-ended at the end, dropped only when nothing in them is alive.

use serde_json::Value;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, claim, enqueue, get, one, rows, run, try_rows, verb};

async fn upkeep(c: &Client) -> Value {
    one(c, "select tenure.partition_upkeep()", &[]).await
}

async fn bounds(c: &Client, table: &str) -> Vec<(String, String)> {
    rows(
        c,
        "select lower_at::text, upper_at::text from tenure.partition_list($1)",
        &[&table],
    )
    .await
    .iter()
    .map(|row| (row.get(0), row.get(1)))
    .collect()
}

async fn done(c: &Client) -> Uuid {
    let job = enqueue(c, "report").await;
    let held = claim(c, "w").await;
    verb(c, "job_complete", &held, "").await;
    job
}

/// Rule: 23.
/// Rule: 24.
#[tokio::test]
async fn partitions_are_made_ahead_without_gaps_and_the_last_one_has_no_end() {
    let db = Db::open().await;
    let c = db.client().await;
    for table in ["jobs", "attempts", "events"] {
        let found = bounds(&c, table).await;
        assert!(found.len() >= 2, "{table}: {found:?}");
        assert_eq!(found[0].0, "-infinity");
        assert_eq!(found[found.len() - 1].1, "infinity", "an insert never fails");
        for pair in found.windows(2) {
            assert_eq!(pair[0].1, pair[1].0, "{table} has a gap");
        }
        let ahead: bool = get(
            &c,
            "select max(lower_at) >= tenure.now() + interval '14 days' from tenure.partition_list($1)",
            &[&table],
        )
        .await;
        assert!(
            ahead,
            "{table}: the open end begins two periods from now, so that it is empty when it is split"
        );
    }
    assert_eq!(
        bounds(&c, "jobs").await,
        bounds(&c, "attempts").await,
        "jobs and attempts share their bounds"
    );
    let made = upkeep(&c).await;
    assert_eq!(
        made["made"].as_array().map(Vec::len),
        Some(0),
        "upkeep again has nothing to do"
    );
    let walled: bool = get(
        &c,
        "select bool_and(c.relrowsecurity) from pg_class c where c.relispartition and c.relkind = 'r' and c.relnamespace = 'tenure'::regnamespace",
        &[],
    )
    .await;
    assert!(walled, "a new partition has its wall");
}

/// Rule: 24.
#[tokio::test]
async fn a_split_keeps_every_row_and_a_long_pause_fails_no_insert() {
    let db = Db::open().await;
    let c = db.client().await;
    let mut jobs = vec![done(&c).await];
    for pause in ["10 days", "200 days", "400 days"] {
        db.advance(pause).await;
        jobs.push(done(&c).await);
        jobs.push(enqueue(&c, "waits").await);
        claim(&c, "keeps").await;
        let made = upkeep(&c).await;
        assert!(!made["made"].as_array().expect("a list").is_empty(), "{made}");
        jobs.push(done(&c).await);
    }
    for job in jobs {
        let kept: bool = get(&c, "select exists (select from tenure.jobs where job_id = $1)", &[&job]).await;
        assert!(kept, "{job}");
    }
    let finals: i64 = get(&c, "select count(*) from tenure.attempts", &[]).await;
    assert_eq!(finals, 7);
}

/// Rule: 24.
#[tokio::test]
async fn there_are_never_more_than_sixteen_partitions() {
    let db = Db::open().await;
    let c = db.direct().await;
    run(&c, "begin; set local tenure.tenant = '*'; select tenure.config_set('retention.partition_days', '1'); select tenure.config_set('retention.events_days', '3'); commit").await;
    for _ in 0..25 {
        db.advance("2 days").await;
        enqueue(&c, "report").await;
        upkeep(&c).await;
        for table in ["jobs", "attempts", "events"] {
            let found = bounds(&c, table).await;
            assert!(found.len() <= 16, "{table} has {}", found.len());
            assert_eq!(found[found.len() - 1].1, "infinity");
        }
    }
    assert_eq!(bounds(&c, "jobs").await.len(), 16, "the limit was reached");
    let kept: i64 = get(&c, "select count(*) from tenure.jobs", &[]).await;
    assert_eq!(kept, 25);
}

/// Proves: S4, S108.
/// Rule: 23.
#[tokio::test]
async fn a_partition_waits_for_its_last_job_and_goes_with_its_attempts() {
    let db = Db::open().await;
    let c = db.direct().await;
    run(
        &c,
        "create table public.bystander (id integer); insert into public.bystander values (1)",
    )
    .await;
    let (old, stuck) = (done(&c).await, enqueue(&c, "stuck").await);
    let name = async |job: Uuid| -> String {
        get(
            &c,
            "select tableoid::regclass::text from tenure.jobs where job_id = $1",
            &[&job],
        )
        .await
    };
    let partition = name(old).await;
    assert_eq!(partition, name(stuck).await);
    db.advance("70 days").await;
    one(&c, "select tenure.job_sweep()", &[]).await;
    let short = partition.trim_start_matches("tenure.").to_owned();
    let kept = upkeep(&c).await;
    assert_eq!(kept["waiting"], serde_json::json!([short]), "{kept}");
    let still: i64 = get(
        &c,
        "select count(*) from tenure.jobs where job_id in ($1, $2)",
        &[&old, &stuck],
    )
    .await;
    assert_eq!(still, 2);

    let held = claim(&c, "w").await;
    assert_eq!(held.job_id, stuck);
    verb(&c, "job_complete", &held, "").await;
    db.advance("9 days").await;
    one(&c, "select tenure.job_sweep()", &[]).await;
    one(&c, "select tenure.job_sweep()", &[]).await;
    let gone = upkeep(&c).await;
    let dropped: Vec<&str> = gone["dropped"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(
        dropped.contains(&short.as_str()) && dropped.contains(&short.replace("jobs", "attempts").as_str()),
        "{gone}"
    );
    assert_eq!(gone["waiting"], serde_json::json!([]));
    let left: i64 = get(
        &c,
        "select (select count(*) from tenure.jobs) + (select count(*) from tenure.attempts)",
        &[],
    )
    .await;
    assert_eq!(left, 0);
    assert_eq!(bounds(&c, "jobs").await, bounds(&c, "attempts").await);
    crate::fixture::raised(
        try_rows(&c, "select tenure.job_show($1)", &[&old]).await,
        "job_not_found",
    );
    done(&c).await;
    let bystander: i32 = get(&c, "select id from public.bystander", &[]).await;
    assert_eq!(bystander, 1);
}

/// What an execution would lose with it is seen under the lock, whatever became of the copies.
/// Rule: 23.
#[tokio::test]
async fn a_partition_waits_for_runs_of_steps_that_are_kept_nowhere_else() {
    let db = Db::open().await;
    let c = db.direct().await;
    let plan = r#"{"purpose":"look","sla_class":"long","steps":[{"action":"look","action_class":"read","id":"a","target_ref":"x","target_type":"host"}]}"#;
    let made = one(&c, "select tenure.execution_submit($1)", &[&plan]).await;
    assert_eq!(made["state"], "running", "{made}");
    let held = claim(&c, "w").await;
    verb(&c, "job_complete", &held, "").await;
    db.advance("70 days").await;
    assert_eq!(one(&c, "select tenure.job_sweep()", &[]).await["cleaned"], 1);
    run(
        &c,
        "begin; alter table tenure.step_runs disable trigger user; delete from tenure.step_runs",
    )
    .await;
    let kept = upkeep(&c).await;
    assert_eq!(kept["waiting"].as_array().map(Vec::len), Some(1), "{kept}");
    run(&c, "rollback").await;
    let gone = upkeep(&c).await;
    assert_eq!(gone["waiting"], serde_json::json!([]), "{gone}");
    let left: i64 = get(&c, "select count(*) from tenure.attempts", &[]).await;
    assert_eq!(left, 0);
}

/// Rule: 24.
#[tokio::test]
async fn upkeep_gives_up_rather_than_wait_for_a_long_reader() {
    let db = Db::open().await;
    let c = db.direct().await;
    let reader = db.direct().await;
    let before = bounds(&c, "jobs").await;
    run(&reader, "begin; select count(*) from tenure.jobs").await;
    db.advance("30 days").await;
    let kept = upkeep(&c).await;
    assert_eq!(kept["gave_way"], true, "{kept}");
    assert_eq!(bounds(&c, "jobs").await, before, "nothing half-done");
    run(&reader, "commit").await;
    assert!(
        upkeep(&c).await["made"].as_array().is_some_and(|it| !it.is_empty()),
        "the next try succeeds"
    );
}

/// Rule: 23.
#[tokio::test]
async fn work_is_scheduled_well_before_its_partition_may_go() {
    let db = Db::open().await;
    let c = db.client().await;
    let (horizon, least): (i64, i64) = {
        let row = rows(
            &c,
            "select tenure.limit_of('schedule_ahead_days_max'), value_min from tenure.config_keys where key = 'retention.tombstone_days'",
            &[],
        )
        .await;
        (row[0].get(0), row[0].get(1))
    };
    assert!(horizon < least, "{horizon} < {least}");
    let far = one(
        &c,
        "select tenure.job_enqueue('report', p_due => tenure.now() + interval '31 days')",
        &[],
    )
    .await;
    crate::fixture::refused(&far, "schedule_too_far");
    let never = one(&c, "select tenure.job_enqueue('report', p_due => 'infinity')", &[]).await;
    crate::fixture::refused(&never, "schedule_too_far");
}
