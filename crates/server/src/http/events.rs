//! What happened, as a stream.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body as Answer, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tenure::operations::Perform;
use tenure::store::events;
use tenure_api::events::{Event, EventList};
use tenure_api::{Operation, Page};
use tenure_core::codes;
use tokio::time::Instant;
use tokio::time::error::Elapsed;

use super::Server;
use super::auth::Caller;
use super::key_ends::Watched;
use super::live::{FOLLOWERS_MAX, Follower, Next, Told};
use super::mount::{ByHand, answered, read};
use super::problem::Problem;

/// The header of server-sent events by which a client continues.
const LAST_EVENT_ID: &str = "last-event-id";

/// Something is sent at least this often, so that nothing between cuts the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long a client waits before it comes back, if it is cut off.
const RETRY_MILLIS: u32 = 2000;
/// Events that are read at once for a client that has fallen behind.
const BEHIND_PAGE: i32 = 20;

pub(super) fn routes() -> ByHand {
    ByHand::default().with::<EventList, _, _>(event_list)
}

/// Adds to the description what the operation does not know: the stream, and the header that continues it.
pub(super) fn describe(document: &mut Value) {
    let operation = &mut document["paths"][EventList::ROUTE.path]["get"];
    operation["responses"]["200"]["content"]["text/event-stream"] = json!({"schema": {"type": "string"}});
    if let Some(parameters) = operation["parameters"].as_array_mut() {
        parameters.push(json!({
            "name": LAST_EVENT_ID,
            "in": "header",
            "description": "The last event that a client which follows has seen.",
            "schema": {"type": ["string", "null"]},
        }));
    }
}

async fn event_list(State(server): State<Arc<Server>>, caller: Caller, request: Request) -> Result<Response, Problem> {
    let follows = named(&request, "accept").is_some_and(|accept| accept.contains("text/event-stream"));
    let last = named(&request, LAST_EVENT_ID);
    let mut list: EventList = read(&server, request).await?;
    if follows {
        list.after = last.or(list.after);
        return follow(server, caller, list).await;
    }
    answered::<EventList>(&page(&server, &caller, &list).await?)
}

/// A header that is a text.
fn named(request: &Request, name: &str) -> Option<String> {
    let value = request.headers().get(name)?.to_str().ok()?;
    (!value.is_empty()).then(|| value.to_owned())
}

async fn page(server: &Server, caller: &Caller, list: &EventList) -> Result<Page<Event>, Problem> {
    let found = server.call(caller, EventList::FUNCTION, async |client| list.perform(client).await);
    found.await
}

/// A client that follows the stream.
struct Following {
    server: Arc<Server>,
    caller: Caller,
    list: EventList,
    follower: Follower,
    /// What is to be sent, oldest last.
    waiting: Vec<Arc<Told>>,
    key: Watched,
    begun: bool,
}

async fn follow(server: Arc<Server>, caller: Caller, mut list: EventList) -> Result<Response, Problem> {
    if list.cursor.is_some() {
        return Err(Problem::new(
            codes::REQUEST_INVALID,
            "A stream takes no cursor of a page.",
            "It begins after an event.",
            "Send the cursor of the last event as after, or as the header Last-Event-ID.",
        ));
    }
    list.limit = BEHIND_PAGE;
    let cursor = list.after.take();
    if cursor.is_some() {
        // Refuses what is no cursor, before anything is sent.
        let from = EventList {
            after: cursor.clone(),
            limit: 1,
            ..EventList::default()
        };
        page(&server, &caller, &from).await?;
    }
    // Before the key is checked for the last time: what ends after that is heard.
    let key = server.key_ends.watch(caller.key_id);
    let end = server.call(&caller, "event_end", async |client| events::event_end(client).await);
    let end = end.await?;
    list.kind = list.kind.filter(|kind| kind != "*");
    if let (Some(kind), Some(end)) = (&list.kind, &end) {
        // Refuses a kind that no event has, and looks through none: all that is listed lies before this cursor.
        let from = EventList {
            after: Some(end.cursor.clone()),
            kind: Some(kind.clone()),
            limit: 1,
            ..EventList::default()
        };
        page(&server, &caller, &from).await?;
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
        list,
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
                    self.list.after = Some(self.follower.cursor.clone());
                    match page(&self.server, &self.caller, &self.list).await {
                        Ok(page) if page.items.is_empty() => self.follower.cursor = from,
                        Ok(page) => {
                            self.passed(page.items.last());
                            let events = page.items.into_iter().rev();
                            self.waiting = events.map(|event| Arc::new(Told::new(event))).collect();
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
        self.list.kind.as_ref().is_none_or(of_kind)
            && (self.list.subject.is_none() || self.list.subject == event.subject)
    }
}
