//! The proof of an execution: the lines that the database tells, and the key that signs them.
//!
//! What a file of evidence is, and how it is checked, is in [`tenure_core::evidence`].

use std::fmt;
use std::sync::Arc;

use tenure_core::evidence::{KEY_BYTES, SecretKey};
use tenure_core::{Refusal, codes};
use tokio_postgres::Transaction;
use zeroize::Zeroizing;

use crate::error::Result;
use crate::store::evidence::{
    KeyTurn, evidence_key_add, evidence_key_current, evidence_key_list, evidence_key_register,
};
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

/// Where the key is that signs: in the database, or with this program.
#[derive(Clone, Default)]
pub struct KeySource {
    outside: Option<Arc<SecretKey>>,
}

impl KeySource {
    /// This key, which the database knows only the public half of.
    pub fn outside(key: SecretKey) -> KeySource {
        KeySource {
            outside: Some(Arc::new(key)),
        }
    }

    /// Whether the key is with this program.
    pub fn is_outside(&self) -> bool {
        self.outside.is_some()
    }

    /// Sees to it that the database knows the key that signs; answers its id if it did not know it before.
    pub async fn ensure(&self, transaction: &Transaction<'_>) -> Result<Option<String>> {
        let Some(key) = &self.outside else {
            return ensure_key(transaction).await;
        };
        for_every_tenant(transaction).await?;
        let registered = evidence_key_register(transaction, &key.public_key()).await?;
        Ok(registered.added.then_some(registered.key_id))
    }

    /// The key that signs for a command: the one with this program if the database knows it, else that of the database.
    pub async fn known_key(&self, transaction: &Transaction<'_>) -> Result<Arc<SecretKey>> {
        if let Some(key) = &self.outside {
            let id = key.public_key().id();
            let known = evidence_key_list(transaction).await?;
            if known.iter().any(|known| known.key_id == id) {
                return Ok(key.clone());
            }
        }
        Ok(Arc::new(current_key(transaction).await?))
    }

    /// The key that signs. Refuses with `evidence_key_missing` where it is neither here nor in the database.
    pub async fn signing_key(&self, transaction: &Transaction<'_>) -> Result<Arc<SecretKey>> {
        match &self.outside {
            Some(key) => Ok(key.clone()),
            None => Ok(Arc::new(current_key(transaction).await?)),
        }
    }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outside {
            Some(key) => write!(f, "KeySource({key:?})"),
            None => write!(f, "KeySource(database)"),
        }
    }
}
