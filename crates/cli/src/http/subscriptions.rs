//! Being told of what happened: by jobs, by webhooks, or by reading at one's own pace.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::store::events::Event;
use tenure::store::subscriptions::{self, Delivery, NewSubscription, Subscription};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Server;
use super::auth::Caller;
use super::body::{Id, Name, Query, Strict};
use super::problem::{Body, Problem};
use super::requests::Secret;

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(subscription_list, subscription_create))
        .routes(routes!(subscription_delete))
        .routes(routes!(subscription_pause))
        .routes(routes!(subscription_resume))
        .routes(routes!(subscription_rotate))
        .routes(routes!(subscription_read))
        .routes(routes!(subscription_ack))
        .routes(routes!(delivery_list))
        .routes(routes!(delivery_retry))
}

/// The subscriptions of the tenant.
#[derive(Debug, Serialize, ToSchema)]
struct Subscriptions {
    /// By name.
    subscriptions: Vec<Subscription>,
}

/// List subscriptions
#[utoipa::path(get, path = "/v1/subscriptions", tag = "subscriptions", responses((status = 200, body = Subscriptions), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn subscription_list(State(server): State<Arc<Server>>, caller: Caller) -> Result<Json<Subscriptions>, Problem> {
    let found = server.call(&caller, "subscription_list", async |client| {
        subscriptions::subscription_list(client).await
    });
    Ok(Json(Subscriptions {
        subscriptions: found.await?,
    }))
}

/// A subscription to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SubscriptionRequest {
    /// Its name.
    #[schema(example = "repair")]
    name: String,
    /// The kinds of events: whole names, all of a domain (`job.*`), or all (`*`).
    #[schema(example = json!(["job.dead_lettered"]))]
    event_kinds: Vec<String>,
    /// What becomes of a match: a `job`, a call of a `webhook`, or nothing until a `reader` asks.
    #[schema(example = "job")]
    target: String,
    /// What else an event must say: `job_kind`, `executor`, `actor`, `subject`, or `data` that it contains.
    #[schema(value_type = Option<Object>)]
    filter: Option<Value>,
    /// Where to begin: `now`, `start`, or a cursor.
    from: Option<String>,
    /// For a job: its kind.
    #[schema(example = "repair.report")]
    job_kind: Option<String>,
    /// For a job: its executor; that of the kind if left out.
    executor: Option<String>,
    /// For a job: its priority.
    priority: Option<i32>,
    /// For a job: how many subscriptions may follow upon one another; 8 if left out.
    depth_max: Option<i32>,
    /// For a webhook: where it listens.
    url: Option<String>,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Subscribe to events
///
/// The answer to a webhook's has its `signing_key`, this once: deliveries are signed with it as Standard Webhooks says.
#[utoipa::path(post, path = "/v1/subscriptions", tag = "subscriptions", request_body = SubscriptionRequest, responses((status = 201, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn subscription_create(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<SubscriptionRequest>,
) -> Result<(StatusCode, Option<Extension<Secret>>, Json<Value>), Problem> {
    let new = NewSubscription {
        name: request.name,
        event_kinds: request.event_kinds,
        target: request.target,
        filter: request.filter,
        from: request.from,
        job_kind: request.job_kind,
        executor: request.executor,
        priority: request.priority,
        depth_max: request.depth_max,
        url: request.url,
        on_behalf_of: request.on_behalf_of,
    };
    if let Some(url) = new.url.as_deref().filter(|_| new.target == "webhook") {
        server.webhooks.check(url)?;
    }
    let made = server.call(&caller, "subscription_create", async |client| {
        subscriptions::subscription_create(client, &new).await
    });
    let made = made.await?;
    let secret = made["signing_key"].is_string().then_some(Extension(Secret));
    Ok((StatusCode::CREATED, secret, Json(made)))
}

/// End a subscription, with what it has still to send
#[utoipa::path(delete, path = "/v1/subscriptions/{name}", tag = "subscriptions", params(("name" = String, Path)), responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn subscription_delete(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
) -> Result<Json<Value>, Problem> {
    let ended = server.call(&caller, "subscription_delete", async |client| {
        subscriptions::subscription_delete(client, &name, None).await
    });
    Ok(Json(ended.await?))
}

/// Why.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PauseRequest {
    /// A word about it.
    note: Option<String>,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Pause a subscription: it stands where it is, and nothing is lost
#[utoipa::path(post, path = "/v1/subscriptions/{name}/pause", tag = "subscriptions", params(("name" = String, Path)), request_body = PauseRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn subscription_pause(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Strict(request): Strict<PauseRequest>,
) -> Result<Json<Value>, Problem> {
    let (note, whom) = (request.note.as_deref(), request.on_behalf_of.as_deref());
    let paused = server.call(&caller, "subscription_pause", async |client| {
        subscriptions::subscription_pause(client, &name, note, whom).await
    });
    Ok(Json(paused.await?))
}

/// Where to go on.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ResumeRequest {
    /// `now`, `start` or a cursor; where it stood, if left out.
    from: Option<String>,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Let a subscription go on
#[utoipa::path(post, path = "/v1/subscriptions/{name}/resume", tag = "subscriptions", params(("name" = String, Path)), request_body = ResumeRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn subscription_resume(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Strict(request): Strict<ResumeRequest>,
) -> Result<Json<Value>, Problem> {
    let (from, whom) = (request.from.as_deref(), request.on_behalf_of.as_deref());
    let resumed = server.call(&caller, "subscription_resume", async |client| {
        subscriptions::subscription_resume(client, &name, from, whom).await
    });
    Ok(Json(resumed.await?))
}

/// Give a webhook a new signing key
///
/// The answer has it, this once. The old one signs too for a day, so that the receiver can change over.
#[utoipa::path(post, path = "/v1/subscriptions/{name}/rotate", tag = "subscriptions", params(("name" = String, Path)), responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn subscription_rotate(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
) -> Result<(Extension<Secret>, Json<Value>), Problem> {
    let rotated = server.call(&caller, "subscription_rotate", async |client| {
        subscriptions::subscription_rotate(client, &name, None).await
    });
    Ok((Extension(Secret), Json(rotated.await?)))
}

/// How much to read.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ReadQuery {
    /// At most so many; 100 if left out.
    limit: Option<i32>,
}

/// What a reader has not dealt with yet.
#[derive(Debug, Serialize, ToSchema)]
struct Unread {
    /// Oldest first.
    events: Vec<Event>,
}

/// Read the next events of a reader; they come again until they are acknowledged
#[utoipa::path(get, path = "/v1/subscriptions/{name}/events", tag = "subscriptions", params(("name" = String, Path), ReadQuery), responses((status = 200, body = Unread), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn subscription_read(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Query(query): Query<ReadQuery>,
) -> Result<Json<Unread>, Problem> {
    let found = server.call(&caller, "subscription_read", async |client| {
        subscriptions::subscription_read(client, &name, query.limit).await
    });
    Ok(Json(Unread { events: found.await? }))
}

/// Up to where a reader has come.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AckRequest {
    /// The cursor of the last event that was dealt with.
    #[schema(example = "1.742.3")]
    cursor: String,
}

/// Acknowledge events: all up to this cursor were dealt with
#[utoipa::path(post, path = "/v1/subscriptions/{name}/ack", tag = "subscriptions", params(("name" = String, Path)), request_body = AckRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn subscription_ack(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Strict(request): Strict<AckRequest>,
) -> Result<Json<Value>, Problem> {
    let moved = server.call(&caller, "subscription_ack", async |client| {
        subscriptions::subscription_ack(client, &name, &request.cursor).await
    });
    Ok(Json(moved.await?))
}

/// Which deliveries to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DeliveriesQuery {
    /// Only those `waiting`, `delivered` or `dead`.
    state: Option<String>,
    /// At most so many; 100 if left out.
    limit: Option<i32>,
    /// Where the page before ended: its `next`.
    before: Option<i64>,
}

/// Deliveries of a webhook.
#[derive(Debug, Serialize, ToSchema)]
struct Deliveries {
    /// Newest first.
    deliveries: Vec<Delivery>,
    /// Where the next page begins; none: this was the last.
    next: Option<i64>,
}

/// List the deliveries of a webhook, newest first
#[utoipa::path(get, path = "/v1/subscriptions/{name}/deliveries", tag = "subscriptions", params(("name" = String, Path), DeliveriesQuery), responses((status = 200, body = Deliveries), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn delivery_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Query(query): Query<DeliveriesQuery>,
) -> Result<Json<Deliveries>, Problem> {
    let limit = query.limit.unwrap_or(100);
    let found = server.call(&caller, "delivery_list", async |client| {
        subscriptions::delivery_list(client, &name, query.state.as_deref(), Some(limit), query.before).await
    });
    let deliveries = found.await?;
    let full = usize::try_from(limit).is_ok_and(|limit| deliveries.len() >= limit);
    let next = deliveries.last().filter(|_| full).map(|last| last.place);
    Ok(Json(Deliveries { deliveries, next }))
}

/// Send a dead delivery once more
#[utoipa::path(post, path = "/v1/deliveries/{delivery_id}/retry", tag = "subscriptions", params(("delivery_id" = Uuid, Path)), responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn delivery_retry(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(delivery_id): Id,
) -> Result<Json<Value>, Problem> {
    let retried = server.call(&caller, "delivery_retry", async |client| {
        subscriptions::delivery_retry(client, delivery_id, None).await
    });
    Ok(Json(retried.await?))
}
