//! Approvals and the rules about them.

use serde_json::{Value, json};
use tenure::store::approvals::Decision;
use uuid::Uuid;

use super::Request;

/// Those in this state; none: in any.
pub(crate) fn approval_list(execution: Option<Uuid>, state: Option<&str>, limit: i32) -> Request {
    Request::get(&["approvals"])
        .with("execution_id", execution)
        .with("state", Some(state.unwrap_or("any")))
        .with("limit", Some(limit))
        .part("/approvals")
}

pub(crate) fn approval_show(approval: Uuid) -> Request {
    Request::get(&["approvals", &approval.to_string()])
}

pub(crate) fn approval_votes_of(approval: Uuid) -> Request {
    Request::get(&["approvals", &approval.to_string(), "votes"]).part("/votes")
}

pub(crate) fn approval_decide(approval: Uuid, decision: &Decision, behalf: Option<&str>) -> Request {
    let Decision {
        decision,
        plan_hash,
        comment,
    } = decision;
    let body = json!({"decision": decision, "plan_hash": plan_hash, "comment": comment, "on_behalf_of": behalf});
    Request::post(&["approvals", &approval.to_string(), "decide"], body)
}

pub(crate) fn approval_rule_list() -> Request {
    Request::get(&["approval-rules"]).part("/rules")
}

pub(crate) fn approval_rule_set(name: &str, spec: &Value) -> Request {
    Request::put(&["approval-rules", name], spec.clone())
}

pub(crate) fn approval_rule_delete(name: &str) -> Request {
    Request::delete(&["approval-rules", name])
}
