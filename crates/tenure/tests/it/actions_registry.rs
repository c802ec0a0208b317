//! The registry of actions: which registration decides, who changes it, and what is said of a change.

use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::actions::{action, one_step, preview};
use crate::approvals_scene::{act, id, people, rule, submit};
use crate::fixture::{claim_with, get, one, refused, rows, verb};

#[tokio::test]
async fn the_most_specific_registration_decides_and_of_equal_ones_the_strictest() {
    let (_db, c) = people().await;
    action(&c, "*", json!({"action_class": "deploy", "level_min": 3})).await;
    action(&c, "db.*", json!({"action_class": "modify", "level_min": 1})).await;
    action(&c, "db.read.*", json!({"action_class": "read", "kinds": ["*"]})).await;
    action(
        &c,
        "db.read.all",
        json!({"action_class": "modify", "level_min": 2, "kinds": ["*"]}),
    )
    .await;
    action(
        &c,
        "*.db.x",
        json!({"action_class": "read", "lock_scope": "target", "kinds": ["a", "b"]}),
    )
    .await;
    action(
        &c,
        "a.db.*",
        json!({"action_class": "modify", "lock_scope": "none", "kinds": ["b", "c"]}),
    )
    .await;
    let shown = async |action: &str, kind: &str| one(&c, "select tenure.action_show($1, $2)", &[&action, &kind]).await;
    for (action, registration, class, level) in [
        ("web.x", "*", "deploy", 3),
        ("db.write", "db.*", "modify", 1),
        ("db.read.one", "db.read.*", "read", 0),
        ("db.read.all", "db.read.all", "modify", 2),
        ("a.db.x", "*.db.x, a.db.*", "modify", 0),
    ] {
        let found = shown(action, "b").await;
        assert_eq!(found["registration"], registration, "{found}");
        assert_eq!(
            (&found["action_class"], &found["level_min"]),
            (&json!(class), &json!(level)),
            "{found}"
        );
    }
    let tied = shown("a.db.x", "b").await;
    assert_eq!(
        (&tied["lock_scope"], &tied["kind_allowed"]),
        (&json!("target"), &json!(true)),
        "{tied}"
    );
    // A list, as in the list of actions: what both allow.
    assert_eq!(tied["kinds"], json!(["b"]), "{tied}");
    assert_eq!(shown("db.write", "db.write").await["kinds"], json!(["db.write"]));
    for kind in ["a", "c", "a.db.x"] {
        assert_eq!(
            shown("a.db.x", kind).await["kind_allowed"],
            false,
            "{kind}: both must allow it"
        );
    }
}

#[tokio::test]
async fn rules_name_actions_kinds_and_executors() {
    let (_db, c) = people().await;
    act(&c, "pam").await;
    one(&c, r#"select tenure.kind_set('codex', '{"executor": "Codex"}')"#, &[]).await;
    rule(&c, "one", json!({"position": 1, "actions": ["pay.*"], "level": 3})).await;
    rule(
        &c,
        "two",
        json!({"position": 2, "kinds": ["mail", "codex"], "executors": ["external_*"], "level": 2}),
    )
    .await;
    rule(&c, "three", json!({"position": 3, "executors": ["Codex"], "level": 1})).await;
    rule(&c, "rest", json!({"position": 9, "level": 0})).await;
    for (action, kind, executor, rule) in [
        ("pay.out", "mail", None, "one"),
        ("x", "mail", None, "two"),
        ("x", "codex", Some("external_worker"), "two"),
        ("x", "codex", None, "three"),
        ("x", "x", Some("Codex"), "three"),
        ("x", "x", None, "rest"),
    ] {
        let mut plan = one_step(action, json!({"action_class": "read", "kind": kind}));
        if let Some(executor) = executor {
            plan["steps"][0]["executor"] = json!(executor);
        }
        assert_eq!(preview(&c, &plan).await["rule"], rule, "{plan}");
    }
}

#[tokio::test]
async fn changes_of_actions_and_rules_are_events_with_author_and_content() {
    let (_db, c) = people().await;
    action(&c, "pay", json!({"action_class": "read"})).await;
    action(
        &c,
        "pay",
        json!({"action_class": "modify", "level_min": 2, "note": "money"}),
    )
    .await;
    one(&c, "select tenure.action_delete('pay')", &[]).await;
    rule(&c, "web", json!({"position": 5, "level": 1})).await;
    rule(&c, "web", json!({"position": 5, "level": 0})).await;
    one(&c, "select tenure.approval_rule_delete('web')", &[]).await;
    let events = rows(
        &c,
        "select e.kind, e.actor, e.data -> 'old', e.data -> 'new' from tenure.events e
          where e.kind ~ '^(action|approval)' order by e.seq",
        &[],
    )
    .await;
    let events: Vec<(String, String, Value, Value)> = events
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2), row.get(3)))
        .collect();
    let part = |at: usize, field: &str| (events[at].2[field].clone(), events[at].3[field].clone());
    let kinds: Vec<&str> = events.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "action.set",
            "action.set",
            "action.deleted",
            "approval.rule_set",
            "approval.rule_set",
            "approval.rule_deleted"
        ]
    );
    assert!(events.iter().all(|it| it.1 == "pam"), "{events:?}");
    assert_eq!(part(0, "action_class"), (Value::Null, json!("read")));
    assert_eq!(part(1, "action_class"), (json!("read"), json!("modify")));
    assert_eq!(part(2, "note"), (json!("money"), Value::Null));
    assert_eq!(part(4, "level"), (json!(1), json!(0)));
    assert_eq!(part(5, "position"), (json!(5), Value::Null));
}

#[tokio::test]
async fn a_registration_that_is_wrong_is_refused_with_its_code() {
    let (_db, c) = people().await;
    act(&c, "pam").await;
    for (name, spec, code) in [
        ("x", json!([]), "payload_not_object"),
        ("x", json!({}), "value_unknown"),
        ("x", json!({"action_class": "write"}), "value_unknown"),
        ("x", json!({"action_class": "read", "level": 1}), "value_unknown"),
        (
            "x",
            json!({"action_class": "read", "level_min": 4}),
            "number_out_of_range",
        ),
        (
            "x",
            json!({"action_class": "read", "level_min": 0.5}),
            "number_out_of_range",
        ),
        (
            "x",
            json!({"action_class": "read", "lock_scope": "some"}),
            "value_unknown",
        ),
        (
            "x",
            json!({"action_class": "read", "payload_restricted": 1}),
            "value_unknown",
        ),
        ("x", json!({"action_class": "read", "kinds": []}), "value_unknown"),
        (
            "x",
            json!({"action_class": "read", "kinds": ["\u{200b}"]}),
            "name_blank",
        ),
        ("x", json!({"action_class": "read", "note": 1}), "text_invalid"),
        ("a:b", json!({"action_class": "read"}), "name_invalid"),
        (" ", json!({"action_class": "read"}), "name_blank"),
    ] {
        refused(
            &one(&c, "select tenure.action_set($1, $2)", &[&name, &spec]).await,
            code,
        );
    }
    refused(
        &one(&c, "select tenure.action_delete('x')", &[]).await,
        "action_unknown",
    );
    act(&c, "bot").await;
    let spec = json!({"action_class": "read"});
    refused(
        &one(&c, "select tenure.action_set('x', $1)", &[&spec]).await,
        "not_permitted",
    );
    refused(&one(&c, "select tenure.action_delete('x')", &[]).await, "not_permitted");
    refused(
        &one(
            &c,
            "select tenure.target_type_set('x', '{\"case_rule\": \"lower\"}')",
            &[],
        )
        .await,
        "not_permitted",
    );
    let open = "select tenure.config_set('executions.actions.open', 'true')";
    refused(&one(&c, open, &[]).await, "not_permitted");
    let left: i64 = get(&c, "select count(*) from tenure.actions", &[]).await;
    assert_eq!(left, 0);
}

#[tokio::test]
async fn a_restricted_payload_is_shown_to_those_who_ask_and_decide_only() {
    let (db, c) = people().await;
    action(&c, "pay", json!({"action_class": "modify", "payload_restricted": true})).await;
    let made = submit(&c, "eve", &one_step("pay", json!({"payload": {"amount": 7}})), "").await;
    let execution = id(&made, "execution_id");
    let read = async |who: &Client| one(who, "select to_jsonb(tenure.execution_plan($1))", &[&execution]).await;
    assert!(read(&c).await.is_string());
    let (_, viewer) = db.login(&["tenure_viewer"], "default", None).await;
    refused(&read(&viewer).await, "not_permitted");
    let (_, approver) = db.login(&["tenure_approver"], "default", None).await;
    assert!(read(&approver).await.is_string());
    act(&c, "ada").await;
    let decide = "select tenure.approval_decide($1, 'approve', $2)";
    let hash = made["plan_hash"].as_str().expect("a hash");
    one(&c, decide, &[&id(&made, "approval_id"), &hash]).await;
    let kept: String = get(
        &c,
        "select payload_classification from tenure.jobs where workflow_id = $1",
        &[&execution],
    )
    .await;
    assert_eq!(kept, "restricted");
    let shown: bool = get(
        &viewer,
        "select tenure.job_payload(j.job_id) is null from tenure.jobs j where j.workflow_id = $1",
        &[&execution],
    )
    .await;
    assert!(shown, "the job of the step is as restricted");

    // It fails: its dead letter carries the plan, and shows it to the same people.
    let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    verb(&c, "job_fail", &held, ", 'no', 'permanent'").await;
    let letter = async |who: &Client| {
        one(who, "select tenure.execution_dead_letter_show($1)", &[&execution]).await["plan"].clone()
    };
    assert_eq!(letter(&viewer).await, Value::Null);
    assert!(letter(&approver).await.is_string());
    act(&c, "eve").await;
    assert!(letter(&c).await.is_string());
}

/// What is registered in one tenant says nothing in another.
#[tokio::test]
async fn each_tenant_has_its_own_actions() {
    let (db, c) = people().await;
    action(&c, "look", json!({"action_class": "deploy"})).await;
    one(&c, "select tenure.tenant_create('beta')", &[]).await;
    let (_, beta) = db.login(&["tenure_admin", "tenure_requester"], "beta", None).await;
    let listed: i64 = get(&beta, "select count(*) from tenure.action_list()", &[]).await;
    assert_eq!(listed, 0);
    let text = one_step("look", json!({"action_class": "read"})).to_string();
    let made = one(&beta, "select tenure.execution_submit($1)", &[&text]).await;
    assert_eq!(made["approval_level"], 0, "{made}");
}
