//! Claims over many kinds and of many at once, from outside: HTTP and the command line.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::api::{Api, key};
use crate::workbench::Workbench;

const BOTH: &[&str] = &["--role", "producer", "--role", "worker"];

/// Enqueues one job of each kind.
fn one_of_each(api: &Api, key: &str, kinds: usize, priority: i32) {
    let jobs: Vec<Value> = (0..kinds)
        .map(|n| json!({"kind": format!("kind {n:03}"), "priority": priority}))
        .collect();
    for part in jobs.chunks(1000) {
        api.post(key, "/v1/jobs/batch", json!({"jobs": part}));
    }
}

#[tokio::test]
async fn an_urgent_job_of_the_last_of_many_kinds_is_claimed_first_over_http_and_by_the_command_line() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let both = key(&bench, "both", BOTH);
    for _ in 0..60 {
        one_of_each(&api, &both, 70, -100);
    }
    let urgent = || api.post(&both, "/v1/jobs", json!({"kind": "kind 069", "priority": 100}))["job_id"].clone();
    let first = urgent();
    let claimed = api.post(&both, "/v1/jobs/claim", json!({"worker": "w"}));
    assert_eq!(claimed["jobs"][0]["job_id"], first);
    let second = urgent();
    assert_eq!(bench.json(&["job", "claim"])["job"]["job_id"], second);
    let third = urgent();
    let many = api.post(&both, "/v1/jobs/claim", json!({"worker": "w", "limit": 100}));
    assert_eq!(many["jobs"][0]["job_id"], third);
}

/// Several processes that claim over every kind beside those who enqueue: everything is taken once, and what is urgent
/// overtakes what waits.
#[tokio::test]
async fn claims_of_many_processes_over_many_kinds_starve_none() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let both = key(&bench, "both", BOTH);
    one_of_each(&api, &both, 200, -100);
    let taken: Vec<Value> = std::thread::scope(|scope| {
        let (api, both, bench) = (&api, &both, &bench);
        let producer = scope.spawn(move || {
            for _ in 0..2 {
                one_of_each(api, both, 200, -100);
            }
            for n in [199, 0, 100] {
                api.post(
                    both,
                    "/v1/jobs",
                    json!({"kind": format!("kind {n:03}"), "priority": 100}),
                );
            }
        });
        let over_http: Vec<_> = (0..3)
            .map(|n| {
                scope.spawn(move || {
                    let (mut jobs, mut nothing) = (Vec::new(), 0);
                    while nothing < 3 {
                        let body = json!({"worker": format!("w{n}"), "limit": 5, "wait_seconds": 1});
                        let got = api.post(both, "/v1/jobs/claim", body);
                        let got = got["jobs"].as_array().expect("jobs").clone();
                        nothing = if got.is_empty() { nothing + 1 } else { 0 };
                        jobs.extend(got);
                    }
                    jobs
                })
            })
            .collect();
        let by_hand = scope.spawn(move || {
            let claim = |_| bench.json(&["job", "claim"])["job"].clone();
            (0..12).map(claim).filter(|job| !job.is_null()).collect::<Vec<_>>()
        });
        producer.join().expect("enqueued");
        let mut taken = by_hand.join().expect("claimed");
        for one in over_http {
            taken.extend(one.join().expect("claimed"));
        }
        taken
    });
    let ids: BTreeSet<String> = taken.iter().map(|job| job["job_id"].to_string()).collect();
    assert_eq!((taken.len(), ids.len()), (603, 603), "each once");
    let kinds: BTreeSet<String> = taken.iter().map(|job| job["kind"].to_string()).collect();
    assert_eq!(kinds.len(), 200);
}

/// One notification for a batch of jobs reaches as many of those who wait as there are jobs.
#[tokio::test]
async fn a_batch_of_jobs_answers_as_many_waiting_claims() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let both = key(&bench, "both", BOTH);
    bench.enqueue("a");
    bench.claim("a");
    let ids: BTreeSet<String> = std::thread::scope(|scope| {
        let claims: Vec<_> = (0..30)
            .map(|n| {
                let (api, both) = (&api, &both);
                let body = json!({"worker": format!("w{n}"), "kinds": ["a"], "wait_seconds": 40});
                scope.spawn(move || api.post(both, "/v1/jobs/claim", body))
            })
            .collect();
        let jobs = vec![json!({"kind": "a"}); 30];
        api.post(&both, "/v1/jobs/batch", json!({"jobs": jobs}));
        let one = |claim: std::thread::ScopedJoinHandle<'_, Value>| {
            claim.join().expect("an answer")["jobs"][0]["job_id"].to_string()
        };
        claims.into_iter().map(one).collect()
    });
    assert_eq!(ids.len(), 30, "each has a job of its own");
}

/// A job with a token that was lost and with the live one, in one request: each pair answers for itself.
#[tokio::test]
async fn a_stale_token_is_refused_beside_the_live_one_over_http() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let both = key(&bench, "both", BOTH);
    let claim = |mode: &str| {
        let claimed = api.post(
            &both,
            "/v1/jobs/claim",
            json!({"worker": "w", "mode": mode, "wait_seconds": 40}),
        );
        claimed["jobs"][0].clone()
    };
    for live_first in [false, true] {
        api.post(&both, "/v1/jobs", json!({"kind": "a"}));
        let stale = claim("leased");
        let id = stale["job_id"].as_str().expect("an id");
        bench.advance(if live_first { "2 hours" } else { "1 hour" }).await;
        bench.lines(&["reap"]);
        let live = claim("leased");
        assert_eq!(stale["job_id"], live["job_id"]);
        let pair = |job: &Value| json!({"job_id": id, "token": job["token"]});
        let end = |job: &Value| json!({"job_id": id, "token": job["token"], "outcome": "succeeded"});
        let order = |a: Value, b: Value| if live_first { json!([b, a]) } else { json!([a, b]) };
        let statuses = |path: &str, body: Value, field: &str| {
            let answer = api.post(&both, path, body);
            let list = answer[field].as_array().expect("a list");
            let list: Vec<String> = list
                .iter()
                .map(|it| it["status"].as_str().expect("a status").to_owned())
                .collect();
            if live_first {
                [list[1].clone(), list[0].clone()]
            } else {
                [list[0].clone(), list[1].clone()]
            }
        };
        let jobs = json!({"jobs": order(pair(&stale), pair(&live))});
        assert_eq!(
            statuses("/v1/jobs/start", jobs.clone(), "jobs"),
            ["stale_lease", "started"]
        );
        assert_eq!(statuses("/v1/jobs/heartbeat", jobs, "jobs"), ["lost", "ok"]);
        let ends = json!({"ends": order(end(&stale), end(&live))});
        assert_eq!(statuses("/v1/jobs/end", ends, "ends"), ["stale_lease", "ended"]);
    }
}
