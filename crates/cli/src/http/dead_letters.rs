//! Jobs that gave up: look, triage, replay.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::store::dead_letters::{self, DeadLetter, DeadLetterFilter};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::Server;
use super::auth::Caller;
use super::body::{Id, Query, Strict};
use super::problem::{Body, Problem};
use super::times::RequestTime;

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(dead_letter_list))
        .routes(routes!(dead_letter_show))
        .routes(routes!(dead_letter_triage))
        .routes(routes!(dead_letter_replay_preview))
        .routes(routes!(dead_letter_replay))
}

/// Which dead letters to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only those in this state of triage.
    triage_status: Option<String>,
    /// Only those of this kind.
    kind: Option<String>,
    /// Only those with the same error.
    fingerprint: Option<String>,
    /// Only those that moved here before.
    #[param(value_type = Option<String>, format = DateTime)]
    before: Option<RequestTime>,
    /// With `before`, also those of that moment that come after this one: the last one of the previous page.
    before_id: Option<Uuid>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i32>,
}

/// Dead letters, newest first.
#[derive(Debug, Serialize, ToSchema)]
struct DeadLetterPage {
    /// The dead letters.
    dead_letters: Vec<DeadLetter>,
}

/// List dead letters, newest first
#[utoipa::path(get, path = "/v1/dead-letters", tag = "dead letters", params(ListQuery), responses((status = 200, body = DeadLetterPage), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn dead_letter_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<DeadLetterPage>, Problem> {
    let filter = DeadLetterFilter {
        triage_status: query.triage_status,
        kind: query.kind,
        fingerprint: query.fingerprint,
        before: query.before.map(Into::into),
        before_id: query.before_id,
        limit: query.limit,
    };
    let found = server.call(&caller, "dead_letter_list", async |client| {
        dead_letters::dead_letter_list(client, &filter).await
    });
    Ok(Json(DeadLetterPage {
        dead_letters: found.await?,
    }))
}

/// Show all about a dead letter
#[utoipa::path(get, path = "/v1/dead-letters/{id}", tag = "dead letters", params(("id" = Uuid, Path)), responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn dead_letter_show(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<Value>, Problem> {
    let found = server.call(&caller, "dead_letter_show", async |client| {
        dead_letters::dead_letter_show(client, id).await
    });
    Ok(Json(found.await?))
}

/// What somebody found out.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TriageRequest {
    /// `acknowledged`, `manual_replay`, `escalated` or `closed`.
    status: String,
    /// What was found out.
    note: Option<String>,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Triage a dead letter
#[utoipa::path(
    post, path = "/v1/dead-letters/{id}/triage", tag = "dead letters", params(("id" = Uuid, Path)), request_body = TriageRequest,
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn dead_letter_triage(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(id): Id,
    Strict(request): Strict<TriageRequest>,
) -> Result<Json<Value>, Problem> {
    let (note, whom) = (request.note.as_deref(), request.on_behalf_of.as_deref());
    let done = server.call(&caller, "dead_letter_triage", async |client| {
        dead_letters::dead_letter_triage(client, id, &request.status, note, whom).await
    });
    Ok(Json(done.await?))
}

/// See what a replay would do
#[utoipa::path(
    get, path = "/v1/dead-letters/{id}/replay", tag = "dead letters", params(("id" = Uuid, Path)),
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn dead_letter_replay_preview(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<Value>, Problem> {
    let found = server.call(&caller, "dead_letter_replay_preview", async |client| {
        dead_letters::dead_letter_replay_preview(client, id).await
    });
    Ok(Json(found.await?))
}

/// For whom.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ReplayRequest {
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Replay a dead letter: its job runs again, as a new one
#[utoipa::path(
    post, path = "/v1/dead-letters/{id}/replay", tag = "dead letters", params(("id" = Uuid, Path)), request_body = ReplayRequest,
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn dead_letter_replay(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(id): Id,
    Strict(request): Strict<ReplayRequest>,
) -> Result<Json<Value>, Problem> {
    let whom = request.on_behalf_of.as_deref();
    let done = server.call(&caller, "dead_letter_replay", async |client| {
        dead_letters::dead_letter_replay(client, id, whom).await
    });
    Ok(Json(done.await?))
}
