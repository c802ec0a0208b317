//! Subscriptions: who is told of events, and what is on its way to webhooks.

use serde_json::Value;
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use super::Timestamp;
use super::call::{Call, FromRow, row};
use super::events::Event;
use crate::error::Result;

row! {
    /// A subscription, and how far it has come. Never with its secret.
    pub struct Subscription {
        /// Its name.
        pub name: String,
        /// What becomes of a match: `reader`, `job` or `webhook`.
        pub target: String,
        /// `active`, `paused` or `failing`.
        pub state: String,
        /// The kinds of events: whole names, `job.*`, or `*`.
        pub event_kinds: Vec<String>,
        /// What else an event must say.
        pub filter: Value,
        /// The kind of the jobs it makes.
        pub job_kind: Option<String>,
        /// Their executor; none: that of the kind.
        pub executor: Option<String>,
        /// Their priority.
        pub priority: i32,
        /// How many subscriptions may follow upon one another.
        pub depth_max: i32,
        /// Where a webhook listens.
        pub url: Option<String>,
        /// Up to where it has read the stream.
        pub cursor: String,
        /// When it moved last.
        pub moved_at: Timestamp,
        /// When the oldest event happened that it has not looked at; none: it is up to date.
        pub behind_since: Option<Timestamp>,
        /// What matched so far: one for each job that an event is about.
        pub matched: i64,
        /// What matched and made no job, because too many subscriptions had followed upon one another.
        pub skipped: i64,
        /// Deliveries that wait; counted up to 10,000.
        pub waiting: i64,
        /// Deliveries that were given up; counted up to 10,000.
        pub dead: i64,
        /// When it was paused.
        pub paused_at: Option<Timestamp>,
        /// By whom.
        pub paused_by: Option<String>,
        /// Why.
        pub pause_note: Option<String>,
        /// How often in a row it could not do its work.
        pub failures: i32,
        /// When it is tried again.
        pub retry_at: Option<Timestamp>,
        /// Why it could not.
        pub error_code: Option<String>,
        /// In words.
        pub error_message: Option<String>,
        /// When it was made.
        pub created_at: Timestamp,
        /// By whom.
        pub created_by: String,
    }
}

row! {
    /// An event on its way to a webhook.
    pub struct Delivery {
        /// Its place among all deliveries.
        pub place: i64,
        /// Its id: the header `webhook-id` of every attempt.
        pub delivery_id: Uuid,
        /// What goes out in order: a job, or what else the event is about.
        pub subject: String,
        /// The kind of the event.
        pub event_kind: String,
        /// The event.
        pub event_cursor: String,
        /// `waiting`, `delivered` or `dead`.
        pub state: String,
        /// Attempts so far.
        pub attempts: i32,
        /// When it goes out next; none: it waits for another about the same subject, or is over.
        pub due: Option<Timestamp>,
        /// What the receiver answered last.
        pub status: Option<i32>,
        /// Why there was no answer.
        pub error: Option<String>,
        /// When it was put in line.
        pub created_at: Timestamp,
        /// When it was delivered or given up.
        pub ended_at: Option<Timestamp>,
    }
}

/// A subscription to make; what is left out has the function's own default.
#[derive(Debug, Clone, Default)]
pub struct NewSubscription {
    /// Its name.
    pub name: String,
    /// The kinds of events: whole names, `job.*`, or `*`.
    pub event_kinds: Vec<String>,
    /// `reader`, `job` or `webhook`.
    pub target: String,
    /// What else an event must say.
    pub filter: Option<Value>,
    /// `now`, `start` or a cursor.
    pub from: Option<String>,
    /// The kind of the jobs.
    pub job_kind: Option<String>,
    /// Their executor.
    pub executor: Option<String>,
    /// Their priority.
    pub priority: Option<i32>,
    /// How many subscriptions may follow upon one another.
    pub depth_max: Option<i32>,
    /// Where a webhook listens.
    pub url: Option<String>,
    /// The person or program this is done for.
    pub on_behalf_of: Option<String>,
}

/// Makes a subscription (`tenure.subscription_create`).
pub async fn subscription_create(client: &impl GenericClient, new: &NewSubscription) -> Result<Value> {
    Call::new("subscription_create")
        .with("p_name", &new.name)
        .with("p_event_kinds", &new.event_kinds)
        .with("p_target", &new.target)
        .maybe("p_filter", &new.filter)
        .maybe("p_from", &new.from)
        .maybe("p_job_kind", &new.job_kind)
        .maybe("p_executor", &new.executor)
        .maybe("p_priority", &new.priority)
        .maybe("p_depth_max", &new.depth_max)
        .maybe("p_url", &new.url)
        .maybe("p_on_behalf_of", &new.on_behalf_of)
        .value(client)
        .await
}

/// The subscriptions of the tenant (`tenure.subscription_list`).
pub async fn subscription_list(client: &impl GenericClient) -> Result<Vec<Subscription>> {
    Call::new("subscription_list").rows(client).await
}

/// Pauses one (`tenure.subscription_pause`).
pub async fn subscription_pause(
    client: &impl GenericClient,
    name: &str,
    note: Option<&str>,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("subscription_pause")
        .with("p_name", &name)
        .maybe("p_note", &note)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Lets one go on, perhaps from elsewhere (`tenure.subscription_resume`).
pub async fn subscription_resume(
    client: &impl GenericClient,
    name: &str,
    from: Option<&str>,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("subscription_resume")
        .with("p_name", &name)
        .maybe("p_from", &from)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Gives a webhook a new signing key (`tenure.subscription_rotate`).
pub async fn subscription_rotate(client: &impl GenericClient, name: &str, on_behalf_of: Option<&str>) -> Result<Value> {
    Call::new("subscription_rotate")
        .with("p_name", &name)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Ends one (`tenure.subscription_delete`).
pub async fn subscription_delete(client: &impl GenericClient, name: &str, on_behalf_of: Option<&str>) -> Result<Value> {
    Call::new("subscription_delete")
        .with("p_name", &name)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// The next events of a reader (`tenure.subscription_read`).
pub async fn subscription_read(client: &impl GenericClient, name: &str, limit: Option<i32>) -> Result<Vec<Event>> {
    Call::new("subscription_read")
        .with("p_name", &name)
        .maybe("p_limit", &limit)
        .rows(client)
        .await
}

/// Says how far a reader has come (`tenure.subscription_ack`).
pub async fn subscription_ack(client: &impl GenericClient, name: &str, cursor: &str) -> Result<Value> {
    Call::new("subscription_ack")
        .with("p_name", &name)
        .with("p_cursor", &cursor)
        .value(client)
        .await
}

/// What one subscription did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
pub struct Step {
    /// Which; none: there was nothing to do.
    #[serde(default)]
    pub name: Option<String>,
    /// Its tenant.
    #[serde(default)]
    pub tenant: Option<String>,
    /// Events it passed.
    #[serde(default)]
    pub events: i64,
    /// Jobs or deliveries it made.
    #[serde(default)]
    pub made: i64,
    /// Matches it made nothing of.
    #[serde(default)]
    pub skipped: i64,
    /// Why it could not.
    #[serde(default)]
    pub failed: Option<String>,
}

/// Lets one subscription do its work (`tenure.subscription_run`).
pub async fn subscription_run(client: &impl GenericClient) -> Result<Step> {
    Call::new("subscription_run").read(client).await
}

/// Something to send. It knows the signing keys, so it is neither printed nor serialised.
pub struct Outgoing {
    /// The delivery.
    pub delivery_id: Uuid,
    /// Where to.
    pub url: String,
    /// What, to the byte.
    pub body: String,
    /// Which attempt this is.
    pub attempt: i32,
    /// The signing key.
    pub secret: Vec<u8>,
    /// The one before, while both hold.
    pub secret_before: Option<Vec<u8>>,
}

impl FromRow for Outgoing {
    const COLUMNS: &'static [&'static str] = &["delivery_id", "url", "body", "attempt", "secret", "secret_before"];

    fn from_row(row: &Row) -> Result<Outgoing, tokio_postgres::Error> {
        Ok(Outgoing {
            delivery_id: row.try_get(0)?,
            url: row.try_get(1)?,
            body: row.try_get(2)?,
            attempt: row.try_get(3)?,
            secret: row.try_get(4)?,
            secret_before: row.try_get(5)?,
        })
    }
}

/// How an attempt went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The delivery.
    pub delivery_id: Uuid,
    /// Which attempt it was.
    pub attempt: i32,
    /// What the receiver answered.
    pub status: Option<i32>,
    /// Why there was no answer.
    pub error: Option<String>,
}

/// Takes what is due to be sent (`tenure.delivery_claim`).
pub async fn delivery_claim(client: &impl GenericClient, limit: i32, lease_seconds: i32) -> Result<Vec<Outgoing>> {
    Call::new("delivery_claim")
        .with("p_limit", &limit)
        .with("p_lease_seconds", &lease_seconds)
        .rows(client)
        .await
}

/// Says how it went (`tenure.delivery_end`).
pub async fn delivery_end(client: &impl GenericClient, sent: &[Sent]) -> Result<i32> {
    let ids: Vec<Uuid> = sent.iter().map(|it| it.delivery_id).collect();
    let attempts: Vec<i32> = sent.iter().map(|it| it.attempt).collect();
    let statuses: Vec<Option<i32>> = sent.iter().map(|it| it.status).collect();
    let errors: Vec<Option<String>> = sent.iter().map(|it| it.error.clone()).collect();
    Call::new("delivery_end")
        .with("p_delivery_ids", &ids)
        .with("p_attempts", &attempts)
        .with("p_statuses", &statuses)
        .with("p_errors", &errors)
        .scalar(client)
        .await
        .map(Option::unwrap_or_default)
}

/// The deliveries of a webhook, newest first (`tenure.delivery_list`).
pub async fn delivery_list(
    client: &impl GenericClient,
    subscription: &str,
    state: Option<&str>,
    limit: Option<i32>,
    before: Option<i64>,
) -> Result<Vec<Delivery>> {
    Call::new("delivery_list")
        .with("p_subscription", &subscription)
        .maybe("p_state", &state)
        .maybe("p_limit", &limit)
        .maybe("p_before", &before)
        .rows(client)
        .await
}

/// Sends a dead one once more (`tenure.delivery_retry`).
pub async fn delivery_retry(
    client: &impl GenericClient,
    delivery_id: Uuid,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("delivery_retry")
        .with("p_delivery_id", &delivery_id)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Removes what is past its retention (`tenure.delivery_sweep`).
pub async fn delivery_sweep(client: &impl GenericClient, limit: i32) -> Result<i32> {
    let removed: Option<i32> = Call::new("delivery_sweep")
        .with("p_limit", &limit)
        .scalar(client)
        .await?;
    Ok(removed.unwrap_or_default())
}
