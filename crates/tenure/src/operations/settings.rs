//! Settings.

use tenure_api::Json;
use tenure_api::settings::{ConfigGet, Setting};
use tokio_postgres::GenericClient;

use super::Perform;
use crate::error::Result;
use crate::store::config;

/// The function returns the bare value.
impl Perform for ConfigGet {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<Setting> {
        let value = config::config_get(client, &self.key).await?;
        Ok(Setting {
            key: self.key.clone(),
            value: Json(value),
        })
    }
}
