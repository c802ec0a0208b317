//! What is kept of slots and for how long, and what no writer can put into their table.

use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::fixture::{Db, claim_with, connect, get, one, raised, rows, run, try_rows, verb};
use crate::leases::policy;
use crate::schedules_scene::{begin, look, look_after, on_the_hour, schedule, slots};

async fn sweep(c: &Client, limit: i32) -> i32 {
    get(c, "select tenure.slot_sweep($1)", &[&limit]).await
}

/// Proves: S246, S250. Guards: D121.
#[tokio::test]
async fn slots_go_thirty_days_after_a_success_and_ninety_after_a_failure_and_never_while_they_run() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    for name in ["done", "failed", "cancelled", "running"] {
        schedule(&c, name, json!({"cron": "0 * * * *", "kind": name, "attempts_max": 1})).await;
    }
    look(&mut s).await;
    look_after(&db, &mut s, "1 hour").await;
    run(&c, "select tenure.schedule_pause(s.name) from tenure.schedule_list() s").await;
    look_after(&db, &mut s, "1 hour").await;
    let claimed = async |kind: &str| {
        let arguments = format!(", p_kinds => array['{kind}'], p_mode => 'started'");
        claim_with(&c, "w", &arguments).await.remove(0)
    };
    verb(&c, "job_complete", &claimed("done").await, "").await;
    verb(&c, "job_fail", &claimed("failed").await, ", 'broken'").await;
    let job = crate::schedules_scene::job_of(&c, "cancelled", 60).await;
    one(&c, "select tenure.job_cancel($1, 'no longer')", &[&job]).await;
    run(&c, "update tenure.schedules set next_at = null").await;
    assert_eq!(
        slots(&c, "done").await,
        ["60 succeeded", "120 skipped paused", "180 planned"]
    );

    db.advance("29 days").await;
    assert_eq!(sweep(&c, 1000).await, 0);
    db.advance("2 days").await;
    assert_eq!(sweep(&c, 2).await, 2, "no more than asked for");
    assert_eq!(sweep(&c, 1000).await, 3);
    assert_eq!(slots(&c, "done").await, ["180 planned"]);
    assert_eq!(slots(&c, "failed").await[1..], ["180 planned"]);
    assert_eq!(slots(&c, "cancelled").await, ["60 cancelled cancelled", "180 planned"]);
    db.advance("60 days").await;
    assert_eq!(sweep(&c, 1000).await, 2);
    db.advance("1000 days").await;
    assert_eq!(sweep(&c, 1000).await, 0);
    assert_eq!(slots(&c, "running").await, ["60 running", "180 planned"], "however old");
    for limit in ["0", "null", "10001"] {
        raised(
            try_rows(&c, &format!("select tenure.slot_sweep({limit})"), &[]).await,
            "number_out_of_range",
        );
    }
}

/// Proves: S249.
#[tokio::test]
async fn a_slot_outlives_its_job_and_the_partition_of_it() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    policy(&c, "report", json!({"on_exhausted": "fail"})).await;
    schedule(&c, "a", json!({"cron": "0 * * * *", "attempts_max": 1})).await;
    let upkeep =
        "begin; set local tenure.tenant = '*'; select tenure.partition_upkeep(); select tenure.job_sweep(); commit";
    run(&c, upkeep).await;
    look(&mut s).await;
    look_after(&db, &mut s, "1 hour").await;
    let held = begin(&c).await;
    verb(&c, "job_fail", &held, ", 'broken', p_code => 'E1'").await;
    for _ in 0..6 {
        db.advance("14 days").await;
        run(&c, upkeep).await;
        run(&c, upkeep).await;
        assert_eq!(sweep(&c, 1000).await, 0);
    }
    let gone: i64 = get(
        &c,
        "select count(*) from tenure.jobs where job_id = $1",
        &[&held.job_id],
    )
    .await;
    assert_eq!(gone, 0, "the job went with its partition");
    let kept = one(
        &c,
        "select to_jsonb(x) from tenure.schedule_slots('a', '{failed}') x",
        &[],
    )
    .await;
    assert_eq!(
        (&kept["error_code"], &kept["error_message"], &kept["attempts"]),
        (&json!("E1"), &json!("broken"), &json!(1))
    );
    assert_eq!(kept["job_id"], json!(held.job_id.to_string()));
    // A slot whose job is gone is removed like any other.
    db.advance("20 days").await;
    assert_eq!(sweep(&c, 1000).await, 1);
}

#[tokio::test]
async fn a_deleted_schedule_goes_when_its_last_slot_has_gone() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "0 * * * *"})).await;
    schedule(&c, "b", json!({"cron": "0 * * * *"})).await;
    look(&mut s).await;
    run(&c, "select tenure.schedule_delete('a')").await;
    let known = "select array_agg(name order by name) from tenure.schedules";
    sweep(&c, 1000).await;
    assert_eq!(get::<Vec<String>>(&c, known, &[]).await, ["a", "b"]);
    db.advance("31 days").await;
    assert_eq!(sweep(&c, 1000).await, 1);
    assert_eq!(get::<Vec<String>>(&c, known, &[]).await, ["b"]);
}

/// A slot as its table takes it.
fn fine() -> Value {
    json!({"tenant_id": 1, "scope_kind": "global", "scope_id": "global", "plan_time": "2026-01-02T03:00:00Z", "origin": "rule", "state": "succeeded",
        "expression": "0 3 * * *", "zone": "UTC", "due_at": "2026-01-02T03:00:00Z", "job_id": "01890000-0000-7000-8000-000000000001", "attempts": 1,
        "fired_at": "2026-01-02T03:00:00Z", "started_at": "2026-01-02T03:00:01Z", "ended_at": "2026-01-02T03:00:02Z",
        "planned_at": "2026-01-02T02:00:00Z", "planned_by": "x", "updated_at": "2026-01-02T02:00:00Z"})
}

/// Puts a slot into the table as its owner could, whatever the functions would say.
async fn put(c: &Client, changes: &Value) -> Result<(), String> {
    let mut slot = fine();
    for (column, value) in changes.as_object().expect("an object") {
        slot[column] = value.clone();
    }
    let columns = "tenant_id, schedule_id, scope_kind, scope_id, plan_time, origin, state, skip_reason, expression, zone, due_at, waiting_since, missed, missed_until, job_id, \
                   attempts, worker, fired_at, started_at, ended_at, duration_ms, rows_affected, result, error_code, error_message, planned_at, planned_by, updated_at";
    let sql = format!(
        "insert into tenure.planned_slots ({columns})
         select {columns} from jsonb_populate_record(null::tenure.planned_slots, $1 || jsonb_build_object('schedule_id', (select schedule_id from tenure.schedules)))"
    );
    let outcome = try_rows(c, &sql, &[&slot]).await;
    outcome
        .map(|_| ())
        .map_err(|error| error.code().map(|it| it.code().to_owned()).unwrap_or_default())
}

/// Proves: S232, S233, S236, S238. Guards: D110, D111, D112, D113, D116, D118, D120, D122.
#[tokio::test]
async fn no_writer_can_leave_a_slot_that_means_nothing() {
    const NULL: &str = "23502";
    const CHECK: &str = "23514";
    let (_db, c) = on_the_hour().await;
    schedule(&c, "a", json!({"cron": "0 3 * * *"})).await;
    let skipped =
        json!({"state": "skipped", "skip_reason": "paused", "job_id": null, "fired_at": null, "started_at": null});
    let with = |base: &Value, column: &str, value: Value| {
        let mut changed = base.clone();
        changed[column] = value;
        changed
    };
    for (changes, code) in [
        (json!({"plan_time": null}), NULL),
        (json!({"scope_kind": null}), NULL),
        (json!({"scope_id": null}), NULL),
        (json!({"due_at": null}), NULL),
        (json!({"state": null}), NULL),
        (json!({"planned_by": null}), NULL),
        (json!({"scope_kind": ""}), CHECK),
        (json!({"scope_id": " \t"}), CHECK),
        (json!({"expression": ""}), CHECK),
        (json!({"plan_time": "2026-01-02T03:00:00.000001Z"}), CHECK),
        (json!({"plan_time": "infinity"}), CHECK),
        (json!({"plan_time": "-infinity"}), CHECK),
        (json!({"due_at": "infinity"}), CHECK),
        (json!({"state": "SUCCESS"}), CHECK),
        (json!({"state": "stale"}), CHECK),
        (json!({"ended_at": null}), CHECK),
        (json!({"state": "failed", "ended_at": null}), CHECK),
        (json!({"state": "cancelled", "ended_at": null}), CHECK),
        (json!({"state": "running"}), CHECK),
        (
            json!({"state": "running", "ended_at": null, "job_id": null, "fired_at": null}),
            CHECK,
        ),
        (json!({"state": "running", "ended_at": null, "fired_at": null}), CHECK),
        (json!({"state": "planned", "ended_at": null}), CHECK),
        (json!({"ended_at": "2026-01-02T03:00:00Z"}), CHECK),
        (json!({"attempts": -1}), CHECK),
        (json!({"duration_ms": -1}), CHECK),
        (json!({"missed": 3}), CHECK),
        (json!({"waiting_since": "2026-01-02T03:00:00Z"}), CHECK),
        (json!({"skip_reason": "overlap"}), CHECK),
        (with(&skipped, "skip_reason", Value::Null), CHECK),
        (with(&skipped, "skip_reason", json!("late")), CHECK),
        (with(&skipped, "ended_at", Value::Null), CHECK),
        (json!({"result": {"x": "y".repeat(16_384)}}), CHECK),
        (json!({"error_message": "é".repeat(2001)}), CHECK),
    ] {
        assert_eq!(put(&c, &changes).await, Err(code.to_owned()), "{changes}");
    }
    let long = json!({"duration_ms": 9_000_000_000_000_i64, "rows_affected": 9_000_000_000_i64, "error_message": "x".repeat(4000)});
    assert_eq!(put(&c, &long).await, Ok(()), "three centuries");
    assert_eq!(put(&c, &fine()).await, Err("23505".to_owned()), "a moment has one row");
    assert_eq!(
        put(&c, &with(&skipped, "scope_id", json!("other"))).await,
        Ok(()),
        "but each scope its own"
    );
    for (column, value) in [
        ("name", "' '"),
        ("scope_kind", "''"),
        ("every_seconds", "60"),
        ("cron", "null"),
        ("start_at", "'infinity'"),
        ("end_at", "'-infinity'"),
        ("catch_up", "'all'"),
    ] {
        let sql = format!("update tenure.schedules set {column} = {value}");
        let error = try_rows(&c, &sql, &[]).await.expect_err(&sql);
        assert_eq!(error.code().map(|it| it.code()), Some(CHECK), "{sql}: {error:?}");
    }
}

/// Proves: S236. Guards: D115.
#[tokio::test]
async fn when_a_slot_changed_is_kept_whoever_changes_it() {
    let (db, c) = on_the_hour().await;
    schedule(&c, "a", json!({"cron": "0 3 * * *"})).await;
    put(&c, &fine()).await.expect("a slot");
    db.advance("1 minute").await;
    run(&c, "update tenure.planned_slots set worker = 'x'").await;
    let now: bool = get(
        &c,
        "select updated_at > tenure.now() - interval '30 s' from tenure.planned_slots",
        &[],
    )
    .await;
    assert!(now);
}

/// Proves: S243, S244, S245, S246. Guards: D114.
#[tokio::test]
async fn what_is_asked_of_slots_has_its_index_and_no_index_is_there_twice() {
    let (db, _) = on_the_hour().await;
    let c = db.direct().await;
    for n in 0..10 {
        schedule(&c, &format!("s{n}"), json!({"cron": "0 3 * * *"})).await;
    }
    run(
        &c,
        "insert into tenure.planned_slots (tenant_id, schedule_id, scope_kind, scope_id, plan_time, origin, state, expression, zone, due_at, job_id, fired_at, ended_at, planned_at,
           planned_by, updated_at)
         select 1, s.schedule_id, 'global', 'global', to_timestamp(1800000000 + n * 60), 'rule', x.state, 'x', 'UTC', now(), gen_random_uuid(), now(),
                case when x.state <> 'running' then now() - n * interval '1 s' end, now(), 'x', now()
           from tenure.schedules s, generate_series(1, 3000) n, lateral (select case n % 100 when 0 then 'running' when 1 then 'failed' else 'succeeded' end) x (state);
         analyze tenure.planned_slots",
    )
    .await;
    for (asked, index) in [
        (
            "schedule_id = 3 and state = 'succeeded' order by plan_time desc limit 1",
            "planned_slots_succeeded",
        ),
        (
            "schedule_id = 3 and state = 'failed' order by plan_time desc limit 10",
            "planned_slots_failed",
        ),
        ("schedule_id = 3 and state = 'running'", "planned_slots_running"),
        (
            "tenant_id = 1 and ended_at < now() - interval '1 day' order by ended_at limit 10",
            "planned_slots_ended",
        ),
        (
            "schedule_id = 3 order by plan_time desc limit 10",
            "planned_slots_schedule_id_plan_time",
        ),
        ("job_id = '01890000-0000-7000-8000-000000000001'", "planned_slots_job"),
    ] {
        let plan: Value = get(
            &c,
            &format!("explain (format json) select slot_id from tenure.planned_slots where {asked}"),
            &[],
        )
        .await;
        let text = plan.to_string();
        assert!(
            text.contains(index) && !text.contains("Seq Scan") && !text.contains("\"Sort\""),
            "{asked}: {plan}"
        );
    }
    let twice = "select a.indexrelid::regclass::text || ' and ' || b.indexrelid::regclass::text
                   from pg_index a join pg_index b on a.indrelid = b.indrelid and a.indexrelid <> b.indexrelid
                  where a.indrelid in ('tenure.planned_slots'::regclass, 'tenure.schedules'::regclass)
                    and coalesce(pg_get_expr(a.indpred, a.indrelid), '') = coalesce(pg_get_expr(b.indpred, b.indrelid), '')
                    and strpos(' ' || b.indkey::text || ' ', ' ' || a.indkey::text || ' ') = 1";
    let twice: Vec<String> = rows(&c, twice, &[]).await.iter().map(|row| row.get(0)).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

/// Migrations go forward only; who wants no Tenure any more drops its schema, and nothing of it stays in the database.
///
/// Proves: S248.
#[tokio::test]
async fn who_drops_the_schema_has_nothing_left_and_may_begin_anew() {
    let db = Db::open().await;
    let c = db.direct().await;
    schedule(&c, "a", json!({"cron": "0 3 * * *"})).await;
    run(&c, "drop schema tenure cascade").await;
    let left = "select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast', 'fixture')";
    assert_eq!(get::<i64>(&c, left, &[]).await, 0);
    let mut again = connect(&db.url().parse().expect("an address")).await;
    tenure::migrate(&mut again, &tenure::migrate::Options::default())
        .await
        .expect("migrated anew");
    assert_eq!(get::<i64>(&c, "select count(*) from tenure.schedules", &[]).await, 0);
}
