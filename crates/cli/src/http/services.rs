//! What the services do by themselves, done now; and what an operator should know about the database.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::store::events::{self, StreamLag};
use tenure::store::leases::{self, ReapMode, Reaped};
use tenure::store::{executors, health, retention};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Server;
use super::auth::Caller;
use super::body::{Query, Strict};
use super::problem::{Body, Problem};

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(job_reap))
        .routes(routes!(job_sweep))
        .routes(routes!(stale_check))
        .routes(routes!(stream_lag))
        .routes(routes!(doctor))
}

/// Whether the reaper acts.
#[derive(Debug, Default, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ReapMode)]
enum Mode {
    /// It ends what it finds.
    #[default]
    Apply,
    /// It only tells.
    DryRun,
}

/// How to reap.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ReapRequest {
    /// Whether to act.
    #[serde(default)]
    mode: Mode,
    /// At most so many; 500 if left out.
    #[schema(minimum = 1)]
    limit: Option<i32>,
}

/// What the reaper ended, or would end.
#[derive(Debug, Serialize, ToSchema)]
struct ReapAnswer {
    /// The jobs.
    jobs: Vec<Reaped>,
}

/// End what nobody holds any more, or holds for too long
#[utoipa::path(
    post, path = "/v1/jobs/reap", tag = "services", request_body = ReapRequest,
    responses((status = 200, body = ReapAnswer), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_reap(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<ReapRequest>,
) -> Result<Json<ReapAnswer>, Problem> {
    let mode = match request.mode {
        Mode::Apply => ReapMode::Apply,
        Mode::DryRun => ReapMode::DryRun,
    };
    let jobs = server.call(&caller, "job_reap", async |client| {
        leases::job_reap(client, mode, request.limit).await
    });
    Ok(Json(ReapAnswer { jobs: jobs.await? }))
}

/// How to sweep.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SweepRequest {
    /// At most so many are examined; 1000 if left out.
    #[schema(minimum = 1)]
    limit: Option<i32>,
}

/// Clean jobs past their retention
#[utoipa::path(
    post, path = "/v1/jobs/sweep", tag = "services", request_body = SweepRequest,
    responses((status = 200, body = retention::Swept), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_sweep(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<SweepRequest>,
) -> Result<Json<retention::Swept>, Problem> {
    let swept = server.call(&caller, "job_sweep", async |client| {
        retention::job_sweep(client, request.limit).await
    });
    Ok(Json(swept.await?))
}

/// From when on an executor is stale.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StaleQuery {
    /// So many seconds after its last sign of life; twice the configured threshold if left out.
    #[param(minimum = 1)]
    threshold_seconds: Option<i32>,
}

/// Say which executors gave no sign of life lately
#[utoipa::path(
    get, path = "/v1/executors/stale", tag = "services", params(StaleQuery),
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn stale_check(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(query): Query<StaleQuery>,
) -> Result<Json<Value>, Problem> {
    let found = server.call(&caller, "stale_check", async |client| {
        executors::stale_check(client, query.threshold_seconds).await
    });
    Ok(Json(found.await?))
}

/// What holds the stream of events back.
#[derive(Debug, Serialize, ToSchema)]
struct Lags {
    /// The transactions that do.
    lags: Vec<StreamLag>,
}

/// Say how far the stream of events is behind, and who holds it back
#[utoipa::path(
    get, path = "/v1/events/lag", tag = "services",
    responses((status = 200, body = Lags), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn stream_lag(State(server): State<Arc<Server>>, caller: Caller) -> Result<Json<Lags>, Problem> {
    let lags = server.call(&caller, "stream_lag", async |client| events::stream_lag(client).await);
    Ok(Json(Lags { lags: lags.await? }))
}

/// Tell what an operator should know about the database itself
#[utoipa::path(
    get, path = "/v1/doctor", tag = "services",
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn doctor(State(server): State<Arc<Server>>, caller: Caller) -> Result<Json<Value>, Problem> {
    let found = server.call(&caller, "doctor", async |client| health::doctor(client).await);
    Ok(Json(found.await?))
}
