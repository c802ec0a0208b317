//! Schedules and their slots.

use serde_json::{Value, json};
use tenure::store::Timestamp;
use tenure::store::schedules::SlotFilter;

use super::Request;

pub(crate) fn schedule_list(limit: i32, after: Option<&str>) -> Request {
    Request::get(&["schedules"])
        .with("limit", Some(limit))
        .with("after", after)
        .part("/schedules")
}

pub(crate) fn schedule_show(name: &str) -> Request {
    Request::get(&["schedules", name])
}

pub(crate) fn schedule_create(name: &str, spec: &Value, behalf: Option<&str>) -> Request {
    let mut body = told(spec, behalf);
    body["name"] = json!(name);
    Request::post(&["schedules"], body)
}

pub(crate) fn schedule_update(name: &str, changes: &Value, behalf: Option<&str>) -> Request {
    Request::patch(&["schedules", name], told(changes, behalf))
}

pub(crate) fn schedule_put(name: &str, spec: &Value, behalf: Option<&str>) -> Request {
    Request::put(&["schedules", name], told(spec, behalf))
}

pub(crate) fn schedule_delete(name: &str) -> Request {
    Request::delete(&["schedules", name])
}

pub(crate) fn schedule_pause(name: &str, note: Option<&str>, behalf: Option<&str>) -> Request {
    let body = json!({"note": note, "on_behalf_of": behalf});
    Request::post(&["schedules", name, "pause"], body)
}

pub(crate) fn schedule_resume(name: &str, behalf: Option<&str>) -> Request {
    Request::post(&["schedules", name, "resume"], json!({"on_behalf_of": behalf}))
}

pub(crate) fn schedule_run(name: &str, behalf: Option<&str>) -> Request {
    Request::post(&["schedules", name, "run"], json!({"on_behalf_of": behalf}))
}

pub(crate) fn schedule_backfill(
    name: &str,
    (from, until): (Timestamp, Timestamp),
    mode: &str,
    stagger_seconds: Option<i32>,
    behalf: Option<&str>,
) -> Request {
    let body = json!({
        "from": from,
        "until": until,
        "mode": mode,
        "stagger_seconds": stagger_seconds,
        "on_behalf_of": behalf,
    });
    Request::post(&["schedules", name, "backfill"], body).part("/slots")
}

pub(crate) fn schedule_preview(name: &str, count: u32) -> Request {
    Request::get(&["schedules", name, "preview"]).with("count", Some(count))
}

pub(crate) fn schedule_slots(name: &str, filter: &SlotFilter) -> Request {
    let SlotFilter {
        state,
        from,
        until,
        limit,
        before,
    } = filter;
    Request::get(&["schedules", name, "slots"])
        .with("state", state.as_ref())
        .with("from", *from)
        .with("until", *until)
        .with("limit", *limit)
        .with("before", *before)
        .part("/slots")
}

pub(crate) fn schedule_explain(name: &str, at: Timestamp) -> Request {
    Request::get(&["schedules", name, "explain"]).with("at", Some(at))
}

/// The fields that were given, and for whom.
fn told(fields: &Value, behalf: Option<&str>) -> Value {
    let mut body = fields.clone();
    if let Some(behalf) = behalf {
        body["on_behalf_of"] = json!(behalf);
    }
    body
}
