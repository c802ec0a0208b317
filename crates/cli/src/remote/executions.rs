//! Executions and their dead letters.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::store::Timestamp;
use tenure::store::archives::ArchiveFilter;
use tenure::store::executions::{ExecutionFilter, Submission, Verdict};
use tenure_core::plan::Plan;
use uuid::Uuid;

use super::Request;
use super::request::WAIT_SECONDS_MAX;

/// Safe to repeat, whether it has a key or not: the same plan of the same requester is the same execution.
pub(crate) fn execution_submit(plan: &Plan, submission: &Submission, wait: Duration) -> Request {
    let Submission {
        key,
        plan_hash,
        supersedes,
        start_after,
        start_before,
        metadata,
        on_behalf_of,
    } = submission;
    let body = json!({
        "plan": document(plan),
        "plan_hash": plan_hash.clone().unwrap_or_else(|| plan.hash()),
        "key": key,
        "supersedes": supersedes,
        "start_after": start_after,
        "start_before": start_before,
        "metadata": metadata,
        "on_behalf_of": on_behalf_of,
    });
    waiting(Request::post(&["executions"], body), wait)
}

pub(crate) fn execution_preview(plan: &Plan, on_behalf_of: Option<&str>) -> Request {
    let body = json!({"plan": document(plan), "on_behalf_of": on_behalf_of});
    Request::post(&["executions", "preview"], body)
}

/// The execution when nothing moves by itself any more, or as it is when this time is over.
pub(crate) fn execution_show(execution: Uuid, wait: Duration) -> Request {
    waiting(Request::get(&["executions", &execution.to_string()]), wait)
}

pub(crate) fn execution_list(filter: &ExecutionFilter) -> Request {
    let ExecutionFilter {
        state,
        requested_by,
        target,
        before,
        limit,
    } = filter;
    Request::get(&["executions"])
        .with("state", state.as_ref())
        .with("requested_by", requested_by.as_ref())
        .with("target", target.as_ref())
        .with("before", *before)
        .with("limit", *limit)
        .part("/executions")
}

pub(crate) fn execution_archive_list(filter: &ArchiveFilter) -> Request {
    let ArchiveFilter {
        state,
        requested_by,
        target,
        correlation_id,
        ended_after,
        ended_before,
        before,
        limit,
    } = filter;
    Request::get(&["executions", "archived"])
        .with("state", state.as_ref())
        .with("requested_by", requested_by.as_ref())
        .with("target", target.as_ref())
        .with("correlation_id", correlation_id.as_ref())
        .with("ended_after", *ended_after)
        .with("ended_before", *ended_before)
        .with("before", *before)
        .with("limit", *limit)
        .part("/executions")
}

pub(crate) fn execution_plan(execution: Uuid) -> Request {
    Request::get(&["executions", &execution.to_string(), "plan"]).part("/canonical")
}

pub(crate) fn step_list(execution: Uuid, state: Option<&str>) -> Request {
    Request::get(&["executions", &execution.to_string(), "steps"])
        .with("state", state)
        .part("/steps")
}

pub(crate) fn execution_timeline(execution: Uuid, after: Option<i32>, limit: i32) -> Request {
    Request::get(&["executions", &execution.to_string(), "timeline"])
        .with("after", after)
        .with("limit", Some(limit))
        .part("/events")
}

pub(crate) fn execution_difference(execution: Uuid, other: Uuid) -> Request {
    Request::get(&["executions", &execution.to_string(), "difference"]).with("other", Some(other))
}

pub(crate) fn execution_cancel(execution: Uuid, reason: &str, behalf: Option<&str>) -> Request {
    verb(execution, "cancel", json!({"reason": reason, "on_behalf_of": behalf}))
}

pub(crate) fn execution_withdraw(execution: Uuid, reason: &str) -> Request {
    verb(execution, "withdraw", json!({"reason": reason}))
}

pub(crate) fn execution_resolve(execution: Uuid, step: &str, verdict: &Verdict, behalf: Option<&str>) -> Request {
    let Verdict {
        verdict,
        reason,
        result,
    } = verdict;
    let body = json!({"step_id": step, "verdict": verdict, "reason": reason, "result": result, "on_behalf_of": behalf});
    verb(execution, "resolve", body)
}

pub(crate) fn execution_retry(execution: Uuid, mode: &str, reason: Option<&str>, behalf: Option<&str>) -> Request {
    verb(
        execution,
        "retry",
        json!({"mode": mode, "reason": reason, "on_behalf_of": behalf}),
    )
}

pub(crate) fn execution_close(execution: Uuid, reason: &str) -> Request {
    verb(execution, "close", json!({"reason": reason}))
}

pub(crate) fn execution_freeze(reason: &str, until: Option<Timestamp>) -> Request {
    Request::post(&["executions", "freeze"], json!({"reason": reason, "until": until}))
}

pub(crate) fn execution_unfreeze(reason: &str) -> Request {
    Request::post(&["executions", "unfreeze"], json!({"reason": reason}))
}

pub(crate) fn execution_dead_letter_list(days: i32, status: Option<&str>, limit: i32) -> Request {
    Request::get(&["execution-dead-letters"])
        .with("days", Some(days))
        .with("status", status)
        .with("limit", Some(limit))
        .part("/dead_letters")
}

pub(crate) fn execution_dead_letter_show(execution: Uuid) -> Request {
    Request::get(&["execution-dead-letters", &execution.to_string()])
}

pub(crate) fn execution_dead_letter_triage(execution: Uuid, status: &str, note: Option<&str>) -> Request {
    Request::post(
        &["execution-dead-letters", &execution.to_string(), "triage"],
        json!({"status": status, "note": note}),
    )
}

fn verb(execution: Uuid, verb: &str, body: Value) -> Request {
    Request::post(&["executions", &execution.to_string(), verb], body)
}

/// The server waits within its limit.
fn waiting(request: Request, wait: Duration) -> Request {
    let seconds = wait.as_secs().min(WAIT_SECONDS_MAX);
    let mut request = request.with("wait_seconds", (seconds > 0).then_some(seconds));
    request.wait = Duration::from_secs(seconds);
    request
}

/// The plan as a part of a body. Its numbers are kept as they are written.
fn document(plan: &Plan) -> Value {
    tenure_core::json::parse(plan.canonical()).unwrap_or_default()
}
