//! Who has to allow what: the table of rules, read from the top.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{Asked, act, ask, check_executions, decide, id, people, plan, rule, submit};
use crate::fixture::{get, one, refused, rows};

/// What the rules ask for a plan, as `level rule quorum`.
async fn terms(c: &Client, who: &str, plan: &Value) -> String {
    act(c, who).await;
    let seen = one(c, "select tenure.execution_preview($1)", &[&plan.to_string()]).await;
    format!(
        "{} {} {}",
        seen["approval_level"],
        seen["rule"].as_str().unwrap_or_else(|| panic!("{seen}")),
        seen["quorum"]
    )
}

/// Proves: S189.
#[tokio::test]
async fn without_rules_reading_is_free_modifying_takes_one_approval_and_deploying_a_review() {
    let (_db, c) = people().await;
    for (class, level) in [("read", 0), ("modify", 1), ("deploy", 2)] {
        let asked = plan(class, &[&format!("a {class}")]);
        assert_eq!(terms(&c, "eve", &asked).await, format!("{level} default 1"));
    }
    // Reading runs at once, and the automatic decision is on record with its rule.
    let made = submit(&c, "eve", &plan("look", &["a read"]), "").await;
    assert_eq!(made["state"], "running", "{made}");
    let row = rows(
        &c,
        "select auto_approved, state, rule, decided_by, reason, consumed_at is not null from tenure.approval_list($1, null)",
        &[&id(&made, "execution_id")],
    )
    .await
    .remove(0);
    assert!(row.get::<_, bool>(0));
    assert_eq!(row.get::<_, String>(1), "approved");
    assert_eq!(row.get::<_, String>(2), "default");
    assert_eq!(row.get::<_, String>(3), "policy");
    assert!(row.get::<_, String>(4).contains("default"));
    assert!(row.get::<_, bool>(5));
    check_executions(&c).await;
}

#[tokio::test]
async fn the_first_rule_in_order_that_matches_a_step_decides_about_it() {
    let (_db, c) = people().await;
    let asked = plan("prod", &["a modify"]);
    rule(&c, "any", json!({"position": 100, "level": 1, "quorum": 2})).await;
    rule(
        &c,
        "prod",
        json!({"position": 50, "target_refs": ["prod *"], "level": 2, "quorum": 3}),
    )
    .await;
    assert_eq!(terms(&c, "eve", &asked).await, "2 prod 3");
    assert_eq!(terms(&c, "eve", &plan("test", &["a modify"])).await, "1 any 2");
    // The order is the position, not the age, and moving a rule moves its meaning.
    rule(&c, "any", json!({"position": 10, "level": 1, "quorum": 2})).await;
    assert_eq!(terms(&c, "eve", &asked).await, "1 any 2");
    act(&c, "pam").await;
    one(&c, "select tenure.approval_rule_delete('any')", &[]).await;
    assert_eq!(terms(&c, "eve", &asked).await, "2 prod 3");
    refused(
        &one(&c, "select tenure.approval_rule_delete('any')", &[]).await,
        "rule_unknown",
    );
}

/// Each condition by itself, with what it matches and what it does not.
#[tokio::test]
async fn a_rule_matches_by_class_target_sla_requester_and_kind_of_requester() {
    let (_db, c) = people().await;
    let asked = plan("a%b_c\\d", &["x modify"]);
    for (conditions, matches) in [
        (json!({"action_classes": ["modify"]}), true),
        (json!({"action_classes": ["read", "deploy"]}), false),
        (json!({"target_types": ["host"]}), true),
        (json!({"target_types": ["ho*"]}), true),
        (json!({"target_types": ["hos"]}), false),
        (json!({"target_refs": ["a%b_c\\d x"]}), true),
        (json!({"target_refs": ["*x"]}), true),
        (json!({"target_refs": ["a*c*x"]}), true),
        (json!({"target_refs": ["a%x"]}), false),
        (json!({"target_refs": ["a_b_c\\d x"]}), false),
        (json!({"target_refs": ["y", "a*"]}), true),
        (json!({"sla_classes": ["long"]}), true),
        (json!({"sla_classes": ["fast", "medium"]}), false),
        (json!({"requesters": ["ev*"]}), true),
        (json!({"requesters": ["EVE"]}), false),
        (json!({"requester_kinds": ["human"]}), true),
        (json!({"requester_kinds": ["agent", "service"]}), false),
        (json!({"requesters": ["eve"], "action_classes": ["read"]}), false),
        (json!({}), true),
    ] {
        let mut spec = conditions.clone();
        spec["level"] = json!(2);
        rule(&c, "under test", spec).await;
        let expected = if matches { "2 under test 1" } else { "1 default 1" };
        assert_eq!(terms(&c, "eve", &asked).await, expected, "{conditions}");
    }
}

#[tokio::test]
async fn whoever_nobody_registered_counts_as_an_agent() {
    let (_db, c) = people().await;
    rule(
        &c,
        "agents",
        json!({"requester_kinds": ["agent"], "level": 2, "quorum": 2}),
    )
    .await;
    rule(&c, "services", json!({"requester_kinds": ["service"], "level": 0})).await;
    let asked = plan("p", &["a modify"]);
    for (who, expected) in [
        ("bot", "2 agents 2"),
        ("a stranger", "2 agents 2"),
        ("cyd", "0 services 1"),
        ("eve", "1 default 1"),
    ] {
        assert_eq!(terms(&c, who, &asked).await, expected, "{who}");
    }
}

/// The strictest step decides about the plan, and no rule is outvoted by one that asks for a higher level but less company.
#[tokio::test]
async fn nobody_gets_around_a_rule_by_adding_a_step_of_another() {
    let (_db, c) = people().await;
    rule(
        &c,
        "data",
        json!({"target_refs": ["* data"], "level": 1, "quorum": 3, "roles": ["dba"], "expires_seconds": 60}),
    )
    .await;
    rule(
        &c,
        "code",
        json!({"target_refs": ["* code"], "level": 2, "quorum": 1, "roles": ["release"], "expires_seconds": 600}),
    )
    .await;
    let both = plan("p", &["data modify", "code modify", "other read"]);
    assert_eq!(terms(&c, "eve", &both).await, "2 code 3");
    let seen = one(&c, "select tenure.execution_preview($1)", &[&both.to_string()]).await;
    assert_eq!(seen["roles"], json!(["dba", "release"]));
    assert_eq!(seen["expires_seconds"], 60);
    let steps: Vec<String> = seen["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|it| {
            format!(
                "{} {} {}",
                it["step_id"].as_str().expect("id"),
                it["rule"].as_str().expect("rule"),
                it["level"]
            )
        })
        .collect();
    assert_eq!(steps, ["data data 1", "code code 2", "other default 0"]);
    // And the plan may raise its own level, never lower it.
    let mut raised = plan("q", &["a read"]);
    raised["approval_level"] = json!(3);
    assert_eq!(terms(&c, "eve", &raised).await, "3 default, the plan 1");
    // What the plan asks for beyond the rule is named as its own, and what the rule asks for is not.
    let mut with_role = plan("q", &["a modify"]);
    with_role["approval_roles"] = json!(["lead"]);
    assert_eq!(terms(&c, "eve", &with_role).await, "1 default, the plan 1");
    with_role["approval_level"] = json!(1);
    with_role["approval_roles"] = json!([]);
    assert_eq!(terms(&c, "eve", &with_role).await, "1 default 1");
    let mut lowered = both.clone();
    lowered["approval_level"] = json!(0);
    assert_eq!(terms(&c, "eve", &lowered).await, "2 code 3");
}

/// Proves: S187.
#[tokio::test]
async fn a_plan_of_level_two_or_three_names_its_runbook() {
    let (_db, c) = people().await;
    for level in [2, 3] {
        rule(&c, "strict", json!({"level": level})).await;
        let mut asked = plan("p", &["a read"]);
        asked.as_object_mut().expect("an object").remove("runbook_ref");
        refused(&submit(&c, "eve", &asked, "").await, "runbook_required");
        let seen = one(&c, "select tenure.execution_preview($1)", &[&asked.to_string()]).await;
        assert_eq!(seen["runbook_missing"], true);
    }
    let left: i64 = get(&c, "select count(*) from tenure.execution_rows", &[]).await;
    assert_eq!(left, 0);
}

#[tokio::test]
async fn strict_mode_takes_only_targets_that_a_rule_names() {
    let (_db, c) = people().await;
    rule(
        &c,
        "hosts",
        json!({"target_types": ["host"], "target_refs": ["web *"], "level": 0}),
    )
    .await;
    rule(&c, "all", json!({"level": 1})).await;
    act(&c, "pam").await;
    one(&c, "select tenure.config_set('executions.targets.strict', 'true')", &[]).await;
    assert_eq!(
        submit(&c, "eve", &plan("web", &["a modify"]), "").await["state"],
        "running"
    );
    let answer = submit(&c, "eve", &plan("db", &["a read"]), "").await;
    refused(&answer, "target_unknown");
    assert!(answer["what"].as_str().expect("text").contains("steps[0]"), "{answer}");
}

#[tokio::test]
async fn what_makes_no_sense_in_a_rule_is_refused() {
    let (_db, c) = people().await;
    rule(&c, "there", json!({"position": 7, "level": 1})).await;
    act(&c, "pam").await;
    for (name, spec, code) in [
        ("default", json!({"level": 1}), "name_invalid"),
        (" ", json!({"level": 1}), "name_blank"),
        ("r", json!([]), "payload_not_object"),
        ("r", json!({}), "value_unknown"),
        ("r", json!({"levle": 1}), "value_unknown"),
        ("r", json!({"level": 4}), "number_out_of_range"),
        ("r", json!({"level": 1.5}), "number_out_of_range"),
        ("r", json!({"level": "1"}), "number_out_of_range"),
        ("r", json!({"level": 1, "quorum": 0}), "number_out_of_range"),
        ("r", json!({"level": 1, "quorum": 11}), "number_out_of_range"),
        ("r", json!({"level": 1, "expires_seconds": 59}), "number_out_of_range"),
        ("r", json!({"level": 1, "action_classes": ["write"]}), "value_unknown"),
        ("r", json!({"level": 1, "sla_classes": ["slow"]}), "value_unknown"),
        ("r", json!({"level": 1, "requester_kinds": ["robot"]}), "value_unknown"),
        ("r", json!({"level": 1, "roles": "dba"}), "value_unknown"),
        ("r", json!({"level": 1, "roles": []}), "value_unknown"),
        ("r", json!({"level": 1, "target_refs": [7]}), "value_unknown"),
        (
            "r",
            json!({"level": 1, "window": {"from": "25:00", "to": "06:00"}}),
            "range_invalid",
        ),
        ("r", json!({"level": 1, "window": {"from": "22:00"}}), "range_invalid"),
        (
            "r",
            json!({"level": 1, "window": {"from": "22:00", "to": "06:00", "days": [0]}}),
            "range_invalid",
        ),
        (
            "r",
            json!({"level": 1, "window": {"from": "22:00", "to": "06:00", "zone": "Mars/Base"}}),
            "zone_unknown",
        ),
        ("r", json!({"level": 1, "position": 7}), "key_taken"),
        ("r", json!({"level": 1, "note": 5}), "text_invalid"),
    ] {
        let answer = one(&c, "select tenure.approval_rule_set($1, $2)", &[&name, &spec]).await;
        assert_eq!(answer["code"], code, "{name} {spec}: {answer}");
    }
    let rules: i64 = get(&c, "select count(*) from tenure.approval_rule_list()", &[]).await;
    assert_eq!(rules, 1);
}

/// Agents neither approve nor decide who does.
#[tokio::test]
async fn an_agent_sets_no_rule_and_names_no_approver() {
    let (_db, c) = people().await;
    rule(&c, "there", json!({"level": 1})).await;
    act(&c, "bot").await;
    for sql in [
        "select tenure.approval_rule_set('mine', '{\"level\": 0}')",
        "select tenure.approval_rule_delete('there')",
        "select tenure.principal_set('pam', '{\"approver_level\": 3}')",
    ] {
        refused(&one(&c, sql, &[]).await, "not_permitted");
    }
    act(&c, "pam").await;
    for (name, spec, code) in [
        ("bot", json!({"approver_level": 1}), "not_permitted"),
        ("nobody", json!({"approver_level": 1}), "principal_unknown"),
        ("eve", json!({"approver_level": 4}), "number_out_of_range"),
        ("eve", json!({"approver_level": "high"}), "number_out_of_range"),
        ("eve", json!({"level": 1}), "value_unknown"),
        ("eve", json!({"approval_roles": "dba"}), "value_unknown"),
        ("eve", json!({"approval_roles": [" "]}), "name_blank"),
        ("eve", json!(null), "payload_not_object"),
    ] {
        let answer = one(&c, "select tenure.principal_set($1, $2)", &[&name, &spec]).await;
        assert_eq!(answer["code"], code, "{name} {spec}: {answer}");
    }
}

/// A change of the rules is for plans to come.
#[tokio::test]
async fn what_was_submitted_keeps_the_terms_it_was_submitted_under() {
    let (_db, c) = people().await;
    rule(&c, "two", json!({"level": 1, "quorum": 2, "roles": ["dba"]})).await;
    let asked = Asked::of(&submit(&c, "eve", &plan("p", &["a modify"]), "").await);
    rule(&c, "two", json!({"level": 0})).await;
    assert_eq!(decide(&c, "ada", &asked, "approve", "").await["state"], "pending");
    act(&c, "pam").await;
    one(&c, "select tenure.approval_rule_delete('two')", &[]).await;
    // The same plan, key and requester: still the same execution, under the same terms.
    let again = submit(&c, "eve", &plan("p", &["a modify"]), "").await;
    assert_eq!(
        (&again["duplicate"], &again["state"]),
        (&json!(true), &json!("awaiting_approval"))
    );
    check_executions(&c).await;
}

/// Proves: S184, S186.
#[tokio::test]
async fn an_approval_shows_what_it_is_about_what_is_missing_and_who_has_decided() {
    let (_db, c) = people().await;
    rule(
        &c,
        "both",
        json!({"level": 2, "roles": ["dba", "release"], "quorum": 2}),
    )
    .await;
    let asked = ask(&c, &plan("p", &["a deploy"])).await;
    let show = async || one(&c, "select tenure.approval_show($1)", &[&asked.approval]).await;
    let open = show().await;
    for (field, value) in [
        ("execution_id", json!(asked.execution)),
        ("execution_state", json!("awaiting_approval")),
        ("state", json!("pending")),
        ("purpose", json!("p")),
        ("requested_by", json!("eve")),
        ("step_id", json!(null)),
        ("plan_hash", json!(asked.hash)),
        ("level", json!(2)),
        ("rule", json!("both")),
        ("roles", json!(["dba", "release"])),
        ("roles_missing", json!(["dba", "release"])),
        ("quorum", json!(2)),
        ("approvals_given", json!(0)),
        ("votes", json!([])),
    ] {
        assert_eq!(open[field], value, "{field}: {open}");
    }
    assert!(open["expires_at"].is_string(), "{open}");
    assert_eq!(open.get("tenant_id"), None);
    decide(&c, "ada", &asked, "approve", ", 'read it'").await;
    let half = show().await;
    assert_eq!(half["roles_missing"], json!(["release"]), "{half}");
    assert_eq!(half["approvals_given"], 1);
    assert_eq!(half["votes"][0]["principal"], "ada");
    assert_eq!(half["votes"][0]["comment"], "read it");
    decide(&c, "bob", &asked, "approve", "").await;
    let whole = show().await;
    assert_eq!(whole["roles_missing"], json!([]), "{whole}");
    assert_eq!(
        (&whole["state"], &whole["decided_by"]),
        (&json!("approved"), &json!("bob"))
    );
    let nobody = "select tenure.approval_show($1)";
    refused(&one(&c, nobody, &[&Uuid::nil()]).await, "approval_unknown");
    refused(&one(&c, nobody, &[&None::<Uuid>]).await, "approval_unknown");
}

/// What a preview takes, a submission takes; what it refuses, it refuses with the same words, and leaves nothing behind.
#[tokio::test]
async fn a_preview_refuses_what_submitting_refuses_and_writes_nothing() {
    let (_db, c) = people().await;
    rule(&c, "known", json!({"position": 1, "target_refs": ["p *"], "level": 0})).await;
    act(&c, "pam").await;
    let good = plan("p", &["a read", "b read"]);
    let with = |field: &str, value: Value| {
        let mut text = good.clone();
        text["steps"][1][field] = value;
        text
    };
    let settings = ["executions.targets.strict", "queue.kind.strict"];
    for (setting, bad, code) in [
        ("", with("executor", json!("Nobody")), "executor_unknown"),
        ("", with("executor", json!("MOT")), "executor_cannot_claim"),
        ("", with("payload", json!({"x": "x".repeat(9000)})), "payload_too_large"),
        (settings[0], with("target_ref", json!("elsewhere")), "target_unknown"),
        (settings[1], with("kind", json!("nobody's")), "kind_unknown"),
    ] {
        act(&c, "pam").await;
        one(&c, r#"select tenure.kind_set('touch', '{}')"#, &[]).await;
        for name in settings {
            one(
                &c,
                "select tenure.config_set($1, $2)",
                &[&name, &json!(name == setting)],
            )
            .await;
        }
        act(&c, "eve").await;
        let lanes = "select count(*) from tenure.lanes";
        let before: i64 = get(&c, lanes, &[]).await;
        let seen = one(&c, "select tenure.execution_preview($1)", &[&bad.to_string()]).await;
        refused(&seen, code);
        assert!(
            seen["what"].as_str().is_some_and(|it| it.contains("steps[1]")),
            "{seen}"
        );
        let fine = one(&c, "select tenure.execution_preview($1)", &[&good.to_string()]).await;
        assert_eq!(fine["approval_level"], 0, "{fine}");
        assert_eq!(get::<i64>(&c, lanes, &[]).await, before, "a preview makes no lane");
        assert_eq!(submit(&c, "eve", &bad, "").await, seen, "the same refusal");
    }
}
