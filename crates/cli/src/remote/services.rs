//! What the services do by themselves, done now; and what an operator should know about the database.

use serde_json::json;
use tenure::store::leases::ReapMode;

use super::Request;

pub(crate) fn job_reap(mode: ReapMode, limit: i32) -> Request {
    let mode = match mode {
        ReapMode::Apply => "apply",
        ReapMode::DryRun => "dry_run",
    };
    Request::post(&["jobs", "reap"], json!({"mode": mode, "limit": limit})).part("/jobs")
}

pub(crate) fn job_sweep(limit: i32) -> Request {
    Request::post(&["jobs", "sweep"], json!({"limit": limit}))
}

pub(crate) fn doctor() -> Request {
    Request::get(&["doctor"])
}

pub(crate) fn stream_lag() -> Request {
    Request::get(&["events", "lag"]).part("/lags")
}
