//! Keys: the secret is made here, and the database never has it.

use tenure_api::keys::{KeyCreate, KeyCreated};
use tenure_core::api_key::{ApiKey, RANDOM_BYTES};
use tenure_core::{Refusal, codes};
use tokio_postgres::GenericClient;

use super::{Perform, read};
use crate::error::Result;
use crate::store::principals::key_create;

impl Perform for KeyCreate {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<KeyCreated> {
        let secret = random_key()?;
        let mut made = key_create(client, self, &secret).await?;
        made["key"] = secret.reveal().into();
        read::<KeyCreate>(made)
    }
}

/// A new key.
fn random_key() -> Result<ApiKey> {
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(|error| {
        Refusal::new(
            codes::SERVER_BUSY,
            "No key can be made.",
            format!("The system gives no random bytes: {error}."),
            "See what is wrong with its source of randomness, and try again.",
        )
    })?;
    Ok(ApiKey::new(random))
}
