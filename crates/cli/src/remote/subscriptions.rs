//! Subscriptions, and what is on its way to webhooks.

use serde_json::json;
use tenure::store::subscriptions::NewSubscription;
use uuid::Uuid;

use super::Request;

pub(crate) fn subscription_list() -> Request {
    Request::get(&["subscriptions"]).part("/subscriptions")
}

pub(crate) fn subscription_create(new: &NewSubscription) -> Request {
    let NewSubscription {
        name,
        event_kinds,
        target,
        filter,
        from,
        job_kind,
        executor,
        priority,
        depth_max,
        url,
        on_behalf_of,
    } = new;
    let body = json!({
        "name": name,
        "event_kinds": event_kinds,
        "target": target,
        "filter": filter,
        "from": from,
        "job_kind": job_kind,
        "executor": executor,
        "priority": priority,
        "depth_max": depth_max,
        "url": url,
        "on_behalf_of": on_behalf_of,
    });
    Request::post(&["subscriptions"], body)
}

pub(crate) fn subscription_delete(name: &str) -> Request {
    Request::delete(&["subscriptions", name])
}

pub(crate) fn subscription_pause(name: &str, note: Option<&str>, behalf: Option<&str>) -> Request {
    let body = json!({"note": note, "on_behalf_of": behalf});
    Request::post(&["subscriptions", name, "pause"], body)
}

pub(crate) fn subscription_resume(name: &str, from: Option<&str>, behalf: Option<&str>) -> Request {
    let body = json!({"from": from, "on_behalf_of": behalf});
    Request::post(&["subscriptions", name, "resume"], body)
}

pub(crate) fn subscription_rotate(name: &str) -> Request {
    Request::post(&["subscriptions", name, "rotate"], json!({}))
}

pub(crate) fn subscription_read(name: &str, limit: i32) -> Request {
    let request = Request::get(&["subscriptions", name, "events"]);
    request.with("limit", Some(limit)).part("/events")
}

pub(crate) fn subscription_ack(name: &str, cursor: &str) -> Request {
    Request::post(&["subscriptions", name, "ack"], json!({"cursor": cursor}))
}

pub(crate) fn delivery_list(name: &str, state: Option<&str>, limit: i32, before: Option<i64>) -> Request {
    Request::get(&["subscriptions", name, "deliveries"])
        .with("state", state)
        .with("limit", Some(limit))
        .with("before", before)
        .part("/deliveries")
}

pub(crate) fn delivery_retry(delivery_id: Uuid) -> Request {
    Request::post(&["deliveries", &delivery_id.to_string(), "retry"], json!({}))
}
