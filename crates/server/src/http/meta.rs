//! About the server itself.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use tenure_core::codes;

use super::Server;
use super::problem::Problem;
use crate::pages::{PLAN_SCHEMA, error_page};

pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/errors/{code}", get(explained))
        .route("/plan.schema.json", get(plan_schema))
}

/// How the server is.
#[derive(Debug, Serialize)]
struct Status {
    /// `ok`.
    status: &'static str,
}

/// The process lives.
async fn healthz() -> Json<Status> {
    Json(Status { status: "ok" })
}

/// The database answers, and its schema is one this server works with.
async fn readyz(State(server): State<Arc<Server>>) -> Result<Json<Status>, Problem> {
    let connection = server.health.get().await?;
    tenure::migrate::check(&*connection).await?.accept()?;
    Ok(Json(Status { status: "ok" }))
}

/// What a code of a refusal means.
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
async fn plan_schema() -> Response {
    ([(header::CONTENT_TYPE, "application/schema+json")], PLAN_SCHEMA).into_response()
}

/// The description of the API.
pub(super) async fn document(text: String) -> Response {
    (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}
