//! What happened, as a stream.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use tenure::store::events::{self, Event, EventFilter};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Server;
use super::auth::Caller;
use super::body::Query;
use super::problem::{Body, Problem};

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new().routes(routes!(event_list))
}

/// Which events to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Where the page before ended: its `next`.
    after: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i32>,
    /// Only those of this kind.
    kind: Option<String>,
    /// Only those about this.
    subject: Option<String>,
}

/// Events, oldest first.
#[derive(Debug, Serialize, ToSchema)]
struct EventPage {
    /// The events.
    events: Vec<Event>,
    /// Where to go on, now or later: none of those that come is passed over.
    next: Option<String>,
}

/// List events, oldest first
#[utoipa::path(get, path = "/v1/events", tag = "events", params(ListQuery), responses((status = 200, body = EventPage), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn event_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<EventPage>, Problem> {
    let filter = EventFilter {
        after: query.after,
        limit: query.limit,
        kind: query.kind,
        subject: query.subject,
    };
    let found = server.call(&caller, "event_list", async |client| {
        events::event_list(client, &filter).await
    });
    let events = found.await?;
    let next = events.last().map(|event| event.cursor.clone()).or(filter.after);
    Ok(Json(EventPage { events, next }))
}
