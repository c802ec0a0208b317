//! How long executions, steps and leases may take, by SLA class and action class.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::executions::{ActionClass, SlaClass};
use crate::{Effect, Operation, Page, Route, Shape, words};

words! {
    /// Where a timeout policy comes from.
    pub enum PolicyOrigin {
        /// The installation's default.
        Default = "default",
        /// The tenant's own.
        Tenant = "tenant",
    }
}

/// List how long executions, steps and leases may take, by SLA class and action class
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeoutPolicyList {}

impl Operation for TimeoutPolicyList {
    const NAME: &str = "timeout_policy_list";
    const ROUTE: Route = Route::get("/v1/timeout-policies", "executions");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Page<TimeoutPolicy>;
}

/// How long things of an SLA class and an action class may take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeoutPolicy {
    /// The SLA class of the plan.
    pub sla_class: SlaClass,
    /// The class of the action.
    pub action_class: ActionClass,
    /// How long a whole execution may take, in milliseconds.
    pub execution_timeout_ms: i32,
    /// How long a step may take, in milliseconds, unless its plan says otherwise.
    pub step_timeout_ms: i32,
    /// How long a worker holds a step without renewing, in milliseconds.
    pub lease_ms: i32,
    /// How often a worker may renew.
    pub renewals_max: i32,
    /// Where these limits come from.
    pub origin: PolicyOrigin,
}

/// Change how long things of an SLA class and an action class may take, for what is submitted from now on
///
/// A lease, and an execution, last at least as long as a step may take.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeoutPolicySet {
    /// The SLA class of plans.
    pub sla_class: SlaClass,
    /// The class of actions.
    pub action_class: ActionClass,
    /// The limits to change.
    pub spec: TimeoutPolicySpec,
}

impl Operation for TimeoutPolicySet {
    const NAME: &str = "timeout_policy_set";
    const ROUTE: Route = Route::put("/v1/timeout-policies/{sla_class}/{action_class}", "executions").spec("spec");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = TimeoutLimits;
}

/// Limits to change; those that are left out stay.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeoutPolicySpec {
    /// How long a whole execution may take, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_000))]
    pub execution_timeout_ms: Option<i64>,
    /// How long a step may take, in milliseconds, unless its plan says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400_000))]
    pub step_timeout_ms: Option<i64>,
    /// How long a worker holds a step without renewing, in milliseconds. The lease of a kind may be longer, and its own limit holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400_000))]
    pub lease_ms: Option<i64>,
    /// How often a worker may renew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub renewals_max: Option<i64>,
}

/// The limits that hold now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeoutLimits {
    /// The SLA class of plans.
    pub sla_class: SlaClass,
    /// The class of actions.
    pub action_class: ActionClass,
    /// How long a whole execution may take, in milliseconds.
    pub execution_timeout_ms: i32,
    /// How long a step may take, in milliseconds, unless its plan says otherwise.
    pub step_timeout_ms: i32,
    /// How long a worker holds a step without renewing, in milliseconds.
    pub lease_ms: i32,
    /// How often a worker may renew.
    pub renewals_max: i32,
}
