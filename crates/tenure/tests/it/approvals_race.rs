//! Real sessions that decide about one plan at the same moment, against each other, the clock, whoever asked and whoever cancels: one wins.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{
    Asked, act, approval_of, ask, check_executions, people, plan, rule, state_of, story, tick, told,
};
use crate::fixture::{Db, all, check_invariants, get, one, refused, run, until_blocked};

/// How often two race for the same thing: enough for each to win sometimes.
pub(crate) const ROUNDS: usize = 12;

/// Sessions of their own, each acting as one of these.
pub(crate) async fn sessions(db: &Db, names: &[&str]) -> Vec<Client> {
    let mut found = Vec::new();
    for name in names {
        let client = db.direct().await;
        act(&client, name).await;
        found.push(client);
    }
    found
}

const APPROVE: &str = "select tenure.approval_decide($1, 'approve', $2)";

async fn vote(c: &Client, sql: &str, asked: &Asked) -> Value {
    one(c, sql, &[&asked.approval, &asked.hash.as_str()]).await
}

pub(crate) async fn approve(c: &Client, asked: &Asked) -> Value {
    vote(c, APPROVE, asked).await
}

/// Calls a function about one execution.
pub(crate) async fn about(c: &Client, sql: &str, execution: Uuid) -> Value {
    one(c, sql, &[&execution]).await
}

/// Ends of the story that exclude each other: exactly one of these is in it, once.
pub(crate) async fn one_end(c: &Client, execution: Uuid, kinds: &[&str]) -> String {
    let story = story(c, execution).await;
    let ends: Vec<&String> = story.iter().filter(|it| kinds.contains(&it.as_str())).collect();
    assert_eq!(ends.len(), 1, "one end: {story:?}");
    ends[0].clone()
}

/// Proves: S213.
#[tokio::test]
async fn racing_approvers_reach_the_quorum_exactly_once() {
    let (db, c) = people().await;
    const VOTERS: usize = 8;
    const QUORUM: i64 = 5;
    rule(&c, "five", json!({"level": 1, "quorum": QUORUM})).await;
    act(&c, "pam").await;
    let names: Vec<String> = (0..VOTERS).map(|n| format!("voter {n}")).collect();
    for name in &names {
        one(&c, "select tenure.principal_create($1, 'human')", &[&name.as_str()]).await;
        one(
            &c,
            "select tenure.principal_set($1, '{\"approver_level\": 1}')",
            &[&name.as_str()],
        )
        .await;
    }
    // Everybody twice: from two places at once.
    let twice: Vec<&str> = names.iter().chain(&names).map(String::as_str).collect();
    let voters = sessions(&db, &twice).await;
    for round in 0..4 {
        let asked = ask(&c, &plan(&format!("p{round}"), &["a modify"])).await;
        let answers = all(voters.iter().map(|it| approve(it, &asked)).collect()).await;
        let counted = answers.iter().filter(|it| it["refused"] != true).count() as i64;
        assert_eq!(counted, QUORUM, "{answers:?}");
        let decided = answers.iter().filter(|it| it["state"] == "approved").count();
        assert_eq!(decided, 1, "one of them was the last: {answers:?}");
        for answer in answers.iter().filter(|it| it["refused"] == true) {
            assert_eq!(answer["code"], "approval_decided", "{answer}");
        }
        assert_eq!(told(&c, asked.execution, "approval_vote").await as i64, QUORUM);
        assert_eq!(told(&c, asked.execution, "execution_started").await, 1);
        let jobs: i64 = get(
            &c,
            "select count(*) from tenure.jobs where workflow_id = $1",
            &[&asked.execution],
        )
        .await;
        assert_eq!(jobs, 1);
    }
    check_executions(&c).await;
}

/// Approvers against those who refuse: the first decision stands.
#[tokio::test]
async fn approve_against_reject_has_one_outcome() {
    let (db, c) = people().await;
    let voters = sessions(&db, &["ada", "bob"]).await;
    for round in 0..ROUNDS {
        let asked = ask(&c, &plan(&format!("p{round}"), &["a modify"])).await;
        let reject = vote(
            &voters[1],
            "select tenure.approval_decide($1, 'reject', $2, 'no')",
            &asked,
        );
        let (yes, no) = tokio::join!(approve(&voters[0], &asked), reject);
        assert_eq!(
            [&yes, &no].iter().filter(|it| it["refused"] == true).count(),
            1,
            "{yes} {no}"
        );
        one_end(&c, asked.execution, &["approval_approved", "approval_rejected"]).await;
    }
    check_executions(&c).await;
}

#[tokio::test]
async fn approve_against_expire_has_one_outcome() {
    let (db, c) = people().await;
    let voters = sessions(&db, &["ada"]).await;
    for round in 0..ROUNDS {
        let asked = ask(&c, &plan(&format!("p{round}"), &["a modify"])).await;
        // The moment of the expiry comes while they race: the clock stands shortly before it, and goes on.
        run(
            &c,
            &format!(
                "update fixture.clock set shift = (select a.expires_at - clock_timestamp() - interval '{} ms' from tenure.approvals a where a.approval_id = '{}')",
                round * 2,
                asked.approval
            ),
        )
        .await;
        let expire = async {
            while approval_of(&c, asked.execution).await == "pending" {
                tick(&c).await;
            }
        };
        let (vote, ()) = tokio::join!(approve(&voters[0], &asked), expire);
        let end = one_end(&c, asked.execution, &["approval_approved", "approval_expired"]).await;
        assert_eq!(end == "approval_approved", vote["refused"] != true, "{vote}");
        if vote["refused"] == true {
            refused(&vote, "approval_expired");
            assert_eq!(state_of(&c, asked.execution).await, "cancelled");
        }
    }
    check_executions(&c).await;
}

/// Both orders on purpose, then as it comes.
#[tokio::test]
async fn approve_against_cancel_has_one_outcome() {
    let (db, c) = people().await;
    let both = sessions(&db, &["ada", "bob"]).await;
    let cancel = "select tenure.execution_cancel($1, 'stop')";
    for (first, state) in [("approve", "running"), ("cancel", "cancelled")] {
        let asked = ask(&c, &plan(first, &["a modify"])).await;
        run(&both[0], "begin").await;
        let early = if first == "approve" {
            approve(&both[0], &asked).await
        } else {
            about(&both[0], cancel, asked.execution).await
        };
        assert_ne!(early["refused"], true, "{early}");
        let late = async {
            if first == "approve" {
                about(&both[1], cancel, asked.execution).await
            } else {
                approve(&both[1], &asked).await
            }
        };
        let release = async {
            until_blocked(
                &c,
                if first == "approve" {
                    "execution_cancel"
                } else {
                    "approval_decide"
                },
            )
            .await;
            assert_eq!(
                state_of(&c, asked.execution).await,
                "awaiting_approval",
                "nothing is seen before it is done"
            );
            run(&both[0], "commit").await;
        };
        let (answer, ()) = tokio::join!(late, release);
        if first == "approve" {
            // It had started: its job is taken back, and it is cancelled all the same.
            assert_eq!(answer["state"], "cancelled", "{state}: {answer}");
            assert_eq!(told(&c, asked.execution, "execution_started").await, 1);
        } else {
            refused(&answer, "approval_decided");
            assert_eq!(told(&c, asked.execution, "execution_started").await, 0);
        }
        assert_eq!(state_of(&c, asked.execution).await, "cancelled");
    }
    for round in 0..ROUNDS {
        let asked = ask(&c, &plan(&format!("p{round}"), &["a modify"])).await;
        let (vote, stop) = tokio::join!(approve(&both[0], &asked), about(&both[1], cancel, asked.execution));
        assert_ne!(stop["refused"], true, "{stop}");
        assert_eq!(state_of(&c, asked.execution).await, "cancelled");
        one_end(&c, asked.execution, &["execution_cancelled"]).await;
        let started = told(&c, asked.execution, "execution_started").await;
        assert_eq!(started == 1, vote["refused"] != true, "{vote}");
    }
    check_executions(&c).await;
    check_invariants(&c).await;
}

#[tokio::test]
async fn approve_against_withdraw_has_one_outcome() {
    let (db, c) = people().await;
    let both = sessions(&db, &["ada", "eve"]).await;
    let withdraw = "select tenure.execution_withdraw($1, 'mine')";
    for round in 0..ROUNDS {
        let asked = ask(&c, &plan(&format!("p{round}"), &["a modify"])).await;
        let (vote, back) = tokio::join!(approve(&both[0], &asked), about(&both[1], withdraw, asked.execution));
        assert_eq!(
            [&vote, &back].iter().filter(|it| it["refused"] == true).count(),
            1,
            "{vote} {back}"
        );
        let end = one_end(&c, asked.execution, &["execution_started", "execution_cancelled"]).await;
        assert_eq!(end == "execution_started", vote["refused"] != true);
        assert_eq!(
            state_of(&c, asked.execution).await == "running",
            vote["refused"] != true
        );
    }
    check_executions(&c).await;
}

#[tokio::test]
async fn supersede_against_approve_has_one_outcome() {
    let (db, c) = people().await;
    let both = sessions(&db, &["ada", "eve"]).await;
    for round in 0..ROUNDS {
        let purpose = format!("p{round}");
        let asked = ask(&c, &plan(&purpose, &["a modify"])).await;
        let text = plan(&purpose, &["a modify", "b modify"]).to_string();
        let (vote, new) = tokio::join!(approve(&both[0], &asked), replace(&both[1], &text, asked.execution));
        assert_eq!(
            [&vote, &new].iter().filter(|it| it["refused"] == true).count(),
            1,
            "{vote} {new}"
        );
        if vote["refused"] == true {
            assert_eq!(vote["code"], "approval_decided");
            assert_eq!(state_of(&c, asked.execution).await, "cancelled");
            assert_eq!(
                new["state"], "awaiting_approval",
                "nobody has approved the new plan: {new}"
            );
        } else {
            assert_eq!(new["code"], "state_conflict", "{new}");
            assert_eq!(state_of(&c, asked.execution).await, "running");
        }
    }
    check_executions(&c).await;
}

/// Submits a plan in the place of an execution.
async fn replace(c: &Client, text: &str, execution: Uuid) -> Value {
    let sql = "select tenure.execution_submit($1, p_supersedes => $2)";
    one(c, sql, &[&text, &execution]).await
}
