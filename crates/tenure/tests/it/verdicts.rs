//! Who says what became of a step whose outcome is unknown, and who runs a failed plan again.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_makers::{begin_as, key_over, login_of};
use crate::approvals_scene::{
    Asked, act, check_executions, decide, id, people, plan, snapshot, state_of, submit, work, work_all,
};
use crate::fixture::{get, one, refused, run, verb};
use crate::locks::{start, steps};

const RESOLVE: &str = "select tenure.execution_resolve($1, 'a', $2, 'looked at the host', p_on_behalf_of => $3)";

/// An execution of eve's whose only step began, and was given back in the middle: its effects come once.
async fn unknown(c: &Client, purpose: &str) -> Uuid {
    let execution = start(c, purpose, purpose, json!({"effects": "once"})).await;
    let held = work(c).await;
    verb(c, "job_release", &held, "").await;
    assert_eq!(steps(c, &[execution]).await, ["unknown"]);
    execution
}

async fn resolve(c: &Client, who: &str, execution: Uuid, verdict: &str, whom: Option<&str>) -> Value {
    act(c, who).await;
    one(c, RESOLVE, &[&execution, &verdict, &whom]).await
}

/// A retry runs a once-only step a second time: that takes other eyes, on every way.
/// Proves: S185.
#[tokio::test]
async fn a_requester_gives_no_verdict_that_lets_their_plan_go_on() {
    let (db, c) = people().await;
    run(&c, "reset tenure.principal").await;
    let (_, eve) = login_of(&db, &c, "eve").await;
    let (_, server) = db.login(&["tenure_server"], "default", None).await;
    let of_pam = key_over(&eve, &c, "pam", "array['operator']").await;
    one(
        &eve,
        r#"select tenure.principal_set('cyd', '{"approver_level": 1}')"#,
        &[],
    )
    .await;
    let execution = unknown(&c, "of eve").await;
    let before = snapshot(&c).await;
    for verdict in ["retry", "succeeded"] {
        refused(&resolve(&c, "eve", execution, verdict, None).await, "self_approval");
        refused(
            &resolve(&c, "pam", execution, verdict, Some("eve")).await,
            "self_approval",
        );
        let answer = one(&eve, RESOLVE, &[&execution, &verdict, &None::<&str>]).await;
        refused(&answer, "self_approval");
        assert!(answer["what"].as_str().expect("text").contains(verdict), "{answer}");
        // By a key that she made, and as a principal that she changed.
        begin_as(&server, of_pam, "execution_resolve").await;
        let answer = one(&server, RESOLVE, &[&execution, &verdict, &None::<&str>]).await;
        run(&server, "commit").await;
        refused(&answer, "self_approval");
        refused(&resolve(&c, "cyd", execution, verdict, None).await, "self_approval");
    }
    assert_eq!(snapshot(&c).await, before);
    let done = resolve(&c, "ada", execution, "retry", None).await;
    assert_eq!(done["step_state"], "running", "{done}");
    work_all(&c).await;
    assert_eq!(state_of(&c, execution).await, "succeeded");
    check_executions(&c).await;
}

/// Proves: S185.
#[tokio::test]
async fn an_agent_gives_no_verdict_nor_does_a_principal_that_is_not_registered() {
    let (_db, c) = people().await;
    let execution = unknown(&c, "of eve").await;
    let before = snapshot(&c).await;
    for verdict in ["retry", "succeeded", "failed"] {
        for (who, whom) in [
            ("bot", None),
            ("a stranger", None),
            ("pam", Some("bot")),
            ("pam", Some("a stranger")),
        ] {
            let answer = resolve(&c, who, execution, verdict, whom).await;
            refused(&answer, "not_permitted");
            assert!(
                answer["what"].as_str().expect("text").contains("gives no verdict"),
                "{answer}"
            );
        }
    }
    assert_eq!(snapshot(&c).await, before);
    // That it failed lets nothing run: a requester may say so of their own.
    let done = resolve(&c, "eve", execution, "failed", None).await;
    assert_eq!(done["state"], "failed", "{done}");
    let other = unknown(&c, "of eve too").await;
    let done = resolve(&c, "pam", other, "succeeded", None).await;
    assert_eq!(done["state"], "succeeded", "{done}");
    check_executions(&c).await;
}

/// The verdict is in the chain, with those who stand behind it.
#[tokio::test]
async fn a_verdict_names_who_stands_behind_it_in_the_chain() {
    let (db, c) = people().await;
    run(&c, "reset tenure.principal").await;
    let (_, pam) = login_of(&db, &c, "pam").await;
    let (_, server) = db.login(&["tenure_server"], "default", None).await;
    let key = key_over(&pam, &c, "ada", "array['operator']").await;
    let execution = unknown(&c, "of eve").await;
    begin_as(&server, key, "execution_resolve").await;
    one(&server, RESOLVE, &[&execution, &"succeeded", &None::<&str>]).await;
    run(&server, "commit").await;
    let said: Value = get(
        &c,
        "select jsonb_build_array(actor, data -> 'auth_makers') from tenure.execution_timeline($1) where kind = 'step_resolved'",
        &[&execution],
    )
    .await;
    assert_eq!(said, json!(["ada", ["pam"]]));
}

/// A new execution, with approvals of its own: none of those who asked before decides about it.
/// Proves: S185.
#[tokio::test]
async fn a_requester_retries_their_own_failed_execution_under_a_new_approval_and_no_other() {
    let (db, c) = people().await;
    run(&c, "reset tenure.principal").await;
    let requester = async |who: &'static str| {
        let (login, session) = db.login(&["tenure_requester"], "default", None).await;
        run(&c, "reset tenure.principal").await;
        one(
            &c,
            "select tenure.login_bind($1, p_principal => $2)",
            &[&login.as_str(), &who],
        )
        .await;
        session
    };
    let (eve, pam) = (requester("eve").await, requester("pam").await);
    let text = plan("of eve", &["a modify"]).to_string();
    let asked = Asked::of(&one(&eve, "select tenure.execution_submit($1)", &[&text]).await);
    decide(&c, "ada", &asked, "approve", "").await;
    let retry = "select tenure.execution_retry($1)";
    refused(&one(&eve, retry, &[&asked.execution]).await, "state_conflict");
    let held = work(&c).await;
    verb(&c, "job_fail", &held, ", 'broken', p_permanence => 'permanent'").await;
    assert_eq!(state_of(&c, asked.execution).await, "failed");
    let before = snapshot(&c).await;
    let answer = one(&pam, retry, &[&asked.execution]).await;
    refused(&answer, "not_permitted");
    assert_eq!(
        answer["why"], "A requester retries only their own executions.",
        "{answer}"
    );
    assert_eq!(snapshot(&c).await, before);
    let again = one(&eve, retry, &[&asked.execution]).await;
    assert_eq!(again["state"], "awaiting_approval", "{again}");
    let again = Asked::of(&again);
    refused(&decide(&c, "eve", &again, "approve", "").await, "self_approval");
    assert_eq!(
        decide(&c, "bob", &again, "approve", "").await["execution_state"],
        "running"
    );
    work_all(&c).await;
    assert_eq!(state_of(&c, again.execution).await, "succeeded");

    // For whom it was asked stands behind it, too; and an operator retries any.
    let made = submit(&c, "pam", &plan("for eve", &["a modify"]), ", p_on_behalf_of => 'eve'").await;
    let other = id(&made, "execution_id");
    act(&c, "ada").await;
    run(&c, &format!("select tenure.execution_cancel('{other}', 'not now')")).await;
    assert_eq!(one(&eve, retry, &[&other]).await["state"], "awaiting_approval");
    check_executions(&c).await;
}
