//! Jobs that gave up: look, triage, replay.

use serde_json::json;
use tenure::store::dead_letters::DeadLetterFilter;
use uuid::Uuid;

use super::Request;

pub(crate) fn dead_letter_list(filter: &DeadLetterFilter) -> Request {
    let DeadLetterFilter {
        triage_status,
        kind,
        fingerprint,
        before,
        before_id,
        limit,
    } = filter;
    Request::get(&["dead-letters"])
        .with("triage_status", triage_status.as_ref())
        .with("kind", kind.as_ref())
        .with("fingerprint", fingerprint.as_ref())
        .with("before", before.as_ref())
        .with("before_id", before_id.as_ref())
        .with("limit", limit.as_ref())
        .part("/dead_letters")
}

pub(crate) fn dead_letter_show(id: Uuid) -> Request {
    Request::get(&["dead-letters", &id.to_string()])
}

pub(crate) fn dead_letter_triage(id: Uuid, status: &str, note: Option<&str>, behalf: Option<&str>) -> Request {
    let body = json!({"status": status, "note": note, "on_behalf_of": behalf});
    Request::post(&["dead-letters", &id.to_string(), "triage"], body)
}

pub(crate) fn dead_letter_replay_preview(id: Uuid) -> Request {
    Request::get(&["dead-letters", &id.to_string(), "replay"])
}

pub(crate) fn dead_letter_replay(id: Uuid, behalf: Option<&str>) -> Request {
    Request::post(
        &["dead-letters", &id.to_string(), "replay"],
        json!({"on_behalf_of": behalf}),
    )
}
