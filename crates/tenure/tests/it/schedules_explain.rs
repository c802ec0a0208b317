//! "Why did it not run at 03:00?" and "when does it run next?": one call each.

use serde_json::json;
use tenure::operations::Perform;
use tenure::schedules::{ScheduleExplanation, preview};
use tenure::store::Timestamp;
use tenure_api::schedules::ScheduleExplain;
use tokio_postgres::Client;

use crate::fixture::{get, one, run, verb};
use crate::schedules_scene::{begin, look, look_after, on_the_hour, schedule};

/// The moment so many minutes after the hour in which the schedule was made.
async fn moment(c: &Client, minutes: i32) -> Timestamp {
    let sql = "select date_trunc('hour', created_at) + make_interval(mins => $1) from tenure.schedules limit 1";
    get(c, sql, &[&minutes]).await
}

async fn at(c: &Client, minutes: i32) -> ScheduleExplanation {
    let (name, at) = ("a".to_owned(), moment(c, minutes).await);
    let explain = ScheduleExplain { name, at };
    explain.perform(c).await.expect("an explanation")
}

#[track_caller]
fn says(told: &ScheduleExplanation, verdict: &str, words: &str) {
    assert_eq!(told.verdict.as_str(), verdict, "{}", told.answer);
    assert!(told.answer.contains(words), "{}", told.answer);
}

#[tokio::test]
async fn each_moment_of_a_schedules_life_has_its_answer() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(
        &c,
        "a",
        json!({"cron": "*/5 * * * *", "attempts_max": 1, "overlap": "queue"}),
    )
    .await;
    says(&at(&c, 5).await, "unplanned", "still to come");
    look(&mut s).await;
    says(&at(&c, 5).await, "planned", "starts at");
    says(&at(&c, 10).await, "unplanned", "still to come");
    says(&at(&c, 0).await, "before_schedule", "made later");
    says(&at(&c, 7).await, "no_slot", "nearest before");
    db.advance("5 minutes").await;
    says(&at(&c, 5).await, "planned", "no scheduler has started it");
    look(&mut s).await;
    says(&at(&c, 5).await, "running", "queued");
    let held = begin(&c).await;
    look_after(&db, &mut s, "5 minutes").await;
    says(&at(&c, 5).await, "running", "in_progress");
    says(&at(&c, 10).await, "planned", "waits since");
    verb(&c, "job_fail", &held, ", 'no paper', p_code => 'E7'").await;
    says(&at(&c, 5).await, "failed", "E7. no paper");
    look(&mut s).await;
    verb(&c, "job_complete", &begin(&c).await, "").await;
    says(&at(&c, 10).await, "succeeded", "succeeded");

    run(&c, "select tenure.schedule_update('a', '{\"overlap\": \"skip\"}')").await;
    look_after(&db, &mut s, "5 minutes").await;
    look_after(&db, &mut s, "5 minutes").await;
    says(&at(&c, 20).await, "skipped", "another run of a was under way");
    let job = crate::schedules_scene::job_of(&c, "a", 15).await;
    one(&c, "select tenure.job_cancel($1, 'no longer')", &[&job]).await;
    says(&at(&c, 15).await, "cancelled", "no longer");

    run(&c, "select tenure.schedule_pause('a', 'an audit')").await;
    look_after(&db, &mut s, "20 minutes").await;
    says(&at(&c, 25).await, "skipped", "an audit");
    says(&at(&c, 35).await, "skipped", "paused");
    run(&c, "select tenure.schedule_resume('a')").await;

    look_after(&db, &mut s, "2 hours").await;
    for minutes in [45, 100, 155] {
        let told = at(&c, minutes).await;
        says(&told, "missed", "");
        assert!(
            told.next_step
                .as_deref()
                .is_some_and(|step| step.contains("tenure schedule backfill a")),
            "{told:?}"
        );
    }
    let told = at(&c, 100).await;
    assert!(told.answer.contains("latest_only"), "{}", told.answer);
    assert_eq!(
        (told.previous, told.following),
        (Some(moment(&c, 95).await), Some(moment(&c, 105).await))
    );
    assert_eq!(told.next, Some(moment(&c, 165).await), "and when it runs next");
    says(&at(&c, 160).await, "running", "queued");

    run(&c, "select tenure.gate_set('queue.job_substrate.enabled', 'closed'), tenure.schedule_update('a', '{\"overlap\": \"allow\"}')").await;
    look_after(&db, &mut s, "5 minutes").await;
    says(&at(&c, 165).await, "skipped", "gate_closed");
    run(&c, "select tenure.gate_set('queue.job_substrate.enabled', 'open'), tenure.schedule_update('a', '{\"cron\": \"1 * * * *\"}')").await;
    says(&at(&c, 170).await, "skipped", "given up");
    says(&at(&c, 3).await, "no_slot", "The rule was changed");
}

#[tokio::test]
async fn the_end_of_a_schedule_and_a_rule_that_fails_are_answers_too() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *"})).await;
    let end = moment(&c, 10).await.to_string();
    one(&c, "select tenure.schedule_update('a', $1)", &[&json!({"end_at": end})]).await;
    look(&mut s).await;
    says(&at(&c, 15).await, "after_end", "has ended");
    assert_eq!(preview(&c, "a", 5).await.expect("a preview").slots.len(), 2);
    run(
        &c,
        "select tenure.schedule_update('a', '{\"end_at\": null, \"zone\": \"Mars/Base\"}')",
    )
    .await;
    look_after(&db, &mut s, "6 minutes").await;
    let told = at(&c, 10).await;
    says(&told, "unplanned", "a fails");
    assert!(told.answer.contains("Mars/Base"), "{}", told.answer);
    says(&at(&c, 5).await, "skipped", "given up");
}

#[tokio::test]
async fn a_moment_that_no_scheduler_has_seen_says_so() {
    let (db, c) = on_the_hour().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *"})).await;
    db.advance("20 minutes").await;
    let told = at(&c, 10).await;
    says(&told, "unplanned", "No scheduler has looked");
    assert!(told.next_step.is_some());
    let ahead = preview(&c, "a", 3).await.expect("a preview");
    assert_eq!(ahead.slots[0].plan_time, moment(&c, 25).await);
    assert_eq!(ahead.slots.len(), 3);
}
