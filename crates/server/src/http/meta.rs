//! About the server itself.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tenure_core::codes;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Server;
use super::problem::{Body, Problem};
use crate::pages::{PLAN_SCHEMA, error_page};

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(healthz))
        .routes(routes!(readyz))
        .routes(routes!(explained))
        .routes(routes!(plan_schema))
}

/// How the server is.
#[derive(Debug, Serialize, ToSchema)]
struct Status {
    /// `ok`.
    status: &'static str,
}

/// The process lives.
#[utoipa::path(get, path = "/healthz", tag = "server", security(()), responses((status = 200, body = Status)))]
async fn healthz() -> Json<Status> {
    Json(Status { status: "ok" })
}

/// The database answers, and its schema is one this server works with.
#[utoipa::path(
    get, path = "/readyz", tag = "server", security(()),
    responses((status = 200, body = Status), (status = 503, body = Body, content_type = "application/problem+json"))
)]
async fn readyz(State(server): State<Arc<Server>>) -> Result<Json<Status>, Problem> {
    let connection = server.health.get().await?;
    tenure::migrate::check(&*connection).await?.accept()?;
    Ok(Json(Status { status: "ok" }))
}

/// What a code of a refusal means.
#[utoipa::path(
    get, path = "/errors/{code}", tag = "server", security(()),
    params(("code" = String, Path, description = "The code, such as gate_closed")),
    responses((status = 200, body = String, content_type = "text/markdown"), (status = 404, body = Body, content_type = "application/problem+json"))
)]
async fn explained(Path(code): Path<String>) -> Result<Response, Problem> {
    let Some(page) = error_page(&code) else {
        return Err(Problem::new(
            codes::PATH_UNKNOWN,
            format!("There is no code {code:?}."),
            "Codes are lower-case words, such as gate_closed.",
            "See the code of the refusal.",
        ));
    };
    Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], page).into_response())
}

/// The JSON Schema of plans.
#[utoipa::path(
    get, path = "/plan.schema.json", tag = "server", security(()),
    responses((status = 200, body = Object, content_type = "application/schema+json"))
)]
async fn plan_schema() -> Response {
    ([(header::CONTENT_TYPE, "application/schema+json")], PLAN_SCHEMA).into_response()
}

/// The description of the API.
pub(super) async fn document(text: String) -> Response {
    (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}
