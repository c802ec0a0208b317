//! The ways in which a held job ends, and who may end it.

use serde_json::json;

use crate::workbench::Workbench;

#[tokio::test]
async fn a_failed_job_waits_for_its_retry_and_a_permanent_failure_does_not() {
    let bench = Workbench::open().await;
    let job = bench.enqueue("k");
    let (_, token) = bench.claim("k");
    let failed = bench.json(&[
        "job",
        "fail",
        &job,
        &token,
        "--message",
        "timeout",
        "--code",
        "net",
        "--class",
        "io",
        "--retry-seconds",
        "0",
    ]);
    assert_eq!(failed["state"], "retry_waiting");
    assert_eq!(bench.json(&["job", "show", &job])["error_code"], "net");

    let (again, token) = bench.claim("k");
    assert_eq!(again, job);
    let failed = bench.json(&[
        "job",
        "fail",
        &job,
        &token,
        "--message",
        "no such customer",
        "--permanent",
    ]);
    assert_eq!(failed["state"], "dead_letter");
    assert_eq!(bench.state_of(&job), "dead_letter");
}

#[tokio::test]
async fn a_snooze_and_a_release_cost_no_attempt() {
    let bench = Workbench::open().await;
    let job = bench.enqueue("k");
    let (_, token) = bench.claim("k");
    assert_eq!(
        bench.json(&["job", "snooze", &job, &token, "0"])["state"],
        "retry_waiting"
    );
    let (_, token) = bench.claim("k");
    assert_eq!(bench.json(&["job", "release", &job, &token])["state"], "queued");
    let claimed = &bench.json(&["job", "claim", "--kind", "k"])["job"];
    assert_eq!((&claimed["attempt"], &claimed["run"]), (&json!(1), &json!(3)));
}

#[tokio::test]
async fn a_wrong_token_ends_nothing() {
    let bench = Workbench::open().await;
    let job = bench.enqueue("k");
    let (_, token) = bench.claim("k");
    let wrong = "00000000-0000-4000-8000-000000000000";
    bench.refused(&["job", "complete", &job, wrong], "stale_lease");
    bench.refused(&["job", "fail", &job, wrong, "--message", "x"], "stale_lease");
    bench.refused(&["job", "snooze", &job, wrong, "5"], "stale_lease");
    bench.refused(&["job", "release", &job, wrong], "stale_lease");
    bench.refused(&["job", "start", &job, wrong], "stale_lease");
    bench.refused(&["job", "heartbeat", &job, wrong], "stale_lease");
    bench.refused(&["job", "progress", &job, wrong, "{}"], "stale_lease");
    bench.refused(&["job", "acknowledge-cancel", &job, wrong], "stale_lease");
    assert_eq!(bench.state_of(&job), "in_progress");
    assert_eq!(bench.json(&["job", "complete", &job, &token])["state"], "succeeded");
}

#[tokio::test]
async fn an_expired_lease_ends_nothing() {
    let bench = Workbench::open().await;
    let job = bench.enqueue("k");
    let (_, token) = bench.claim("k");
    bench.advance("1 hour").await;
    bench.refused(&["job", "complete", &job, &token], "lease_expired");
    bench.refused(&["job", "heartbeat", &job, &token], "stale_lease");
}

#[tokio::test]
async fn a_snooze_needs_work_in_progress_and_a_sane_delay() {
    let bench = Workbench::open().await;
    let job = bench.enqueue("k");
    let claimed = &bench.json(&["job", "claim", "--kind", "k"])["job"];
    let token = claimed["token"].as_str().unwrap();
    bench.refused(&["job", "snooze", &job, token, "5"], "state_conflict");
    bench.json(&["job", "start", &job, token]);
    bench.refused(&["job", "snooze", &job, token, "-5"], "number_out_of_range");
    bench.refused(&["job", "snooze", &job, token, "99999999999"], "number_out_of_range");
    bench.refused(&["job", "snooze", &job, token, "soon"], "usage");
}

#[tokio::test]
async fn a_result_that_is_too_large_is_refused_and_the_job_stays_held() {
    let bench = Workbench::open().await;
    let job = bench.enqueue("k");
    let (_, token) = bench.claim("k");
    let large = format!(r#"{{"a": "{}"}}"#, "x".repeat(tenure_core::limits::RESULT_BYTES_MAX));
    bench.refused(
        &["job", "complete", &job, &token, "--result", &large],
        "result_too_large",
    );
    bench.refused(&["job", "complete", &job, &token, "--result", "{no"], "usage");
    let done = bench.json(&["job", "complete", &job, &token, "--result-ref", "s3://bucket/large"]);
    assert_eq!(done["state"], "succeeded");
}
