//! Decisions of whoever comes by a key: the same four eyes, and no more than the key allows.

use serde_json::Value;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{Asked, act, ask, ask_change, check_executions, id, people, plan};
use crate::fixture::{get, one, raised, refused, rows, run, try_rows};

/// Makes a key of a principal and answers its id.
async fn key(c: &Client, who: &str, roles: &[&str], level: Option<i32>) -> Uuid {
    let prefix = format!("key{}", Uuid::new_v4().simple());
    let prefix = &prefix[..12];
    act(c, "pam").await;
    let roles: Vec<String> = roles.iter().map(|it| (*it).to_owned()).collect();
    let made = one(
        c,
        "select tenure.key_create($1, $2, sha256('secret'), $3, $4)",
        &[&who, &prefix, &roles, &level],
    )
    .await;
    assert_eq!(made["prefix"], prefix, "{made}");
    get(c, "select tenure.key_check($1, sha256('secret'))", &[&prefix]).await
}

/// Calls a function for a key, as a server does: one transaction, named by the request.
async fn for_key(server: &Client, key: Uuid, function: &str, sql: &str, asked: &Asked) -> Value {
    run(server, "begin").await;
    rows(
        server,
        "select tenure.act_for_key($1, $2, null, 'POST /v1/x 10.0.0.9')",
        &[&key, &function],
    )
    .await;
    let answer = one(server, sql, &[&asked.approval, &asked.hash.as_str()]).await;
    run(server, "commit").await;
    answer
}

/// The same four eyes for whoever comes over HTTP; and the level is that of the key.
/// Proves: S185.
#[tokio::test]
async fn a_key_decides_as_its_principal_and_up_to_its_own_level() {
    let (db, c) = people().await;
    let (_, server) = db.login(&["tenure_server"], "default", None).await;
    let vote = "select tenure.approval_decide($1, 'approve', $2)";
    let eves = key(&c, "eve", &["requester", "approver", "admin"], Some(3)).await;
    let adas = key(&c, "ada", &["approver"], Some(1)).await;
    let pams = key(&c, "pam", &["approver"], Some(2)).await;
    let admins = key(&c, "bob", &["admin", "operator"], None).await;

    run(&server, "begin").await;
    rows(
        &server,
        "select tenure.act_for_key($1, 'execution_submit', null, 'POST /v1/executions 10.0.0.8')",
        &[&eves],
    )
    .await;
    let text = plan("over http", &["a deploy"]).to_string();
    let asked = Asked::of(&one(&server, "select tenure.execution_submit($1)", &[&text]).await);
    run(&server, "commit").await;
    refused(
        &for_key(&server, eves, "approval_decide", vote, &asked).await,
        "self_approval",
    );
    refused(
        &for_key(&server, adas, "approval_decide", vote, &asked).await,
        "not_permitted",
    );
    run(&server, "begin").await;
    raised(
        try_rows(
            &server,
            "select tenure.act_for_key($1, 'approval_decide', null, 'x')",
            &[&admins],
        )
        .await,
        "not_permitted",
    );
    run(&server, "rollback").await;
    // Pam has no level as a login, but her key has.
    let decided = for_key(&server, pams, "approval_decide", vote, &asked).await;
    assert_eq!(decided["execution_state"], "running", "{decided}");
    let proof = rows(
        &c,
        "select auth_method, source, level from tenure.approval_votes_of($1)",
        &[&asked.approval],
    )
    .await
    .remove(0);
    assert!(proof.get::<_, String>(0).starts_with("api_key key"), "by a key");
    assert_eq!(proof.get::<_, String>(1), "POST /v1/x 10.0.0.9");
    assert_eq!(proof.get::<_, i32>(2), 2);
    let via: String = get(
        &c,
        "select via from tenure.execution_rows where execution_id = $1",
        &[&asked.execution],
    )
    .await;
    assert_eq!(via, "POST /v1/executions 10.0.0.8");
    check_executions(&c).await;
}

/// Settings are believed only of whoever is trusted to act for a key.
#[tokio::test]
async fn naming_a_key_gives_a_login_neither_its_level_nor_its_proof() {
    let (db, c) = people().await;
    let strong = key(&c, "ada", &["approver"], Some(3)).await;
    let (login, session) = db
        .login(&["tenure_approver", "tenure_requester"], "default", None)
        .await;
    act(&c, "pam").await;
    one(&c, "select tenure.principal_create($1, 'human')", &[&login.as_str()]).await;
    one(
        &c,
        "select tenure.principal_set($1, '{\"approver_level\": 1}')",
        &[&login.as_str()],
    )
    .await;
    let vote = "select tenure.approval_decide($1, 'approve', $2)";
    let forge =
        format!("set tenure.key = '{strong}'; set tenure.via = 'POST /x 10.0.0.1'; set tenure.principal = 'ada'");
    run(&session, &forge).await;
    let high = ask(&c, &plan("deploy", &["a deploy"])).await;
    refused(
        &one(&session, vote, &[&high.approval, &high.hash.as_str()]).await,
        "not_permitted",
    );
    let low = ask_change(&c).await;
    one(&session, vote, &[&low.approval, &low.hash.as_str()]).await;
    let proof = rows(
        &c,
        "select principal, auth_method, source, level from tenure.approval_votes_of($1)",
        &[&low.approval],
    )
    .await
    .remove(0);
    assert_eq!(proof.get::<_, String>(0), login);
    assert_eq!(proof.get::<_, String>(1), format!("login {login}"));
    assert!(!proof.get::<_, String>(2).contains("POST"));
    assert_eq!(proof.get::<_, i32>(3), 1);
    let own = one(
        &session,
        "select tenure.execution_submit($1)",
        &[&plan("forged", &["a modify"]).to_string()],
    )
    .await;
    let via: Option<String> = get(
        &c,
        "select via from tenure.execution_rows where execution_id = $1",
        &[&id(&own, "execution_id")],
    )
    .await;
    assert_eq!(via, None);
}

#[tokio::test]
async fn the_list_of_principals_says_who_approves_up_to_which_level_and_as_what() {
    let (_db, c) = people().await;
    let sql = "select string_agg(concat_ws(' ', p.name, p.approver_level, p.approval_roles), ', ' order by p.name) from tenure.principal_list() p";
    let listed: String = get(&c, sql, &[]).await;
    assert_eq!(
        listed,
        "ada 3 {dba}, bob 2 {release}, bot {}, cyd 1 {}, eve 3 {dba,release}, pam {}"
    );
}

#[tokio::test]
async fn the_story_of_a_vote_says_for_whom_it_was_given() {
    let (_db, c) = people().await;
    let asked = ask_change(&c).await;
    act(&c, "cyd").await;
    let sql = "select tenure.approval_decide($1, 'approve', $2, 'seen', 'ada')";
    let answer = one(&c, sql, &[&asked.approval, &asked.hash.as_str()]).await;
    assert_eq!(answer["state"], "approved", "{answer}");
    let whom = "select data ->> 'on_behalf_of' from tenure.execution_timeline($1) where kind = 'approval_vote'";
    assert_eq!(get::<String>(&c, whom, &[&asked.execution]).await, "ada");
    check_executions(&c).await;
}
