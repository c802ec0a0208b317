//! Types of targets, and how their references are compared.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure::store::governance_changes::GovernanceChange;
use tenure::store::target_types::{self as stored, TargetType};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Server;
use super::auth::Caller;
use super::body::{Name, NoQuery, Query, Strict};
use super::governance_changes::changed;
use super::problem::{Body, Problem};

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(target_type_list))
        .routes(routes!(target_type_set, target_type_delete))
}

/// The types.
#[derive(Debug, Serialize, ToSchema)]
struct TargetTypes {
    /// By name.
    target_types: Vec<TargetType>,
}

/// List the registered types of targets
#[utoipa::path(get, path = "/v1/target-types", tag = "executions", responses((status = 200, body = TargetTypes), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn target_type_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(NoQuery {}): Query<NoQuery>,
) -> Result<Json<TargetTypes>, Problem> {
    let found = server.call(&caller, "target_type_list", async |client| {
        stored::target_type_list(client).await
    });
    Ok(Json(TargetTypes {
        target_types: found.await?,
    }))
}

/// How references of a type are compared.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TargetTypeSpec {
    /// `exact`: upper and lower case name two targets; `lower`: one.
    #[schema(example = "lower")]
    case_rule: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Register a type of targets, or change it
#[utoipa::path(put, path = "/v1/target-types/{name}", tag = "executions", params(("name" = String, Path)), request_body = TargetTypeSpec, responses((status = 200, body = TargetType), (status = 202, description = "Proposed: it takes effect when a second admin approves it", body = GovernanceChange), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn target_type_set(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Strict(spec): Strict<TargetTypeSpec>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let spec = json!(spec);
    let set = server.call(&caller, "target_type_set", async |client| {
        stored::target_type_set(client, &name, &spec).await
    });
    Ok(changed(set.await?))
}

/// Remove a type of targets
#[utoipa::path(delete, path = "/v1/target-types/{name}", tag = "executions", params(("name" = String, Path)), responses((status = 200, body = Object), (status = 202, description = "Proposed: it takes effect when a second admin approves it", body = GovernanceChange), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn target_type_delete(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let done = server.call(&caller, "target_type_delete", async |client| {
        stored::target_type_delete(client, &name).await
    });
    Ok(changed(done.await?))
}
