//! The proof of an execution: the lines that the database tells, and the key that signs them.
//!
//! What a file of evidence is, and how it is checked, is in [`tenure_core::evidence`].

use tenure_core::evidence::{KEY_BYTES, SecretKey};
use tenure_core::{Refusal, codes};
use tokio_postgres::Transaction;
use zeroize::Zeroizing;

use crate::error::Result;
use crate::store::evidence::{KeyTurn, evidence_key_add, evidence_key_current, evidence_key_list};
use crate::store::for_every_tenant;

/// A key that nobody has seen.
pub fn new_key() -> Result<SecretKey> {
    let mut seed = Zeroizing::new([0; KEY_BYTES]);
    getrandom::fill(seed.as_mut()).map_err(|error| {
        Refusal::new(
            codes::EVIDENCE_KEY_MISSING,
            "No key for evidence can be made.",
            format!("The system gives no random bytes: {error}."),
            "See what is wrong with its source of randomness, and try again.",
        )
    })?;
    Ok(SecretKey::from_seed(&seed))
}

/// The key that signs now. Only logins that are trusted with the installation have it.
pub async fn current_key(transaction: &Transaction<'_>) -> Result<SecretKey> {
    for_every_tenant(transaction).await?;
    let unreadable = || {
        Refusal::new(
            codes::EVIDENCE_KEY_MISSING,
            "The key that signs evidence cannot be read.",
            "What the database keeps of it is no Ed25519 key.",
            "Make another: tenure evidence key create",
        )
    };
    let bytes = evidence_key_current(transaction).await?;
    Ok(SecretKey::from_bytes(&bytes).map_err(|_| unreadable())?)
}

/// Sees to it that there is a key that signs, and answers the id of the one that was made for that. Of several that see to it
/// at once, one makes it and the others use it.
pub async fn ensure_key(transaction: &Transaction<'_>) -> Result<Option<String>> {
    for_every_tenant(transaction).await?;
    if !evidence_key_list(transaction).await?.is_empty() {
        return Ok(None);
    }
    let added = evidence_key_add(transaction, &new_key()?, KeyTurn::First).await?;
    Ok(added.added.then_some(added.key_id))
}
