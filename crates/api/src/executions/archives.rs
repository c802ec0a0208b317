//! Archived executions: their rows are removed, their evidence is kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ArchivedState;
use crate::{Effect, Operation, Page, Route, Shape, Timestamp};

/// List archived executions, latest end first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionArchiveList {
    /// Only executions that ended in one of these states.
    pub state: Option<Vec<ArchivedState>>,
    /// Only executions with this requester.
    pub requested_by: Option<String>,
    /// Only executions with a step on this target: `type:ref` or `type:ref:action`, with `%` and `:` in the reference written
    /// `%25` and `%3A`.
    #[schemars(example = "host:web-1")]
    pub target: Option<String>,
    /// Only executions with this correlation id.
    pub correlation_id: Option<String>,
    /// Only executions that ended after this time.
    pub ended_after: Option<Timestamp>,
    /// Only executions that ended before this time.
    pub ended_before: Option<Timestamp>,
    /// Only executions that ended before this archived one.
    pub before: Option<Uuid>,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of executions.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn limit_default() -> i32 {
    50
}

impl Operation for ExecutionArchiveList {
    const NAME: &str = "execution_archive_list";
    const ROUTE: Route = Route::get("/v1/executions/archived", "executions");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("before", "execution_id")];
    type Answer = Page<ArchivedExecution>;
}

/// An archived execution in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArchivedExecution {
    /// Its id.
    pub execution_id: Uuid,
    /// The state in which it ended.
    pub state: ArchivedState,
    /// What it was for.
    pub purpose: String,
    /// The principal that submitted it.
    pub requested_by: String,
    /// All of its requesters: the submitter, the principal it acted for, and those of the executions that it retried.
    pub requesters: Vec<String>,
    /// The SHA-256 of its plan, in hexadecimal.
    pub plan_hash: String,
    /// What it belonged together with.
    pub correlation_id: Option<String>,
    /// The targets of its steps: `type:ref` and `type:ref:action` for each.
    pub targets: Vec<String>,
    /// When it was submitted.
    pub created_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// When it was archived.
    pub archived_at: Timestamp,
    /// The size of its evidence, in bytes.
    pub evidence_bytes: i32,
}
