//! Slots that nobody saw in time: the policy's answer, and never a flood. And slots of the past that are filled in.

use serde_json::{Value, json};
use tenure::operations::Perform;
use tenure::schedules::{BackfillMode, BackfillVerdict, BackfilledSlot};
use tenure::store::Timestamp;
use tenure_api::schedules::ScheduleBackfill;
use tokio_postgres::Client;

use crate::fixture::{Db, get, one, raised, rows, run, try_rows, verb};
use crate::schedules_scene::{begin, events, jobs, look, look_after, on_the_hour, schedule, slots};

/// A backfill of the schedule `a`.
async fn backfill(
    c: &Client,
    (from, until): (Timestamp, Timestamp),
    mode: BackfillMode,
    stagger_seconds: i32,
) -> tenure::Result<Vec<BackfilledSlot>> {
    let backfill = ScheduleBackfill {
        name: "a".to_owned(),
        from,
        until,
        mode,
        stagger_seconds,
        on_behalf_of: None,
    };
    Ok(backfill.perform(c).await?.items)
}

/// A schedule every five minutes whose first slot has run, and nobody looks after that.
async fn alone(more: Value) -> (Db, Client, Client) {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    let mut spec = json!({"cron": "*/5 * * * *"});
    for (field, value) in more.as_object().expect("an object") {
        spec[field] = value.clone();
    }
    schedule(&c, "a", spec).await;
    look(&mut s).await;
    look_after(&db, &mut s, "5 minutes").await;
    let executor = more["executor"].as_str().unwrap_or("external_worker");
    let arguments = format!(", '{executor}', p_mode => 'started'");
    let held = crate::fixture::claim_with(&c, "w", &arguments).await;
    verb(&c, "job_complete", &held[0], "").await;
    (db, c, s)
}

/// Proves: S237, S250.
#[tokio::test]
async fn after_six_hours_without_a_scheduler_the_latest_slot_runs_and_one_row_stands_for_the_others() {
    let (db, c, mut s) = alone(json!({"catch_up": "latest_only"})).await;
    let before: i64 = get(&c, "select count(*) from tenure.planned_slots", &[]).await;
    let done = look_after(&db, &mut s, "6 hours").await;
    assert_eq!((done.missed, done.started, done.planned), (71, 1, 1), "{done:?}");
    assert_eq!(
        slots(&c, "a").await,
        [
            "5 succeeded",
            "10 skipped missed_window for 71",
            "365 running",
            "370 planned"
        ]
    );
    let late: i64 = get(
        &c,
        "select count(*) from tenure.planned_slots where plan_time <= tenure.now()",
        &[],
    )
    .await;
    assert_eq!((before, late), (2, 3), "one row is new, not 72");
    assert_eq!(jobs(&c).await, 2);
    let until: bool = get(
        &c,
        "select missed_until = plan_time + interval '350 minutes' from tenure.planned_slots where missed is not null",
        &[],
    )
    .await;
    assert!(until, "it says how far");
    assert_eq!(events(&c, "schedule.slot_skipped").await[0]["missed"], 71);
    assert_eq!(look(&mut s).await, Default::default(), "and that is all");
}

#[tokio::test]
async fn a_slot_that_is_only_late_runs() {
    let (db, c, mut s) = alone(json!({"catch_up": "latest_only"})).await;
    look_after(&db, &mut s, "9 minutes").await;
    assert_eq!(slots(&c, "a").await, ["5 succeeded", "10 running", "15 planned"]);
}

/// Proves: S250.
#[tokio::test]
async fn every_plan_runs_what_lies_within_its_window_a_few_at_a_time() {
    let more =
        json!({"catch_up": "every_plan", "overlap": "allow", "catch_up_window_seconds": 3600, "catch_up_slots_max": 5});
    let (db, c, mut s) = alone(more).await;
    db.advance("6 hours").await;
    let mut started = Vec::new();
    for _ in 0..4 {
        started.push(look(&mut s).await.started);
    }
    assert_eq!(started, [5, 5, 2, 0]);
    let found = slots(&c, "a").await;
    assert_eq!(
        found[..3],
        ["5 succeeded", "10 skipped missed_window for 60", "310 running"]
    );
    assert_eq!(found[13..], ["365 running", "370 planned"]);
    assert_eq!((found.len(), jobs(&c).await), (15, 13));
}

#[tokio::test]
async fn every_plan_runs_also_the_slot_that_had_been_planned() {
    let more = json!({"catch_up": "every_plan", "overlap": "allow"});
    let (db, c, mut s) = alone(more).await;
    look_after(&db, &mut s, "20 minutes").await;
    assert_eq!(
        slots(&c, "a").await,
        [
            "5 succeeded",
            "10 running",
            "15 running",
            "20 running",
            "25 running",
            "30 planned"
        ]
    );
}

#[tokio::test]
async fn a_schedule_that_catches_nothing_up_goes_on_with_the_next_slot() {
    for more in [json!({"catch_up": "none"}), json!({"executor": "Hermes"})] {
        let (db, c, mut s) = alone(more).await;
        let done = look_after(&db, &mut s, "6 hours 2 minutes").await;
        assert_eq!((done.missed, done.started), (72, 0), "{done:?}");
        assert_eq!(
            slots(&c, "a").await,
            ["5 succeeded", "10 skipped missed_window for 72", "370 planned"]
        );
        look_after(&db, &mut s, "190 seconds").await;
        assert_eq!(slots(&c, "a").await[2], "370 running", "a few seconds are not late");
    }
}

#[tokio::test]
async fn a_single_slot_that_is_late_is_missed_where_nothing_is_caught_up() {
    let (db, c, mut s) = alone(json!({"catch_up": "none"})).await;
    look_after(&db, &mut s, "7 minutes").await;
    assert_eq!(
        slots(&c, "a").await,
        ["5 succeeded", "10 skipped missed_window for 1", "15 planned"]
    );
    run(&c, "select tenure.config_set('schedules.grace_seconds', '600')").await;
    look_after(&db, &mut s, "6 minutes").await;
    assert_eq!(slots(&c, "a").await[2], "15 running", "late is what the setting says");
}

#[tokio::test]
async fn what_nobody_saw_while_it_was_paused_was_paused() {
    let (db, c, mut s) = alone(json!({"catch_up": "every_plan"})).await;
    run(&c, "select tenure.schedule_pause('a', 'an audit')").await;
    let done = look_after(&db, &mut s, "6 hours").await;
    assert_eq!((done.missed, done.started), (0, 0), "{done:?}");
    assert_eq!(
        slots(&c, "a").await,
        [
            "5 succeeded",
            "10 skipped paused",
            "15 skipped paused for 71",
            "370 planned"
        ]
    );
    assert_eq!(jobs(&c).await, 1);
}

/// Whoever asks about a moment of the six hours is answered by the row that stands for it.
#[tokio::test]
async fn a_backfill_runs_what_was_missed_dry_first_and_staggered() {
    let (db, c, mut s) = alone(json!({"catch_up": "latest_only"})).await;
    look_after(&db, &mut s, "6 hours").await;
    verb(&c, "job_complete", &begin(&c).await, "").await;
    let range: (Timestamp, Timestamp) = (
        get(
            &c,
            "select date_trunc('hour', created_at) + interval '1 minute' from tenure.schedules",
            &[],
        )
        .await,
        get(
            &c,
            "select date_trunc('hour', created_at) + interval '20 minutes' from tenure.schedules",
            &[],
        )
        .await,
    );
    let before = slots(&c, "a").await;
    let dry = backfill(&c, range, BackfillMode::DryRun, 60).await.expect("a dry run");
    let verdicts: Vec<&str> = dry.iter().map(|it| it.verdict.as_str()).collect();
    assert_eq!(verdicts, ["stands", "runs", "runs", "runs"], "{dry:?}");
    assert_eq!(slots(&c, "a").await, before, "a dry run changes nothing");
    let done = backfill(&c, range, BackfillMode::Apply, 60).await.expect("a backfill");
    assert_eq!(done.len(), 4);
    look(&mut s).await;
    assert_eq!(
        slots(&c, "a").await[..4],
        [
            "5 succeeded",
            "10 running backfill for 71",
            "15 planned backfill",
            "20 planned backfill"
        ],
        "one now, the others later"
    );
    verb(&c, "job_complete", &begin(&c).await, "").await;
    look_after(&db, &mut s, "1 minute").await;
    assert_eq!(
        slots(&c, "a").await[2..4],
        ["15 running backfill", "20 planned backfill"]
    );
    let told = events(&c, "schedule.backfilled").await;
    assert_eq!((told.len(), &told[0]["slots"]), (1, &json!(3)));

    let again = backfill(&c, range, BackfillMode::Apply, 0)
        .await
        .expect("nothing to do");
    assert!(
        again.iter().all(|it| it.verdict == BackfillVerdict::Stands),
        "{again:?}"
    );
}

/// The kind may have another executor since its schedule was made: a dry run does not make the lane for it.
#[tokio::test]
async fn a_dry_run_of_a_backfill_makes_no_lane() {
    let (_db, c) = on_the_hour().await;
    let spec = json!({"every_seconds": 60, "kind": "moved"});
    one(&c, "select tenure.schedule_create('m', $1)", &[&spec]).await;
    let policy = "select tenure.kind_set('moved', jsonb_build_object('executor', (
        select min(e.name) from tenure.executors e where e.role = 'executor' and e.name <> 'external_worker')))";
    one(&c, policy, &[]).await;
    let lanes = "select count(*) from tenure.lanes where kind = 'moved'";
    let backfill = "select count(*) from tenure.schedule_backfill('m', array[date_trunc('minute', tenure.now()) - interval '1 hour'], $1)";
    assert_eq!(get::<i64>(&c, backfill, &[&"dry_run"]).await, 1);
    assert_eq!(get::<i64>(&c, lanes, &[]).await, 1);
    assert_eq!(get::<i64>(&c, backfill, &[&"apply"]).await, 1);
    assert_eq!(get::<i64>(&c, lanes, &[]).await, 2);
}

#[tokio::test]
async fn a_backfill_is_bounded_and_of_the_past() {
    let (_db, c) = on_the_hour().await;
    schedule(&c, "a", json!({"every_seconds": 60})).await;
    let now: Timestamp = get(&c, "select tenure.now()", &[]).await;
    let at = |seconds: i64| Timestamp::from_micros(now.micros() + seconds * 1_000_000);
    for (range, code) in [
        ((at(-86_400), at(-10)), "backfill_too_large"),
        ((at(-10), at(3600)), "range_invalid"),
        ((at(-10), at(-20)), "range_invalid"),
    ] {
        let error = backfill(&c, range, BackfillMode::Apply, 0).await.expect_err(code);
        assert_eq!(error.refusal().code.to_string(), code);
    }
    for (arguments, code) in [
        (
            "array(select tenure.now() - n * interval '1 s' from generate_series(1, 1001) n)",
            "backfill_too_large",
        ),
        ("'{}'", "backfill_too_large"),
        ("null", "backfill_too_large"),
        (
            "array[date_trunc('minute', tenure.now()) + interval '1 day']",
            "range_invalid",
        ),
        (
            "array[date_trunc('minute', tenure.now()) - interval '1 microsecond']",
            "range_invalid",
        ),
        ("array['-infinity'::timestamptz]", "range_invalid"),
        ("array[null::timestamptz]", "range_invalid"),
        ("array[date_trunc('minute', tenure.now())], 'now'", "value_unknown"),
        (
            "array[date_trunc('minute', tenure.now())], 'apply', -1",
            "number_out_of_range",
        ),
    ] {
        raised(
            try_rows(&c, &format!("select tenure.schedule_backfill('a', {arguments})"), &[]).await,
            code,
        );
    }
    raised(
        try_rows(
            &c,
            "select tenure.schedule_backfill('b', array[date_trunc('minute', tenure.now())])",
            &[],
        )
        .await,
        "schedule_unknown",
    );
    let none: i64 = get(&c, "select count(*) from tenure.planned_slots", &[]).await;
    assert_eq!(none, 0);
    let twice = "select plan_time from tenure.schedule_backfill('a', array_fill(date_trunc('minute', tenure.now()), array[3]), 'apply')";
    assert_eq!(rows(&c, twice, &[]).await.len(), 1, "a moment has one slot");
    one(&c, "select tenure.schedule_pause('a')", &[]).await;
}
