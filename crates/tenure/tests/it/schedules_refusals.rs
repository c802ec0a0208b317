//! What makes no schedule: each refusal says what, why and what next, and leaves nothing behind.

use serde_json::{Value, json};
use tenure::operations::Perform;
use tenure::schedules;
use tenure_api::schedules::ScheduleUpdate;
use tokio_postgres::Client;

use crate::fixture::{get, one, refused, run};
use crate::schedules_scene::{on_the_hour, schedule};

async fn create(c: &Client, name: &str, spec: Value) -> Value {
    one(c, "select tenure.schedule_create($1, $2)", &[&name, &spec]).await
}

/// By the database alone, whoever calls.
#[tokio::test]
async fn what_makes_no_schedule_is_refused_by_the_database() {
    let (_db, c) = on_the_hour().await;
    for (more, code) in [
        (
            json!({"every_seconds": 60, "cron": "* * * * *"}),
            "arguments_mismatched",
        ),
        (json!({}), "arguments_mismatched"),
        (json!({"cron": "0 0 3 * * *"}), "expression_invalid"),
        (json!({"cron": "0 3 * *"}), "expression_invalid"),
        (json!({"cron": ""}), "expression_invalid"),
        (json!({"cron": 5}), "text_invalid"),
        (json!({"every_seconds": 0}), "expression_too_frequent"),
        (json!({"every_seconds": -60}), "expression_too_frequent"),
        (json!({"every_seconds": 9}), "expression_too_frequent"),
        (json!({"every_seconds": 31_622_401}), "number_out_of_range"),
        (json!({"every_seconds": 60.5}), "number_out_of_range"),
        (json!({"every_seconds": "60"}), "number_out_of_range"),
        (json!({"every_seconds": 1e300}), "number_out_of_range"),
        (
            json!({"every_seconds": 60, "jitter_seconds": 60}),
            "number_out_of_range",
        ),
        (
            json!({"every_seconds": 60, "jitter_seconds": -1}),
            "number_out_of_range",
        ),
        (
            json!({"cron": "0 0 1 * *", "jitter_seconds": 86_401}),
            "number_out_of_range",
        ),
        (
            json!({"every_seconds": 60, "zone": "Europe/Berlin; drop"}),
            "zone_unknown",
        ),
        (json!({"every_seconds": 60, "zone": ""}), "zone_unknown"),
        (
            json!({"every_seconds": 60, "start_at": "2030-01-02T00:00:00Z", "end_at": "2030-01-01T00:00:00Z"}),
            "range_invalid",
        ),
        (
            json!({"every_seconds": 60, "start_at": "2030-01-02T00:00:00Z", "end_at": "2030-01-02T00:00:00Z"}),
            "range_invalid",
        ),
        (json!({"every_seconds": 60, "start_at": "tomorrow"}), "text_invalid"),
        (json!({"every_seconds": 60, "start_at": "infinity"}), "text_invalid"),
        (json!({"every_seconds": 60, "start_at": "2030-01-02"}), "text_invalid"),
        (
            json!({"every_seconds": 60, "start_at": "2030-02-30T00:00:00Z"}),
            "text_invalid",
        ),
        (
            json!({"every_seconds": 60, "start_at": "2030-01-02T00:00:00+99:00"}),
            "text_invalid",
        ),
        (json!({"every_seconds": 60, "end_at": 7}), "text_invalid"),
        (json!({"every_seconds": 60, "scope_kind": " "}), "name_blank"),
        (
            json!({"every_seconds": 60, "scope_id": "x".repeat(201)}),
            "name_invalid",
        ),
        (json!({"every_seconds": 60, "kind": ""}), "name_blank"),
        (json!({"every_seconds": 60, "kind": null}), "name_blank"),
        (json!({"every_seconds": 60, "executor": "MOT"}), "executor_cannot_claim"),
        (json!({"every_seconds": 60, "executor": "nobody"}), "executor_unknown"),
        (json!({"every_seconds": 60, "overlap": "sometimes"}), "value_unknown"),
        (json!({"every_seconds": 60, "catch_up": "all"}), "value_unknown"),
        (json!({"every_seconds": 60, "reentry": "maybe"}), "value_unknown"),
        (
            json!({"every_seconds": 60, "catch_up_window_seconds": 59}),
            "number_out_of_range",
        ),
        (
            json!({"every_seconds": 60, "catch_up_slots_max": 101}),
            "number_out_of_range",
        ),
        (
            json!({"every_seconds": 60, "run_timeout_seconds": 0}),
            "number_out_of_range",
        ),
        (
            json!({"every_seconds": 60, "attempts_max": 1001}),
            "number_out_of_range",
        ),
        (
            json!({"every_seconds": 60, "backoff_base_seconds": 86_401}),
            "number_out_of_range",
        ),
        (json!({"every_seconds": 60, "payload": [1]}), "payload_not_object"),
        (json!({"every_seconds": 60, "payload": "x"}), "payload_not_object"),
        (
            json!({"every_seconds": 60, "payload": {"password": "x"}}),
            "payload_forbidden_key",
        ),
        (
            json!({"every_seconds": 60, "payload": {"x": "y".repeat(8192)}}),
            "payload_too_large",
        ),
        (
            json!({"every_seconds": 60, "classification": "secret"}),
            "value_unknown",
        ),
        (json!({"every_seconds": 60, "priority": "highest"}), "priority_unknown"),
        (
            json!({"every_seconds": 60, "description": "x".repeat(8193)}),
            "payload_too_large",
        ),
        (json!({"every_seconds": 60, "interval": 60}), "value_unknown"),
        (json!({"every_seconds": 60, "tenant_id": 2}), "value_unknown"),
    ] {
        let mut spec = json!({"kind": "report"});
        for (field, value) in more.as_object().expect("an object") {
            spec[field] = value.clone();
        }
        let answer = create(&c, "a", spec.clone()).await;
        assert_eq!(answer["code"], code, "{spec} {answer}");
        refused(&answer, code);
    }
    for spec in [json!([]), json!("x"), Value::Null] {
        refused(&create(&c, "a", spec).await, "payload_not_object");
    }
    refused(
        &create(&c, " ", json!({"every_seconds": 60, "kind": "report"})).await,
        "name_blank",
    );
    refused(
        &create(&c, &"x".repeat(201), json!({"every_seconds": 60, "kind": "report"})).await,
        "name_invalid",
    );
    run(&c, "select tenure.config_set('queue.kind.strict', 'true')").await;
    refused(
        &create(&c, "a", json!({"every_seconds": 60, "kind": "report"})).await,
        "kind_unknown",
    );
    let left: i64 = get(&c, "select (select count(*) from tenure.schedules) + (select count(*) from tenure.events where kind like 'schedule.%')", &[]).await;
    assert_eq!(left, 0, "nothing is left of what was refused");
    run(&c, "select tenure.config_set('queue.kind.strict', 'false')").await;
    schedule(&c, "a", json!({"every_seconds": 60})).await;
    refused(
        &create(&c, "a", json!({"every_seconds": 60, "kind": "report"})).await,
        "schedule_exists",
    );
}

/// What needs the calendar is refused by the library that programs and the server call.
#[tokio::test]
async fn what_names_no_moment_or_too_many_is_refused_before_the_database_is_asked() {
    let (_db, c) = on_the_hour().await;
    for (rule, code, says) in [
        (
            json!({"cron": "0 3 * * *", "zone": "Europe/Berln"}),
            "zone_unknown",
            "Europe/Berlin",
        ),
        (
            json!({"every_seconds": 60, "zone": "Mars/Base"}),
            "zone_unknown",
            "Mars/Base",
        ),
        (json!({"cron": "0 0 30 2 *"}), "expression_never_fires", ""),
        (json!({"cron": "0 0 3 * * *"}), "expression_invalid", "five"),
        (json!({"cron": "* * * * * *"}), "expression_invalid", "five"),
        (json!({"cron": "61 * * * *"}), "expression_invalid", "61"),
        (json!({"every_seconds": 1}), "expression_too_frequent", ""),
        (json!({"every_seconds": 0}), "expression_too_frequent", ""),
        (
            json!({"cron": "* * * * *", "jitter_seconds": 60}),
            "number_out_of_range",
            "59",
        ),
        (json!({}), "arguments_mismatched", ""),
    ] {
        let mut spec = rule.clone();
        spec["kind"] = json!("report");
        for (verb, answer) in [
            ("create", schedules::create(&c, "a", &spec, None).await),
            ("put", schedules::put(&c, "a", &spec, None).await),
        ] {
            let error = answer.expect_err(verb);
            let refusal = error.refusal();
            assert_eq!(refusal.code.to_string(), code, "{verb} {rule}: {refusal:?}");
            let text = format!("{} {} {}", refusal.what, refusal.why, refusal.next);
            assert!(text.contains(says), "{text}");
        }
    }
    let none: i64 = get(&c, "select count(*) from tenure.schedules", &[]).await;
    assert_eq!(none, 0);

    let fine = json!({"cron": "0 3 * * *", "zone": "Europe/Berlin", "kind": "report", "jitter_seconds": 600});
    schedules::create(&c, "a", &fine, None).await.expect("a schedule");
    for (changes, code) in [
        (json!({"zone": "Europe/Berln"}), "zone_unknown"),
        (json!({"cron": "0 0 31 4 *"}), "expression_never_fires"),
        (json!({"every_seconds": 600}), "number_out_of_range"),
        (json!({"jitter_seconds": 86400}), "number_out_of_range"),
        (json!({"cron": null}), "arguments_mismatched"),
    ] {
        let update: ScheduleUpdate =
            serde_json::from_value(json!({"name": "a", "changes": changes})).expect("an update");
        let error = update.perform(&c).await.expect_err("a refusal");
        let refusal = error.refusal();
        assert_eq!(refusal.code.to_string(), code, "{changes}: {refusal:?}");
    }
    let rule: String = get(&c, "select cron from tenure.schedule_show('a')", &[]).await;
    assert_eq!(rule, "0 3 * * *", "and nothing has changed");
}
