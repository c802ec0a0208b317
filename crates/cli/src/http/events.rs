//! What happened, as a stream.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body as Answer, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tenure::store::events::{self, Event, EventFilter};
use tenure_core::codes;
use tokio::time::Instant;
use tokio::time::error::Elapsed;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Server;
use super::auth::Caller;
use super::body::Query;
use super::key_ends::Watched;
use super::live::{FOLLOWERS_MAX, Follower, Next, Told};
use super::problem::{Body, Problem};

/// Something is sent at least this often, so that nothing between cuts the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long a client waits before it comes back, if it is cut off.
const RETRY_MILLIS: u32 = 2000;
/// Events that are read at once for somebody who has fallen behind.
const BEHIND_PAGE: i32 = 20;

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
    /// Only those of this kind, or of this domain (`job.*`).
    kind: Option<String>,
    /// Only those about this.
    subject: Option<String>,
    /// The last of them instead of the first, still oldest first.
    newest: Option<bool>,
}

/// Events, oldest first.
#[derive(Debug, Serialize, ToSchema)]
struct EventPage {
    /// The events.
    events: Vec<Event>,
    /// Where to go on, now or later: none of those that come is passed over.
    next: Option<String>,
}

/// List events, oldest first, or follow them
///
/// With `Accept: text/event-stream` the answer does not end: it goes on with each event as it happens, beginning with what comes
/// after `after` or the header `Last-Event-ID`, or with what happens from now on. The id of each is its cursor.
#[utoipa::path(
    get, path = "/v1/events", tag = "events",
    params(ListQuery, ("last-event-id" = Option<String>, Header, description = "Where a client that follows was cut off.")),
    responses(
        (status = 200, description = "A page, or a stream of server-sent events", content((EventPage = "application/json"), (String = "text/event-stream"))),
        (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")
    )
)]
async fn event_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<ListQuery>,
) -> Result<Response, Problem> {
    let mut filter = EventFilter {
        after: query.after,
        limit: query.limit,
        kind: query.kind,
        subject: query.subject,
        newest: query.newest.unwrap_or_default(),
    };
    let named = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if named(header::ACCEPT).is_some_and(|accept| accept.contains("text/event-stream")) {
        if let Some(cursor) = named(header::HeaderName::from_static("last-event-id")).filter(|it| !it.is_empty()) {
            filter.after = Some(cursor.to_owned());
        }
        return follow(server, caller, filter).await;
    }
    let found = server.call(&caller, "event_list", async |client| {
        events::event_list(client, &filter).await
    });
    let events = found.await?;
    let next = events.last().map(|event| event.cursor.clone()).or(filter.after);
    Ok(Json(EventPage { events, next }).into_response())
}

/// Somebody who follows.
struct Following {
    server: Arc<Server>,
    caller: Caller,
    filter: EventFilter,
    follower: Follower,
    /// What is to be sent, oldest last.
    waiting: Vec<Arc<Told>>,
    key: Watched,
    begun: bool,
}

async fn follow(server: Arc<Server>, caller: Caller, mut filter: EventFilter) -> Result<Response, Problem> {
    filter.limit = Some(BEHIND_PAGE);
    let cursor = filter.after.take();
    if let Some(cursor) = &cursor {
        // Refuses what is no cursor, before anything is sent.
        let from = EventFilter {
            after: Some(cursor.clone()),
            limit: Some(1),
            ..EventFilter::default()
        };
        let seen = server.call(&caller, "event_list", async |client| {
            events::event_list(client, &from).await
        });
        seen.await?;
    }
    // Before the key is checked for the last time: what ends after that is heard.
    let key = server.key_ends.watch(caller.key_id);
    let end = server.call(&caller, "event_end", async |client| events::event_end(client).await);
    let end = end.await?;
    filter.kind = filter.kind.filter(|kind| kind != "*");
    if let (Some(kind), Some(end)) = (&filter.kind, &end) {
        // Refuses a kind that no event has, and looks through none: all that is listed lies before this cursor.
        let from = EventFilter {
            after: Some(end.cursor.clone()),
            kind: Some(kind.clone()),
            limit: Some(1),
            ..EventFilter::default()
        };
        let seen = server.call(&caller, "event_list", async |client| {
            events::event_list(client, &from).await
        });
        seen.await?;
    }
    let follower = end.and_then(|end| server.live.follow(&server.services, end, cursor));
    let Some(follower) = follower else {
        return Err(Problem::new(
            codes::BUSY_TRY_AGAIN,
            "Nobody else can follow the events here now.",
            format!("The server is about to end, or {FOLLOWERS_MAX} follow already."),
            "Try again, or read them by pages.",
        ));
    };
    let following = Following {
        server,
        caller,
        filter,
        follower,
        waiting: Vec::new(),
        key,
        begun: false,
    };
    let frames = futures_util::stream::unfold(following, async |mut following| {
        let frame = following.frame().await?;
        Some((Ok::<_, Infallible>(frame), following))
    });
    let mut response = Answer::from_stream(frames).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

impl Following {
    /// What to send next; none at the end.
    async fn frame(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.begun, true) {
            // With the place it begins at: who is cut off before the first event goes on from there.
            return Some(Bytes::from(format!(
                "id: {}\nretry: {RETRY_MILLIS}\n\n",
                self.follower.cursor
            )));
        }
        let quiet_until = Instant::now() + KEEP_ALIVE;
        loop {
            if self.key.has_ended() {
                return None;
            }
            if let Some(told) = self.waiting.pop() {
                return Some(Bytes::from(told.frame.clone()));
            }
            match self.follower.next() {
                Next::Events(events) => {
                    self.passed(events.last().map(|told| &told.event));
                    self.waiting = events
                        .into_iter()
                        .filter(|told| self.is_asked_for(&told.event))
                        .rev()
                        .collect();
                }
                Next::Earlier(from) => {
                    self.filter.after = Some(self.follower.cursor.clone());
                    let filter = &self.filter;
                    let page = self.server.call(&self.caller, "event_list", async |client| {
                        events::event_list(client, filter).await
                    });
                    match page.await {
                        Ok(events) if events.is_empty() => self.follower.cursor = from,
                        Ok(events) => {
                            self.passed(events.last());
                            self.waiting = events
                                .into_iter()
                                .rev()
                                .map(|event| Arc::new(Told::new(event)))
                                .collect();
                        }
                        Err(problem) if problem.is_final() => return None,
                        Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
                    }
                }
                Next::Nothing => match self.news(quiet_until).await {
                    Ok(true) => {}
                    Ok(false) => return None,
                    Err(_) => return Some(Bytes::from(format!("id: {}\n: still here\n\n", self.follower.cursor))),
                },
            }
        }
    }

    /// Until something happened; false when the server ends, or the key.
    async fn news(&mut self, until: Instant) -> Result<bool, Elapsed> {
        tokio::select! {
            news = tokio::time::timeout_at(until, self.follower.news()) => news,
            () = self.key.ended() => Ok(false),
        }
    }

    /// All up to this one is sent, or waits to be.
    fn passed(&mut self, last: Option<&Event>) {
        if let Some(event) = last {
            self.follower.cursor.clone_from(&event.cursor);
        }
    }

    fn is_asked_for(&self, event: &Event) -> bool {
        let domain = || event.kind.split('.').next().unwrap_or_default();
        let of_kind = |kind: &String| *kind == event.kind || kind.strip_suffix(".*").is_some_and(|it| it == domain());
        self.filter.kind.as_ref().is_none_or(of_kind)
            && (self.filter.subject.is_none() || self.filter.subject == event.subject)
    }
}
