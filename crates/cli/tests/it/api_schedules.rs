//! Schedules over HTTP.

use serde_json::{Value, json};
use tenure::services::scheduler;

use crate::api::{Api, key};
use crate::workbench::{Workbench, text_of};

/// A server without services, so that slots come when the test says so.
fn start(bench: &Workbench) -> (Api, String) {
    let api = Api::start_with(bench, &["--no-services"]);
    let roles = ["--role", "operator", "--role", "producer", "--role", "worker"];
    let all = key(bench, "ann", &roles);
    (api, all)
}

async fn look(bench: &Workbench) {
    let mut client = bench.database.connect().await.expect("connect");
    scheduler::run_once(&mut client).await.expect("a look");
}

#[tokio::test]
async fn a_schedule_is_made_changed_and_ended_over_http() {
    let bench = Workbench::open().await;
    let (api, all) = start(&bench);
    let new = json!({"name": "nightly", "kind": "report", "cron": "0 3 * * *", "zone": "Europe/Berlin", "start_at": "2099-01-01T00:00:00+01:00",
                     "jitter_seconds": 60, "priority": 7, "payload": {"n": 1.10}, "on_behalf_of": "bob"});
    let (status, made) = api.send(&all, "POST", "/v1/schedules", Some(&new));
    assert_eq!((status, &made["outcome"]), (201, &json!("created")), "{made}");
    assert_eq!(made["start_at"], "2098-12-31T23:00:00Z");
    let again = api.send(&all, "POST", "/v1/schedules", Some(&new));
    api.refused(again, 409, "schedule_exists");
    let path = "/v1/schedules/nightly";
    let shown = api.get(&all, path);
    assert_eq!(
        (&shown["priority"], &shown["payload"]),
        (&json!(7), &json!({"n": 1.10}))
    );

    // What is left out stays, and null is the default again.
    let patch = |body: Value| api.send(&all, "PATCH", path, Some(&body));
    let (status, changed) = patch(json!({"jitter_seconds": null, "priority": "bulk"}));
    assert_eq!((status, &changed["outcome"]), (200, &json!("updated")), "{changed}");
    assert_eq!(
        (&changed["jitter_seconds"], &changed["cron"]),
        (&json!(0), &json!("0 3 * * *"))
    );
    let (_, changed) = patch(json!({"every_seconds": 3600}));
    assert_eq!(
        (&changed["every_seconds"], &changed["cron"]),
        (&json!(3600), &Value::Null)
    );
    assert_eq!(patch(json!({})).1["outcome"], "unchanged");
    api.refused(patch(json!({"kind": null})), 422, "name_blank");
    api.refused(patch(json!({"zone": "Europe/Berln"})), 422, "zone_unknown");
    let refusal = api.refused(patch(json!({"crn": "x"})), 400, "request_invalid");
    assert!(text_of(&refusal, "next").contains("cron"), "{refusal}");

    // Declared: made equal to this, then left alone.
    let put = |name: &str| {
        let spec = json!({"kind": "report", "every_seconds": 60, "start_at": "2099-01-01T00:00:00Z"});
        let (status, answer) = api.send(&all, "PUT", &format!("/v1/schedules/{name}"), Some(&spec));
        (status, text_of(&answer, "outcome"))
    };
    assert_eq!(put("nightly"), (200, "updated".to_owned()));
    assert_eq!(put("nightly"), (200, "unchanged".to_owned()));
    assert_eq!(put("hourly"), (201, "created".to_owned()));
    // The name of the call beside it.
    assert_eq!(put("preview"), (201, "created".to_owned()));
    assert_eq!(api.get(&all, "/v1/schedules/preview")["name"], "preview");
    let paused = api.post(&all, "/v1/schedules/preview/pause", json!({"note": "n"}));
    assert_eq!(
        (&paused["state"], &paused["pause_note"]),
        (&json!("paused"), &json!("n"))
    );
    assert_eq!(
        api.post(&all, "/v1/schedules/preview/resume", json!({}))["state"],
        "active"
    );
    let (status, changed) = api.send(
        &all,
        "PATCH",
        "/v1/schedules/preview",
        Some(&json!({"description": "d"})),
    );
    assert_eq!((status, &changed["description"]), (200, &json!("d")));

    let page = api.get(&all, "/v1/schedules?limit=2");
    let names = |page: &Value| -> Vec<String> {
        let page = page["items"].as_array().expect("a page");
        page.iter().map(|schedule| text_of(schedule, "name")).collect()
    };
    assert_eq!(names(&page), ["hourly", "nightly"]);
    let next = text_of(&page, "next");
    let page = api.get(&all, &format!("/v1/schedules?limit=2&cursor={next}"));
    assert_eq!(page, api.get(&all, "/v1/schedules?limit=2&after=nightly"));
    assert_eq!((names(&page), &page["next"]), (vec!["preview".into()], &Value::Null));
    api.refused(
        api.send(&all, "GET", "/v1/schedules?limit=0", None),
        422,
        "number_out_of_range",
    );

    for name in ["hourly", "nightly", "preview"] {
        let (status, ended) = api.send(&all, "DELETE", &format!("/v1/schedules/{name}"), None);
        assert_eq!((status, &ended["name"]), (200, &json!(name)), "{ended}");
    }
    api.refused(api.send(&all, "GET", path, None), 404, "schedule_unknown");
    assert_eq!(api.get(&all, "/v1/schedules")["items"], json!([]));
}

#[tokio::test]
async fn when_it_runs_next_and_why_it_did_not_run_are_one_call_each() {
    let bench = Workbench::open().await;
    let (api, all) = start(&bench);
    let spec = json!({"kind": "report", "every_seconds": 86400, "start_at": "2026-01-01T00:30:00Z"});
    assert_eq!(api.send(&all, "PUT", "/v1/schedules/daily", Some(&spec)).0, 201);
    let preview = api.get(&all, "/v1/schedules/daily/preview?count=2");
    assert_eq!(
        (&preview["rule"], &preview["note"]),
        (&json!("every day"), &Value::Null),
        "{preview}"
    );
    let next = text_of(&preview["slots"][0], "plan_time");
    look(&bench).await;
    assert_eq!(api.get(&all, "/v1/schedules/daily")["next_slot"], next.as_str());
    let explain = |at: &str| api.get(&all, &format!("/v1/schedules/daily/explain?at={at}"));
    assert_eq!(explain(&next)["verdict"], "planned");
    assert_eq!(explain("2026-01-01T00:30:00Z")["verdict"], "before_schedule");
    assert_eq!(explain("2099-01-01T00:31:00Z")["verdict"], "no_slot");
    bench.advance("1 day").await;
    look(&bench).await;
    let told = explain(&next);
    assert_eq!(
        (&told["verdict"], &told["slot"]["state"]),
        (&json!("running"), &json!("running")),
        "{told}"
    );
    let slots = api.get(&all, "/v1/schedules/daily/slots?limit=1&state=running");
    assert_eq!(slots["items"][0]["plan_time"], next.as_str());
    let none = json!({"items": [], "next": null});
    let page = format!("/v1/schedules/daily/slots?state=running&before={next}");
    assert_eq!(api.get(&all, &page), none);
    let cursor = text_of(&slots, "next");
    let page = format!("/v1/schedules/daily/slots?state=running&cursor={cursor}");
    assert_eq!(api.get(&all, &page), none);
    let job = api.post(&all, "/v1/jobs/claim", json!({"worker": "w"}))["jobs"][0].clone();
    assert_eq!(job["job_id"], told["slot"]["job_id"]);
    assert_eq!(
        (&job["slot"]["schedule"], &job["step"]),
        (&json!("daily"), &Value::Null)
    );
    let busy = api.send(&all, "DELETE", "/v1/schedules/daily", None);
    api.refused(busy, 409, "state_conflict");
    let skipped = api.post(&all, "/v1/schedules/daily/run", json!({}));
    assert_eq!(
        (&skipped["state"], &skipped["skip_reason"]),
        (&json!("skipped"), &json!("overlap"))
    );

    // Earlier slots, which nobody ran: a dry run first.
    let range = |mode: Value| json!({"from": "2026-01-01T00:00:00Z", "until": "2026-01-02T02:00:00Z", "mode": mode, "stagger_seconds": 5});
    let backfill = |body: Value| api.post(&all, "/v1/schedules/daily/backfill", body)["items"].clone();
    let dry = backfill(range(Value::Null));
    assert_eq!(
        (dry.as_array().map(Vec::len), &dry[0]["verdict"]),
        (Some(2), &json!("runs")),
        "{dry}"
    );
    assert_eq!(explain("2026-01-01T00:30:00Z")["slot"], Value::Null);
    assert_eq!(backfill(range(json!("apply")))[1]["state"], "planned");
    assert_eq!(backfill(range(json!("dry_run")))[0]["verdict"], "stands");
    assert_eq!(explain("2026-01-01T00:30:00Z")["slot"]["origin"], "backfill");
    let send = |body: Value| api.send(&all, "POST", "/v1/schedules/daily/backfill", Some(&body));
    api.refused(send(range(json!("aply"))), 422, "value_unknown");
    let none = json!({"from": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:00:00Z", "stagger_seconds": -1});
    api.refused(send(none), 422, "number_out_of_range");
    let future = json!({"from": "2026-01-01T00:00:00Z", "until": "2999-01-01T00:00:00Z"});
    api.refused(send(future), 422, "range_invalid");
}

#[tokio::test]
async fn a_rule_is_understood_without_a_schedule() {
    let bench = Workbench::open().await;
    let (api, all) = start(&bench);
    let rule = json!({"cron": "30 2 * * *", "zone": "Europe/Berlin", "start_at": "2027-03-27T12:00:00Z"});
    let told = api.post(&all, "/v1/schedules/preview", json!({"rule": rule, "count": 2}));
    assert_eq!(told["rule"], "at 02:30 (Europe/Berlin)");
    assert_eq!(
        told["slots"][0]["local"], "2027-03-28T03:00:00+02:00[Europe/Berlin]",
        "{told}"
    );
    let refused = |body: Value, status: u16, code: &str| {
        api.refused(
            api.send(&all, "POST", "/v1/schedules/preview", Some(&body)),
            status,
            code,
        );
    };
    refused(json!({"rule": {"cron": "0 0 30 2 *"}}), 422, "expression_never_fires");
    refused(
        json!({"rule": {"cron": "@daily", "every_seconds": 60}}),
        422,
        "arguments_mismatched",
    );
    refused(
        json!({"rule": {"every_seconds": 60, "start_at": "-infinity"}}),
        422,
        "number_out_of_range",
    );
    refused(
        json!({"rule": {"every_seconds": 60}, "count": 1001}),
        422,
        "number_out_of_range",
    );
    refused(
        json!({"rule": {"every_seconds": 60}, "count": -1}),
        422,
        "number_out_of_range",
    );
    refused(json!({"rule": ["@daily"]}), 400, "request_invalid");
    refused(json!({"rule": {"corn": "@daily"}}), 400, "request_invalid");
    refused(json!({}), 400, "request_invalid");
}

#[tokio::test]
async fn who_may_only_look_changes_no_schedule() {
    let bench = Workbench::open().await;
    let (api, all) = start(&bench);
    let spec = json!({"kind": "report", "every_seconds": 3600, "start_at": "2099-01-01T00:00:00Z"});
    assert_eq!(api.send(&all, "PUT", "/v1/schedules/s", Some(&spec)).0, 201);
    let before = api.get(&all, "/v1/schedules/s");
    let range = json!({"from": "2026-01-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"});
    for role in ["viewer", "producer", "worker"] {
        let other = key(&bench, role, &["--role", role]);
        for path in ["s", "s/preview", "s/slots", "s/explain?at=2099-01-01T00:00:00Z"] {
            api.get(&other, &format!("/v1/schedules/{path}"));
        }
        api.post(&other, "/v1/schedules/preview", json!({"rule": {"every_seconds": 60}}));
        for (method, path, body) in [
            ("PUT", "s", spec.clone()),
            ("PATCH", "s", json!({"description": "x"})),
            ("DELETE", "s", Value::Null),
            ("POST", "s/pause", json!({})),
            ("POST", "s/resume", json!({})),
            ("POST", "s/run", json!({})),
            ("POST", "s/backfill", range.clone()),
        ] {
            let body = (!body.is_null()).then_some(&body);
            let reply = api.send(&other, method, &format!("/v1/schedules/{path}"), body);
            api.refused(reply, 403, "not_permitted");
        }
    }
    assert_eq!(api.get(&all, "/v1/schedules/s"), before);
    // A key for some kinds plans no other.
    let few = key(
        &bench,
        "few",
        &["--role", "operator", "--role", "producer", "--job-kind", "mail"],
    );
    let reply = api.send(&few, "PUT", "/v1/schedules/t", Some(&spec));
    assert_eq!(reply.0, 403, "{}", reply.1);
}
