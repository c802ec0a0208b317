//! Tenants, principals and keys.

use serde_json::json;
use tenure::store::principals::NewKey;

use super::Request;

pub(crate) fn tenant_list() -> Request {
    Request::get(&["tenants"]).part("/tenants")
}

pub(crate) fn tenant_create(name: &str, behalf: Option<&str>) -> Request {
    Request::post(&["tenants"], json!({"name": name, "on_behalf_of": behalf}))
}

pub(crate) fn principal_list() -> Request {
    Request::get(&["principals"]).part("/principals")
}

pub(crate) fn principal_create(name: &str, kind: &str, email: Option<&str>) -> Request {
    Request::post(&["principals"], json!({"name": name, "kind": kind, "email": email}))
}

pub(crate) fn key_list() -> Request {
    Request::get(&["keys"]).part("/keys")
}

/// The server makes the secret, and its answer is the only one that has it.
pub(crate) fn key_create(key: &NewKey) -> Request {
    let body = json!({
        "principal": key.principal,
        "roles": key.roles,
        "approver_level": key.approver_level,
        "executors": key.executors,
        "kinds": key.kinds,
        "payload_access": key.payload_access,
        "expires_at": key.expires_at,
        "note": key.note,
    });
    Request::post(&["keys"], body)
}

pub(crate) fn key_revoke(prefix: &str) -> Request {
    Request::delete(&["keys", prefix])
}
