//! Real sessions that do to one execution at the same moment what excludes each other: one of them wins, and the story says which.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_race::{ROUNDS, about, one_end, sessions};
use crate::approvals_scene::{
    Asked, act, ask, check_executions, decide, id, people, plan, state_of, submit, tick, told, work, work_all,
};
use crate::fixture::{Claimed, Db, all, check_invariants, claim_with, get, one, reap, rows, verb};

/// Proves: S165, S176.
#[tokio::test]
async fn many_submissions_of_one_key_make_one_execution() {
    let (db, c) = people().await;
    let racers = sessions(&db, &["eve"; 8]).await;
    for (round, key) in ["", ", p_key => 'k'", ", p_key => 'l'"].iter().enumerate() {
        let text = plan(&format!("p{round}"), &["a read", "b read a"]).to_string();
        let sql = format!("select tenure.execution_submit($1{key})");
        let calls = racers.iter().map(async |it| one(it, &sql, &[&text]).await);
        let answers = all(calls.collect()).await;
        let made = answers.iter().filter(|it| it["duplicate"] == false).count();
        assert_eq!(made, 1, "{answers:?}");
        let ids: BTreeSet<Uuid> = answers.iter().map(|it| id(it, "execution_id")).collect();
        assert_eq!(ids.len(), 1, "{answers:?}");
    }
    // One key, two plans: one of them has it.
    let texts: Vec<String> = (0..8)
        .map(|n| plan(&format!("x{}", n % 2), &["a modify"]).to_string())
        .collect();
    let sql = "select tenure.execution_submit($1, 'm')";
    let calls = racers
        .iter()
        .zip(&texts)
        .map(async |(client, text)| one(client, sql, &[&text.as_str()]).await);
    let answers = all(calls.collect()).await;
    assert_eq!(answers.iter().filter(|it| it["duplicate"] == false).count(), 1);
    assert_eq!(
        answers.iter().filter(|it| it["code"] == "plan_differs").count(),
        4,
        "{answers:?}"
    );
    let executions: i64 = get(&c, "select count(*) from tenure.execution_rows", &[]).await;
    assert_eq!(executions, 4);
    check_executions(&c).await;
}

/// Approved, running, and its last step in the hands of a worker.
async fn last_step(c: &Client, purpose: &str) -> (Asked, Claimed) {
    let asked = ask(c, &plan(purpose, &["a modify"])).await;
    decide(c, "ada", &asked, "approve", "").await;
    (asked, work(c).await)
}

/// Proves: S215.
#[tokio::test]
async fn cancel_against_the_end_of_the_last_step_has_one_outcome() {
    let (db, c) = people().await;
    let both = sessions(&db, &["ada", "bob"]).await;
    for round in 0..ROUNDS {
        let (asked, held) = last_step(&c, &format!("p{round}")).await;
        let cancel = about(&both[0], "select tenure.execution_cancel($1, 'stop')", asked.execution);
        let (stop, done) = tokio::join!(cancel, verb(&both[1], "job_complete", &held, ""));
        assert_eq!(done["state"], "succeeded", "what was done is done: {done}");
        // An end that met the other's hold is followed up by the next tick.
        tick(&c).await;
        assert_eq!(state_of(&c, asked.execution).await, "succeeded", "{stop}");
        one_end(&c, asked.execution, &["execution_completed", "execution_cancelled"]).await;
        let reason: String = get(
            &c,
            "select reason_code from tenure.execution_rows where execution_id = $1",
            &[&asked.execution],
        )
        .await;
        assert_eq!(reason, "completed");
    }
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// Two steps that end at once, followed by one that needs both: it starts once.
/// Proves: S222.
/// Guards: D89.
#[tokio::test]
async fn ends_of_steps_at_the_same_moment_are_counted_each_and_what_needs_them_starts_once() {
    let (db, c) = people().await;
    let racers = sessions(&db, &["w"; 6]).await;
    for round in 0..6 {
        let steps = [
            "a read",
            "b read",
            "c read",
            "d read",
            "e read",
            "f read",
            "z read a b c d e f",
        ];
        let made = submit(&c, "eve", &plan(&format!("p{round}"), &steps), "").await;
        let held = claim_with(&c, "w", ", p_limit => 10, p_mode => 'started'").await;
        assert_eq!(held.len(), 6);
        let ends = racers
            .iter()
            .zip(&held)
            .map(async |(client, it)| verb(client, "job_complete", it, "").await);
        all(ends.collect()).await;
        tick(&c).await;
        let jobs = "select count(*) from tenure.jobs where workflow_id = $1";
        assert_eq!(get::<i64>(&c, jobs, &[&id(&made, "execution_id")]).await, 7);
        work_all(&c).await;
        tick(&c).await;
        let shown = one(&c, "select tenure.execution_show($1)", &[&id(&made, "execution_id")]).await;
        assert_eq!(
            (&shown["state"], &shown["counts"]["succeeded"]),
            (&json!("succeeded"), &json!(7)),
            "{shown}"
        );
    }
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// A step that may not come twice, whose worker was lost in the middle of it: nobody knows.
async fn unknown(db: &Db, c: &Client, purpose: &str) -> Uuid {
    let (asked, _) = last_step(c, purpose).await;
    db.advance("20 minutes").await;
    reap(c).await;
    let states: Vec<String> = rows(c, "select state from tenure.step_list($1)", &[&asked.execution])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(states, ["unknown"]);
    asked.execution
}

#[tokio::test]
async fn resolve_against_cancel_has_one_outcome() {
    let (db, c) = people().await;
    let both = sessions(&db, &["ada", "bob"]).await;
    for (round, verdict) in ["succeeded", "failed", "retry"].iter().cycle().take(ROUNDS).enumerate() {
        let execution = unknown(&db, &c, &format!("p{round}")).await;
        let cancel = "select tenure.execution_cancel($1, 'stop')";
        let (said, stop) = tokio::join!(
            one_verdict(&both[0], execution, verdict),
            about(&both[1], cancel, execution)
        );
        tick(&c).await;
        let state = state_of(&c, execution).await;
        match (*verdict, said["refused"] == true) {
            ("succeeded", false) => assert_eq!(state, "succeeded"),
            ("failed", false) if stop["refused"] == true => assert_eq!(state, "failed"),
            ("failed" | "retry", false) => assert_eq!(state, "cancelled", "{said} {stop}"),
            ("retry", true) => {
                assert_eq!(said["code"], "state_conflict", "{said}");
                assert_eq!(
                    state, "running",
                    "it stops, and waits for a verdict that is none to run it again"
                );
                assert_eq!(one_verdict(&both[0], execution, "failed").await["state"], "cancelled");
            }
            other => panic!("{other:?}: {said} {stop}"),
        }
        one_end(
            &c,
            execution,
            &["execution_completed", "execution_failed", "execution_cancelled"],
        )
        .await;
    }
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// Two verdicts at once: one counts.
#[tokio::test]
async fn two_verdicts_about_one_step_count_once() {
    let (db, c) = people().await;
    let both = sessions(&db, &["ada", "bob"]).await;
    for round in 0..6 {
        let execution = unknown(&db, &c, &format!("p{round}")).await;
        let (yes, no) = tokio::join!(
            one_verdict(&both[0], execution, "succeeded"),
            one_verdict(&both[1], execution, "failed")
        );
        assert_eq!(
            [&yes, &no].iter().filter(|it| it["code"] == "state_conflict").count(),
            1,
            "{yes} {no}"
        );
        one_end(&c, execution, &["execution_completed", "execution_failed"]).await;
        assert_eq!(told(&c, execution, "step_resolved").await, 1);
    }
    check_executions(&c).await;
}

async fn one_verdict(c: &Client, execution: Uuid, verdict: &str) -> Value {
    one(
        c,
        "select tenure.execution_resolve($1, 'a', $2, 'seen')",
        &[&execution, &verdict],
    )
    .await
}

/// The approval of a start is used by one start, however many try to start it.
#[tokio::test]
async fn many_ticks_and_an_unfreeze_at_once_start_an_execution_once() {
    let (db, c) = people().await;
    let servers = sessions(&db, &["server"; 6]).await;
    for round in 0..6 {
        act(&c, "pam").await;
        one(&c, "select tenure.execution_freeze('wait')", &[]).await;
        let asked = ask(&c, &plan(&format!("p{round}"), &["a modify"])).await;
        decide(&c, "ada", &asked, "approve", "").await;
        one(&c, "select tenure.execution_unfreeze('go')", &[]).await;
        all(servers.iter().map(tick).collect()).await;
        tick(&c).await;
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

/// Two who freeze, two who set a rule, at the same place and moment: nobody meets an error that is none of theirs.
#[tokio::test]
async fn freezes_and_rules_set_at_the_same_moment_come_one_after_the_other() {
    let (db, c) = people().await;
    let racers = sessions(&db, &["pam"; 6]).await;
    for round in 0..4 {
        let frozen = all(racers
            .iter()
            .map(|it| one(it, "select tenure.execution_freeze('now')", &[]))
            .collect())
        .await;
        assert!(frozen.iter().all(|it| it["frozen"] == true), "{frozen:?}");
        let names: Vec<String> = (0..racers.len()).map(|n| format!("r{round} {n}")).collect();
        let sql = "select tenure.approval_rule_set($1, '{\"level\": 1}')";
        let set = racers
            .iter()
            .zip(&names)
            .map(async |(client, name)| one(client, sql, &[&name.as_str()]).await);
        let set = all(set.collect()).await;
        assert!(set.iter().all(|it| it["refused"] != true), "{set:?}");
    }
    let force: i64 = get(&c, "select count(*) from tenure.freezes where ended_at is null", &[]).await;
    assert_eq!(force, 1);
    let places: i64 = get(
        &c,
        "select count(distinct position) from tenure.approval_rule_list()",
        &[],
    )
    .await;
    assert_eq!(places, 24);
}

/// Approved by one while another retries what it was: two executions, each with a decision of its own.
#[tokio::test]
async fn two_retries_of_one_execution_make_one_new_execution() {
    let (db, c) = people().await;
    let both = sessions(&db, &["ada", "bob"]).await;
    for round in 0..6 {
        let (asked, held) = last_step(&c, &format!("p{round}")).await;
        verb(&c, "job_fail", &held, ", 'broken', 'permanent'").await;
        let retry = "select tenure.execution_retry($1)";
        let (a, b) = tokio::join!(
            about(&both[0], retry, asked.execution),
            about(&both[1], retry, asked.execution)
        );
        assert_eq!(
            [&a, &b].iter().filter(|it| it["code"] == "already_replayed").count(),
            1,
            "{a} {b}"
        );
        assert_eq!(told(&c, asked.execution, "execution_retried").await, 1);
    }
    check_executions(&c).await;
}
