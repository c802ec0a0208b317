//! Four eyes on what decides about plans: actions, rules, target types and governed settings.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{act, as_owner, id, people};
use crate::fixture::{get, one, refused, rows, run};

const NEED: &str = "governance.changes.need_approval";
const DECIDE: &str = "select tenure.governance_change_decide($1, $2, $3)";

async fn set(c: &Client, who: &str, key: &str, value: Value) -> Value {
    act(c, who).await;
    one(c, "select tenure.config_set($1, $2)", &[&key, &value]).await
}

/// Changes need a second admin from now on.
async fn guarded(c: &Client) {
    assert_eq!(set(c, "eve", NEED, json!(true)).await["value"], true);
}

async fn propose(c: &Client, who: &str, name: &str, class: &str) -> Uuid {
    act(c, who).await;
    let spec = json!({"action_class": class});
    let asked = one(c, "select tenure.action_set($1, $2)", &[&name, &spec]).await;
    assert_eq!(
        (&asked["pending"], &asked["state"]),
        (&json!(true), &json!("pending")),
        "{asked}"
    );
    id(&asked, "change_id")
}

async fn decide(c: &Client, who: &str, change: Uuid, decision: &str, comment: Option<&str>) -> Value {
    act(c, who).await;
    one(c, DECIDE, &[&change, &decision, &comment]).await
}

async fn class_of(c: &Client, action: &str) -> Value {
    one(c, "select tenure.action_show($1)", &[&action]).await["action_class"].clone()
}

#[tokio::test]
async fn a_change_takes_effect_when_another_admin_approves_it() {
    let (_db, c) = people().await;
    guarded(&c).await;
    let change = propose(&c, "eve", "pay", "read").await;
    let before: i64 = get(&c, "select count(*) from tenure.actions", &[]).await;
    assert_eq!(before, 0, "nothing is in force yet");
    let listed = rows(
        &c,
        "select change_id, proposed_by, new from tenure.governance_change_list()",
        &[],
    )
    .await;
    assert_eq!(
        (listed[0].get::<_, Uuid>(0), listed[0].get::<_, String>(1)),
        (change, "eve".to_owned())
    );

    let own = decide(&c, "eve", change, "approve", None).await;
    refused(&own, "self_approval");
    refused(&decide(&c, "bot", change, "approve", None).await, "not_permitted");
    refused(
        &decide(&c, "a stranger", change, "approve", None).await,
        "not_permitted",
    );
    let done = decide(&c, "pam", change, "approve", Some("seen")).await;
    assert_eq!(
        (&done["state"], &done["decided_by"]),
        (&json!("approved"), &json!("pam")),
        "{done}"
    );
    assert_eq!(class_of(&c, "pay").await, "read");
    let author: String = get(&c, "select updated_by from tenure.actions", &[]).await;
    assert_eq!(author, "eve", "the proposer is the author");
    refused(&decide(&c, "ada", change, "approve", None).await, "state_conflict");

    let events = rows(
        &c,
        "select e.kind, e.actor, e.data from tenure.events e where e.kind ~ '^(governance|action)' order by e.seq",
        &[],
    )
    .await;
    let events: Vec<(String, String, Value)> = events.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let kinds: Vec<(&str, &str)> = events.iter().map(|it| (it.0.as_str(), it.1.as_str())).collect();
    assert_eq!(
        kinds,
        [
            ("governance.change_proposed", "eve"),
            ("governance.change_approved", "pam"),
            ("action.set", "eve")
        ]
    );
    assert_eq!(events[2].2["approved_by"], "pam", "{events:?}");
    assert_eq!(events[0].2["new"]["action_class"], "read", "{events:?}");
}

/// What a proposal leaves out it still sets: a second admin sees that, in the fields of what is in force.
#[tokio::test]
async fn a_proposal_shows_every_field_that_it_sets() {
    let (_db, c) = people().await;
    act(&c, "eve").await;
    let strict = r#"{"action_class": "deploy", "level_min": 2, "kinds": ["pay"], "payload_restricted": true}"#;
    let before = one(&c, &format!("select tenure.action_set('pay', '{strict}')"), &[]).await;
    let strict = r#"{"position": 40, "level": 2, "quorum": 2, "window": {"from": "22:00", "to": "04:00"}}"#;
    let rule_before = one(&c, &format!("select tenure.approval_rule_set('web', '{strict}')"), &[]).await;
    guarded(&c).await;
    let change = propose(&c, "eve", "pay", "read").await;
    let asked = one(&c, r#"select tenure.approval_rule_set('web', '{"level": 1}')"#, &[]).await;
    let listed = rows(
        &c,
        "select new from tenure.governance_change_list() order by subject",
        &[],
    )
    .await;
    let (action, rule): (Value, Value) = (listed[0].get(0), listed[1].get(0));
    assert_eq!(
        action,
        json!({"action_class": "read", "kinds": null, "level_min": 0, "lock_scope": "none",
            "payload_restricted": false, "note": ""})
    );
    for (new, old) in [(&action, &before), (&rule, &rule_before)] {
        let fields = |value: &Value| -> Vec<String> {
            let all = value.as_object().expect("an object").keys().cloned();
            all.filter(|key| !["name", "updated_at", "updated_by"].contains(&key.as_str()))
                .collect()
        };
        assert_eq!(fields(new), fields(old));
    }
    assert_eq!(
        (
            &rule["position"],
            &rule["quorum"],
            &rule["start_window"],
            &rule["expires_seconds"]
        ),
        (&json!(10), &json!(1), &Value::Null, &json!(86400))
    );
    for (change, applied) in [
        (change, "select to_jsonb(a) from tenure.actions a"),
        (
            id(&asked, "change_id"),
            "select to_jsonb(r) from tenure.approval_rules r",
        ),
    ] {
        let shown: Value = get(
            &c,
            "select new from tenure.governance_changes where change_id = $1",
            &[&change],
        )
        .await;
        decide(&c, "pam", change, "approve", None).await;
        let applied: Value = get(&c, applied, &[]).await;
        for (field, value) in shown.as_object().expect("an object") {
            assert_eq!(&applied[field], value, "{field}");
        }
    }
}

#[tokio::test]
async fn every_change_of_what_governs_plans_is_proposed_and_none_goes_round_it() {
    let (_db, c) = people().await;
    act(&c, "eve").await;
    one(
        &c,
        r#"select tenure.action_set('pay', '{"action_class": "modify"}')"#,
        &[],
    )
    .await;
    one(&c, r#"select tenure.approval_rule_set('web', '{"level": 2}')"#, &[]).await;
    one(
        &c,
        r#"select tenure.target_type_set('host', '{"case_rule": "lower"}')"#,
        &[],
    )
    .await;
    one(
        &c,
        r#"select tenure.kind_set('restart', '{"only_by_plan": true}')"#,
        &[],
    )
    .await;
    guarded(&c).await;
    let picture = "select md5(string_agg(x, '|')) from (select a::text from tenure.actions a union all
      select r::text from tenure.approval_rules r union all select t::text from tenure.target_types t union all
      select k::text from tenure.kinds k union all
      select g::text from tenure.config g) x (x)";
    let before: String = get(&c, picture, &[]).await;
    let mut changes = Vec::new();
    for call in [
        r#"action_set('pay', '{"action_class": "read"}')"#,
        "action_delete('pay')",
        r#"approval_rule_set('web', '{"level": 0}')"#,
        "approval_rule_delete('web')",
        r#"target_type_set('host', '{"case_rule": "exact"}')"#,
        "target_type_delete('host')",
        r#"kind_set('restart', '{"only_by_plan": false, "attempts_max": 7}')"#,
        r#"kind_set('restart', '{"only_by_plan": null}')"#,
        r#"kind_set('reload', '{"only_by_plan": true}')"#,
        "config_set('executions.actions.open', 'true')",
        "config_set('executions.targets.strict', 'false')",
        "config_set('governance.changes.need_approval', 'false')",
        "config_set('governance.changes.need_approval', null)",
    ] {
        act(&c, "eve").await;
        let asked = one(&c, &format!("select tenure.{call}"), &[]).await;
        assert_eq!(asked["pending"], true, "{call}: {asked}");
        changes.push(id(&asked, "change_id"));
    }
    let after: String = get(&c, picture, &[]).await;
    assert_eq!(before, after, "nothing has changed");
    // The rest of the configuration is not governed.
    assert_eq!(set(&c, "eve", "queue.retry.jitter_percent", json!(7)).await["value"], 7);
    // Turning it off takes the same four eyes.
    assert_eq!(
        decide(&c, "pam", changes[11], "approve", None).await["state"],
        "approved"
    );
    act(&c, "eve").await;
    let at_once = one(&c, r#"select tenure.approval_rule_set('web', '{"level": 1}')"#, &[]).await;
    assert_eq!(at_once["level"], 1, "{at_once}");
    // What it would replace is not what was shown to its approver any more.
    let stale = decide(&c, "pam", changes[2], "approve", None).await;
    refused(&stale, "state_conflict");
    assert_eq!(
        decide(&c, "pam", changes[2], "reject", Some("too late")).await["state"],
        "rejected"
    );
}

/// Clearing `only_by_plan` would open a way round every plan: it takes the same two admins.
#[tokio::test]
async fn a_kind_is_ungoverned_only_by_two_admins() {
    let (_db, c) = people().await;
    act(&c, "eve").await;
    one(
        &c,
        r#"select tenure.kind_set('restart', '{"only_by_plan": true}')"#,
        &[],
    )
    .await;
    guarded(&c).await;
    act(&c, "eve").await;
    let clear = r#"select tenure.kind_set('restart', '{"only_by_plan": false, "attempts_max": 7}')"#;
    let change = id(&one(&c, clear, &[]).await, "change_id");
    let enqueue = "select tenure.try_job_enqueue('restart', '{}')";
    refused(&one(&c, enqueue, &[]).await, "kind_only_by_plan");
    refused(&decide(&c, "eve", change, "approve", None).await, "self_approval");
    // Bad policies are refused when they are proposed, and those that leave only_by_plan as it is apply at once.
    act(&c, "eve").await;
    let bad = r#"select tenure.kind_set('restart', '{"only_by_plan": false, "executor": "nowhere"}')"#;
    refused(&one(&c, bad, &[]).await, "executor_unknown");
    let same = r#"select tenure.kind_set('reload', '{"only_by_plan": false, "attempts_max": 2}')"#;
    assert_eq!(one(&c, same, &[]).await["attempts_max"], 2);

    decide(&c, "pam", change, "approve", None).await;
    let shown = one(&c, "select tenure.kind_show('restart')", &[]).await;
    assert_eq!(
        (&shown["only_by_plan"], &shown["attempts_max"]),
        (&json!(false), &json!(7)),
        "{shown}"
    );
    let event = rows(
        &c,
        "select e.actor from tenure.events e where e.kind = 'kind.ungoverned'",
        &[],
    )
    .await;
    assert_eq!(event[0].get::<_, String>(0), "eve");
}

#[tokio::test]
async fn a_rejection_says_why_and_may_be_the_proposers_own() {
    let (_db, c) = people().await;
    guarded(&c).await;
    let change = propose(&c, "eve", "pay", "read").await;
    refused(&decide(&c, "pam", change, "reject", None).await, "comment_required");
    refused(&decide(&c, "pam", change, "maybe", None).await, "value_unknown");
    refused(
        &decide(&c, "pam", Uuid::nil(), "approve", None).await,
        "governance_change_unknown",
    );
    assert_eq!(
        decide(&c, "eve", change, "reject", Some("a slip")).await["state"],
        "rejected"
    );
    let open: i64 = get(&c, "select count(*) from tenure.governance_change_list()", &[]).await;
    let all: i64 = get(&c, "select count(*) from tenure.governance_change_list(null)", &[]).await;
    assert_eq!((open, all), (0, 1));
}

/// A key that the proposer made is the proposer; the maker of the proposer's key could have used it.
#[tokio::test]
async fn keys_that_one_of_the_two_made_for_the_other_are_not_a_second_admin() {
    let (db, c) = people().await;
    guarded(&c).await;
    let server = db.direct().await;
    let key = async |maker: &str, who: &str| -> Uuid {
        act(&c, maker).await;
        let prefix = Uuid::new_v4().simple().to_string();
        let sql = "select tenure.key_create($1, $2, sha256('s'), array['admin'])";
        one(&c, sql, &[&who, &prefix.as_str()]).await;
        get(&c, "select tenure.key_check($1, sha256('s'))", &[&prefix.as_str()]).await
    };
    let decide_by = async |key: Uuid, change: Uuid| -> Value {
        run(&server, "begin").await;
        let sql = "select tenure.act_for_key($1, 'governance_change_decide', null, 'POST /v1/x 10.0.0.9')";
        rows(&server, sql, &[&key]).await;
        let answer = one(&server, DECIDE, &[&change, &"approve", &None::<&str>]).await;
        run(&server, "commit").await;
        answer
    };
    let change = propose(&c, "eve", "pay", "read").await;
    let puppet = key("eve", "pam").await;
    refused(&decide_by(puppet, change).await, "self_approval");
    let independent = key("ada", "pam").await;
    assert_eq!(decide_by(independent, change).await["state"], "approved");

    // Eve comes by a key that Ada made, and Ada does not approve what she could have asked for herself.
    let lent = key("ada", "eve").await;
    run(&server, "begin").await;
    rows(
        &server,
        "select tenure.act_for_key($1, 'action_set', null, 'PUT /v1/x 10.0.0.9')",
        &[&lent],
    )
    .await;
    let asked = one(
        &server,
        r#"select tenure.action_set('pay', '{"action_class": "deploy"}')"#,
        &[],
    )
    .await;
    run(&server, "commit").await;
    let change = id(&asked, "change_id");
    refused(&decide(&c, "ada", change, "approve", None).await, "self_approval");
    assert_eq!(decide(&c, "bob", change, "approve", None).await["state"], "approved");
}

/// The principal for whom a change is proposed requested it as well: neither it nor a key that it made approves.
#[tokio::test]
async fn the_principal_a_change_is_proposed_for_is_not_a_second_admin() {
    let (db, c) = people().await;
    guarded(&c).await;
    let server = db.direct().await;
    act(&c, "pam").await;
    let prefix = Uuid::new_v4().simple().to_string();
    let made = "select tenure.key_create('bob', $1, sha256('s'), array['admin'])";
    one(&c, made, &[&prefix.as_str()]).await;
    let key: Uuid = get(&c, "select tenure.key_check($1, sha256('s'))", &[&prefix.as_str()]).await;
    for proposal in [
        "config_set('executions.targets.strict', 'true', 'pam')",
        r#"kind_set('pay', '{"only_by_plan": true}', 'pam')"#,
    ] {
        act(&c, "eve").await;
        let asked = one(&c, &format!("select tenure.{proposal}"), &[]).await;
        let change = id(&asked, "change_id");
        refused(&decide(&c, "pam", change, "approve", None).await, "self_approval");
        run(&server, "begin").await;
        let acts = "select tenure.act_for_key($1, 'governance_change_decide', null, 'POST /v1/x 10.0.0.9')";
        rows(&server, acts, &[&key]).await;
        let by_key = one(&server, DECIDE, &[&change, &"approve", &None::<&str>]).await;
        run(&server, "commit").await;
        refused(&by_key, "self_approval");
        let own = "update tenure.governance_changes set state = 'approved', decided_by = 'pam', \
            decided_at = proposed_at where state = 'pending'";
        assert!(
            as_owner(&c, own).await.starts_with("TN014"),
            "nor by a write to the table"
        );
        assert_eq!(decide(&c, "ada", change, "approve", None).await["state"], "approved");
    }
}

#[tokio::test]
async fn a_proposal_is_decided_once_and_never_changed_or_deleted_by_any_way() {
    let (_db, c) = people().await;
    guarded(&c).await;
    let change = propose(&c, "eve", "pay", "read").await;
    for sql in [
        "update tenure.governance_changes set new = '{\"action_class\": \"deploy\"}'",
        "update tenure.governance_changes set proposed_by = 'pam'",
        "delete from tenure.governance_changes",
    ] {
        assert!(as_owner(&c, sql).await.starts_with("TN014"), "{sql}");
    }
    let own = "update tenure.governance_changes set state = 'approved', decided_by = 'eve', decided_at = proposed_at";
    assert!(
        as_owner(&c, own).await.starts_with("23514"),
        "the proposer never approves"
    );
    decide(&c, "pam", change, "approve", None).await;
    let again = "update tenure.governance_changes set comment = 'x'";
    assert!(as_owner(&c, again).await.starts_with("TN014"));
}

/// A key of the installation does not open what a tenant has guarded.
#[tokio::test]
async fn a_setting_of_the_installation_needs_a_second_admin_as_soon_as_one_tenant_does() {
    let (db, c) = people().await;
    guarded(&c).await;
    let server = db.direct().await;
    run(&server, "begin; set local tenure.tenant = '*'").await;
    let asked = one(
        &server,
        "select tenure.config_set('executions.actions.open', 'false')",
        &[],
    )
    .await;
    assert_eq!(asked["pending"], true, "{asked}");
    let listed: i64 = get(&server, "select count(*) from tenure.governance_change_list()", &[]).await;
    assert_eq!(listed, 1);
    run(&server, "commit").await;
    let own: i64 = get(&c, "select count(*) from tenure.governance_change_list()", &[]).await;
    assert_eq!(own, 0, "it is not a change of the tenant");
}

/// Events of governed settings and kinds name the change, its approver, and for whom it was made.
#[tokio::test]
async fn the_event_of_a_governed_setting_or_kind_names_its_change() {
    let (_db, c) = people().await;
    let told = async |kind: &str| -> (Option<String>, Value) {
        let sql = "select e.on_behalf_of, e.data from tenure.events e where e.kind = $1 order by e.seq desc limit 1";
        let found = rows(&c, sql, &[&kind]).await;
        (found[0].get(0), found[0].get(1))
    };
    act(&c, "eve").await;
    let at_once = "select tenure.config_set('executions.targets.strict', 'true', 'rob')";
    one(&c, at_once, &[]).await;
    let (whom, data) = told("config.changed").await;
    assert_eq!(whom.as_deref(), Some("rob"));
    assert!(data.get("change_id").is_none(), "{data}");

    guarded(&c).await;
    for (change, kind) in [
        (
            "select tenure.config_set('executions.targets.strict', 'false', 'rob')",
            "config.changed",
        ),
        (
            r#"select tenure.kind_set('pay', '{"only_by_plan": true}', 'rob')"#,
            "kind.changed",
        ),
        (
            r#"select tenure.kind_set('pay', '{"only_by_plan": false}', 'rob')"#,
            "kind.ungoverned",
        ),
    ] {
        act(&c, "eve").await;
        let asked = one(&c, change, &[]).await;
        assert_eq!(asked["pending"], true, "{asked}");
        assert_eq!(told("governance.change_proposed").await.0.as_deref(), Some("rob"));
        decide(&c, "pam", id(&asked, "change_id"), "approve", None).await;
        let (whom, data) = told(kind).await;
        assert_eq!(
            (whom.as_deref(), &data["change_id"], &data["approved_by"]),
            (Some("rob"), &asked["change_id"], &json!("pam")),
            "{kind}: {data}"
        );
    }
}

/// An admin sees for whom a change was proposed before deciding about it: that principal cannot approve it.
#[tokio::test]
async fn a_proposed_change_names_whom_it_was_proposed_for() {
    let (_db, c) = people().await;
    guarded(&c).await;
    act(&c, "eve").await;
    let change = "select tenure.config_set('executions.targets.strict', 'true', 'rob')";
    let asked = one(&c, change, &[]).await;
    assert_eq!(asked["on_behalf_of"], "rob", "{asked}");
    let listed = "select on_behalf_of from tenure.governance_change_list('{any}')";
    assert_eq!(get::<Option<String>>(&c, listed, &[]).await.as_deref(), Some("rob"));
    let decided = decide(&c, "pam", id(&asked, "change_id"), "approve", None).await;
    assert_eq!(
        (&decided["state"], &decided["on_behalf_of"]),
        (&json!("approved"), &json!("rob")),
        "{decided}"
    );
}
