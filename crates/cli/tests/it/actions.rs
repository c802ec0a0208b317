//! Registered actions, target types and governance changes, by the command and over HTTP.

use serde_json::{Value, json};

use crate::executions_scene::{ANN, BOB, Floor, ROBOT, has, json_of, plan_of, refused};
use crate::workbench::{Answer, Workbench, tenure};

/// A plan of one step that says it only reads.
fn lie() -> Value {
    let step = json!({"id": "restart", "action": "service.restart", "action_class": "read", "target_type": "host",
                      "target_ref": "prod-1"});
    plan_of("restart it quietly", vec![step])
}

/// A key with this role, made on the database, and a command over HTTP by it.
fn by_role(floor: &Floor, role: &str, args: &[&str]) -> Answer {
    let name = format!("a {role}");
    let words = ["--quiet", "key", "create", &name, "--kind", "human", "--role", role];
    let path = floor.path(&format!("{role}.key"));
    std::fs::write(&path, floor.bench().run(words).ok()).expect("written");
    let mut command = tenure();
    command
        .args(["--server", floor.scene.api.url(), "--key-file"])
        .arg(path)
        .args(args);
    Answer::of(&mut command)
}

/// By the command on a database and over HTTP, by each role and by an agent.
#[tokio::test]
async fn a_step_that_says_read_of_a_registered_modify_is_refused_on_every_way() {
    let floor = Floor::open().await;
    floor
        .http(
            ANN,
            &["action", "set", "service.*", "--class", "modify", "--level", "1"],
        )
        .ok();
    let (file, _) = floor.plan("lie.json", &lie());
    for verb in ["submit", "preview"] {
        let words = ["execution", verb, &file];
        for who in [ANN, ROBOT] {
            refused(&floor.sql(who, &words), "action_lowered");
            refused(&floor.http(who, &words), "action_lowered");
        }
        // A producer may look at what a plan would need, and submits nothing.
        let code = if verb == "submit" {
            "not_permitted"
        } else {
            "action_lowered"
        };
        refused(&by_role(&floor, "producer", &words), code);
        for role in ["requester", "operator", "admin"] {
            let answer = by_role(&floor, role, &words);
            refused(&answer, "action_lowered");
            has(
                &answer.err,
                &[
                    "is read",
                    "\"service.restart\" demands at least modify",
                    "The registration service.* says so",
                ],
            );
        }
    }
    assert!(
        floor.bench().lines(&["execution", "list"]).is_empty(),
        "nothing was submitted"
    );
}

#[tokio::test]
async fn an_action_is_registered_shown_and_deleted_on_both_ways() {
    let floor = Floor::open().await;
    let sql = |args: &[&str]| floor.sql(ANN, args);
    let http = |args: &[&str]| floor.http(ANN, args);
    for way in [&sql as &dyn Fn(&[&str]) -> Answer, &http] {
        let words = [
            "action", "set", "db.*", "--class", "read", "--level", "2", "--lock", "target", "--kind", "dump",
        ];
        way(&[&words[..], &["--restricted", "--note", "dumps"]].concat()).ok();
        has(
            &way(&["action", "list"]).ok(),
            &["db.*", "read", "target", "dump", "dumps"],
        );
        let shown = json_of(way(&["action", "show", "db.dump", "--kind", "dump", "--json"]));
        assert_eq!(
            [
                &shown["registration"],
                &shown["level_min"],
                &shown["kind_allowed"],
                &shown["payload_restricted"]
            ],
            [&json!("db.*"), &json!(2), &json!(true), &json!(true)],
            "{shown}"
        );
        way(&["target-type", "set", "host", "--case", "lower"]).ok();
        has(&way(&["target-type", "list"]).ok(), &["host", "lower"]);
        way(&["target-type", "delete", "host"]).ok();
        way(&["action", "delete", "db.*"]).ok();
        refused(&way(&["action", "delete", "db.*"]), "action_unknown");
        refused(&way(&["target-type", "delete", "host"]), "target_type_unknown");
        refused(&way(&["action", "set", "x", "--class", "write"]), "value_unknown");
    }
    refused(
        &floor.http(ROBOT, &["action", "set", "x", "--class", "read"]),
        "not_permitted",
    );
    refused(
        &floor.sql(ROBOT, &["action", "set", "x", "--class", "read"]),
        "not_permitted",
    );
    refused(
        &floor.http(BOB, &["action", "set", "x", "--class", "read"]),
        "not_permitted",
    );
}

#[tokio::test]
async fn preview_and_plan_show_say_what_applies_and_why() {
    let floor = Floor::open().await;
    floor
        .sql(
            ANN,
            &["action", "set", "service.*", "--class", "modify", "--level", "2"],
        )
        .ok();
    let mut plan = lie();
    plan["runbook_ref"] = json!("runbooks/restart.md");
    plan["steps"][0].as_object_mut().expect("a step").remove("action_class");
    let (file, _) = floor.plan("honest.json", &plan);
    for way in [&Floor::sql as &dyn Fn(&Floor, &str, &[&str]) -> Answer, &Floor::http] {
        let out = way(&floor, ANN, &["execution", "preview", &file]).ok();
        has(
            &out,
            &[
                "REGISTERED AS",
                "modify",
                "service.*",
                "default, action service.*",
                "host:prod-1",
            ],
        );
        let out = way(&floor, ANN, &["plan", "show", &file, "--applied"]).ok();
        has(
            &out,
            &[
                "The level that applies: 2",
                "REGISTERED AS",
                "modify",
                "service.*",
                "host:prod-1",
            ],
        );
    }
    // What would be refused, and each thing to know, is a line of its own.
    plan.as_object_mut().expect("a plan").remove("runbook_ref");
    plan["timeout_seconds"] = json!(1);
    let (bare, _) = floor.plan("bare.json", &plan);
    let seen = floor.http(ANN, &["execution", "preview", &bare]);
    let lines: Vec<&str> = seen.err.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert!(
        lines[0].contains("runbook_required") && lines[1].contains("do not fit"),
        "{seen:?}"
    );
    let alone = Answer::of(tenure().args(["plan", "show", &file]));
    assert_eq!(alone.exit, 0, "{alone:?}");
    has(&alone.out, &["registered", "service.restart"]);
    has(&alone.err, &["--applied"]);
    let made = json_of(floor.sql(ANN, &["execution", "submit", &file, "--json"]));
    let execution = made["execution_id"].as_str().expect("an id").to_owned();
    let steps = floor.bench().lines(&["execution", "steps", &execution]);
    assert_eq!(
        (&steps[0]["registration"], &steps[0]["level_min"]),
        (&json!("service.*"), &json!(2)),
        "{steps:?}"
    );
}

#[tokio::test]
async fn a_change_that_needs_a_second_admin_is_proposed_listed_and_decided() {
    let floor = Floor::open().await;
    let words = ["key", "create", "cat", "--kind", "human", "--role", "admin"];
    let key = floor.bench().run(["--quiet"].iter().chain(&words)).ok();
    std::fs::write(floor.path("cat"), key).expect("written");
    floor
        .sql(ANN, &["config", "set", "governance.changes.need_approval", "true"])
        .ok();
    let out = floor.http(ANN, &["action", "set", "pay", "--class", "modify"]).ok();
    has(&out, &["Proposed as change", "tenure governance change approve"]);
    let out = floor
        .http(
            ANN,
            &[
                "config",
                "set",
                "executions.actions.open",
                "true",
                "--on-behalf-of",
                "dora",
            ],
        )
        .ok();
    has(&out, &["Proposed as change"]);
    let listed = floor.http("cat", &["governance", "change", "list"]).ok();
    has(
        &listed,
        &[
            "action",
            "pay",
            "executions.actions.open",
            "ann",
            "action_class \"modify\"",
            "ON BEHALF OF",
            "dora",
        ],
    );
    let changes = floor.bench().lines(&["governance", "change", "list"]);
    let id = |at: usize| changes[at]["change_id"].as_str().expect("an id").to_owned();
    let (open, pay) = (id(0), id(1));
    refused(
        &floor.http(ANN, &["governance", "change", "approve", &pay]),
        "self_approval",
    );
    refused(
        &floor.sql(ANN, &["governance", "change", "approve", &pay]),
        "self_approval",
    );
    refused(
        &floor.http(ROBOT, &["governance", "change", "approve", &pay]),
        "not_permitted",
    );
    refused(
        &floor.http(BOB, &["governance", "change", "approve", &pay]),
        "not_permitted",
    );
    has(
        &floor.http("cat", &["governance", "change", "approve", &pay]).ok(),
        &["Approved: action pay"],
    );
    let reject = ["governance", "change", "reject", &open, "--comment", "no"];
    has(
        &floor.sql("cat", &reject).ok(),
        &["Rejected: config executions.actions.open"],
    );
    has(&floor.bench().text(&["action", "list"]), &["pay", "modify", "ann"]);
    refused(
        &floor.http("cat", &["governance", "change", "approve", &pay]),
        "state_conflict",
    );
    assert!(floor.bench().lines(&["governance", "change", "list"]).is_empty());
    assert_eq!(
        floor
            .bench()
            .lines(&["governance", "change", "list", "--state", "any"])
            .len(),
        2
    );
}

#[tokio::test]
async fn init_leaves_actions_closed() {
    let bench = Workbench::closed().await;
    bench.run(["init"]).ok();
    assert_eq!(
        bench.text(&["config", "get", "executions.actions.open"]).trim(),
        "false"
    );
}
