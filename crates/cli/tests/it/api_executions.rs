//! Executions, approvals and locks over HTTP.

use serde_json::{Value, json};

use crate::api::{Api, Reply, key};
use crate::executions_scene::{look_and_change, plan_of, step};
use crate::workbench::{Workbench, eventually, text_of};

/// A server without services, one who asks, and one who allows.
fn start(bench: &Workbench) -> (Api, String, String) {
    let api = Api::start_with(bench, &["--no-services"]);
    let roles = [
        "--role",
        "operator",
        "--role",
        "requester",
        "--role",
        "worker",
        "--role",
        "approver",
        "--approver-level",
        "3",
    ];
    let ann = key(bench, "ann", &[&roles[..], &["--kind", "human"]].concat());
    let approver = ["--role", "approver", "--approver-level", "2", "--kind", "human"];
    let bob = key(bench, "bob", &approver);
    (api, ann, bob)
}

fn complete(api: &Api, key: &str, kind: &str) {
    let claim = json!({"worker": "w", "kinds": [kind], "wait_seconds": 10});
    let claimed = api.post(key, "/v1/jobs/claim", claim);
    let job = &claimed["jobs"][0];
    let path = format!("/v1/jobs/{}/complete", text_of(job, "job_id"));
    api.post(key, &path, json!({"token": job["token"], "result": {"done": true}}));
}

#[tokio::test]
async fn a_plan_is_submitted_decided_about_and_run_over_http() {
    let bench = Workbench::open().await;
    let (api, ann, bob) = start(&bench);
    let plan = look_and_change("mend it", "mend", "web-1");
    let submit = |body: Value| api.send(&ann, "POST", "/v1/executions?wait_seconds=20", Some(&body));
    // It waits for somebody, so nobody waits for it.
    let (status, made) = submit(json!({"plan": plan, "key": "k1", "metadata": {"ticket": 7}}));
    assert_eq!((status, &made["state"]), (201, &json!("awaiting_approval")), "{made}");
    assert_eq!(made["execution"]["settled"], true);
    let (id, hash) = (text_of(&made, "execution_id"), text_of(&made, "plan_hash"));
    let path = format!("/v1/executions/{id}");
    let (status, again) = submit(json!({"plan": plan, "key": "k1", "plan_hash": hash}));
    assert_eq!((status, &again["execution_id"]), (200, &made["execution_id"]));
    assert_eq!(again["duplicate"], true);
    let other = look_and_change("another", "mend", "web-1");
    let differs = api.refused(submit(json!({"plan": other, "key": "k1"})), 409, "plan_differs");
    assert!(text_of(&differs, "what").contains(&hash), "{differs}");
    let wrong = submit(json!({"plan": other, "plan_hash": hash}));
    let wrong = api.refused(wrong, 409, "plan_hash_mismatch");
    assert!(text_of(&wrong, "what").contains(&hash), "{wrong}");

    let open = api.get(&bob, "/v1/approvals");
    assert_eq!(open["items"].as_array().map(Vec::len), Some(1), "{open}");
    let approval = text_of(&open["items"][0], "approval_id");
    let decide = |key: &str, body: Value| -> Reply {
        api.send(key, "POST", &format!("/v1/approvals/{approval}/decide"), Some(&body))
    };
    let yes = json!({"decision": "approve", "plan_hash": hash});
    api.refused(decide(&ann, yes.clone()), 403, "self_approval");
    let worker = key(&bench, "w", &["--role", "worker"]);
    api.refused(decide(&worker, yes.clone()), 403, "not_permitted");
    api.refused(
        decide(&bob, json!({"decision": "approve", "plan_hash": "0".repeat(64)})),
        409,
        "plan_hash_mismatch",
    );
    api.refused(
        decide(&bob, json!({"decision": "reject", "plan_hash": hash})),
        422,
        "comment_required",
    );
    let missing = decide(&bob, json!({"decision": "approve"}));
    api.refused(missing, 400, "request_invalid");
    let (status, decided) = decide(&bob, yes.clone());
    assert_eq!(
        (status, &decided["execution_state"]),
        (200, &json!("running")),
        "{decided}"
    );
    api.refused(decide(&bob, yes), 409, "approval_decided");
    let about = api.get(&bob, &format!("/v1/approvals/{approval}"));
    assert_eq!(
        (&about["plan_hash"], &about["votes"][0]["principal"]),
        (&json!(hash), &json!("bob"))
    );
    let nobody = "/v1/approvals/01990000-0000-7000-8000-000000000001";
    let nobody = api.send(&bob, "GET", nobody, None);
    api.refused(nobody, 404, "approval_unknown");
    let votes = api.get(&bob, &format!("/v1/approvals/{approval}/votes"));
    assert_eq!(votes["items"][0]["principal"], "bob");

    // Whoever waits is told of the end as it comes.
    let shown = std::thread::scope(|scope| {
        let waits = scope.spawn(|| api.get(&bob, &format!("{path}?wait_seconds=40")));
        complete(&api, &ann, "mend");
        let locks = api.get(&bob, "/v1/locks?target=host:web-1");
        assert_eq!(locks["items"][0]["step_id"], "change", "{locks}");
        complete(&api, &ann, "mend");
        waits.join().expect("an answer")
    });
    assert_eq!(
        (&shown["state"], &shown["settled"]),
        (&json!("succeeded"), &json!(true)),
        "{shown}"
    );
    assert_eq!(shown["metadata"], json!({"ticket": 7}));
    let steps = api.get(&bob, &format!("{path}/steps?state=succeeded"));
    assert_eq!(steps["items"].as_array().map(Vec::len), Some(2));
    let told = api.get(&bob, &format!("{path}/timeline?after=2&limit=3"));
    assert_eq!(told["items"][0]["seq"], 3, "{told}");
    let next = text_of(&told, "next");
    let more = api.get(&bob, &format!("{path}/timeline?cursor={next}&limit=3"));
    assert_eq!(more["items"][0]["seq"], 6, "{more}");
    let frozen = text_of(&api.get(&bob, &format!("{path}/plan")), "canonical");
    assert!(frozen.starts_with(r#"{"purpose":"mend it""#), "{frozen}");
    let same = api.get(&bob, &format!("{path}/difference?other_id={id}"));
    assert_eq!(same["equal"], true);
    // Whoever follows events finds it by its id.
    let events = eventually("the end in the stream", || {
        let page = api.get(&bob, &format!("/v1/events?subject={id}&limit=1000"));
        let kinds: Vec<String> = page["items"]
            .as_array()?
            .iter()
            .map(|event| text_of(event, "kind"))
            .collect();
        kinds.contains(&"execution.completed".to_owned()).then_some(kinds)
    });
    for kind in ["execution.submitted", "approval.vote", "step.completed"] {
        assert!(events.iter().any(|told| told == kind), "{kind}: {events:?}");
    }
    let page = api.get(&bob, "/v1/executions?limit=1&requested_by=ann");
    assert_eq!(page["items"][0]["execution_id"], id, "{page}");
    let next = text_of(&page, "next");
    for rest in [format!("cursor={next}"), format!("before={id}")] {
        let page = api.get(&bob, &format!("/v1/executions?{rest}"));
        assert_eq!(page, json!({"items": [], "next": null}));
    }
}

/// The answer comes when the work is done; when the wait is over before, the work goes on in the background, visibly.
#[tokio::test]
async fn an_immediate_plan_is_answered_when_it_is_over_or_goes_on_in_the_background() {
    let bench = Workbench::open().await;
    let (api, ann, _) = start(&bench);
    let mut plan = plan_of("look", vec![step("look", "read", "look", "web-1", &[])]);
    plan["mode"] = json!("immediate");
    let (status, made) = std::thread::scope(|scope| {
        let body = json!({"plan": plan});
        let (api, ann) = (&api, &ann);
        let waits = scope.spawn(move || api.send(ann, "POST", "/v1/executions?wait_seconds=40", Some(&body)));
        complete(api, ann, "look");
        waits.join().expect("an answer")
    });
    assert_eq!((status, &made["state"]), (201, &json!("succeeded")), "{made}");
    assert_eq!(made["execution"]["steps"][0]["output_summary"], json!({"done": true}));

    plan["purpose"] = json!("look again");
    let (status, made) = api.send(
        &ann,
        "POST",
        "/v1/executions?wait_seconds=1",
        Some(&json!({"plan": plan})),
    );
    assert_eq!((status, &made["state"]), (202, &json!("running")), "{made}");
    assert_eq!(made["execution"]["mode"], "background");
    complete(&api, &ann, "look");
    let path = format!("/v1/executions/{}?wait_seconds=20", text_of(&made, "execution_id"));
    assert_eq!(api.get(&ann, &path)["state"], "succeeded");
}

#[tokio::test]
async fn what_is_no_plan_or_no_request_is_told_where_and_why() {
    let bench = Workbench::open().await;
    let (api, ann, _) = start(&bench);
    let plan = look_and_change("p", "k", "h");
    let post = |path: &str, body: &Value| api.send(&ann, "POST", path, Some(body));
    api.refused(post("/v1/executions", &json!({})), 400, "request_invalid");
    let near = api.refused(
        post("/v1/executions", &json!({"plan": plan, "supersede": "x"})),
        400,
        "request_invalid",
    );
    assert!(text_of(&near, "next").contains("supersedes"), "{near}");
    for wait in ["41", "-1", "soon"] {
        let (status, body) = post(&format!("/v1/executions?wait_seconds={wait}"), &json!({"plan": plan}));
        assert!(status == 422 || status == 400, "{wait}: {body}");
    }
    // The text counts, not what a reader makes of it: a name that is there twice is no plan.
    let twice = format!(
        r#"{{"plan": {}, "key": "k"}}"#,
        plan.to_string().replacen('{', r#"{"purpose": "q", "#, 1)
    );
    let authorization = format!("Bearer {ann}");
    let raw = |headers: &[(&str, &str)], body: &str| {
        let own = [
            ("authorization", authorization.as_str()),
            ("content-type", "application/json"),
        ];
        api.raw("POST", "/v1/executions", &[&own[..], headers].concat(), Some(body))
    };
    let (status, body) = raw(&[], &twice);
    assert_eq!(status, 422, "{body}");
    assert!(
        text_of(&body, "what").contains("purpose") || text_of(&body, "why").contains("purpose"),
        "{body}"
    );
    // The header names the request, the field the execution.
    let body = json!({"plan": plan, "key": "a"}).to_string();
    let (status, first) = raw(&[("idempotency-key", "b")], &body);
    assert_eq!(status, 201, "{first}");
    let (status, same) = raw(&[("idempotency-key", "c")], &body);
    assert_eq!((status, &same["execution_id"]), (200, &first["execution_id"]));

    let nobody = "/v1/executions/01990000-0000-7000-8000-000000000001";
    for path in ["", "/plan", "/steps", "/timeline", "?wait_seconds=1"] {
        api.refused(
            api.send(&ann, "GET", &format!("{nobody}{path}"), None),
            404,
            "execution_unknown",
        );
    }
    for (verb, body) in [
        ("cancel", json!({"reason": "r"})),
        ("withdraw", json!({"reason": "r"})),
        ("close", json!({"reason": "r"})),
        ("retry", json!({})),
        ("resolve", json!({"step_id": "a", "verdict": "failed", "reason": "r"})),
    ] {
        api.refused(post(&format!("{nobody}/{verb}"), &body), 404, "execution_unknown");
    }
    let cancel = format!("/v1/executions/{}/cancel", text_of(&first, "execution_id"));
    api.refused(post(&cancel, &json!({"reason": " "})), 422, "name_blank");
    api.refused(post(&cancel, &json!({})), 400, "request_invalid");
}

#[tokio::test]
async fn rules_locks_timeouts_and_approvers_are_kept_over_http() {
    let bench = Workbench::open().await;
    let (api, ann, bob) = start(&bench);
    let admin = key(&bench, "root", &["--role", "admin"]);
    let put = |key: &str, path: &str, body: Value| api.send(key, "PUT", path, Some(&body));
    let rule = json!({"position": 5, "action_classes": ["modify"], "level": 1, "roles": ["sre"],
                      "window": {"days": [6, 7], "from": "22:00", "to": "04:00", "zone": "Europe/Berlin"}});
    let (status, set) = put(&admin, "/v1/approval-rules/nights", rule);
    assert_eq!((status, &set["name"]), (200, &json!("nights")), "{set}");
    api.refused(
        put(&bob, "/v1/approval-rules/x", json!({"level": 0})),
        403,
        "not_permitted",
    );
    api.refused(
        put(&admin, "/v1/approval-rules/x", json!({"level": 4})),
        422,
        "number_out_of_range",
    );
    api.refused(
        put(&admin, "/v1/approval-rules/x", json!({"levl": 1})),
        400,
        "request_invalid",
    );
    let rules = api.get(&bob, "/v1/approval-rules");
    assert_eq!(
        (&rules["items"][0]["name"], &rules["items"][0]["roles"]),
        (&json!("nights"), &json!(["sre"]))
    );

    let plan = look_and_change("p", "k", "h");
    let preview = api.post(&ann, "/v1/executions/preview", json!({"plan": plan}));
    assert_eq!(
        (&preview["rule"], &preview["roles"]),
        (&json!("nights"), &json!(["sre"])),
        "{preview}"
    );
    let made = api.post(&ann, "/v1/executions", json!({"plan": plan}));
    let path = format!("/v1/approvals/{}/decide", text_of(&made, "approval_id"));
    let yes = json!({"decision": "approve", "plan_hash": made["plan_hash"]});
    api.refused(api.send(&bob, "POST", &path, Some(&yes)), 403, "not_permitted");
    let roles = json!({"approval_roles": ["sre"]});
    let (status, _) = api.send(&admin, "PATCH", "/v1/principals/bob", Some(&roles));
    assert_eq!(status, 200);
    let decided = api.post(&bob, &path, yes);
    // It may start at night only.
    assert_eq!(decided["state"], "approved", "{decided}");
    let unknown = api.send(&admin, "PATCH", "/v1/principals/nobody", Some(&roles));
    api.refused(unknown, 404, "principal_unknown");
    let (status, _) = api.send(&admin, "DELETE", "/v1/approval-rules/nights", None);
    assert_eq!(status, 200);

    let taken = api.post(
        &ann,
        "/v1/locks/acquire",
        json!({"parts": ["host:b", "host:a"], "seconds": 60}),
    );
    let parts: Vec<&Value> = taken["locks"]
        .as_array()
        .expect("locks")
        .iter()
        .map(|lock| &lock["part"])
        .collect();
    assert_eq!(
        parts,
        [&json!("host:a"), &json!("host:b")],
        "in the order in which all are taken"
    );
    let held: Vec<Value> = taken["locks"]
        .as_array()
        .expect("locks")
        .iter()
        .map(|lock| json!({"part": lock["part"], "fence": lock["fence"]}))
        .collect();
    let worker = key(&bench, "w", &["--role", "worker"]);
    let again = api.send(
        &worker,
        "POST",
        "/v1/locks/acquire",
        Some(&json!({"parts": ["host:c", "host:a"], "seconds": 1})),
    );
    api.refused(again, 409, "lock_held");
    assert_eq!(
        api.get(&bob, "/v1/locks?target=host:c")["items"],
        json!([]),
        "all or none"
    );
    let foreign = json!({"locks": held});
    api.refused(
        api.send(&worker, "POST", "/v1/locks/release", Some(&foreign)),
        409,
        "lock_lost",
    );
    api.post(&ann, "/v1/locks/renew", json!({"locks": held, "seconds": 90}));
    api.post(&ann, "/v1/locks/break", json!({"part": "host:b", "reason": "r"}));
    api.post(&ann, "/v1/locks/release", json!({"locks": [held[0]]}));
    assert_eq!(api.get(&bob, "/v1/locks"), json!({"items": [], "next": null}));
    assert_eq!(api.get(&bob, "/v1/locks/waiters?part=host:a")["items"], json!([]));

    let (status, set) = put(
        &admin,
        "/v1/timeout-policies/fast/read",
        json!({"step_timeout_ms": 2000}),
    );
    assert_eq!((status, &set["step_timeout_ms"]), (200, &json!(2000)), "{set}");
    let policies = api.get(&bob, "/v1/timeout-policies");
    assert_eq!(policies["items"].as_array().map(Vec::len), Some(9));
    assert_eq!(
        (&policies["items"][0]["origin"], &policies["items"][1]["origin"]),
        (&json!("tenant"), &json!("default"))
    );
    api.post(&ann, "/v1/executions/freeze", json!({"reason": "holidays"}));
    api.post(&ann, "/v1/executions/unfreeze", json!({"reason": "over"}));
    assert_eq!(
        api.get(&bob, "/v1/execution-dead-letters?days=1"),
        json!({"items": [], "next": null})
    );
}

#[tokio::test]
async fn a_plan_that_lacks_a_field_leads_to_the_schema_that_the_server_answers() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let producer = key(&bench, "shop", &["--role", "producer"]);
    let body = json!({"plan": {"purpose": "p"}});
    let refusal = api.refused(
        api.send(&producer, "POST", "/v1/executions", Some(&body)),
        422,
        "plan_invalid",
    );
    assert_eq!(refusal["next"], "Add it; GET /plan.schema.json describes every field.");
    let (status, schema) = api.raw("GET", "/plan.schema.json", &[], None);
    assert_eq!((status, &schema["title"]), (200, &json!("Plan")));
}
