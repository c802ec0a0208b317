//! Requests with an `Idempotency-Key`: repeated, they are answered as the first time and done once.

use std::collections::BTreeSet;
use std::sync::Barrier;

use serde_json::{Value, json};

use crate::api::{Api, key};
use crate::executions_scene::look_and_change;
use crate::http::Agent;
use crate::workbench::{Workbench, eventually, text_of};

const ALL: &[&str] = &["--role", "producer", "--role", "worker", "--role", "operator"];

/// An answer to a request with a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Keyed {
    pub(crate) status: u16,
    /// The body as it came.
    pub(crate) text: String,
    /// Whether it is said to be the answer to an earlier request.
    pub(crate) replayed: bool,
    pub(crate) retry_after: Option<String>,
}

impl Keyed {
    pub(crate) fn body(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Checks a refusal, and answers its body.
    fn refused(&self, status: u16, code: &str) -> Value {
        let body = self.body();
        assert_eq!((self.status, body["code"].as_str()), (status, Some(code)), "{body}");
        assert!(!self.replayed, "{body}");
        body
    }
}

/// Sends a request with an `Idempotency-Key`; none when the server is gone.
pub(crate) fn try_send(
    api: (&Agent, &str),
    key: &str,
    idempotency_key: &str,
    (method, path): (&str, &str),
    body: Option<&str>,
) -> Option<Keyed> {
    let (agent, url) = api;
    let headers = [
        ("authorization", format!("Bearer {key}")),
        ("content-type", "application/json".to_owned()),
        ("idempotency-key", idempotency_key.to_owned()),
    ];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let answer = agent.send((method, &format!("{url}{path}")), &headers, body).ok()?;
    Some(Keyed {
        status: answer.status,
        replayed: answer.header("idempotency-replayed") == Some("true"),
        retry_after: answer.header("retry-after").map(str::to_owned),
        text: answer.text().ok()?,
    })
}

fn send(api: &Api, key: &str, idempotency_key: &str, to: (&str, &str), body: &Value) -> Keyed {
    let body = body.to_string();
    try_send((api.agent(), api.url()), key, idempotency_key, to, Some(&body)).expect("an answer")
}

const JOBS: (&str, &str) = ("POST", "/v1/jobs");

async fn count(bench: &Workbench, table: &str) -> String {
    bench.sql(&format!("select count(*)::text from tenure.{table}")).await
}

#[tokio::test]
async fn a_repeated_request_gets_its_first_answer_after_the_job_has_ended() {
    let bench = Workbench::open().await;
    let (api, ann) = (Api::start(&bench), key(&bench, "ann", ALL));
    let order = json!({"kind": "a", "payload": {"order": 7}});
    let first = send(&api, &ann, "r1", JOBS, &order);
    assert_eq!((first.status, first.replayed), (201, false), "{first:?}");
    let claimed = api.post(&ann, "/v1/jobs/claim", json!({"worker": "w"}));
    let (id, token) = (
        text_of(&claimed["jobs"][0], "job_id"),
        text_of(&claimed["jobs"][0], "token"),
    );
    api.post(&ann, &format!("/v1/jobs/{id}/complete"), json!({"token": token}));

    let again = send(&api, &ann, "r1", JOBS, &order);
    assert_eq!((again.status, &again.text, again.replayed), (201, &first.text, true));
    // The draft's form, a quoted string, is the same key; order and white space of the body do not matter.
    let spaced = "{ \"payload\" : {\"order\":7},\n \"kind\": \"a\" }";
    let quoted = try_send((api.agent(), api.url()), &ann, "\"r1\"", JOBS, Some(spaced)).expect("an answer");
    assert_eq!((&quoted.text, quoted.replayed), (&first.text, true), "{quoted:?}");
    assert_eq!(api.get(&ann, "/v1/jobs")["items"].as_array().map(Vec::len), Some(1));

    // The key of the request is not the key of the job: that one is in the body, and counts while the job is unfinished.
    let shown = api.get(&ann, &format!("/v1/jobs/{id}"));
    assert_eq!(shown["idempotency_key"], json!(null), "{shown}");
    let other = send(&api, &ann, "r2", JOBS, &order);
    assert_ne!(other.body()["job_id"], first.body()["job_id"]);
}

#[tokio::test]
async fn another_request_under_the_same_key_is_refused_with_what_differs() {
    let bench = Workbench::open().await;
    let (api, ann) = (Api::start(&bench), key(&bench, "ann", ALL));
    send(
        &api,
        &ann,
        "r",
        JOBS,
        &json!({"kind": "a", "payload": {"n": 1}, "key": "k"}),
    );
    let differs = json!({"kind": "a", "payload": {"n": 2}, "priority": 1});
    let refused = send(&api, &ann, "r", JOBS, &differs).refused(422, "request_key_reused");
    let why = text_of(&refused, "why");
    assert!(
        why.contains("key, payload, priority") && !why.contains("kind"),
        "{refused}"
    );

    let batch = json!({"jobs": [{"kind": "a"}]});
    let refused = send(&api, &ann, "r", ("POST", "/v1/jobs/batch"), &batch).refused(422, "request_key_reused");
    assert!(text_of(&refused, "why").contains("/v1/jobs/batch"), "{refused}");
    let eve = key(&bench, "eve", &["--role", "requester"]);
    let plan = json!({"plan": look_and_change("p", "k", "h")});
    let submit = |path: &str| send(&api, &eve, "r", ("POST", path), &plan);
    assert_eq!(submit("/v1/executions").status, 201);
    submit("/v1/executions?wait_seconds=1").refused(422, "request_key_reused");
    // Numbers that a floating-point number cannot hold are told apart.
    let number = |n: &str| {
        let body = format!(r#"{{"kind": "a", "payload": {{"n": {n}}}}}"#);
        try_send((api.agent(), api.url()), &ann, "n", JOBS, Some(&body)).expect("an answer")
    };
    assert_eq!(number("9007199254740993").status, 201);
    number("9007199254740992").refused(422, "request_key_reused");
    assert_eq!(count(&bench, "jobs").await, "2");
}

#[tokio::test]
async fn twenty_equal_requests_to_two_servers_make_one_job() {
    let bench = Workbench::open().await;
    let (one, two, ann) = (Api::start(&bench), Api::start(&bench), key(&bench, "ann", ALL));
    for round in ["r1", "r2", "r3"] {
        let begin = Barrier::new(20);
        let answers: Vec<Keyed> = std::thread::scope(|scope| {
            let ask = |n: usize| {
                let (api, begin, ann) = (if n.is_multiple_of(2) { &one } else { &two }, &begin, &ann);
                scope.spawn(move || {
                    begin.wait();
                    eventually("an answer", || {
                        let answer = send(api, ann, round, JOBS, &json!({"kind": "a", "payload": {"of": round}}));
                        if answer.status == 409 {
                            assert_eq!(answer.retry_after.as_deref(), Some("1"), "{answer:?}");
                            answer.refused(409, "request_under_way");
                            return None;
                        }
                        Some(answer)
                    })
                })
            };
            let threads: Vec<_> = (0..20).map(ask).collect();
            threads.into_iter().map(|one| one.join().expect("no panic")).collect()
        });
        let texts: BTreeSet<&str> = answers.iter().map(|answer| answer.text.as_str()).collect();
        assert_eq!(texts.len(), 1, "{answers:?}");
        assert!(answers.iter().all(|answer| answer.status == 201), "{answers:?}");
        assert_eq!(
            answers.iter().filter(|answer| !answer.replayed).count(),
            1,
            "{answers:?}"
        );
    }
    assert_eq!(count(&bench, "jobs").await, "3");
}

#[tokio::test]
async fn an_answer_is_kept_for_its_period_and_then_swept() {
    let bench = Workbench::open().await;
    let (api, ann) = (Api::start(&bench), key(&bench, "ann", ALL));
    let job = json!({"kind": "a"});
    let first = send(&api, &ann, "r", JOBS, &job);
    bench.advance("23 hours").await;
    assert_eq!(send(&api, &ann, "r", JOBS, &job).text, first.text);
    bench.advance("25 hours").await;
    let second = send(&api, &ann, "r", JOBS, &job);
    assert_eq!((second.status, second.replayed), (201, false));
    assert_ne!(second.body()["job_id"], first.body()["job_id"]);
    // The setting holds for what is answered from then on.
    bench.text(&["config", "set", "retention.requests_hours", "1"]);
    let third = send(&api, &ann, "r3", JOBS, &job);
    bench.advance("27 hours").await;
    assert_ne!(send(&api, &ann, "r3", JOBS, &job).text, third.text);
    assert_eq!(count(&bench, "requests").await, "2");
    bench.advance("72 hours").await;
    let sweep = "select tenure.request_sweep()::text from set_config('tenure.tenant', '*', true)";
    assert_eq!(bench.sql(sweep).await, "2");
    assert_eq!(count(&bench, "requests").await, "0");
}

#[tokio::test]
async fn request_keys_of_other_principals_and_tenants_do_not_collide() {
    let bench = Workbench::open().await;
    bench.text(&["tenant", "create", "other"]);
    bench.text(&["--tenant", "other", "gate", "open", "--all"]);
    let api = Api::start(&bench);
    let (ann, bob) = (key(&bench, "ann", ALL), key(&bench, "bob", ALL));
    let theirs = bench
        .run([
            "--quiet", "--tenant", "other", "key", "create", "ann", "--role", "producer",
        ])
        .ok();
    let root = bench
        .run([
            "--quiet",
            "key",
            "create",
            "ann",
            "--role",
            "producer",
            "--installation",
        ])
        .ok();
    let keys = [&ann, &bob, theirs.trim(), root.trim()];
    let ids: BTreeSet<String> = keys
        .iter()
        .map(|key| {
            let made = send(&api, key, "r", JOBS, &json!({"kind": "a"}));
            assert_eq!((made.status, made.replayed), (201, false), "{made:?}");
            text_of(&made.body(), "job_id")
        })
        .collect();
    assert_eq!(ids.len(), 4, "four principals, four requests");

    // Another key of the same principal repeats the same request; one with other rights learns only that it was done.
    let spare = key(&bench, "ann", ALL);
    let again = send(&api, &spare, "r", JOBS, &json!({"kind": "a"}));
    assert!(
        again.replayed && ids.contains(&text_of(&again.body(), "job_id")),
        "{again:?}"
    );
    let narrow = key(&bench, "ann", &["--role", "producer"]);
    send(&api, &narrow, "r", JOBS, &json!({"kind": "a"})).refused(409, "answer_not_kept");
    let viewer = key(&bench, "ann", &["--role", "viewer"]);
    send(&api, &viewer, "r", JOBS, &json!({"kind": "a"})).refused(403, "not_permitted");
    assert_eq!(count(&bench, "jobs").await, "4");
}

#[tokio::test]
async fn a_repeated_claim_gives_the_same_jobs_under_the_same_token() {
    let bench = Workbench::open().await;
    let (api, ann) = (Api::start(&bench), key(&bench, "ann", ALL));
    let to = ("POST", "/v1/jobs/claim");
    for _ in 0..3 {
        bench.enqueue("a");
    }
    let claim = json!({"worker": "w", "limit": 2, "wait_seconds": 5});
    let first = send(&api, &ann, "c1", to, &claim);
    assert_eq!(first.body()["jobs"].as_array().map(Vec::len), Some(2), "{first:?}");
    let again = send(&api, &ann, "c1", to, &claim);
    assert_eq!((&again.text, again.replayed), (&first.text, true));
    let next = send(&api, &ann, "c2", to, &claim);
    assert_eq!(next.body()["jobs"].as_array().map(Vec::len), Some(1));

    // While a claim waits its key is not locked: two equal ones wait side by side, and one job answers both.
    let waiting = || {
        eventually("an answer", || {
            let claim = json!({"worker": "w", "limit": 2, "wait_seconds": 40});
            Some(send(&api, &ann, "c3", to, &claim)).filter(|answer| answer.status == 200)
        })
    };
    let answers = std::thread::scope(|scope| {
        let threads = [scope.spawn(waiting), scope.spawn(waiting)];
        bench.enqueue("a");
        threads.map(|one| one.join().expect("no panic"))
    });
    assert_eq!(answers[0].text, answers[1].text);
    assert_eq!(answers[0].body()["jobs"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_secret_is_never_kept_and_the_repeat_makes_no_second_key() {
    let bench = Workbench::open().await;
    let (api, root) = (Api::start(&bench), key(&bench, "root", &["--role", "admin"]));
    let new = json!({"principal": "root", "roles": ["viewer"]});
    let made = send(&api, &root, "k", ("POST", "/v1/keys"), &new);
    assert_eq!(made.status, 201);
    let refused = send(&api, &root, "k", ("POST", "/v1/keys"), &new).refused(409, "answer_not_kept");
    assert!(text_of(&refused, "what").contains("201"), "{refused}");
    let hook = json!({"name": "h", "event_kinds": ["*"], "target": "webhook", "url": "https://example.org/"});
    let operator = key(&bench, "ops", ALL);
    for to in [("POST", "/v1/subscriptions"), ("POST", "/v1/subscriptions/h/rotate")] {
        let body = (to.1 == "/v1/subscriptions").then(|| hook.to_string());
        let ask = || try_send((api.agent(), api.url()), &operator, to.1, to, body.as_deref()).expect("an answer");
        let made = ask();
        assert!(made.text.contains("signing_key"), "{made:?}");
        ask().refused(409, "answer_not_kept");
        let secret = text_of(&made.body(), "signing_key");
        let kept = bench
            .sql("select coalesce(string_agg(r::text, ' '), '') from tenure.requests r")
            .await;
        assert!(!kept.contains(&secret), "{kept}");
    }
    let secret = text_of(&made.body(), "key");
    let kept = bench
        .sql("select string_agg(r::text, ' ') from tenure.requests r")
        .await;
    assert!(!kept.contains(secret.rsplit('_').next().expect("a secret")), "{kept}");
}

#[tokio::test]
async fn a_refused_request_is_not_kept_and_a_malformed_key_is_refused() {
    let bench = Workbench::open().await;
    let (api, ann) = (Api::start(&bench), key(&bench, "ann", ALL));
    send(&api, &ann, "r", JOBS, &json!({"kind": " "})).refused(422, "name_blank");
    send(&api, &ann, "r", JOBS, &json!({"kin": "a"})).refused(400, "request_invalid");
    assert_eq!(count(&bench, "requests").await, "0");
    let made = send(&api, &ann, "r", JOBS, &json!({"kind": "a"}));
    assert_eq!((made.status, made.replayed), (201, false), "{made:?}");
    for wrong in ["", " ", "\"\"", "a b", "\"a", "a\"b", &"x".repeat(256), "\"a\"; q=1"] {
        let refused = send(&api, &ann, wrong, JOBS, &json!({"kind": "a"})).refused(400, "request_invalid");
        assert!(text_of(&refused, "what").contains("Idempotency-Key"), "{refused}");
    }
    let longest = "x".repeat(255);
    assert_eq!(send(&api, &ann, &longest, JOBS, &json!({"kind": "a"})).status, 201);
    // A request that changes nothing does not ask for the key.
    let preview = json!({"rule": {"cron": "0 * * * *"}});
    let seen = send(&api, &ann, "p", ("POST", "/v1/schedules/preview"), &preview);
    assert_eq!(seen.status, 200, "{seen:?}");
    assert!(!send(&api, &ann, "p", ("POST", "/v1/schedules/preview"), &preview).replayed);
    assert_eq!(count(&bench, "requests").await, "2");
}

/// The walk over the description: whatever changes something takes the header, by every method.
#[tokio::test]
async fn every_operation_that_changes_something_lists_the_header() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let (_, document) = api.raw("GET", "/openapi.json", &[], None);
    let reads = ["/v1/executions/preview", "/v1/jobs/held", "/v1/schedules/preview"];
    let mut listed = 0;
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let takes = parameters
                .iter()
                .any(|one| one["name"] == "Idempotency-Key" && one["in"] == "header");
            let changes = method != "get" && !reads.contains(&path.as_str());
            assert_eq!(takes, changes, "{method} {path}");
            listed += usize::from(takes);
        }
    }
    assert!(listed > 50, "{listed}");
}

#[tokio::test]
async fn changes_by_every_method_are_repeated_with_their_answer() {
    let bench = Workbench::open().await;
    let (api, root) = (Api::start(&bench), key(&bench, "root", &["--role", "admin"]));
    let spec = json!({"kind": "a", "cron": "0 3 * * *"});
    let changes = [
        (("PUT", "/v1/schedules/s"), Some(&spec), 201),
        (("PATCH", "/v1/schedules/s"), Some(&json!({"cron": "0 4 * * *"})), 200),
        (("DELETE", "/v1/schedules/s"), None, 200),
    ];
    for (to, body, status) in changes {
        let ask = || {
            let body = body.map(Value::to_string);
            try_send((api.agent(), api.url()), &root, to.0, to, body.as_deref()).expect("an answer")
        };
        let (first, again) = (ask(), ask());
        assert_eq!((first.status, first.replayed), (status, false), "{first:?}");
        assert_eq!((again.status, &again.text, again.replayed), (status, &first.text, true));
    }
}
