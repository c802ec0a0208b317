//! Slots that are due while another run of their schedule is under way.

use serde_json::json;
use tenure::schedules::plan;
use tenure::store::for_every_tenant;
use tenure::store::schedules::{schedule_advance, schedule_take};

use crate::fixture::{get, one, rows, run, verb};
use crate::schedules_scene::{begin, events, jobs, look, look_after, on_the_hour, schedule, slot, slots};

#[tokio::test]
async fn skip_leaves_a_row_that_names_the_run_in_the_way() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *", "overlap": "skip"})).await;
    look(&mut s).await;
    look_after(&db, &mut s, "5 minutes").await;
    let held = begin(&c).await;
    let done = look_after(&db, &mut s, "5 minutes").await;
    assert_eq!((done.started, done.skipped), (0, 1));
    assert_eq!(slots(&c, "a").await, ["5 running", "10 skipped overlap", "15 planned"]);
    let why: String = slot(&c, "skipped", "error_message").await;
    assert!(why.contains(&held.job_id.to_string()), "{why}");
    assert_eq!(events(&c, "schedule.slot_skipped").await[0]["reason"], "overlap");
    verb(&c, "job_complete", &held, "").await;
    look_after(&db, &mut s, "5 minutes").await;
    assert_eq!(slots(&c, "a").await[2], "15 running");
}

#[tokio::test]
async fn queue_runs_one_after_the_other_in_their_order() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *", "overlap": "queue"})).await;
    look(&mut s).await;
    for _ in 0..3 {
        look_after(&db, &mut s, "5 minutes").await;
    }
    assert_eq!(
        slots(&c, "a").await,
        ["5 running", "10 planned waits", "15 planned waits", "20 planned"]
    );
    let shown = one(&c, "select to_jsonb(x) from tenure.schedule_show('a') x", &[]).await;
    assert_eq!((&shown["running"], &shown["waiting"]), (&json!(1), &json!(2)));
    verb(&c, "job_complete", &begin(&c).await, "").await;
    assert_eq!(look(&mut s).await.started, 1, "the end of a run is seen at once");
    assert_eq!(
        slots(&c, "a").await,
        ["5 succeeded", "10 running", "15 planned waits", "20 planned"]
    );
    one(
        &c,
        "select tenure.job_cancel($1, 'no longer')",
        &[&crate::schedules_scene::job_of(&c, "a", 10).await],
    )
    .await;
    look(&mut s).await;
    assert_eq!(
        slots(&c, "a").await,
        ["5 succeeded", "10 cancelled cancelled", "15 running", "20 planned"]
    );
    assert_eq!(look(&mut s).await, Default::default());
}

/// However many come, a bounded number waits; the others are skipped, each with its row.
#[tokio::test]
async fn no_more_than_a_hundred_slots_wait() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"every_seconds": 10, "overlap": "queue"})).await;
    look(&mut s).await;
    for _ in 0..104 {
        look_after(&db, &mut s, "10 seconds").await;
    }
    let sql = "select count(*) filter (where state = 'running'), count(*) filter (where waiting_since is not null),
                      count(*) filter (where state = 'skipped'), count(*) filter (where state = 'planned' and waiting_since is null),
                      max(plan_time) filter (where waiting_since is not null) < min(plan_time) filter (where state = 'skipped')
                 from tenure.planned_slots";
    let found = rows(&c, sql, &[]).await.remove(0);
    let counts: Vec<i64> = (0..4).map(|column| found.get(column)).collect();
    assert_eq!(
        [counts[0], counts[1], counts[3]],
        [1, 100, 1],
        "running, waiting, planned"
    );
    // Time passes while this runs: there may be more of them, and one may be superseded by the next.
    assert!(counts[2] >= 3, "{} skipped", counts[2]);
    assert!(found.get::<_, bool>(4), "and those that came first wait");
}

#[tokio::test]
async fn cancel_other_takes_back_a_run_that_waits_and_asks_one_that_is_held() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *", "overlap": "cancel_other"})).await;
    look(&mut s).await;
    look_after(&db, &mut s, "5 minutes").await;
    look_after(&db, &mut s, "5 minutes").await;
    assert_eq!(
        slots(&c, "a").await,
        ["5 cancelled cancelled", "10 planned waits", "15 planned"],
        "nobody had claimed it"
    );
    look(&mut s).await;
    assert_eq!(
        slots(&c, "a").await,
        ["5 cancelled cancelled", "10 running", "15 planned"]
    );
    let why: String = slot(&c, "cancelled", "error_message").await;
    assert!(why.contains("Another slot"), "{why}");

    let held = begin(&c).await;
    look_after(&db, &mut s, "5 minutes").await;
    assert_eq!(
        slots(&c, "a").await[1..],
        ["10 running", "15 planned waits", "20 planned"],
        "it is asked, and waited for"
    );
    let asked: bool = get(&c, "select cancel_requested_at is not null from tenure.active", &[]).await;
    assert!(asked);
    look_after(&db, &mut s, "5 minutes").await;
    assert_eq!(
        slots(&c, "a").await[1..],
        ["10 running", "15 skipped overlap", "20 planned waits", "25 planned"],
        "only the latest waits"
    );
    assert_eq!(jobs(&c).await, 2, "none starts before the other has ended");
    assert_eq!(events(&c, "job.cancel_requested").await.len(), 1, "it is asked once");
    verb(&c, "job_acknowledge_cancel", &held, "").await;
    look(&mut s).await;
    assert_eq!(
        slots(&c, "a").await[1..],
        [
            "10 cancelled cancelled",
            "15 skipped overlap",
            "20 running",
            "25 planned"
        ]
    );
}

#[tokio::test]
async fn allow_runs_them_beside_each_other_and_lets_go_all_that_waited_before() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *", "overlap": "queue"})).await;
    look(&mut s).await;
    for _ in 0..3 {
        look_after(&db, &mut s, "5 minutes").await;
    }
    assert_eq!(
        slots(&c, "a").await,
        ["5 running", "10 planned waits", "15 planned waits", "20 planned"]
    );
    run(&c, "select tenure.schedule_update('a', '{\"overlap\": \"allow\"}')").await;
    look(&mut s).await;
    assert_eq!(
        slots(&c, "a").await,
        ["5 running", "10 running", "15 running", "20 planned"]
    );
    look_after(&db, &mut s, "5 minutes").await;
    assert_eq!(slots(&c, "a").await[3], "20 running");
    assert_eq!(jobs(&c).await, 4);
}

#[tokio::test]
async fn slots_filled_in_wait_where_others_would_be_skipped() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *", "overlap": "skip"})).await;
    look(&mut s).await;
    look_after(&db, &mut s, "5 minutes").await;
    let held = begin(&c).await;
    let past = "select date_trunc('hour', tenure.now()) - n * interval '5 minutes' from generate_series(1, 2) n";
    let fill = format!("select verdict, state from tenure.schedule_backfill('a', array({past}), 'apply')");
    let filled: Vec<(String, String)> = rows(&c, &fill, &[])
        .await
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect();
    assert_eq!(filled, vec![("runs".to_owned(), "planned".to_owned()); 2]);
    look(&mut s).await;
    assert_eq!(
        slots(&c, "a").await,
        [
            "-10 planned backfill waits",
            "-5 planned backfill waits",
            "5 running",
            "10 planned"
        ]
    );
    verb(&c, "job_complete", &held, "").await;
    look(&mut s).await;
    assert_eq!(
        slots(&c, "a").await[..2],
        ["-10 running backfill", "-5 planned backfill waits"]
    );
    verb(&c, "job_complete", &begin(&c).await, "").await;
    look(&mut s).await;
    assert_eq!(
        slots(&c, "a").await[..2],
        ["-10 succeeded backfill", "-5 running backfill"]
    );
    let origin: String = get(
        &c,
        "select origin -> 'slot' ->> 'origin' from tenure.jobs order by job_id desc limit 1",
        &[],
    )
    .await;
    assert_eq!(origin, "backfill");
}

/// The look does not see the end, the end does not see the look: the slot that waits is started by the next look all the same.
#[tokio::test]
async fn a_slot_that_waits_is_started_however_the_end_and_the_look_meet() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    let a = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *", "overlap": "queue"})).await;
    look(&mut s).await;
    look_after(&db, &mut s, "5 minutes").await;
    let held = begin(&c).await;
    run(&a, "begin").await;
    verb(&a, "job_complete", &held, "").await;
    let done = look_after(&db, &mut s, "5 minutes").await;
    assert_eq!((done.waiting, done.started), (1, 0), "the end is not seen yet");
    run(&a, "commit").await;
    assert_eq!(look(&mut s).await.started, 1, "and then it is");
    assert_eq!(slots(&c, "a").await, ["5 succeeded", "10 running", "15 planned"]);

    let held = begin(&c).await;
    db.advance("5 minutes").await;
    let under_way = s.transaction().await.expect("a transaction");
    for_every_tenant(&under_way).await.expect("every tenant");
    let taken = schedule_take(&under_way, 10).await.expect("what is due");
    let plans: Vec<_> = taken.iter().map(plan).collect();
    let done = schedule_advance(&under_way, &plans).await.expect("a look");
    assert_eq!((done.waiting, done.started), (1, 0));
    verb(&c, "job_complete", &held, "").await;
    under_way.commit().await.expect("commit");
    assert_eq!(look(&mut s).await.started, 1);
    assert_eq!(slots(&c, "a").await[2..], ["15 running", "20 planned"]);
}

/// Where the first is refused nothing runs, and nobody has to wait for the end of a run.
#[tokio::test]
async fn slots_behind_one_that_was_refused_have_their_turn_at_once() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    let more = json!({"cron": "*/5 * * * *", "overlap": "queue", "catch_up": "every_plan"});
    schedule(&c, "a", more).await;
    look(&mut s).await;
    run(&c, "select tenure.config_set('queue.kind.strict', 'true')").await;
    look_after(&db, &mut s, "15 minutes").await;
    look(&mut s).await;
    look(&mut s).await;
    let refused = |minutes: i32| format!("{minutes} skipped refused kind_unknown");
    assert_eq!(
        slots(&c, "a").await,
        [refused(5), refused(10), refused(15), "20 planned".to_owned()]
    );
}

/// A run by hand does not start what the scheduler has not looked at: how late that is, is for the policy.
#[tokio::test]
async fn a_run_by_hand_runs_itself_and_not_a_late_slot() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *", "catch_up": "none"})).await;
    look(&mut s).await;
    db.advance("6 hours 2 minutes").await;
    let ran = one(&c, "select tenure.schedule_run('a')", &[]).await;
    assert_eq!(
        (&ran["state"], &ran["origin"]),
        (&json!("running"), &json!("manual")),
        "{ran}"
    );
    assert_eq!(slots(&c, "a").await, ["5 planned", "362 running manual"]);
    look(&mut s).await;
    assert_eq!(
        slots(&c, "a").await,
        ["5 skipped missed_window for 72", "362 running manual", "365 planned"]
    );
}
