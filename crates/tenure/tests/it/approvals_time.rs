//! What time does to approvals: expiry, escalation, windows and freezes; and what people do meanwhile: withdraw, supersede, approve step by step.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{
    Asked, act, approval_of, ask, ask_change, check_executions, decide, id, people, plan, rule, state_of, story,
    submit, tick, told, work, work_all,
};
use crate::fixture::{get, one, refused, rows, verb};

/// Proves: S189, S190, S192, S224.
/// Guards: D83, D94.
#[tokio::test]
async fn an_approval_nobody_decides_is_escalated_and_then_expires() {
    let (db, c) = people().await;
    let asked = ask_change(&c).await;
    tick(&c).await;
    assert_eq!(told(&c, asked.execution, "approval_escalated").await, 0);
    db.advance("18 hours 1 minute").await;
    assert_eq!(tick(&c).await["escalated"], 1);
    assert_eq!(tick(&c).await["escalated"], 0, "once");
    let listed = "select count(*) from tenure.approval_list()";
    assert_eq!(get::<i64>(&c, listed, &[]).await, 1);
    db.advance("6 hours").await;
    assert_eq!(
        get::<i64>(&c, listed, &[]).await,
        0,
        "nobody is offered what cannot be decided any more"
    );
    assert_eq!(tick(&c).await["expired"], 1);
    assert_eq!(tick(&c).await["expired"], 0);
    assert_eq!(approval_of(&c, asked.execution).await, "expired");
    assert_eq!(state_of(&c, asked.execution).await, "cancelled");
    assert_eq!(
        story(&c, asked.execution).await,
        [
            "execution_submitted",
            "approval_requested",
            "approval_escalated",
            "approval_expired",
            "execution_cancelled"
        ]
    );
    let reason: String = get(
        &c,
        "select reason_code from tenure.execution_rows where execution_id = $1",
        &[&asked.execution],
    )
    .await;
    assert_eq!(reason, "approval_expired");
    let again = submit(&c, "eve", &plan("change", &["a modify"]), "").await;
    assert_eq!(again["duplicate"], false, "its key is free: {again}");
    check_executions(&c).await;
}

/// Proves: S224.
/// Guards: D80.
#[tokio::test]
async fn pending_approvals_are_listed_oldest_first_with_the_mail_of_who_asked() {
    let (db, c) = people().await;
    one(
        &c,
        "select tenure.principal_create('zoe', 'human', 'zoe@example.org')",
        &[],
    )
    .await;
    let first = Asked::of(&submit(&c, "zoe", &plan("first", &["a modify"]), "").await);
    db.advance("1 minute").await;
    let second = Asked::of(&submit(&c, "eve", &plan("second", &["a modify"]), "").await);
    let seen = rows(
        &c,
        "select approval_id, requested_by, requested_by_email, purpose from tenure.approval_list()",
        &[],
    )
    .await;
    let ids: Vec<Uuid> = seen.iter().map(|row| row.get(0)).collect();
    assert_eq!(ids, [first.approval, second.approval]);
    assert_eq!(seen[0].get::<_, Option<String>>(2).as_deref(), Some("zoe@example.org"));
    assert_eq!(seen[1].get::<_, Option<String>>(2), None);
}

/// Proves: S214, S170.
#[tokio::test]
async fn whoever_asked_takes_it_back_until_it_starts_and_nobody_else_does() {
    let (_db, c) = people().await;
    let withdraw = "select tenure.execution_withdraw($1, 'not needed')";
    let asked = ask_change(&c).await;
    act(&c, "ada").await;
    refused(&one(&c, withdraw, &[&asked.execution]).await, "not_permitted");
    act(&c, "eve").await;
    refused(
        &one(&c, "select tenure.execution_withdraw($1, ' ')", &[&asked.execution]).await,
        "name_blank",
    );
    assert_eq!(one(&c, withdraw, &[&asked.execution]).await["state"], "cancelled");
    refused(&one(&c, withdraw, &[&asked.execution]).await, "state_conflict");
    assert_eq!(approval_of(&c, asked.execution).await, "withdrawn");
    let row = rows(
        &c,
        "select cancelled_by, cancelled_at is not null, reason_code from tenure.execution_rows",
        &[],
    )
    .await
    .remove(0);
    assert_eq!(row.get::<_, String>(0), "eve");
    assert!(row.get::<_, bool>(1));
    assert_eq!(row.get::<_, String>(2), "withdrawn");
    let running = ask_change(&c).await;
    decide(&c, "ada", &running, "approve", "").await;
    act(&c, "eve").await;
    refused(&one(&c, withdraw, &[&running.execution]).await, "state_conflict");
    check_executions(&c).await;
}

#[tokio::test]
async fn a_new_plan_takes_the_place_of_one_that_has_not_started_and_shows_the_difference() {
    let (_db, c) = people().await;
    rule(&c, "two", json!({"level": 1, "quorum": 2})).await;
    let asked = ask(&c, &plan("p", &["a modify", "b modify"])).await;
    decide(&c, "ada", &asked, "approve", "").await;
    let over = format!(", p_supersedes => '{}'", asked.execution);

    // The same plan: nothing changes, and the vote stands.
    let same = submit(&c, "eve", &plan("p", &["a modify", "b modify"]), &over).await;
    assert_eq!(
        (&same["unchanged"], id(&same, "execution_id")),
        (&json!(true), asked.execution)
    );
    assert_eq!(id(&same, "approval_id"), asked.approval);

    // Another: its votes are for a plan that is gone.
    let other = plan("p", &["a deploy", "c modify"]);
    refused(
        &submit(&c, "eve", &plan("q", &["a modify"]), &over).await,
        "state_conflict",
    );
    refused(
        &submit(&c, "eve", &other, ", p_supersedes => gen_random_uuid()").await,
        "execution_unknown",
    );
    let new = submit(&c, "eve", &other, &over).await;
    assert_eq!(new["unchanged"], false, "{new}");
    let difference = &new["difference"];
    assert_eq!(difference["added"], json!(["c"]));
    assert_eq!(difference["removed"], json!(["b"]));
    assert_eq!(
        difference["changed"],
        json!({"a": {"action_class": ["modify", "deploy"]}})
    );
    let again = Asked::of(&new);
    assert_eq!(
        one(
            &c,
            "select tenure.execution_difference($1, $2)",
            &[&asked.execution, &again.execution]
        )
        .await,
        *difference
    );
    assert_eq!(approval_of(&c, asked.execution).await, "withdrawn");
    let old = rows(
        &c,
        "select state, reason_code, superseded_by from tenure.execution_rows where execution_id = $1",
        &[&asked.execution],
    )
    .await
    .remove(0);
    assert_eq!(
        (old.get::<_, &str>(0), old.get::<_, &str>(1)),
        ("cancelled", "superseded")
    );
    assert_eq!(old.get::<_, Option<Uuid>>(2), Some(again.execution));
    refused(&decide(&c, "bob", &asked, "approve", "").await, "approval_decided");
    let votes: i64 = get(
        &c,
        "select count(*) from tenure.approval_votes_of($1)",
        &[&again.approval],
    )
    .await;
    assert_eq!(votes, 0, "nobody has decided about the new plan");

    // Said again, as after a lost answer, it is the same; and what has started gives way to nobody.
    let said = submit(&c, "eve", &other, &over).await;
    assert_eq!(
        (&said["duplicate"], id(&said, "execution_id")),
        (&json!(true), again.execution)
    );
    decide(&c, "ada", &again, "approve", "").await;
    decide(&c, "bob", &again, "approve", "").await;
    let late = format!(", p_supersedes => '{}'", again.execution);
    refused(
        &submit(&c, "eve", &plan("p", &["z modify"]), &late).await,
        "state_conflict",
    );
    check_executions(&c).await;
}

#[tokio::test]
async fn only_whoever_asked_or_an_operator_puts_another_plan_in_its_place() {
    let (db, c) = people().await;
    let asked = ask_change(&c).await;
    let sql = "select tenure.execution_submit($1, p_supersedes => $2)";
    let text = plan("change", &["a modify", "b modify"]).to_string();
    let (_, producer) = db.login(&["tenure_requester"], "default", None).await;
    refused(&one(&producer, sql, &[&text, &asked.execution]).await, "not_permitted");
    assert_eq!(state_of(&c, asked.execution).await, "awaiting_approval");
    let (_, operator) = db.login(&["tenure_operator"], "default", None).await;
    assert_eq!(
        one(&operator, sql, &[&text, &asked.execution]).await["state"],
        "awaiting_approval"
    );
    assert_eq!(state_of(&c, asked.execution).await, "cancelled");
    check_executions(&c).await;
}

/// A window as the rule has it, beginning so many hours from now and two hours long.
pub(crate) async fn window(c: &Client, hours: i32) -> Value {
    one(
        c,
        "select jsonb_build_object('from', to_char(t.t at time zone 'UTC', 'HH24:MI'), 'to', to_char(t.t at time zone 'UTC' + interval '2 hours', 'HH24:MI'), 'zone', 'UTC')
           from (select tenure.now() + make_interval(hours => $1) as t) t",
        &[&hours],
    )
    .await
}

#[tokio::test]
async fn approved_work_waits_for_its_window_and_starts_by_itself_when_it_opens() {
    let (db, c) = people().await;
    let opens = window(&c, 5).await;
    rule(&c, "nights", json!({"level": 1, "window": opens})).await;
    let asked = ask_change(&c).await;
    let answer = decide(&c, "ada", &asked, "approve", "").await;
    assert_eq!(answer["execution_state"], "approved", "{answer}");
    let shown = one(&c, "select tenure.execution_show($1)", &[&asked.execution]).await;
    assert_eq!(shown["parked"], "window");
    assert!(
        shown["waiting_for"][0].as_str().expect("words").contains("window"),
        "{shown}"
    );
    let jobs = "select count(*) from tenure.jobs";
    assert_eq!(get::<i64>(&c, jobs, &[]).await, 0);
    db.advance("4 hours").await;
    tick(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "approved");
    db.advance("1 hour 1 minute").await;
    tick(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "running");
    work_all(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "succeeded");
    assert_eq!(told(&c, asked.execution, "execution_parked").await, 1);
    check_executions(&c).await;
}

#[tokio::test]
async fn work_that_had_to_start_before_a_moment_does_not_start_after_it() {
    let (db, c) = people().await;
    let bad = ", p_start_before => tenure.now() - interval '1 s'";
    refused(&submit(&c, "eve", &plan("p", &["a read"]), bad).await, "range_invalid");
    let between =
        ", p_start_after => tenure.now() + interval '1 hour', p_start_before => tenure.now() + interval '2 hours'";
    let early = submit(&c, "eve", &plan("early", &["a read"]), between).await;
    assert_eq!(
        (&early["state"], &early["parked"]),
        (&json!("approved"), &json!("window"))
    );
    let late = Asked::of(&submit(&c, "eve", &plan("late", &["a modify"]), between).await);
    db.advance("61 minutes").await;
    tick(&c).await;
    assert_eq!(state_of(&c, id(&early, "execution_id")).await, "running");
    db.advance("61 minutes").await;
    refused(&decide(&c, "ada", &late, "approve", "").await, "approval_expired");
    tick(&c).await;
    assert_eq!(state_of(&c, late.execution).await, "cancelled");
    let reason: String = get(
        &c,
        "select reason_code from tenure.execution_rows where execution_id = $1",
        &[&late.execution],
    )
    .await;
    assert_eq!(reason, "window_passed");
    check_executions(&c).await;
}

#[tokio::test]
async fn a_freeze_parks_what_is_approved_says_so_and_what_runs_goes_on() {
    let (db, c) = people().await;
    let running = submit(&c, "eve", &plan("running", &["a read", "b read a"]), "").await;
    act(&c, "pam").await;
    refused(&one(&c, "select tenure.execution_freeze(' ')", &[]).await, "name_blank");
    refused(
        &one(&c, "select tenure.execution_freeze('x', tenure.now())", &[]).await,
        "range_invalid",
    );
    one(&c, "select tenure.execution_freeze('inventory')", &[]).await;
    let asked = ask_change(&c).await;
    assert_eq!(
        decide(&c, "ada", &asked, "approve", "").await["execution_state"],
        "approved"
    );
    let free = submit(&c, "eve", &plan("look", &["a read"]), "").await;
    assert_eq!(
        (&free["state"], &free["parked"]),
        (&json!("approved"), &json!("freeze"))
    );
    let shown = one(&c, "select tenure.execution_show($1)", &[&asked.execution]).await;
    assert!(
        shown["waiting_for"][0].as_str().expect("words").contains("inventory"),
        "{shown}"
    );
    work_all(&c).await;
    assert_eq!(
        state_of(&c, id(&running, "execution_id")).await,
        "succeeded",
        "both of its steps"
    );
    db.advance("2 minutes").await;
    tick(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "approved");
    act(&c, "pam").await;
    let lifted = one(&c, "select tenure.execution_unfreeze('done')", &[]).await;
    assert_eq!(lifted["was_frozen"], true);
    tick(&c).await;
    work_all(&c).await;
    for execution in [asked.execution, id(&free, "execution_id")] {
        assert_eq!(state_of(&c, execution).await, "succeeded");
    }

    // One with an end lifts itself.
    act(&c, "pam").await;
    one(
        &c,
        "select tenure.execution_freeze('for a while', tenure.now() + interval '1 hour')",
        &[],
    )
    .await;
    let later = submit(&c, "eve", &plan("later", &["a read"]), "").await;
    assert_eq!(later["state"], "approved");
    db.advance("61 minutes").await;
    tick(&c).await;
    assert_eq!(state_of(&c, id(&later, "execution_id")).await, "running");
    check_executions(&c).await;
}

/// The pending approval of a step.
async fn step_approval(c: &Client, asked: &Asked, step: &str) -> Asked {
    let sql = "select approval_id from tenure.approval_list($1) where step_id = $2";
    Asked {
        execution: asked.execution,
        approval: get(c, sql, &[&asked.execution, &step]).await,
        hash: asked.hash.clone(),
    }
}

/// Guards: D93.
#[tokio::test]
async fn at_level_three_each_step_waits_for_a_decision_of_its_own() {
    let (_db, c) = people().await;
    rule(&c, "careful", json!({"target_refs": ["* a", "* b"], "level": 3})).await;
    let asked = ask(&c, &plan("p", &["a modify", "b modify a", "c read b"])).await;
    refused(&decide(&c, "bob", &asked, "approve", "").await, "not_permitted");
    let answer = decide(&c, "ada", &asked, "approve", "").await;
    assert_eq!(answer["execution_state"], "approved", "nothing has started: {answer}");
    let jobs = "select count(*) from tenure.jobs";
    assert_eq!(get::<i64>(&c, jobs, &[]).await, 0);
    let settled: i64 = get(
        &c,
        "select count(*) from tenure.execution_ended(array[$1])",
        &[&asked.execution],
    )
    .await;
    assert_eq!(settled, 1, "it waits for somebody");

    let a = step_approval(&c, &asked, "a").await;
    refused(&decide(&c, "eve", &a, "approve", "").await, "self_approval");
    refused(&decide(&c, "bob", &a, "approve", "").await, "not_permitted");
    assert_eq!(decide(&c, "ada", &a, "approve", "").await["execution_state"], "running");
    let held = work(&c).await;
    verb(&c, "job_complete", &held, "").await;
    assert_eq!(get::<i64>(&c, jobs, &[]).await, 1, "b waits for its own");
    let b = step_approval(&c, &asked, "b").await;
    refused(&decide(&c, "ada", &a, "approve", "").await, "approval_decided");
    decide(&c, "ada", &b, "approve", "").await;
    work_all(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "succeeded");
    let used: i64 = get(
        &c,
        "select count(*) from tenure.approvals where consumed_at is not null",
        &[],
    )
    .await;
    assert_eq!(used, 3, "that of the plan, and of two steps");
    check_executions(&c).await;
}

#[tokio::test]
async fn a_rejected_or_expired_step_fails_and_one_that_never_began_is_called_off() {
    let (db, c) = people().await;
    rule(&c, "careful", json!({"target_refs": ["* a"], "level": 3})).await;
    // Before anything has started.
    let first = ask(&c, &plan("first", &["a modify"])).await;
    decide(&c, "ada", &first, "approve", "").await;
    let a = step_approval(&c, &first, "a").await;
    assert_eq!(
        decide(&c, "ada", &a, "reject", ", 'not this one'").await["execution_state"],
        "cancelled"
    );
    // While something runs: the step has failed, what needs it is skipped, what does not goes on.
    let mut text = plan("second", &["b read", "a modify", "d read a"]);
    text["on_step_failure"] = json!("continue");
    let second = ask(&c, &text).await;
    decide(&c, "ada", &second, "approve", "").await;
    assert_eq!(state_of(&c, second.execution).await, "running");
    let a = step_approval(&c, &second, "a").await;
    decide(&c, "ada", &a, "reject", ", 'nor this one'").await;
    work_all(&c).await;
    assert_eq!(state_of(&c, second.execution).await, "partially_failed");
    let states: String = get(
        &c,
        "select string_agg(step_id || ' ' || state || coalesce(' ' || error_code, ''), ', ' order by step_number) from tenure.step_list($1)",
        &[&second.execution],
    )
    .await;
    assert_eq!(states, "b succeeded, a failed rejected, d skipped");
    // Nobody decides in time.
    let third = ask(&c, &plan("third", &["b read", "a modify"])).await;
    decide(&c, "ada", &third, "approve", "").await;
    work_all(&c).await;
    assert_eq!(
        state_of(&c, third.execution).await,
        "running",
        "its clock stands still while somebody decides"
    );
    db.advance("23 hours").await;
    tick(&c).await;
    assert_eq!(state_of(&c, third.execution).await, "running");
    db.advance("2 hours").await;
    tick(&c).await;
    assert_eq!(state_of(&c, third.execution).await, "failed");
    let same = "select v.data ->> 'error_code' = s.error_code from tenure.execution_timeline($1) v join tenure.step_rows s on s.execution_id = $1 and s.step_id = v.step_id where v.kind = 'step_failed'";
    assert!(
        get::<bool>(&c, same, &[&third.execution]).await,
        "the story says what the step says"
    );
    check_executions(&c).await;
}

/// What was decided about a step is for that step; a freeze in between does not lose it.
#[tokio::test]
async fn a_step_that_was_approved_during_a_freeze_starts_after_it() {
    let (_db, c) = people().await;
    rule(&c, "careful", json!({"level": 3})).await;
    let asked = ask(&c, &plan("p", &["a modify"])).await;
    decide(&c, "ada", &asked, "approve", "").await;
    act(&c, "pam").await;
    one(&c, "select tenure.execution_freeze('wait')", &[]).await;
    let a = step_approval(&c, &asked, "a").await;
    assert_eq!(
        decide(&c, "ada", &a, "approve", "").await["execution_state"],
        "approved"
    );
    act(&c, "pam").await;
    one(&c, "select tenure.execution_unfreeze('go')", &[]).await;
    tick(&c).await;
    work_all(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "succeeded");
    check_executions(&c).await;
}

/// Changing the rules does not change what a step of an approved plan takes.
#[tokio::test]
async fn a_step_is_decided_under_the_terms_its_plan_was_submitted_under() {
    let (_db, c) = people().await;
    rule(&c, "careful", json!({"level": 3, "quorum": 2, "roles": ["dba"]})).await;
    act(&c, "pam").await;
    one(&c, "select tenure.principal_set('pam', '{\"approver_level\": 3}')", &[]).await;
    one(
        &c,
        "select tenure.principal_set('bob', '{\"approver_level\": 3, \"approval_roles\": [\"dba\"]}')",
        &[],
    )
    .await;
    let asked = ask(&c, &plan("p", &["a modify"])).await;
    act(&c, "pam").await;
    one(&c, "select tenure.approval_rule_delete('careful')", &[]).await;
    decide(&c, "ada", &asked, "approve", "").await;
    decide(&c, "bob", &asked, "approve", "").await;
    let a = step_approval(&c, &asked, "a").await;
    refused(&decide(&c, "pam", &a, "approve", "").await, "not_permitted");
    assert_eq!(decide(&c, "ada", &a, "approve", "").await["quorum"], 2);
    assert_eq!(state_of(&c, asked.execution).await, "approved");
    assert_eq!(decide(&c, "bob", &a, "approve", "").await["execution_state"], "running");
    check_executions(&c).await;
}
