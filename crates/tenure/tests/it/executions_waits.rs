//! What happens to executions while others wait, hold or change something: no end is lost, nothing starts that may not, nobody is forgotten.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_race::sessions;
use crate::approvals_scene::{
    ask, check_executions, decide, id, people, plan, rule, state_of, story, submit, tick, told, work, work_all,
};
use crate::fixture::{Claimed, Db, check_invariants, claim_with, get, one, refused, rows, run, until_blocked, verb};
use crate::locks::{at, fence, start, steps, take};

const STARTED: &str = ", p_limit => 10, p_mode => 'started'";
const HOLD: &str = "begin; select from tenure.execution_states for no key update";

async fn free() -> (Db, Client) {
    let (db, c) = people().await;
    rule(&c, "free", json!({"level": 0, "target_refs": ["*"]})).await;
    (db, c)
}

/// The jobs of these steps, by the name of each.
async fn claimed(c: &Client, more: &str) -> Vec<(String, Claimed)> {
    let mut found = Vec::new();
    for held in claim_with(c, "w", more).await {
        let sql = "select s.step_id from tenure.step_rows s where s.job_id = $1";
        found.push((get::<String>(c, sql, &[&held.job_id]).await, held));
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

/// The end of an earlier run was marked, since somebody held the execution; so is the last one, and a tick sees to the first in between.
#[tokio::test]
async fn an_end_that_finds_the_mark_of_an_earlier_one_is_not_lost_with_it() {
    let (db, c) = free().await;
    let made = submit(&c, "eve", &plan("p", &["a read"]), "").await;
    let both = sessions(&db, &["pam", "w"]).await;
    let held = work(&c).await;
    run(&both[0], HOLD).await;
    verb(&c, "job_fail", &held, ", 'not yet'").await;
    db.advance("1 minute").await;
    let again = work(&both[1]).await;
    run(&both[1], "begin").await;
    verb(&both[1], "job_complete", &again, "").await;
    run(&both[0], "commit").await;
    tick(&c).await;
    run(&both[1], "commit").await;
    tick(&c).await;
    assert_eq!(state_of(&c, id(&made, "execution_id")).await, "succeeded");
    check_executions(&c).await;
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_target_that_cannot_be_handed_on_keeps_no_other_waiting() {
    let (db, c) = free().await;
    let mut waiting = Vec::new();
    for target in ["bad", "good"] {
        take(&c, "ada", &[&format!("host:{target}")], 60).await;
        waiting.push(start(&c, target, target, json!({})).await);
    }
    let fault = format!(
        "create function public.boom() returns trigger language plpgsql as $$ begin raise exception 'boom'; end $$;
         create trigger boom before update on tenure.step_states for each row when (old.execution_id = '{}')
           execute function public.boom()",
        waiting[0]
    );
    run(&c, &fault).await;
    db.advance("2 minutes").await;
    let done = tick(&c).await;
    assert_eq!(done["expired_locks"], 1, "{done}");
    assert_eq!(steps(&c, &waiting).await, ["blocked", "running"]);
    run(&c, "drop trigger boom on tenure.step_states").await;
    tick(&c).await;
    assert_eq!(steps(&c, &waiting).await, ["running", "running"]);
    check_executions(&c).await;
}

#[tokio::test]
async fn errors_full_of_odd_characters_keep_no_execution_from_its_end() {
    let (_db, c) = free().await;
    let mut text = plan("p", &["a read", "b read", "c read", "d read", "e read"]);
    text["on_step_failure"] = json!("continue");
    let execution = id(&submit(&c, "eve", &text, "").await, "execution_id");
    for held in claim_with(&c, "w", STARTED).await {
        let odd = ", repeat(E'\\x1b', 400), 'permanent', repeat(E'\\x1b', 150)";
        verb(&c, "job_fail", &held, odd).await;
    }
    assert_eq!(state_of(&c, execution).await, "failed");
    check_executions(&c).await;
}

/// Somebody has its job in a buffer when its execution stops: it is taken away, and never begins.
#[tokio::test]
async fn what_was_claimed_and_not_begun_never_begins_after_a_stop() {
    for because in ["cancelled", "failed"] {
        let (_db, c) = free().await;
        let execution = id(
            &submit(&c, "eve", &plan("p", &["a modify", "b modify"]), "").await,
            "execution_id",
        );
        let held = claimed(&c, ", p_limit => 2").await;
        verb(&c, "job_start", &held[0].1, "").await;
        if because == "failed" {
            verb(&c, "job_fail", &held[0].1, ", 'broken', 'permanent'").await;
        } else {
            let cancel = "select tenure.execution_cancel($1, 'enough')";
            one(&c, cancel, &[&execution]).await;
        }
        refused(&verb(&c, "job_start", &held[1].1, "").await, "stale_lease");
        verb(&c, "job_acknowledge_cancel", &held[0].1, "").await;
        assert_eq!(state_of(&c, execution).await, because);
        let sql = "select state from tenure.step_rows where execution_id = $1 and step_id = 'b'";
        assert_eq!(get::<String>(&c, sql, &[&execution]).await, "skipped", "{because}");
        check_executions(&c).await;
        check_invariants(&c).await;
    }
}

/// What was begun, given back and then called off was not skipped.
#[tokio::test]
async fn a_step_that_was_begun_and_given_back_is_cancelled_and_not_skipped() {
    let (_db, c) = free().await;
    let mut text = plan("p", &["a modify"]);
    text["steps"][0]["effects"] = json!("idempotent");
    let execution = id(&submit(&c, "eve", &text, "").await, "execution_id");
    verb(&c, "job_release", &work(&c).await, "").await;
    let cancel = "select tenure.execution_cancel($1, 'enough', 'ada')";
    one(&c, cancel, &[&execution]).await;
    assert_eq!(steps(&c, &[execution]).await, ["cancelled"]);
    let whose = "select data ->> 'on_behalf_of' from tenure.execution_timeline($1) where kind = 'execution_stopping'";
    assert_eq!(get::<String>(&c, whose, &[&execution]).await, "ada");
    check_executions(&c).await;
}

/// Two ask for the same; while the second waits for the first, the rules become stricter, and the first goes away.
#[tokio::test]
async fn a_plan_that_waited_for_its_key_is_not_admitted_by_rules_of_before() {
    let (db, c) = free().await;
    let both = sessions(&db, &["eve", "bob"]).await;
    let text = plan("p", &["a deploy"]).to_string();
    let sql = "select tenure.execution_submit($1, p_key => 'k')";
    run(&both[0], "begin").await;
    assert_eq!(one(&both[0], sql, &[&text.as_str()]).await["state"], "running");
    let (made, ()) = tokio::join!(async { one(&both[1], sql, &[&text.as_str()]).await }, async {
        until_blocked(&c, "execution_submit").await;
        rule(&c, "free", json!({"level": 2, "quorum": 2, "target_refs": ["*"]})).await;
        run(&both[0], "rollback").await;
    });
    refused(&made, "busy_try_again");
    let made = one(&both[1], sql, &[&text.as_str()]).await;
    assert_eq!(made["state"], "awaiting_approval", "{made}");
    check_executions(&c).await;
}

#[tokio::test]
async fn a_plan_that_supersedes_the_same_as_another_at_the_same_time_is_a_duplicate() {
    let (db, c) = people().await;
    let asked = ask(&c, &plan("p", &["a modify"])).await;
    let both = sessions(&db, &["eve", "eve"]).await;
    let text = plan("p", &["a modify", "b modify"]).to_string();
    let sql = "select tenure.execution_submit($1, p_supersedes => $2)";
    run(&both[0], "begin").await;
    let first = one(&both[0], sql, &[&text.as_str(), &asked.execution]).await;
    let (second, ()) = tokio::join!(
        async { one(&both[1], sql, &[&text.as_str(), &asked.execution]).await },
        async {
            until_blocked(&c, "execution_submit").await;
            run(&both[0], "commit").await;
        }
    );
    assert_eq!(second["duplicate"], true, "{second}");
    assert_eq!(second["execution_id"], first["execution_id"]);
    check_executions(&c).await;
}

/// Its approval, its lock and its execution are gone; the letter of its job alone is left.
#[tokio::test]
async fn the_letter_of_a_step_is_not_replayed_when_nothing_else_is_left_of_it() {
    let (_db, c) = free().await;
    let job = one(&c, "select tenure.job_enqueue('a')", &[]).await;
    let job: Uuid = job["job_id"].as_str().expect("an id").parse().expect("an id");
    one(&c, "select tenure.job_dead_letter($1, 'gone')", &[&job]).await;
    // As a sweep and an archive leave it.
    run(
        &c,
        "update tenure.dead_letters set source_system = 'tenure.execution', workflow_id = gen_random_uuid()",
    )
    .await;
    let letter: Uuid = get(&c, "select dead_letter_id from tenure.dead_letters", &[]).await;
    one(
        &c,
        "select tenure.dead_letter_triage($1, 'manual_replay', 'again')",
        &[&letter],
    )
    .await;
    let preview = one(&c, "select tenure.dead_letter_replay_preview($1)", &[&letter]).await;
    assert_eq!(preview["may_replay"], false, "{preview}");
    refused(
        &one(&c, "select tenure.dead_letter_replay($1)", &[&letter]).await,
        "not_permitted",
    );
}

/// Nobody knows how far `a` came, `b` has failed, `c` has an hour: the clock stands still for the verdict.
#[tokio::test]
async fn an_execution_that_stops_and_waits_for_a_verdict_does_not_time_out() {
    let (db, c) = free().await;
    let mut text = plan("p", &["a modify", "b modify", "c modify"]);
    for step in text["steps"].as_array_mut().expect("steps") {
        step["timeout_seconds"] = json!(3600);
        step["effects"] = json!("once");
    }
    let execution = id(&submit(&c, "eve", &text, "").await, "execution_id");
    let held = claimed(&c, STARTED).await;
    verb(&c, "job_release", &held[0].1, "").await;
    verb(&c, "job_fail", &held[1].1, ", 'broken', 'permanent'").await;
    db.advance("2 hours").await;
    tick(&c).await;
    let stopping: String = get(&c, "select stopping from tenure.execution_rows", &[]).await;
    assert_eq!(stopping, "step_failed");
    assert_eq!(told(&c, execution, "execution_timed_out").await, 0);
    check_executions(&c).await;
}

/// Who stands before it leaves the line while it is put into it: nobody else is in its way.
#[tokio::test]
async fn who_waits_only_for_somebody_that_leaves_while_it_comes_goes_on() {
    let (db, c) = free().await;
    let action = |name: &str| json!({"action": name, "lock_scope": "target_and_action"});
    let first = start(&c, "x", "first", action("aa")).await;
    let second = start(&c, "x", "second", json!({})).await;
    let both = sessions(&db, &["eve", "pam"]).await;
    run(&both[0], "begin").await;
    let text = at("x", "third", action("bb")).to_string();
    let made = one(&both[0], "select tenure.execution_submit($1)", &[&text.as_str()]).await;
    let third = id(&made, "execution_id");
    let cancel = "select tenure.execution_cancel($1, 'enough')";
    one(&both[1], cancel, &[&second]).await;
    run(&both[0], "commit").await;
    tick(&c).await;
    assert_eq!(
        steps(&c, &[first, second, third]).await,
        ["running", "skipped", "running"]
    );
    check_executions(&c).await;
}

/// It starts when its target is handed over; an approval of another step of it expires long before its own time is over.
#[tokio::test]
async fn an_execution_that_is_handed_its_target_is_still_looked_at_for_its_approvals() {
    let (db, c) = people().await;
    let spec: Value = json!({"target_refs": ["* b"], "level": 3, "expires_seconds": 60});
    rule(&c, "careful", spec).await;
    let taken = take(&c, "pam", &["host:p a"], 600).await;
    let asked = ask(&c, &plan("p", &["a modify", "b modify"])).await;
    decide(&c, "ada", &asked, "approve", "").await;
    assert_eq!(steps(&c, &[asked.execution]).await, ["blocked", "awaiting_approval"]);
    crate::approvals_scene::act(&c, "pam").await;
    let release = "select tenure.lock_release(array['host:p a'], array[$1::bigint])";
    one(&c, release, &[&fence(&taken, 0)]).await;
    assert_eq!(steps(&c, &[asked.execution]).await, ["running", "awaiting_approval"]);
    db.advance("2 minutes").await;
    tick(&c).await;
    assert!(
        story(&c, asked.execution)
            .await
            .contains(&"approval_expired".to_owned())
    );
    check_executions(&c).await;
}

#[tokio::test]
async fn whoever_lifts_a_freeze_waits_for_nobody_who_is_parked() {
    let (db, c) = free().await;
    one(&c, "select tenure.execution_freeze('inventory')", &[]).await;
    let parked = id(&submit(&c, "eve", &plan("p", &["a modify"]), "").await, "execution_id");
    let both = sessions(&db, &["eve", "pam"]).await;
    run(&both[0], HOLD).await;
    run(&both[1], "set lock_timeout = '1s'").await;
    let lifted = one(&both[1], "select tenure.execution_unfreeze('done')", &[]).await;
    assert_eq!(lifted["was_frozen"], true, "{lifted}");
    run(&both[0], "commit").await;
    db.advance("1 minute").await;
    tick(&c).await;
    assert_eq!(state_of(&c, parked).await, "running");
    work_all(&c).await;
    check_executions(&c).await;
    assert!(rows(&c, "select from tenure.locks", &[]).await.is_empty());
}

/// Whoever looks is told of both that keep it from starting.
#[tokio::test]
async fn a_freeze_is_told_of_what_waits_for_its_window_anyway() {
    let (_db, c) = people().await;
    let opens = crate::approvals_time::window(&c, 5).await;
    rule(&c, "nights", json!({"level": 0, "window": opens})).await;
    let parked = id(&submit(&c, "eve", &plan("p", &["a modify"]), "").await, "execution_id");
    one(&c, "select tenure.execution_freeze('inventory')", &[]).await;
    let shown = one(&c, "select tenure.execution_show($1)", &[&parked]).await;
    let words = shown["waiting_for"].to_string();
    assert!(words.contains("inventory") && words.contains("window"), "{shown}");
    let seconds = "select tenure.execution_preview($1) -> 'timeout_seconds'";
    let text = plan("other", &["a modify"]).to_string();
    assert_eq!(one(&c, seconds, &[&text.as_str()]).await, json!(600));
}
