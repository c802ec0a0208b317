//! Schedules made, changed, paused and deleted, and what is refused.

use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::fixture::{Db, get, one, raised, refused, rows, run, try_rows, until_blocked, verb};
use crate::schedules_scene::{begin, events, look, look_after, on_the_hour, schedule, slots};

async fn create(c: &Client, name: &str, spec: Value) -> Value {
    one(c, "select tenure.schedule_create($1, $2)", &[&name, &spec]).await
}

async fn update(c: &Client, name: &str, changes: Value) -> Value {
    one(c, "select tenure.schedule_update($1, $2)", &[&name, &changes]).await
}

async fn put(c: &Client, name: &str, spec: Value) -> Value {
    one(c, "select tenure.schedule_put($1, $2)", &[&name, &spec]).await
}

async fn show(c: &Client, name: &str) -> Value {
    one(c, "select to_jsonb(s) from tenure.schedule_show($1) s", &[&name]).await
}

/// Proves: S232, S247.
#[tokio::test]
async fn a_schedule_is_made_with_the_defaults_it_names() {
    let (_db, c) = on_the_hour().await;
    let none: i64 = get(&c, "select count(*) from tenure.schedules", &[]).await;
    assert_eq!(none, 0, "a migration makes no schedule");
    let made = create(&c, "nightly", json!({"cron": " 0 3 * * *", "kind": "report"})).await;
    assert_eq!(made["outcome"], "created");
    let shown = show(&c, "nightly").await;
    for (field, value) in [
        ("state", json!("active")),
        ("cron", json!("0 3 * * *")),
        ("every_seconds", Value::Null),
        ("zone", json!("UTC")),
        ("jitter_seconds", json!(0)),
        ("scope_kind", json!("global")),
        ("scope_id", json!("global")),
        ("executor", Value::Null),
        ("priority", json!(0)),
        ("payload", json!({})),
        ("classification", json!("safe_metadata")),
        ("overlap", json!("skip")),
        ("catch_up", json!("latest_only")),
        ("catch_up_window_seconds", json!(86400)),
        ("catch_up_slots_max", json!(10)),
        ("attempts_max", Value::Null),
        ("reentry", json!("allowed")),
        ("description", json!("")),
        ("running", json!(0)),
        ("waiting", json!(0)),
    ] {
        assert_eq!(shown[field], value, "{field}");
    }
    let told = events(&c, "schedule.created").await;
    assert_eq!((told.len(), &told[0]["subject"]), (1, &json!("nightly")));
    assert_eq!(told[0]["cron"], "0 3 * * *");
}

#[tokio::test]
async fn what_is_caught_up_by_default_is_said_by_the_kind_and_agents_catch_nothing_up() {
    let (_db, c) = on_the_hour().await;
    run(
        &c,
        r#"select tenure.kind_set('every', '{"catch_up": "every_plan"}'), tenure.kind_set('thought', '{"event_domain": "agent"}'),
                  tenure.kind_set('coded', '{"executor": "Codex"}'), tenure.kind_set('eager', '{"executor": "Codex", "catch_up": "latest_only"}')"#,
    )
    .await;
    for (name, more, catch_up, overlap) in [
        ("a", json!({}), "latest_only", "skip"),
        ("b", json!({"kind": "every"}), "every_plan", "queue"),
        ("c", json!({"kind": "thought"}), "none", "skip"),
        ("d", json!({"kind": "coded"}), "none", "skip"),
        ("e", json!({"kind": "eager"}), "latest_only", "skip"),
        ("f", json!({"executor": "Hermes"}), "none", "skip"),
        (
            "g",
            json!({"executor": "Hermes", "catch_up": "every_plan", "overlap": "allow"}),
            "every_plan",
            "allow",
        ),
    ] {
        let mut spec = more;
        spec["every_seconds"] = json!(60);
        let made = schedule(&c, name, spec).await;
        assert_eq!(
            (&made["catch_up"], &made["overlap"]),
            (&json!(catch_up), &json!(overlap)),
            "{name}"
        );
    }
    let policy = one(&c, "select tenure.kind_show('coded')", &[]).await;
    assert_eq!(policy["catch_up"], "none");
    let wrong = one(&c, r#"select tenure.kind_set('x', '{"catch_up": "some"}')"#, &[]).await;
    refused(&wrong, "value_unknown");
}

#[tokio::test]
async fn an_update_changes_the_fields_it_names_and_null_gives_the_default_back() {
    let (_db, c) = on_the_hour().await;
    let spec = json!({"cron": "0 3 * * *", "zone": "Europe/Berlin", "kind": "report", "priority": "urgent", "payload": {"a": 1},
        "attempts_max": 5, "overlap": "queue", "description": "the books"});
    create(&c, "nightly", spec).await;
    let changed = update(
        &c,
        "nightly",
        json!({"every_seconds": 600, "overlap": null, "priority": null}),
    )
    .await;
    assert_eq!(changed["outcome"], "updated", "{changed}");
    for (field, value) in [
        ("cron", Value::Null),
        ("every_seconds", json!(600)),
        ("zone", json!("Europe/Berlin")),
        ("overlap", json!("skip")),
        ("priority", json!(0)),
        ("payload", json!({"a": 1})),
        ("attempts_max", json!(5)),
        ("description", json!("the books")),
    ] {
        assert_eq!(changed[field], value, "{field}");
    }
    let told = events(&c, "schedule.updated").await;
    assert_eq!(told.len(), 1);
    assert_eq!(
        (&told[0]["before"]["cron"], &told[0]["after"]["every_seconds"]),
        (&json!("0 3 * * *"), &json!(600))
    );
    let same = update(&c, "nightly", json!({"every_seconds": 600})).await;
    assert_eq!(same["outcome"], "unchanged");
    refused(&update(&c, "nightly", json!({"kind": null})).await, "name_blank");
    refused(
        &update(&c, "weekly", json!({"every_seconds": 600})).await,
        "schedule_unknown",
    );
    refused(
        &update(&c, "nightly", json!({"cron": null, "every_seconds": null})).await,
        "arguments_mismatched",
    );
    assert_eq!(show(&c, "nightly").await["every_seconds"], 600);
}

/// Proves: S247.
#[tokio::test]
async fn what_a_program_declares_is_made_once_made_equal_and_else_left_alone() {
    let (_db, c) = on_the_hour().await;
    let mut s = _db.client().await;
    let spec = json!({"cron": "*/5 * * * *", "kind": "report", "payload": {"a": 1}, "attempts_max": 3});
    assert_eq!(put(&c, "books", spec.clone()).await["outcome"], "created");
    look(&mut s).await;
    run(&c, "select tenure.schedule_pause('books', 'audit')").await;
    let row = "select jsonb_agg(to_jsonb(s)) from tenure.schedules s";
    let before = one(&c, row, &[]).await;
    let again = put(&c, "books", spec.clone()).await;
    assert_eq!(again["outcome"], "unchanged");
    assert_eq!(one(&c, row, &[]).await, before, "nothing is written");
    assert_eq!(slots(&c, "books").await, ["5 planned"]);
    assert!(events(&c, "schedule.updated").await.is_empty());

    let other = put(&c, "books", json!({"cron": "*/5 * * * *", "kind": "report"})).await;
    assert_eq!(
        (&other["outcome"], &other["attempts_max"], &other["payload"]),
        (&json!("updated"), &Value::Null, &json!({})),
        "what is left out has its default"
    );
    assert_eq!(other["state"], "paused", "a pause stays");
    assert_eq!(
        slots(&c, "books").await,
        ["5 planned"],
        "the rule is the same, and so is its slot"
    );
}

/// Proves: S237, S238.
#[tokio::test]
async fn an_edit_gives_the_planned_slot_up_and_the_same_moment_comes_back() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *"})).await;
    look(&mut s).await;
    assert_eq!(slots(&c, "a").await, ["5 planned"]);
    update(&c, "a", json!({"cron": "*/7 * * * *"})).await;
    assert_eq!(slots(&c, "a").await, ["5 skipped superseded"]);
    look(&mut s).await;
    assert_eq!(slots(&c, "a").await, ["5 skipped superseded", "7 planned"]);
    update(&c, "a", json!({"cron": "5,10 * * * *"})).await;
    look(&mut s).await;
    assert_eq!(slots(&c, "a").await, ["5 planned", "7 skipped superseded"]);
    let rule: String = get(
        &c,
        "select expression from tenure.planned_slots where state = 'planned'",
        &[],
    )
    .await;
    assert_eq!(rule, "5,10 * * * *", "with the rule that computed it now");
    look_after(&db, &mut s, "5 minutes").await;
    assert_eq!(
        slots(&c, "a").await,
        ["5 running", "7 skipped superseded", "10 planned"]
    );
    let held = begin(&c).await;
    verb(&c, "job_complete", &held, "").await;
    update(&c, "a", json!({"payload": {"b": 2}})).await;
    assert_eq!(
        slots(&c, "a").await[2],
        "10 planned",
        "what is no part of the rule leaves its slots alone"
    );
}

/// What was due before the edit is no part of what the edit plans: it runs, for the scope it was planned for.
#[tokio::test]
async fn an_edit_does_not_take_a_slot_that_is_due() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *", "scope_id": "old"})).await;
    look(&mut s).await;
    db.advance("5 minutes").await;
    update(
        &c,
        "a",
        json!({"cron": "*/7 * * * *", "scope_id": "new", "payload": {"b": 2}}),
    )
    .await;
    look(&mut s).await;
    assert_eq!(slots(&c, "a").await, ["5 running", "7 planned"]);
    let payload: Value = get(&c, "select payload::jsonb from tenure.jobs", &[]).await;
    let scope: String = get(&c, "select origin #>> '{slot,scope_id}' from tenure.jobs", &[]).await;
    assert_eq!((payload, scope.as_str()), (json!({"b": 2}), "old"));
    let next: String = get(
        &c,
        "select scope_id from tenure.planned_slots where state = 'planned'",
        &[],
    )
    .await;
    assert_eq!(next, "new");
}

#[tokio::test]
async fn a_pause_says_who_and_why_and_the_first_one_counts() {
    let (_db, c) = on_the_hour().await;
    schedule(&c, "a", json!({"every_seconds": 60})).await;
    let paused = one(&c, "select tenure.schedule_pause('a', 'an audit')", &[]).await;
    assert_eq!(
        (&paused["state"], &paused["pause_note"]),
        (&json!("paused"), &json!("an audit"))
    );
    let again = one(&c, "select tenure.schedule_pause('a', 'another')", &[]).await;
    assert_eq!(again["pause_note"], "an audit");
    assert_eq!(events(&c, "schedule.paused").await.len(), 1);
    let resumed = one(&c, "select tenure.schedule_resume('a')", &[]).await;
    assert_eq!(
        (&resumed["state"], &resumed["pause_note"]),
        (&json!("active"), &Value::Null)
    );
    one(&c, "select tenure.schedule_resume('a')", &[]).await;
    assert_eq!(events(&c, "schedule.resumed").await.len(), 1);
    for call in ["schedule_pause", "schedule_resume", "schedule_delete", "schedule_run"] {
        let answer = one(&c, &format!("select tenure.{call}('b')"), &[]).await;
        refused(&answer, "schedule_unknown");
        assert!(
            answer["why"].as_str().is_some_and(|why| why.contains("nearest are: a")),
            "{answer}"
        );
    }
    refused(
        &one(&c, "select tenure.schedule_pause('a', E'two\\nlines')", &[]).await,
        "name_invalid",
    );
}

/// Proves: S249.
#[tokio::test]
async fn a_schedule_is_not_deleted_while_a_run_is_under_way_and_its_slots_stay() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "a", json!({"cron": "*/5 * * * *"})).await;
    look(&mut s).await;
    look_after(&db, &mut s, "5 minutes").await;
    let kept = one(&c, "select tenure.schedule_delete('a')", &[]).await;
    refused(&kept, "state_conflict");
    let held = begin(&c).await;
    let kept = one(&c, "select tenure.schedule_delete('a')", &[]).await;
    refused(&kept, "state_conflict");
    assert!(
        kept["what"]
            .as_str()
            .is_some_and(|what| what.contains(&held.job_id.to_string())),
        "{kept}"
    );
    verb(&c, "job_complete", &held, "").await;
    let gone = one(&c, "select tenure.schedule_delete('a')", &[]).await;
    assert_eq!(gone["name"], "a");
    assert_eq!(slots(&c, "a").await, ["5 succeeded", "10 skipped superseded"]);
    raised(
        try_rows(&c, "select tenure.schedule_show('a')", &[]).await,
        "schedule_unknown",
    );
    look_after(&db, &mut s, "1 hour").await;
    assert_eq!(slots(&c, "a").await.len(), 2, "no slot comes any more");
    schedule(&c, "a", json!({"cron": "*/5 * * * *"})).await;
    assert_eq!(events(&c, "schedule.deleted").await.len(), 1);
}

/// A run that has ended leaves a mark for the scheduler; a schedule deleted then is looked at no more, and holds nobody up.
#[tokio::test]
async fn a_schedule_deleted_right_after_a_run_holds_nobody_up() {
    let (db, c) = on_the_hour().await;
    let mut s = db.client().await;
    schedule(&c, "gone", json!({"cron": "*/5 * * * *", "overlap": "queue"})).await;
    schedule(&c, "here", json!({"cron": "*/5 * * * *", "kind": "other"})).await;
    look(&mut s).await;
    look_after(&db, &mut s, "5 minutes").await;
    let held = crate::fixture::claim_with(&c, "w", ", p_kinds => array['report'], p_mode => 'started'").await;
    verb(&c, "job_complete", &held[0], "").await;
    one(&c, "select tenure.schedule_delete('gone')", &[]).await;
    let done = look_after(&db, &mut s, "10 minutes").await;
    assert_eq!((done.planned, done.failing), (1, 0), "{done:?}");
    assert_eq!(slots(&c, "gone").await, ["5 succeeded", "10 skipped superseded"]);
    let owing: i64 = get(&c, "select count(*) from tenure.follow_ups", &[]).await;
    assert_eq!(owing, 0);
}

#[tokio::test]
async fn schedules_are_listed_by_name_a_page_at_a_time() {
    let (_db, c) = on_the_hour().await;
    for name in ["c", "a", "b"] {
        schedule(&c, name, json!({"every_seconds": 60})).await;
    }
    let page = async |limit: i32, after: Option<&str>| -> Vec<String> {
        let sql = "select name from tenure.schedule_list($1, $2)";
        rows(&c, sql, &[&limit, &after])
            .await
            .iter()
            .map(|row| row.get(0))
            .collect()
    };
    assert_eq!(page(2, None).await, ["a", "b"]);
    assert_eq!(page(2, Some("b")).await, ["c"]);
    raised(
        try_rows(&c, "select tenure.schedule_list(0)", &[]).await,
        "number_out_of_range",
    );
    raised(
        try_rows(&c, "select tenure.schedule_slots('a', '{done}')", &[]).await,
        "value_unknown",
    );
    raised(
        try_rows(
            &c,
            "select tenure.schedule_slots('a', p_from => tenure.now(), p_until => tenure.now() - interval '1 s')",
            &[],
        )
        .await,
        "range_invalid",
    );
    raised(
        try_rows(&c, "select tenure.schedule_at('a', 'infinity')", &[]).await,
        "text_invalid",
    );
}

#[tokio::test]
async fn a_restricted_payload_is_shown_to_nobody_who_may_not_see_it() {
    let db = Db::open().await;
    let c = db.client().await;
    let secret = json!({"every_seconds": 60, "payload": {"patient": "Doe"}, "classification": "restricted"});
    schedule(&c, "a", secret).await;
    let (_, viewer) = db.login(&["tenure_viewer"], "default", None).await;
    let shown = show(&viewer, "a").await;
    assert_eq!(shown["payload"], Value::Null);
    assert_eq!(shown["classification"], "restricted");
    assert_eq!(show(&c, "a").await["payload"]["patient"], "Doe");
    let (_, operator) = db.login(&["tenure_operator"], "default", None).await;
    let open = "select tenure.schedule_update('a', '{\"classification\": \"safe_metadata\"}')";
    refused(&one(&operator, open, &[]).await, "not_permitted");
    update(&c, "a", json!({"payload": {"patient": "Roe"}})).await;
    let told: i64 = get(
        &c,
        "select count(*) from tenure.events where data::text like '%Doe%' or data::text like '%Roe%'",
        &[],
    )
    .await;
    assert_eq!(told, 0, "and no event tells of it");
}

/// The one that comes last holds, as if they had come one after the other.
#[tokio::test]
async fn a_declaration_waits_for_another_of_the_same_schedule_and_then_holds() {
    let db = Db::open().await;
    let (first, second) = (db.direct().await, db.direct().await);
    let watcher = db.direct().await;
    let hourly = json!({"kind": "report", "every_seconds": 3600});
    let daily = json!({"kind": "report", "every_seconds": 86400});
    run(&first, "select tenure.lane_open('report'); begin").await;
    assert_eq!(put(&first, "a", hourly.clone()).await["outcome"], "created");
    let (declared, ()) = tokio::join!(put(&second, "a", daily.clone()), async {
        until_blocked(&watcher, "schedule_put").await;
        run(&first, "commit").await;
    });
    assert_eq!(declared["outcome"], "updated", "{declared}");
    let shown = show(&watcher, "a").await;
    assert_eq!(shown["every_seconds"], 86400, "{shown}");
    // One that made it in vain leaves the way free.
    run(&first, "begin").await;
    assert_eq!(put(&first, "b", hourly.clone()).await["outcome"], "created");
    let (declared, ()) = tokio::join!(put(&second, "b", daily), async {
        until_blocked(&watcher, "schedule_put").await;
        run(&first, "rollback").await;
    });
    assert_eq!(declared["outcome"], "created", "{declared}");
}
