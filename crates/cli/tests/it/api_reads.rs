//! Finding jobs, waiting for their end, and what only operators and admins ask for.

use serde_json::{Value, json};

use crate::api::{Api, key};
use crate::workbench::{Workbench, eventually, text_of};

fn ids(jobs: &Value) -> Vec<String> {
    let jobs = jobs.as_array().expect("jobs");
    jobs.iter().map(|job| text_of(job, "job_id")).collect()
}

#[tokio::test]
async fn jobs_are_found_by_kind_state_executor_correlation_time_and_error() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let all = key(&bench, "all", &["--role", "producer", "--role", "worker"]);
    let enqueue = |body: Value| text_of(&api.post(&all, "/v1/jobs", body), "job_id");
    let first = enqueue(json!({"kind": "a", "correlation_id": "c 1", "executor": "Agent"}));
    let between = bench
        .sql("select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
        .await;
    bench.advance("1 day").await;
    let second = enqueue(json!({"kind": "b"}));
    let held = api.post(
        &all,
        "/v1/jobs/claim",
        json!({"worker": "w", "kinds": ["b"], "priority_min": 0}),
    );
    let token = held["jobs"][0]["token"].clone();
    let fail = json!({"token": token, "message": "no", "code": "disk_full", "retry_seconds": 60});
    api.post(&all, &format!("/v1/jobs/{second}/fail"), fail);
    for (query, found) in [
        ("", vec![&second, &first]),
        ("kind=a", vec![&first]),
        ("state=retry_waiting", vec![&second]),
        ("executor=Agent", vec![&first]),
        ("correlation_id=c+1", vec![&first]),
        (&format!("created_after={between}"), vec![&second]),
        (&format!("created_before={between}"), vec![&first]),
        ("error_code=disk_full", vec![&second]),
        ("error_code=disk_full&state=queued", vec![]),
        (&format!("before={second}&limit=1"), vec![&first]),
    ] {
        let page = api.get(&all, &format!("/v1/jobs?{query}"));
        assert_eq!(ids(&page["items"]).iter().collect::<Vec<_>>(), found, "{query}");
    }
    for wrong in [
        "created_after=yesterday",
        "created_after=2026-02-30T00:00:00Z",
        "before=7",
        "created_afte=2026-01-01T00:00:00Z",
    ] {
        let reply = api.send(&all, "GET", &format!("/v1/jobs?{wrong}"), None);
        api.refused(reply, 400, "request_invalid");
    }
    let low = json!({"worker": "w", "priority_min": 1});
    enqueue(json!({"kind": "c", "priority": 0}));
    assert_eq!(api.post(&all, "/v1/jobs/claim", low), json!({"jobs": []}));
}

/// Nobody holds a connection while waiting: twice as many wait as the server has.
#[tokio::test]
async fn whoever_waits_for_a_job_hears_of_its_end_from_any_other_process() {
    let bench = Workbench::open().await;
    let (api, other) = (Api::start(&bench), Api::start(&bench));
    let all = key(&bench, "all", &["--role", "producer", "--role", "worker"]);
    let (job, more) = (
        text_of(&api.post(&all, "/v1/jobs", json!({"kind": "a"})), "job_id"),
        text_of(&api.post(&all, "/v1/jobs", json!({"kind": "b"})), "job_id"),
    );
    let path = format!("/v1/jobs/{job}?wait_seconds=40");
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..20).map(|_| scope.spawn(|| api.get(&all, &path))).collect();
        let claim = json!({"worker": "w", "kinds": ["a"], "mode": "leased"});
        let held = other.post(&all, "/v1/jobs/claim", claim)["jobs"][0].clone();
        let token = json!({"token": held["token"]});
        other.post(&all, &format!("/v1/jobs/{job}/start"), token.clone());
        other.post(&all, &format!("/v1/jobs/{job}/complete"), token);
        waiting.into_iter().map(|one| one.join().expect("an answer")).collect()
    });
    assert!(
        answers.iter().all(|answer| answer["state"] == "succeeded"),
        "{answers:?}"
    );
    assert_eq!(api.get(&all, &path)["state"], "succeeded", "it has ended already");
    let waited = api.get(&all, &format!("/v1/jobs/{more}?wait_seconds=1"));
    assert_eq!(waited["state"], "queued", "the time was up");
    let long = api.send(&all, "GET", &format!("/v1/jobs/{more}?wait_seconds=41"), None);
    api.refused(long, 422, "number_out_of_range");
    let nobody = "/v1/jobs/01990000-0000-7000-8000-000000000001?wait_seconds=40";
    api.refused(api.send(&all, "GET", nobody, None), 404, "job_not_found");
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_found_by_its_token() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let all = key(&bench, "all", &["--role", "producer", "--role", "worker"]);
    let made = api.post(
        &all,
        "/v1/jobs/batch",
        json!({"jobs": [{"kind": "a"}, {"kind": "a", "payload": {"n": 1}}]}),
    );
    let token = "5f1c0c54-3a4e-4c1c-9d4c-0123456789ab";
    let claim = json!({"worker": "w", "limit": 5, "token": token, "mode": "leased"});
    let claimed = api.post(&all, "/v1/jobs/claim", claim.clone());
    let held = api.post(&all, "/v1/jobs/held", json!({"token": token}));
    assert_eq!((ids(&held["jobs"]), &held), (ids(&made["jobs"]), &claimed));
    api.refused(
        api.send(&all, "POST", "/v1/jobs/claim", Some(&claim)),
        409,
        "token_reused",
    );
    let pairs: Vec<Value> = ids(&held["jobs"])
        .iter()
        .map(|id| json!({"job_id": id, "token": token}))
        .collect();
    let started = api.post(&all, "/v1/jobs/start", json!({"jobs": pairs}));
    assert!(
        started["jobs"]
            .as_array()
            .is_some_and(|jobs| jobs.len() == 2 && jobs.iter().all(|job| job["status"] == "started")),
        "{started}"
    );
    let nothing = json!({"token": "00000000-0000-4000-8000-000000000000"});
    assert_eq!(api.post(&all, "/v1/jobs/held", nothing), json!({"jobs": []}));
}

#[tokio::test]
async fn operators_run_the_services_and_admins_bind_logins() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let worker = key(&bench, "w", &["--role", "producer", "--role", "worker"]);
    let operator = key(&bench, "ann", &["--role", "operator"]);
    let admin = bench.text(&["--quiet", "key", "create", "boss", "--role", "admin", "--installation"]);
    let admin = admin.trim();
    let job = text_of(&api.post(&worker, "/v1/jobs", json!({"kind": "a"})), "job_id");
    api.post(&worker, "/v1/jobs/claim", json!({"worker": "w", "lease_seconds": 60}));
    let reap = |body: Value| api.post(&operator, "/v1/jobs/reap", body)["items"].clone();
    assert_eq!(reap(json!({})), json!([]), "its lease is alive");
    // The server's own reaper may be faster.
    bench.advance("1 hour").await;
    let reaped = eventually("the lease to be seen as lost", || {
        let found = reap(json!({"mode": "dry_run"}));
        let lost = found[0]["finding"] == "expired";
        let state = api.get(&operator, &format!("/v1/jobs/{job}"))["state"].clone();
        (lost || state == "retry_waiting").then(|| reap(json!({})))
    });
    assert!(reaped.is_array(), "{reaped}");
    assert_eq!(api.get(&operator, &format!("/v1/jobs/{job}"))["state"], "retry_waiting");
    let swept = api.post(&operator, "/v1/jobs/sweep", json!({"limit": 10}));
    assert_eq!(swept["cleaned"], 0, "{swept}");
    let stale = api.get(&operator, "/v1/executors/stale?threshold_seconds=60");
    assert!(stale.to_string().contains("\"w\""), "{stale}");
    assert_eq!(api.get(&operator, "/v1/events/lag")["waiting_events"], 0);
    assert!(api.get(&operator, "/v1/doctor").is_object());
    for path in ["/v1/jobs/reap", "/v1/jobs/sweep"] {
        api.refused(api.send(&worker, "POST", path, Some(&json!({}))), 403, "not_permitted");
    }
    let body = json!({"tenant": bench.tenant, "principal": "etl", "kinds": ["a"]});
    api.refused(
        api.send(&operator, "PUT", "/v1/logins/etl", Some(&body)),
        403,
        "not_permitted",
    );
    let (status, bound) = api.send(admin, "PUT", "/v1/logins/etl", Some(&body));
    assert_eq!((status, &bound["principal"]), (200, &json!("etl")), "{bound}");
    assert_eq!(api.send(admin, "DELETE", "/v1/logins/etl", None).0, 200);
    api.refused(api.send(admin, "DELETE", "/v1/logins/etl", None), 403, "login_unbound");
}

/// A header is ASCII for sure; a name need not be.
#[tokio::test]
async fn a_tenant_with_any_name_can_be_named_in_the_header() {
    let bench = Workbench::open().await;
    for tenant in ["café", "50%", "日本"] {
        bench.text(&["tenant", "create", tenant]);
    }
    let api = Api::start(&bench);
    let root = bench.text(&["--quiet", "key", "create", "root", "--role", "viewer", "--installation"]);
    let bearer = format!("Bearer {}", root.trim());
    let ask = |tenant: &str| {
        let headers = [("authorization", bearer.as_str()), ("tenure-tenant", tenant)];
        api.raw("GET", "/v1/jobs", &headers, None)
    };
    for name in ["caf%C3%A9", "caf%c3%a9", "50%", "50%25", "%E6%97%A5%E6%9C%AC"] {
        assert_eq!(ask(name).0, 200, "{name}");
    }
    api.refused(ask("caf%E9"), 422, "text_invalid");
    api.refused(ask("caf%00"), 422, "text_invalid");
    api.refused(ask(""), 422, "name_blank");
    api.refused(ask("%09"), 422, "name_blank");
    api.refused(ask("caf"), 404, "tenant_unknown");
}
