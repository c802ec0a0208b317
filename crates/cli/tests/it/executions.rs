//! `tenure execution`, `approval`, `lock` and `timeout-policy`, on a database and over HTTP.

use serde_json::json;
use tenure::services::reaper;

use crate::executions_scene::{ANN, BOB, Floor, Way, has, json_of, look_and_change, plan_of, refused, step};
use crate::workbench::text_of;

#[tokio::test]
async fn a_plan_is_submitted_approved_by_another_run_and_watched_on_both_ways() {
    let floor = Floor::open().await;
    let ways: [Way; 2] = [
        ("sql", &|who, args| floor.sql(who, args)),
        ("http", &|who, args| floor.http(who, args)),
    ];
    for (way, run) in ways {
        let (kind, target) = (format!("work.{way}"), format!("{way}-1"));
        let plan = look_and_change(&format!("mend {way}"), &kind, &target);
        let (file, hash) = floor.plan(&format!("{way}.json"), &plan);
        let on = |who: &str, verb: &str, options: &[&str]| run(who, &[&["execution", verb], options].concat());

        let preview = on(ANN, "preview", &[&file]).ok();
        has(
            &preview,
            &[
                &hash,
                "1: somebody else allows the plan",
                &format!("host:{target}"),
                "10m",
            ],
        );
        let said = on(ANN, "submit", &[&file]).ok();
        has(&said, &["is awaiting_approval", &hash, "tenure execution approve"]);
        let again = json_of(on(ANN, "submit", &[&file, "--wait", "30", "--json"]));
        let id = text_of(&again, "execution_id");
        assert_eq!(
            (&again["duplicate"], &again["state"]),
            (&json!(true), &json!("awaiting_approval"))
        );
        assert_eq!(on(ANN, "submit", &[&file, "--quiet"]).ok().trim(), id);
        has(&said, &[&id]);

        has(
            &on(BOB, "list", &["--state", "awaiting_approval"]).ok(),
            &[&id, "mend", "0/2", ANN],
        );
        let shown = on(BOB, "show", &[&id]).ok();
        has(
            &shown,
            &[
                "0 of 1 given",
                "2 waiting",
                "pending",
                "Needs approval by a person other than ann:",
            ],
        );
        let open = run(BOB, &["approval", "list", "--execution", &id]).ok();
        has(&open, &[&id, "pending", "0/1"]);
        let approval = run(BOB, &["approval", "list", "--execution", &id, "--quiet"]).ok();
        has(
            &run(BOB, &["approval", "votes", approval.trim()]).ok(),
            &["No votes yet."],
        );
        let about = run(BOB, &["approval", "show", approval.trim()]);
        has(&about.err, &["tenure execution plan", "tenure execution approve"]);
        has(&about.ok(), &[&id, "mend", ANN, "pending", &hash]);

        refused(&on(ANN, "approve", &[&id, "--hash", &hash]), "self_approval");
        refused(&on(BOB, "approve", &[&id]), "usage");
        let other = hash.replace(|_: char| true, "0");
        let mismatch = on(BOB, "approve", &[approval.trim(), "--hash", &other]);
        refused(&mismatch, "plan_hash_mismatch");
        has(&mismatch.err, &[&hash, &other]);
        // By the approval's own id.
        let said = on(BOB, "approve", &[approval.trim(), "--hash", &hash, "--comment", "go"]).ok();
        has(
            &said,
            &[
                "Approved; the execution is running.",
                "mend",
                &hash,
                "tenure execution watch",
            ],
        );
        refused(&on(BOB, "approve", &[&id, "--hash", &hash]), "approval_decided");
        has(
            &run(BOB, &["approval", "votes", approval.trim()]).ok(),
            &[BOB, "approve", "go"],
        );
        let about = json_of(run(BOB, &["approval", "show", approval.trim(), "--json"]));
        assert_eq!(
            (&about["state"], &about["execution_state"]),
            (&json!("approved"), &json!("running"))
        );
        assert_eq!(about["votes"][0]["comment"], "go", "{about}");

        floor.complete(&kind);
        let held = run(BOB, &["lock", "list", &format!("host:{target}")]).ok();
        has(&held, &[&format!("host:{target}"), "change", &id]);
        let (job, token) = floor.claim(&kind);
        has(
            &on(BOB, "steps", &[&id]).ok(),
            &["look", "succeeded", "change", "running"],
        );
        assert_eq!(
            on(BOB, "steps", &[&id, "--state", "running", "--quiet"]).ok().trim(),
            "change running"
        );
        floor.bench().run(["job", "complete", &job, &token]).ok();
        has(&run(BOB, &["lock", "list"]).ok(), &["No lock is held."]);

        let watched = on(BOB, "watch", &[&id]).ok();
        has(
            &watched,
            &["execution_submitted", "approval_vote", "step_completed", "step change"],
        );
        has(&watched, &["2 of 2 steps succeeded."]);
        let events = on(BOB, "watch", &[&id, "--json"]).ok();
        assert_eq!(on(BOB, "timeline", &[&id, "--json"]).ok(), events, "the same events");
        let frozen = on(BOB, "plan", &[&id]).ok();
        assert_eq!(
            floor
                .plan("frozen.json", &serde_json::from_str(&frozen).expect("JSON"))
                .1,
            hash
        );
        has(&on(BOB, "show", &[&id]).ok(), &["succeeded", "2 succeeded", "approved"]);
        // Its key was derived, and it is over: the plan can be run again.
        let made = json_of(on(ANN, "submit", &[&file, "--json"]));
        assert_eq!(made["duplicate"], false, "{made}");
        has(
            &on(BOB, "diff", &[&id, &text_of(&made, "execution_id")]).ok(),
            &["The plans are equal."],
        );
        on(
            ANN,
            "withdraw",
            &[&text_of(&made, "execution_id"), "--reason", "enough"],
        )
        .ok();
    }
}

#[tokio::test]
async fn executions_read_over_http_as_over_sql() {
    let floor = Floor::open().await;
    let (first, hash) = floor.submitted("a.json", &look_and_change("first", "k", "a:b%c"));
    let (second, _) = floor.submitted("b.json", &look_and_change("second", "k", "b"));
    floor.sql(BOB, &["execution", "approve", &first, "--hash", &hash]).ok();
    floor.complete("k");
    let rule =
        r#"{"position": 10, "target_refs": ["prod-*"], "level": 3, "roles": ["sre"], "quorum": 2, "note": "careful"}"#;
    floor
        .bench()
        .run_with_input(&["approval", "rule", "set", "prod", "-"], rule.as_bytes());
    let approval = floor.bench().run(["approval", "list", "--quiet"]).ok();
    let nobody = "01990000-0000-7000-8000-000000000001";
    for args in [
        &["execution", "list"][..],
        &["execution", "list", "-n", "1"],
        &["execution", "list", "--before", &second],
        &["execution", "list", "--target", "host:a%3Ab%25c"],
        &["execution", "list", "--by", ANN, "--state", "running"],
        &["execution", "list", "--state", "nonsense"],
        &["execution", "show", &first],
        &["execution", "show", &second],
        &["execution", "show", nobody],
        &["execution", "steps", &first],
        &["execution", "steps", nobody],
        &["execution", "plan", &first],
        &["execution", "plan", nobody],
        &["execution", "timeline", &first],
        &["execution", "timeline", &first, "--after", "3", "-n", "2"],
        &["execution", "diff", &first, &second],
        &["execution", "diff", &first, nobody],
        &["execution", "dead-letter", "list"],
        &["execution", "dead-letter", "show", nobody],
        &["approval", "list"],
        &["approval", "list", "--state", "any"],
        &["approval", "list", "--state", "nonsense"],
        &["approval", "votes", approval.trim()],
        &["approval", "votes", nobody],
        &["approval", "rule", "list"],
        &["lock", "list"],
        &["lock", "waiters", "host:a%3Ab%25c"],
        &["lock", "waiters", "nonsense"],
        &["timeout-policy", "list"],
        &["principal", "list"],
    ] {
        for format in [&[][..], &["--json"], &["--quiet"]] {
            let args = [args, format].concat();
            let (http, sql) = (floor.http(ANN, &args), floor.sql(ANN, &args));
            assert_eq!(
                (http.exit, http.out, http.err),
                (sql.exit, sql.out, sql.err),
                "{args:?}"
            );
        }
    }
}

#[tokio::test]
async fn what_fails_is_lost_or_unknown_is_decided_about_on_both_ways() {
    let floor = Floor::open().await;
    let ways: [Way; 2] = [
        ("sql", &|who, args| floor.sql(who, args)),
        ("http", &|who, args| floor.http(who, args)),
    ];
    for (way, run) in ways {
        let kind = format!("risky.{way}");
        let (id, hash) = floor.submitted("risky.json", &look_and_change(&format!("risk {way}"), &kind, way));
        let on = |who: &str, verb: &str, options: &[&str]| run(who, &[&["execution", verb], options].concat());
        on(BOB, "approve", &[&id, "--hash", &hash]).ok();
        floor.complete(&kind);
        // Whoever changes the host is never heard of again: nobody knows whether it was done.
        floor.claim(&kind);
        floor
            .bench()
            .advance(if way == "sql" { "1 day" } else { "2 days" })
            .await;
        let mut client = floor.bench().database.connect().await.expect("connect");
        reaper::run_once(&mut client).await.expect("a look");
        let shown = on(ANN, "show", &[&id]).ok();
        has(&shown, &["1 unknown", "nobody knows", "tenure execution resolve"]);
        refused(
            &on(
                ANN,
                "resolve",
                &[&id, "change", "--verdict", "perhaps", "--reason", "r"],
            ),
            "value_unknown",
        );
        refused(
            &on(
                ANN,
                "resolve",
                &[&id, "nonsense", "--verdict", "failed", "--reason", "r"],
            ),
            "step_unknown",
        );
        let said = on(
            ANN,
            "resolve",
            &[&id, "change", "--verdict", "failed", "--reason", "it is as it was"],
        )
        .ok();
        has(&said, &["Step change counts as failed"]);
        assert_eq!(floor.state_of(&id), "failed");
        let watched = on(ANN, "watch", &[&id]);
        assert_eq!(watched.exit, 3, "{watched:?}");
        has(
            &watched.out,
            &["failed", "1 of 2 steps succeeded.", "tenure execution retry"],
        );

        let letters = on(ANN, "dead-letter", &["list"]).ok();
        has(&letters, &[&id, "pending"]);
        has(&on(ANN, "dead-letter", &["show", &id]).ok(), &[&hash, "pending"]);
        let said = on(ANN, "dead-letter", &["triage", &id, "manual_replay", "--note", "n"]).ok();
        has(&said, &["is manual_replay", "tenure execution retry"]);
        let made = json_of(on(ANN, "retry", &[&id, "--reason", "again", "--json"]));
        let retried = text_of(&made, "execution_id");
        assert_ne!(retried, id);
        has(&on(ANN, "steps", &[&retried]).ok(), &["done by the execution before"]);
        let said = on(ANN, "cancel", &[&retried, "--reason", "never mind"]).ok();
        has(&said, &["is cancelled"]);
        // Once more is no less.
        has(
            &on(ANN, "cancel", &[&retried, "--reason", "again"]).ok(),
            &["is cancelled"],
        );
        refused(&on(ANN, "cancel", &[&id, "--reason", "too late"]), "state_conflict");
        refused(&on(ANN, "close", &[&retried, "--reason", "again"]), "state_conflict");
    }
}

#[tokio::test]
async fn a_freeze_a_window_and_a_new_plan_hold_work_back_on_both_ways() {
    let floor = Floor::open().await;
    let ways: [Way; 2] = [
        ("sql", &|who, args| floor.sql(who, args)),
        ("http", &|who, args| floor.http(who, args)),
    ];
    for (way, run) in ways {
        let kind = format!("calm.{way}");
        let on = |who: &str, verb: &str, options: &[&str]| run(who, &[&["execution", verb], options].concat());
        has(
            &on(ANN, "freeze", &["--reason", "holidays", "--until", "+2h"]).ok(),
            &["Frozen until"],
        );
        let looks = plan_of(&format!("look {way}"), vec![step("look", "read", &kind, way, &[])]);
        let (file, _) = floor.plan("looks.json", &looks);
        let said = on(ANN, "submit", &[&file, "--wait", "20"]).ok();
        has(&said, &["is approved", "the tenant is frozen", "holidays"]);
        has(&on(ANN, "list", &["--state", "approved"]).ok(), &["look"]);
        has(
            &on(ANN, "unfreeze", &["--reason", "over"]).ok(),
            &["The freeze is over"],
        );
        has(
            &on(ANN, "unfreeze", &["--reason", "over"]).ok(),
            &["Nothing was frozen."],
        );
        let id = text_of(&json_of(on(ANN, "submit", &[&file, "--json"])), "execution_id");
        let mut client = floor.bench().database.connect().await.expect("connect");
        tenure::services::executions::run_once(&mut client)
            .await
            .expect("a look");
        floor.complete(&kind);
        assert_eq!(floor.state_of(&id), "succeeded");

        let later = [
            "submit",
            &file,
            "--start-after",
            "+1h",
            "--start-before",
            "+2h",
            "--key",
            way,
        ];
        let said = run(ANN, &[&["execution"], &later[..]].concat()).ok();
        has(&said, &["is approved", "its window is not open"]);
        refused(
            &on(ANN, "submit", &[&file, "--start-before", "2020-01-01T00:00:00Z"]),
            "range_invalid",
        );

        let plan = look_and_change(&format!("change {way}"), &kind, way);
        let (first, _) = floor.submitted("plan.json", &plan);
        let (file, _) = floor.plan("plan.json", &plan);
        let same = on(ANN, "submit", &[&file, "--supersedes", &first]).ok();
        has(&same, &[&first, "has just this plan"]);
        let mut other = plan.clone();
        other["steps"][1]["target_ref"] = json!("elsewhere");
        let (file, _) = floor.plan("other.json", &other);
        let said = on(ANN, "submit", &[&file, "--supersedes", &first]).ok();
        has(
            &said,
            &[
                "step change",
                &format!("- target_ref: {way}"),
                "+ target_ref: elsewhere",
            ],
        );
        assert_eq!(floor.state_of(&first), "cancelled");
    }
}

#[tokio::test]
async fn rules_locks_and_timeouts_are_kept_on_both_ways() {
    let floor = Floor::open().await;
    let ways: [Way; 2] = [
        ("sql", &|who, args| floor.sql(who, args)),
        ("http", &|who, args| floor.http(who, args)),
    ];
    for (way, run) in ways {
        let rule = floor.path("rule.json").to_string_lossy().into_owned();
        let window = json!({"days": [6, 7], "from": "22:00", "to": "04:00", "zone": "Europe/Berlin"});
        let spec = json!({"target_refs": [format!("{way}-*")], "level": 0, "note": "a sandbox", "window": window});
        std::fs::write(&rule, spec.to_string()).expect("written");
        has(
            &run(ANN, &["approval", "rule", "set", way, &rule]).ok(),
            &["holds from now on"],
        );
        has(
            &run(ANN, &["approval", "rule", "list"]).ok(),
            &[
                way,
                &format!("target {way}-*"),
                "a sandbox",
                "days 6, 7; 22:00 to 04:00; Europe/Berlin",
            ],
        );
        let (file, _) = floor.plan("free.json", &look_and_change("free", "k", &format!("{way}-7")));
        has(
            &run(ANN, &["execution", "preview", &file]).ok(),
            &["0: nobody has to allow it", way],
        );
        std::fs::write(&rule, r#"{"level": 1, "levl": 2}"#).expect("written");
        refused_any(&run(ANN, &["approval", "rule", "set", way, &rule]), "level");
        std::fs::write(&rule, "[]").expect("written");
        refused(&run(ANN, &["approval", "rule", "set", way, &rule]), "usage");
        run(ANN, &["approval", "rule", "delete", way]).ok();
        refused(&run(ANN, &["approval", "rule", "delete", way]), "rule_unknown");

        let (host, shop) = (format!("host:{way}"), format!("shop:{way}:open"));
        let words = [
            "lock", "acquire", &host, &shop, "--for", "10m", "--reason", "a disk", "--quiet",
        ];
        let held = run(ANN, &words).ok();
        let held: Vec<&str> = held.split_whitespace().collect();
        assert!(held.len() == 2 && held[0].starts_with(&host), "{held:?}");
        has(&run(ANN, &["lock", "list"]).ok(), &[&host, &shop, ANN, "a disk"]);
        let taken = run(ANN, &["lock", "acquire", &host]);
        refused(&taken, "lock_held");
        has(&taken.err, &[ANN]);
        has(
            &run(ANN, &[&["lock", "renew"], &held[..], &["--for", "1h"]].concat()).ok(),
            &["Held until"],
        );
        has(&run(ANN, &["lock", "release", held[0]]).ok(), &["Free", &host]);
        refused(&run(ANN, &["lock", "release", held[0]]), "lock_lost");
        has(
            &run(ANN, &["lock", "break", &shop, "--reason", "nobody is there"]).ok(),
            &["is free"],
        );
        refused(
            &run(ANN, &["lock", "break", &shop, "--reason", "again"]),
            "lock_unknown",
        );

        let set = [
            "timeout-policy",
            "set",
            "fast",
            "read",
            "--step",
            "3s",
            "--renewals-max",
            "7",
        ];
        has(&run(ANN, &set).ok(), &["fast", "read", "3s", "7"]);
        has(
            &run(ANN, &["timeout-policy", "list"]).ok(),
            &["long", "deploy", "10m", "3s", "tenant"],
        );
        refused(
            &run(ANN, &["timeout-policy", "set", "fast", "read", "--step", "2h"]),
            "number_out_of_range",
        );
        refused(
            &run(ANN, &["timeout-policy", "set", "slow", "read", "--step", "2s"]),
            "value_unknown",
        );
    }
}

/// Refused as a misspelt word, which the database and the server each tell in their own way.
fn refused_any(answer: &crate::workbench::Answer, near: &str) {
    assert!(answer.exit == 3 || answer.exit == 2, "{answer:?}");
    has(&answer.err, &[near]);
}

/// Whoever waits for the end in a script goes on only after a success.
#[tokio::test]
async fn a_submission_that_was_waited_for_and_failed_has_an_exit_code_of_its_own() {
    let floor = Floor::open().await;
    let mut plan = plan_of(
        "half of it",
        vec![step("a", "read", "half", "h", &[]), step("b", "read", "half", "h", &[])],
    );
    plan["on_step_failure"] = json!("continue");
    let (file, _) = floor.plan("half.json", &plan);
    let submit = ["execution", "submit", &file, "--key", "half"];
    let waited = floor.sql(ANN, &[&submit[..], &["--wait", "0"]].concat());
    has(&waited.err, &["it goes on", "tenure execution watch"]);
    waited.ok();
    let (job, token) = floor.claim("half");
    let fail = ["job", "fail", &job, &token, "--message", "no", "--permanent"];
    floor.bench().run(fail).ok();
    floor.complete("half");
    let ways: [Way; 2] = [
        ("sql", &|who, args| floor.sql(who, args)),
        ("http", &|who, args| floor.http(who, args)),
    ];
    for (way, run) in ways {
        has(&run(ANN, &submit).ok(), &["partially_failed"]);
        let waited = run(ANN, &[&submit[..], &["--wait", "5"]].concat());
        assert_eq!(
            waited.exit,
            i32::from(tenure_core::codes::EXIT_REFUSED),
            "{way}: {waited:?}"
        );
        has(&waited.out, &["partially_failed"]);
        let preview = ["execution", "preview", &file, "--on-behalf-of", "robot"];
        has(&run(ANN, &preview).ok(), &["approval_level"]);
    }
}
