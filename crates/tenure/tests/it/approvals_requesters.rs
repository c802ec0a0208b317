//! Who stands behind an execution is written down with it: an archive takes no one out of it.

use serde_json::{Value, json};
use tenure::services::archive;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{
    Asked, act, as_owner, ask_change, check_executions, decide, id, people, plan, snapshot, submit,
};
use crate::fixture::{get, one, refused, run};

/// Cancels what was asked for, and asks for it again as somebody else.
async fn retried(c: &Client, asked: &Asked, who: &str, more: &str) -> Asked {
    cancel(c, asked).await;
    retry(c, asked, who, more).await
}

async fn cancel(c: &Client, asked: &Asked) {
    act(c, "pam").await;
    let sql = "select tenure.execution_cancel($1, 'not now')";
    let cancelled = one(c, sql, &[&asked.execution]).await;
    assert_eq!(cancelled["state"], "cancelled", "{cancelled}");
}

async fn retry(c: &Client, asked: &Asked, who: &str, more: &str) -> Asked {
    act(c, who).await;
    let sql = format!("select tenure.execution_retry($1{more})");
    Asked::of(&one(c, &sql, &[&asked.execution]).await)
}

/// Puts what is due into the archive, and asserts that it was so many.
async fn archived(c: &mut Client, count: usize) {
    let counts = archive::run_once(c).await.expect("a look");
    assert_eq!((counts.archived, counts.doubtful), (count, 0));
}

async fn requesters(c: &Client, execution: Uuid) -> Vec<String> {
    let sql = "select requesters from tenure.execution_rows where execution_id = $1";
    get(c, sql, &[&execution]).await
}

/// Her execution is over for nearly ninety days when another retries it; a day later its rows are gone.
/// Proves: S185.
#[tokio::test]
async fn who_asked_first_approves_no_retry_though_the_first_is_archived() {
    let (db, mut c) = people().await;
    let first = ask_change(&c).await;
    cancel(&c, &first).await;
    db.advance("89 days 12 hours").await;
    let second = retry(&c, &first, "bob", ", p_on_behalf_of => 'cyd'").await;
    db.advance("13 hours").await;
    archived(&mut c, 1).await;
    for who in ["eve", "bob", "cyd"] {
        refused(&decide(&c, who, &second, "approve", "").await, "self_approval");
    }
    // Nor the retry of the retry.
    let third = retried(&c, &second, "ada", "").await;
    for who in ["eve", "bob", "cyd", "ada"] {
        refused(&decide(&c, who, &third, "approve", "").await, "self_approval");
    }
    assert_eq!(requesters(&c, third.execution).await, ["ada", "bob", "cyd", "eve"]);
    let other = of_others(&c).await;
    assert_eq!(decide(&c, "eve", &other, "approve", "").await["state"], "approved");
    check_executions(&c).await;
}

/// A plan with which eve has nothing to do.
async fn of_others(c: &Client) -> Asked {
    let asked = Asked::of(&submit(c, "pam", &plan("of others", &["a modify"]), "").await);
    retried(c, &asked, "bob", "").await
}

/// Whoever owns the tables passes every grant, and still casts no vote for who asked.
/// Proves: S185. Guards: D104.
#[tokio::test]
async fn the_table_of_votes_refuses_whoever_stands_behind_a_retry() {
    let (_db, c) = people().await;
    let first = ask_change(&c).await;
    let second = retried(&c, &first, "bob", "").await;
    let vote = |who: &str, on_behalf_of: &str| {
        format!(
            "insert into tenure.approval_votes (approval_id, principal, tenant_id, decision, plan_hash, auth_method, level, on_behalf_of, at)
             values ('{}', '{who}', 1, 'approve', '{}', 'x', 1, {on_behalf_of}, now())",
            second.approval, second.hash
        )
    };
    for (who, on_behalf_of) in [("eve", "null"), ("bob", "null"), ("ada", "'eve'")] {
        let refusal = as_owner(&c, &vote(who, on_behalf_of)).await;
        assert!(refusal.starts_with("TN014"), "{who}: {refusal}");
    }
    run(&c, "begin; set local role tenure_owner").await;
    run(&c, &vote("ada", "null")).await;
    run(&c, "rollback").await;
}

/// Nobody is taken out of it, and nobody who asked is missing from the start.
/// Guards: D104.
#[tokio::test]
async fn who_stands_behind_an_execution_does_not_change() {
    let (_db, c) = people().await;
    let asked = Asked::of(&submit(&c, "eve", &plan("p", &["a modify"]), ", p_on_behalf_of => 'ada'").await);
    assert_eq!(requesters(&c, asked.execution).await, ["ada", "eve"]);
    let before = snapshot(&c).await;
    for change in [
        "update tenure.executions set requesters = '{}'",
        "update tenure.executions set requesters = array['ada', 'eve', 'x']",
        "update tenure.executions set on_behalf_of = 'x'",
    ] {
        let refusal = as_owner(&c, change).await;
        let known = ["TN014", "23514"].iter().any(|code| refusal.starts_with(code));
        assert!(known, "{change}: {refusal}");
    }
    assert_eq!(snapshot(&c).await, before);
    let shown: Value = one(&c, "select tenure.execution_show($1)", &[&asked.execution]).await;
    assert_eq!(shown["requesters"], json!(["ada", "eve"]), "{shown}");
    assert_eq!(id(&shown, "execution_id"), asked.execution);
}
