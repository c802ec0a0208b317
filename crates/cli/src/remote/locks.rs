//! Locks, and how long things may take.

use serde_json::{Value, json};
use tenure::store::locks::HeldLock;

use super::Request;

pub(crate) fn lock_list(target: Option<&str>, limit: i32) -> Request {
    Request::get(&["locks"])
        .with("target", target)
        .with("limit", Some(limit))
        .part("/locks")
}

pub(crate) fn lock_waiters(part: &str, limit: i32) -> Request {
    Request::get(&["locks", "waiters"])
        .with("part", Some(part))
        .with("limit", Some(limit))
        .part("/waiters")
}

pub(crate) fn lock_acquire(parts: &[String], seconds: i32, reason: Option<&str>) -> Request {
    let body = json!({"parts": parts, "seconds": seconds, "reason": reason});
    Request::post(&["locks", "acquire"], body)
}

pub(crate) fn lock_renew(locks: &[HeldLock], seconds: i32) -> Request {
    let body = json!({"locks": held(locks), "seconds": seconds});
    Request::post(&["locks", "renew"], body)
}

pub(crate) fn lock_release(locks: &[HeldLock]) -> Request {
    Request::post(&["locks", "release"], json!({"locks": held(locks)}))
}

pub(crate) fn lock_break(part: &str, reason: &str) -> Request {
    Request::post(&["locks", "break"], json!({"part": part, "reason": reason}))
}

pub(crate) fn timeout_policy_list() -> Request {
    Request::get(&["timeout-policies"]).part("/policies")
}

pub(crate) fn timeout_policy_set(sla_class: &str, action_class: &str, spec: &Value) -> Request {
    Request::put(&["timeout-policies", sla_class, action_class], spec.clone())
}

fn held(locks: &[HeldLock]) -> Vec<Value> {
    let one = |HeldLock { part, fence }: &HeldLock| json!({"part": part, "fence": fence});
    locks.iter().map(one).collect()
}
