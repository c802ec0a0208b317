//! Kinds of jobs, and who runs them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::store::executors::{self, Executor, ExecutorBeat};
use tenure::store::governance_changes::GovernanceChange;
use tenure::store::kinds::{self, Kind};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::Server;
use super::auth::Caller;
use super::body::{Name, Strict};
use super::governance_changes::changed;
use super::problem::{Body, Problem};

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(kind_list))
        .routes(routes!(kind_show, kind_set))
        .routes(routes!(kind_pause))
        .routes(routes!(kind_resume))
        .routes(routes!(executor_list))
        .routes(routes!(executor_beat))
}

/// Kinds that have a policy.
#[derive(Debug, Serialize, ToSchema)]
struct Kinds {
    /// By name.
    kinds: Vec<Kind>,
}

/// List the kinds that have a policy
#[utoipa::path(get, path = "/v1/kinds", tag = "kinds", responses((status = 200, body = Kinds), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn kind_list(State(server): State<Arc<Server>>, caller: Caller) -> Result<Json<Kinds>, Problem> {
    let found = server.call(&caller, "kind_list", async |client| kinds::kind_list(client).await);
    Ok(Json(Kinds { kinds: found.await? }))
}

/// Show the policy of a kind, and what holds for it
#[utoipa::path(get, path = "/v1/kinds/{kind}", tag = "kinds", params(("kind" = String, Path)), responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn kind_show(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(kind): Name,
) -> Result<Json<Value>, Problem> {
    let found = server.call(&caller, "kind_show", async |client| {
        kinds::kind_show(client, &kind).await
    });
    Ok(Json(found.await?))
}

/// The fields of the policy to change.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PolicyRequest {
    /// Only what is named here changes; null takes a value back.
    #[schema(value_type = Object)]
    policy: Value,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Set the policy of a kind
///
/// Where the tenant says so (`governance.changes.need_approval`) a change of `only_by_plan` waits for a second admin: the
/// answer is 202, `pending` with its `change_id`, and nothing of the policy is in force before.
#[utoipa::path(
    put, path = "/v1/kinds/{kind}", tag = "kinds", params(("kind" = String, Path)), request_body = PolicyRequest,
    responses((status = 200, body = Object), (status = 202, description = "Proposed: it takes effect when a second admin approves it", body = GovernanceChange), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn kind_set(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(kind): Name,
    Strict(request): Strict<PolicyRequest>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let whom = request.on_behalf_of.as_deref();
    let done = server.call(&caller, "kind_set", async |client| {
        kinds::kind_set(client, &kind, &request.policy, whom).await
    });
    Ok(changed(done.await?))
}

/// Why.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PauseRequest {
    /// Why; everybody who asks is told.
    note: Option<String>,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Pause a kind: its jobs wait
#[utoipa::path(
    post, path = "/v1/kinds/{kind}/pause", tag = "kinds", params(("kind" = String, Path)), request_body = PauseRequest,
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn kind_pause(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(kind): Name,
    Strict(request): Strict<PauseRequest>,
) -> Result<Json<Value>, Problem> {
    let (note, whom) = (request.note.as_deref(), request.on_behalf_of.as_deref());
    let done = server.call(&caller, "kind_pause", async |client| {
        kinds::kind_pause(client, &kind, note, whom).await
    });
    Ok(Json(done.await?))
}

/// For whom.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ResumeRequest {
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Resume a kind
#[utoipa::path(
    post, path = "/v1/kinds/{kind}/resume", tag = "kinds", params(("kind" = String, Path)), request_body = ResumeRequest,
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn kind_resume(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(kind): Name,
    Strict(request): Strict<ResumeRequest>,
) -> Result<Json<Value>, Problem> {
    let whom = request.on_behalf_of.as_deref();
    let done = server.call(&caller, "kind_resume", async |client| {
        kinds::kind_resume(client, &kind, whom).await
    });
    Ok(Json(done.await?))
}

/// Who may hold work, and who lives.
#[derive(Debug, Serialize, ToSchema)]
struct Executors {
    /// By name.
    executors: Vec<Executor>,
}

/// List executors, and how many of each live
#[utoipa::path(get, path = "/v1/executors", tag = "kinds", responses((status = 200, body = Executors), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn executor_list(State(server): State<Arc<Server>>, caller: Caller) -> Result<Json<Executors>, Problem> {
    let found = server.call(&caller, "executor_list", async |client| {
        executors::executor_list(client).await
    });
    Ok(Json(Executors {
        executors: found.await?,
    }))
}

/// How a process is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ExecutorBeatRequest {
    /// The name of the process.
    #[schema(min_length = 1, max_length = 200)]
    name: String,
    /// `ok`, `idle` or `error`.
    status: Option<String>,
    /// What it works on.
    current_job_id: Option<Uuid>,
    /// A small JSON object.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Value>,
    /// Tells processes of the same name apart.
    instance: Option<Uuid>,
}

/// Say that a process of this executor lives
#[utoipa::path(
    post, path = "/v1/executors/{executor}/beat", tag = "kinds", params(("executor" = String, Path)), request_body = ExecutorBeatRequest,
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn executor_beat(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(executor): Name,
    Strict(request): Strict<ExecutorBeatRequest>,
) -> Result<Json<Value>, Problem> {
    let beat = ExecutorBeat {
        name: request.name,
        executor,
        status: request.status,
        current_job_id: request.current_job_id,
        metadata: request.metadata,
        instance: request.instance,
    };
    let done = server.call(&caller, "executor_beat", async |client| {
        executors::executor_beat(client, &beat).await
    });
    Ok(Json(done.await?))
}
