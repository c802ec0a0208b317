//! Settings and gates.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::store::config::{self, ConfigEntry, GatePosition};
use tenure::store::governance_changes::GovernanceChange;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Server;
use super::auth::Caller;
use super::body::{Name, Strict};
use super::governance_changes::changed;
use super::problem::{Body, Problem};

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(config_list))
        .routes(routes!(config_get, config_set))
        .routes(routes!(gate_set))
}

/// All settings.
#[derive(Debug, Serialize, ToSchema)]
struct Settings {
    /// By key.
    settings: Vec<ConfigEntry>,
}

/// List all settings, with where each value comes from
#[utoipa::path(get, path = "/v1/config", tag = "settings", responses((status = 200, body = Settings), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn config_list(State(server): State<Arc<Server>>, caller: Caller) -> Result<Json<Settings>, Problem> {
    let found = server.call(&caller, "config_list", async |client| config::config_list(client).await);
    Ok(Json(Settings { settings: found.await? }))
}

/// A setting, and the value in force.
#[derive(Debug, Serialize, ToSchema)]
struct Setting {
    /// Its key.
    key: String,
    /// Its value.
    value: Value,
}

/// Show a setting
#[utoipa::path(get, path = "/v1/config/{key}", tag = "settings", params(("key" = String, Path)), responses((status = 200, body = Setting), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn config_get(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(key): Name,
) -> Result<Json<Setting>, Problem> {
    let found = server.call(&caller, "config_get", async |client| {
        config::config_get(client, &key).await
    });
    let value = found.await?;
    Ok(Json(Setting { key, value }))
}

/// The new value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SettingRequest {
    /// Null takes it back to what the installation says.
    value: Value,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Set a setting
#[utoipa::path(
    put, path = "/v1/config/{key}", tag = "settings", params(("key" = String, Path)), request_body = SettingRequest,
    responses((status = 200, body = Object), (status = 202, description = "Proposed: it takes effect when a second admin approves it", body = GovernanceChange), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn config_set(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(key): Name,
    Strict(request): Strict<SettingRequest>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let value = Some(&request.value).filter(|value| !value.is_null());
    let whom = request.on_behalf_of.as_deref();
    let done = server.call(&caller, "config_set", async |client| {
        config::config_set(client, &key, value, whom).await
    });
    Ok(changed(done.await?))
}

/// Whether something may run.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Position {
    /// It may.
    Open,
    /// It may not.
    Closed,
}

/// Where the gate is to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct GateRequest {
    /// Open or closed.
    position: Position,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Open or close a gate
#[utoipa::path(
    put, path = "/v1/gates/{key}", tag = "settings", params(("key" = String, Path)), request_body = GateRequest,
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn gate_set(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(key): Name,
    Strict(request): Strict<GateRequest>,
) -> Result<Json<Value>, Problem> {
    let position = match request.position {
        Position::Open => GatePosition::Open,
        Position::Closed => GatePosition::Closed,
    };
    let whom = request.on_behalf_of.as_deref();
    let done = server.call(&caller, "gate_set", async |client| {
        config::gate_set(client, &key, position, whom).await
    });
    Ok(Json(done.await?))
}
