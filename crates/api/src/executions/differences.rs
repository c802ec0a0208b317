//! The frozen plan of an execution, and how two plans differ.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Effect, Json, Operation, Route};

/// Show the plan of an execution as it was frozen
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionPlan {
    /// The id of the execution.
    pub execution_id: Uuid,
}

impl Operation for ExecutionPlan {
    const NAME: &str = "execution_plan";
    const ROUTE: Route = Route::get("/v1/executions/{execution_id}/plan", "executions");
    const EFFECT: Effect = Effect::Reads;
    type Answer = FrozenPlan;
}

/// A frozen plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrozenPlan {
    /// Its canonical text (RFC 8785). The SHA-256 of its UTF-8 bytes is the hash of the plan.
    pub canonical: String,
}

/// Compare the plans of two executions
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionDifference {
    /// The execution whose plan is the old one.
    pub execution_id: Uuid,
    /// The execution whose plan is the new one.
    pub other_id: Uuid,
}

impl Operation for ExecutionDifference {
    const NAME: &str = "execution_difference";
    const ROUTE: Route = Route::get("/v1/executions/{execution_id}/difference", "executions");
    const EFFECT: Effect = Effect::Reads;
    type Answer = PlanDifference;
}

/// How two plans differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanDifference {
    /// Whether they are equal.
    pub equal: bool,
    /// Fields of the plan that differ, except its steps: the old and the new value of each, null where it is missing.
    pub plan: BTreeMap<String, [Json; 2]>,
    /// The ids of the steps that only the new plan has.
    pub added: Vec<String>,
    /// The ids of the steps that only the old plan has.
    pub removed: Vec<String>,
    /// Steps that differ, by their id: the old and the new value of each field, null where it is missing.
    pub changed: BTreeMap<String, BTreeMap<String, [Json; 2]>>,
}
