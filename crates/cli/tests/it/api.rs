//! A running `tenure serve`, and what it answers.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::http::Agent;
use crate::workbench::Workbench;

/// A server on the workbench's database; killed with this value.
pub(crate) struct Api {
    child: Child,
    url: String,
    agent: Agent,
    /// What it said when it was ready.
    pub(crate) told: Value,
}

/// Status and body.
pub(crate) type Reply = (u16, Value);

impl Api {
    pub(crate) fn start(bench: &Workbench) -> Api {
        Api::start_with(bench, &[])
    }

    /// With more options.
    pub(crate) fn start_with(bench: &Workbench, options: &[&str]) -> Api {
        let mut command = bench.command(["serve", "--listen", "127.0.0.1:0", "--json", "--log", "warn"]);
        command.args(options);
        Api::of(command)
    }

    /// The server that this command runs, `serve` or `dev`.
    pub(crate) fn of(mut command: Command) -> Api {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("run");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let ready: Value = serde_json::from_str(&line).expect("what it says when it is ready");
        Api {
            child,
            url: ready["api"]
                .as_str()
                .or(ready["ready"].as_str())
                .expect("an address")
                .to_owned(),
            agent: Agent::new(),
            told: ready,
        }
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Who sends requests to it.
    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Its standard error, if that was piped.
    pub(crate) fn errors(&mut self) -> ChildStderr {
        self.child.stderr.take().expect("its errors")
    }

    /// Asks it to end.
    pub(crate) fn ask_to_stop(&self) {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        kill(Pid::from_raw(pid), Signal::SIGTERM).expect("it can be asked");
    }

    /// Asks it to end, and says whether it ended well.
    pub(crate) fn stop(mut self) -> bool {
        self.ask_to_stop();
        self.child.wait().expect("it ends").success()
    }

    /// Sends a request as the holder of a key.
    pub(crate) fn send(&self, key: &str, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let text = body.map(Value::to_string);
        let authorization = format!("Bearer {key}");
        let headers = [
            ("authorization", authorization.as_str()),
            ("content-type", "application/json"),
        ];
        self.raw(method, path, &headers, text.as_deref())
    }

    /// Sends a request with these headers.
    pub(crate) fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Reply {
        let url = format!("{}{path}", self.url);
        let answer = self.agent.send((method, &url), headers, body).expect("an answer");
        let status = answer.status;
        let text = answer.text().expect("text");
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    pub(crate) fn get(&self, key: &str, path: &str) -> Value {
        let (status, body) = self.send(key, "GET", path, None);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    pub(crate) fn post(&self, key: &str, path: &str, body: Value) -> Value {
        let (status, answer) = self.send(key, "POST", path, Some(&body));
        assert!(status == 200 || status == 201, "{path}: {status} {answer}");
        answer
    }

    /// Checks that a refusal has the status of its code and all its parts.
    pub(crate) fn refused(&self, reply: Reply, status: u16, code: &str) -> Value {
        let (given, body) = reply;
        assert_eq!((given, body["code"].as_str()), (status, Some(code)), "{body}");
        for part in ["what", "why", "next", "title", "type"] {
            assert!(
                body[part].as_str().is_some_and(|text| !text.is_empty()),
                "{part}: {body}"
            );
        }
        assert_eq!(body["status"], status);
        body
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes a key, and answers it.
pub(crate) fn key(bench: &Workbench, principal: &str, arguments: &[&str]) -> String {
    let made = bench
        .run(["--quiet", "key", "create", principal].iter().chain(arguments))
        .ok();
    made.trim().to_owned()
}

#[tokio::test]
async fn a_program_enqueues_and_a_worker_claims_beats_and_completes() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let (producer, worker) = (
        key(&bench, "shop", &["--role", "producer"]),
        key(&bench, "packer", &["--role", "worker"]),
    );
    let job = api.post(
        &producer,
        "/v1/jobs",
        json!({"kind": "pack", "payload": {"order": 7}, "key": "o7", "priority": "urgent"}),
    );
    assert_eq!(
        (job["duplicate"].as_bool(), job["state"].as_str()),
        (Some(false), Some("queued"))
    );
    let again = api.send(
        &producer,
        "POST",
        "/v1/jobs",
        Some(&json!({"kind": "pack", "key": "o7"})),
    );
    assert_eq!(
        (again.0, &again.1["job_id"], &again.1["duplicate"]),
        (200, &job["job_id"], &json!(true))
    );

    let claimed = api.post(&worker, "/v1/jobs/claim", json!({"worker": "w1", "kinds": ["pack"]}));
    let claimed = &claimed["jobs"][0];
    assert_eq!(
        (&claimed["job_id"], &claimed["payload"]),
        (&job["job_id"], &json!({"order": 7}))
    );
    let path = |verb: &str| format!("/v1/jobs/{}/{verb}", job["job_id"].as_str().expect("an id"));
    let token = &claimed["token"];
    let beat = api.post(&worker, &path("heartbeat"), json!({"token": token}));
    assert_eq!(beat["status"], "ok");
    api.post(
        &worker,
        &path("progress"),
        json!({"token": token, "progress": {"percent": 50}}),
    );
    let ended = api.post(
        &worker,
        &path("complete"),
        json!({"token": token, "result": {"boxes": 1}}),
    );
    assert_eq!(ended["state"], "succeeded");
    let none = api.post(&worker, "/v1/jobs/claim", json!({"worker": "w1", "kinds": ["pack"]}));
    assert_eq!(none, json!({"jobs": []}), "nothing to do is an answer like any other");
    let late = api.send(
        &worker,
        "POST",
        &path("complete"),
        Some(&json!({"token": "00000000-0000-4000-8000-000000000000"})),
    );
    api.refused(late, 409, "stale_lease");

    let listed = api.get(&producer, "/v1/jobs?kind=pack&state=succeeded");
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1));
    let moments = api.get(&producer, &path("timeline"));
    assert_eq!(moments["items"][0]["verb"], "enqueue");
    let own = format!("from tenure.events where tenant_id = {}", bench.tenant_id());
    let via: String = bench
        .sql(&format!("select via {own} and kind = 'job.enqueued' limit 1"))
        .await;
    assert_eq!(via, "POST /v1/jobs 127.0.0.1");
    let actor: String = bench
        .sql(&format!(
            "select string_agg(distinct actor, ' ' order by actor) {own} and kind like 'job.%'"
        ))
        .await;
    assert_eq!(actor, "packer shop");
}

#[tokio::test]
async fn many_jobs_go_in_and_out_in_one_request_each() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let both = key(&bench, "both", &["--role", "producer", "--role", "worker"]);
    let jobs: Vec<Value> = (0..50).map(|n| json!({"kind": "a", "payload": {"n": n}})).collect();
    let made = api.post(&both, "/v1/jobs/batch", json!({"jobs": jobs}));
    assert_eq!(made["jobs"].as_array().map(Vec::len), Some(50));
    let claimed = api.post(&both, "/v1/jobs/claim", json!({"worker": "w", "limit": 100}));
    let claimed = claimed["jobs"].as_array().expect("jobs").clone();
    assert_eq!(claimed.len(), 50);
    let held: Vec<Value> = claimed
        .iter()
        .map(|job| json!({"job_id": job["job_id"], "token": job["token"]}))
        .collect();
    let beats = api.post(&both, "/v1/jobs/heartbeat", json!({"jobs": held}));
    assert!(
        beats["jobs"]
            .as_array()
            .is_some_and(|beats| beats.iter().all(|beat| beat["status"] == "ok"))
    );
    let ends: Vec<Value> = claimed
        .iter()
        .map(|job| json!({"job_id": job["job_id"], "token": job["token"], "outcome": "succeeded"}))
        .collect();
    let ended = api.post(&both, "/v1/jobs/end", json!({"ends": ends}));
    assert!(
        ended["ends"]
            .as_array()
            .is_some_and(|ends| ends.iter().all(|end| end["state"] == "succeeded")),
        "{ended}"
    );
    let first = api.get(&both, "/v1/jobs?limit=30");
    let second = api.get(
        &both,
        &format!("/v1/jobs?limit=30&cursor={}", first["next"].as_str().expect("more")),
    );
    let mut ids: Vec<&str> = [&first, &second]
        .iter()
        .flat_map(|page| page["items"].as_array().expect("jobs"))
        .filter_map(|job| job["job_id"].as_str())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(
        (ids.len(), &second["next"]),
        (50, &Value::Null),
        "no job twice, none left out"
    );
}

#[tokio::test]
async fn bad_input_is_refused_with_what_to_do() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let key = key(&bench, "shop", &["--role", "producer", "--role", "worker"]);
    let bearer = format!("Bearer {key}");
    let json_body = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    for text in [
        "",
        "{",
        "[]",
        "7",
        "{\"kind\": 7}",
        "{\"kind\": \"a\"} x",
        "{\"kind\": \"a\", \"due\": \"soon\"}",
    ] {
        api.refused(
            api.raw("POST", "/v1/jobs", &json_body, Some(text)),
            400,
            "request_invalid",
        );
    }
    // An array is no object, though its values could be taken for the fields.
    for (path, text) in [
        ("/v1/kinds/a/resume", "[null]"),
        ("/v1/jobs/heartbeat", "[[], null]"),
        (
            "/v1/jobs/heartbeat",
            "{\"jobs\": [[\"00000000-0000-4000-8000-000000000000\", \"00000000-0000-4000-8000-000000000000\"]]}",
        ),
    ] {
        api.refused(api.raw("POST", path, &json_body, Some(text)), 400, "request_invalid");
    }
    // What is refused before its body is looked at leaves the connection as it was: the next request goes out on it.
    for _ in 0..20 {
        let plain = [("content-type", "text/plain")];
        api.refused(api.raw("POST", "/v1/jobs", &plain, Some("{}")), 401, "unauthenticated");
        api.refused(api.raw("POST", "/v1/job", &plain, Some("{}")), 404, "path_unknown");
    }
    let body = api.refused(
        api.raw("POST", "/v1/jobs", &json_body, Some("{\"kin\": \"a\"}")),
        400,
        "request_invalid",
    );
    assert_eq!(body["next"], "Did you mean kind?");
    let body = api.refused(
        api.send(&key, "GET", "/v1/jobs?stat=queued", None),
        400,
        "request_invalid",
    );
    assert_eq!(body["next"], "Did you mean state?");
    api.refused(
        api.raw("POST", "/v1/jobs", &json_body[..1], Some("{\"kind\": \"a\"}")),
        415,
        "media_type_unsupported",
    );
    api.refused(api.send(&key, "GET", "/v1/jobs/seven", None), 400, "request_invalid");
    api.refused(
        api.send(&key, "GET", "/v1/jobs/..%2f..%2fhealthz", None),
        400,
        "request_invalid",
    );
    api.refused(api.send(&key, "GET", "/v1/job", None), 404, "path_unknown");
    api.refused(api.send(&key, "DELETE", "/v1/jobs", None), 405, "method_not_allowed");
    api.refused(
        api.send(&key, "POST", "/v1/jobs", Some(&json!({}))),
        400,
        "request_invalid",
    );
    api.refused(
        api.send(
            &key,
            "POST",
            "/v1/jobs",
            Some(&json!({"kind": "a", "priority": "urgnt"})),
        ),
        422,
        "priority_unknown",
    );
    api.refused(
        api.send(
            &key,
            "POST",
            "/v1/jobs",
            Some(&json!({"kind": "a", "payload": {"password": "x"}})),
        ),
        422,
        "payload_forbidden_key",
    );
    let id = Uuid::now_v7();
    let twice = json!({"jobs": [{"kind": "a", "job_id": id}, {"kind": "a", "job_id": id}]});
    api.refused(api.send(&key, "POST", "/v1/jobs/batch", Some(&twice)), 409, "id_taken");
    let own = json!({"kind": "a", "job_id": id, "parent_job_id": id});
    api.refused(api.send(&key, "POST", "/v1/jobs", Some(&own)), 422, "parent_cycle");
    api.refused(
        api.raw(
            "POST",
            "/v1/jobs",
            &json_body,
            Some(r#"{"kind": "a", "payload": {"n": 1e400}}"#),
        ),
        422,
        "number_out_of_range",
    );
    api.refused(
        api.send(&key, "GET", "/v1/jobs?limit=0", None),
        422,
        "number_out_of_range",
    );
    api.refused(api.send(&key, "GET", "/v1/jobs?state=done", None), 422, "state_unknown");
    let large = json!({"jobs": [{"kind": "a", "payload": {"x": "y".repeat(17 * 1024 * 1024)}}]}).to_string();
    api.refused(
        api.raw("POST", "/v1/jobs/batch", &json_body, Some(&large)),
        413,
        "request_too_large",
    );
    let many: Vec<Value> = (0..1001).map(|_| json!({"kind": "a"})).collect();
    api.refused(
        api.send(&key, "POST", "/v1/jobs/batch", Some(&json!({"jobs": many}))),
        413,
        "batch_too_large",
    );
    let count = format!(
        "select count(*)::text from tenure.jobs where tenant_id = {}",
        bench.tenant_id()
    );
    let count: String = bench.sql(&count).await;
    assert_eq!(count, "0", "nothing of it was done");
}

#[tokio::test]
async fn the_server_says_how_it_is_and_what_it_can_do_without_a_key() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    assert_eq!(api.raw("GET", "/healthz", &[], None), (200, json!({"status": "ok"})));
    assert_eq!(api.raw("GET", "/readyz", &[], None).0, 200);
    let (status, document) = api.raw("GET", "/openapi.json", &[], None);
    assert_eq!((status, &document["openapi"]), (200, &json!("3.1.0")));
    assert!(document["paths"]["/v1/jobs/claim"]["post"].is_object());
    let (status, page) = api.raw("GET", "/errors/stale_lease", &[], None);
    assert!(status == 200 && page.as_str().is_some_and(|page| page.starts_with("# stale_lease")));
    api.refused(api.raw("GET", "/errors/nope", &[], None), 404, "path_unknown");
}
