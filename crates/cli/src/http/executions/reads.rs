//! What is read of executions: how far they are, what they say, and what happened.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::store::executions::{self as stored, ExecutionEvent, ExecutionFilter, ExecutionSummary};
use tenure::store::steps::{self, ExecutionStep};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::super::Server;
use super::super::auth::Caller;
use super::super::body::{Id, Query};
use super::super::problem::{Body, Problem};
use super::{WaitQuery, settled, show};

/// Rows of a page, unless somebody says otherwise.
const PAGE_ROWS: i32 = 50;
/// Events of a page, unless somebody says otherwise.
const PAGE_EVENTS: i32 = 1000;

/// Which executions to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Only those in this state.
    state: Option<String>,
    /// Only those of this requester.
    requested_by: Option<String>,
    /// Only those that touch this target: `type:ref` or `type:ref:action`, with `%` and `:` in the reference written `%25` and `%3A`.
    target: Option<String>,
    /// Where the page before ended: its `next`.
    before: Option<Uuid>,
    /// At most so many; 50 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i32>,
}

/// A page of executions.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Executions {
    /// Newest first.
    executions: Vec<ExecutionSummary>,
    /// For the next page; none: there is none.
    next: Option<Uuid>,
}

/// List executions, newest first
#[utoipa::path(get, path = "/v1/executions", tag = "executions", params(ListQuery), responses((status = 200, body = Executions), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn execution_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<Executions>, Problem> {
    let limit = query.limit.unwrap_or(PAGE_ROWS);
    let filter = ExecutionFilter {
        state: query.state,
        requested_by: query.requested_by,
        target: query.target,
        before: query.before,
        limit: Some(limit),
    };
    let found = server.call(&caller, "execution_list", async |client| {
        stored::execution_list(client, &filter).await
    });
    let executions = found.await?;
    let full = usize::try_from(limit).is_ok_and(|limit| executions.len() >= limit);
    let next = executions.last().filter(|_| full).map(|last| last.execution_id);
    Ok(Json(Executions { executions, next }))
}

/// Show all about an execution: its steps, its approvals, and what it waits for
///
/// With `wait_seconds` the answer comes when nothing moves by itself any more (`settled`), or when the time is up.
#[utoipa::path(get, path = "/v1/executions/{execution_id}", tag = "executions", params(("execution_id" = Uuid, Path), WaitQuery), responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn execution_show(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(execution_id): Id,
    Query(query): Query<WaitQuery>,
) -> Result<Json<Value>, Problem> {
    let shown = match query.until()? {
        Some(until) => settled(&server, &caller, execution_id, until).await?,
        None => show(&server, &caller, execution_id).await?,
    };
    Ok(Json(shown))
}

/// A frozen plan.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FrozenPlan {
    /// Its text, just as it was frozen: the SHA-256 of its UTF-8 bytes is the hash of the plan.
    canonical: String,
}

/// Show the plan of an execution just as it was frozen
#[utoipa::path(get, path = "/v1/executions/{execution_id}/plan", tag = "executions", params(("execution_id" = Uuid, Path)), responses((status = 200, body = FrozenPlan), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn execution_plan(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(execution_id): Id,
) -> Result<Json<FrozenPlan>, Problem> {
    let canonical = server.call(&caller, "execution_plan", async |client| {
        stored::execution_plan(client, execution_id).await
    });
    Ok(Json(FrozenPlan {
        canonical: canonical.await?,
    }))
}

/// Which steps to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct StepQuery {
    /// Only those in this state.
    state: Option<String>,
}

/// The steps of an execution.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Steps {
    /// In the order of the plan.
    steps: Vec<ExecutionStep>,
}

/// List the steps of an execution
#[utoipa::path(get, path = "/v1/executions/{execution_id}/steps", tag = "executions", params(("execution_id" = Uuid, Path), StepQuery), responses((status = 200, body = Steps), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn step_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(execution_id): Id,
    Query(query): Query<StepQuery>,
) -> Result<Json<Steps>, Problem> {
    let found = server.call(&caller, "step_list", async |client| {
        steps::step_list(client, execution_id, query.state.as_deref()).await
    });
    Ok(Json(Steps { steps: found.await? }))
}

/// Which part of the timeline.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TimelineQuery {
    /// Only what came after this number.
    after: Option<i32>,
    /// At most so many; 1000 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i32>,
}

/// What happened to an execution.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ExecutionTimeline {
    /// Oldest first. Each is chained to the one before by its hash.
    events: Vec<ExecutionEvent>,
    /// For the next page: its `after`; none: there is none.
    next: Option<i32>,
}

/// Tell what happened to an execution, oldest first
#[utoipa::path(get, path = "/v1/executions/{execution_id}/timeline", tag = "executions", params(("execution_id" = Uuid, Path), TimelineQuery), responses((status = 200, body = ExecutionTimeline), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn execution_timeline(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(execution_id): Id,
    Query(query): Query<TimelineQuery>,
) -> Result<Json<ExecutionTimeline>, Problem> {
    let limit = query.limit.unwrap_or(PAGE_EVENTS);
    let events = server.call(&caller, "execution_timeline", async |client| {
        stored::execution_timeline(client, execution_id, query.after, Some(limit)).await
    });
    let events = events.await?;
    let full = usize::try_from(limit).is_ok_and(|limit| events.len() >= limit);
    let next = events.last().filter(|_| full).map(|last| last.seq);
    Ok(Json(ExecutionTimeline { events, next }))
}

/// With which other execution to compare.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DifferenceQuery {
    /// The other execution.
    other: Uuid,
}

/// Show how the plans of two executions differ
#[utoipa::path(get, path = "/v1/executions/{execution_id}/difference", tag = "executions", params(("execution_id" = Uuid, Path), DifferenceQuery), responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn execution_difference(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(execution_id): Id,
    Query(query): Query<DifferenceQuery>,
) -> Result<Json<Value>, Problem> {
    let difference = server.call(&caller, "execution_difference", async |client| {
        stored::execution_difference(client, execution_id, query.other).await
    });
    Ok(Json(difference.await?))
}
