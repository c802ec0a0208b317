//! Places that an idle worker offers: a job may be handed to it by whoever enqueues one.

use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::claim::Claim;
use crate::error::Result;
use crate::store::Timestamp;
use crate::store::call::{Call, row};

row! {
    /// A place that stands offered.
    pub struct Offer {
        /// The job that comes will be held under it.
        pub token: Uuid,
        /// The lane it will come from.
        pub lane: i32,
        /// Since when it stands, by the database's clock.
        pub at: Timestamp,
        /// How long the job will be held without a heartbeat.
        pub lease_seconds: i32,
    }
}

/// Offers places of an idle worker that hears this channel (`tenure.offer_make`).
pub async fn offer(
    client: &impl GenericClient,
    tokens: &[Uuid],
    channel: &str,
    claim: &Claim,
    seconds: i32,
) -> Result<Vec<Offer>> {
    Call::new("offer_make")
        .with("p_tokens", &tokens.to_vec())
        .with("p_worker", &claim.worker)
        .with("p_channel", &channel)
        .nullable("p_executor", &claim.executor)
        .nullable("p_kinds", &claim.kinds)
        .nullable("p_lease_seconds", &claim.lease_seconds)
        .with("p_seconds", &seconds)
        .rows(client)
        .await
}

/// Takes offers back; answers with those that brought nothing (`tenure.offer_withdraw`).
pub async fn withdraw(client: &impl GenericClient, tokens: &[Uuid]) -> Result<Vec<Uuid>> {
    let withdrawn: Option<Vec<Uuid>> = Call::new("offer_withdraw")
        .with("p_tokens", &tokens.to_vec())
        .scalar(client)
        .await?;
    Ok(withdrawn.unwrap_or_default())
}
