//! Tenants, principals and keys.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use tenure::store::principals::{self, Key, NewKey, Principal};
use tenure::store::tenants::{self, Tenant};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Server;
use super::auth::{Caller, random_key};
use super::body::{Name, Strict};
use super::problem::{Body, Problem};
use super::requests::Secret;
use super::times::RequestTime;

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(tenant_list, tenant_create))
        .routes(routes!(principal_list, principal_create))
        .routes(routes!(principal_set))
        .routes(routes!(key_list, key_create))
        .routes(routes!(key_revoke))
}

/// The tenants that the key may see.
#[derive(Debug, Serialize, ToSchema)]
struct Tenants {
    /// In the order they were made.
    tenants: Vec<Tenant>,
}

/// List tenants
#[utoipa::path(get, path = "/v1/tenants", tag = "principals", responses((status = 200, body = Tenants), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn tenant_list(State(server): State<Arc<Server>>, caller: Caller) -> Result<Json<Tenants>, Problem> {
    let found = server.call(&caller, "tenant_list", async |client| {
        tenants::tenant_list(client).await
    });
    Ok(Json(Tenants { tenants: found.await? }))
}

/// A tenant to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TenantRequest {
    /// Its name.
    #[schema(min_length = 1, max_length = 200)]
    name: String,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Make a tenant; for keys of the installation
#[utoipa::path(post, path = "/v1/tenants", tag = "principals", request_body = TenantRequest, responses((status = 201, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn tenant_create(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<TenantRequest>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let whom = request.on_behalf_of.as_deref();
    let made = server.call(&caller, "tenant_create", async |client| {
        tenants::tenant_create(client, &request.name, whom).await
    });
    Ok((StatusCode::CREATED, Json(made.await?)))
}

/// The principals of the tenant.
#[derive(Debug, Serialize, ToSchema)]
struct Principals {
    /// By name.
    principals: Vec<Principal>,
}

/// List principals
#[utoipa::path(get, path = "/v1/principals", tag = "principals", responses((status = 200, body = Principals), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn principal_list(State(server): State<Arc<Server>>, caller: Caller) -> Result<Json<Principals>, Problem> {
    let found = server.call(&caller, "principal_list", async |client| {
        principals::principal_list(client).await
    });
    Ok(Json(Principals {
        principals: found.await?,
    }))
}

/// A principal to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PrincipalRequest {
    /// Its name: the actor of its events.
    #[schema(min_length = 1, max_length = 200)]
    name: String,
    /// `human`, `agent` or `service`.
    kind: String,
    /// Where to write to it.
    email: Option<String>,
}

/// Make a principal
#[utoipa::path(post, path = "/v1/principals", tag = "principals", request_body = PrincipalRequest, responses((status = 201, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn principal_create(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<PrincipalRequest>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let email = request.email.as_deref();
    let made = server.call(&caller, "principal_create", async |client| {
        principals::principal_create(client, &request.name, &request.kind, email).await
    });
    Ok((StatusCode::CREATED, Json(made.await?)))
}

/// Up to which level a principal approves; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PrincipalChanges {
    /// Up to which level it approves when it comes by a database login; null: not at all. A key has a level of its own.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i32>, minimum = 1, maximum = 3)]
    approver_level: Option<Value>,
    /// The roles in which it approves.
    approval_roles: Option<Vec<String>>,
    /// True: the caller vouches for the principal as it is then, in place of those who registered or changed it.
    confirm: Option<bool>,
}

/// A field that is there, null included.
fn given<'de, D: Deserializer<'de>>(field: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(field).map(Some)
}

/// Say up to which level a principal approves, and in which roles
#[utoipa::path(patch, path = "/v1/principals/{name}", tag = "principals", params(("name" = String, Path)), request_body = PrincipalChanges, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn principal_set(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Strict(changes): Strict<PrincipalChanges>,
) -> Result<Json<Value>, Problem> {
    let mut spec = json!({});
    if let Some(level) = changes.approver_level {
        spec["approver_level"] = level;
    }
    if let Some(roles) = changes.approval_roles {
        spec["approval_roles"] = json!(roles);
    }
    if let Some(confirm) = changes.confirm {
        spec["confirm"] = json!(confirm);
    }
    let set = server.call(&caller, "principal_set", async |client| {
        principals::principal_set(client, &name, &spec).await
    });
    Ok(Json(set.await?))
}

/// The keys of the tenant.
#[derive(Debug, Serialize, ToSchema)]
struct Keys {
    /// Those that are valid first.
    keys: Vec<Key>,
}

/// List keys, without their secrets
#[utoipa::path(get, path = "/v1/keys", tag = "principals", responses((status = 200, body = Keys), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn key_list(State(server): State<Arc<Server>>, caller: Caller) -> Result<Json<Keys>, Problem> {
    let found = server.call(&caller, "key_list", async |client| principals::key_list(client).await);
    Ok(Json(Keys { keys: found.await? }))
}

/// A key to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct KeyRequest {
    /// Whose it will be.
    principal: String,
    /// What it may do: `viewer`, `requester`, `producer`, `worker`, `operator`, `approver`, `admin`.
    #[schema(min_items = 1, max_items = 100)]
    roles: Vec<String>,
    /// Up to which level it approves, for the role `approver`.
    #[schema(minimum = 1, maximum = 3)]
    approver_level: Option<i32>,
    /// The executors it drives; left out: any, for claiming.
    executors: Option<Vec<String>>,
    /// The kinds it works with; left out: every kind.
    kinds: Option<Vec<String>>,
    /// `safe` or `restricted`.
    payload_access: Option<String>,
    /// When it ends by itself.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<RequestTime>,
    /// A word about it.
    note: Option<String>,
}

/// Make a key: the answer has it in the field `key`, this once
#[utoipa::path(post, path = "/v1/keys", tag = "principals", request_body = KeyRequest, responses((status = 201, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn key_create(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<KeyRequest>,
) -> Result<(StatusCode, Extension<Secret>, Json<Value>), Problem> {
    let secret = random_key();
    let new = NewKey {
        principal: request.principal,
        prefix: secret.prefix().to_owned(),
        digest: secret.digest().to_vec(),
        roles: request.roles,
        approver_level: request.approver_level,
        executors: request.executors,
        kinds: request.kinds,
        payload_access: request.payload_access,
        expires_at: request.expires_at.map(Into::into),
        note: request.note,
    };
    let made = server.call(&caller, "key_create", async |client| {
        principals::key_create(client, &new).await
    });
    let mut made = made.await?;
    made["key"] = Value::from(secret.reveal());
    Ok((StatusCode::CREATED, Extension(Secret), Json(made)))
}

/// Revoke a key: it is refused from the next call on
#[utoipa::path(delete, path = "/v1/keys/{prefix}", tag = "principals", params(("prefix" = String, Path)), responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn key_revoke(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(prefix): Name,
) -> Result<Json<Value>, Problem> {
    let done = server.call(&caller, "key_revoke", async |client| {
        principals::key_revoke(client, &prefix).await
    });
    Ok(Json(done.await?))
}
