//! A server that is killed in the middle of its work.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::api::{Api, key};
use crate::http::Agent;
use crate::workbench::{Workbench, eventually, text_of};

/// Jobs in one request.
const BATCH: usize = 20;
/// So much was acknowledged when the server is killed.
const BATCHES_BEFORE: usize = 25;

/// An answer, or none when the server has gone.
fn ask(url: &str, key: &str, path: &str, body: &Value) -> Option<Value> {
    let (url, bearer) = (format!("{url}{path}"), format!("Bearer {key}"));
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let answer = Agent::new().send(("POST", &url), &headers, Some(&body.to_string()));
    // Whatever ends the work is an end: a refusal of a server that stops as well.
    let text = answer.ok().filter(|answer| answer.status < 300)?.text().ok()?;
    Some(serde_json::from_str(&text).expect("JSON"))
}

fn ids(list: &Value) -> Vec<String> {
    let list = list.as_array().expect("a list");
    list.iter().map(|one| text_of(one, "job_id")).collect()
}

/// Enqueues batch after batch until the server is gone, and answers what was acknowledged.
fn produce(url: &str, key: &str, acknowledged: &AtomicUsize) -> Vec<String> {
    let mut kept = Vec::new();
    let batch: Vec<Value> = (0..BATCH).map(|n| json!({"kind": "a", "payload": {"n": n}})).collect();
    while let Some(made) = ask(url, key, "/v1/jobs/batch", &json!({"jobs": batch})) {
        kept.extend(ids(&made["jobs"]));
        acknowledged.fetch_add(1, Ordering::Relaxed);
    }
    kept
}

/// Claims and completes until the server is gone, and answers which ends were acknowledged.
fn consume(url: &str, key: &str, worker: &str, acknowledged: &AtomicUsize) -> Vec<String> {
    let mut kept = Vec::new();
    let claim = json!({"worker": worker, "limit": BATCH, "wait_seconds": 5});
    while let Some(claimed) = ask(url, key, "/v1/jobs/claim", &claim) {
        let jobs = claimed["jobs"].as_array().expect("jobs");
        let ends: Vec<Value> = jobs
            .iter()
            .map(|job| json!({"job_id": job["job_id"], "token": job["token"], "outcome": "succeeded"}))
            .collect();
        let Some(ended) = ask(url, key, "/v1/jobs/end", &json!({"ends": ends})) else {
            break;
        };
        kept.extend(ids(&ended["ends"]));
        acknowledged.fetch_add(1, Ordering::Relaxed);
    }
    kept
}

#[tokio::test]
async fn a_server_killed_under_load_loses_nothing_that_it_acknowledged() {
    let bench = Workbench::open().await;
    let key = key(
        &bench,
        "both",
        &["--role", "producer", "--role", "worker", "--role", "operator"],
    );
    let api = Api::start(&bench);
    let url = api.url().to_owned();
    let (puts, ends) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (made, done) = std::thread::scope(|scope| {
        let producers: Vec<_> = (0..3).map(|_| scope.spawn(|| produce(&url, &key, &puts))).collect();
        let workers: Vec<_> = ["w1", "w2", "w3"]
            .map(|name| scope.spawn(|| consume(&url, &key, name, &ends)))
            .into_iter()
            .collect();
        eventually("enough to be acknowledged", || {
            let enough = |count: &AtomicUsize| count.load(Ordering::Relaxed) >= BATCHES_BEFORE;
            (enough(&puts) && enough(&ends)).then_some(())
        });
        // SIGKILL, with requests under way on all sides.
        drop(api);
        let all = |threads: Vec<std::thread::ScopedJoinHandle<'_, Vec<String>>>| -> Vec<String> {
            threads
                .into_iter()
                .flat_map(|one| one.join().expect("no panic"))
                .collect()
        };
        (all(producers), all(workers))
    });
    assert!(made.len() >= BATCHES_BEFORE * BATCH && !done.is_empty());
    let client = bench.database.connect().await.expect("connect");
    let column = async |sql: &str| -> BTreeSet<String> {
        let rows = client.query(sql, &[]).await.expect("query");
        rows.iter().map(|row| row.get(0)).collect()
    };
    let jobs = column("select job_id::text from tenure.jobs").await;
    let succeeded = column("select job_id::text from tenure.attempts where state = 'succeeded' and final").await;
    let lost = |kept: &[String], found: &BTreeSet<String>| kept.iter().filter(|id| !found.contains(*id)).count();
    assert_eq!(lost(&made, &jobs), 0, "every job that was acknowledged is there");
    assert_eq!(lost(&done, &succeeded), 0, "and so is every end");
    assert_eq!(jobs.len() % BATCH, 0, "a batch is there as a whole, or not at all");

    // What was held when the server died comes back, and all is done once.
    bench.advance("1 day").await;
    let api = Api::start(&bench);
    api.post(&key, "/v1/jobs/reap", json!({"limit": 500}));
    bench.advance("2 days").await;
    loop {
        let claimed = api.post(&key, "/v1/jobs/claim", json!({"worker": "w", "limit": 500}));
        let held = claimed["jobs"].as_array().expect("jobs");
        if held.is_empty() {
            break;
        }
        let ends: Vec<Value> = held
            .iter()
            .map(|job| json!({"job_id": job["job_id"], "token": job["token"], "outcome": "succeeded"}))
            .collect();
        api.post(&key, "/v1/jobs/end", json!({"ends": ends}));
    }
    let succeeded = "select job_id::text from tenure.attempts where state = 'succeeded' and final";
    // One that was under way when the server died may have come later.
    let jobs = column("select job_id::text from tenure.jobs").await;
    assert_eq!(column(succeeded).await, jobs);
    let twice = "select job_id::text from tenure.attempts where state = 'succeeded' group by 1 having count(*) > 1";
    assert_eq!(column(twice).await, BTreeSet::new(), "none was done twice");
}
