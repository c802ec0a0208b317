//! The contract of the agent queue (claim, heartbeat, complete, fail, list, cancel), walked by agents over HTTP. Its
//! `running` is our `leased` and `in_progress`; its job type is a kind, its worker a principal with a key of its own.

use serde_json::{Value, json};

use crate::api::{Api, Reply, key};
use crate::workbench::{Workbench, text_of};

/// Agents and those who give them work.
struct Queue {
    bench: Workbench,
    api: Api,
    user: String,
    operator: String,
    first: String,
    second: String,
}

impl Queue {
    /// Three attempts, then failed for good: as the contract has it.
    async fn open() -> Queue {
        let bench = Workbench::open().await;
        let api = Api::start(&bench);
        let agent = |name| {
            let rights = [
                "--kind",
                "agent",
                "--role",
                "worker",
                "--executor",
                "Agent",
                "--job-kind",
                "codex_exec",
                "--job-kind",
                "report",
            ];
            key(&bench, name, &rights)
        };
        let (first, second) = (agent("codex-1"), agent("codex-2"));
        let admin = key(&bench, "root", &["--role", "admin"]);
        for kind in ["codex_exec", "report", "deploy"] {
            let policy = json!({"policy": {"executor": "Agent", "attempts_max": 3, "on_exhausted": "fail"}});
            assert_eq!(
                api.send(&admin, "PUT", &format!("/v1/kinds/{kind}"), Some(&policy)).0,
                200
            );
        }
        Queue {
            user: key(&bench, "user", &["--kind", "human", "--role", "producer"]),
            operator: key(&bench, "operator", &["--kind", "human", "--role", "operator"]),
            bench,
            api,
            first,
            second,
        }
    }

    fn enqueue(&self, kind: &str, priority: i32) -> String {
        let body = json!({"kind": kind, "priority": priority, "payload": {"goal": "tidy"}, "affinity_key": "repo"});
        text_of(&self.api.post(&self.user, "/v1/jobs", body), "job_id")
    }

    fn claim(&self, agent: &str, body: Value) -> Option<Value> {
        let mut claim = json!({"worker": "w", "executor": "Agent"});
        claim
            .as_object_mut()
            .expect("an object")
            .extend(body.as_object().expect("an object").clone());
        let jobs = self.api.post(agent, "/v1/jobs/claim", claim)["jobs"].clone();
        jobs.get(0).cloned()
    }

    fn tell(&self, agent: &str, job: &str, verb: &str, token: &Value, more: Value) -> Reply {
        let mut body = json!({"token": token});
        body.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        self.api
            .send(agent, "POST", &format!("/v1/jobs/{job}/{verb}"), Some(&body))
    }

    fn show(&self, job: &str) -> Value {
        self.api.get(&self.user, &format!("/v1/jobs/{job}"))
    }
}

/// Proves: S137, S140, S141, S142, S143, S144, S152, S153, S156, S158.
#[tokio::test]
async fn an_agent_claims_the_best_job_of_its_types_beats_and_completes_it() {
    let queue = Queue::open().await;
    assert_eq!(queue.claim(&queue.first, json!({})), None, "nothing to do is no error");
    let (low, high) = (queue.enqueue("codex_exec", 0), queue.enqueue("codex_exec", 5));
    let other = queue.enqueue("report", 9);
    let claimed = queue
        .claim(&queue.first, json!({"kinds": ["codex_exec"], "lease_seconds": 30}))
        .expect("a job");
    assert_eq!(
        (&claimed["job_id"], &claimed["attempt"], &claimed["payload"]),
        (&json!(high), &json!(1), &json!({"goal": "tidy"})),
        "the higher number of an allowed type goes first"
    );
    let running = queue.show(&high);
    assert_eq!(
        (&running["state"], &running["lease_owner"]),
        (&json!("in_progress"), &json!("w"))
    );
    let beat = queue.tell(
        &queue.first,
        &high,
        "heartbeat",
        &claimed["token"],
        json!({"lease_seconds": 60}),
    );
    assert_eq!((beat.0, &beat.1["status"]), (200, &json!("ok")));
    assert!(
        beat.1["leased_until"].as_str() > claimed["leased_until"].as_str(),
        "it lasts longer now"
    );
    let done = queue.tell(
        &queue.first,
        &high,
        "complete",
        &claimed["token"],
        json!({"result": {"summary": "tidy"}, "result_ref": "s3://artifacts/1"}),
    );
    assert_eq!((done.0, &done.1["state"]), (200, &json!("succeeded")));
    let ended = queue.show(&high);
    assert_eq!(ended["started_at"], running["started_at"], "set once");
    assert!(ended["finished_at"].is_string(), "{ended}");
    assert_eq!(
        (
            &ended["result"],
            &ended["result_ref"],
            &ended["affinity_key"],
            &ended["attempts_max"]
        ),
        (
            &json!({"summary": "tidy"}),
            &json!("s3://artifacts/1"),
            &json!("repo"),
            &json!(3)
        )
    );
    for (query, found) in [
        ("state=queued&kind=codex_exec", json!([low])),
        ("state=queued", json!([other, low])),
        ("state=succeeded&limit=1", json!([high])),
    ] {
        let page = queue.api.get(&queue.user, &format!("/v1/jobs?{query}"));
        let ids: Vec<&Value> = page["items"]
            .as_array()
            .expect("jobs")
            .iter()
            .map(|job| &job["job_id"])
            .collect();
        assert_eq!(json!(ids), found, "{query}");
    }
    let unknown = queue.api.send(&queue.user, "GET", "/v1/jobs?state=running", None);
    queue.api.refused(unknown, 422, "state_unknown");
}

/// Proves: S141, S150, S158.
#[tokio::test]
async fn an_agent_touches_neither_what_another_holds_nor_a_type_it_is_not_allowed() {
    let queue = Queue::open().await;
    let (job, deploy) = (queue.enqueue("codex_exec", 0), queue.enqueue("deploy", 0));
    let held = queue.claim(&queue.first, json!({})).expect("a job");
    assert_eq!(held["job_id"], json!(job));
    assert_eq!(queue.claim(&queue.second, json!({})), None, "deploy is not theirs");
    let guess = json!("00000000-0000-4000-8000-000000000000");
    for verb in ["heartbeat", "complete", "release", "fail"] {
        let more = if verb == "fail" {
            json!({"message": "x"})
        } else {
            json!({})
        };
        queue.api.refused(
            queue.tell(&queue.second, &job, verb, &guess, more.clone()),
            409,
            "stale_lease",
        );
        let nobody = "01990000-0000-7000-8000-000000000001";
        let reply = queue.tell(&queue.first, nobody, verb, &held["token"], more);
        assert!(matches!(reply.0, 404 | 409), "{verb}: {}", reply.1);
    }
    assert_eq!(queue.show(&job)["state"], "in_progress", "nothing of it was done");
    let bound = queue.api.send(
        &queue.first,
        "POST",
        "/v1/jobs",
        Some(&json!({"kind": "deploy", "executor": "Agent"})),
    );
    queue.api.refused(bound, 403, "kind_not_allowed");
    let cancel = format!("/v1/jobs/{deploy}/cancel");
    let cancelled = queue
        .api
        .send(&queue.first, "POST", &cancel, Some(&json!({"reason": "x"})));
    queue.api.refused(cancelled, 403, "not_permitted");
    let unknown = queue.api.send(
        &queue.user,
        "GET",
        "/v1/jobs/01990000-0000-7000-8000-000000000001",
        None,
    );
    queue.api.refused(unknown, 404, "job_not_found");
}

/// Proves: S145, S146, S147, S149, S156, S157, S158.
#[tokio::test]
async fn a_job_fails_for_good_after_its_attempts_and_an_end_is_final() {
    let queue = Queue::open().await;
    let job = queue.enqueue("codex_exec", 0);
    for attempt in 1..=3 {
        let held = queue.claim(&queue.first, json!({})).expect("another attempt");
        assert_eq!(held["attempt"], attempt);
        let fail = json!({"message": "no luck", "code": "exit_1", "retry_seconds": 0});
        let failed = queue.tell(&queue.first, &job, "fail", &held["token"], fail);
        assert_eq!(failed.0, 200, "{}", failed.1);
    }
    let ended = queue.show(&job);
    assert_eq!(
        (&ended["state"], &ended["error_message"], &ended["error_code"]),
        (&json!("failed"), &json!("no luck"), &json!("exit_1"))
    );
    assert!(ended["finished_at"].is_string());
    assert_eq!(queue.claim(&queue.first, json!({})), None, "it is at rest");
    let guess = json!("00000000-0000-4000-8000-000000000000");
    let again = queue.tell(&queue.first, &job, "complete", &guess, json!({}));
    queue.api.refused(again, 409, "stale_lease");
    let cancel = format!("/v1/jobs/{job}/cancel");
    let cancelled = queue
        .api
        .send(&queue.operator, "POST", &cancel, Some(&json!({"reason": "x"})));
    queue.api.refused(cancelled, 409, "state_conflict");

    // What is left by one who died is taken up before the rest.
    let lost = queue.enqueue("codex_exec", 9);
    let dead = queue.claim(&queue.first, json!({"lease_seconds": 5})).expect("a job");
    queue.bench.advance("1 hour").await;
    queue.api.post(&queue.operator, "/v1/jobs/reap", json!({}));
    queue.bench.advance("2 hours").await;
    queue.enqueue("codex_exec", 0);
    let retaken = queue.claim(&queue.second, json!({})).expect("a job");
    assert_eq!((&retaken["job_id"], &retaken["attempt"]), (&json!(lost), &json!(2)));
    let late = queue.tell(&queue.first, &lost, "complete", &dead["token"], json!({}));
    queue.api.refused(late, 409, "stale_lease");
}

/// Proves: S107, S146, S147, S158.
#[tokio::test]
async fn a_cancel_is_heard_at_the_next_heartbeat_and_acknowledged() {
    let queue = Queue::open().await;
    let (waiting, running) = (queue.enqueue("report", 0), queue.enqueue("codex_exec", 0));
    let cancel = |job: &str| {
        let path = format!("/v1/jobs/{job}/cancel");
        queue.api.post(&queue.operator, &path, json!({"reason": "not needed"}))
    };
    assert_eq!(cancel(&waiting)["state"], "cancelled", "nobody holds it");
    let held = queue.claim(&queue.first, json!({})).expect("a job");
    let early = queue.tell(&queue.first, &running, "acknowledge-cancel", &held["token"], json!({}));
    queue.api.refused(early, 409, "cancel_not_requested");
    cancel(&running);
    assert_eq!(queue.show(&running)["state"], "in_progress", "it is asked to stop");
    let beat = queue
        .tell(&queue.first, &running, "heartbeat", &held["token"], json!({}))
        .1;
    assert_eq!(
        (&beat["status"], &beat["cancel_reason"]),
        (&json!("cancel"), &json!("not needed"))
    );
    let acknowledged = queue.tell(&queue.first, &running, "acknowledge-cancel", &held["token"], json!({}));
    assert_eq!((acknowledged.0, &acknowledged.1["state"]), (200, &json!("cancelled")));
    let ended = queue.show(&running);
    assert_eq!(
        (&ended["state"], &ended["cancel_by"]),
        (&json!("cancelled"), &json!("operator"))
    );
}

/// Proves: S154, S155.
#[tokio::test]
async fn a_lease_is_positive_and_within_the_policy() {
    let queue = Queue::open().await;
    let job = queue.enqueue("codex_exec", 0);
    for seconds in [0, -1, 86_401, i32::MAX] {
        let claim = json!({"worker": "w", "executor": "Agent", "lease_seconds": seconds});
        let refused = queue.api.send(&queue.first, "POST", "/v1/jobs/claim", Some(&claim));
        queue.api.refused(refused, 422, "lease_seconds_out_of_range");
    }
    let held = queue.claim(&queue.first, json!({"lease_seconds": 30})).expect("a job");
    let beat = queue.tell(
        &queue.first,
        &job,
        "heartbeat",
        &held["token"],
        json!({"lease_seconds": 0}),
    );
    queue.api.refused(beat, 422, "lease_seconds_out_of_range");
    assert_eq!(queue.show(&job)["state"], "in_progress", "it is still held");
}
