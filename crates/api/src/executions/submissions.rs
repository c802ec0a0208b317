//! Submitting a plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{ExecutionDetails, ExecutionState, Parked, PlanDifference};
use crate::{Effect, Json, Operation, Route, Timestamp};

/// Submit a plan
///
/// The plan is frozen and runs as soon as it may: at once, or when another principal has approved exactly this plan. With
/// `wait_seconds` the answer comes when the execution has ended or waits for a decision. If the time is over before, the status is
/// 202 and an immediate execution goes on in the background.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionSubmit {
    /// The plan: a JSON document by /plan.schema.json. It is brought into its canonical form (RFC 8785), frozen and hashed.
    #[schemars(with = "crate::values::JsonObject", example = super::example_plan())]
    pub plan: Json,
    /// The idempotency key: the same key and plan is the same execution, another plan under this key is refused. Left out, the plan
    /// itself is the key while its execution is under way.
    #[schemars(length(min = 1, max = 255))]
    pub key: Option<String>,
    /// The SHA-256 of the canonical plan that the caller expects, in hexadecimal; a plan with another hash is refused.
    #[schemars(length(equal = 64))]
    pub plan_hash: Option<String>,
    /// An execution of the same purpose that has not started, which this one replaces.
    pub supersedes: Option<Uuid>,
    /// Do not start before this time.
    pub start_after: Option<Timestamp>,
    /// Do not start after this time; an execution that has not started by then is cancelled.
    pub start_before: Option<Timestamp>,
    /// A JSON object that is kept beside the plan, at most 8192 bytes.
    #[schemars(with = "Option<crate::values::JsonObject>")]
    pub metadata: Option<Json>,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
    /// Wait until it has ended or waits for a decision, in seconds.
    #[schemars(range(min = 0, max = 40))]
    pub wait_seconds: Option<u64>,
}

impl Operation for ExecutionSubmit {
    const NAME: &str = "execution_submit";
    const ROUTE: Route = Route::post("/v1/executions", "executions")
        .in_query(&["wait_seconds"])
        .answers(&[
            (201, "Submitted"),
            (
                200,
                "It existed already: the same plan under the same key, or the execution to supersede has this plan",
            ),
            (202, "Submitted, and still going on when the wait was over"),
        ]);
    // The same plan of the same requester is the same execution, with or without a key.
    const EFFECT: Effect = Effect::Idempotent;
    const BESIDE: &[&str] = &["wait_seconds"];
    type Answer = ExecutionSubmitted;

    fn status(answer: &ExecutionSubmitted) -> u16 {
        match &answer.execution {
            Some(shown) if !shown.settled => 202,
            _ if answer.duplicate || answer.unchanged => 200,
            _ => 201,
        }
    }
}

/// What became of a plan that was submitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionSubmitted {
    /// The execution.
    pub execution_id: Uuid,
    /// Its state.
    pub state: ExecutionState,
    /// The SHA-256 of the frozen plan, in hexadecimal; a decision about the plan names it.
    pub plan_hash: String,
    /// Whether it existed already, under the same key.
    pub duplicate: bool,
    /// Whether the execution to supersede has the same plan: then it is that execution, with its approvals.
    pub unchanged: bool,
    /// The approval level that it needs, 0 to 3; 0 is none.
    pub approval_level: i32,
    /// The approval rule that decided this level.
    pub rule: String,
    /// The approval that it waits for.
    pub approval_id: Option<Uuid>,
    /// Why it does not start although it is approved; null if nothing holds it back.
    pub parked: Option<Parked>,
    /// It does not start before this time.
    pub start_after: Option<Timestamp>,
    /// It does not start after this time.
    pub start_before: Option<Timestamp>,
    /// How its plan differs from the one that it supersedes; null if the caller may not read that plan.
    pub difference: Option<PlanDifference>,
    /// Everything about the execution, if `wait_seconds` was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Box<ExecutionDetails>>,
}
