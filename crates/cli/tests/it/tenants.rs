//! Tenants and logins.

use serde_json::json;

use crate::bench::Bench;

#[tokio::test]
async fn a_tenant_is_made_listed_and_worked_in() {
    let bench = Bench::open().await;
    assert_eq!(bench.json(&["tenant", "create", "acme"])["name"], "acme");
    let names: Vec<_> = bench
        .lines(&["tenant", "list"])
        .iter()
        .map(|row| row["name"].clone())
        .collect();
    assert_eq!(names, ["default", "acme"]);
    bench.json(&["--tenant", "acme", "gate", "open", "jobs"]);
    bench.json(&["--tenant", "acme", "job", "enqueue", "k"]);
    assert_eq!(bench.lines(&["--tenant", "acme", "job", "list"]).len(), 1);
    assert_eq!(bench.lines(&["job", "list"]).len(), 0);
    bench.refused(&["tenant", "create", "acme"], "tenant_exists");
    bench.refused(&["tenant", "create", "*"], "name_invalid");
}

#[tokio::test]
async fn a_login_is_bound_and_unbound() {
    let bench = Bench::open().await;
    let bound = bench.json(&[
        "login",
        "bind",
        "robot",
        "--to",
        "default",
        "--principal",
        "Robot 7",
        "--executor",
        "Agent",
        "--kind",
        "a",
        "--kind",
        "b",
        "--payload-access",
        "restricted",
    ]);
    assert_eq!(
        (&bound["principal"], &bound["executors"], &bound["kinds"]),
        (&json!("Robot 7"), &json!(["Agent"]), &json!(["a", "b"]))
    );
    assert_eq!(bench.json(&["login", "unbind", "robot"])["unbound"], true);
    bench.refused(&["login", "unbind", "robot"], "login_unbound");
    bench.refused(&["login", "bind", "robot", "--to", "nobody"], "tenant_unknown");
    bench.refused(&["login", "bind", "robot", "--payload-access", "all"], "value_unknown");
}
