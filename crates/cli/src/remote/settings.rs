//! Settings and gates.

use serde_json::{Value, json};
use tenure::store::config::GatePosition;

use super::Request;

pub(crate) fn config_list() -> Request {
    Request::get(&["config"]).part("/settings")
}

pub(crate) fn config_get(key: &str) -> Request {
    Request::get(&["config", key]).part("/value")
}

pub(crate) fn config_set(key: &str, value: Option<&Value>, behalf: Option<&str>) -> Request {
    Request::put(&["config", key], json!({"value": value, "on_behalf_of": behalf}))
}

pub(crate) fn gate_set(key: &str, position: GatePosition, behalf: Option<&str>) -> Request {
    let position = match position {
        GatePosition::Open => "open",
        GatePosition::Closed => "closed",
    };
    Request::put(&["gates", key], json!({"position": position, "on_behalf_of": behalf}))
}
