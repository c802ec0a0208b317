//! The event stream.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::workbench::{Workbench, eventually, text_of};

/// The events of a list, once there are this many.
fn events(bench: &Workbench, args: &[&str], count: usize) -> Vec<Value> {
    eventually("events", || {
        let rows = bench.lines(&[&["event", "list"], args].concat());
        assert!(rows.len() <= count, "{rows:?}");
        (rows.len() == count).then_some(rows)
    })
}

#[tokio::test]
async fn events_are_read_from_a_cursor_on() {
    let bench = Workbench::open().await;
    bench.enqueue("k");
    let seen = events(&bench, &["--kind", "job.enqueued"], 1);
    let cursor = text_of(&seen[0], "cursor");
    assert_eq!(bench.lines(&["event", "list", "--after", &cursor]).len(), 0);
    let job = bench.enqueue("k");
    let new = events(&bench, &["--after", &cursor], 1);
    assert_eq!(new[0]["kind"], "job.enqueued");
    assert_eq!(new[0]["job_ids"][0], job.as_str());
    assert_eq!(bench.lines(&["event", "list", "--limit", "1"]).len(), 1);
    let answer = bench.run(["event", "list", "--kind", "job.enqueued", "--limit", "1", "--oldest"]);
    assert!(
        answer.err.contains(&format!("There may be more: --after {cursor}")),
        "{answer:?}"
    );
    assert!(bench.text(&["event", "list"]).contains("job.enqueued"));
    assert_eq!(bench.lines(&["event", "list", "--subject", "nothing"]).len(), 0);
    bench.refused(&["event", "list", "--after", "yesterday"], "cursor_invalid");
}

#[tokio::test]
async fn the_newest_events_are_listed_unless_the_oldest_are_asked_for() {
    let bench = Workbench::open().await;
    let jobs: Vec<String> = (0..3).map(|_| bench.enqueue("k")).collect();
    events(&bench, &["--kind", "job.enqueued"], 3);
    let listed = |more: &[&str]| -> Vec<String> {
        let rows = bench.lines(&[&["event", "list", "--kind", "job.enqueued", "-n", "2"], more].concat());
        rows.iter()
            .map(|row| row["job_ids"][0].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(listed(&[]), jobs[1..], "the last two, in their order");
    assert_eq!(listed(&["--oldest"]), jobs[..2]);
    let told = bench.run(["event", "list", "--kind", "job.enqueued", "-n", "2"]);
    assert!(told.err.contains("There may be older ones"), "{told:?}");
}

#[tokio::test]
async fn an_open_transaction_that_holds_events_back_is_told() {
    let bench = Workbench::open().await;
    let holder = bench.database.connect().await.expect("connect");
    holder
        .batch_execute("begin; select pg_current_xact_id()")
        .await
        .expect("begin");
    bench.enqueue("k");
    let answer = bench.run(["event", "list", "--kind", "job.enqueued"]);
    assert!(answer.err.contains("wait for an open transaction"), "{answer:?}");
    holder.batch_execute("commit").await.expect("commit");
}

#[tokio::test]
async fn whoever_follows_sees_each_event_once_as_it_happens() {
    let bench = Workbench::open().await;
    let first = bench.enqueue("k");
    let mut command = bench.command(["event", "list", "--kind", "job.enqueued", "--follow", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("run");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("JSON") };
    assert_eq!(next()["job_ids"][0], first.as_str());
    let second = bench.enqueue("k");
    assert_eq!(next()["job_ids"][0], second.as_str());
    child.kill().expect("kill");
    child.wait().expect("wait");
}
