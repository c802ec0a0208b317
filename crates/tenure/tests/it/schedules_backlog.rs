//! When much is due at once: what waits for room, and who goes first.

use serde_json::json;

use crate::fixture::{get, one, rows, run, verb};
use crate::schedules_scene::{begin, look, look_after, on_the_hour, schedule, slots};

/// A full queue holds the catch-up back; nothing that the window covers is given up.
#[tokio::test]
async fn a_backlog_longer_than_the_queue_is_caught_up_to_its_end() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    let more = json!({"every_seconds": 10, "catch_up": "every_plan", "catch_up_slots_max": 100});
    assert_eq!(schedule(&c, "a", more).await["overlap"], "queue");
    look(&mut s).await;
    look_after(&db, &mut s, "20 minutes").await;
    for _ in 0..3 {
        look(&mut s).await;
    }
    let count = "select count(*) filter (where state = 'skipped'), count(*) filter (where waiting_since is not null) from tenure.planned_slots";
    let found = rows(&c, count, &[]).await.remove(0);
    assert_eq!((found.get::<_, i64>(0), found.get::<_, i64>(1)), (0, 100));
    let rests: bool = get(&c, "select next_at > tenure.now() from tenure.schedules", &[]).await;
    assert!(rests, "nobody looks again and again while there is no room");

    for _ in 0..60 {
        verb(&c, "job_complete", &begin(&c).await, "").await;
        look(&mut s).await;
    }
    let sql = "select count(*) filter (where state = 'succeeded'), count(*) filter (where state = 'skipped'),
                      -- What comes due while this runs is not counted.
                      count(*) filter (where plan_time <= date_trunc('hour', tenure.now()) + interval '20 minutes') from tenure.planned_slots";
    let found = rows(&c, sql, &[]).await.remove(0);
    assert_eq!((found.get::<_, i64>(0), found.get::<_, i64>(1)), (60, 0));
    assert_eq!(
        found.get::<_, i64>(2),
        120,
        "each slot of the twenty minutes has its row"
    );
}

/// A long backfill does not cost the run of tonight.
#[tokio::test]
async fn a_slot_of_the_rule_waits_for_a_run_that_is_filled_in_and_goes_before_the_others() {
    for overlap in ["skip", "cancel_other"] {
        let (db, c) = on_the_hour().await;
        let mut s = db.client().await;
        schedule(&c, "a", json!({"cron": "*/5 * * * *", "overlap": overlap})).await;
        look(&mut s).await;
        let times = "array(select date_trunc('hour', tenure.now()) - make_interval(mins => 5 * n) from generate_series(1, 3) n)";
        rows(
            &c,
            &format!("select * from tenure.schedule_backfill('a', {times}, 'apply')"),
            &[],
        )
        .await;
        look(&mut s).await;
        let held = begin(&c).await;
        look_after(&db, &mut s, "5 minutes").await;
        let found = slots(&c, "a").await;
        assert!(
            found.contains(&"-15 running backfill".to_owned()),
            "{overlap}: {found:?}"
        );
        assert!(found.contains(&"5 planned waits".to_owned()), "{overlap}: {found:?}");
        let asked: i64 = get(
            &c,
            "select count(*) from tenure.active where cancel_requested_at is not null",
            &[],
        )
        .await;
        assert_eq!(asked, 0, "{overlap}: what is filled in is let be");
        verb(&c, "job_complete", &held, "").await;
        look(&mut s).await;
        let found = slots(&c, "a").await;
        assert!(found.contains(&"5 running".to_owned()), "{overlap}: {found:?}");
        assert!(
            found.contains(&"-10 planned backfill waits".to_owned()),
            "{overlap}: {found:?}"
        );
    }
}

#[tokio::test]
async fn a_slot_that_its_jitter_brings_close_to_the_next_is_not_missed_for_that() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    let more = json!({"every_seconds": 60, "jitter_seconds": 59, "overlap": "allow"});
    schedule(&c, "a", more).await;
    look(&mut s).await;
    // Just after the next slot is planned to be, and a second after this one is due.
    run(
        &c,
        "update tenure.planned_slots set due_at = plan_time + interval '59 seconds' where state = 'planned'",
    )
    .await;
    run(
        &c,
        "update tenure.schedules set next_at = (select due_at from tenure.planned_slots)",
    )
    .await;
    run(
        &c,
        "update fixture.clock set shift = shift + ((select plan_time from tenure.planned_slots) + interval '60.5 seconds' - tenure.now())",
    )
    .await;
    look(&mut s).await;
    let found = slots(&c, "a").await;
    assert_eq!(found[0], "1 running", "{found:?}");
    let sql =
        "select p.due_at - p.plan_time = make_interval(secs => tenure.slot_jitter(p.schedule_id, p.plan_time, 59))
                 from tenure.planned_slots p order by p.plan_time offset 1 limit 1";
    assert!(
        get::<bool>(&c, sql, &[]).await,
        "a late slot has the jitter that anybody computes: {found:?}"
    );
}

#[tokio::test]
async fn where_nothing_is_caught_up_the_newest_slot_in_time_runs_and_not_an_older_one() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"every_seconds": 10, "catch_up": "none"})).await;
    look(&mut s).await;
    look_after(&db, &mut s, "40 seconds").await;
    let sql = "select state || coalesce(' ' || skip_reason, '') from tenure.planned_slots order by plan_time";
    let states: Vec<String> = rows(&c, sql, &[]).await.iter().map(|row| row.get(0)).collect();
    assert_eq!(states, ["skipped missed_window", "running", "planned"]);
    let newest: bool = get(
        &c,
        "select plan_time > tenure.now() - interval '10 seconds' from tenure.planned_slots where state = 'running'",
        &[],
    )
    .await;
    assert!(newest);
}

/// Six hours of every ten seconds are counted, not guessed.
#[tokio::test]
async fn all_that_was_missed_is_counted() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"every_seconds": 10})).await;
    look(&mut s).await;
    let done = look_after(&db, &mut s, "6 hours").await;
    assert_eq!(done.missed, 6 * 360 - 1);
    let row = one(
        &c,
        "select to_jsonb(x) from tenure.schedule_slots('a', '{skipped}') x",
        &[],
    )
    .await;
    assert_eq!(row["missed"], 6 * 360 - 1);
}
