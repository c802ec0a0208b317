//! The clock of an execution stands still while it waits for somebody, and for one stretch of time only once, however many it waits for.

use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::approvals_scene::{Asked, act, ask, check_executions, decide, people, plan, rule, tick, work};
use crate::fixture::{Claimed, Db, get, one, reap, rows, verb};

/// `a` and `b` are decided about one by one; `s` runs meanwhile, and once only. Answers what asked for, and `s` in hand, if it is there.
async fn under_way(steps: &[&str]) -> (Db, Client, Asked, Option<Claimed>) {
    let (db, c) = people().await;
    rule(&c, "careful", json!({"target_refs": ["* a", "* b"], "level": 3})).await;
    let mut text = plan("p", steps);
    let mut runs = false;
    for step in text["steps"].as_array_mut().expect("steps") {
        if step["id"] == "s" {
            step["effects"] = json!("once");
            runs = true;
        }
    }
    let asked = ask(&c, &text).await;
    decide(&c, "ada", &asked, "approve", "").await;
    let held = if runs { Some(work(&c).await) } else { None };
    (db, c, asked, held)
}

async fn approve(c: &Client, asked: &Asked, step: &str) {
    let sql = "select approval_id from tenure.approval_list($1) where step_id = $2";
    let step = Asked {
        execution: asked.execution,
        approval: get(c, sql, &[&asked.execution, &step]).await,
        hash: asked.hash.clone(),
    };
    let decided: Value = decide(c, "ada", &step, "approve", "").await;
    assert_eq!(decided["state"], "approved", "{decided}");
}

async fn resolve(c: &Client, asked: &Asked) {
    act(c, "pam").await;
    let sql = "select tenure.execution_resolve($1, 's', 'succeeded', 'somebody looked')";
    let said = one(c, sql, &[&asked.execution]).await;
    assert_eq!(said["step_state"], "succeeded", "{said}");
}

/// Asserts that the time was extended by just this stretch: an expression over `e`, the execution, and its waits `a`, `b` and `s`.
async fn stood(c: &Client, asked: &Asked, expected: &str) {
    let sql = format!(
        "select (e.timeout_at - e.started_at - make_interval(secs => e.timeout_ms / 1000.0))::text, ({expected})::text
           from tenure.execution_rows e
           left join tenure.step_rows sa on sa.execution_id = e.execution_id and sa.step_id = 'a'
           left join tenure.approvals a on a.execution_id = e.execution_id and a.step_number = sa.step_number
           left join tenure.step_rows sb on sb.execution_id = e.execution_id and sb.step_id = 'b'
           left join tenure.approvals b on b.execution_id = e.execution_id and b.step_number = sb.step_number
           left join tenure.execution_events s on s.execution_id = e.execution_id and s.kind = 'step_resolved'
          where e.execution_id = $1"
    );
    let row = rows(c, &sql, &[&asked.execution]).await.remove(0);
    assert_eq!(row.get::<_, String>(0), row.get::<_, String>(1), "{expected}");
    check_executions(c).await;
}

#[tokio::test]
async fn two_approvals_that_overlap_stop_the_clock_once_for_what_they_share() {
    let (db, c, asked, held) = under_way(&["s read", "a modify", "b modify s"]).await;
    db.advance("1 minute").await;
    verb(&c, "job_complete", &held.expect("s"), "").await;
    db.advance("1 minute").await;
    approve(&c, &asked, "a").await;
    db.advance("1 minute").await;
    approve(&c, &asked, "b").await;
    stood(&c, &asked, "b.decided_at - a.created_at").await;
}

#[tokio::test]
async fn an_approval_within_another_adds_nothing_to_its_time() {
    let (db, c, asked, held) = under_way(&["s read", "a modify", "b modify s"]).await;
    db.advance("1 minute").await;
    verb(&c, "job_complete", &held.expect("s"), "").await;
    db.advance("1 minute").await;
    approve(&c, &asked, "b").await;
    stood(&c, &asked, "b.decided_at - b.created_at").await;
    db.advance("1 minute").await;
    approve(&c, &asked, "a").await;
    stood(&c, &asked, "a.decided_at - a.created_at").await;
}

#[tokio::test]
async fn approvals_one_after_the_other_both_stop_the_clock() {
    let (db, c, asked, held) = under_way(&["s read", "a modify", "b modify s"]).await;
    db.advance("1 minute").await;
    approve(&c, &asked, "a").await;
    db.advance("1 minute").await;
    verb(&c, "job_complete", &held.expect("s"), "").await;
    db.advance("1 minute").await;
    approve(&c, &asked, "b").await;
    stood(
        &c,
        &asked,
        "a.decided_at - a.created_at + (b.decided_at - b.created_at)",
    )
    .await;
}

/// What passed before the start was no time of it.
#[tokio::test]
async fn a_clock_that_did_not_run_yet_does_not_stand_still() {
    let (db, c, asked, _) = under_way(&["a modify", "b modify"]).await;
    db.advance("1 minute").await;
    approve(&c, &asked, "a").await;
    db.advance("1 minute").await;
    approve(&c, &asked, "b").await;
    stood(&c, &asked, "b.decided_at - e.started_at").await;
}

#[tokio::test]
async fn an_approval_and_a_verdict_stop_the_clock_once_for_what_they_share() {
    for verdict_first in [true, false] {
        let (db, c, asked, held) = under_way(&["s read", "a modify"]).await;
        db.advance("1 minute").await;
        verb(&c, "job_release", &held.expect("s"), "").await;
        db.advance("1 minute").await;
        if verdict_first {
            resolve(&c, &asked).await;
            db.advance("1 minute").await;
            approve(&c, &asked, "a").await;
            stood(&c, &asked, "a.decided_at - a.created_at").await;
        } else {
            approve(&c, &asked, "a").await;
            db.advance("1 minute").await;
            resolve(&c, &asked).await;
            stood(&c, &asked, "s.at - a.created_at").await;
        }
    }
}

/// The first that expires stops the execution, which withdraws the second: neither is in the other's way, and nothing is looked at for ever.
#[tokio::test]
async fn approvals_of_two_steps_that_expire_at_the_same_time_stop_the_execution_once() {
    let (db, c, asked, held) = under_way(&["s read", "a modify", "b modify"]).await;
    db.advance("3 days").await;
    tick(&c).await;
    let states = "select array_agg(step_id || ' ' || state order by step_id) from tenure.step_list($1)";
    assert_eq!(
        get::<Vec<String>>(&c, states, &[&asked.execution]).await,
        ["a failed", "b skipped", "s running"]
    );
    let approvals = "select array_agg(state order by state) from tenure.approvals where execution_id = $1 and step_number is not null";
    assert_eq!(
        get::<Vec<String>>(&c, approvals, &[&asked.execution]).await,
        ["expired", "withdrawn"]
    );
    reap(&c).await;
    verb(&c, "job_release", &held.expect("s"), "").await;
    check_executions(&c).await;
}
