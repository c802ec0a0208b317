//! The services, by hand.

use crate::workbench::Workbench;

#[tokio::test]
async fn the_reaper_shows_before_it_acts() {
    let bench = Workbench::open().await;
    let job = bench.enqueue("k");
    bench.claim("k");
    assert!(bench.text(&["reap"]).contains("Nothing"));
    bench.advance("1 hour").await;
    let found = bench.lines(&["reap", "--dry-run"]);
    assert_eq!((found.len(), &found[0]["job_id"]), (1, &job.as_str().into()));
    assert_eq!(bench.state_of(&job), "in_progress");
    assert_eq!(bench.lines(&["reap"]).len(), 1);
    assert_eq!(bench.state_of(&job), "retry_waiting");
}

#[tokio::test]
async fn the_sweep_cleans_what_has_passed_its_retention() {
    let bench = Workbench::open().await;
    let job = bench.enqueue("k");
    let (_, token) = bench.claim("k");
    bench.json(&["job", "complete", &job, &token]);
    assert_eq!(bench.json(&["sweep"])["cleaned"], 0);
    bench.advance("8 days").await;
    assert_eq!(bench.json(&["sweep"])["cleaned"], 1);
    assert_eq!(bench.state_of(&job), "cleaned");
    assert!(bench.text(&["sweep"]).contains("cleaned"));
}
