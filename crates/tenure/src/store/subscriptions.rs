//! What the services of subscriptions do: match events, and send deliveries to webhooks.

use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use super::call::{Call, FromRow};
use crate::error::Result;

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

/// Removes what is past its retention (`tenure.delivery_sweep`).
pub async fn delivery_sweep(client: &impl GenericClient, limit: i32) -> Result<i32> {
    let removed: Option<i32> = Call::new("delivery_sweep")
        .with("p_limit", &limit)
        .scalar(client)
        .await?;
    Ok(removed.unwrap_or_default())
}
