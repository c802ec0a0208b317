//! Requests over HTTP with an `Idempotency-Key`.

use serde_json::Value;
use tokio_postgres::GenericClient;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// The answer to a request that was carried out before.
    pub struct Kept {
        /// Its status.
        pub status: i32,
        /// Its body; none: it was not kept, or was given to a key with other rights.
        pub answer: Option<String>,
        /// When it was answered.
        pub answered_at: Timestamp,
    }
}

/// Begins a request: none when it is to be carried out now (`tenure.request_begin`).
pub async fn request_begin(client: &impl GenericClient, key: &str, asked: &Value) -> Result<Option<Kept>> {
    let found = Call::new("request_begin").with("p_key", &key).with("p_asked", &asked);
    Ok(found.rows(client).await?.into_iter().next())
}

/// Keeps the answer to a request that this transaction began (`tenure.request_end`).
pub async fn request_end(
    client: &impl GenericClient,
    key: &str,
    asked: &Value,
    status: i32,
    answer: Option<&str>,
) -> Result<()> {
    Call::new("request_end")
        .with("p_key", &key)
        .with("p_asked", &asked)
        .with("p_status", &status)
        .maybe("p_answer", &answer)
        .run(client, "answer")
        .await?;
    Ok(())
}

/// Removes answers whose period is over (`tenure.request_sweep`).
pub async fn request_sweep(client: &impl GenericClient, limit: i32) -> Result<i32> {
    let removed: Option<i32> = Call::new("request_sweep")
        .with("p_limit", &limit)
        .scalar(client)
        .await?;
    Ok(removed.unwrap_or_default())
}
