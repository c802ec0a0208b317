//! Jobs: put in, look at, decide about.

use std::time::Duration;

use serde_json::json;
use tenure::store::jobs::{CancelMode, JobFilter, NewJob};
use uuid::Uuid;

use super::Request;
use super::request::WAIT_SECONDS_MAX;

/// With a key the call is safe to repeat, and is repeated when its answer is lost.
pub(crate) fn job_enqueue(job: &NewJob) -> Request {
    // Every field by its name: a new one does not compile until somebody sends it.
    let NewJob {
        kind,
        payload,
        key,
        executor,
        priority,
        due,
        deadline,
        source_ref,
        target_ref,
        payload_ref,
        classification,
        attempts_max,
        correlation_id,
        causation_event: _,
        parent_job_id,
        workflow_id,
        run_id,
        affinity_key,
        event_domain,
        source_system,
        job_id,
    } = job;
    let body = json!({
        "kind": kind,
        "payload": payload,
        "key": key,
        "executor": executor,
        "priority": priority,
        "due": due,
        "deadline": deadline,
        "source_ref": source_ref,
        "target_ref": target_ref,
        "payload_ref": payload_ref,
        "classification": classification,
        "attempts_max": attempts_max,
        "correlation_id": correlation_id,
        "parent_job_id": parent_job_id,
        "workflow_id": workflow_id,
        "run_id": run_id,
        "affinity_key": affinity_key,
        "event_domain": event_domain,
        "source_system": source_system,
        "job_id": job_id,
    });
    Request::post(&["jobs"], body)
}

pub(crate) fn job_list(filter: &JobFilter) -> Request {
    let JobFilter {
        state,
        kind,
        executor,
        correlation_id,
        created_after,
        created_before,
        error_code,
        before,
        limit,
    } = filter;
    Request::get(&["jobs"])
        .with("state", state.as_ref())
        .with("kind", kind.as_ref())
        .with("executor", executor.as_ref())
        .with("correlation_id", correlation_id.as_ref())
        .with("created_after", created_after.as_ref())
        .with("created_before", created_before.as_ref())
        .with("error_code", error_code.as_ref())
        .with("before", before.as_ref())
        .with("limit", limit.as_ref())
        .part("/jobs")
}

pub(crate) fn job_show(job: Uuid) -> Request {
    Request::get(&["jobs", &job.to_string()])
}

/// The job when it has ended, or as it is when this time is over; a server waits within its limit.
pub(crate) fn job_end(job: Uuid, wait: Duration) -> Request {
    let seconds = wait.as_secs().min(WAIT_SECONDS_MAX);
    let mut request = job_show(job).with("wait_seconds", Some(seconds));
    request.wait = Duration::from_secs(seconds);
    request
}

pub(crate) fn job_timeline(job: Uuid) -> Request {
    Request::get(&["jobs", &job.to_string(), "timeline"]).part("/moments")
}

pub(crate) fn job_explain(job: Uuid) -> Request {
    Request::get(&["jobs", &job.to_string(), "explain"])
}

pub(crate) fn job_cancel(job: Uuid, reason: &str, mode: CancelMode, behalf: Option<&str>) -> Request {
    let mode = match mode {
        CancelMode::Cooperative => "cooperative",
        CancelMode::Force => "force",
    };
    let body = json!({"reason": reason, "mode": mode, "on_behalf_of": behalf});
    Request::post(&["jobs", &job.to_string(), "cancel"], body)
}

pub(crate) fn job_retry(job: Uuid, reason: Option<&str>, behalf: Option<&str>) -> Request {
    let body = json!({"reason": reason, "on_behalf_of": behalf});
    Request::post(&["jobs", &job.to_string(), "retry"], body)
}

pub(crate) fn job_dead_letter(job: Uuid, reason: &str, behalf: Option<&str>) -> Request {
    let body = json!({"reason": reason, "on_behalf_of": behalf});
    Request::post(&["jobs", &job.to_string(), "dead-letter"], body)
}
