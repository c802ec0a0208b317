//! Registered actions: what an action is, and the least that every step with it must have.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure::store::actions::{self as stored, Action};
use tenure::store::governance_changes::GovernanceChange;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Server;
use super::auth::Caller;
use super::body::{Name, NoQuery, Query, Strict};
use super::governance_changes::changed;
use super::problem::{Body, Problem};

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(action_list))
        .routes(routes!(action_show, action_set, action_delete))
}

/// The registrations.
#[derive(Debug, Serialize, ToSchema)]
struct Actions {
    /// By name.
    actions: Vec<Action>,
}

/// List the registered actions
#[utoipa::path(get, path = "/v1/actions", tag = "executions", responses((status = 200, body = Actions), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn action_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(NoQuery {}): Query<NoQuery>,
) -> Result<Json<Actions>, Problem> {
    let found = server.call(&caller, "action_list", async |client| stored::action_list(client).await);
    Ok(Json(Actions { actions: found.await? }))
}

/// Carried by what.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ShowQuery {
    /// Carried by a job of this kind; the action itself if left out.
    kind: Option<String>,
}

/// Show what applies to steps with this action, and which registration says so
#[utoipa::path(get, path = "/v1/actions/{name}", tag = "executions", params(("name" = String, Path), ShowQuery), responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn action_show(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Query(query): Query<ShowQuery>,
) -> Result<Json<Value>, Problem> {
    let found = server.call(&caller, "action_show", async |client| {
        stored::action_show(client, &name, query.kind.as_deref()).await
    });
    Ok(Json(found.await?))
}

/// What an action is, and the least that every step with it must have.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ActionSpec {
    /// `read`, `modify` or `deploy`.
    #[schema(example = "modify")]
    action_class: String,
    /// Kinds of jobs that may carry it, with `*` for anything; left out: only the kind that has the name of the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    kinds: Option<Vec<String>>,
    /// The least approval level of a step; 0 if left out.
    #[schema(minimum = 0, maximum = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    level_min: Option<i32>,
    /// The least that a step locks: `none`, `target_and_action` or `target`. Left out: `none` for a read, else `target`.
    #[serde(skip_serializing_if = "Option::is_none")]
    lock_scope: Option<String>,
    /// Whether the payload is restricted; false if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_restricted: Option<bool>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Register an action, or replace its registration
///
/// Where the tenant says so (`governance.changes.need_approval`) the answer is 202, with a change that waits for a second admin:
/// `pending` with its `change_id`.
#[utoipa::path(put, path = "/v1/actions/{name}", tag = "executions", params(("name" = String, Path)), request_body = ActionSpec, responses((status = 200, body = Action), (status = 202, description = "Proposed: it takes effect when a second admin approves it", body = GovernanceChange), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn action_set(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Strict(spec): Strict<ActionSpec>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let spec = json!(spec);
    let set = server.call(&caller, "action_set", async |client| {
        stored::action_set(client, &name, &spec).await
    });
    Ok(changed(set.await?))
}

/// Remove a registration
#[utoipa::path(delete, path = "/v1/actions/{name}", tag = "executions", params(("name" = String, Path)), responses((status = 200, body = Object), (status = 202, description = "Proposed: it takes effect when a second admin approves it", body = GovernanceChange), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn action_delete(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let done = server.call(&caller, "action_delete", async |client| {
        stored::action_delete(client, &name).await
    });
    Ok(changed(done.await?))
}
