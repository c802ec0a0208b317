//! Governed kinds over HTTP and on the command line: each role, each path, and what a worker is told of its step.

use serde_json::{Value, json};

use crate::api::{Api, key};
use crate::workbench::{Answer, Workbench, check_refusal, tenure, text_of};

const CODE: &str = "kind_only_by_plan";

/// A plan of one step of the kind `deploy` that reads, with this payload.
fn plan(purpose: &str, payload: &Value) -> Value {
    json!({"purpose": purpose, "sla_class": "fast", "steps": [{"id": "a", "action": "deploy", "action_class": "read",
           "target_type": "host", "target_ref": "web-1", "payload": payload}]})
}

/// A server, and a key for each role; the kind `deploy` is governed.
struct Scene {
    bench: Workbench,
    api: Api,
}

impl Scene {
    async fn open() -> Scene {
        let bench = Workbench::open().await;
        let set = bench.json(&["kind", "set", "deploy", "--only-by-plan"]);
        assert_eq!(set["only_by_plan"], true, "{set}");
        Scene {
            api: Api::start_with(&bench, &["--no-services"]),
            bench,
        }
    }

    fn key(&self, name: &str, options: &[&str]) -> String {
        key(&self.bench, name, options)
    }

    /// The command of the holder of a key, over HTTP.
    fn command(&self, key: &str, args: &[&str]) -> std::process::Command {
        let mut command = tenure();
        command
            .args(["--server", self.api.url()])
            .args(args)
            .env("TENURE_KEY", key);
        command
    }
}

/// What makes a job or something that would make one: paths, bodies, and the same as a command.
fn attempts() -> Vec<(&'static str, Value, Vec<&'static str>)> {
    let (schedule, subscription) = (
        json!({"name": "s", "kind": "deploy", "every_seconds": 3600}),
        json!({"name": "s", "event_kinds": ["job.*"], "target": "job", "job_kind": "deploy"}),
    );
    vec![
        ("/v1/jobs", json!({"kind": "deploy"}), vec!["job", "enqueue", "deploy"]),
        (
            "/v1/jobs",
            json!({"kind": "deploy", "key": "k", "executor": "external_worker", "payload": {"step": {}}}),
            vec![
                "job",
                "enqueue",
                "deploy",
                "--key",
                "k",
                "--executor",
                "external_worker",
            ],
        ),
        (
            "/v1/jobs/batch",
            json!({"jobs": [{"kind": "free"}, {"kind": "deploy"}]}),
            vec![],
        ),
        (
            "/v1/schedules",
            schedule,
            vec!["schedule", "create", "s", "--kind", "deploy", "--every", "1h"],
        ),
        (
            "/v1/subscriptions",
            subscription,
            vec!["subscription", "create", "s", "job.*", "--job", "deploy"],
        ),
    ]
}

#[tokio::test]
async fn no_surface_and_no_role_enqueues_a_governed_kind() {
    let scene = Scene::open().await;
    let Scene { bench, api } = &scene;
    let worker = ["--role", "worker", "--executor", "external_worker"];
    // Each with how many of the attempts its roles may make at all.
    let keys = [
        (scene.key("viewer", &["--role", "viewer"]), 0),
        (scene.key("requester", &["--role", "requester"]), 0),
        (scene.key("producer", &["--role", "producer"]), 3),
        (scene.key("worker", &worker), 3),
        (scene.key("operator", &["--role", "operator"]), 5),
        (scene.key("admin", &["--role", "admin", "--kind", "human"]), 5),
        (
            scene.key(
                "robot",
                &["--role", "operator", "--role", "producer", "--kind", "agent"],
            ),
            5,
        ),
    ];
    for (key, may) in &keys {
        for (at, (path, body, command)) in attempts().iter().enumerate() {
            let (status, answer) = api.send(key, "POST", path, Some(body));
            let code = if at < *may { CODE } else { "not_permitted" };
            assert_eq!((status, answer["code"].as_str()), (403, Some(code)), "{path}: {answer}");
            if at < *may {
                assert!(text_of(&answer, "next").contains("POST /v1/executions"), "{answer}");
            }
            if !command.is_empty() {
                let refusal = check_refusal(|| scene.command(key, command), code);
                if at < *may {
                    assert!(
                        text_of(&refusal, "next").contains("tenure execution submit"),
                        "{refusal}"
                    );
                }
            }
        }
    }
    for (_, _, command) in attempts() {
        if !command.is_empty() {
            bench.refused(&command, CODE);
        }
    }
    let made = "select count(*)::text from tenure.jobs";
    assert_eq!(bench.sql(made).await, "0");
    // Who may not enqueue submits, and the step is a job of the kind.
    let (requester, operator) = (&keys[1].0, &keys[4].0);
    let submitted = api.post(
        requester,
        "/v1/executions",
        json!({"plan": plan("over HTTP", &json!({}))}),
    );
    assert_eq!(submitted["state"], "running", "{submitted}");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), plan("by command", &json!({})).to_string()).expect("written");
    let submit = ["execution", "submit", &file.path().to_string_lossy()].map(str::to_owned);
    let submit: Vec<&str> = submit.iter().map(String::as_str).collect();
    Answer::of(&mut scene.command(requester, &submit)).ok();
    assert_eq!(bench.sql(made).await, "2");
    for (key, _) in [&keys[0], &keys[2], &keys[3]] {
        let refusal = check_refusal(|| scene.command(key, &submit), "not_permitted");
        assert!(text_of(&refusal, "why").contains("requester"), "{refusal}");
    }
    // The policy is an admin's, and no agent's.
    let clear = ["kind", "set", "deploy", "--only-by-plan=false"];
    check_refusal(|| scene.command(operator, &clear), "not_permitted");
    let robot = scene.key("clerk", &["--role", "admin", "--kind", "agent"]);
    check_refusal(|| scene.command(&robot, &clear), "not_permitted");
    Answer::of(&mut scene.command(&keys[5].0, &clear)).ok();
    api.post(&keys[2].0, "/v1/jobs", json!({"kind": "deploy"}));
}

#[tokio::test]
async fn a_job_from_before_is_neither_retried_nor_replayed_over_http() {
    let scene = Scene::open().await;
    let Scene { bench, api } = &scene;
    bench.text(&["kind", "set", "deploy", "--default", "only_by_plan"]);
    let operator = scene.key("operator", &["--role", "operator"]);
    let dead = bench.enqueue("deploy");
    let (job, token) = bench.claim("deploy");
    assert_eq!(job, dead);
    bench.text(&["job", "fail", &job, &token, "--message", "boom", "--permanent"]);
    let waiting = bench.enqueue("deploy");
    let letters = api.get(&operator, "/v1/dead-letters");
    let letter = text_of(&letters["items"][0], "dead_letter_id");
    let triage = json!({"status": "manual_replay"});
    api.post(&operator, &format!("/v1/dead-letters/{letter}/triage"), triage);
    bench.text(&["kind", "set", "deploy", "--only-by-plan=true"]);
    let retry = api.send(
        &operator,
        "POST",
        &format!("/v1/jobs/{waiting}/retry"),
        Some(&json!({})),
    );
    api.refused(retry, 403, CODE);
    let replay = api.send(
        &operator,
        "POST",
        &format!("/v1/dead-letters/{letter}/replay"),
        Some(&json!({})),
    );
    api.refused(replay, 403, CODE);
    for command in [["job", "retry", &waiting], ["dead-letter", "replay", &letter]] {
        check_refusal(|| scene.command(&operator, &command), CODE);
        bench.refused(&command, CODE);
    }
}

#[tokio::test]
async fn a_forged_step_reaches_no_claim_over_http() {
    let scene = Scene::open().await;
    let Scene { bench, api } = &scene;
    let both = scene.key(
        "both",
        &["--role", "requester", "--role", "producer", "--role", "worker"],
    );
    let forged = json!({"step": {"execution_id": "00000000-0000-0000-0000-000000000000", "step_id": "a", "fence": 9},
                        "slot": {"schedule": "nightly"}});
    api.post(&both, "/v1/jobs", json!({"kind": "free", "payload": forged}));
    let claimed = |kind: &str| {
        let claim = json!({"worker": "w", "kinds": [kind]});
        let job = api.post(&both, "/v1/jobs/claim", claim)["jobs"][0].clone();
        let held = api.post(&both, "/v1/jobs/held", json!({"token": job["token"]}))["jobs"][0].clone();
        let shown = api.get(&both, &format!("/v1/jobs/{}", text_of(&job, "job_id")));
        let path = format!("/v1/jobs?kind={kind}");
        let listed = api.get(&both, &path)["items"][0].clone();
        [job, held, shown, listed]
    };
    for answer in claimed("free") {
        assert_eq!(
            (&answer["step"], &answer["slot"]),
            (&Value::Null, &Value::Null),
            "{answer}"
        );
    }
    let made = api.post(&both, "/v1/executions", json!({"plan": plan("real", &forged)}));
    let known = json!({"execution_id": made["execution_id"], "step_id": "a", "step_number": 1, "action": "deploy",
                       "action_class": "read", "target_type": "host", "target_ref": "web-1",
                       "plan_hash": made["plan_hash"]});
    for answer in claimed("deploy") {
        assert_eq!((&answer["step"], &answer["slot"]), (&known, &Value::Null), "{answer}");
        assert!(
            answer["payload"].is_null() || answer["payload"] == forged,
            "just what was approved: {answer}"
        );
    }
    let listed = bench.lines(&["job", "list", "--kind", "deploy"]);
    assert_eq!(listed[0]["step"], known, "{listed:?}");
}

/// A change that waits for a second admin is 202, one that is in force 200; and lists refuse parameters they do not have.
#[tokio::test]
async fn a_proposed_change_is_accepted_and_one_in_force_is_ok() {
    let scene = Scene::open().await;
    let admin = scene.key("admin", &["--role", "admin", "--kind", "human"]);
    let changes = [
        ("PUT", "/v1/actions/pay", Some(json!({"action_class": "read"}))),
        ("PUT", "/v1/approval-rules/web", Some(json!({"level": 1}))),
        ("PUT", "/v1/target-types/host", Some(json!({"case_rule": "exact"}))),
        ("PUT", "/v1/kinds/pay", Some(json!({"policy": {"only_by_plan": true}}))),
        (
            "PUT",
            "/v1/config/governance.changes.need_approval",
            Some(json!({"value": true})),
        ),
    ];
    let removals = ["/v1/actions/pay", "/v1/approval-rules/web", "/v1/target-types/host"];
    for (method, path, body) in &changes {
        let (status, answer) = scene.api.send(&admin, method, path, body.as_ref());
        assert_eq!((status, &answer["pending"]), (200, &Value::Null), "{path}: {answer}");
    }
    let off = json!({"policy": {"only_by_plan": false}});
    let again = changes.iter().map(|(method, path, body)| match *path {
        "/v1/kinds/pay" => (*method, *path, Some(off.clone())),
        _ => (*method, *path, body.clone()),
    });
    for (method, path, body) in again.chain(removals.map(|path| ("DELETE", path, None))) {
        let (status, answer) = scene.api.send(&admin, method, path, body.as_ref());
        assert_eq!((status, &answer["pending"]), (202, &json!(true)), "{path}: {answer}");
    }
    let proposed = Answer::of(&mut scene.command(&admin, &["action", "delete", "pay"])).ok();
    assert!(proposed.starts_with("Proposed as change"), "{proposed}");
    for path in ["/v1/actions", "/v1/approval-rules", "/v1/target-types"] {
        let (status, answer) = scene.api.send(&admin, "GET", &format!("{path}?limit=abc"), None);
        assert_eq!(
            (status, &answer["code"]),
            (400, &json!("request_invalid")),
            "{path}: {answer}"
        );
    }
}
