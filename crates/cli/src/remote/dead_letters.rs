//! Jobs that gave up: look, triage, replay.

use serde_json::json;
use tenure::store::dead_letters::DeadLetterFilter;
use uuid::Uuid;

use super::Request;

pub(crate) fn dead_letter_list(filter: &DeadLetterFilter) -> Request {
    Request::get(&["dead-letters"])
        .with("triage_status", filter.triage_status.as_deref())
        .with("kind", filter.kind.as_deref())
        .with("fingerprint", filter.fingerprint.as_deref())
        .with("before", filter.before)
        .with("limit", filter.limit)
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
