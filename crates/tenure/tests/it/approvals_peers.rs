//! Bugs of approvals that others have shipped, each shown not to happen here; and what the schema itself refuses, to its owner too.

use serde_json::json;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{
    Asked, act, approval_of, as_owner, ask, ask_change, check_executions, decide, id, people, plan, snapshot, state_of,
    story, submit, tick, told, work_all,
};
use crate::fixture::{get, one, refused, rows};

/// What was shown is what is approved: the hash comes with the decision, and is not read again after it.
/// Proves: S166, S184. Guards: D92.
#[tokio::test]
async fn approving_other_bytes_than_those_shown() {
    let (_db, c) = people().await;
    let shown = ask(&c, &plan("p", &["a modify"])).await;
    // Ada looks at the plan. Meanwhile somebody puts another in its place.
    let text: String = get(&c, "select tenure.execution_plan($1)", &[&shown.execution]).await;
    assert_eq!(
        text,
        plan("p", &["a modify"]).to_string(),
        "what is shown is what was sent, byte by byte"
    );
    let hash: String = get(
        &c,
        "select encode(sha256(convert_to($1, 'UTF8')), 'hex')",
        &[&text.as_str()],
    )
    .await;
    assert_eq!(hash, shown.hash, "and anybody can compute its hash");
    let over = format!(", p_supersedes => '{}'", shown.execution);
    let swapped = Asked::of(&submit(&c, "eve", &plan("p", &["a modify", "b deploy"]), &over).await);
    let clicked = Asked {
        approval: swapped.approval,
        hash: shown.hash.clone(),
        execution: swapped.execution,
    };
    let before = snapshot(&c).await;
    let answer = decide(&c, "ada", &clicked, "approve", "").await;
    refused(&answer, "plan_hash_mismatch");
    let what = answer["what"].as_str().expect("text");
    assert!(
        what.contains(&shown.hash) && what.contains(&swapped.hash),
        "both hashes: {what}"
    );
    refused(&decide(&c, "ada", &shown, "approve", "").await, "approval_decided");
    assert_eq!(snapshot(&c).await, before);
    assert_eq!(state_of(&c, swapped.execution).await, "awaiting_approval");
}

/// No approved row without the hash of a frozen plan and the votes about it, whoever writes it.
/// Proves: S184, S188. Guards: D83, D104.
#[tokio::test]
async fn approved_without_its_hash() {
    let (_db, c) = people().await;
    let asked = ask_change(&c).await;
    let other = ask(&c, &plan("other", &["a modify"])).await;
    let approved =
        "state = 'approved', given = quorum, decided_at = clock_timestamp() + interval '1 h', decided_by = 'me'";
    for (sql, why) in [
        (format!("update tenure.approvals set {approved}"), "no votes"),
        (format!("update tenure.approvals set {approved}, auto_approved = true"), "nobody decided"),
        ("update tenure.approvals set plan_hash = null".to_owned(), "no hash"),
        (format!("update tenure.approvals set plan_hash = '{}'", "0".repeat(64)), "of no plan"),
        (format!("update tenure.approvals set plan_hash = '{}' where approval_id = '{}'", other.hash, asked.approval), "of another plan"),
        ("update tenure.approvals set quorum = 0".to_owned(), "a quorum of none"),
        ("update tenure.approvals set level = 0".to_owned(), "less than was asked for"),
        ("update tenure.approvals set roles = array['x']".to_owned(), "other roles"),
        (
            format!("insert into tenure.approval_votes (approval_id, principal, tenant_id, decision, plan_hash, auth_method, level, at) values ('{}', 'ada', 1, 'approve', '{}', 'x', 1, now())", asked.approval, other.hash),
            "a vote about another plan",
        ),
        (
            format!("insert into tenure.approval_votes (approval_id, principal, tenant_id, decision, plan_hash, auth_method, level, at) values ('{}', 'eve', 1, 'approve', '{}', 'x', 1, now())", asked.approval, asked.hash),
            "a vote of whoever asked",
        ),
        (
            format!(
                "insert into tenure.approvals (approval_id, tenant_id, execution_id, plan_hash, plan_snapshot_hash, level, quorum, given, rule, state, created_at, expires_at, decided_at, decided_by)
                 select gen_random_uuid(), 1, execution_id, plan_hash, 'x', 1, 1, 1, 'r', 'approved', now(), now() + interval '1 h', now() + interval '1 h', 'me' from tenure.execution_rows where execution_id = '{}'",
                asked.execution
            ),
            "a second one, made for the purpose",
        ),
    ] {
        let refusal = as_owner(&c, &sql).await;
        assert!(["TN014", "23514", "23502", "23503"].iter().any(|code| refusal.starts_with(code)), "{why}: {refusal}");
    }
    check_executions(&c).await;
}

/// The event of a decision and the decision are one transaction; a refused one leaves neither.
/// Proves: S221.
/// Guards: D92.
#[tokio::test]
async fn announced_before_the_check() {
    let (db, c) = people().await;
    let asked = ask_change(&c).await;
    let stream = "select count(*) from tenure.events where kind like 'approval.%' or kind = 'execution.approved'";
    let before: i64 = get(&c, stream, &[]).await;
    refused(&decide(&c, "eve", &asked, "approve", "").await, "self_approval");
    refused(&decide(&c, "bot", &asked, "approve", "").await, "not_permitted");
    assert_eq!(get::<i64>(&c, stream, &[]).await, before);
    // What is rolled back was never said.
    let other = db.direct().await;
    act(&other, "ada").await;
    rows(&other, "begin", &[]).await;
    let sql = "select tenure.approval_decide($1, 'approve', $2)";
    assert_eq!(
        one(&other, sql, &[&asked.approval, &asked.hash.as_str()]).await["state"],
        "approved"
    );
    assert_eq!(get::<i64>(&c, stream, &[]).await, before);
    rows(&other, "rollback", &[]).await;
    assert_eq!(get::<i64>(&c, stream, &[]).await, before);
    assert_eq!(approval_of(&c, asked.execution).await, "pending");
    decide(&c, "ada", &asked, "approve", "").await;
    assert_eq!(told(&c, asked.execution, "approval_approved").await, 1);
    let heard: i64 = get(
        &c,
        "select count(*) from tenure.events where kind = 'approval.approved' and subject = $1",
        &[&asked.execution.to_string()],
    )
    .await;
    assert_eq!(heard, 1);
    check_executions(&c).await;
}

/// Whatever it waits for, time or a person ends it.
#[tokio::test]
async fn no_way_out_of_waiting() {
    let (db, c) = people().await;
    let made = async |purpose: &str| ask(&c, &plan(purpose, &["a modify"])).await;
    let (expired, withdrawn, cancelled, rejected) =
        (made("1").await, made("2").await, made("3").await, made("4").await);
    let superseded = made("5").await;
    act(&c, "eve").await;
    one(&c, "select tenure.execution_withdraw($1, 'x')", &[&withdrawn.execution]).await;
    act(&c, "pam").await;
    one(&c, "select tenure.execution_cancel($1, 'x')", &[&cancelled.execution]).await;
    decide(&c, "ada", &rejected, "reject", ", 'x'").await;
    submit(
        &c,
        "eve",
        &plan("5", &["a modify", "b modify"]),
        &format!(", p_supersedes => '{}'", superseded.execution),
    )
    .await;
    db.advance("25 hours").await;
    tick(&c).await;
    for (it, state, approval) in [
        (&expired, "cancelled", "expired"),
        (&withdrawn, "cancelled", "withdrawn"),
        (&cancelled, "cancelled", "withdrawn"),
        (&rejected, "rejected", "rejected"),
        (&superseded, "cancelled", "withdrawn"),
    ] {
        assert_eq!(
            (
                state_of(&c, it.execution).await.as_str(),
                approval_of(&c, it.execution).await.as_str()
            ),
            (state, approval)
        );
    }
    let waiting: i64 = get(
        &c,
        "select count(*) from tenure.execution_rows where ended_at is null",
        &[],
    )
    .await;
    assert_eq!(waiting, 0);
    check_executions(&c).await;
}

/// What was never allowed took nothing: no key, no lock, no job, no attempt.
#[tokio::test]
async fn a_denied_approval_consumes_nothing() {
    let (_db, c) = people().await;
    let text = plan("p", &["a modify", "b modify"]);
    let asked = Asked::of(&submit(&c, "eve", &text, ", p_key => 'mine'").await);
    decide(&c, "ada", &asked, "reject", ", 'no'").await;
    for table in [
        "jobs",
        "locks",
        "attempts",
        "leases",
        "idempotency",
        "execution_dead_letters",
    ] {
        let left: i64 = get(&c, &format!("select count(*) from tenure.{table}"), &[]).await;
        assert_eq!(left, 0, "{table}");
    }
    let used: i64 = get(
        &c,
        "select count(*) from tenure.approvals where consumed_at is not null",
        &[],
    )
    .await;
    assert_eq!(used, 0);
    let steps: String = get(
        &c,
        "select string_agg(distinct state || ' ' || attempt || ' ' || dispatches, ',') from tenure.step_rows",
        &[],
    )
    .await;
    assert_eq!(steps, "skipped 0 0");
    let again = Asked::of(&submit(&c, "eve", &text, ", p_key => 'mine'").await);
    assert_ne!(again.execution, asked.execution, "the key is free");
    decide(&c, "ada", &again, "approve", "").await;
    work_all(&c).await;
    assert_eq!(state_of(&c, again.execution).await, "succeeded");
    check_executions(&c).await;
}

/// An execution without steps does not exist, and none has succeeded of which a step has not.
/// Proves: S218.
#[tokio::test]
async fn success_on_zero_steps() {
    let (_db, c) = people().await;
    let asked = ask_change(&c).await;
    for sql in [
        "update tenure.execution_states set step_count = 0, steps_open = 0",
        "update tenure.execution_states set state = 'succeeded', started_at = created_at, ended_at = clock_timestamp(), steps_open = 0",
        "update tenure.execution_states set steps_open = 0, steps_succeeded = 0",
        "insert into tenure.execution_states (execution_id, tenant_id, created_at, step_count, sla_class, mode, state, steps_open, started_at, chain_hash, last_transition_at, last_transition_by)
         select gen_random_uuid(), 1, now(), 0, sla_class, mode, 'pending', 0, null, chain_hash, now(), 'me' from tenure.execution_rows",
    ] {
        let refusal = as_owner(&c, sql).await;
        assert!(refusal.starts_with("TN014") || refusal.starts_with("23514"), "{sql}: {refusal}");
    }
    assert_eq!(state_of(&c, asked.execution).await, "awaiting_approval");
}

/// Asserts that the owner cannot make one execution of these run, by any of these ways.
async fn cannot_start(c: &Client, execution: Uuid, ways: &[&str]) {
    for way in ways {
        let refusal = as_owner(c, &way.replace("$1", &format!("'{execution}'"))).await;
        assert!(refusal.starts_with("TN014"), "{way}: {refusal}");
    }
}

/// Proves: S214, S217, S218, S219.
/// Guards: D93.
#[tokio::test]
async fn nothing_starts_without_its_approval_not_even_for_the_owner_of_the_tables() {
    let (_db, c) = people().await;
    let ways = [
        "update tenure.execution_states set state = 'running' where execution_id = $1",
        "update tenure.execution_states set state = 'running', started_at = clock_timestamp() where execution_id = $1",
        "select tenure.executions_start(clock_timestamp(), 'me', array[$1::uuid])",
        "insert into tenure.execution_states (execution_id, tenant_id, created_at, step_count, sla_class, mode, state, steps_open, started_at, chain_hash, last_transition_at, last_transition_by)
         select gen_random_uuid(), 1, now(), 1, sla_class, mode, 'running', 1, now(), chain_hash, now(), 'me' from tenure.execution_rows where execution_id = $1",
    ];
    let waiting = ask_change(&c).await;
    cannot_start(&c, waiting.execution, &[ways[0], ways[1], ways[3]]).await;
    // Approved, but parked: its approval must be used up by that very start.
    act(&c, "pam").await;
    one(&c, "select tenure.execution_freeze('wait')", &[]).await;
    decide(&c, "ada", &waiting, "approve", "").await;
    assert_eq!(state_of(&c, waiting.execution).await, "approved");
    cannot_start(&c, waiting.execution, &[ways[0], ways[1]]).await;
    // Withdrawn again: then the function of the start finds nothing to use up.
    let withdrawn = "update tenure.approvals set state = 'withdrawn' where execution_id = $1; ".to_owned() + ways[2];
    cannot_start(&c, waiting.execution, &[&withdrawn]).await;
    act(&c, "pam").await;
    one(&c, "select tenure.execution_unfreeze('go')", &[]).await;
    tick(&c).await;
    work_all(&c).await;
    assert_eq!(state_of(&c, waiting.execution).await, "succeeded");
    cannot_start(&c, waiting.execution, &ways[..2]).await;
    // Used up is used up: nobody uses it again, gives it back or changes it.
    for change in [
        "update tenure.approvals set consumed_at = null",
        "update tenure.approvals set consumed_at = clock_timestamp() + interval '1 h'",
        "update tenure.approvals set state = 'withdrawn'",
        "update tenure.approvals set state = 'pending', decided_at = null, decided_by = null",
    ] {
        assert!(as_owner(&c, change).await.starts_with("TN014"), "{change}");
    }
    check_executions(&c).await;
}

/// Proves: S166, S191. Guards: D92.
#[tokio::test]
async fn a_plan_a_vote_and_an_event_are_written_once_and_stay() {
    let (_db, c) = people().await;
    let asked = ask(&c, &plan("p", &["a modify", "b modify a"])).await;
    decide(&c, "ada", &asked, "approve", "").await;
    for table in [
        "executions",
        "execution_states",
        "plans",
        "approval_votes",
        "execution_events",
    ] {
        let delete = as_owner(&c, &format!("delete from tenure.{table}")).await;
        assert!(delete.starts_with("TN014"), "{table}: {delete}");
    }
    for change in [
        "update tenure.plans set plan = plan",
        "update tenure.plans set plan = '{\"steps\": []}'",
        "update tenure.approval_votes set decision = 'reject'",
        "update tenure.approval_votes set comment = 'other words'",
        "update tenure.execution_events set body = body || ' '",
        "update tenure.execution_events set hash = sha256('x')",
        "update tenure.step_needs set needs_number = step_number",
        "update tenure.executions set plan_hash = repeat('0', 64)",
        "update tenure.executions set requested_by = 'ada'",
        "update tenure.executions set approval_level = 0",
        "update tenure.executions set purpose = 'other'",
        "update tenure.executions set rule = 'other'",
        "update tenure.execution_states set step_count = 3, steps_open = 3",
        "delete from tenure.approvals",
    ] {
        let refusal = as_owner(&c, change).await;
        assert!(
            ["TN014", "23503", "23514"].iter().any(|code| refusal.starts_with(code)),
            "{change}: {refusal}"
        );
    }
    // The queryable form and both hashes are computed, not given.
    let refusal = as_owner(
        &c,
        "insert into tenure.plans (execution_id, tenant_id, plan, plan_hash) values (gen_random_uuid(), 1, '{}', 'x')",
    )
    .await;
    assert!(refusal.starts_with("428C9"), "{refusal}");
    let same: bool = get(
        &c,
        "select plan_snapshot = plan::jsonb and plan_hash = encode(sha256(convert_to(plan, 'UTF8')), 'hex') from tenure.plans",
        &[],
    )
    .await;
    assert!(same);
    check_executions(&c).await;
}

/// The hash is of the text: nobody passes another off for it.
/// Proves: S165, S176. Guards: D91.
#[tokio::test]
async fn a_key_stands_for_one_plan_and_a_hash_for_its_text() {
    let (_db, c) = people().await;
    let (one_plan, other) = (plan("p", &["a modify"]), plan("p", &["a modify", "b modify"]));
    let wrong = submit(&c, "eve", &one_plan, ", p_plan_hash => repeat('0', 64)").await;
    refused(&wrong, "plan_hash_mismatch");
    let first = submit(&c, "eve", &one_plan, ", p_key => 'k'").await;
    let hash = first["plan_hash"].as_str().expect("a hash");
    let named = submit(
        &c,
        "eve",
        &one_plan,
        &format!(", p_key => 'k', p_plan_hash => '{hash}'"),
    )
    .await;
    assert_eq!(
        (&named["duplicate"], &named["execution_id"]),
        (&json!(true), &first["execution_id"])
    );
    let differs = submit(&c, "pam", &other, ", p_key => 'k'").await;
    refused(&differs, "plan_differs");
    assert!(differs["what"].as_str().expect("text").contains(hash), "{differs}");
    for key in ["' '", "repeat('x', 256)"] {
        let answer = submit(&c, "eve", &one_plan, &format!(", p_key => {key}")).await;
        assert_eq!(answer["refused"], true, "{answer}");
    }
    // Without a key, the requester and the tenant are part of it.
    let derived = submit(&c, "eve", &other, "").await;
    assert_eq!(submit(&c, "eve", &other, "").await["duplicate"], true);
    assert_eq!(submit(&c, "pam", &other, "").await["duplicate"], false);
    one(&c, "select tenure.tenant_create('beta')", &[]).await;
    rows(&c, "select set_config('tenure.tenant', 'beta', false)", &[]).await;
    let beta = submit(&c, "eve", &one_plan, ", p_key => 'k'").await;
    assert_eq!(beta["duplicate"], false, "another tenant's key: {beta}");
    rows(&c, "select set_config('tenure.tenant', '', false)", &[]).await;
    assert_eq!(story(&c, id(&derived, "execution_id")).await.len(), 2);
    check_executions(&c).await;
}
