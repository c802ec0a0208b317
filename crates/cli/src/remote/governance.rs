//! Actions, target types, and changes of them and of rules that wait for a second admin.

use serde_json::{Value, json};
use uuid::Uuid;

use super::Request;

pub(crate) fn action_list() -> Request {
    Request::get(&["actions"]).part("/actions")
}

pub(crate) fn action_show(action: &str, kind: Option<&str>) -> Request {
    Request::get(&["actions", action]).with("kind", kind)
}

pub(crate) fn action_set(name: &str, spec: &Value) -> Request {
    Request::put(&["actions", name], spec.clone())
}

pub(crate) fn action_delete(name: &str) -> Request {
    Request::delete(&["actions", name])
}

pub(crate) fn target_type_list() -> Request {
    Request::get(&["target-types"]).part("/target_types")
}

pub(crate) fn target_type_set(name: &str, spec: &Value) -> Request {
    Request::put(&["target-types", name], spec.clone())
}

pub(crate) fn target_type_delete(name: &str) -> Request {
    Request::delete(&["target-types", name])
}

/// Those in this state; none: in any.
pub(crate) fn governance_change_list(state: Option<&str>, limit: i32) -> Request {
    Request::get(&["governance-changes"])
        .with("state", Some(state.unwrap_or("any")))
        .with("limit", Some(limit))
        .part("/changes")
}

pub(crate) fn governance_change_decide(change: Uuid, decision: &str, comment: Option<&str>) -> Request {
    let body = json!({"decision": decision, "comment": comment});
    Request::post(&["governance-changes", &change.to_string(), "decide"], body)
}
