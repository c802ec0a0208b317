//! The operations of schedules, carried out: the typed answers have a field for everything that SQL sends.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tenure::operations::Perform;
use tenure_api::Page;
use tenure_api::jobs::JobState;
use tenure_api::schedules::*;

use crate::fixture::verb;
use crate::schedules_scene::{begin, look, look_after, on_the_hour};

fn of<O: DeserializeOwned>(question: Value) -> O {
    serde_json::from_value(question).expect("a question")
}

#[tokio::test]
async fn a_schedule_is_written_shown_and_deleted_by_operations() {
    let (_db, c) = on_the_hour().await;
    let payload = r#"{"n":1.10,"none":null,"wide":12345678901234567890.123456789012345}"#;
    let mut spec = json!({"kind": "report", "cron": "*/5 * * * *", "zone": "Europe/Berlin", "priority": "urgent",
        "start_at": "2026-01-01T00:00:00Z", "catch_up": "every_plan"});
    spec["payload"] = serde_json::from_str(payload).expect("JSON");
    let create: ScheduleCreate = of(json!({"name": "a", "spec": spec}));
    let made = create.perform(&c).await.expect("created");
    assert_eq!(made.outcome, ScheduleOutcome::Created);
    assert_eq!(made.schedule.overlap, Overlap::Queue);
    let kept = made.schedule.payload.as_ref().map(|payload| payload.0.to_string());
    assert_eq!(kept.as_deref(), Some(payload), "digit by digit");
    let code = |error: tenure::Error| error.refusal().code.to_string();
    let again = create.perform(&c).await.expect_err("there is one");
    assert_eq!(code(again), "schedule_exists");

    let put: SchedulePut = of(json!({"name": "a", "spec": spec}));
    let same = put.perform(&c).await.expect("declared");
    assert_eq!(same.outcome, ScheduleOutcome::Unchanged);
    let other: SchedulePut = of(json!({"name": "b", "spec": {"kind": "report", "every_seconds": 3600}}));
    other.perform(&c).await.expect("declared");
    let wrong: SchedulePut = of(json!({"name": "c", "spec": {"kind": "report", "cron": "0 0 31 2 *"}}));
    wrong.perform(&c).await.expect_err("it names no moment");

    let update: ScheduleUpdate = of(json!({"name": "a", "changes": {"zone": null, "description": "daily"}}));
    let changed = update.perform(&c).await.expect("updated");
    assert_eq!(changed.outcome, ScheduleOutcome::Updated);
    assert_eq!(
        (changed.schedule.zone.as_str(), changed.schedule.priority),
        ("UTC", 100)
    );
    assert!(changed.schedule.start_at.is_some(), "what is left out stays");

    let pause: SchedulePause = of(json!({"name": "a", "note": "holidays"}));
    let paused = pause.perform(&c).await.expect("paused");
    assert_eq!(
        (&paused.state, paused.pause_note.as_deref()),
        (&ScheduleState::Paused, Some("holidays"))
    );
    let preview: SchedulePreview = of(json!({"name": "a"}));
    let seen = preview.perform(&c).await.expect("a preview");
    assert_eq!((seen.slots.len(), seen.note.is_some()), (10, true));
    let resume: ScheduleResume = of(json!({"name": "a"}));
    assert_eq!(resume.perform(&c).await.expect("resumed").state, ScheduleState::Active);

    let list: ScheduleList = of(json!({"limit": 1}));
    let first: Page<Schedule> = list.perform(&c).await.expect("a page");
    assert_eq!(first.items[0].name, "a");
    let list: ScheduleList = of(json!({"limit": 1, "cursor": first.next}));
    let second: Page<Schedule> = list.perform(&c).await.expect("a page");
    assert_eq!(second.items[0].name, "b");

    let delete: ScheduleDelete = of(json!({"name": "a"}));
    assert_eq!(delete.perform(&c).await.expect("deleted").name, "a");
    let show: ScheduleShow = of(json!({"name": "a"}));
    assert_eq!(code(show.perform(&c).await.expect_err("gone")), "schedule_unknown");
}

#[tokio::test]
async fn slots_are_run_listed_explained_and_filled_in_by_operations() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    let create: ScheduleCreate = of(json!({"name": "a", "spec": {"kind": "report", "cron": "*/5 * * * *"}}));
    let made = create.perform(&c).await.expect("created");
    look(&mut s).await;
    look_after(&db, &mut s, "5 minutes").await;
    let held = begin(&c).await;
    verb(&c, "job_complete", &held, r#", '{"rows_affected": 12}', 's3://out'"#).await;
    let run: ScheduleRun = of(json!({"name": "a"}));
    let ran = run.perform(&c).await.expect("run");
    assert_eq!((ran.schedule.as_str(), &ran.slot.state), ("a", &SlotState::Running));
    assert_eq!(ran.slot.job_state, Some(JobState::Queued));

    let slots: ScheduleSlots = of(json!({"name": "a", "state": ["succeeded", "running"], "limit": 1}));
    let page = slots.perform(&c).await.expect("slots");
    assert_eq!(page.items[0].origin, SlotOrigin::Manual);
    let rest = ScheduleSlots {
        cursor: page.next,
        ..slots
    };
    let page = rest.perform(&c).await.expect("slots");
    assert_eq!(
        (&page.items[0].state, page.items[0].rows_affected),
        (&SlotState::Succeeded, Some(12))
    );
    let at = page.items[0].plan_time;
    let explain = ScheduleExplain {
        name: "a".to_owned(),
        at,
    };
    let found = explain.perform(&c).await.expect("an explanation");
    assert_eq!(
        (found.verdict, found.slot),
        (ExplainVerdict::Succeeded, Some(page.items[0].clone()))
    );

    let before = tenure_api::Timestamp::from_micros(made.schedule.created_at.micros() - 3_600_000_000);
    let backfill: ScheduleBackfill = of(json!({"name": "a", "from": before, "until": at}));
    let shown = backfill.perform(&c).await.expect("a dry run");
    assert_eq!(
        (&shown.items[0].verdict, &shown.items[0].state),
        (&BackfillVerdict::Runs, &None)
    );
    let stands = shown.items.last().map(|slot| (&slot.verdict, slot.state.clone()));
    assert_eq!(stands, Some((&BackfillVerdict::Stands, Some(SlotState::Succeeded))));
    let apply = ScheduleBackfill {
        mode: BackfillMode::Apply,
        ..backfill
    };
    let done = apply.perform(&c).await.expect("applied");
    assert_eq!(done.items[0].state, Some(SlotState::Planned));

    let rule: SchedulePreviewRule = of(json!({"rule": {"every_seconds": 60}, "count": 3}));
    assert_eq!(rule.perform(&c).await.expect("a preview").slots.len(), 3);
    let wrong = SchedulePreviewRule { count: -1, ..rule };
    wrong.perform(&c).await.expect_err("no number of slots");
}
