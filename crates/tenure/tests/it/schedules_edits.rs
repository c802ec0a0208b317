//! Schedules that are changed, deleted or swept while something is under way.

use serde_json::json;
use tenure::store::for_every_tenant;
use tenure::store::schedules::slot_sweep;

use crate::fixture::{get, one, rows, run, until_blocked, verb};
use crate::schedules_scene::{begin, events, look, look_after, on_the_hour, schedule, slots};

#[tokio::test]
async fn the_overlap_goes_with_the_catch_up_until_somebody_chooses_it() {
    let (_db, c) = on_the_hour().await;
    assert_eq!(schedule(&c, "a", json!({"cron": "* * * * *"})).await["overlap"], "skip");
    let set = async |changes| one(&c, "select tenure.schedule_update('a', $1)", &[&changes]).await["overlap"].clone();
    assert_eq!(set(json!({"catch_up": "every_plan"})).await, "queue");
    assert_eq!(set(json!({"catch_up": "none"})).await, "skip");
    assert_eq!(set(json!({"overlap": "allow"})).await, "allow");
    assert_eq!(set(json!({"catch_up": "every_plan"})).await, "allow");
}

/// A change of the jitter, the end or the scope names no other moments: what is late is still caught up.
#[tokio::test]
async fn a_change_that_moves_no_slot_forgets_none_that_is_late() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    let more = json!({"cron": "*/5 * * * *", "catch_up": "every_plan", "overlap": "allow", "catch_up_slots_max": 3});
    schedule(&c, "a", more).await;
    look(&mut s).await;
    look_after(&db, &mut s, "1 hour").await;
    one(&c, "select tenure.schedule_update('a', '{\"jitter_seconds\": 1}')", &[]).await;
    for _ in 0..4 {
        look(&mut s).await;
    }
    let found = slots(&c, "a").await;
    let ran: Vec<String> = (1..=12).map(|n| format!("{} running", 5 * n)).collect();
    assert_eq!(found[..12], ran, "{found:?}");
}

#[tokio::test]
async fn what_a_change_gives_up_is_told() {
    let (_db, c) = on_the_hour().await;
    let mut s = _db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *"})).await;
    look(&mut s).await;
    one(
        &c,
        "select tenure.schedule_update('a', '{\"cron\": \"*/7 * * * *\"}')",
        &[],
    )
    .await;
    let told = events(&c, "schedule.slot_skipped").await;
    assert_eq!(
        (told.len(), &told[0]["reason"], &told[0]["subject"]),
        (1, &json!("superseded"), &json!("a"))
    );
}

#[tokio::test]
async fn the_end_of_a_rule_is_told_once() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    let end: String = get(&c, "select to_json(tenure.now() + interval '6 minutes') #>> '{}'", &[]).await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *", "end_at": end})).await;
    look(&mut s).await;
    assert_eq!(events(&c, "schedule.ended").await.len(), 0, "a slot is still to come");
    look_after(&db, &mut s, "5 minutes").await;
    assert_eq!(events(&c, "schedule.ended").await.len(), 1);
    verb(&c, "job_complete", &begin(&c).await, "").await;
    one(
        &c,
        "select tenure.schedule_update('a', '{\"description\": \"over\"}')",
        &[],
    )
    .await;
    let times = "array[date_trunc('hour', tenure.now()) - interval '5 minutes']";
    rows(
        &c,
        &format!("select * from tenure.schedule_backfill('a', {times}, 'apply')"),
        &[],
    )
    .await;
    for _ in 0..3 {
        look(&mut s).await;
    }
    assert_eq!(events(&c, "schedule.ended").await.len(), 1);
    assert!(slots(&c, "a").await.contains(&"-5 running backfill".to_owned()));
    let longer = json!({"end_at": null});
    let back = one(&c, "select tenure.schedule_update('a', $1)", &[&longer]).await;
    assert_eq!(back["state"], "active");
    look(&mut s).await;
    assert!(slots(&c, "a").await.contains(&"10 planned".to_owned()));
}

#[tokio::test]
async fn the_slots_of_a_deleted_schedule_are_still_shown() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *"})).await;
    look(&mut s).await;
    look_after(&db, &mut s, "5 minutes").await;
    verb(&c, "job_complete", &begin(&c).await, "").await;
    one(&c, "select tenure.schedule_delete('a')", &[]).await;
    let states = "select state from tenure.schedule_slots('a')";
    let found: Vec<String> = rows(&c, states, &[]).await.iter().map(|row| row.get(0)).collect();
    assert_eq!(found, ["skipped", "succeeded"]);
    schedule(&c, "a", json!({"cron": "*/7 * * * *"})).await;
    assert!(rows(&c, states, &[]).await.is_empty(), "the name is another's now");
}

#[tokio::test]
async fn two_slots_of_one_moment_come_on_one_page() {
    let (_db, c) = on_the_hour().await;
    let mut s = _db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *", "scope_id": "1"})).await;
    look(&mut s).await;
    one(&c, "select tenure.schedule_update('a', '{\"scope_id\": \"2\"}')", &[]).await;
    look(&mut s).await;
    let page = "select scope_id from tenure.schedule_slots('a', p_limit => 1) order by 1";
    let found: Vec<String> = rows(&c, page, &[]).await.iter().map(|row| row.get(0)).collect();
    assert_eq!(found, ["1", "2"]);
}

/// A sweep that waited for a backfill looks again.
#[tokio::test]
async fn a_sweep_takes_nothing_that_was_just_filled_in() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "0 * * * *"})).await;
    one(&c, "select tenure.schedule_pause('a')", &[]).await;
    look(&mut s).await;
    look_after(&db, &mut s, "1 hour").await;
    db.advance("40 days").await;
    let filling = db.client().await;
    run(&filling, "begin").await;
    let times = "array(select plan_time from tenure.planned_slots where skip_reason = 'paused')";
    let backfill = format!("select * from tenure.schedule_backfill('a', {times}, 'apply')");
    rows(&filling, &backfill, &[]).await;
    let mut sweeping = db.client().await;
    let sweep = tokio::spawn(async move {
        let sweep = sweeping.transaction().await.expect("a transaction");
        for_every_tenant(&sweep).await.expect("every tenant");
        let removed = slot_sweep(&sweep, 1000).await.expect("a sweep");
        sweep.commit().await.expect("a commit");
        removed
    });
    until_blocked(&c, "slot_sweep").await;
    run(&filling, "commit").await;
    assert_eq!(sweep.await.expect("the sweep"), 0);
    let planned: i64 = get(
        &c,
        "select count(*) from tenure.planned_slots where origin = 'backfill' and state = 'planned'",
        &[],
    )
    .await;
    assert_eq!(planned, 1);
}

/// An end that holds its job is waited for by nobody; the look tries again.
#[tokio::test]
async fn a_run_that_ends_just_now_makes_no_schedule_fail() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *", "overlap": "cancel_other"})).await;
    look(&mut s).await;
    look_after(&db, &mut s, "5 minutes").await;
    let held = begin(&c).await;
    let ending = db.client().await;
    run(&ending, "begin").await;
    verb(&ending, "job_complete", &held, "").await;
    let done = look_after(&db, &mut s, "5 minutes").await;
    assert_eq!((done.failing, done.waiting), (0, 1));
    assert_eq!(events(&c, "schedule.failing").await.len(), 0);
    run(&ending, "commit").await;
    look(&mut s).await;
    assert_eq!(slots(&c, "a").await, ["5 succeeded", "10 running", "15 planned"]);
}

/// What is in the way of all of them is not waited for once each.
#[tokio::test]
async fn slots_that_meet_a_lock_come_a_little_later() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    for n in 0..20 {
        schedule(&c, &format!("s{n}"), json!({"cron": "*/5 * * * *"})).await;
    }
    look(&mut s).await;
    let other = db.client().await;
    run(&other, "begin; lock table tenure.idempotency in share mode").await;
    let done = look_after(&db, &mut s, "5 minutes").await;
    assert_eq!((done.started, done.skipped, done.failing), (0, 0, 0), "{done:?}");
    // Asking by hand meets the same lock, and is not forgotten either.
    let asked = one(&c, "select tenure.schedule_run('s0')", &[]).await;
    assert_eq!(asked["state"], "planned", "{asked}");
    run(&other, "commit").await;
    let done = look_after(&db, &mut s, "6 seconds").await;
    assert_eq!((done.started, done.failing), (20, 0), "{done:?}");
}

/// What the schedule says of its runs holds for a replay too.
#[tokio::test]
async fn a_replay_runs_under_the_rules_of_its_schedule() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    let more =
        json!({"cron": "*/5 * * * *", "run_timeout_seconds": 77, "backoff_base_seconds": 99, "reentry": "refused"});
    schedule(&c, "a", more).await;
    look(&mut s).await;
    look_after(&db, &mut s, "5 minutes").await;
    verb(&c, "job_fail", &begin(&c).await, ", 'no', 'permanent'").await;
    let letter: uuid::Uuid = get(&c, "select dead_letter_id from tenure.dead_letters", &[]).await;
    one(&c, "select tenure.dead_letter_triage($1, 'manual_replay')", &[&letter]).await;
    one(&c, "select tenure.dead_letter_replay($1)", &[&letter]).await;
    let sql = "select to_jsonb(j) from tenure.jobs j where replay_of is not null";
    let job = one(&c, sql, &[]).await;
    assert_eq!(
        (&job["run_timeout_seconds"], &job["backoff_base_seconds"]),
        (&json!(77), &json!(99))
    );
    assert_eq!(job["on_lost"], "fail");
}
