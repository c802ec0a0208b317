//! Jobs: put in, look at, decide about.

use serde_json::json;
use tenure::store::jobs::{CancelMode, JobFilter, NewJob};
use uuid::Uuid;

use super::Request;

/// With a key the call is safe to repeat, and is repeated when its answer is lost.
pub(crate) fn job_enqueue(job: &NewJob) -> Request {
    let body = json!({
        "kind": job.kind,
        "payload": job.payload,
        "key": job.key,
        "executor": job.executor,
        "priority": job.priority,
        "due": job.due,
        "deadline": job.deadline,
        "source_ref": job.source_ref,
        "target_ref": job.target_ref,
        "payload_ref": job.payload_ref,
        "classification": job.classification,
        "attempts_max": job.attempts_max,
        "correlation_id": job.correlation_id,
        "parent_job_id": job.parent_job_id,
        "affinity_key": job.affinity_key,
        "event_domain": job.event_domain,
        "source_system": job.source_system,
        "job_id": job.job_id,
    });
    let mut request = Request::post(&["jobs"], body);
    request.repeatable = job.key.is_some();
    request
}

pub(crate) fn job_list(filter: &JobFilter) -> Request {
    Request::get(&["jobs"])
        .with("state", filter.state.as_deref())
        .with("kind", filter.kind.as_deref())
        .with("executor", filter.executor.as_deref())
        .with("correlation_id", filter.correlation_id.as_deref())
        .with("before", filter.before)
        .with("limit", filter.limit)
        .part("/jobs")
}

pub(crate) fn job_show(job: Uuid) -> Request {
    Request::get(&["jobs", &job.to_string()])
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
