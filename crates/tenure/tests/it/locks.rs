//! Locks on targets: one holder at a time, in the order of the line, whoever comes, goes or is taken away.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_race::sessions;
use crate::approvals_scene::{act, check_executions, id, people, plan, state_of, submit, tick, work, work_all};
use crate::fixture::{all, check_invariants, claim_with, get, one, raised, reap, refused, rows, run, try_rows, verb};

/// A plan of one step at this target, which goes without an approval.
pub(crate) fn at(target: &str, purpose: &str, more: Value) -> Value {
    let mut text = plan(purpose, &["a read"]);
    text["steps"][0]["target_ref"] = json!(target);
    text["steps"][0]["lock_scope"] = json!("target");
    for (field, value) in more.as_object().expect("fields") {
        text["steps"][0][field] = value.clone();
    }
    text
}

pub(crate) async fn start(c: &Client, target: &str, purpose: &str, more: Value) -> Uuid {
    id(&submit(c, "eve", &at(target, purpose, more), "").await, "execution_id")
}

/// Takes locks by hand as somebody.
pub(crate) async fn take(c: &Client, who: &str, parts: &[&str], seconds: i32) -> Value {
    act(c, who).await;
    let parts: Vec<String> = parts.iter().map(|it| (*it).to_owned()).collect();
    one(c, "select tenure.lock_acquire($1, $2, 'by hand')", &[&parts, &seconds]).await
}

pub(crate) fn fence(taken: &Value, place: usize) -> i64 {
    taken["locks"][place]["fence"]
        .as_i64()
        .unwrap_or_else(|| panic!("{taken}"))
}

/// The states of the first step of these executions.
pub(crate) async fn steps(c: &Client, executions: &[Uuid]) -> Vec<String> {
    let sql = "select s.state from unnest($1) with ordinality e (id, n) join tenure.step_rows s on s.execution_id = e.id order by e.n, s.step_number";
    rows(c, sql, &[&executions.to_vec()])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect()
}

/// Proves: S204, S205, S207, S208, S226. Guards: D99.
#[tokio::test]
async fn locks_by_hand_are_taken_all_or_none_and_kept_by_their_number() {
    let (_db, c) = people().await;
    let taken = take(&c, "ada", &["host:b", "host:a:restart"], 60).await;
    let (b, a) = (fence(&taken, 1), fence(&taken, 0));
    assert_ne!(a, b, "{taken}");
    let held = take(&c, "bob", &["host:c", "host:b"], 60).await;
    refused(&held, "lock_held");
    assert!(
        held["what"].as_str().expect("text").contains("ada"),
        "the holder is named: {held}"
    );
    let listed: Vec<String> = rows(&c, "select part || ' ' || owner from tenure.lock_list()", &[])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(listed.len(), 2, "none of the others was taken: {listed:?}");
    // One action excludes itself and the whole, not another action.
    refused(&take(&c, "bob", &["host:a:restart"], 60).await, "lock_held");
    refused(&take(&c, "bob", &["host:a"], 60).await, "lock_held");
    assert_ne!(take(&c, "bob", &["host:a:look"], 60).await["refused"], true);
    refused(&take(&c, "bob", &["host:b:restart"], 60).await, "lock_held");

    let renew = "select tenure.lock_renew(array['host:b'], array[$1]::bigint[], 120)";
    let release = "select tenure.lock_release(array['host:b'], array[$1]::bigint[])";
    act(&c, "bob").await;
    refused(&one(&c, renew, &[&b]).await, "lock_lost");
    refused(&one(&c, release, &[&b]).await, "lock_lost");
    act(&c, "ada").await;
    refused(&one(&c, release, &[&(b + 1)]).await, "lock_lost");
    assert_eq!(one(&c, renew, &[&b]).await["renewed"], 1);
    assert_eq!(one(&c, release, &[&b]).await["released"], 1);
    refused(&one(&c, release, &[&b]).await, "lock_lost");
    let next = take(&c, "bob", &["host:b"], 60).await;
    assert!(
        fence(&next, 0) > b,
        "each holder has a greater number than the one before"
    );
}

/// Whoever names a lock twice does not stand in their own way, and is not told to break what nobody holds.
/// Proves: S204.
#[tokio::test]
async fn a_lock_named_twice_counts_once_and_a_target_goes_not_together_with_an_action_at_it() {
    let (_db, c) = people().await;
    let taken = take(&c, "ada", &["host:c", "host:b:look", "host:c", "host:b:restart"], 60).await;
    let parts: Vec<&str> = taken["locks"]
        .as_array()
        .unwrap_or_else(|| panic!("{taken}"))
        .iter()
        .filter_map(|it| it["part"].as_str())
        .collect();
    assert_eq!(parts, ["host:b:look", "host:b:restart", "host:c"]);
    let c_fence = fence(&taken, 2);
    let renew = "select tenure.lock_renew(array['host:c', 'host:c'], $1, 120)";
    let release = "select tenure.lock_release(array['host:c', 'host:c'], $1)";
    refused(
        &one(&c, release, &[&vec![c_fence, c_fence + 1]]).await,
        "arguments_mismatched",
    );
    assert_eq!(one(&c, renew, &[&vec![c_fence; 2]]).await["renewed"], 1);
    assert_eq!(one(&c, release, &[&vec![c_fence; 2]]).await["released"], 1);

    for parts in [["host:d", "host:d:x"], ["host:d:x", "host:d"]] {
        let both = take(&c, "ada", &parts, 60).await;
        refused(&both, "name_invalid");
        let text = both.to_string();
        assert!(
            text.contains("host:d:x") && text.contains("Name host:d alone"),
            "{both}"
        );
    }
    let held: i64 = get(&c, "select count(*) from tenure.locks", &[]).await;
    assert_eq!(held, 2, "those of host:b, and none of host:d");
}

#[tokio::test]
async fn what_is_no_lock_is_refused() {
    let (_db, c) = people().await;
    for part in [
        "",
        "host",
        ":a",
        "host:",
        "host: ",
        "host:a:b:c",
        "host:a%b",
        "host:a\tb",
        &format!("host:{}", "x".repeat(600)),
    ] {
        refused(&take(&c, "ada", &[part], 60).await, "name_invalid");
        refused(
            &one(&c, "select tenure.lock_break($1, 'x')", &[&part]).await,
            "name_invalid",
        );
    }
    for (parts, seconds, code) in [
        (vec![], 60, "batch_too_large"),
        (vec!["host:a"; 101], 60, "batch_too_large"),
        (vec!["host:a"], 0, "number_out_of_range"),
        (vec!["host:a"], 100_000_000, "number_out_of_range"),
    ] {
        refused(&take(&c, "ada", &parts, seconds).await, code);
    }
    refused(
        &one(
            &c,
            "select tenure.lock_release(array['host:a'], array[]::bigint[])",
            &[],
        )
        .await,
        "arguments_mismatched",
    );
    refused(
        &one(&c, "select tenure.lock_break('host:a', 'x')", &[]).await,
        "lock_unknown",
    );
    // What a reference holds is written so that it cannot be mistaken for a separator.
    take(&c, "ada", &["host:a%3Ab:restart"], 60).await;
    let waiting = start(&c, "a:b", "p", json!({})).await;
    assert_eq!(steps(&c, &[waiting]).await, ["blocked"]);
    // Nor has an action one in it.
    let text = at("a", "q", json!({"action": "b:restart", "kind": "k"}));
    refused(&submit(&c, "eve", &text, "").await, "name_invalid");
}

/// Proves: S206. Guards: D99.
#[tokio::test]
async fn an_expired_lock_stands_in_nobodys_way() {
    let (db, c) = people().await;
    let first = take(&c, "ada", &["host:a", "host:b"], 60).await;
    let waiting = start(&c, "a", "p", json!({})).await;
    assert_eq!(steps(&c, &[waiting]).await, ["blocked"]);
    db.advance("61 seconds").await;
    let next = take(&c, "bob", &["host:b"], 60).await;
    assert!(fence(&next, 0) > fence(&first, 1), "taken over at once: {next}");
    assert_eq!(tick(&c).await["expired_locks"], 1);
    assert_eq!(steps(&c, &[waiting]).await, ["running"]);
    let told: i64 = get(
        &c,
        "select count(*) from tenure.events where kind = 'lock.expired'",
        &[],
    )
    .await;
    assert_eq!(told, 1);
    check_executions(&c).await;
}

/// Proves: S194, S204.
#[tokio::test]
async fn who_waits_gets_the_target_by_priority_and_then_in_the_order_they_came() {
    let (_db, c) = people().await;
    let mut line = Vec::new();
    for (purpose, priority) in [
        ("1", "normal"),
        ("2", "bulk"),
        ("3", "normal"),
        ("4", "urgent"),
        ("5", "normal"),
    ] {
        let mut text = at("a", purpose, json!({}));
        text["priority"] = json!(priority);
        line.push(id(&submit(&c, "eve", &text, "").await, "execution_id"));
    }
    assert_eq!(
        steps(&c, &line).await,
        ["running", "blocked", "blocked", "blocked", "blocked"]
    );
    let waiters: Vec<String> = rows(
        &c,
        "select place || ' ' || purpose || ' ' || priority from tenure.lock_waiters('host:a')",
        &[],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    assert_eq!(waiters, ["1 4 100", "2 3 0", "3 5 0", "4 2 -100"]);
    let held: i64 = get(&c, "select waiters from tenure.lock_list('host:a')", &[]).await;
    assert_eq!(held, 4);
    // Nobody who comes later overtakes them, by hand or by a plan.
    refused(&take(&c, "ada", &["host:a:other"], 60).await, "lock_held");
    let mut order = Vec::new();
    let mut fences = Vec::new();
    for _ in &line {
        let held = work(&c).await;
        let row = rows(&c, "select e.purpose, s.fence from tenure.step_rows s join tenure.execution_rows e using (execution_id) where s.job_id = $1", &[&held.job_id])
            .await
            .remove(0);
        order.push(row.get::<_, String>(0));
        fences.push(row.get::<_, i64>(1));
        let handed: i64 = get(&c, "select fence from tenure.job_held($1)", &[&held.token]).await;
        assert_eq!(handed, *fences.last().expect("one"), "the worker is handed the number");
        verb(&c, "job_complete", &held, "").await;
    }
    assert_eq!(order, ["1", "4", "3", "5", "2"]);
    assert!(fences.windows(2).all(|pair| pair[0] < pair[1]), "{fences:?}");
    check_executions(&c).await;
}

#[tokio::test]
async fn actions_at_one_target_go_side_by_side_and_the_whole_waits_for_all_of_them() {
    let (_db, c) = people().await;
    let action = |name: &str| json!({"lock_scope": "target_and_action", "action": name, "kind": "k"});
    let x = start(&c, "a", "x", action("x")).await;
    let y = start(&c, "a", "y", action("y")).await;
    let again = start(&c, "a", "x again", action("x")).await;
    let whole = start(&c, "a", "whole", json!({"kind": "k"})).await;
    let z = start(&c, "a", "z", action("z")).await;
    let line = [x, y, again, whole, z];
    assert_eq!(
        steps(&c, &line).await,
        ["running", "running", "blocked", "blocked", "blocked"]
    );
    let first = work(&c).await;
    verb(&c, "job_complete", &first, "").await;
    assert_eq!(
        steps(&c, &line).await,
        ["succeeded", "running", "running", "blocked", "blocked"]
    );
    for held in claim_with(&c, "w", ", p_limit => 10, p_mode => 'started'").await {
        verb(&c, "job_complete", &held, "").await;
    }
    assert_eq!(
        steps(&c, &line).await,
        ["succeeded", "succeeded", "succeeded", "running", "blocked"]
    );
    work_all(&c).await;
    assert_eq!(steps(&c, &line).await, ["succeeded"; 5]);
    let left: i64 = get(&c, "select count(*) from tenure.locks", &[]).await;
    assert_eq!(left, 0);
    check_executions(&c).await;
}

/// Whoever leaves the line lets through those who waited only for them.
#[tokio::test]
async fn who_waits_only_for_somebody_that_left_the_line_goes_on() {
    let (_db, c) = people().await;
    let action = |name: &str| json!({"lock_scope": "target_and_action", "action": name, "kind": "k"});
    let x = start(&c, "a", "x", action("x")).await;
    let whole = start(&c, "a", "whole", json!({"kind": "k"})).await;
    let y = start(&c, "a", "y", action("y")).await;
    assert_eq!(steps(&c, &[x, whole, y]).await, ["running", "blocked", "blocked"]);
    act(&c, "pam").await;
    one(&c, "select tenure.execution_cancel($1, 'not needed')", &[&whole]).await;
    tick(&c).await;
    assert_eq!(steps(&c, &[x, whole, y]).await, ["running", "skipped", "running"]);
    check_executions(&c).await;
}

#[tokio::test]
async fn a_broken_lock_takes_the_job_with_it_and_what_nobody_knows_waits_for_a_verdict() {
    let (_db, c) = people().await;
    let once = json!({"effects": "once"});
    let first = start(&c, "a", "1", once.clone()).await;
    let second = start(&c, "a", "2", once).await;
    let held = work(&c).await;
    act(&c, "pam").await;
    refused(
        &one(&c, "select tenure.lock_break('host:a', ' ')", &[]).await,
        "name_blank",
    );
    let broken = one(&c, "select tenure.lock_break('host:a', 'the host is gone')", &[]).await;
    assert_eq!(broken["broken"], true, "{broken}");
    refused(&verb(&c, "job_complete", &held, "").await, "stale_lease");
    assert_eq!(steps(&c, &[first, second]).await, ["unknown", "running"]);
    act(&c, "pam").await;
    // It may run again, but not before whoever has the target now.
    one(
        &c,
        "select tenure.execution_resolve($1, 'a', 'retry', 'it did nothing')",
        &[&first],
    )
    .await;
    assert_eq!(steps(&c, &[first, second]).await, ["blocked", "running"]);
    work_all(&c).await;
    for execution in [first, second] {
        assert_eq!(state_of(&c, execution).await, "succeeded");
    }
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// A step whose outcome nobody knows keeps its target until somebody says what became of it.
#[tokio::test]
async fn an_unknown_outcome_keeps_its_lock_whatever_the_clock_says() {
    let (db, c) = people().await;
    let first = start(&c, "a", "1", json!({"effects": "once"})).await;
    let second = start(&c, "a", "2", json!({})).await;
    work(&c).await;
    db.advance("1 hour").await;
    reap(&c).await;
    tick(&c).await;
    assert_eq!(steps(&c, &[first, second]).await, ["unknown", "blocked"]);
    db.advance("30 days").await;
    tick(&c).await;
    assert_eq!(steps(&c, &[first, second]).await[0], "unknown");
    refused(&take(&c, "ada", &["host:a"], 60).await, "lock_held");
    act(&c, "pam").await;
    one(
        &c,
        "select tenure.execution_resolve($1, 'a', 'failed', 'nothing was done')",
        &[&first],
    )
    .await;
    assert_eq!(state_of(&c, first).await, "failed");
    check_executions(&c).await;
}

/// A verdict lets the steps that follow take locks of their own, in the line like anybody.
#[tokio::test]
async fn what_follows_a_verdict_takes_its_place_in_the_line() {
    let (db, c) = people().await;
    let mut text = at("a", "p", json!({"effects": "once"}));
    text["steps"].as_array_mut().expect("steps").push(
        json!({"id": "b", "action": "touch", "action_class": "read", "lock_scope": "target",
        "needs": ["a"], "target_type": "host", "target_ref": "b"}),
    );
    let execution = id(&submit(&c, "eve", &text, "").await, "execution_id");
    work(&c).await;
    db.advance("9 minutes").await;
    reap(&c).await;
    assert_eq!(steps(&c, &[execution]).await, ["unknown", "waiting"]);
    let holder = db.direct().await;
    run(&holder, "begin").await;
    let held = take(&holder, "ada", &["host:b"], 600).await;
    // Somebody is just taking that target: the verdict waits for the answer, and does not guess.
    act(&c, "pam").await;
    let resolve = "select tenure.execution_resolve($1, 'a', 'succeeded', 'seen')";
    refused(&one(&c, resolve, &[&execution]).await, "busy_try_again");
    run(&holder, "commit").await;
    one(&c, resolve, &[&execution]).await;
    assert_eq!(steps(&c, &[execution]).await, ["succeeded", "blocked"]);
    one(
        &holder,
        "select tenure.lock_release(array['host:b'], array[$1]::bigint[])",
        &[&fence(&held, 0)],
    )
    .await;
    assert_eq!(steps(&c, &[execution]).await, ["succeeded", "running"]);
    check_executions(&c).await;
}

/// Many sessions want one lock at the same moment: one has it.
/// Proves: S205.
#[tokio::test]
async fn racing_for_a_lock_has_one_winner_and_crossing_orders_do_not_meet() {
    let (db, c) = people().await;
    let racers = sessions(&db, &["ada", "bob", "cyd", "eve", "pam", "zoe"]).await;
    for _ in 0..6 {
        let orders = [["host:a", "host:b"], ["host:b", "host:a"]];
        let calls = racers.iter().enumerate().map(async |(n, client)| {
            let parts: Vec<String> = orders[n % 2].iter().map(|it| (*it).to_owned()).collect();
            one(client, "select tenure.lock_acquire($1, 60)", &[&parts]).await
        });
        let answers = all(calls.collect()).await;
        let won: Vec<&Value> = answers.iter().filter(|it| it["refused"] != true).collect();
        assert_eq!(won.len(), 1, "{answers:?}");
        let held: i64 = get(&c, "select count(*) from tenure.locks", &[]).await;
        assert_eq!(held, 2);
        act(&c, "pam").await;
        for part in ["host:a", "host:b"] {
            one(&c, "select tenure.lock_break($1, 'next round')", &[&part]).await;
        }
    }
}

/// As the list prints it, it can be asked for; what cannot be a lock is refused, not found empty.
#[tokio::test]
async fn a_lock_is_listed_and_refused_by_the_name_it_was_taken_by() {
    let (_db, c) = people().await;
    take(&c, "ada", &["host:a:restart"], 60).await;
    for (asked, found) in [("host:a", 1), ("host:a:restart", 1), ("host:a:other", 0), ("host:b", 0)] {
        let sql = "select count(*) from tenure.lock_list($1)";
        assert_eq!(get::<i64>(&c, sql, &[&asked]).await, found, "{asked}");
    }
    for sql in [
        "select * from tenure.lock_list('nosuch')",
        "select * from tenure.lock_waiters('nosuch')",
    ] {
        raised(try_rows(&c, sql, &[]).await, "name_invalid");
    }
    let held = take(&c, "bob", &["host:a"], 60).await;
    refused(&held, "lock_held");
    let what = held["what"].as_str().expect("text");
    assert!(what.starts_with("host:a:restart is held by ada (by hand)"), "{what}");
}
