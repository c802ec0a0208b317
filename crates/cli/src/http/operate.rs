//! What an operator decides about a job.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use tenure::store::jobs::{self, CancelMode};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Server;
use super::auth::Caller;
use super::body::{Id, Strict};
use super::problem::{Body, Problem};

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(job_cancel))
        .routes(routes!(job_retry))
        .routes(routes!(job_dead_letter))
}

/// How a held job is cancelled.
#[derive(Debug, Default, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = CancelMode)]
enum Mode {
    /// Its worker is asked, and acknowledges.
    #[default]
    Cooperative,
    /// It is taken from its worker at once.
    Force,
}

/// Why, and how.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CancelRequest {
    /// Why; kept with the job.
    #[schema(min_length = 1, max_length = 200)]
    reason: String,
    /// How, where it is held.
    #[serde(default)]
    mode: Mode,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Cancel a job
#[utoipa::path(
    post, path = "/v1/jobs/{job_id}/cancel", tag = "jobs", params(("job_id" = Uuid, Path)), request_body = CancelRequest,
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_cancel(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(job_id): Id,
    Strict(request): Strict<CancelRequest>,
) -> Result<Json<Value>, Problem> {
    let mode = match request.mode {
        Mode::Cooperative => CancelMode::Cooperative,
        Mode::Force => CancelMode::Force,
    };
    let whom = request.on_behalf_of.as_deref();
    let done = server.call(&caller, "job_cancel", async |client| {
        jobs::cancel(client, job_id, &request.reason, mode, whom).await
    });
    Ok(Json(done.await?))
}

/// Why.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RetryRequest {
    /// Why; kept with the job.
    reason: Option<String>,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Run a waiting job now, or give a failed one a fresh set of attempts
#[utoipa::path(
    post, path = "/v1/jobs/{job_id}/retry", tag = "jobs", params(("job_id" = Uuid, Path)), request_body = RetryRequest,
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_retry(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(job_id): Id,
    Strict(request): Strict<RetryRequest>,
) -> Result<Json<Value>, Problem> {
    let (why, whom) = (request.reason.as_deref(), request.on_behalf_of.as_deref());
    let done = server.call(&caller, "job_retry", async |client| {
        jobs::retry(client, job_id, why, whom).await
    });
    Ok(Json(done.await?))
}

/// Why.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DeadLetterRequest {
    /// Why; kept with the dead letter.
    #[schema(min_length = 1, max_length = 200)]
    reason: String,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Give up on a waiting job
#[utoipa::path(
    post, path = "/v1/jobs/{job_id}/dead-letter", tag = "jobs", params(("job_id" = Uuid, Path)), request_body = DeadLetterRequest,
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_dead_letter(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(job_id): Id,
    Strict(request): Strict<DeadLetterRequest>,
) -> Result<Json<Value>, Problem> {
    let whom = request.on_behalf_of.as_deref();
    let done = server.call(&caller, "job_dead_letter", async |client| {
        jobs::dead_letter(client, job_id, &request.reason, whom).await
    });
    Ok(Json(done.await?))
}
