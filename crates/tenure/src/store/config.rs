//! Configuration and gates.

use serde_json::Value;
use tokio_postgres::GenericClient;

use super::call::{Call, row};
use crate::error::Result;

row! {
    /// A configuration key with its value in force.
    pub struct ConfigEntry {
        /// Its name.
        pub key: String,
        /// The value in force.
        pub value: Value,
        /// Where the value comes from.
        pub origin: String,
        /// The value when nobody has set one.
        pub default_value: Value,
        /// `boolean` or `integer`.
        pub value_type: String,
        /// The smallest value.
        pub value_min: Option<i64>,
        /// The largest value.
        pub value_max: Option<i64>,
        /// Whether it is a gate, which operators may set.
        pub is_gate: bool,
        /// What it decides.
        pub description: String,
    }
}

/// Every key (`tenure.config_list`).
pub async fn config_list(client: &impl GenericClient) -> Result<Vec<ConfigEntry>> {
    Call::new("config_list").rows(client).await
}

/// One value (`tenure.config_get`).
pub async fn config_get(client: &impl GenericClient, key: &str) -> Result<Value> {
    Call::new("config_get").with("p_key", &key).value(client).await
}

/// Sets a key, or takes its setting back with none (`tenure.config_set`).
pub async fn config_set(
    client: &impl GenericClient,
    key: &str,
    value: Option<&Value>,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("config_set")
        .with("p_key", &key)
        .nullable("p_value", &value)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Whether a gate lets work through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatePosition {
    /// Work goes on.
    Open,
    /// Nothing passes.
    Closed,
}

/// Opens or closes a gate (`tenure.gate_set`).
pub async fn gate_set(
    client: &impl GenericClient,
    key: &str,
    position: GatePosition,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    let position = match position {
        GatePosition::Open => "open",
        GatePosition::Closed => "closed",
    };
    Call::new("gate_set")
        .with("p_key", &key)
        .with("p_position", &position)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}
