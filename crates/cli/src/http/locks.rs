//! Locks on targets: who holds them, and who waits.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::store::locks::{self, HeldLock, Lock, LockWaiter};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Server;
use super::auth::Caller;
use super::body::{Query, Strict};
use super::problem::{Body, Problem};

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(lock_list))
        .routes(routes!(lock_waiters))
        .routes(routes!(lock_acquire))
        .routes(routes!(lock_renew))
        .routes(routes!(lock_release))
        .routes(routes!(lock_break))
}

/// Which locks to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only those of this target: `type:ref`, with `%` and `:` in the reference written `%25` and `%3A`.
    target: Option<String>,
    /// At most so many; 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i32>,
}

/// Locks that are held.
#[derive(Debug, Serialize, ToSchema)]
struct Locks {
    /// The locks.
    locks: Vec<Lock>,
}

/// List locks that are held
#[utoipa::path(get, path = "/v1/locks", tag = "locks", params(ListQuery), responses((status = 200, body = Locks), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn lock_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<Locks>, Problem> {
    let found = server.call(&caller, "lock_list", async |client| {
        locks::lock_list(client, query.target.as_deref(), query.limit).await
    });
    Ok(Json(Locks { locks: found.await? }))
}

/// Whose line.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct WaitersQuery {
    /// The lock: `type:ref`, or `type:ref:action`.
    part: String,
    /// At most so many; 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i32>,
}

/// Who waits for a lock.
#[derive(Debug, Serialize, ToSchema)]
struct Waiters {
    /// In the order of their turn.
    waiters: Vec<LockWaiter>,
}

/// List who waits for a lock, in the order of their turn
#[utoipa::path(get, path = "/v1/locks/waiters", tag = "locks", params(WaitersQuery), responses((status = 200, body = Waiters), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn lock_waiters(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(query): Query<WaitersQuery>,
) -> Result<Json<Waiters>, Problem> {
    let found = server.call(&caller, "lock_waiters", async |client| {
        locks::lock_waiters(client, &query.part, query.limit).await
    });
    Ok(Json(Waiters { waiters: found.await? }))
}

/// Locks to take.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AcquireRequest {
    /// Each `type:ref`, or `type:ref:action`; within the reference `%` and `:` are written `%25` and `%3A`.
    #[schema(min_items = 1)]
    parts: Vec<String>,
    /// How long, unless they are renewed or released.
    #[schema(minimum = 1)]
    seconds: i32,
    /// Why; whoever finds them held is told.
    reason: Option<String>,
}

/// Take locks, all of them or none
#[utoipa::path(post, path = "/v1/locks/acquire", tag = "locks", request_body = AcquireRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn lock_acquire(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<AcquireRequest>,
) -> Result<Json<Value>, Problem> {
    let why = request.reason.as_deref();
    let taken = server.call(&caller, "lock_acquire", async |client| {
        locks::lock_acquire(client, &request.parts, request.seconds, why).await
    });
    Ok(Json(taken.await?))
}

/// A lock that the caller holds.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = HeldLock)]
struct Held {
    /// The lock.
    part: String,
    /// The fencing number that acquiring it gave.
    fence: i64,
}

fn held(locks: Vec<Held>) -> Vec<HeldLock> {
    let one = |Held { part, fence }| HeldLock { part, fence };
    locks.into_iter().map(one).collect()
}

/// Locks to hold longer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RenewRequest {
    /// The locks.
    #[schema(min_items = 1)]
    locks: Vec<Held>,
    /// How long from now on.
    #[schema(minimum = 1)]
    seconds: i32,
}

/// Hold locks longer
#[utoipa::path(post, path = "/v1/locks/renew", tag = "locks", request_body = RenewRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn lock_renew(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<RenewRequest>,
) -> Result<Json<Value>, Problem> {
    let locks = held(request.locks);
    let renewed = server.call(&caller, "lock_renew", async |client| {
        locks::lock_renew(client, &locks, request.seconds).await
    });
    Ok(Json(renewed.await?))
}

/// Locks to let go.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = LockReleaseRequest)]
struct ReleaseRequest {
    /// The locks.
    #[schema(min_items = 1)]
    locks: Vec<Held>,
}

/// Let locks go
#[utoipa::path(post, path = "/v1/locks/release", tag = "locks", request_body = ReleaseRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn lock_release(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<ReleaseRequest>,
) -> Result<Json<Value>, Problem> {
    let locks = held(request.locks);
    let released = server.call(&caller, "lock_release", async |client| {
        locks::lock_release(client, &locks).await
    });
    Ok(Json(released.await?))
}

/// A lock to break.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BreakRequest {
    /// The lock.
    part: String,
    /// Why; kept.
    #[schema(min_length = 1)]
    reason: String,
}

/// Take a lock from whoever holds it
#[utoipa::path(post, path = "/v1/locks/break", tag = "locks", request_body = BreakRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn lock_break(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<BreakRequest>,
) -> Result<Json<Value>, Problem> {
    let broken = server.call(&caller, "lock_break", async |client| {
        locks::lock_break(client, &request.part, &request.reason).await
    });
    Ok(Json(broken.await?))
}
