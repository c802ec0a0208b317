//! Health and doctor.

use serde_json::Value;

use crate::api::Api;
use crate::workbench::{Workbench, check_refusal, eventually, tenure};

fn finding<'a>(findings: &'a [Value], check: &str) -> &'a Value {
    findings
        .iter()
        .find(|finding| finding["check"] == check)
        .unwrap_or_else(|| panic!("no check {check}"))
}

#[tokio::test]
async fn health_is_one_look() {
    let bench = Workbench::open().await;
    bench.enqueue("k");
    bench.enqueue("k");
    bench.claim("k");
    let health = bench.json(&["health"]);
    assert_eq!(
        (&health["backlog"], &health["in_progress"], &health["executors_alive"]),
        (&1.into(), &1.into(), &1.into())
    );
    let people = bench.text(&["health"]);
    assert!(
        people.contains("backlog") && people.contains("queue.job_substrate.enabled"),
        "{people}"
    );
}

#[tokio::test]
async fn a_healthy_installation_has_no_failures() {
    let bench = Workbench::open().await;
    let findings = bench.lines(&["doctor"]);
    for check in [
        "connection",
        "schema",
        "roles",
        "gates",
        "clock",
        "bloat",
        "transactions",
        "stream",
        "schedules",
        "executions",
        "partitions",
        "wal",
    ] {
        let finding = finding(&findings, check);
        assert_ne!(finding["verdict"], "fail", "{finding}");
    }
    let people = bench.text(&["doctor"]);
    assert!(people.contains("ok") && people.contains("schema"), "{people}");
}

#[tokio::test]
async fn closed_gates_are_a_warning_with_a_next_step() {
    let bench = Workbench::closed().await;
    let findings = bench.lines(&["doctor"]);
    let gates = finding(&findings, "gates");
    assert_eq!(gates["verdict"], "warn");
    assert!(gates["next"].as_str().unwrap().contains("tenure gate open"), "{gates}");
}

#[tokio::test]
async fn doctor_and_health_name_services_that_no_process_runs_until_a_server_does() {
    let bench = Workbench::open().await;
    let services = || finding(&bench.lines(&["doctor"]), "services").clone();
    let missing = services();
    assert_eq!(missing["verdict"], "warn");
    for part in [
        "No reaper has ever run: expired leases are not rescued.",
        "No scheduler has ever run: schedules do not fire.",
    ] {
        assert!(missing["what"].as_str().unwrap().contains(part), "{missing}");
    }
    let next = missing["next"].as_str().unwrap();
    assert!(
        next.contains("tenure serve") && next.contains("tenure::services::run"),
        "{missing}"
    );
    let health = bench.text(&["health"]);
    assert!(
        health.contains("services_missing") && health.contains("scheduler"),
        "{health}"
    );
    let _server = Api::start(&bench);
    eventually("the services of a server", || {
        (services()["verdict"] == "ok").then_some(())
    });
    assert_eq!(bench.json(&["health"])["services"]["reaper"]["is_running"], true);
}

#[tokio::test]
async fn a_clock_that_was_replaced_fails() {
    let bench = Workbench::open().await;
    bench.advance("1 hour").await;
    let answer = bench.run(["doctor", "--json"]);
    assert_eq!(answer.exit, 1, "{answer:?}");
    let findings: Vec<Value> = answer
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(finding(&findings, "clock")["verdict"], "fail");
}

#[tokio::test]
async fn a_missing_schema_is_a_finding_not_a_riddle() {
    let bench = Workbench::empty().await;
    let answer = bench.run(["doctor", "--json"]);
    assert_eq!(answer.exit, 1, "{answer:?}");
    let findings: Vec<Value> = answer
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let schema = finding(&findings, "schema");
    assert_eq!(schema["verdict"], "fail");
    assert!(schema["next"].as_str().unwrap().contains("tenure migrate"), "{schema}");
    check_refusal(
        || {
            let mut command = tenure();
            command.args(["--database-url", "postgresql:///x?host=/nonexistent", "doctor"]);
            command
        },
        "database_unreachable",
    );
}
