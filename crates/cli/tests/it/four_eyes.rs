//! The rules of four eyes beside the decision itself, on the database and over HTTP: makers, verdicts, retries; and archived executions.

use serde_json::{Value, json};
use tenure::services::{archive, reaper};

use crate::executions_scene::{ANN, BOB, Floor, ROBOT, Way, has, json_of, look_and_change, plan_of, refused, step};
use crate::workbench::text_of;

/// Both ways to give a command.
macro_rules! ways {
    ($floor:ident) => {
        [
            ("sql", &|who: &str, args: &[&str]| $floor.sql(who, args)),
            ("http", &|who: &str, args: &[&str]| $floor.http(who, args)),
        ]
    };
}

/// Proves: S185.
#[tokio::test]
async fn each_rule_holds_over_http_and_on_the_command_line() {
    let floor = Floor::open().await;
    let ways: [Way; 2] = ways!(floor);
    for (way, run) in ways {
        // Ann, an admin, changes bob: then he decides about no plan of hers, until another confirms him.
        run(ANN, &["principal", "set", BOB, "--approver-level", "3"]).ok();
        let kind = format!("eyes.{way}");
        let (id, hash) = floor.submitted("eyes.json", &look_and_change(&format!("eyes {way}"), &kind, way));
        let approve = |who: &str| run(who, &["execution", "approve", &id, "--hash", &hash]);
        refused(&approve(ANN), "self_approval");
        let answer = approve(BOB);
        refused(&answer, "self_approval");
        has(
            &answer.err,
            &["ann requested this plan, and stands behind the principal bob."],
        );
        refused(&run(ROBOT, &["principal", "set", BOB, "--confirm"]), "not_permitted");
        let listed = run(ANN, &["principal", "list"]).ok();
        has(&listed, &["MAKERS"]);
        let confirmed = floor.bench().run(["principal", "set", BOB, "--confirm"]).ok();
        assert!(confirmed.starts_with("bob is confirmed"), "{confirmed}");
        approve(BOB).ok();

        // The worker is lost in the middle: who says that it may run again?
        floor.complete(&kind);
        floor.claim(&kind);
        floor
            .bench()
            .advance(if way == "sql" { "1 day" } else { "2 days" })
            .await;
        let mut client = floor.bench().database.connect().await.expect("connect");
        reaper::run_once(&mut client).await.expect("a look");
        let resolve = |who: &str, verdict: &str| {
            run(
                who,
                &[
                    "execution",
                    "resolve",
                    &id,
                    "change",
                    "--verdict",
                    verdict,
                    "--reason",
                    "r",
                ],
            )
        };
        for verdict in ["retry", "succeeded"] {
            refused(&resolve(ANN, verdict), "self_approval");
        }
        for verdict in ["retry", "succeeded", "failed"] {
            refused(&resolve(ROBOT, verdict), "not_permitted");
        }
        has(&resolve(ANN, "failed").ok(), &["counts as failed"]);
        assert_eq!(floor.state_of(&id), "failed");
    }
}

/// Her own, under a new approval; and not that of another.
/// Proves: S185.
#[tokio::test]
async fn a_requester_retries_what_they_requested_on_both_ways() {
    let floor = Floor::open().await;
    for name in ["cyd", "dan"] {
        floor.key(name, "human", &["--role", "requester"]);
    }
    let (file, hash) = floor.plan(
        "mine.json",
        &plan_of("mine", vec![step("a", "modify", "mine", "web-1", &[])]),
    );
    let made = json_of(floor.http("cyd", &["execution", "submit", &file, "--json"]));
    let id = text_of(&made, "execution_id");
    floor.http(BOB, &["execution", "approve", &id, "--hash", &hash]).ok();
    let (job, token) = floor.claim("mine");
    let fail = ["job", "fail", &job, &token, "--message", "broken", "--permanent"];
    floor.bench().run(fail).ok();
    assert_eq!(floor.state_of(&id), "failed");
    let retry = ["execution", "retry", &id, "--reason", "mended"];
    let answer = floor.http("dan", &retry);
    refused(&answer, "not_permitted");
    has(&answer.err, &["A requester retries only their own executions."]);
    let again = floor.http("cyd", &retry).ok();
    has(&again, &["awaiting_approval", "tenure execution approve"]);
}

#[tokio::test]
async fn archived_executions_are_listed_and_searched_on_both_ways() {
    let floor = Floor::open().await;
    let mut plan = plan_of("old", vec![step("look", "read", "old", "web:1", &[])]);
    plan["correlation_id"] = json!("change-7");
    let (id, _) = floor.submitted("old.json", &plan);
    floor.complete("old");
    floor.bench().advance("91 days").await;
    let mut client = floor.bench().database.connect().await.expect("connect");
    let counts = archive::run_once(&mut client).await.expect("a look");
    assert_eq!(counts.archived, 1, "{counts:?}");
    let ways: [Way; 2] = ways!(floor);
    for (way, run) in ways {
        let list = |options: &[&str]| run(BOB, &[&["execution", "list", "--archived"], options].concat());
        has(&list(&[]).ok(), &[&id, "succeeded", "old", "change-7", ANN]);
        for options in [
            &["--state", "succeeded"][..],
            &["--by", ANN],
            &["--target", "host:web%3A1"],
            &["--correlation", "change-7", "--target", "host:web%3A1:look.it"],
            &["--ended-after", "2020-01-01T00:00:00Z"],
        ] {
            let found = list(&[options, &["--quiet"]].concat()).ok();
            assert_eq!(found.trim(), id, "{way} {options:?}");
        }
        for options in [
            &["--state", "failed"][..],
            &["--by", BOB],
            &["--target", "host:web-1"],
            &["--ended-before", "2020-01-01T00:00:00Z"],
            &["--before", &id],
        ] {
            let found = list(&[options, &["--quiet"]].concat()).ok();
            assert_eq!(found.trim(), "", "{way} {options:?}");
        }
        refused(&list(&["--state", "running"]), "state_unknown");
        has(&list(&["--limit", "1"]).err, &["--cursor"]);
        // Not archived, it is not asked by what only the archive knows.
        assert_eq!(run(BOB, &["execution", "list", "--correlation", "x"]).exit, 2, "{way}");
        assert_eq!(run(BOB, &["execution", "list", "--quiet"]).ok().trim(), "", "{way}");
    }
}

#[tokio::test]
async fn check_and_preview_warn_when_the_steps_of_a_plan_do_not_fit() {
    let floor = Floor::open().await;
    let mut plan = look_and_change("tight", "tight", "web-1");
    plan["timeout_seconds"] = json!(60);
    plan["steps"][0]["timeout_seconds"] = json!(50);
    plan["steps"][1]["timeout_seconds"] = json!(20);
    let (file, _) = floor.plan("tight.json", &plan);
    let warning = "Its steps do not fit: look → change may take 70 seconds, the execution 60.";
    let checked = floor.sql(ANN, &["plan", "check", &file]);
    assert_eq!(checked.exit, 0, "it is a plan all the same: {checked:?}");
    has(&checked.err, &[warning]);
    let said: Value = json_of(floor.sql(ANN, &["plan", "check", &file, "--json"]));
    assert_eq!(said["warnings"], json!([warning]));
    let ways: [Way; 2] = ways!(floor);
    for (_, run) in ways {
        for verb in ["preview", "submit"] {
            let shown = run(ANN, &["execution", verb, &file]);
            has(&shown.err, &[&format!("warning: {warning}")]);
        }
        assert_eq!(
            json_of(run(ANN, &["execution", "preview", &file, "--json"]))["timeout_seconds"],
            60
        );
    }
    plan["timeout_seconds"] = json!(86401);
    let (file, _) = floor.plan("long.json", &plan);
    for (_, run) in ways {
        refused(&run(ANN, &["execution", "submit", &file]), "number_out_of_range");
    }
}
