//! Checkpoints over the chains of executions, and proofs by them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::store::anchors::{self, AnchorQuery};
use tenure_core::anchor::Proof;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Server;
use super::auth::Caller;
use super::body::{Id, Name, Query};
use super::problem::{Body, Problem};

/// Rows of a page, unless the request says otherwise.
const PAGE_ROWS: i32 = 100;

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(anchor_list))
        .routes(routes!(anchor_show))
        .routes(routes!(anchor_proof))
}

/// Which checkpoints to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Those after this number; 0 if left out.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// Maximum number of rows; 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i32>,
    /// With the chain heads of the tenant that each covers.
    #[serde(default)]
    heads: bool,
    /// The last ones instead of the first.
    #[serde(default)]
    newest: bool,
}

/// A page of checkpoints.
#[derive(Debug, Serialize, ToSchema)]
struct Anchors {
    /// In the order of their numbers.
    #[schema(value_type = Vec<Object>)]
    anchors: Vec<Value>,
    /// `after` for the next page; null if this is the last.
    next: Option<i64>,
}

/// List signed checkpoints, oldest first
#[utoipa::path(
    get, path = "/v1/anchors", tag = "evidence", params(ListQuery),
    responses((status = 200, body = Anchors), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn anchor_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<Anchors>, Problem> {
    let limit = query.limit.unwrap_or(PAGE_ROWS);
    let asked = AnchorQuery {
        after: query.after,
        limit: Some(limit),
        heads: query.heads,
        newest: query.newest,
    };
    let found = server.call(&caller, "anchor_list", async |client| {
        anchors::anchor_list(client, &asked).await
    });
    let anchors = found.await?;
    let full = !query.newest && usize::try_from(limit).is_ok_and(|limit| anchors.len() >= limit);
    let next = anchors.last().filter(|_| full).and_then(|last| last["number"].as_i64());
    Ok(Json(Anchors { anchors, next }))
}

/// Show a checkpoint, with the chain heads of the tenant that it covers
#[utoipa::path(
    get, path = "/v1/anchors/{number}", tag = "evidence", params(("number" = i64, Path)),
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn anchor_show(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(number): Name,
) -> Result<Json<Value>, Problem> {
    let number = number.parse().map_err(|_| {
        Problem::new(
            tenure_core::codes::REQUEST_INVALID,
            format!("{number:?} is not the number of a checkpoint."),
            "Checkpoints are numbered from 1.",
            "See GET /v1/anchors?newest=true.",
        )
    })?;
    let found = server.call(&caller, "anchor_show", async |client| {
        anchors::anchor_show(client, number).await
    });
    Ok(Json(found.await?))
}

/// By which checkpoint.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ProofQuery {
    /// By this checkpoint; the newest that covers the execution if left out.
    #[param(minimum = 1)]
    number: Option<i64>,
}

/// Get the proof that a checkpoint covers an execution
///
/// `tenure evidence verify --anchor CHECKPOINTS --proof FILE` checks it against checkpoints that are kept elsewhere.
#[utoipa::path(
    get, path = "/v1/executions/{execution_id}/proof", tag = "evidence", params(("execution_id" = Uuid, Path), ProofQuery),
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn anchor_proof(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(execution_id): Id,
    Query(query): Query<ProofQuery>,
) -> Result<Json<Proof>, Problem> {
    let found = server.call(&caller, "anchor_proof", async |client| {
        anchors::anchor_proof(client, execution_id, query.number).await
    });
    Ok(Json(found.await?))
}
