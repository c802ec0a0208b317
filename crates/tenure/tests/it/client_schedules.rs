//! Schedules of a program in Rust: built, declared, run and asked about.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tenure::Client;
use tenure::client::SlotFilter;
use tenure::core::codes;
use tenure::schedules::{
    BackfillVerdict, CatchUp, ExplainVerdict, NewSchedule, Overlap, ScheduleOutcome, ScheduleState, SlotInfo,
    SlotOrigin, SlotState,
};
use tenure::services::scheduler;
use tenure::store::Timestamp;
use tenure::worker::{Context, Done};

use crate::fixture::{Db, enqueue, get, one};
use crate::worker_scene::{pool, until_idle, worker};

/// What a handler found: its payload, and its slot.
type Seen = (Value, Option<SlotInfo>);

fn client(db: &Db) -> Client {
    Client::new(pool(db))
}

fn hours(count: u64) -> Duration {
    Duration::from_secs(count * 3600)
}

fn hourly() -> NewSchedule {
    NewSchedule::cron("0 * * * *", "report")
}

#[tokio::test]
async fn a_schedule_carries_what_its_builder_says() {
    let db = Db::open().await;
    let start: Timestamp = "2030-01-01T00:00:00Z".parse().expect("a time");
    let schedule = NewSchedule::cron("30 3 * * MON", "report")
        .zone("Europe/Berlin")
        .payload(&json!({"of": "last week"}))
        .expect("a payload")
        .priority(7)
        .executor("DOT")
        .source_ref("s3://in")
        .target_ref("s3://out")
        .payload_ref("s3://more")
        .restricted()
        .jitter(Duration::from_secs(60))
        .start(start)
        .end(std::time::SystemTime::from(start + hours(24 * 365)))
        .scope("site", "42")
        .overlap(Overlap::CancelOther)
        .catch_up(CatchUp::EveryPlan {
            window: hours(2),
            slots_max: 5,
        })
        .run_timeout(Duration::from_secs(600))
        .attempts_max(2)
        .backoff(Duration::from_secs(20))
        .reentry_refused()
        .description("Weekly numbers");
    let made = client(&db).schedule("weekly").create(&schedule).await.expect("made");
    let shown = serde_json::to_value(client(&db).schedule("weekly").show().await.expect("it stands")).expect("JSON");
    let expected = json!({
        "name": "weekly", "state": "active", "cron": "30 3 * * MON", "every_seconds": null, "zone": "Europe/Berlin",
        "payload": {"of": "last week"}, "priority": 7, "executor": "DOT", "kind": "report", "source_ref": "s3://in",
        "target_ref": "s3://out", "payload_ref": "s3://more", "classification": "restricted", "jitter_seconds": 60,
        "start_at": "2030-01-01T00:00:00Z", "end_at": "2031-01-01T00:00:00Z", "scope_kind": "site", "scope_id": "42",
        "overlap": "cancel_other", "catch_up": "every_plan", "catch_up_window_seconds": 7200, "catch_up_slots_max": 5,
        "run_timeout_seconds": 600, "attempts_max": 2, "backoff_base_seconds": 20, "reentry": "refused",
        "description": "Weekly numbers",
    });
    for (field, value) in expected.as_object().expect("an object") {
        assert_eq!(&shown[field], value, "{field}");
    }
    assert_eq!(serde_json::to_value(made).expect("JSON"), shown, "as it was answered");
    for (overlap, word) in [
        (Overlap::Skip, "skip"),
        (Overlap::Queue, "queue"),
        (Overlap::Allow, "allow"),
    ] {
        assert_eq!(hourly().overlap(overlap).spec()["overlap"], word);
    }
    for (catch_up, word) in [(CatchUp::LatestOnly, "latest_only"), (CatchUp::None, "none")] {
        assert_eq!(hourly().catch_up(catch_up).spec()["catch_up"], word);
    }
}

#[tokio::test]
async fn what_no_schedule_can_be_is_refused_when_it_is_made() {
    let db = Db::open().await;
    let every = |millis: u64| NewSchedule::every(Duration::from_millis(millis), "report");
    for (schedule, code) in [
        (every(9_000), codes::EXPRESSION_TOO_FREQUENT),
        (every(10_500), codes::NUMBER_OUT_OF_RANGE),
        (hourly().zone("Europe/Berlln"), codes::ZONE_UNKNOWN),
        (NewSchedule::cron("0 0 30 2 *", "a"), codes::EXPRESSION_NEVER_FIRES),
        (hourly().jitter(hours(1)), codes::NUMBER_OUT_OF_RANGE),
        (
            hourly().start(Timestamp::now()).end(Timestamp::from_micros(0)),
            codes::RANGE_INVALID,
        ),
        (
            hourly().payload(&json!({"password": 1})).expect("JSON"),
            codes::PAYLOAD_FORBIDDEN_KEY,
        ),
    ] {
        let refused = client(&db)
            .schedule("odd")
            .put(&schedule)
            .await
            .expect_err("it is refused");
        assert!(refused.is(code), "{:?}: {refused}", schedule.spec());
    }
    assert_eq!(client(&db).schedules(None, None).await.expect("a list").len(), 0);
}

#[tokio::test]
async fn a_program_makes_runs_pauses_and_ends_its_schedules() {
    let db = Db::open().await;
    let client = client(&db).on_behalf_of("ann");
    let schedule = client.schedule("hourly");
    schedule.create(&hourly()).await.expect("made");
    let again = schedule.create(&hourly()).await.expect_err("there is one");
    assert!(again.is(codes::SCHEDULE_EXISTS), "{again}");
    assert_eq!(schedule.put(&hourly()).await.expect("put"), ScheduleOutcome::Unchanged);
    let changed = hourly().zone("Asia/Kolkata");
    assert_eq!(schedule.put(&changed).await.expect("put"), ScheduleOutcome::Updated);
    assert_eq!(
        client.schedule("other").put(&hourly()).await.expect("put"),
        ScheduleOutcome::Created
    );
    let names: Vec<String> = client
        .schedules(None, None)
        .await
        .expect("a list")
        .into_iter()
        .map(|it| it.name)
        .collect();
    assert_eq!(names, ["hourly", "other"]);

    let preview = schedule.preview(3).await.expect("what comes");
    assert!(
        preview.slots.iter().all(|slot| slot.local.contains(":00")),
        "{preview:?}"
    );
    let slot = schedule.run_now().await.expect("it runs");
    assert_eq!((&slot.state, &slot.origin), (&SlotState::Running, &SlotOrigin::Manual));
    let busy = schedule.delete().await.expect_err("a run is under way");
    assert!(busy.is(codes::STATE_CONFLICT), "{busy}");
    let report = until_idle(worker(&db).handler("report", async |_: Value, _: Context| {
        Ok(Done::with(json!({"rows_affected": 3}))?)
    }))
    .await;
    assert_eq!(report.succeeded, 1);
    let slots = schedule.slots(&SlotFilter::default()).await.expect("slots");
    assert_eq!(
        (&slots[0].state, slots[0].rows_affected),
        (&SlotState::Succeeded, Some(3))
    );
    let told = schedule.explain(slot.plan_time).await.expect("an answer");
    assert_eq!(told.verdict, ExplainVerdict::Succeeded);
    assert!(told.next.is_some(), "{told:?}");

    let paused = schedule.pause("holidays").await.expect("paused");
    assert_eq!(
        (&paused.state, paused.pause_note.as_deref()),
        (&ScheduleState::Paused, Some("holidays"))
    );
    assert_eq!(
        schedule.put(&changed).await.expect("put"),
        ScheduleOutcome::Unchanged,
        "a pause stays"
    );
    assert_eq!(schedule.resume().await.expect("resumed").state, ScheduleState::Active);
    let by = "select on_behalf_of from tenure.events where kind = 'schedule.created' and subject = 'hourly'";
    assert_eq!(get::<String>(&db.client().await, by, &[]).await, "ann");
    schedule.delete().await.expect("ended");
    let gone = schedule.show().await.expect_err("no more");
    assert!(gone.is(codes::SCHEDULE_UNKNOWN), "{gone}");
}

#[tokio::test]
async fn slots_that_nobody_ran_are_filled_in() {
    let db = Db::open().await;
    let client = client(&db);
    let schedule = client.schedule("hourly");
    schedule
        .put(&hourly().catch_up(CatchUp::None))
        .await
        .expect("it stands");
    db.advance("5 hours").await;
    scheduler::run_once(&mut db.direct().await)
        .await
        .expect("it is looked at");
    let made = schedule.show().await.expect("it stands").created_at;
    let until = made + hours(3);
    let dry = schedule.backfill_preview(made, until).await.expect("a look");
    assert_eq!(dry.len(), 3);
    assert!(dry.iter().all(|it| it.verdict == BackfillVerdict::Runs), "{dry:?}");
    let applied = schedule.backfill(made, until, 60).await.expect("planned");
    assert!(applied.iter().all(|it| it.state == Some(SlotState::Planned)));
    assert_eq!(
        applied[1].due_at,
        applied[0].due_at.map(|at| at + Duration::from_secs(60))
    );
}

/// Proves: S247.
#[tokio::test]
async fn a_worker_declares_its_schedules_before_it_claims() {
    let db = Db::open().await;
    let quiet = |schedule: NewSchedule| {
        worker(&db)
            .schedule("nightly", schedule)
            .handler("report", async |_: Value, _: Context| Ok(()))
    };
    let nightly = NewSchedule::cron("0 3 * * *", "report").zone("Europe/Berlin");
    until_idle(quiet(nightly.clone())).await;
    let made = client(&db).schedule("nightly").show().await.expect("it stands");
    until_idle(quiet(nightly.clone())).await;
    let same = client(&db).schedule("nightly").show().await.expect("it stands");
    assert_eq!(made, same, "declared again, nothing has changed");
    until_idle(quiet(nightly.priority(5))).await;
    let changed = client(&db).schedule("nightly").show().await.expect("it stands");
    assert_eq!((changed.priority, changed.plan_from), (5, made.plan_from));

    let c = db.client().await;
    enqueue(&c, "report").await;
    let odd = quiet(NewSchedule::cron("0 25 * * *", "report"));
    let refused = odd
        .build()
        .expect("a worker")
        .run_until_idle()
        .await
        .expect_err("no start");
    assert!(refused.is(codes::EXPRESSION_INVALID), "{refused}");
    assert!(refused.to_string().contains("nightly"), "{refused}");
    let waits = "select count(*) from tenure.ready";
    assert_eq!(get::<i64>(&c, waits, &[]).await, 1, "nothing was claimed");
    let twice = quiet(hourly()).schedule("nightly", hourly()).build();
    assert!(twice.expect_err("which of them?").is(codes::USAGE));
}

#[tokio::test]
async fn workers_that_start_at_once_declare_one_schedule() {
    let db = Db::open().await;
    let (start, c) = (Arc::new(tokio::sync::Barrier::new(8)), db.client().await);
    let starting = (0..8).map(|_| {
        let (start, worker) = (start.clone(), worker(&db));
        let worker = worker
            .schedule("shared", hourly())
            .handler("report", async |_: Value, _: Context| Ok(()))
            .build()
            .expect("a worker");
        tokio::spawn(async move {
            start.wait().await;
            worker.run_until_idle().await
        })
    });
    for started in starting.collect::<Vec<_>>() {
        started.await.expect("no panic").expect("every one starts");
    }
    assert_eq!(client(&db).schedules(None, None).await.expect("a list").len(), 1);
    let made = "select count(*) from tenure.events where kind ^@ 'schedule.'";
    assert_eq!(get::<i64>(&c, made, &[]).await, 1, "made once, and never changed");
}

#[tokio::test]
async fn a_handler_knows_which_slot_it_runs_for() {
    let db = Db::open().await;
    let c = db.client().await;
    let schedule = client(&db).schedule("hourly");
    let payload = json!({"of": "site"});
    let declared = hourly().payload(&payload).expect("a payload").scope("site", "42");
    schedule.put(&declared).await.expect("it stands");
    scheduler::run_once(&mut db.direct().await)
        .await
        .expect("it is planned");
    let planned = schedule.show().await.expect("it stands").next_slot.expect("a slot");
    db.advance("1 hour").await;
    scheduler::run_once(&mut db.direct().await).await.expect("it starts");
    one(&c, r#"select tenure.job_enqueue('report', '{"of": "somebody"}')"#, &[]).await;
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let notes = seen.clone();
    until_idle(
        worker(&db)
            .concurrency(1)
            .handler("report", move |payload: Value, context: Context| {
                notes.lock().expect("notes").push((payload, context.slot()));
                async { Ok(()) }
            }),
    )
    .await;
    let seen = seen.lock().expect("notes");
    let (of, slot) = seen.iter().find(|it| it.1.is_some()).expect("the planned one");
    let slot = slot.as_ref().expect("a slot");
    assert_eq!(of["of"], "site");
    assert_eq!(
        (&*slot.schedule, slot.plan_time, &*slot.origin),
        ("hourly", planned, "rule")
    );
    assert_eq!((&*slot.scope_kind, &*slot.scope_id), ("site", "42"));
    assert!(
        seen.iter().any(|it| it.0["of"] == "somebody" && it.1.is_none()),
        "{seen:?}"
    );
}
