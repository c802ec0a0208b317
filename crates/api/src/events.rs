//! The event stream: list, and what holds it back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Effect, Json, Operation, Page, Route, Shape, Timestamp};

/// List events, oldest first
///
/// `next` is null when no later event can be read yet. To go on later, send the `cursor` of the last event as `after`: no event
/// is passed over. With `Accept: text/event-stream` the answer does not end: it goes on with each event as it happens, beginning
/// after `after` or the header `Last-Event-ID`, or else with what happens from now on. The id of each message is the cursor of
/// its event.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventList {
    /// Only events after the one with this cursor.
    #[schemars(example = &"1.742.3")]
    pub after: Option<String>,
    /// Only events of this kind (`job.succeeded`) or of this domain (`job.*`); `*` means all.
    #[schemars(example = &"job.dead_lettered")]
    pub kind: Option<String>,
    /// Only events about this subject.
    pub subject: Option<String>,
    /// The last `limit` events instead of the first; still oldest first.
    pub newest: Option<bool>,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of events.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn limit_default() -> i32 {
    100
}

impl Default for EventList {
    fn default() -> EventList {
        EventList {
            after: None,
            kind: None,
            subject: None,
            newest: None,
            cursor: None,
            limit: limit_default(),
        }
    }
}

impl Operation for EventList {
    const NAME: &str = "event_list";
    const ROUTE: Route = Route::get("/v1/events", "events");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("after", "cursor")];
    type Answer = Page<Event>;
}

/// Something that happened, to one subject or to several jobs at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its place in the stream.
    pub cursor: String,
    /// When it happened.
    pub at: Timestamp,
    /// What happened, such as `job.succeeded`.
    pub kind: String,
    /// The principal or service that did it.
    pub actor: String,
    /// The person or program that it was done for.
    pub on_behalf_of: Option<String>,
    /// What it is about, if not jobs.
    pub subject: Option<String>,
    /// The kind of the jobs.
    pub job_kind: Option<String>,
    /// The executor of the jobs.
    pub executor: Option<String>,
    /// The jobs that it is about.
    pub job_ids: Option<Vec<Uuid>>,
    /// The run of each job, in the order of `job_ids`.
    pub runs: Option<Vec<i32>>,
    /// Details; their members depend on the kind.
    pub data: Json,
    /// The request that caused it; null if it was done by SQL.
    pub via: Option<String>,
}

/// Show how long the event stream has been held back, and by which session
///
/// An event is listed when every transaction that could precede it has ended. The oldest open transaction of the database server
/// holds the stream back.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamLagShow {}

impl Operation for StreamLagShow {
    const NAME: &str = "stream_lag";
    const ROUTE: Route = Route::get("/v1/events/lag", "events");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Row;
    type Answer = StreamLag;
}

/// How long the event stream has been held back, and by which session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamLag {
    /// The age in seconds of the oldest open transaction, or of the oldest waiting event if the caller may not see that
    /// transaction; 0 if the stream is not held back.
    pub held_seconds: f64,
    /// The server process of the transaction.
    pub pid: Option<i32>,
    /// The login of the transaction; null if the caller may not see it.
    pub login: Option<String>,
    /// The application of the transaction; null if the caller may not see it.
    pub application: Option<String>,
    /// The number of events that wait for the transaction. Those of at most 10000 rows of the stream are counted; a row has up to
    /// 100 events of executions.
    pub waiting_events: i64,
}
