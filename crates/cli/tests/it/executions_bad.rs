//! What nobody should ask of executions, approvals and locks, and what they are told on every way.

use serde_json::{Value, json};

use crate::executions_scene::{ANN, BOB, Floor, ROBOT, Way, has, look_and_change, plan_of, refused, step};
use crate::workbench::{Workbench, tenure, text_of};

/// The requester cannot allow its own plan, though an admin; nor can an agent, nor whoever has no level.
#[tokio::test]
async fn nobody_approves_a_plan_of_their_own_and_no_agent_any() {
    let floor = Floor::open().await;
    let (id, hash) = floor.submitted("plan.json", &look_and_change("p", "k", "h"));
    let ways: [Way; 2] = [
        ("sql", &|who, args| floor.sql(who, args)),
        ("http", &|who, args| floor.http(who, args)),
    ];
    for (_, run) in ways {
        let approve = |who: &str| run(who, &["execution", "approve", &id, "--hash", &hash]);
        let reject = |who: &str| run(who, &["execution", "reject", &id, "--comment", "no"]);
        refused(&approve(ANN), "self_approval");
        refused(&reject(ANN), "self_approval");
        refused(&approve(ROBOT), "not_permitted");
        refused(&reject(ROBOT), "not_permitted");
        refused(
            &run(BOB, &["execution", "reject", &id, "--comment", " "]),
            "comment_required",
        );
        refused(&run(BOB, &["execution", "reject", &id]), "usage");
    }
    refused(
        &floor.sql("stranger", &["execution", "approve", &id, "--hash", &hash]),
        "not_permitted",
    );
    // Whoever she acts for is no other pair of eyes.
    let behalf = ["execution", "approve", &id, "--hash", &hash, "--on-behalf-of", BOB];
    refused(&floor.sql(ANN, &behalf), "self_approval");
    assert_eq!(floor.state_of(&id), "awaiting_approval");
}

#[tokio::test]
async fn an_expired_withdrawn_decided_or_foreign_approval_decides_nothing() {
    let floor = Floor::open().await;
    let (withdrawn, hash) = floor.submitted("w.json", &look_and_change("w", "k", "w"));
    floor
        .sql(ANN, &["execution", "withdraw", &withdrawn, "--reason", "r"])
        .ok();
    let (rejected, other) = floor.submitted("r.json", &look_and_change("r", "k", "r"));
    floor
        .sql(BOB, &["execution", "reject", &rejected, "--comment", "no"])
        .ok();
    assert_eq!(floor.state_of(&rejected), "rejected");
    let foreign = foreign_approval(&floor);
    let (expired, late) = floor.submitted("e.json", &look_and_change("e", "k", "e"));
    floor.bench().advance("2 days").await;
    let nobody = "01990000-0000-7000-8000-000000000001";
    let ways: [Way; 2] = [
        ("sql", &|who, args| floor.sql(who, args)),
        ("http", &|who, args| floor.http(who, args)),
    ];
    for (_, run) in ways {
        for (id, hash, code) in [
            (withdrawn.as_str(), &hash, "approval_decided"),
            (&rejected, &other, "approval_decided"),
            (&expired, &late, "approval_expired"),
            (&foreign, &hash, "approval_unknown"),
            (nobody, &hash, "approval_unknown"),
        ] {
            refused(&run(BOB, &["execution", "approve", id, "--hash", hash]), code);
            refused(&run(BOB, &["execution", "reject", id, "--comment", "no"]), code);
        }
        for id in [foreign.as_str(), nobody] {
            refused(&run(BOB, &["approval", "show", id]), "approval_unknown");
        }
        refused(&run(BOB, &["execution", "show", &foreign]), "execution_unknown");
        refused(&run(BOB, &["execution", "plan", nobody]), "execution_unknown");
        refused(&run(BOB, &["execution", "watch", nobody]), "execution_unknown");
    }
}

/// The id of an approval of another tenant.
fn foreign_approval(floor: &Floor) -> String {
    let bench = floor.bench();
    bench.run(["tenant", "create", "other"]).ok();
    let (file, _) = floor.plan("f.json", &look_and_change("f", "k", "f"));
    let there = ["--tenant", "other", "--as", "eve", "--json"];
    let made = bench.run(there.iter().chain(&["execution", "submit", &file])).ok();
    let made: Value = serde_json::from_str(&made).expect("JSON");
    text_of(&made, "approval_id")
}

#[tokio::test]
async fn a_plan_that_is_none_leaves_nothing_behind() {
    let floor = Floor::open().await;
    let ways: [Way; 2] = [
        ("sql", &|who, args| floor.sql(who, args)),
        ("http", &|who, args| floor.http(who, args)),
    ];
    let mut unknown = look_and_change("p", "k", "h");
    unknown["steps"][0]["executor"] = json!("Nobody");
    let long = "x".repeat(396);
    for (plan, code) in [
        (json!([]), "plan_invalid"),
        (plan_of("p", vec![]), "plan_invalid"),
        (plan_of(" ", vec![step("a", "read", "k", "h", &[])]), "plan_invalid"),
        (plan_of("p", vec![step("a", "read", "k", "h", &["b"])]), "plan_invalid"),
        (plan_of("p", vec![step("a", "modify", "k", &long, &[])]), "name_invalid"),
        (unknown, "executor_unknown"),
        (
            plan_of("p", vec![step("a", "deploy", "k", "h", &[])]),
            "runbook_required",
        ),
    ] {
        let file = floor.path("bad.json").to_string_lossy().into_owned();
        std::fs::write(&file, plan.to_string()).expect("written");
        for (way, run) in ways {
            let answer = run(ANN, &["execution", "submit", &file]);
            assert!(
                answer.exit == 3
                    && answer.err.contains("why:")
                    && (code == "plan_invalid" || answer.err.contains(code)),
                "{way} {plan}: {answer:?}"
            );
        }
    }
    let (file, _) = floor.plan("good.json", &look_and_change("p", "k", "h"));
    for (_, run) in ways {
        for (options, code) in [
            (&["--key", " "][..], "name_blank"),
            (&["--wait", "soon"], "usage"),
            (&["--start-after", "soon"], "usage"),
            (&["--metadata", "[]"], "payload_not_object"),
            (
                &["--supersedes", "01990000-0000-7000-8000-000000000001"],
                "execution_unknown",
            ),
            (&["--supersedes", "nonsense"], "usage"),
        ] {
            refused(&run(ANN, &[&["execution", "submit", &file], options].concat()), code);
        }
        refused(&run(ANN, &["execution", "submit", "/nonexistent"]), "usage");
    }
    let secret = floor.key_of(ANN);
    let answer = floor.sql(ANN, &["execution", "submit", &file, "--key", &secret]);
    refused(&answer, "usage");
    assert!(!answer.err.contains(&secret), "a key is not repeated: {answer:?}");
    has(&floor.bench().run(["execution", "list"]).ok(), &["No executions."]);
}

#[tokio::test]
async fn a_lock_has_a_type_and_a_reference_and_nothing_else() {
    let floor = Floor::open().await;
    let ways: [Way; 2] = [
        ("sql", &|who, args| floor.sql(who, args)),
        ("http", &|who, args| floor.http(who, args)),
    ];
    let long = format!("host:{}", "x".repeat(500));
    for (_, run) in ways {
        for lock in ["host", "host:", ":web", "host:a:b:c", "host:50%", "host:a\tb", &long] {
            refused(&run(ANN, &["lock", "acquire", lock]), "name_invalid");
            refused(&run(ANN, &["lock", "break", lock, "--reason", "r"]), "name_invalid");
        }
        refused(&run(ANN, &["lock", "acquire", "host:a", "host"]), "name_invalid");
        refused(
            &run(ANN, &["lock", "acquire", "host:a", "--for", "0s"]),
            "number_out_of_range",
        );
        refused(
            &run(ANN, &["lock", "acquire", "host:a", "--for", "9999d"]),
            "number_out_of_range",
        );
        refused(&run(ANN, &["lock", "break", "host:a", "--reason", " "]), "name_blank");
        refused(&run(ANN, &["lock", "release", "host:a"]), "usage");
        refused(&run(ANN, &["lock", "release", "host:a=1"]), "lock_lost");
        has(&run(ANN, &["lock", "list"]).ok(), &["No lock is held."]);
    }
}

/// A login that nobody trusts to name a principal is told so, and does nothing as itself instead.
#[tokio::test]
async fn only_a_trusted_login_acts_as_somebody_else() {
    let bench = Workbench::open().await;
    let role = format!("plain_{}", std::process::id());
    let owner = bench.database.connect().await.expect("connect");
    let make = format!("create role {role} login in role tenure_producer, tenure_viewer");
    owner.batch_execute(&make).await.expect("a role");
    let url = bench.database.url().to_owned();
    let (_, rest) = url.split_once("://").expect("a URL");
    let (_, place) = rest.split_once('@').unwrap_or(("", rest));
    let separator = if place.contains('?') { '&' } else { '?' };
    let as_plain = format!("postgres://{place}{separator}user={role}");
    let run = |args: &[&str]| {
        let mut command = tenure();
        command.args(["--database-url", &as_plain]).args(args);
        crate::workbench::Answer::of(&mut command)
    };
    let answer = run(&["--as", ANN, "execution", "list"]);
    let plain = run(&["execution", "list"]);
    owner
        .batch_execute(&format!("drop owned by {role}; drop role {role}"))
        .await
        .expect("it goes");
    assert_eq!(plain.exit, 0, "{plain:?}");
    refused(&answer, "not_permitted");
    has(&answer.err, &[ANN, &role]);
}
