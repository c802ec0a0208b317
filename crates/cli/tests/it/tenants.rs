//! Tenants and logins.

use serde_json::json;

use tenure_cluster::testing::TestCluster;

use crate::workbench::{Answer, Workbench, check_refusal, tenure};

#[tokio::test]
async fn a_tenant_is_made_listed_and_worked_in() {
    let bench = Workbench::open().await;
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
    let bench = Workbench::open().await;
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

/// On a server of its own: roles belong to a whole server, and its socket lets every login in.
#[tokio::test]
async fn a_login_that_names_a_foreign_tenant_is_refused_and_does_not_stray() {
    let cluster = TestCluster::private().await.expect("a server");
    let url = cluster.url("postgres");
    let run = |url: &str, args: &[&str]| Answer::of(tenure().args(["--database-url", url]).args(args));
    run(&url, &["init"]).ok();
    run(&url, &["tenant", "create", "acme"]).ok();
    let roles = "create role bob login; grant tenure_admin, tenure_worker to bob; create role prod login; grant tenure_producer to prod";
    run(&url, &["psql", "--", "-Xqc", roles]).ok();
    let (bob, prod) = (
        url.replace("user=tenure", "user=bob"),
        url.replace("user=tenure", "user=prod"),
    );
    let refused = |url: &str, args: &[&str]| {
        let command = || {
            let mut command = tenure();
            command.args(["--database-url", url]).args(args);
            command
        };
        check_refusal(command, "not_permitted")
    };

    refused(&bob, &["--tenant", "acme", "job", "list"]);
    refused(&bob, &["gate", "close", "jobs", "--installation"]);
    refused(
        &bob,
        &["config", "set", "queue.lease.duration_sec", "60", "--installation"],
    );
    refused(&bob, &["tenant", "create", "other"]);
    refused(&bob, &["reap", "--every-tenant"]);
    refused(&bob, &["sweep", "--every-tenant"]);
    refused(&prod, &["job", "claim"]);
    run(&bob, &["--tenant", "default", "job", "list"]).ok();
    run(&prod, &["job", "enqueue", "k"]).ok();
    run(&bob, &["job", "claim", "--kind", "k"]).ok();
    assert_eq!(
        run(&bob, &["config", "get", "queue.lease.duration_sec"]).ok().trim(),
        "300"
    );
    assert!(!run(&bob, &["gate", "list"]).ok().contains("closed"));
}

/// The administrator of a managed server is no superuser: a login that may create roles and owns its database is enough.
#[tokio::test]
async fn whoever_may_migrate_can_set_everything_up_without_being_a_superuser() {
    let cluster = TestCluster::private().await.expect("a server");
    let url = cluster.url("postgres");
    let run = |url: &str, args: &[&str]| Answer::of(tenure().args(["--database-url", url]).args(args));
    let roles = ["create role maker login createrole", "create database made owner maker"];
    for statement in roles {
        run(&url, &["psql", "--", "-Xqc", statement]).ok();
    }
    let made = cluster.url("made").replace("user=tenure", "user=maker");
    run(&made, &["init"]).ok();
    assert!(!run(&made, &["gate", "list"]).ok().contains("closed"));
    run(&made, &["tenant", "create", "acme"]).ok();
    run(&made, &["--tenant", "acme", "job", "enqueue", "hello"]).ok();
    assert!(
        run(&made, &["--tenant", "acme", "job", "claim", "--kind", "hello"])
            .ok()
            .contains("leased")
    );
}
