//! Settings and gates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::governed::{GOVERNED_STATUSES, Governed};
use crate::{Effect, Json, Operation, Page, Route, Shape, words};

words! {
    /// Where the value of a setting comes from.
    pub enum SettingOrigin {
        /// No value was set.
        Default = "default",
        /// It was set for the installation.
        Installation = "installation",
        /// It was set for the tenant.
        Tenant = "tenant",
    }
}

words! {
    /// The type of a setting.
    pub enum SettingType {
        /// `true` or `false`.
        Boolean = "boolean",
        /// A whole number.
        Integer = "integer",
        /// A URL, or empty.
        Text = "text",
    }
}

words! {
    /// The position of a gate.
    pub enum GatePosition {
        /// What it guards may run.
        Open = "open",
        /// What it guards is refused.
        Closed = "closed",
    }
}

/// List all settings, with where each value comes from
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigList {}

impl Operation for ConfigList {
    const NAME: &str = "config_list";
    const ROUTE: Route = Route::get("/v1/config", "settings");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Page<ConfigEntry>;
}

/// A setting in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigEntry {
    /// Its key.
    pub key: String,
    /// The value in force.
    pub value: Json,
    /// Where the value comes from.
    pub origin: SettingOrigin,
    /// The value if none was set.
    pub default_value: Json,
    /// Its type.
    pub value_type: SettingType,
    /// The smallest value of a number.
    pub value_min: Option<i64>,
    /// The largest value of a number.
    pub value_max: Option<i64>,
    /// Whether it is a gate, which operators may open and close.
    pub is_gate: bool,
    /// What it decides.
    pub description: String,
}

/// Show the value of a setting
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigGet {
    /// The key of the setting.
    #[schemars(example = &"queue.lease.duration_sec")]
    pub key: String,
}

impl Operation for ConfigGet {
    const NAME: &str = "config_get";
    const ROUTE: Route = Route::get("/v1/config/{key}", "settings");
    const EFFECT: Effect = Effect::Reads;
    type Answer = Setting;
}

/// A setting with its value in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its key.
    pub key: String,
    /// The value in force.
    pub value: Json,
}

/// Set a setting
///
/// It acts at once. Where the tenant says so (`governance.changes.need_approval`), a setting that governs plans waits for a second
/// admin: the answer is 202, `pending` with its `change_id`, and the old value is in force before.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigSet {
    /// The key of the setting.
    #[schemars(example = &"queue.lease.duration_sec")]
    pub key: String,
    /// The new value; null removes the setting, so that the installation or the default decides.
    pub value: Json,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for ConfigSet {
    const NAME: &str = "config_set";
    const ROUTE: Route = Route::put("/v1/config/{key}", "settings").answers(GOVERNED_STATUSES);
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = Governed<SettingChanged>;

    fn status(answer: &Self::Answer) -> u16 {
        answer.status()
    }
}

/// A setting that was changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingChanged {
    /// Its key.
    pub key: String,
    /// The value before.
    pub old: Json,
    /// The value in force now.
    pub value: Json,
}

/// Open or close a gate
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateSet {
    /// The key of the gate.
    #[schemars(example = &"queue.job_substrate.enabled")]
    pub key: String,
    /// The new position.
    pub position: GatePosition,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for GateSet {
    const NAME: &str = "gate_set";
    const ROUTE: Route = Route::put("/v1/gates/{key}", "settings");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = SettingChanged;
}
