//! What operators do to jobs by their ids.

use crate::workbench::Workbench;

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

#[tokio::test]
async fn a_waiting_job_is_cancelled_at_once_and_a_running_one_is_asked() {
    let bench = Workbench::open().await;
    let waiting = bench.enqueue("w");
    let done = bench.json(&["job", "cancel", &waiting, "--reason", "not needed"]);
    assert_eq!(done["state"], "cancelled");
    let again = bench.json(&["job", "cancel", &waiting, "--reason", "again"]);
    assert_eq!(again["state"], "cancelled", "twice is no error");

    let running = bench.enqueue("r");
    let (_, token) = bench.claim("r");
    bench.refused(&["job", "acknowledge-cancel", &running, &token], "cancel_not_requested");
    let asked = bench.json(&["job", "cancel", &running, "--reason", "stop"]);
    assert_eq!(asked["cancel_requested"], true);
    let beat = bench.json(&["job", "heartbeat", &running, &token]);
    assert_eq!(beat["status"], "cancel");
    assert!(bench.text(&["job", "heartbeat", &running, &token]).contains("cancel"));
    let done = bench.json(&["job", "acknowledge-cancel", &running, &token]);
    assert_eq!(done["state"], "cancelled");
}

#[tokio::test]
async fn a_forced_cancel_takes_the_job_from_its_worker() {
    let bench = Workbench::open().await;
    let job = bench.enqueue("k");
    let (_, token) = bench.claim("k");
    let done = bench.json(&["job", "cancel", &job, "--reason", "runaway", "--force"]);
    assert_eq!(done["state"], "cancelled");
    bench.refused(&["job", "complete", &job, &token], "stale_lease");
}

#[tokio::test]
async fn a_retry_runs_a_waiting_job_now() {
    let bench = Workbench::open().await;
    let made = bench.json(&["job", "enqueue", "k", "--due", "+1h"]);
    let job = made["job_id"].as_str().unwrap();
    assert_eq!(
        bench.json(&["job", "claim", "--kind", "k"])["job"],
        serde_json::Value::Null
    );
    assert_eq!(bench.json(&["job", "retry", job, "--reason", "now"])["state"], "queued");
    let (claimed, token) = bench.claim("k");
    assert_eq!(claimed, job);
    bench.refused(&["job", "retry", job], "state_conflict");
    bench.json(&["job", "complete", job, &token]);
    bench.refused(&["job", "retry", job], "state_conflict");
}

#[tokio::test]
async fn a_waiting_job_can_be_moved_to_the_dead_letters() {
    let bench = Workbench::open().await;
    let job = bench.enqueue("k");
    assert_eq!(
        bench.json(&["job", "dead-letter", &job, "--reason", "poison"])["state"],
        "dead_letter"
    );
    bench.refused(&["job", "dead-letter", &job, "--reason", "again"], "state_conflict");
}

#[tokio::test]
async fn a_job_that_never_was_is_not_found() {
    let bench = Workbench::open().await;
    for args in [
        vec!["job", "show", NOBODY],
        vec!["job", "timeline", NOBODY],
        vec!["job", "explain", NOBODY],
        vec!["job", "retry", NOBODY],
        vec!["job", "cancel", NOBODY, "--reason", "r"],
        vec!["job", "dead-letter", NOBODY, "--reason", "r"],
    ] {
        bench.refused(&args, "job_not_found");
    }
}

#[tokio::test]
async fn an_operation_wants_a_reason() {
    let bench = Workbench::open().await;
    let job = bench.enqueue("k");
    bench.refused(&["job", "cancel", &job], "usage");
    bench.refused(&["job", "cancel", &job, "--reason", " \t"], "name_blank");
}
