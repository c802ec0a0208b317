//! Making checkpoints over the chains of executions.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_core::anchor::Checkpoint;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

/// What a look for chains that have grown has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Collected {
    /// `collected`; `off` where no checkpoints are made, `busy` while another server looks.
    pub state: String,
    /// Whether there may be more.
    pub more: bool,
    /// Whether a checkpoint is due.
    pub due: bool,
    /// Executions that differ from what a checkpoint covers.
    pub rewritten: Vec<Rewritten>,
}

/// An execution that was changed after a checkpoint covered it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Rewritten {
    /// The execution.
    pub execution_id: Uuid,
    /// The checkpoint.
    pub number: i64,
}

row! {
    /// A checkpoint that is to be signed.
    pub struct Begun {
        /// Its number.
        pub number: i64,
        /// When it was made.
        pub at: Timestamp,
        /// What is to be signed.
        pub signed: String,
        /// Executions in it that differ from what an earlier checkpoint covers, as a list of [`Rewritten`].
        pub rewritten: Value,
    }
}

/// Finds executions whose chain has grown (`tenure.anchor_collect`).
pub async fn anchor_collect(client: &impl GenericClient) -> Result<Collected> {
    Call::new("anchor_collect").read(client).await
}

/// Begins the next checkpoint, if one is due (`tenure.anchor_begin`).
pub async fn anchor_begin(client: &impl GenericClient, key_id: &str) -> Result<Option<Begun>> {
    let mut begun = Call::new("anchor_begin").with("p_key_id", &key_id).rows(client).await?;
    Ok(begun.pop())
}

/// Keeps the checkpoint that was begun in this transaction (`tenure.anchor_add`).
pub async fn anchor_add(
    client: &impl GenericClient,
    begun: &Begun,
    key_id: &str,
    signature: &[u8],
) -> Result<Checkpoint> {
    let signature = signature.to_vec();
    Call::new("anchor_add")
        .with("p_number", &begun.number)
        .with("p_at", &begun.at)
        .with("p_key_id", &key_id)
        .with("p_signature", &signature)
        .read(client)
        .await
}

/// Notes how far a sink has come, or why it has not (`tenure.anchor_published`).
pub async fn anchor_published(client: &impl GenericClient, sink: &str, number: i64, error: Option<&str>) -> Result<()> {
    Call::new("anchor_published")
        .with("p_sink", &sink)
        .with("p_number", &number)
        .maybe("p_error", &error)
        .run(client, "answer")
        .await
        .map(drop)
}

/// Removes the leaves of checkpoints past their retention (`tenure.anchor_sweep`).
pub async fn anchor_sweep(client: &impl GenericClient) -> Result<i32> {
    Ok(Call::new("anchor_sweep").scalar(client).await?.unwrap_or_default())
}

/// How checkpoints and sinks stand (`tenure.anchor_status`).
pub async fn anchor_status(client: &impl GenericClient) -> Result<Value> {
    Call::new("anchor_status").value(client).await
}
