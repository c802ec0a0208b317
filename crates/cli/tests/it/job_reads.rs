//! Looking at jobs.

use crate::workbench::{Answer, Workbench};

#[tokio::test]
async fn a_list_is_filtered_and_paged() {
    let bench = Workbench::open().await;
    let first = bench.enqueue("a");
    let second = bench.enqueue("a");
    bench.enqueue("b");
    bench.json(&[
        "job",
        "enqueue",
        "c",
        "--executor",
        "Agent",
        "--correlation-id",
        "run-7",
    ]);
    let (claimed, _) = bench.claim("b");

    let ids = |args: &[&str]| -> Vec<String> {
        bench
            .lines(args)
            .iter()
            .map(|row| row["job_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&["job", "list"]).len(), 4);
    assert_eq!(ids(&["job", "list", "--kind", "a"]), [second.clone(), first.clone()]);
    assert_eq!(ids(&["job", "list", "--kind", "a", "--limit", "1"]), [second.as_str()]);
    assert_eq!(ids(&["job", "list", "--kind", "a", "--before", &second]), [first]);
    assert_eq!(ids(&["job", "list", "--state", "in_progress"]), [claimed]);
    assert_eq!(ids(&["job", "list", "--executor", "Agent"]).len(), 1);
    assert_eq!(ids(&["job", "list", "--correlation-id", "run-7"]).len(), 1);
    assert_eq!(ids(&["job", "list", "--state", "failed"]).len(), 0);

    let people = bench.text(&["job", "list"]);
    assert!(people.starts_with("JOB") && people.contains(&second), "{people}");
    assert_eq!(
        bench.text(&["job", "list", "--kind", "helo"]).trim(),
        "No jobs match. Without filters: tenure job list."
    );
    assert_eq!(
        bench
            .text(&["--quiet", "job", "list", "--kind", "a", "--limit", "1"])
            .trim(),
        second
    );
}

#[tokio::test]
async fn a_list_is_filtered_by_how_long_ago() {
    let bench = Workbench::open().await;
    let empty = bench.text(&["job", "list"]);
    assert_eq!(empty.trim(), "No jobs. `tenure job enqueue KIND` makes one.");
    bench.enqueue("old");
    bench.advance("3 hours").await;
    bench.enqueue("new");
    let kinds = |args: &[&str]| -> Vec<String> {
        let rows = bench.lines(&[&["job", "list"], args].concat());
        rows.iter()
            .map(|row| row["kind"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(kinds(&["--created-after", "-2h"]), ["new"]);
    assert_eq!(kinds(&["--created-before", "-2h"]), ["old"]);
    assert_eq!(kinds(&["--created-after", "-1d"]), ["new", "old"]);
    let refusal = bench.refused(&["job", "list", "--created-after", "2h"], "usage");
    assert_eq!(refusal["what"], "--created-after is \"2h\".");
    assert_eq!(refusal["why"], "A time ago begins with -.");
}

#[tokio::test]
async fn a_wait_that_ends_before_its_job_says_so() {
    let bench = Workbench::open().await;
    let said = bench.text(&["job", "enqueue", "k", "--due", "+1h", "--wait", "0"]);
    assert!(
        said.contains("is queued.\nThe wait is over, the job is not. See `tenure job explain "),
        "{said}"
    );
    assert!(!bench.text(&["job", "enqueue", "k"]).contains("wait"));
}

#[tokio::test]
async fn a_timeline_tells_who_did_what_and_when() {
    let bench = Workbench::open().await;
    let job = bench.enqueue("k");
    let (_, token) = bench.claim("k");
    bench.json(&["job", "complete", &job, &token]);
    let verbs: Vec<_> = bench
        .lines(&["job", "timeline", &job])
        .iter()
        .map(|row| row["verb"].clone())
        .collect();
    assert_eq!(verbs, ["enqueue", "claim", "start", "complete"]);
    let people = bench.text(&["job", "timeline", &job]);
    assert!(people.contains("succeeded") && people.contains('Z'), "{people}");
}

#[tokio::test]
async fn explain_says_why_a_job_does_not_run_and_what_to_do() {
    let bench = Workbench::open().await;
    let made = bench.json(&["job", "enqueue", "k", "--due", "+1h"]);
    let job = made["job_id"].as_str().unwrap();
    let codes = |job: &str| -> Vec<String> {
        let told = bench.json(&["job", "explain", job]);
        told["reasons"]
            .as_array()
            .unwrap()
            .iter()
            .map(|reason| reason["code"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(codes(job), ["not_due", "no_live_executor"]);
    bench.text(&["gate", "close", "jobs"]);
    assert!(codes(job).contains(&"gate_closed".to_owned()));
    let people = bench.text(&["job", "explain", job]);
    assert!(people.contains("next:") && people.contains("not_due"), "{people}");
}

#[tokio::test]
async fn a_stored_text_cannot_steer_the_terminal() {
    let bench = Workbench::open().await;
    let job = bench.enqueue("k");
    let (_, token) = bench.claim("k");
    bench.json(&[
        "job",
        "fail",
        &job,
        &token,
        "--message",
        "red \u{1b}[31m alert",
        "--permanent",
    ]);
    for args in [
        vec!["job", "show", &job],
        vec!["job", "list"],
        vec!["job", "timeline", &job],
        vec!["dead-letter", "list"],
    ] {
        assert!(!bench.text(&args).contains('\u{1b}'), "{args:?}");
    }
}

#[tokio::test]
async fn people_read_times_in_their_own_zone() {
    let bench = Workbench::open().await;
    bench.enqueue("k");
    let answer = Answer::of(bench.command(["job", "list"]).env("TZ", "Asia/Tokyo"));
    assert!(answer.out.contains("+09:00"), "{answer:?}");
    let answer = Answer::of(bench.command(["job", "list", "--json"]).env("TZ", "Asia/Tokyo"));
    assert!(answer.out.contains('Z') && !answer.out.contains("+09:00"), "{answer:?}");
}

#[tokio::test]
async fn a_reader_who_has_seen_enough_is_no_failure() {
    let bench = Workbench::open().await;
    for _ in 0..3 {
        bench.enqueue("k");
    }
    let mut command = bench.command(["job", "list"]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("run");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
