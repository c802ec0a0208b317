//! Changes of actions, rules, target types and governed settings that wait for a second admin.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::store::governance_changes::{self as stored, GovernanceChange};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Server;
use super::auth::Caller;
use super::body::{Id, Query, Strict};
use super::problem::{Body, Problem};

/// The word for changes in whatever state.
const ANY: &str = "any";

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(governance_change_list))
        .routes(routes!(governance_change_decide))
}

/// Which changes to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only those in this state, or `any`; `pending` if left out.
    state: Option<String>,
    /// Maximum number of rows; 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i32>,
}

/// Proposed changes.
#[derive(Debug, Serialize, ToSchema)]
struct GovernanceChanges {
    /// Newest first.
    changes: Vec<GovernanceChange>,
}

/// List proposed changes of actions, rules, target types and governed settings, newest first
#[utoipa::path(get, path = "/v1/governance-changes", tag = "executions", params(ListQuery), responses((status = 200, body = GovernanceChanges), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn governance_change_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<GovernanceChanges>, Problem> {
    let state = query.state.as_deref().unwrap_or("pending");
    let state = Some(state).filter(|state| *state != ANY);
    let found = server.call(&caller, "governance_change_list", async |client| {
        stored::governance_change_list(client, state, query.limit).await
    });
    Ok(Json(GovernanceChanges { changes: found.await? }))
}

/// The answer to a change: 200 where it is in force, 202 where it waits for a second admin.
pub(super) fn changed(answer: Value) -> (StatusCode, Json<Value>) {
    let status = match answer["pending"] == true {
        true => StatusCode::ACCEPTED,
        false => StatusCode::OK,
    };
    (status, Json(answer))
}

/// A decision about one change.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct GovernanceDecision {
    /// `approve` or `reject`.
    #[schema(example = "approve")]
    decision: String,
    /// Why; a rejection needs it.
    comment: Option<String>,
}

/// Approve or reject a proposed change
///
/// Its proposer cannot approve it, nor an agent, nor a key or login that the proposer made or that made the proposer's.
#[utoipa::path(post, path = "/v1/governance-changes/{change_id}/decide", tag = "executions", params(("change_id" = Uuid, Path)), request_body = GovernanceDecision, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn governance_change_decide(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(change_id): Id,
    Strict(request): Strict<GovernanceDecision>,
) -> Result<Json<Value>, Problem> {
    let done = server.call(&caller, "governance_change_decide", async |client| {
        stored::governance_change_decide(client, change_id, &request.decision, request.comment.as_deref()).await
    });
    Ok(Json(done.await?))
}
