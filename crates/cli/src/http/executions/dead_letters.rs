//! Executions that failed: look, triage.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::store::execution_dead_letters::{self as stored, ExecutionDeadLetter};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::Server;
use super::super::auth::Caller;
use super::super::body::{Id, Query, Strict};
use super::super::problem::{Body, Problem};

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(execution_dead_letter_list))
        .routes(routes!(execution_dead_letter_show))
        .routes(routes!(execution_dead_letter_triage))
}

/// Which of them to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// How many days back; 7 if left out.
    #[param(minimum = 1)]
    days: Option<i32>,
    /// Only those in this state of triage.
    status: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i32>,
}

/// Executions that failed, newest first.
#[derive(Debug, Serialize, ToSchema)]
struct ExecutionDeadLetters {
    /// The dead letters.
    dead_letters: Vec<ExecutionDeadLetter>,
}

/// List executions that failed in the last days, newest first
#[utoipa::path(get, path = "/v1/execution-dead-letters", tag = "executions", params(ListQuery), responses((status = 200, body = ExecutionDeadLetters), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn execution_dead_letter_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<ExecutionDeadLetters>, Problem> {
    let status = query.status.as_deref();
    let found = server.call(&caller, "execution_dead_letter_list", async |client| {
        stored::execution_dead_letter_list(client, query.days, status, query.limit).await
    });
    Ok(Json(ExecutionDeadLetters {
        dead_letters: found.await?,
    }))
}

/// Show all about an execution that failed: its plan, and where it failed
#[utoipa::path(get, path = "/v1/execution-dead-letters/{execution_id}", tag = "executions", params(("execution_id" = Uuid, Path)), responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn execution_dead_letter_show(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(execution_id): Id,
) -> Result<Json<Value>, Problem> {
    let found = server.call(&caller, "execution_dead_letter_show", async |client| {
        stored::execution_dead_letter_show(client, execution_id).await
    });
    Ok(Json(found.await?))
}

/// What somebody decided.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ExecutionTriageRequest)]
struct TriageRequest {
    /// `acknowledged`, `manual_replay`, `escalated` or `closed`.
    status: String,
    /// Why.
    note: Option<String>,
}

/// Record what somebody decided about an execution that failed
#[utoipa::path(post, path = "/v1/execution-dead-letters/{execution_id}/triage", tag = "executions", params(("execution_id" = Uuid, Path)), request_body = TriageRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn execution_dead_letter_triage(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(execution_id): Id,
    Strict(request): Strict<TriageRequest>,
) -> Result<Json<Value>, Problem> {
    let (status, note) = (request.status.as_str(), request.note.as_deref());
    let done = server.call(&caller, "execution_dead_letter_triage", async |client| {
        stored::execution_dead_letter_triage(client, execution_id, status, note).await
    });
    Ok(Json(done.await?))
}
