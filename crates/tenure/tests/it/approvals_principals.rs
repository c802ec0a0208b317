//! Who registers or changes a principal, or takes the binding of a login away, stands behind it: no plan of theirs is approved by it.

use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::approvals_makers::{EVERYTHING, ask_over, auth_makers, decide_by, decide_over, key_over, login_of};
use crate::approvals_scene::{Asked, act, ask_change, check_executions, decide, people, plan, rule, snapshot, submit};
use crate::fixture::{get, one, refused, run};

/// Changes a principal over this session.
async fn set(session: &Client, name: &str, spec: Value) -> Value {
    one(session, "select tenure.principal_set($1, $2)", &[&name, &spec]).await
}

async fn makers_of(c: &Client, name: &str) -> Vec<String> {
    get(
        c,
        "select makers from tenure.principal_list() where name = $1",
        &[&name],
    )
    .await
}

/// Asserts that this was refused because of who registered or changed the principal.
#[track_caller]
fn of_their_registering(answer: &Value, who: &str, principal: &str) {
    refused(answer, "self_approval");
    let what = format!("{who} requested this plan, and stands behind the principal {principal}.");
    assert_eq!(answer["what"], what.as_str(), "{answer}");
    assert!(answer["next"].as_str().expect("text").contains("confirm"), "{answer}");
}

/// Who raises the level of another could be that other: the right to approve is of their making.
/// Proves: S185.
#[tokio::test]
async fn who_changed_a_principal_has_no_plan_approved_by_it_until_another_admin_confirms_it() {
    let (db, c) = people().await;
    run(&c, "reset tenure.principal").await;
    let (_, eve) = login_of(&db, &c, "eve").await;
    let (_, bob) = login_of(&db, &c, "bob").await;
    let (_, pam) = login_of(&db, &c, "pam").await;
    let (_, server) = db.login(&["tenure_server"], "default", None).await;
    let key = key_over(&c, &c, "bob", "array['approver'], 3").await;
    assert!(makers_of(&c, "bob").await.is_empty());
    let raised = set(&eve, "bob", json!({"approver_level": 3})).await;
    assert_eq!(raised["makers"], json!(["eve"]));
    let asked = ask_over(&eve, "of eve").await;
    act(&c, "pam").await;
    let for_eve = Asked::of(&submit(&c, "pam", &plan("for eve", &["a modify"]), ", p_on_behalf_of => 'eve'").await);
    let before = snapshot(&c).await;
    for asked in [&asked, &for_eve] {
        for decision in ["approve", "reject"] {
            of_their_registering(&decide_over(&bob, asked, decision).await, "eve", "bob");
            of_their_registering(&decide_by(&server, key, asked, decision).await, "eve", "bob");
            // Nor does a trusted login in his name: the right itself is of her making.
            of_their_registering(&decide(&c, "bob", asked, decision, ", 'seen'").await, "eve", "bob");
        }
    }
    assert_eq!(snapshot(&c).await, before);
    // A plan of another requester is not concerned, and the vote says who stands behind him.
    let other = Asked::of(&submit(&c, "cyd", &plan("of cyd", &["a modify"]), "").await);
    assert_eq!(decide_over(&bob, &other, "approve").await["execution_state"], "running");
    assert_eq!(auth_makers(&c, &other).await, ["eve"]);
    // A principal does not confirm itself; another admin does, and stands behind him from then on.
    refused(&set(&bob, "bob", json!({"confirm": true})).await, "not_permitted");
    for wrong in [json!(false), json!(null), json!("yes")] {
        refused(&set(&pam, "bob", json!({"confirm": wrong})).await, "value_unknown");
    }
    assert_eq!(
        set(&pam, "bob", json!({"confirm": true})).await["makers"],
        json!(["pam"])
    );
    assert_eq!(decide_over(&bob, &asked, "approve").await["execution_state"], "running");
    assert_eq!(auth_makers(&c, &asked).await, ["pam"]);
    // What he changes about himself is not of another's making.
    assert_eq!(
        set(&bob, "bob", json!({"approval_roles": []})).await["makers"],
        json!(["pam"])
    );
    check_executions(&c).await;
}

/// A person who is made up, over whatever detour.
/// Proves: S185.
#[tokio::test]
async fn who_registered_a_principal_has_no_plan_approved_by_it_whoever_made_its_key() {
    let (db, c) = people().await;
    run(&c, "reset tenure.principal").await;
    let (_, eve) = login_of(&db, &c, "eve").await;
    let (_, pam) = login_of(&db, &c, "pam").await;
    let (_, server) = db.login(&["tenure_server"], "default", None).await;
    one(&eve, "select tenure.principal_create('mallory', 'human')", &[]).await;
    assert_eq!(makers_of(&c, "mallory").await, ["eve"]);
    // Pam makes the key, on the word of eve that there is such a person.
    let key = key_over(&pam, &c, "mallory", "array['approver'], 3").await;
    let asked = ask_over(&eve, "of eve").await;
    of_their_registering(&decide_by(&server, key, &asked, "approve").await, "eve", "mallory");
    // What mallory makes is of eve's making, too.
    let (_, mallory) = login_of(&db, &c, "mallory").await;
    assert_eq!(
        set(&mallory, "bob", json!({"approver_level": 3})).await["makers"],
        json!(["eve", "mallory"])
    );
    let (_, bob) = login_of(&db, &c, "bob").await;
    of_their_registering(&decide_over(&bob, &asked, "approve").await, "eve", "bob");
    assert_eq!(
        set(&mallory, "bob", json!({"confirm": true})).await["makers"],
        json!(["eve", "mallory"])
    );
    of_their_registering(&decide_over(&bob, &asked, "approve").await, "eve", "bob");
    // The operator of the installation, in the name of no principal, is not a person.
    assert_eq!(set(&c, "bob", json!({"confirm": true})).await["makers"], json!([]));
    assert_eq!(decide_over(&bob, &asked, "approve").await["execution_state"], "running");
    check_executions(&c).await;
}

/// Who takes the binding of a login away says as whom it acts from then on: under its own name.
/// Proves: S185.
#[tokio::test]
async fn who_unbound_a_login_has_no_plan_approved_by_it_until_it_is_bound_again() {
    let (db, c) = people().await;
    run(&c, "reset tenure.principal").await;
    let (_, eve) = login_of(&db, &c, "eve").await;
    let (login, session) = db.login(&EVERYTHING, "default", None).await;
    let name = login.as_str();
    one(&c, "select tenure.login_bind($1, p_principal => 'pam')", &[&name]).await;
    one(&c, "select tenure.principal_create($1, 'human')", &[&name]).await;
    set(&c, name, json!({"approver_level": 3})).await;
    let asked = ask_over(&eve, "of eve").await;
    assert_eq!(
        one(&eve, "select tenure.login_unbind($1)", &[&name]).await["unbound"],
        true
    );
    let answer = decide_over(&session, &asked, "approve").await;
    refused(&answer, "self_approval");
    assert!(
        answer["why"].as_str().expect("text").contains("bound the login"),
        "{answer}"
    );
    one(&c, "select tenure.login_bind($1)", &[&name]).await;
    assert_eq!(
        decide_over(&session, &asked, "approve").await["execution_state"],
        "running"
    );
    check_executions(&c).await;
}

/// Proves: S185.
#[tokio::test]
async fn who_changed_a_principal_and_that_principal_fill_one_place_of_a_quorum() {
    let (db, c) = people().await;
    rule(&c, "two", json!({"level": 1, "quorum": 2})).await;
    run(&c, "reset tenure.principal").await;
    let (_, ada) = login_of(&db, &c, "ada").await;
    let (_, bob) = login_of(&db, &c, "bob").await;
    assert_eq!(
        set(&ada, "bob", json!({"approver_level": 3})).await["makers"],
        json!(["ada"])
    );
    let asked = ask_change(&c).await;
    assert_eq!(decide_over(&ada, &asked, "approve").await["state"], "pending");
    let before = snapshot(&c).await;
    refused(&decide_over(&bob, &asked, "approve").await, "approval_decided");
    assert_eq!(snapshot(&c).await, before);
    assert_eq!(
        decide(&c, "cyd", &asked, "approve", "").await["execution_state"],
        "running"
    );
    check_executions(&c).await;
}
