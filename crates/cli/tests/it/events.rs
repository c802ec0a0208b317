//! The event stream.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::bench::{Bench, text_of};

#[tokio::test]
async fn events_are_read_from_a_cursor_on() {
    let bench = Bench::open().await;
    bench.enqueue("k");
    let seen = bench.lines(&["event", "list"]);
    let cursor = text_of(seen.last().expect("events"), "cursor");
    assert_eq!(bench.lines(&["event", "list", "--after", &cursor]).len(), 0);
    let job = bench.enqueue("k");
    let new = bench.lines(&["event", "list", "--after", &cursor]);
    assert_eq!(new.len(), 1);
    assert_eq!(
        (&new[0]["kind"], &new[0]["job_ids"][0]),
        (&"job.enqueued".into(), &job.as_str().into())
    );
    assert_eq!(bench.lines(&["event", "list", "--kind", "job.enqueued"]).len(), 2);
    assert_eq!(bench.lines(&["event", "list", "--limit", "1"]).len(), 1);
    assert!(bench.text(&["event", "list"]).contains("job.enqueued"));
    bench.refused(&["event", "list", "--after", "yesterday"], "cursor_invalid");
}

#[tokio::test]
async fn whoever_follows_sees_each_event_once_as_it_happens() {
    let bench = Bench::open().await;
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
