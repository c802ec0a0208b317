//! Slots that are due become jobs, or say why they did not.

use serde_json::{Value, json};

use crate::fixture::{get, one, rows, run, verb};
use crate::leases::policy;
use crate::schedules_scene::{begin, events, job_of, jobs, look, look_after, on_the_hour, schedule, slot, slots};

/// Proves: S232, S235, S237.
#[tokio::test]
async fn a_due_slot_becomes_a_job_that_knows_its_slot() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    let more = json!({"cron": "*/5 * * * *", "payload": {"a": 1}, "priority": 7, "source_ref": "books", "scope_kind": "shop", "scope_id": "12",
        "classification": "restricted"});
    schedule(&c, "a", more).await;
    let first = look(&mut s).await;
    assert_eq!((first.planned, first.started), (1, 0), "planned ahead");
    assert_eq!(
        look_after(&db, &mut s, "4 minutes").await.started,
        0,
        "and not before its time"
    );
    let second = look_after(&db, &mut s, "1 minute").await;
    assert_eq!((second.planned, second.started), (1, 1));
    assert_eq!(slots(&c, "a").await, ["5 running", "10 planned"]);

    let job = job_of(&c, "a", 5).await;
    let made = one(&c, "select to_jsonb(j) from tenure.jobs j where j.job_id = $1", &[&job]).await;
    let plan_time: String = slot(
        &c,
        "running",
        "to_char(plan_time at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')",
    )
    .await;
    let slot_info =
        json!({"schedule": "a", "plan_time": plan_time, "scope_kind": "shop", "scope_id": "12", "origin": "rule"});
    assert_eq!(
        (&made["payload"], &made["origin"]),
        (&json!({"a": 1}), &json!({"slot": slot_info}))
    );
    assert_eq!(
        made["idempotency_key"],
        json!(slot::<String>(&c, "running", "'slot ' || slot_id").await)
    );
    for (column, value) in [
        ("kind", json!("report")),
        ("priority", json!(7)),
        ("source_ref", json!("books")),
        ("source_system", json!("tenure.schedule")),
        ("payload_classification", json!("restricted")),
        ("enqueued_by", json!("scheduler")),
    ] {
        assert_eq!(made[column], value, "{column}");
    }
    let told = events(&c, "schedule.slot_started").await;
    assert_eq!(told.len(), 1);
    assert_eq!(
        (&told[0]["subject"], &told[0]["job_id"]),
        (&json!("a"), &json!(job.to_string()))
    );
    assert_eq!(look(&mut s).await, Default::default(), "and nothing is left to do");
}

#[tokio::test]
async fn what_is_refused_is_skipped_with_the_code_and_the_others_run() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    policy(&c, "known", json!({})).await;
    for (name, kind) in [("a", "known"), ("b", "unknown"), ("c", "known")] {
        schedule(&c, name, json!({"cron": "*/5 * * * *", "kind": kind})).await;
    }
    look(&mut s).await;
    run(&c, "select tenure.config_set('queue.kind.strict', 'true')").await;
    let done = look_after(&db, &mut s, "5 minutes").await;
    assert_eq!((done.started, done.skipped), (2, 1));
    assert_eq!(slots(&c, "a").await, ["5 running", "10 planned"]);
    assert_eq!(slots(&c, "b").await, ["5 skipped refused kind_unknown", "10 planned"]);
    assert_eq!(slots(&c, "c").await, ["5 running", "10 planned"]);

    run(&c, "select tenure.gate_set('queue.job_substrate.enabled', 'closed')").await;
    let done = look_after(&db, &mut s, "5 minutes").await;
    assert_eq!((done.started, done.skipped, done.planned), (0, 3, 3));
    assert_eq!(
        slots(&c, "b").await,
        [
            "5 skipped refused kind_unknown",
            "10 skipped refused gate_closed",
            "15 planned"
        ]
    );
    assert_eq!(
        slots(&c, "a").await[1],
        "10 skipped overlap",
        "nobody asks the gate for what does not run anyway"
    );
    let told = events(&c, "schedule.slot_skipped").await;
    assert_eq!((told.len(), &told[0]["error_code"]), (4, &json!("kind_unknown")));
    run(&c, "select tenure.gate_set('queue.job_substrate.enabled', 'open')").await;
    look_after(&db, &mut s, "5 minutes").await;
    assert_eq!(slots(&c, "b").await[2], "15 skipped refused kind_unknown");
}

#[tokio::test]
async fn a_key_that_somebody_took_is_a_refusal_of_that_slot_alone() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *"})).await;
    schedule(&c, "b", json!({"cron": "*/5 * * * *"})).await;
    look(&mut s).await;
    let taken: String = get(&c, "select 'slot ' || min(slot_id) from tenure.planned_slots", &[]).await;
    one(&c, "select tenure.job_enqueue('report', p_key => $1)", &[&taken]).await;
    let done = look_after(&db, &mut s, "5 minutes").await;
    assert_eq!((done.started, done.skipped), (1, 1));
    let all = [slots(&c, "a").await[0].clone(), slots(&c, "b").await[0].clone()];
    assert!(
        all.contains(&"5 skipped refused key_taken".to_owned()) && all.contains(&"5 running".to_owned()),
        "{all:?}"
    );
}

#[tokio::test]
async fn slots_of_a_paused_schedule_are_skipped_as_they_come_and_run_now_runs() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *"})).await;
    look(&mut s).await;
    run(&c, "select tenure.schedule_pause('a', 'an audit')").await;
    look_after(&db, &mut s, "5 minutes").await;
    assert_eq!(slots(&c, "a").await, ["5 skipped paused", "10 planned"]);
    let why: String = slot(&c, "skipped", "error_message").await;
    assert!(why.contains("an audit"), "{why}");
    db.advance("1 minute").await;
    let ran = one(&c, "select tenure.schedule_run('a')", &[]).await;
    assert_eq!(
        (&ran["state"], &ran["origin"], &ran["schedule"]),
        (&json!("running"), &json!("manual"), &json!("a")),
        "{ran}"
    );
    assert_eq!(
        slots(&c, "a").await,
        ["5 skipped paused", "6 running manual", "10 planned"]
    );
    verb(&c, "job_complete", &begin(&c).await, "").await;
    run(&c, "select tenure.schedule_resume('a')").await;
    look_after(&db, &mut s, "4 minutes").await;
    assert_eq!(
        slots(&c, "a").await[2],
        "10 running",
        "what was skipped stays so, and it goes on"
    );
}

#[tokio::test]
async fn run_now_takes_a_moment_of_its_own_and_obeys_the_overlap() {
    let (_db, c) = on_the_hour().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *", "overlap": "allow"})).await;
    let mut moments = std::collections::BTreeSet::new();
    for _ in 0..5 {
        let ran = one(&c, "select tenure.schedule_run('a')", &[]).await;
        assert_eq!(ran["state"], "running", "{ran}");
        moments.insert(ran["plan_time"].as_str().expect("a moment").to_owned());
    }
    assert_eq!((moments.len(), jobs(&c).await), (5, 5));
    schedule(&c, "b", json!({"cron": "*/5 * * * *"})).await;
    run(&c, "select tenure.schedule_run('b')").await;
    let second = one(&c, "select tenure.schedule_run('b')", &[]).await;
    assert_eq!(
        (&second["state"], &second["skip_reason"]),
        (&json!("skipped"), &json!("overlap")),
        "{second}"
    );
    run(&c, "select tenure.gate_set('queue.job_substrate.enabled', 'closed')").await;
    let closed = one(&c, "select tenure.schedule_run('b')", &[]).await;
    assert_eq!(closed["code"], "gate_closed");
}

/// A run by hand has a moment that no rule can name, so a burst of them takes none of the moments to come.
#[tokio::test]
async fn a_burst_of_runs_by_hand_takes_no_slot_of_the_rule() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"every_seconds": 10, "overlap": "allow"})).await;
    look(&mut s).await;
    // Many at one moment: the clock of a transaction that asks for all of them.
    let asked = one(
        &c,
        "select jsonb_agg(tenure.schedule_run('a')) from generate_series(1, 70)",
        &[],
    )
    .await;
    let asked = asked.as_array().expect("answers");
    assert!(asked.iter().all(|ran| ran["state"] == "running"), "{asked:?}");
    let distinct = "select count(distinct plan_time) from tenure.planned_slots where origin = 'manual'
                       and plan_time <= tenure.now() + interval '1 second' and plan_time <> date_trunc('second', plan_time)";
    assert_eq!(
        get::<i64>(&c, distinct, &[]).await,
        70,
        "each stands for the moment it was asked for"
    );
    for round in 1..=4 {
        let done = look_after(&db, &mut s, "10 seconds").await;
        assert_eq!(
            (done.planned, done.started),
            (1, 1),
            "slot {round} of the rule: {done:?}"
        );
    }
    let own = "select count(*) from tenure.planned_slots where origin = 'rule' and state = 'running'";
    assert_eq!(get::<i64>(&c, own, &[]).await, 4);
}

/// A question about the second of a run by hand finds that run; a slot of the rule in the same second comes first.
#[tokio::test]
async fn a_run_by_hand_in_the_second_of_a_slot_leaves_the_slot_to_the_rule() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"every_seconds": 10, "overlap": "allow"})).await;
    // No scheduler has looked, and the clock stands within the second of the next slot.
    run(
        &c,
        "update fixture.clock set shift = shift + (to_timestamp(ceil(extract(epoch from tenure.now()) / 10) * 10) - tenure.now())",
    )
    .await;
    let ran = one(&c, "select tenure.schedule_run('a')", &[]).await;
    assert_eq!(ran["origin"], "manual", "{ran}");
    let second = "date_trunc('second', (select plan_time from tenure.planned_slots where origin = 'manual'))";
    let shown = format!("select x.origin from tenure.schedule_at('a', {second}) x");
    assert_eq!(get::<String>(&c, &shown, &[]).await, "manual");
    look(&mut s).await;
    assert_eq!(
        get::<String>(&c, &shown, &[]).await,
        "rule",
        "the slot of the rule runs too"
    );
    assert_eq!(jobs(&c).await, 2);
}

/// The next moment of the rule may have a row already, made by hand; the schedule goes on after it all the same.
#[tokio::test]
async fn a_run_by_hand_at_a_moment_of_the_rule_does_not_end_the_schedule() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"every_seconds": 10})).await;
    run(&c, "select tenure.schedule_run('a')").await;
    // As if it had been asked for in the very second of the next slot, before the scheduler planned that.
    run(
        &c,
        "update tenure.planned_slots set plan_time = to_timestamp(ceil(extract(epoch from tenure.now()) / 10) * 10)",
    )
    .await;
    look(&mut s).await;
    verb(&c, "job_complete", &begin(&c).await, "").await;
    assert!(events(&c, "schedule.ended").await.is_empty());
    let done = look_after(&db, &mut s, "10 seconds").await;
    assert_eq!(done.planned, 1, "{done:?}");
    let shown = one(&c, "select to_jsonb(x) from tenure.schedule_show('a') x", &[]).await;
    assert_eq!(shown["state"], "active");
}

/// Proves: S238.
#[tokio::test]
async fn jitter_is_the_same_for_everybody_and_stays_below_the_next_slot() {
    let (_db, c) = on_the_hour().await;
    let mut s = _db.client().await;
    schedule(&c, "wide", json!({"every_seconds": 60, "jitter_seconds": 59})).await;
    // Two slots a minute apart, then none for a day: the jitter that was asked for is longer than the first gap.
    run(&c, "select tenure.schedule_create('narrow', '{\"kind\": \"report\", \"cron\": \"0,1 0 * * *\", \"jitter_seconds\": 3600}')").await;
    let sql = "select bool_and(tenure.slot_jitter(7, to_timestamp(n * 60), 59) between 0 and 59),
                      count(distinct tenure.slot_jitter(7, to_timestamp(n * 60), 59)),
                      bool_and(tenure.slot_jitter(7, to_timestamp(n * 60), 59) = tenure.slot_jitter(7, to_timestamp(n * 60), 59)),
                      bool_and(tenure.slot_jitter(7, to_timestamp(n * 60), 0) = 0)
                 from generate_series(1, 1000) n";
    let found = rows(&c, sql, &[]).await.remove(0);
    assert!(found.get::<_, bool>(0) && found.get::<_, bool>(2) && found.get::<_, bool>(3));
    assert!(found.get::<_, i64>(1) > 50, "spread over all of it");
    look(&mut s).await;
    let within: bool = get(
        &c,
        "select bool_and(p.due_at >= p.plan_time and p.due_at < p.plan_time + interval '60 s') and count(*) = 2
           from tenure.planned_slots p join tenure.schedules s on s.schedule_id = p.schedule_id and (s.name = 'wide' or extract(minute from p.plan_time) = 0)",
        &[],
    )
    .await;
    assert!(within);
}

#[tokio::test]
async fn a_jittered_slot_starts_at_its_own_moment_and_keeps_its_plan_time() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/30 * * * *", "jitter_seconds": 1700})).await;
    look(&mut s).await;
    run(&c, "update tenure.planned_slots set due_at = plan_time + interval '10 minutes'; update tenure.schedules set next_at = next_at + interval '1 hour'").await;
    run(
        &c,
        "update tenure.schedules set next_at = (select due_at from tenure.planned_slots)",
    )
    .await;
    look_after(&db, &mut s, "35 minutes").await;
    assert_eq!(slots(&c, "a").await, ["30 planned"]);
    look_after(&db, &mut s, "5 minutes").await;
    assert_eq!(slots(&c, "a").await, ["30 running", "60 planned"]);
}

#[tokio::test]
async fn a_schedule_has_slots_from_its_start_to_its_end_and_then_is_over() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    let (start, end): (String, String) = (
        get(&c, "select to_char((date_trunc('hour', tenure.now()) + interval '20 minutes') at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')", &[]).await,
        get(&c, "select to_char((date_trunc('hour', tenure.now()) + interval '30 minutes') at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')", &[]).await,
    );
    schedule(
        &c,
        "a",
        json!({"cron": "*/5 * * * *", "start_at": start, "end_at": end, "overlap": "allow"}),
    )
    .await;
    schedule(
        &c,
        "over",
        json!({"cron": "*/5 * * * *", "end_at": "2020-01-01T00:00:00Z"}),
    )
    .await;
    look(&mut s).await;
    assert_eq!(slots(&c, "a").await, ["20 planned"]);
    for _ in 0..6 {
        look_after(&db, &mut s, "5 minutes").await;
    }
    assert_eq!(slots(&c, "a").await, ["20 running", "25 running", "30 running"]);
    for name in ["a", "over"] {
        let shown = one(&c, "select to_jsonb(x) from tenure.schedule_show($1) x", &[&name]).await;
        assert_eq!((&shown["state"], &shown["next_slot"]), (&json!("ended"), &Value::Null));
    }
    let told: Vec<Value> = events(&c, "schedule.ended")
        .await
        .into_iter()
        .map(|it| it["subject"].clone())
        .collect();
    assert_eq!(told, ["over", "a"]);
    run(&c, "select tenure.schedule_update('a', '{\"end_at\": null}')").await;
    look(&mut s).await;
    assert_eq!(slots(&c, "a").await[3], "35 planned", "a change brings it back");
}

/// A rule that got past everybody, because it was written by hand, is told of; the other schedules go on.
#[tokio::test]
async fn a_rule_that_cannot_be_computed_fails_alone() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *", "zone": "Mars/Base"})).await;
    schedule(&c, "b", json!({"cron": "*/5 * * * *"})).await;
    let done = look(&mut s).await;
    assert_eq!((done.failing, done.planned), (1, 1));
    let shown = one(&c, "select to_jsonb(x) from tenure.schedule_show('a') x", &[]).await;
    assert_eq!(
        (&shown["state"], &shown["error_code"]),
        (&json!("failing"), &json!("zone_unknown"))
    );
    look_after(&db, &mut s, "10 minutes").await;
    assert_eq!(slots(&c, "b").await[0], "5 skipped missed_window for 1");
    assert_eq!(events(&c, "schedule.failing").await.len(), 1, "told once");
    run(
        &c,
        "select tenure.schedule_update('a', '{\"zone\": \"Europe/Berlin\"}')",
    )
    .await;
    look(&mut s).await;
    let shown = one(&c, "select to_jsonb(x) from tenure.schedule_show('a') x", &[]).await;
    assert_eq!(
        (&shown["state"], &shown["error_code"]),
        (&json!("active"), &Value::Null)
    );
    assert_eq!(slots(&c, "a").await, ["15 planned"]);
}
