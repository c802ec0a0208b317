//! Schedules on real servers: each of them plans and starts slots, and each slot once.

use crate::api::Api;
use crate::workbench::{Answer, Workbench, eventually};

/// Enough that both servers find some.
const SCHEDULES: i64 = 40;

/// Asks the database until it answers so.
async fn until(bench: &Workbench, what: &str, statement: &str, answer: &str) {
    let client = bench.database.connect().await.expect("connect");
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let row = client.query_one(statement, &[]).await.expect("query");
        let found: String = row.get(0);
        if found == answer {
            return;
        }
        assert!(
            tokio::time::Instant::now() < deadline,
            "waited too long for {what}: {found}, not {answer}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// What the schedulers of these servers have counted.
fn counted(servers: &[Api], what: &str) -> f64 {
    let series = format!("tenure_scheduler_slots_total{{what=\"{what}\"}} ");
    let of = |server: &Api| -> f64 {
        let url = server.told["metrics"].as_str().expect("an address");
        let text = crate::http::get(url).text().expect("text");
        let line = text.lines().find_map(|line| line.strip_prefix(&series));
        line.unwrap_or_else(|| panic!("no {series} in {text}"))
            .parse()
            .expect("a number")
    };
    servers.iter().map(of).sum()
}

/// Proves: S237.
#[tokio::test]
async fn two_servers_plan_and_start_each_slot_once() {
    let bench = Workbench::open().await;
    let serve = || {
        Api::of(bench.command([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--metrics-listen",
            "127.0.0.1:0",
            "--log",
            "warn",
            "--json",
        ]))
    };
    let servers = [serve(), serve()];
    let make = format!(
        r#"select count(tenure.schedule_create('hourly ' || n, '{{"every_seconds": 3600, "kind": "report", "overlap": "allow"}}'))::text
             from generate_series(1, {SCHEDULES}) n"#
    );
    assert_eq!(bench.sql(&make).await, SCHEDULES.to_string());
    let slots = |state: &str| format!("select count(*)::text from tenure.planned_slots where state = '{state}'");
    for round in 1..=3 {
        until(&bench, "the next slots", &slots("planned"), &SCHEDULES.to_string()).await;
        bench.advance(&format!("{round} hours")).await;
        let due = (round * SCHEDULES).to_string();
        until(&bench, "their runs", &slots("running"), &due).await;
        let jobs = "select count(*)::text from tenure.jobs where kind = 'report'";
        assert_eq!(bench.sql(jobs).await, due, "a job each");
    }
    until(&bench, "the next slots", &slots("planned"), &SCHEDULES.to_string()).await;
    let told = ["planned", "started", "skipped", "missed"].map(|what| {
        let wanted = match what {
            "planned" => 4.0 * SCHEDULES as f64,
            "started" => 3.0 * SCHEDULES as f64,
            _ => 0.0,
        };
        // A server counts after it has committed.
        eventually(what, || (counted(&servers, what) == wanted).then_some(wanted))
    });
    assert_eq!(told[2..], [0.0, 0.0]);
}

#[tokio::test]
async fn dev_runs_schedules_and_its_worker_their_jobs() {
    let bench = Workbench::open().await;
    let server = Api::of(bench.command(["dev", "--listen", "127.0.0.1:0", "--json"]));
    let spec = r#"{"cron": "0 * * * *", "zone": "Europe/Berlin", "kind": "hello", "payload": {"name": "world"}}"#;
    bench
        .sql(&format!(
            "select tenure.schedule_create('greeting', '{spec}') ->> 'state'"
        ))
        .await;
    let slots = |state: &str| format!("select count(*)::text from tenure.planned_slots where state = '{state}'");
    until(&bench, "a plan", &slots("planned"), "1").await;
    bench.advance("1 hour").await;
    until(&bench, "its success", &slots("succeeded"), "1").await;
    until(&bench, "the next", &slots("planned"), "1").await;
    drop(server);
}

/// Somebody who asks why a schedule does not run is sent to the doctor.
#[tokio::test]
async fn the_doctor_tells_that_nobody_looks_at_what_is_due() {
    let bench = Workbench::open().await;
    let found = |bench: &Workbench| -> String {
        let Answer { out, .. } = bench.run(["doctor"]);
        let line = out
            .lines()
            .find(|line| line.split_whitespace().nth(1) == Some("schedules"));
        line.unwrap_or_else(|| panic!("{out}")).to_owned()
    };
    assert!(found(&bench).contains("Nothing that is due waits"), "{}", found(&bench));
    bench
        .sql(r#"select tenure.schedule_create('lonely', '{"every_seconds": 60, "kind": "report"}') ->> 'state'"#)
        .await;
    bench.advance("2 hours").await;
    let late = found(&bench);
    assert!(
        late.starts_with("warn") && late.contains("no scheduler looks"),
        "{late}"
    );
}
