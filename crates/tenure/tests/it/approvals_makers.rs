//! By another identity nobody does what they may not do by their own: who makes keys and binds logins, and what follows for decisions.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{
    Asked, act, as_owner, ask_change, check_executions, people, plan, rule, snapshot, submit,
};
use crate::fixture::{Db, get, one, refused, rows, run};

/// Every role that a login can have in one tenant.
pub(crate) const EVERYTHING: [&str; 4] = ["tenure_admin", "tenure_operator", "tenure_approver", "tenure_requester"];

/// A login with every role, bound to this principal by whoever runs the installation.
pub(crate) async fn login_of(db: &Db, c: &Client, who: &str) -> (String, Client) {
    let (login, session) = db.login(&EVERYTHING, "default", None).await;
    let bound = one(
        c,
        "select tenure.login_bind($1, p_principal => $2)",
        &[&login.as_str(), &who],
    )
    .await;
    assert_eq!(bound["principal"], who, "{bound}");
    (login, session)
}

/// Asks for a change over this session.
pub(crate) async fn ask_over(session: &Client, purpose: &str) -> Asked {
    let text = plan(purpose, &["a modify"]).to_string();
    Asked::of(&one(session, "select tenure.execution_submit($1)", &[&text]).await)
}

pub(crate) async fn decide_over(session: &Client, asked: &Asked, decision: &str) -> Value {
    let sql = "select tenure.approval_decide($1, $2, $3, 'seen')";
    one(session, sql, &[&asked.approval, &decision, &asked.hash.as_str()]).await
}

/// Makes a key over this session, and answers its id.
pub(crate) async fn key_over(session: &Client, c: &Client, who: &str, roles: &str) -> Uuid {
    let prefix = Uuid::new_v4().simple().to_string();
    let sql = format!("select tenure.key_create($1, $2, sha256('s'), {roles})");
    let made = one(session, &sql, &[&who, &prefix.as_str()]).await;
    assert_eq!(made["principal"], who, "{made}");
    let sql = "select tenure.key_check($1, sha256('s'))";
    get(c, sql, &[&prefix.as_str()]).await
}

/// The server acts for this key from now on, until the transaction ends.
pub(crate) async fn begin_as(server: &Client, key: Uuid, function: &str) {
    run(server, "begin").await;
    let sql = "select tenure.act_for_key($1, $2, null, 'POST /v1/x 10.0.0.9')";
    rows(server, sql, &[&key, &function]).await;
}

/// Decides for a key.
pub(crate) async fn decide_by(server: &Client, key: Uuid, asked: &Asked, decision: &str) -> Value {
    begin_as(server, key, "approval_decide").await;
    let answer = decide_over(server, asked, decision).await;
    run(server, "commit").await;
    answer
}

/// Who stood behind what the only vote came by.
pub(crate) async fn auth_makers(c: &Client, asked: &Asked) -> Vec<String> {
    let sql = "select auth_makers from tenure.approval_votes_of($1)";
    get(c, sql, &[&asked.approval]).await
}

/// Asserts that this was refused because of who made what it came by.
#[track_caller]
pub(crate) fn of_their_making(answer: &Value, who: &str, done: &str) {
    refused(answer, "self_approval");
    let text = |part: &str| answer[part].as_str().expect("text").to_owned();
    assert!(
        text("what").starts_with(&format!("{who} requested this plan, and stands behind the ")),
        "{answer}"
    );
    assert!(text("why").contains(done), "{answer}");
    assert!(text("next").contains("anew"), "{answer}");
}

/// Who may act as whom, as one text: what a refusal must leave as it was.
async fn identities(c: &Client) -> String {
    let sql = "select (select string_agg(l::text, '|' order by l.login) from tenure.logins l) || (select string_agg(p::text, '|' order by p.name) from tenure.principals p)
                 || coalesce((select string_agg(k::text, '|' order by k.prefix) from tenure.keys k), '')";
    get(c, sql, &[]).await
}

/// As admin of its tenant it could be anybody, and then approve.
/// Proves: S185.
#[tokio::test]
async fn an_agent_with_all_rights_makes_no_other_identity_by_which_it_would_approve() {
    let (db, c) = people().await;
    run(&c, "reset tenure.principal").await;
    let (login, bot) = login_of(&db, &c, "bot").await;
    let asked = ask_over(&bot, "of a bot").await;
    let (before, known) = (snapshot(&c).await, identities(&c).await);
    for sql in [
        "select tenure.key_create('bob', 'ofabot11', sha256('s'), array['approver'], 3)".to_owned(),
        "select tenure.key_create('bob', 'ofabot11', sha256('s'), array['admin'])".to_owned(),
        "select tenure.key_create('bot', 'ofabot11', sha256('s'), array['viewer'])".to_owned(),
        "select tenure.principal_create('a person', 'human')".to_owned(),
        format!("select tenure.login_bind('{login}', null, 'bob')"),
        "select tenure.login_bind('another', null, 'bob')".to_owned(),
        format!("select tenure.login_unbind('{login}')"),
    ] {
        let answer = one(&bot, &sql, &[]).await;
        refused(&answer, "not_permitted");
        assert_eq!(answer["what"], "bot is an agent.", "{sql}");
    }
    refused(&decide_over(&bot, &asked, "approve").await, "self_approval");
    assert_eq!(snapshot(&c).await, before);
    assert_eq!(identities(&c).await, known);
    act(&c, "pam").await;
    check_executions(&c).await;
}

/// Whoever says as whom they act could decide about their own plans.
/// Proves: S185.
#[tokio::test]
async fn an_admin_binds_no_login_of_their_own_to_somebody_else_and_unbinds_none() {
    let (db, c) = people().await;
    run(&c, "reset tenure.principal").await;
    let (login, eve) = login_of(&db, &c, "eve").await;
    let (_, server) = db.login(&["tenure_server"], "default", None).await;
    let asked = ask_over(&eve, "of eve").await;
    let key = key_over(&c, &c, "eve", "array['admin']").await;
    let (before, known) = (snapshot(&c).await, identities(&c).await);
    let ways = [
        (
            "login_bind",
            format!("select tenure.login_bind('{login}', null, 'ada')"),
        ),
        ("login_bind", format!("select tenure.login_bind('{login}')")),
        ("login_unbind", format!("select tenure.login_unbind('{login}')")),
    ];
    for (function, sql) in &ways {
        refused(&one(&eve, sql, &[]).await, "not_permitted");
        // It is her login as well when she comes by a key.
        begin_as(&server, key, function).await;
        let answer = one(&server, sql, &[]).await;
        run(&server, "commit").await;
        refused(&answer, "not_permitted");
        assert!(answer["what"].as_str().expect("text").contains("your own"), "{answer}");
    }
    refused(&decide_over(&eve, &asked, "approve").await, "self_approval");
    assert_eq!(snapshot(&c).await, before);
    assert_eq!(identities(&c).await, known);
    // What she drives is hers to say; and as whom she acts, another's.
    let same = format!("select tenure.login_bind('{login}', null, 'eve', p_kinds => array['a'])");
    assert_eq!(one(&eve, &same, &[]).await["principal"], "eve");
    let (_, pam) = login_of(&db, &c, "pam").await;
    assert_eq!(one(&pam, &ways[0].1, &[]).await["principal"], "ada");
}

/// It could be they who use it: of a person who is made up, of one who is there, or over a third.
/// Proves: S185.
#[tokio::test]
async fn nobody_decides_by_a_key_that_who_requested_the_plan_has_made() {
    let (db, c) = people().await;
    run(&c, "reset tenure.principal").await;
    let (_, eve) = login_of(&db, &c, "eve").await;
    let (_, pam) = login_of(&db, &c, "pam").await;
    let (_, server) = db.login(&["tenure_server"], "default", None).await;
    let approver = "array['approver'], 3";
    one(&eve, "select tenure.principal_create('mallory', 'human')", &[]).await;
    let made_up = key_over(&eve, &c, "mallory", approver).await;
    let there = key_over(&eve, &c, "bob", approver).await;
    let admin = key_over(&eve, &c, "mallory", "array['admin']").await;
    begin_as(&server, admin, "key_create").await;
    let over_a_third = key_over(&server, &server, "bob", approver).await;
    run(&server, "commit").await;
    let asked = ask_over(&eve, "of eve").await;
    act(&c, "pam").await;
    let for_eve = Asked::of(&submit(&c, "pam", &plan("for eve", &["a modify"]), ", p_on_behalf_of => 'eve'").await);
    let before = snapshot(&c).await;
    for asked in [&asked, &for_eve] {
        for key in [made_up, there, over_a_third] {
            for decision in ["approve", "reject"] {
                let answer = decide_by(&server, key, asked, decision).await;
                of_their_making(&answer, "eve", "They made the key");
            }
        }
    }
    assert_eq!(snapshot(&c).await, before);
    // Made anew by another it counts, and the vote says by whom.
    let anew = key_over(&pam, &c, "bob", approver).await;
    let answer = decide_by(&server, anew, &asked, "approve").await;
    assert_eq!(answer["execution_state"], "running", "{answer}");
    assert_eq!(auth_makers(&c, &asked).await, ["pam"]);
    let evidence: i64 = get(
        &c,
        "select count(*) from tenure.execution_evidence($1) e where e.line::jsonb ->> 'kind' = 'vote' and e.line::jsonb -> 'auth_makers' = '[\"pam\"]'",
        &[&asked.execution],
    )
    .await;
    assert_eq!(evidence, 1, "and so does the evidence");
    // A plan of somebody else is nothing to who made the key.
    let other = Asked::of(&submit(&c, "cyd", &plan("of cyd", &["a modify"]), "").await);
    let answer = decide_by(&server, over_a_third, &other, "approve").await;
    assert_eq!(answer["execution_state"], "running", "{answer}");
    assert_eq!(auth_makers(&c, &other).await, ["eve", "mallory"]);
    let listed = "select count(*) from tenure.key_list() k where k.makers = array['eve', 'mallory']";
    assert_eq!(get::<i64>(&c, listed, &[]).await, 1, "the list says so beforehand");
    check_executions(&c).await;
}

/// Proves: S185.
#[tokio::test]
async fn nobody_decides_by_a_login_that_who_requested_the_plan_has_bound() {
    let (db, c) = people().await;
    run(&c, "reset tenure.principal").await;
    let (_, eve) = login_of(&db, &c, "eve").await;
    let (spare, session) = db.login(&EVERYTHING, "default", None).await;
    let asked = ask_over(&eve, "of eve").await;
    let bind = "select tenure.login_bind($1, p_principal => 'bob')";
    assert_eq!(one(&eve, bind, &[&spare.as_str()]).await["principal"], "bob");
    let before = snapshot(&c).await;
    for decision in ["approve", "reject"] {
        let answer = decide_over(&session, &asked, decision).await;
        of_their_making(&answer, "eve", "bound the login");
    }
    assert_eq!(snapshot(&c).await, before);
    // The tables know it too.
    let vote = format!(
        "insert into tenure.approval_votes (approval_id, principal, tenant_id, decision, plan_hash, auth_method, auth_makers, level, at)
         values ('{}', 'bob', 1, 'approve', '{}', 'x', array['pam', 'eve'], 1, now())",
        asked.approval, asked.hash
    );
    assert!(as_owner(&c, &vote).await.starts_with("TN014"));
    // Whoever runs the installation binds it anew: then it is bob's.
    assert_eq!(one(&c, bind, &[&spare.as_str()]).await["principal"], "bob");
    let answer = decide_over(&session, &asked, "approve").await;
    assert_eq!(answer["execution_state"], "running", "{answer}");
    assert!(auth_makers(&c, &asked).await.is_empty());
    check_executions(&c).await;
}

/// They could act as anybody, and need neither key nor binding for that: what they make is nobody's making.
#[tokio::test]
async fn a_trusted_login_is_no_person_and_what_it_makes_decides_about_what_it_asked_for() {
    let (db, c) = people().await;
    run(&c, "reset tenure.principal").await;
    let (_, server) = db.login(&["tenure_server"], "default", None).await;
    let key = key_over(&c, &c, "bob", "array['approver'], 3").await;
    let asked = ask_over(&c, "of the installation").await;
    let answer = decide_by(&server, key, &asked, "approve").await;
    assert_eq!(answer["execution_state"], "running", "{answer}");
    // One that says for whom it acts does it as that person.
    act(&c, "eve").await;
    let key = key_over(&c, &c, "bob", "array['approver'], 3").await;
    let asked = ask_change(&c).await;
    of_their_making(
        &decide_by(&server, key, &asked, "approve").await,
        "eve",
        "They made the key",
    );
    // And decides as anybody.
    act(&c, "ada").await;
    let answer = decide_over(&c, &asked, "approve").await;
    assert_eq!(answer["execution_state"], "running", "{answer}");
    check_executions(&c).await;
}

/// Who makes a key has seen it, and may be who uses it: by a key that one made for the other, or on behalf of one, two are one.
/// Proves: S185.
#[tokio::test]
async fn nobody_fills_a_quorum_by_an_identity_of_their_own_making() {
    let (db, c) = people().await;
    rule(&c, "two", json!({"level": 1, "quorum": 2})).await;
    let (_, server) = db.login(&["tenure_server"], "default", None).await;
    let (_, ada) = login_of(&db, &c, "ada").await;
    let approver = "array['approver'], 3";
    let of_bob = key_over(&ada, &c, "bob", approver).await;
    let own = async |asked: &Asked| decide_over(&ada, asked, "approve").await;
    let first = ask_change(&c).await;
    assert_eq!(own(&first).await["state"], "pending");
    let before = snapshot(&c).await;
    let answer = decide_by(&server, of_bob, &first, "approve").await;
    refused(&answer, "approval_decided");
    assert!(
        answer["what"].as_str().expect("text").contains("stands behind"),
        "{answer}"
    );
    assert_eq!(snapshot(&c).await, before);
    // Nor the other way round, nor as whoever owns the tables.
    let second = Asked::of(&submit(&c, "eve", &plan("second", &["a modify"]), "").await);
    assert_eq!(decide_by(&server, of_bob, &second, "approve").await["state"], "pending");
    refused(&own(&second).await, "approval_decided");
    let vote = format!(
        "insert into tenure.approval_votes (approval_id, principal, tenant_id, decision, plan_hash, auth_method, level, at)
         values ('{}', 'ada', 1, 'approve', '{}', 'x', 3, now())",
        second.approval, second.hash
    );
    assert!(as_owner(&c, &vote).await.starts_with("TN014"));
    // For somebody who has decided already nobody else decides.
    act(&c, "cyd").await;
    let for_bob = "select tenure.approval_decide($1, 'approve', $2, 'seen', 'bob')";
    let answer = one(&c, for_bob, &[&second.approval, &second.hash.as_str()]).await;
    refused(&answer, "approval_decided");
    // A rejection needs nobody else; and who has a key from nobody counts beside ada.
    assert_eq!(decide_by(&server, of_bob, &first, "reject").await["state"], "rejected");
    run(&c, "reset tenure.principal").await;
    let anew = key_over(&c, &c, "bob", approver).await;
    let third = Asked::of(&submit(&c, "eve", &plan("third", &["a modify"]), "").await);
    assert_eq!(own(&third).await["state"], "pending");
    assert_eq!(decide_by(&server, anew, &third, "approve").await["state"], "approved");
    check_executions(&c).await;
}
