//! Work under way: claim, start, renew, end.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::store::jobs::{Claim, ClaimMode, End, Hold, Outcome};

use super::Request;
use super::request::WAIT_SECONDS_MAX;

/// Claims one job; the server waits this long for one, within its limit.
pub(crate) fn job_claim(claim: &Claim, wait: Duration) -> Request {
    // What only a worker of ours asks for has no field in the API.
    let Claim {
        worker,
        executor,
        kinds,
        limit: _,
        lease_seconds,
        mode,
        token: _,
        affinity_key,
        priority_min,
        lane_after: _,
        hint: _,
        hint_alone: _,
    } = claim;
    let mode = match mode {
        ClaimMode::Leased => "leased",
        ClaimMode::Started => "started",
    };
    let seconds = wait.as_secs().min(WAIT_SECONDS_MAX);
    let body = json!({
        "worker": worker,
        "executor": executor,
        "kinds": kinds,
        "limit": 1,
        "lease_seconds": lease_seconds,
        "mode": mode,
        "affinity_key": affinity_key,
        "priority_min": priority_min,
        "wait_seconds": seconds,
    });
    let mut request = Request::post(&["jobs", "claim"], body).part("/jobs/0");
    request.wait = Duration::from_secs(seconds);
    request
}

pub(crate) fn job_start(hold: Hold) -> Request {
    of_hold(hold, "start", json!({}))
}

pub(crate) fn job_heartbeat(hold: Hold, lease_seconds: Option<i32>) -> Request {
    of_hold(hold, "heartbeat", json!({"lease_seconds": lease_seconds}))
}

pub(crate) fn job_progress(hold: Hold, progress: &Value) -> Request {
    of_hold(hold, "progress", json!({"progress": progress}))
}

pub(crate) fn job_complete(hold: Hold, result: Option<&Value>, reference: Option<&str>) -> Request {
    of_hold(hold, "complete", json!({"result": result, "result_ref": reference}))
}

pub(crate) fn job_fail(end: &End) -> Request {
    let body = json!({
        "message": end.error_message,
        "code": end.error_code,
        "class": end.error_class,
        "permanent": end.outcome == Outcome::FailedPermanently,
        "retry_seconds": end.delay_seconds,
    });
    of_hold(end.hold, "fail", body)
}

pub(crate) fn job_snooze(hold: Hold, seconds: i32) -> Request {
    of_hold(hold, "snooze", json!({"seconds": seconds}))
}

pub(crate) fn job_release(hold: Hold) -> Request {
    of_hold(hold, "release", json!({}))
}

pub(crate) fn job_acknowledge_cancel(hold: Hold) -> Request {
    of_hold(hold, "acknowledge-cancel", json!({}))
}

fn of_hold(hold: Hold, verb: &str, mut body: Value) -> Request {
    body["token"] = json!(hold.token);
    Request::post(&["jobs", &hold.job_id.to_string(), verb], body)
}
