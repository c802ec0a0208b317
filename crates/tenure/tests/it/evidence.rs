//! What the database tells of an execution holds together, however it ended: a file that does not verify would never be archived.

use serde_json::json;
use tenure::store::evidence::execution_evidence;
use tenure_core::evidence::{Evidence, SecretKey, sign, verify};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Claimed, Db, claim_with, one, refused, rows, run, verb};

/// A plan with a step of this class for each name, one after the other.
fn plan(purpose: &str, class: &str, steps: &[&str], more: serde_json::Value) -> String {
    let mut needs = Vec::new();
    let mut plan = json!({"purpose": purpose, "sla_class": "long", "runbook_ref": "wiki/till", "steps": []});
    for (field, value) in more.as_object().expect("an object") {
        plan[field] = value.clone();
    }
    let steps = steps.iter().map(|id| {
        let step = json!({"id": id, "action": "till.turn", "action_class": class, "target_type": "till", "target_ref": purpose, "needs": needs});
        needs = vec![*id];
        step
    });
    plan["steps"] = steps.collect();
    let plan = tenure_core::Plan::read(&plan.to_string()).unwrap_or_else(|refusal| panic!("{refusal}"));
    plan.canonical().to_owned()
}

async fn submit(c: &Client, plan: &str) -> Uuid {
    id_of(&one(c, "select tenure.execution_submit($1)", &[&plan]).await)
}

fn id_of(answer: &serde_json::Value) -> Uuid {
    let id = answer["execution_id"].as_str().unwrap_or_else(|| panic!("{answer}"));
    id.parse().expect("an id")
}

/// People who may approve all.
async fn approvers(c: &Client) {
    for name in ["grace", "joan"] {
        one(c, "select tenure.principal_create($1, 'human')", &[&name]).await;
        one(
            c,
            r#"select tenure.principal_set($1, '{"approver_level": 3}')"#,
            &[&name],
        )
        .await;
    }
}

/// Decides about all that is open of an execution.
async fn decide(c: &Client, id: Uuid, who: &str, decision: &str) {
    run(c, &format!("begin; set local tenure.principal = '{who}'")).await;
    let sql = "select tenure.approval_decide(a.approval_id, $2, a.plan_hash, 'seen') from tenure.approval_list($1) a";
    let decided = rows(c, sql, &[&id, &decision]).await;
    run(c, "commit").await;
    assert_eq!(decided.len(), 1, "one decision is open");
    let answer: serde_json::Value = decided[0].get(0);
    assert!(answer["refused"].is_null(), "{answer}");
}

async fn begin(c: &Client) -> Claimed {
    claim_with(c, "w", ", p_mode => 'started'").await.remove(0)
}

async fn succeed(c: &Client) {
    verb(c, "job_complete", &begin(c).await, "").await;
}

async fn fail(c: &Client) {
    verb(c, "job_fail", &begin(c).await, ", 'no', 'permanent'").await;
}

/// The evidence of an execution that is in this state, checked.
async fn evidence(c: &Client, id: Uuid, state: &str) -> Evidence {
    let lines = execution_evidence(c, id).await.expect("lines");
    let key = SecretKey::from_seed(&[7; 32]);
    let file = sign(&lines, &key);
    let verified =
        verify(file.as_bytes(), &key.public_key()).unwrap_or_else(|findings| panic!("{findings:#?}\n{file}"));
    assert_eq!(verified.evidence.head.state, state);
    verified.evidence
}

#[tokio::test]
async fn the_evidence_of_an_execution_verifies_at_every_stage() {
    let db = Db::open().await;
    let c = db.client().await;
    approvers(&c).await;
    let id = submit(&c, &plan("stages", "modify", &["first", "second"], json!({}))).await;
    evidence(&c, id, "awaiting_approval").await;
    decide(&c, id, "grace", "approve").await;
    evidence(&c, id, "running").await;
    succeed(&c).await;
    evidence(&c, id, "running").await;
    succeed(&c).await;
    let told = evidence(&c, id, "succeeded").await;
    assert_eq!((told.votes.len(), told.votes[0].text("principal")), (1, Some("grace")));
    assert_eq!((told.steps.len(), told.attempts.len()), (2, 2));
    assert_eq!(
        told.events.first().map(|event| event.kind.as_str()),
        Some("execution_submitted")
    );
}

#[tokio::test]
async fn a_quorum_and_approvals_of_single_steps_are_in_the_evidence() {
    let db = Db::open().await;
    let c = db.client().await;
    approvers(&c).await;
    let rule = json!({"position": 1, "action_classes": ["deploy"], "level": 3, "quorum": 2});
    one(&c, "select tenure.approval_rule_set('strict', $1)", &[&rule]).await;
    let id = submit(&c, &plan("quorum", "deploy", &["only"], json!({}))).await;
    for who in ["grace", "joan"] {
        decide(&c, id, who, "approve").await;
    }
    // It starts with its first step, and that waits for decisions of its own.
    evidence(&c, id, "approved").await;
    for who in ["joan", "grace"] {
        decide(&c, id, who, "approve").await;
    }
    succeed(&c).await;
    let told = evidence(&c, id, "succeeded").await;
    assert_eq!((told.approvals.len(), told.votes.len()), (2, 4));
}

#[tokio::test]
async fn the_evidence_of_every_end_verifies() {
    let db = Db::open().await;
    let c = db.client().await;
    approvers(&c).await;
    let read = |purpose: &str, more| plan(purpose, "read", &["first", "second"], more);

    let failed = submit(&c, &read("fails", json!({}))).await;
    succeed(&c).await;
    fail(&c).await;
    evidence(&c, failed, "failed").await;
    let again = id_of(&one(&c, "select tenure.execution_retry($1, 'resume', 'again')", &[&failed]).await);
    succeed(&c).await;
    evidence(&c, again, "succeeded").await;
    evidence(&c, failed, "failed").await;

    // Two that do not need each other.
    let partly = plan(
        "partly",
        "read",
        &["first", "second"],
        json!({"on_step_failure": "continue"}),
    );
    let partial = submit(&c, &partly.replace("\"needs\":[\"first\"]", "\"needs\":[]")).await;
    succeed(&c).await;
    fail(&c).await;
    evidence(&c, partial, "partially_failed").await;
    one(&c, "select tenure.execution_close($1, 'seen')", &[&partial]).await;
    evidence(&c, partial, "partially_failed").await;

    let cancelled = submit(&c, &read("cancelled", json!({}))).await;
    succeed(&c).await;
    one(&c, "select tenure.execution_cancel($1, 'enough')", &[&cancelled]).await;
    evidence(&c, cancelled, "cancelled").await;

    let modify = |purpose: &str| plan(purpose, "modify", &["first"], json!({}));
    let rejected = submit(&c, &modify("rejected")).await;
    decide(&c, rejected, "grace", "reject").await;
    evidence(&c, rejected, "rejected").await;

    let withdrawn = submit(&c, &modify("withdrawn")).await;
    one(&c, "select tenure.execution_withdraw($1, 'no need')", &[&withdrawn]).await;
    evidence(&c, withdrawn, "cancelled").await;

    let old = submit(&c, &modify("replaced")).await;
    let newer = plan("replaced", "modify", &["first", "second"], json!({}));
    let new = one(
        &c,
        "select tenure.execution_submit($1, p_supersedes => $2)",
        &[&newer, &old],
    )
    .await;
    evidence(&c, old, "cancelled").await;
    evidence(&c, id_of(&new), "awaiting_approval").await;

    let expired = submit(&c, &modify("expired")).await;
    db.advance("25 hours").await;
    one(&c, "select tenure.execution_tick()", &[]).await;
    evidence(&c, expired, "cancelled").await;
}

/// A payload that is restricted is in no line of the file, nor in the plan: its hash stands there, and is checked.
#[tokio::test]
async fn a_restricted_payload_is_in_the_evidence_by_its_hash_alone() {
    let db = Db::open().await;
    let c = db.client().await;
    let admin = db.direct().await;
    let seal = json!({"action_class": "read", "payload_restricted": true});
    one(&c, "select tenure.action_set('till.seal', $1)", &[&seal]).await;
    let text = plan("restricted", "read", &["first", "second"], json!({}));
    let mut text: serde_json::Value = serde_json::from_str(&text).expect("a plan");
    text["steps"][0]["action"] = json!("till.seal");
    text["steps"][0]["payload"] = json!({"iban": "hunter2"});
    let text = text.to_string();
    let id = submit(&c, &text).await;
    succeed(&c).await;
    succeed(&c).await;
    let told = evidence(&c, id, "succeeded").await;
    assert!(told.steps[0].text("payload_sha256").is_some() && !told.steps[0].has("payload"));
    assert!(told.steps[1].has("payload"));
    let lines = execution_evidence(&c, id).await.expect("lines").join("\n");
    assert!(!lines.contains("hunter2"), "{lines}");

    // Another payload has another hash.
    run(
        &admin,
        "begin; set local session_replication_role = replica;
         update tenure.steps set payload = '{\"iban\": \"other\"}' where step_number = 1; commit",
    )
    .await;
    let lines = execution_evidence(&c, id).await.expect("lines");
    let key = SecretKey::from_seed(&[7; 32]);
    let findings = verify(sign(&lines, &key).as_bytes(), &key.public_key()).expect_err("it was changed");
    assert!(
        findings.iter().any(|it| it.field.as_deref() == Some("payload_sha256")),
        "{findings:#?}"
    );
}

/// The newest key signs; one that was followed by another is not made the newest by adding it again.
#[tokio::test]
async fn a_key_that_was_followed_by_another_does_not_sign_again() {
    let db = Db::open().await;
    let c = db.client().await;
    let add = "select tenure.evidence_key_add(left(encode(sha256(sha256($1::text::bytea)), 'hex'), 16), sha256($1::text::bytea), sha256('s'))";
    let within = one(&c, add, &[&"one"]).await;
    refused(&within, "not_permitted"); // The key signs for all tenants.
    run(&c, "set tenure.tenant = '*'").await;
    for (key, refusal) in [
        ("one", None),
        ("one", None),
        ("two", None),
        ("one", Some("state_conflict")),
    ] {
        db.advance("1 second").await;
        let added = one(&c, add, &[&key]).await;
        match refusal {
            None => assert_eq!(added["added"], true, "{added}"),
            Some(code) => refused(&added, code),
        }
    }
}
