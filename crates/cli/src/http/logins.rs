//! Who a database login is.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use tenure::store::tenants::{self, LoginBinding};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Server;
use super::auth::Caller;
use super::body::{Name, Strict};
use super::problem::{Body, Problem};

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new().routes(routes!(login_bind, login_unbind))
}

/// What a database login is bound to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LoginRequest {
    /// Its tenant; left out: that of the key.
    tenant: Option<String>,
    /// The actor of its events; left out: the login.
    principal: Option<String>,
    /// The executors it drives; left out: any, for claiming.
    executors: Option<Vec<String>>,
    /// The kinds it works with; left out: every kind.
    kinds: Option<Vec<String>>,
    /// `safe` or `restricted`.
    payload_access: Option<String>,
}

/// Bind a database login to a tenant, a principal, and what it may drive
#[utoipa::path(
    put, path = "/v1/logins/{login}", tag = "principals", request_body = LoginRequest,
    params(("login" = String, Path, description = "The login; * stands for those without a binding of their own")),
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn login_bind(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(login): Name,
    Strict(request): Strict<LoginRequest>,
) -> Result<Json<Value>, Problem> {
    let binding = LoginBinding {
        login,
        tenant: request.tenant,
        principal: request.principal,
        executors: request.executors,
        kinds: request.kinds,
        payload_access: request.payload_access,
    };
    let bound = server.call(&caller, "login_bind", async |client| {
        tenants::login_bind(client, &binding).await
    });
    Ok(Json(bound.await?))
}

/// Take the binding of a database login back
#[utoipa::path(
    delete, path = "/v1/logins/{login}", tag = "principals", params(("login" = String, Path)),
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn login_unbind(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(login): Name,
) -> Result<Json<Value>, Problem> {
    let done = server.call(&caller, "login_unbind", async |client| {
        tenants::login_unbind(client, &login).await
    });
    Ok(Json(done.await?))
}
