//! What is decided about executions.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use tenure::store::executions::{self as stored, Verdict};
use utoipa::ToSchema;

use super::super::Server;
use super::super::auth::Caller;
use super::super::body::{Id, Strict};
use super::super::problem::{Body, Problem};
use super::super::times::RequestTime;

/// Why.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ExecutionCancelRequest)]
pub(super) struct CancelRequest {
    /// Why; kept with the execution.
    #[schema(min_length = 1)]
    reason: String,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Cancel an execution: nothing more of it starts, and what is under way is asked to stop
#[utoipa::path(post, path = "/v1/executions/{execution_id}/cancel", tag = "executions", params(("execution_id" = Uuid, Path)), request_body = CancelRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn execution_cancel(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(execution_id): Id,
    Strict(request): Strict<CancelRequest>,
) -> Result<Json<Value>, Problem> {
    let whom = request.on_behalf_of.as_deref();
    let done = server.call(&caller, "execution_cancel", async |client| {
        stored::execution_cancel(client, execution_id, &request.reason, whom).await
    });
    Ok(Json(done.await?))
}

/// Why.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ExecutionReason)]
pub(super) struct ReasonRequest {
    /// Why; kept with the execution.
    #[schema(min_length = 1)]
    reason: String,
}

/// Take back one's own execution before it starts
#[utoipa::path(post, path = "/v1/executions/{execution_id}/withdraw", tag = "executions", params(("execution_id" = Uuid, Path)), request_body = ReasonRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn execution_withdraw(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(execution_id): Id,
    Strict(request): Strict<ReasonRequest>,
) -> Result<Json<Value>, Problem> {
    let done = server.call(&caller, "execution_withdraw", async |client| {
        stored::execution_withdraw(client, execution_id, &request.reason).await
    });
    Ok(Json(done.await?))
}

/// What somebody found out.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ExecutionVerdict)]
pub(super) struct ResolveRequest {
    /// The step of which nobody knew.
    step_id: String,
    /// `succeeded`, `failed`, or `retry` to run it once more.
    #[schema(example = "succeeded")]
    verdict: String,
    /// How they know; kept with the step.
    #[schema(min_length = 1)]
    reason: String,
    /// What came out.
    #[schema(value_type = Option<Object>)]
    result: Option<Value>,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Decide about a step of which nobody knows whether it was done
#[utoipa::path(post, path = "/v1/executions/{execution_id}/resolve", tag = "executions", params(("execution_id" = Uuid, Path)), request_body = ResolveRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn execution_resolve(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(execution_id): Id,
    Strict(request): Strict<ResolveRequest>,
) -> Result<Json<Value>, Problem> {
    let whom = request.on_behalf_of.as_deref();
    let verdict = Verdict {
        verdict: request.verdict,
        reason: request.reason,
        result: request.result,
    };
    let done = server.call(&caller, "execution_resolve", async |client| {
        stored::execution_resolve(client, execution_id, &request.step_id, &verdict, whom).await
    });
    Ok(Json(done.await?))
}

/// How much of it to run again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ExecutionRetryRequest)]
pub(super) struct RetryRequest {
    /// `resume` runs what is left, `restart` all of it; `resume` if left out.
    #[schema(example = "resume")]
    mode: Option<String>,
    /// Why; kept with the execution.
    reason: Option<String>,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Run the plan of an execution that failed again: a new execution, with approvals of its own
#[utoipa::path(post, path = "/v1/executions/{execution_id}/retry", tag = "executions", params(("execution_id" = Uuid, Path)), request_body = RetryRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn execution_retry(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(execution_id): Id,
    Strict(request): Strict<RetryRequest>,
) -> Result<Json<Value>, Problem> {
    let (mode, why) = (request.mode.as_deref(), request.reason.as_deref());
    let whom = request.on_behalf_of.as_deref();
    let made = server.call(&caller, "execution_retry", async |client| {
        stored::execution_retry(client, execution_id, mode, why, whom).await
    });
    Ok(Json(made.await?))
}

/// Free the key of an execution that has partially failed
#[utoipa::path(post, path = "/v1/executions/{execution_id}/close", tag = "executions", params(("execution_id" = Uuid, Path)), request_body = ReasonRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn execution_close(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(execution_id): Id,
    Strict(request): Strict<ReasonRequest>,
) -> Result<Json<Value>, Problem> {
    let done = server.call(&caller, "execution_close", async |client| {
        stored::execution_close(client, execution_id, &request.reason).await
    });
    Ok(Json(done.await?))
}

/// Why, and for how long.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FreezeRequest {
    /// Why; whoever's work is parked is told.
    #[schema(min_length = 1)]
    reason: String,
    /// Until when; left out: until somebody ends it.
    #[schema(value_type = Option<String>, format = DateTime)]
    until: Option<RequestTime>,
}

/// Let nothing new start in the tenant; what runs goes on
#[utoipa::path(post, path = "/v1/executions/freeze", tag = "executions", request_body = FreezeRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn execution_freeze(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<FreezeRequest>,
) -> Result<Json<Value>, Problem> {
    let done = server.call(&caller, "execution_freeze", async |client| {
        stored::execution_freeze(client, &request.reason, request.until.map(Into::into)).await
    });
    Ok(Json(done.await?))
}

/// End the freeze of the tenant
#[utoipa::path(post, path = "/v1/executions/unfreeze", tag = "executions", request_body = ReasonRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn execution_unfreeze(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<ReasonRequest>,
) -> Result<Json<Value>, Problem> {
    let done = server.call(&caller, "execution_unfreeze", async |client| {
        stored::execution_unfreeze(client, &request.reason).await
    });
    Ok(Json(done.await?))
}
