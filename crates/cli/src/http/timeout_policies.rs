//! How long executions, steps and leases may take.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure::store::timeout_policies::{self as stored, TimeoutPolicy};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Server;
use super::auth::Caller;
use super::body::{Names, Strict};
use super::problem::{Body, Problem};

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(timeout_policy_list))
        .routes(routes!(timeout_policy_set))
}

/// All nine.
#[derive(Debug, Serialize, ToSchema)]
struct Policies {
    /// One for each SLA class and action class.
    policies: Vec<TimeoutPolicy>,
}

/// List how long executions, steps and leases may take, by SLA class and action class
#[utoipa::path(get, path = "/v1/timeout-policies", tag = "executions", responses((status = 200, body = Policies), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn timeout_policy_list(State(server): State<Arc<Server>>, caller: Caller) -> Result<Json<Policies>, Problem> {
    let found = server.call(&caller, "timeout_policy_list", async |client| {
        stored::timeout_policy_list(client).await
    });
    Ok(Json(Policies { policies: found.await? }))
}

/// What to change; what is left out stays.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TimeoutSpec {
    /// How long a whole execution may take.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    execution_timeout_ms: Option<i64>,
    /// How long a step may take, unless its plan says otherwise.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    step_timeout_ms: Option<i64>,
    /// How long a worker holds a step without renewing, at least: a kind's own lease may be longer, and its own limit holds.
    #[schema(minimum = 1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_ms: Option<i64>,
    /// How often it renews at most.
    #[schema(minimum = 0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    renewals_max: Option<i32>,
}

/// Change how long things of an SLA class and an action class may take, for what is submitted from now on
#[utoipa::path(put, path = "/v1/timeout-policies/{sla_class}/{action_class}", tag = "executions", params(("sla_class" = String, Path), ("action_class" = String, Path)), request_body = TimeoutSpec, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn timeout_policy_set(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Names(sla_class, action_class): Names,
    Strict(spec): Strict<TimeoutSpec>,
) -> Result<Json<Value>, Problem> {
    let spec = json!(spec);
    let set = server.call(&caller, "timeout_policy_set", async |client| {
        stored::timeout_policy_set(client, &sla_class, &action_class, &spec).await
    });
    Ok(Json(set.await?))
}
