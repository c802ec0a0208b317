//! `tenure bench`, small: every phase runs, its answer has its fields, and nothing of it is left. How fast it was is
//! nobody's business here.

use serde_json::Value;

use crate::dev::data_dir;
use crate::workbench::{Answer, Workbench, check_refusal, tenure};

const JOBS: u64 = 300;
/// What every figure of work done comes with.
const COST: &[&str] = &[
    "jobs",
    "seconds",
    "jobs_per_second",
    "wal_bytes_per_job",
    "commits_per_job",
    "client_cpu_us_per_job",
];
const PERCENTILES: &[&str] = &["p50_ms", "p95_ms", "p99_ms", "max_ms"];

/// Runs a phase on the database of the test, and checks what every answer has.
fn bench_of(bench: &Workbench, args: &[&str]) -> Value {
    let report = bench.json(&[&["bench", "--yes"], args].concat());
    assert_eq!(report["system"], "tenure");
    assert_eq!(report["phase"], args[0]);
    for fact in ["version", "fsync", "synchronous_commit"] {
        assert!(report["server"][fact].is_string(), "{fact}: {report}");
    }
    report
}

fn check_json_numbers(report: &Value, fields: &[&str]) {
    for field in fields {
        assert!(report[*field].is_number(), "{field}: {report}");
    }
}

/// All jobs of the bench have succeeded, and there are so many.
async fn all_done(bench: &Workbench, jobs: u64) {
    let count = "select count(*)::text from tenure.jobs where kind = 'bench.noop'";
    assert_eq!(bench.sql(count).await, jobs.to_string());
    let done = "select count(*)::text from tenure.attempts a join tenure.jobs j using (job_id)
                 where a.final and a.state = 'succeeded' and j.kind = 'bench.noop'";
    assert_eq!(bench.sql(done).await, jobs.to_string());
}

#[test]
fn bench_starts_a_server_of_its_own_and_leaves_nothing_behind() {
    let dir = data_dir();
    let mut command = tenure();
    command.env("TMPDIR", dir.path());
    command.args(["bench", "drain", "--jobs", "200", "--json"]);
    command.args(["--set", "fsync=off", "--set", "shared_buffers=32MB"]);
    let report: Value = serde_json::from_str(&Answer::of(&mut command).ok()).expect("JSON");
    assert_eq!((&report["jobs"], &report["left"]), (&200.into(), &0.into()), "{report}");
    assert_eq!(report["server"]["shared_buffers"], "32MB", "{report}");
    let left: Vec<_> = std::fs::read_dir(dir.path()).expect("the directory").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_drain_runs_every_job_once_and_tells_what_it_cost() {
    let bench = Workbench::open().await;
    let report = bench_of(
        &bench,
        &["drain", "--jobs", "300", "--batch", "50", "--concurrency", "100"],
    );
    check_json_numbers(&report, COST);
    assert_eq!(
        (&report["jobs"], &report["left"]),
        (&JOBS.into(), &0.into()),
        "{report}"
    );
    assert_eq!(report["settings"]["keys"], true);
    all_done(&bench, JOBS).await;
}

#[tokio::test]
async fn a_drain_in_two_parts_is_a_drain() {
    let bench = Workbench::open().await;
    let prepared = bench_of(&bench, &["drain", "--jobs", "300", "--prepare-only", "--no-keys"]);
    assert_eq!(prepared["prepared"], JOBS);
    assert_eq!(bench.json(&["health"])["backlog"], JOBS);
    let report = bench_of(&bench, &["drain", "--skip-enqueue"]);
    assert_eq!(
        (&report["jobs"], &report["left"]),
        (&JOBS.into(), &0.into()),
        "{report}"
    );
    all_done(&bench, JOBS).await;
}

#[tokio::test]
async fn a_backlog_is_told_slice_by_slice() {
    let bench = Workbench::open().await;
    let report = bench_of(&bench, &["drain", "--backlog", "300", "--slice", "100"]);
    assert_eq!(report["slices"].as_array().map(Vec::len), Some(3), "{report}");
    check_json_numbers(&report, &["first_to_last"]);
    all_done(&bench, JOBS).await;
}

#[tokio::test]
async fn what_an_enqueue_bench_puts_in_is_taken_out_again() {
    let bench = Workbench::open().await;
    let bulk = bench_of(&bench, &["enqueue", "--jobs", "300", "--batch", "100", "--keys"]);
    check_json_numbers(&bulk, COST);
    assert_eq!(bulk["settings"]["keys"], true);
    let single = bench_of(&bench, &["enqueue", "--one-by-one", "--jobs", "50"]);
    check_json_numbers(&single, COST);
    assert_eq!((&single["settings"]["batch"], &single["left"]), (&1.into(), &0.into()));
    // And one each that made the lane.
    all_done(&bench, JOBS + 1 + 50 + 1).await;
}

#[tokio::test]
async fn latency_is_told_in_percentiles() {
    let bench = Workbench::open().await;
    let report = bench_of(&bench, &["latency", "--jobs", "20", "--pause-ms", "5"]);
    check_json_numbers(&report, PERCENTILES);
    check_json_numbers(&report["from_send"], PERCENTILES);
    assert_eq!(report["left"], 0, "{report}");
}

#[tokio::test]
async fn steady_work_is_told_by_segments_and_nothing_is_left_of_it() {
    let bench = Workbench::open().await;
    for load in [
        &["--rate", "100"][..],
        &["--closed-loop", "--backlog", "50", "--hold-horizon"],
    ] {
        let report = bench_of(&bench, &[&["steady", "--seconds", "2"], load].concat());
        check_json_numbers(&report, COST);
        check_json_numbers(&report["latency"], PERCENTILES);
        check_json_numbers(&report, &["dead_rows", "disk_mb", "cleaned", "enqueued"]);
        let segments = report["segments"].as_array().expect("segments");
        assert_eq!(segments.len(), 10, "{report}");
        check_json_numbers(&segments[0], &["jobs_per_second", "p99_ms", "dead_rows", "disk_mb"]);
        assert_eq!(report["left"], 0, "{report}");
    }
}

#[tokio::test]
async fn a_soak_compares_the_same_work_without_and_with_an_old_snapshot() {
    let bench = Workbench::open().await;
    let report = bench_of(&bench, &["soak", "--rate", "100", "--seconds", "1"]);
    assert_eq!(report["settings"]["hold_horizon"], true);
    assert_eq!(report["free"]["settings"]["hold_horizon"], false);
    check_json_numbers(&report["free"], COST);
    check_json_numbers(&report, &["held_to_free"]);
    assert_eq!(report["left"], 0, "{report}");
}

#[tokio::test]
async fn figures_come_as_lines_for_people_and_as_markdown_for_pages() {
    let bench = Workbench::open().await;
    let people = bench.run(["bench", "drain", "--yes", "--jobs", "20"]);
    assert!(
        people.out.contains("jobs/s") && people.out.contains("fsync"),
        "{people:?}"
    );
    assert!(people.err.contains("debug build"), "{people:?}");
    let page = bench.text(&[
        "bench",
        "drain",
        "--yes",
        "--backlog",
        "20",
        "--slice",
        "10",
        "--markdown",
    ]);
    assert!(page.starts_with("| drain |"), "{page}");
    assert!(page.contains("| jobs | jobs/s |"), "{page}");
    let refused = bench.run(["bench", "drain", "--yes", "--markdown", "--json"]);
    assert_eq!(refused.exit, 2, "{refused:?}");
}

#[tokio::test]
async fn a_database_of_the_user_s_is_not_written_to_unasked() {
    let bench = Workbench::open().await;
    let refusal = bench.refused(&["bench", "drain", "--jobs", "10"], "usage");
    assert!(refusal["next"].as_str().unwrap().contains("--yes"), "{refusal}");
    assert!(refusal["why"].as_str().unwrap().contains("bench.noop"), "{refusal}");
    let refusal = bench.refused(&["bench", "executions"], "usage");
    assert!(refusal["why"].as_str().unwrap().contains("approval rule"), "{refusal}");
    bench.refused(&["bench", "drain", "--yes", "--set", "fsync=off"], "usage");
    bench.refused(&["bench", "drain", "--yes", "--jobs", "0"], "number_out_of_range");
    assert_eq!(bench.sql("select count(*)::text from tenure.jobs").await, "0");
}

#[tokio::test]
async fn a_bench_behind_closed_gates_says_which_and_how_to_open_them() {
    let bench = Workbench::open().await;
    bench.text(&["gate", "close", "worker", "notify"]);
    let refusal = bench.refused(&["bench", "latency", "--yes"], "gate_closed");
    let next = refusal["next"].as_str().unwrap();
    assert!(next.contains("tenure gate open worker notify"), "{refusal}");
    check_refusal(
        || {
            let mut command = tenure();
            command.args(["bench", "drain", "--prepare-only", "--set", "shared_buffers=32MB"]);
            command
        },
        "usage",
    );
}

/// The limits that waiting clients have: memory each, and connections altogether.
#[tokio::test]
async fn work_goes_over_http_too_and_who_waits_there_costs_little() {
    let bench = Workbench::open().await;
    let options = [
        "--jobs",
        "200",
        "--batch",
        "20",
        "--connections",
        "2",
        "--rounds",
        "1",
        // Many enough that what a server takes once hardly counts.
        "--idle",
        "800",
    ];
    let told = bench.json(&[&["bench", "http", "--yes"][..], &options].concat());
    assert_eq!(told["left"], 0, "{told}");
    for part in ["enqueue", "claim_and_complete"] {
        assert!(
            told[part]["http_to_sql"].as_f64().is_some_and(|ratio| ratio > 0.0),
            "{told}"
        );
    }
    for sort in ["long_polls", "followers"] {
        let idle = &told["idle"][sort];
        assert_eq!(idle["count"], 800, "all of them wait: {told}");
        assert!(
            idle["bytes_each"].as_u64().is_some_and(|bytes| bytes < 64 * 1024),
            "{told}"
        );
        assert!(
            idle["database_connections"].as_u64().is_some_and(|used| used <= 11),
            "two for requests, one that listens, six for services and two for health checks at most: {told}"
        );
    }
    let keys = bench.run(["key", "list", "--json"]).ok();
    assert!(
        !keys.contains(r#""state":"valid""#),
        "its keys are worth nothing any more: {keys}"
    );
}

/// Its schedules are gone afterwards, and their slots have run.
#[tokio::test]
async fn schedules_that_are_due_together_are_all_started() {
    let bench = Workbench::open().await;
    let options = ["--schedules", "60", "--interval", "10", "--rounds", "1", "--idle", "30"];
    let told = bench_of(&bench, &[&["schedules"][..], &options].concat());
    assert_eq!(told["left"], 0, "{told}");
    for way in ["one", "two"] {
        assert_eq!(told[way]["started"], serde_json::json!([60]), "{told}");
        check_json_numbers(&told[way], &["seconds", "slots_per_second", "to_enqueue"]);
    }
    check_json_numbers(&told, &["jobs_per_second", "enqueue_per_second"]);
    let looks = told["looks"].as_array().expect("looks");
    let beside: Vec<_> = looks.iter().map(|look| look["schedules"].as_u64()).collect();
    assert_eq!(beside, [Some(0), Some(30), Some(30)]);
    assert!(looks.iter().all(|look| look["look_us"].as_f64() > Some(0.0)), "{told}");
    let left = "select count(*)::text from tenure.schedules where deleted_at is null";
    assert_eq!(bench.sql(left).await, "0");
    let open = "select count(*)::text from tenure.planned_slots where ended_at is null";
    assert_eq!(bench.sql(open).await, "0");
}

/// Its executions have run to their end, and the rule that let them is gone.
#[tokio::test]
async fn steps_that_follow_each_other_are_told_beside_plain_jobs() {
    let bench = Workbench::open().await;
    // The rules of the place ask for more than a benchmark has.
    let strict = r#"select tenure.approval_rule_set('strict', '{"level": 2}') ->> 'name'"#;
    assert_eq!(bench.sql(strict).await, "strict");
    let options = ["--steps", "3", "--batch", "4", "--rounds", "2", "--plan-steps", "24"];
    let told = bench_of(&bench, &[&["executions"][..], &options].concat());
    assert_eq!(told["left"], 0, "{told}");
    let sizes = told["advance"].as_array().expect("sizes of batches");
    assert_eq!(sizes.len(), 1, "{told}");
    assert_eq!(sizes[0]["batch"], 4, "{told}");
    let figures = [
        "plain_us",
        "step_us",
        "locked_us",
        "to_plain",
        "to_plain_min",
        "to_plain_max",
        "locked_to_plain",
    ];
    check_json_numbers(
        &sizes[0],
        &[&figures[..], &["plain_claim_us", "step_claim_us"]].concat(),
    );
    assert_eq!(sizes[0]["rounds"].as_array().map(Vec::len), Some(2), "{told}");
    check_json_numbers(&told, &["advance_to_plain", "jobs_per_second"]);
    for (shape, steps) in [("chain", 24), ("fan", 21)] {
        assert_eq!(told[shape]["steps"], steps, "{told}");
        check_json_numbers(&told[shape], &["last_to_first"]);
        let quarters = told[shape]["quarters_us"].as_array().expect("quarters");
        assert_eq!(quarters.len(), 4, "{told}");
        assert!(quarters.iter().all(|us| us.as_f64() > Some(0.0)), "{told}");
    }
    check_json_numbers(&told["fan"], &["batch", "out_us", "gather_us"]);

    // In each round four and two that warm up, with locks and without; a chain and a fan, each with one that warms up.
    let ended = "select count(*) || ' ' || count(*) filter (where state = 'succeeded') from tenure.execution_rows";
    assert_eq!(bench.sql(ended).await, "32 32");
    assert_eq!(bench.sql("select count(*)::text from tenure.locks").await, "0");
    let rules = "select string_agg(name, ' ') from tenure.approval_rules";
    assert_eq!(bench.sql(rules).await, "strict");
}

#[tokio::test]
async fn a_bench_of_executions_that_cannot_run_says_why_and_leaves_nothing() {
    let bench = Workbench::open().await;
    for absurd in [
        ["--steps", "1001"],
        ["--batch", "0"],
        ["--plan-steps", "3"],
        ["--rounds", "-1"],
    ] {
        bench.refused(
            &[&["bench", "executions", "--yes"][..], &absurd].concat(),
            "number_out_of_range",
        );
    }
    bench.text(&["execution", "freeze", "--reason", "a release"]);
    let refusal = bench.refused(&["bench", "executions", "--yes", "--batch", "1"], "state_conflict");
    assert!(refusal["why"].as_str().unwrap().contains("freeze"), "{refusal}");
    let open = "select count(*)::text from tenure.execution_rows where ended_at is null";
    assert_eq!(bench.sql(open).await, "0");
    assert_eq!(bench.sql("select count(*)::text from tenure.approval_rules").await, "0");
}
