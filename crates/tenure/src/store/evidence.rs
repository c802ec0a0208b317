//! What proves an execution: its lines, the keys that sign them, and what is kept when its rows are gone.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_core::evidence::{PublicKey, SecretKey};
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::Timestamp;
use super::call::{Call, FromRow, row};
use crate::error::Result;

row! {
    /// A line of evidence, without its end.
    pub struct Line {
        /// Its number.
        pub n: i32,
        /// A JSON object.
        pub line: String,
    }
}

/// A key that signs evidence, or did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EvidenceKey {
    /// How it is called.
    pub key_id: String,
    /// The half that everybody may have, in Base64.
    pub public_key: String,
    /// Since when it is there.
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: String,
    /// Whether it is the newest, which signs unless a server has another of its own.
    pub signs: bool,
    /// Where its secret half is: `database`, `outside` or `removed`.
    pub kept: String,
}

impl FromRow for EvidenceKey {
    const COLUMNS: &'static [&'static str] = &["key_id", "public_key", "created_at", "created_by", "signs", "kept"];
    fn from_row(row: &Row) -> Result<Self, tokio_postgres::Error> {
        Ok(EvidenceKey {
            key_id: row.try_get(0)?,
            public_key: BASE64_STANDARD.encode(row.try_get::<_, &[u8]>(1)?),
            created_at: row.try_get(2)?,
            created_by: row.try_get(3)?,
            signs: row.try_get(4)?,
            kept: row.try_get(5)?,
        })
    }
}

/// What became of a key that was brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KeyAdded {
    /// The key that signs now.
    pub key_id: String,
    /// Whether it is the one that was brought.
    pub added: bool,
}

/// The key that signs now.
struct CurrentKey {
    secret_key: Vec<u8>,
}

impl FromRow for CurrentKey {
    const COLUMNS: &'static [&'static str] = &["secret_key"];
    fn from_row(row: &Row) -> Result<Self, tokio_postgres::Error> {
        Ok(CurrentKey {
            secret_key: row.try_get(0)?,
        })
    }
}

row! {
    /// An execution whose time is over.
    pub struct Due {
        /// Whose it is.
        pub tenant: String,
        /// The execution.
        pub execution_id: Uuid,
    }
}

/// The lines of an execution that are to be signed, in order (`tenure.execution_evidence`).
pub async fn execution_evidence(client: &impl GenericClient, execution_id: Uuid) -> Result<Vec<String>> {
    let call = Call::new("execution_evidence").with("p_execution_id", &execution_id);
    let mut lines: Vec<Line> = call.rows(client).await?;
    lines.sort_by_key(|line| line.n);
    Ok(lines.into_iter().map(|line| line.line).collect())
}

/// Which key may be there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyTurn {
    /// None: the first one wins, another changes nothing.
    First,
    /// Any: this one signs from now on.
    Next,
}

/// Brings a key (`tenure.evidence_key_add`).
pub async fn evidence_key_add(client: &impl GenericClient, key: &SecretKey, turn: KeyTurn) -> Result<KeyAdded> {
    let public = key.public_key();
    let (id, bytes, secret) = (public.id(), public.to_bytes().to_vec(), key.reveal());
    Call::new("evidence_key_add")
        .with("p_key_id", &id)
        .with("p_public_key", &bytes)
        .with("p_secret_key", &*secret)
        .with("p_first", &(turn == KeyTurn::First))
        .read(client)
        .await
}

/// Makes the public half of a key known whose secret half is outside the database (`tenure.evidence_key_register`).
pub async fn evidence_key_register(client: &impl GenericClient, key: &PublicKey) -> Result<KeyAdded> {
    let (id, bytes) = (key.id(), key.to_bytes().to_vec());
    Call::new("evidence_key_register")
        .with("p_key_id", &id)
        .with("p_public_key", &bytes)
        .read(client)
        .await
}

/// The bytes of the key that signs now (`tenure.evidence_key_current`).
pub async fn evidence_key_current(client: &impl GenericClient) -> Result<Zeroizing<Vec<u8>>> {
    let current: CurrentKey = Call::new("evidence_key_current").one(client).await?;
    Ok(Zeroizing::new(current.secret_key))
}

/// All keys there ever were, the newest first (`tenure.evidence_key_list`).
pub async fn evidence_key_list(client: &impl GenericClient) -> Result<Vec<EvidenceKey>> {
    Call::new("evidence_key_list").rows(client).await
}

/// Executions that are to be archived, the oldest first (`tenure.execution_archive_due`).
pub async fn execution_archive_due(client: &impl GenericClient, limit: i32) -> Result<Vec<Due>> {
    Call::new("execution_archive_due")
        .with("p_limit", &limit)
        .rows(client)
        .await
}

/// Keeps the signed evidence of an execution, and removes its rows (`tenure.execution_archive`).
pub async fn execution_archive(client: &impl GenericClient, execution_id: Uuid, evidence: &str) -> Result<Value> {
    Call::new("execution_archive")
        .with("p_execution_id", &execution_id)
        .with("p_evidence", &evidence)
        .value(client)
        .await
}

/// The signed evidence of an execution whose rows are gone (`tenure.execution_archive_show`).
pub async fn execution_archive_show(client: &impl GenericClient, execution_id: Uuid) -> Result<String> {
    let call = Call::new("execution_archive_show").with("p_execution_id", &execution_id);
    Ok(call.scalar(client).await?.unwrap_or_default())
}
