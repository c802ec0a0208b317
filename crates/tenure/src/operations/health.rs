//! Health and the clock.

use tenure_api::health::{Clock, Health, HealthShow, Now};
use tokio_postgres::GenericClient;

use super::{Perform, call};
use crate::error::Result;
use crate::{store, zones};

/// The database does not know which time zone data this program computes with.
impl Perform for HealthShow {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<Health> {
        let health = call(client, self).await?;
        let zones = Some(zones::current().to_string());
        Ok(Health { zones, ..health })
    }
}

/// The function returns a time, not an object.
impl Perform for Now {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<Clock> {
        let now = store::now(client).await?;
        Ok(Clock { now })
    }
}
