//! Tenants, principals and keys.

use serde_json::{Value, json};
use tenure::store::principals::NewKey;
use tenure::store::tenants::LoginBinding;

use super::Request;

pub(crate) fn tenant_list() -> Request {
    Request::get(&["tenants"]).part("/tenants")
}

pub(crate) fn tenant_create(name: &str, behalf: Option<&str>) -> Request {
    Request::post(&["tenants"], json!({"name": name, "on_behalf_of": behalf}))
}

pub(crate) fn login_bind(binding: &LoginBinding) -> Request {
    let LoginBinding {
        login,
        tenant,
        principal,
        executors,
        kinds,
        payload_access,
    } = binding;
    let body = json!({
        "tenant": tenant,
        "principal": principal,
        "executors": executors,
        "kinds": kinds,
        "payload_access": payload_access,
    });
    Request::put(&["logins", login], body)
}

pub(crate) fn login_unbind(login: &str) -> Request {
    Request::delete(&["logins", login])
}

pub(crate) fn principal_list() -> Request {
    Request::get(&["principals"]).part("/principals")
}

pub(crate) fn principal_create(name: &str, kind: &str, email: Option<&str>) -> Request {
    Request::post(&["principals"], json!({"name": name, "kind": kind, "email": email}))
}

pub(crate) fn principal_set(name: &str, spec: &Value) -> Request {
    Request::patch(&["principals", name], spec.clone())
}

pub(crate) fn key_list() -> Request {
    Request::get(&["keys"]).part("/keys")
}

/// The server makes the secret, and its answer is the only one that has it.
pub(crate) fn key_create(key: &NewKey) -> Request {
    let NewKey {
        principal,
        prefix: _,
        digest: _,
        roles,
        approver_level,
        executors,
        kinds,
        payload_access,
        expires_at,
        note,
    } = key;
    let body = json!({
        "principal": principal,
        "roles": roles,
        "approver_level": approver_level,
        "executors": executors,
        "kinds": kinds,
        "payload_access": payload_access,
        "expires_at": expires_at,
        "note": note,
    });
    Request::post(&["keys"], body)
}

pub(crate) fn key_revoke(prefix: &str) -> Request {
    Request::delete(&["keys", prefix])
}
