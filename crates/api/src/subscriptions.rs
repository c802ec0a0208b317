//! Subscriptions to events: list, create, pause, resume, rotate, delete, and reading at one's own pace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::events::Event;
use crate::{Effect, Json, Operation, Page, Route, Shape, Timestamp, words};

words! {
    /// What a matching event leads to.
    pub enum SubscriptionTarget {
        /// It waits until a program reads and acknowledges it.
        Reader = "reader",
        /// A job is enqueued.
        Job = "job",
        /// It is sent to a URL.
        Webhook = "webhook",
    }
}

words! {
    /// The state of a subscription.
    pub enum SubscriptionState {
        /// It acts on events.
        Active = "active",
        /// It does nothing until it is resumed.
        Paused = "paused",
        /// Its last attempts failed, and it is tried again.
        Failing = "failing",
    }
}

/// List subscriptions, and how far behind each is
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionList {}

impl Operation for SubscriptionList {
    const NAME: &str = "subscription_list";
    const ROUTE: Route = Route::get("/v1/subscriptions", "subscriptions");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Page<Subscription>;
}

/// A subscription, and how far behind it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Subscription {
    /// Its name.
    pub name: String,
    /// What a matching event leads to.
    pub target: SubscriptionTarget,
    /// Its state.
    pub state: SubscriptionState,
    /// The kinds of events: whole names (`job.succeeded`), domains (`job.*`), or all (`*`).
    pub event_kinds: Vec<String>,
    /// What else an event must have to match.
    pub filter: FilterShown,
    /// The kind of the jobs that it enqueues.
    pub job_kind: Option<String>,
    /// The executor of these jobs; null means the one that the kind names.
    pub executor: Option<String>,
    /// The priority of these jobs; higher goes first.
    pub priority: i32,
    /// How many of a job and its ancestors may have been enqueued by subscriptions.
    pub depth_max: i32,
    /// The URL of the webhook; only its scheme and host for a caller that is neither operator nor admin.
    pub url: Option<String>,
    /// Up to where it has read the stream.
    pub cursor: String,
    /// When it last read the stream.
    pub moved_at: Timestamp,
    /// When the oldest event happened that it has not read; null if it is up to date.
    pub behind_since: Option<Timestamp>,
    /// How many matches there were; an event about several jobs counts once for each.
    pub matched: i64,
    /// How many matches enqueued no job because of `depth_max`.
    pub skipped: i64,
    /// The number of waiting deliveries, counted up to 10,000.
    pub waiting: i64,
    /// The number of dead deliveries, counted up to 10,000.
    pub dead: i64,
    /// When it was paused.
    pub paused_at: Option<Timestamp>,
    /// The principal or service that paused it.
    pub paused_by: Option<String>,
    /// Why it was paused.
    pub pause_note: Option<String>,
    /// How often in a row it failed.
    pub failures: i32,
    /// When it is tried again.
    pub retry_at: Option<Timestamp>,
    /// The code of the last error.
    pub error_code: Option<String>,
    /// The text of the last error.
    pub error_message: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// The principal that created it.
    pub created_by: String,
}

/// What an event must have to match, as a subscription shows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SubscriptionFilterShown")]
pub struct FilterShown {
    /// The kind of its jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_kind: Option<String>,
    /// The executor of its jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
    /// The principal or service that did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// What its data contains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
}

/// Subscribe to events
///
/// A match enqueues a job (`job_kind`), is sent to a webhook (`url`), or waits for a reader. The answer for a webhook has its
/// `signing_key`, which is shown only once: deliveries are signed with it as Standard Webhooks says.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionCreate {
    /// The name of the subscription, unique in the tenant.
    #[schemars(length(min = 1, max = 200), example = &"repair")]
    pub name: String,
    /// The kinds of events: whole names (`job.dead_lettered`), domains (`job.*`), or all (`*`).
    #[schemars(length(min = 1, max = 32), example = serde_json::json!(["job.dead_lettered"]))]
    pub event_kinds: Vec<String>,
    /// What a matching event leads to.
    #[schemars(example = &"job")]
    pub target: SubscriptionTarget,
    /// What else an event must have to match.
    pub filter: Option<SubscriptionFilter>,
    /// Where to begin: `now` (the default), `start`, or the cursor of an event.
    #[schemars(example = &"now")]
    pub from: Option<String>,
    /// For the target `job`: the kind of the jobs.
    #[schemars(length(min = 1, max = 200), example = &"repair.report")]
    pub job_kind: Option<String>,
    /// For the target `job`: the executor of the jobs; the one that the kind names if left out.
    pub executor: Option<String>,
    /// For the target `job`: the priority of the jobs; higher goes first, 0 if left out.
    #[schemars(range(min = -32767, max = 32767))]
    pub priority: Option<i32>,
    /// For the target `job`: how many of a job and its ancestors may have been enqueued by subscriptions; 8 if left out.
    #[schemars(range(min = 1, max = 64))]
    pub depth_max: Option<i32>,
    /// For the target `webhook`: the URL to send to.
    #[schemars(length(max = 2000))]
    pub url: Option<String>,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for SubscriptionCreate {
    const NAME: &str = "subscription_create";
    const ROUTE: Route = Route::post("/v1/subscriptions", "subscriptions").answers(&[(201, "Created")]);
    const EFFECT: Effect = Effect::Changes;
    type Answer = SubscriptionChanged;

    fn holds_secret(answer: &SubscriptionChanged) -> bool {
        answer.signing_key.is_some()
    }
}

/// What an event must have to match. Members that are left out do not filter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionFilter {
    /// The kind of its jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_kind: Option<String>,
    /// The executor of its jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
    /// The principal or service that did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// What its data contains: a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
}

/// A subscription after a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubscriptionChanged {
    /// Its name.
    pub name: String,
    /// What a matching event leads to.
    pub target: SubscriptionTarget,
    /// The kinds of events: whole names (`job.succeeded`), domains (`job.*`), or all (`*`).
    pub event_kinds: Vec<String>,
    /// What else an event must have to match.
    pub filter: FilterShown,
    /// The kind of the jobs that it enqueues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_kind: Option<String>,
    /// The executor of these jobs; left out if it is the one that the kind names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor: Option<String>,
    /// The priority of these jobs; higher goes first.
    pub priority: i32,
    /// How many of a job and its ancestors may have been enqueued by subscriptions.
    pub depth_max: i32,
    /// The URL of the webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The key that deliveries are signed with. Only the answers to `subscription_create` for a webhook and to
    /// `subscription_rotate` have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_key: Option<String>,
    /// When the webhook last got a new signing key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotated_at: Option<Timestamp>,
    /// Up to where it has read the stream.
    pub cursor: String,
    /// When it last read the stream.
    pub moved_at: Timestamp,
    /// How many matches there were; an event about several jobs counts once for each.
    pub matched: i64,
    /// How many matches enqueued no job because of `depth_max`.
    pub skipped: i64,
    /// When it was paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_at: Option<Timestamp>,
    /// The principal or service that paused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<String>,
    /// Why it was paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_note: Option<String>,
    /// How often in a row the service could not act on its events.
    pub failures: i32,
    /// How often in a row the receiver accepted nothing.
    pub refusals: i32,
    /// When it is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// The code of the last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// The text of the last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// The principal that created it.
    pub created_by: String,
}

/// Delete a subscription, and its deliveries that have not been sent
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionDelete {
    /// The name of the subscription.
    pub name: String,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for SubscriptionDelete {
    const NAME: &str = "subscription_delete";
    const ROUTE: Route = Route::delete("/v1/subscriptions/{name}", "subscriptions");
    const EFFECT: Effect = Effect::Destroys;
    type Answer = SubscriptionChanged;
}

/// Pause a subscription: its cursor stops, and nothing is sent
///
/// After a resume it goes on from there with the events that retention has kept. Pausing a paused subscription keeps the first
/// pause.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionPause {
    /// The name of the subscription.
    pub name: String,
    /// Why it is paused.
    #[schemars(length(max = 200))]
    pub note: Option<String>,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for SubscriptionPause {
    const NAME: &str = "subscription_pause";
    const ROUTE: Route = Route::post("/v1/subscriptions/{name}/pause", "subscriptions");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = SubscriptionChanged;
}

/// Resume a subscription at its cursor, or somewhere else
///
/// A failing subscription is tried again at once.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionResume {
    /// The name of the subscription.
    pub name: String,
    /// Where to go on: `now`, `start`, or the cursor of an event; where it stopped if left out.
    pub from: Option<String>,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for SubscriptionResume {
    const NAME: &str = "subscription_resume";
    const ROUTE: Route = Route::post("/v1/subscriptions/{name}/resume", "subscriptions");
    const EFFECT: Effect = Effect::Changes;
    type Answer = SubscriptionChanged;
}

/// Give a webhook a new signing key
///
/// The answer shows the key only once. For one day deliveries are signed with the old key too, so that the receiver can change
/// over.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionRotate {
    /// The name of the subscription.
    pub name: String,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for SubscriptionRotate {
    const NAME: &str = "subscription_rotate";
    const ROUTE: Route = Route::post("/v1/subscriptions/{name}/rotate", "subscriptions");
    const EFFECT: Effect = Effect::Changes;
    type Answer = SubscriptionChanged;

    fn holds_secret(answer: &SubscriptionChanged) -> bool {
        answer.signing_key.is_some()
    }
}

/// Read the next events of a reader, oldest first
///
/// They are returned again until they are acknowledged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionRead {
    /// The name of the subscription.
    pub name: String,
    /// The maximum number of events.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn limit_default() -> i32 {
    100
}

impl Operation for SubscriptionRead {
    const NAME: &str = "subscription_read";
    const ROUTE: Route = Route::get("/v1/subscriptions/{name}/events", "subscriptions");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Page<Event>;
}

/// Acknowledge all events of a reader up to a cursor
///
/// The cursor only moves forward; a repeated call changes nothing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscriptionAck {
    /// The name of the subscription.
    pub name: String,
    /// The cursor of the last event that was dealt with.
    #[schemars(example = &"1.742.3")]
    pub cursor: String,
}

impl Operation for SubscriptionAck {
    const NAME: &str = "subscription_ack";
    const ROUTE: Route = Route::post("/v1/subscriptions/{name}/ack", "subscriptions");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = SubscriptionChanged;
}
