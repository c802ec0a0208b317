//! How long an execution and its steps may take: what a plan sets itself, what it is warned of, and how often a lease is renewed.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{act, ask, check_executions, id, people, plan, state_of, submit, tick, work, work_all};
use crate::fixture::{check_invariants, get, one, raised, reap, refused, rows, run, state, try_rows, verb};
use crate::locks::steps;

async fn preview(c: &Client, plan: &Value) -> Value {
    one(c, "select tenure.execution_preview($1)", &[&plan.to_string()]).await
}

fn warnings(preview: &Value) -> Vec<String> {
    serde_json::from_value(preview["warnings"].clone()).unwrap_or_else(|_| panic!("{preview}"))
}

#[tokio::test]
async fn a_plan_sets_the_timeout_of_its_execution_within_what_the_tenant_allows() {
    let (db, c) = people().await;
    let mut text = plan("long", &["a read"]);
    text["timeout_seconds"] = json!(3600);
    let execution = id(&submit(&c, "eve", &text, "").await, "execution_id");
    let set: i32 = get(
        &c,
        "select timeout_ms from tenure.execution_rows where execution_id = $1",
        &[&execution],
    )
    .await;
    assert_eq!(set, 3_600_000);
    assert_eq!(preview(&c, &text).await["timeout_seconds"], 3600);
    db.advance("59 minutes").await;
    tick(&c).await;
    assert_eq!(state_of(&c, execution).await, "running");
    db.advance("1 minute 1 second").await;
    tick(&c).await;
    let stopping: Option<String> = get(
        &c,
        "select coalesce(stopping, reason_code) from tenure.execution_rows where execution_id = $1",
        &[&execution],
    )
    .await;
    assert_eq!(stopping.as_deref(), Some("timed_out"));

    text["purpose"] = json!("too long");
    text["timeout_seconds"] = json!(86401);
    let answer = submit(&c, "eve", &text, "").await;
    refused(&answer, "number_out_of_range");
    assert!(
        answer["why"]
            .as_str()
            .expect("text")
            .contains("executions.timeout_seconds_max"),
        "{answer}"
    );
    raised(
        try_rows(&c, "select tenure.execution_preview($1)", &[&text.to_string()]).await,
        "number_out_of_range",
    );
    act(&c, "pam").await;
    run(
        &c,
        "select tenure.config_set('executions.timeout_seconds_max', '604800')",
    )
    .await;
    assert_ne!(submit(&c, "eve", &text, "").await["refused"], true);
    text["purpose"] = json!("beyond");
    text["timeout_seconds"] = json!(604_801);
    refused(&submit(&c, "eve", &text, "").await, "number_out_of_range");
    check_executions(&c).await;
}

/// Along the longest chain of needs, not their sum.
#[tokio::test]
async fn a_preview_warns_when_the_steps_of_a_plan_do_not_fit_into_its_time() {
    let (_db, c) = people().await;
    let mut text = plan("p", &["d read b c", "a read", "b read a", "c read a"]);
    for (at, seconds) in [(0, 40), (1, 100), (2, 30), (3, 60)] {
        text["steps"][at]["timeout_seconds"] = json!(seconds);
    }
    text["timeout_seconds"] = json!(200);
    assert!(warnings(&preview(&c, &text).await).is_empty());
    text["timeout_seconds"] = json!(199);
    assert_eq!(
        warnings(&preview(&c, &text).await),
        ["Its steps do not fit: a → c → d may take 200 seconds, the execution 199."]
    );
    assert_eq!(
        tenure_core::Plan::read(&text.to_string())
            .expect("a plan")
            .time_warning()
            .as_deref(),
        Some("Its steps do not fit: a → c → d may take 200 seconds, the execution 199.")
    );
    // What steps leave to the policy counts as the policy says: 60 seconds each, 600 the execution.
    let many: Vec<String> = (0..11)
        .map(|n| {
            if n == 0 {
                "s0 read".to_owned()
            } else {
                format!("s{n} read s{}", n - 1)
            }
        })
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let said = warnings(&preview(&c, &plan("many", &many)).await);
    assert_eq!(
        said,
        ["Its steps do not fit: s0 → s1 → … → s9 → s10 may take 660 seconds, the execution 600."]
    );
    assert!(warnings(&preview(&c, &plan("ten", &many[..10])).await).is_empty());
}

/// A thousand steps, each of which needs the one before it, are no trouble; nor is their number of ways.
#[tokio::test]
async fn the_longest_chain_of_a_large_plan_is_found() {
    let (_db, c) = people().await;
    let steps: Vec<String> = (0..1000_usize)
        .map(|n| {
            let needs: Vec<String> = (n.saturating_sub(20)..n).map(|need| format!("s{need}")).collect();
            format!("s{n} read {}", needs.join(" ")).trim_end().to_owned()
        })
        .collect();
    let steps: Vec<&str> = steps.iter().rev().map(String::as_str).collect();
    let said = warnings(&preview(&c, &plan("large", &steps)).await);
    assert!(
        said[0].contains("may take 60000 seconds, the execution 600"),
        "{said:?}"
    );
}

async fn policy(c: &Client, spec: Value) {
    act(c, "pam").await;
    let set = one(c, "select tenure.timeout_policy_set('long', 'read', $1)", &[&spec]).await;
    assert_ne!(set["refused"], true, "{set}");
}

/// An execution of one step of this much time, which has begun; and who holds it.
async fn begun(c: &Client, purpose: &str, more: Value) -> (Uuid, crate::fixture::Claimed) {
    let mut text = plan(purpose, &["a read"]);
    text["timeout_seconds"] = json!(3600);
    // How long steps of a kind took of late counts for its leases: each has a kind of its own.
    text["steps"][0]["kind"] = json!(purpose);
    for (field, value) in more.as_object().expect("fields") {
        text["steps"][0][field] = value.clone();
    }
    let execution = id(&submit(c, "eve", &text, "").await, "execution_id");
    (execution, work(c).await)
}

async fn letters(c: &Client, job: Uuid) -> i64 {
    get(
        c,
        "select count(*) from tenure.dead_letters where job_id = $1 and error_code = 'renewals_exceeded'",
        &[&job],
    )
    .await
}

/// Document 003: maximum lease renewals before the job is pushed to the dead letters.
/// Proves: S209.
#[tokio::test]
async fn a_step_whose_lease_was_renewed_as_often_as_its_policy_allows_is_dead_lettered() {
    let (db, c) = people().await;
    policy(
        &c,
        json!({"step_timeout_ms": 10_000, "lease_ms": 30_000, "renewals_max": 2}),
    )
    .await;
    for (effects, becomes, ends) in [("idempotent", "failed", "failed"), ("once", "unknown", "running")] {
        let more = json!({"timeout_seconds": 600, "effects": effects});
        let (execution, held) = begun(&c, effects, more.clone()).await;
        // The lease and two renewals: a minute and a half.
        for _ in 0..5 {
            db.advance("17 seconds").await;
            verb(&c, "job_heartbeat", &held, "").await;
            assert_eq!(reap(&c).await, [], "{effects}");
        }
        db.advance("6 seconds").await;
        let found = reap(&c).await;
        assert_eq!(
            found,
            [(held.job_id, "renewals_exceeded".to_owned(), "dead_letter".to_owned())],
            "{effects}"
        );
        assert_eq!(state(&c, held.job_id).await, "dead_letter");
        assert_eq!(letters(&c, held.job_id).await, 1, "{effects}");
        assert_eq!(steps(&c, &[execution]).await, [becomes], "{effects}");
        assert_eq!(state_of(&c, execution).await, ends, "{effects}");
    }
    // With more renewals it has all the time that its plan gives it.
    policy(&c, json!({"renewals_max": 100})).await;
    let (execution, held) = begun(&c, "more", json!({"timeout_seconds": 600})).await;
    for _ in 0..20 {
        db.advance("15 seconds").await;
        verb(&c, "job_heartbeat", &held, "").await;
        assert_eq!(reap(&c).await, []);
    }
    verb(&c, "job_complete", &held, "").await;
    assert_eq!(state_of(&c, execution).await, "succeeded");
    check_executions(&c).await;
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_preview_warns_of_a_step_that_has_more_time_than_its_lease_and_renewals() {
    let (_db, c) = people().await;
    policy(
        &c,
        json!({"step_timeout_ms": 10_000, "lease_ms": 30_000, "renewals_max": 2}),
    )
    .await;
    let mut text = plan("p", &["a read"]);
    text["steps"][0]["timeout_seconds"] = json!(90);
    assert!(warnings(&preview(&c, &text).await).is_empty());
    text["steps"][0]["timeout_seconds"] = json!(91);
    let said = warnings(&preview(&c, &text).await);
    assert_eq!(
        said,
        ["Step a has 91 seconds, but its lease and its renewals end after 90: then it is dead-lettered."]
    );
}

/// What is written of an approval that is asked for: enough for a message to an approver.
#[tokio::test]
async fn the_event_that_asks_for_an_approval_names_it_its_purpose_and_where_it_is_decided() {
    let (_db, c) = people().await;
    let mut text = plan("careful", &["a modify"]);
    text["approval_level"] = json!(3);
    let asked = ask(&c, &text).await;
    act(&c, "ada").await;
    let decide = "select tenure.approval_decide($1, 'approve', $2)";
    one(&c, decide, &[&asked.approval, &asked.hash.as_str()]).await;
    let told: Vec<Value> = rows(
        &c,
        "select e.data from tenure.events e where e.kind = 'approval.requested' order by e.at, e.data -> 'seq'",
        &[],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    let ids: Vec<String> = rows(
        &c,
        "select approval_id::text from tenure.approvals order by created_at, approval_id",
        &[],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    assert_eq!(told.len(), 2, "of the plan, and of its step: {told:?}");
    for (data, approval) in told.iter().zip(&ids) {
        assert_eq!(data["approval_id"], approval.as_str(), "{data}");
        assert_eq!(data["link"], format!("/v1/approvals/{approval}"), "{data}");
        assert_eq!(
            (&data["purpose"], &data["requested_by"]),
            (&json!("careful"), &json!("eve")),
            "{data}"
        );
        assert_eq!(
            (&data["level"], &data["plan_hash"]),
            (&json!(3), &json!(asked.hash)),
            "{data}"
        );
    }
    assert_eq!(told[1]["step"], "a");
    // With the address of the server it is a link that people can follow.
    act(&c, "pam").await;
    let set = "select tenure.config_set('server.public_url', $1)";
    for wrong in [
        json!(7),
        json!("ftp://x"),
        json!("https://a b"),
        json!("https://".to_owned() + &"x".repeat(2000)),
    ] {
        refused(&one(&c, set, &[&wrong]).await, "config_invalid");
    }
    one(&c, set, &[&json!("https://tenure.example.org/")]).await;
    let other = ask(&c, &plan("other", &["a modify"])).await;
    let link: String = get(
        &c,
        "select data ->> 'link' from tenure.execution_timeline($1) where kind = 'approval_requested'",
        &[&other.execution],
    )
    .await;
    assert_eq!(
        link,
        format!("https://tenure.example.org/v1/approvals/{}", other.approval)
    );
    work_all(&c).await;
    check_executions(&c).await;
}
