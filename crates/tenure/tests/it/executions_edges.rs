//! Corners of executions that a fresh reading found: times that shrank, keys that nobody could free, answers that left out what they did not change.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::approvals_scene::{
    Asked, act, check_executions, id, people, plan, rule, state_of, submit, tick, work, work_all,
};
use crate::approvals_time::window;
use crate::fixture::{claim_with, get, one, refused, verb};

/// A rule that asks for no approval has no say in how long one lasts.
#[tokio::test]
async fn a_step_that_needs_no_approval_does_not_shorten_the_time_of_the_others() {
    let (_db, c) = people().await;
    rule(
        &c,
        "look",
        json!({"action_classes": ["read"], "level": 0, "expires_seconds": 60}),
    )
    .await;
    rule(
        &c,
        "week",
        json!({"action_classes": ["modify"], "level": 1, "expires_seconds": 604_800}),
    )
    .await;
    for steps in [&["a modify"][..], &["a modify", "b read"]] {
        let text = plan(&format!("{} steps", steps.len()), steps);
        let preview = one(&c, "select tenure.execution_preview($1)", &[&text.to_string()]).await;
        assert_eq!(preview["expires_seconds"], 604_800, "{preview}");
        let asked = Asked::of(&submit(&c, "eve", &text, "").await);
        let lasts = "select expires_at - created_at = interval '7 days' from tenure.approvals where approval_id = $1";
        assert!(get::<bool>(&c, lasts, &[&asked.approval]).await);
    }
}

/// The letter alone is not closed where that would leave a key taken that nobody sees any more.
#[tokio::test]
async fn the_letter_of_a_partially_failed_execution_is_closed_with_the_execution() {
    let (_db, c) = people().await;
    let mut text = plan("p", &["a read", "b read"]);
    text["on_step_failure"] = json!("continue");
    text["steps"][0]["attempts_max"] = json!(1);
    let execution = id(&submit(&c, "eve", &text, ", p_key => 'k'").await, "execution_id");
    let held = work(&c).await;
    verb(&c, "job_fail", &held, ", 'broken', 'permanent'").await;
    work_all(&c).await;
    assert_eq!(state_of(&c, execution).await, "partially_failed");
    act(&c, "pam").await;
    let triage = "select tenure.execution_dead_letter_triage($1, $2, 'seen')";
    let closing = one(&c, triage, &[&execution, &"closed"]).await;
    refused(&closing, "state_conflict");
    assert!(
        closing["next"].to_string().contains("tenure.execution_close"),
        "{closing}"
    );
    assert_eq!(
        one(&c, triage, &[&execution, &"acknowledged"]).await["triage_status"],
        "acknowledged"
    );
    let closed = one(
        &c,
        "select tenure.execution_close($1, 'nobody needs it')",
        &[&execution],
    )
    .await;
    assert_eq!(closed["closed"], true, "{closed}");
    assert_eq!(
        one(&c, triage, &[&execution, &"closed"]).await["triage_status"],
        "closed"
    );
    check_executions(&c).await;
}

/// Whoever submits a plan that is there already is told when that one starts, which may be another time than they gave.
#[tokio::test]
async fn a_plan_that_is_there_already_says_when_it_starts() {
    let (_db, c) = people().await;
    let text = plan("p", &["a modify"]);
    let first = submit(&c, "eve", &text, ", p_start_before => tenure.now() + interval '1 hour'").await;
    assert!(first["start_before"].is_string(), "{first}");
    let later = ", p_start_before => tenure.now() + interval '5 hours'";
    let again = submit(&c, "eve", &text, later).await;
    let over = format!("{later}, p_supersedes => '{}'", id(&first, "execution_id"));
    let unchanged = submit(&c, "eve", &text, &over).await;
    for (said, how) in [(&again, "duplicate"), (&unchanged, "unchanged")] {
        assert_eq!(
            (&said[how], &said["start_before"]),
            (&json!(true), &first["start_before"]),
            "{said}"
        );
    }
}

/// What gave way to a new plan does not come back beside it.
#[tokio::test]
async fn a_superseded_execution_is_not_retried() {
    let (_db, c) = people().await;
    let old = id(&submit(&c, "eve", &plan("p", &["a modify"]), "").await, "execution_id");
    let over = format!(", p_supersedes => '{old}'");
    let new = id(
        &submit(&c, "eve", &plan("p", &["a modify", "b modify"]), &over).await,
        "execution_id",
    );
    act(&c, "eve").await;
    let retried = one(&c, "select tenure.execution_retry($1)", &[&old]).await;
    refused(&retried, "state_conflict");
    assert!(retried["what"].to_string().contains(&new.to_string()), "{retried}");
    check_executions(&c).await;
}

/// What was to stop an execution and came too late is in its story, and not in its result.
#[tokio::test]
async fn an_execution_that_succeeded_in_spite_of_a_stop_shows_no_error() {
    let (db, c) = people().await;
    let shown = async |execution: Uuid| -> Value { one(&c, "select tenure.execution_show($1)", &[&execution]).await };
    for stop in ["cancel", "timeout"] {
        let execution = id(&submit(&c, "eve", &plan(stop, &["a read"]), "").await, "execution_id");
        let held = claim_with(&c, "w", ", p_mode => 'started', p_lease_seconds => 3600")
            .await
            .remove(0);
        if stop == "cancel" {
            act(&c, "pam").await;
            one(&c, "select tenure.execution_cancel($1, 'enough')", &[&execution]).await;
        } else {
            // Eleven minutes, in which its worker renews the lease.
            for _ in 0..6 {
                db.advance("110 seconds").await;
                verb(&c, "job_heartbeat", &held, "").await;
            }
            tick(&c).await;
        }
        assert!(shown(execution).await["stopping"].is_string());
        verb(&c, "job_complete", &held, "").await;
        let over = shown(execution).await;
        assert_eq!(
            (&over["state"], &over["reason"], &over["error_message"]),
            (&json!("succeeded"), &json!(null), &json!(null)),
            "{over}"
        );
    }
    check_executions(&c).await;
}

/// Nobody is asked to allow what can only be called off.
#[tokio::test]
async fn a_plan_whose_window_opens_after_its_last_moment_is_refused() {
    let (_db, c) = people().await;
    let opens = window(&c, 6).await;
    rule(&c, "later", json!({"level": 1, "window": opens})).await;
    let text = plan("p", &["a modify"]);
    let soon = ", p_start_before => tenure.now() + interval '1 hour'";
    refused(&submit(&c, "eve", &text, soon).await, "range_invalid");
    let after =
        ", p_start_after => tenure.now() + interval '9 hours', p_start_before => tenure.now() + interval '10 hours'";
    refused(&submit(&c, "eve", &text, after).await, "range_invalid");
    let within = ", p_start_before => tenure.now() + interval '8 hours'";
    assert_eq!(submit(&c, "eve", &text, within).await["state"], "awaiting_approval");
}

/// A preview shows what the submission meets, also where it is on behalf of somebody.
#[tokio::test]
async fn a_preview_on_behalf_of_somebody_shows_the_terms_of_both() {
    let (_db, c) = people().await;
    rule(
        &c,
        "of eve",
        json!({"requesters": ["eve"], "level": 1, "roles": ["release"]}),
    )
    .await;
    rule(&c, "of bot", json!({"requesters": ["bot"], "level": 2, "quorum": 2})).await;
    let text = plan("p", &["a modify"]);
    act(&c, "eve").await;
    let preview = "select tenure.execution_preview($1, $2)";
    let alone = one(&c, preview, &[&text.to_string(), &None::<&str>]).await;
    assert_eq!(
        (&alone["approval_level"], &alone["quorum"]),
        (&json!(1), &json!(1)),
        "{alone}"
    );
    let seen = one(&c, preview, &[&text.to_string(), &"bot"]).await;
    let met = submit(&c, "eve", &text, ", p_on_behalf_of => 'bot'").await;
    for field in ["approval_level", "rule"] {
        assert_eq!(seen[field], met[field], "{field}: {seen} {met}");
    }
    assert_eq!(
        (&seen["quorum"], &seen["roles"]),
        (&json!(2), &json!(["release"])),
        "{seen}"
    );
    refused(&one(&c, preview, &[&text.to_string(), &" "]).await, "name_blank");
}
