//! Kinds of jobs, and who runs them.

use serde_json::{Value, json};
use tenure::store::executors::ExecutorBeat;

use super::Request;

pub(crate) fn kind_list() -> Request {
    Request::get(&["kinds"]).part("/kinds")
}

pub(crate) fn kind_show(kind: &str) -> Request {
    Request::get(&["kinds", kind])
}

pub(crate) fn kind_set(kind: &str, policy: &Value, behalf: Option<&str>) -> Request {
    Request::put(&["kinds", kind], json!({"policy": policy, "on_behalf_of": behalf}))
}

pub(crate) fn kind_pause(kind: &str, note: Option<&str>, behalf: Option<&str>) -> Request {
    Request::post(&["kinds", kind, "pause"], json!({"note": note, "on_behalf_of": behalf}))
}

pub(crate) fn kind_resume(kind: &str, behalf: Option<&str>) -> Request {
    Request::post(&["kinds", kind, "resume"], json!({"on_behalf_of": behalf}))
}

pub(crate) fn executor_list() -> Request {
    Request::get(&["executors"]).part("/executors")
}

pub(crate) fn executor_beat(beat: &ExecutorBeat) -> Request {
    let ExecutorBeat {
        name,
        executor,
        status,
        current_job_id,
        metadata,
        instance,
    } = beat;
    let body = json!({
        "name": name,
        "status": status,
        "current_job_id": current_job_id,
        "metadata": metadata,
        "instance": instance,
    });
    Request::post(&["executors", executor, "beat"], body)
}
