//! Gates.

use crate::workbench::Workbench;

fn closed(bench: &Workbench) -> Vec<String> {
    let rows = bench.lines(&["gate", "list"]);
    let closed = rows.iter().filter(|row| row["position"] == "closed");
    closed.map(|row| row["key"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn migrating_alone_leaves_every_gate_closed_and_init_opens_them() {
    let bench = Workbench::closed().await;
    assert_eq!(closed(&bench).len(), 4);
    let told = bench.text(&["init"]);
    assert!(told.contains("queue.job_substrate.enabled"), "{told}");
    assert_eq!(closed(&bench), [""; 0]);
}

#[tokio::test]
async fn a_gate_goes_by_its_short_name_too() {
    let bench = Workbench::open().await;
    let answer = bench.lines(&["gate", "close", "heartbeat", "queue.notify.enabled"]);
    assert_eq!(answer.len(), 2);
    assert_eq!(closed(&bench), ["queue.heartbeat.enabled", "queue.notify.enabled"]);
    bench.refused(&["executor", "beat", "w1", "--executor", "Agent"], "gate_closed");
    bench.text(&["gate", "close", "--all"]);
    assert_eq!(closed(&bench).len(), 4);
    bench.text(&["gate", "open", "--all"]);
    assert_eq!(closed(&bench).len(), 0);
}

#[tokio::test]
async fn a_gate_that_is_none_is_refused() {
    let bench = Workbench::open().await;
    bench.refused(&["gate", "open", "jbos"], "config_unknown");
    bench.refused(&["gate", "close", "queue.kind.strict"], "config_unknown");
    bench.refused(&["gate", "close", "heartbeat", "jbos"], "config_unknown");
    assert_eq!(closed(&bench), [""; 0], "all or none");
    bench.refused(&["gate", "open"], "usage");
    bench.refused(&["gate", "open", "jobs", "--all"], "usage");
}

#[tokio::test]
async fn whoever_closes_a_gate_for_the_installation_learns_which_tenants_keep_it_open() {
    let bench = Workbench::open().await;
    bench.json(&["tenant", "create", "acme"]);
    bench.text(&["--tenant", "acme", "gate", "open", "worker"]);
    let answer = bench.run(["gate", "close", "worker", "notify", "--installation"]);
    assert_eq!(answer.exit, 0, "{answer:?}");
    assert!(answer.err.contains("acme has queue.worker.enabled open"), "{answer:?}");
    assert!(!answer.err.contains("notify"), "{answer:?}");
    assert_eq!(closed(&bench), ["queue.notify.enabled", "queue.worker.enabled"]);
    let answer = bench.run(["gate", "open", "worker", "--installation"]);
    assert_eq!((answer.exit, answer.err.as_str()), (0, ""), "{answer:?}");
}
