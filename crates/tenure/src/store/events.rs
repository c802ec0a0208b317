//! The event stream.

use tokio_postgres::GenericClient;

use super::call::{Call, row};
use crate::error::Result;

row! {
    /// Where a tenant's stream is now.
    pub struct StreamEnd {
        /// The tenant.
        pub tenant_id: i32,
        /// Its name.
        pub tenant: String,
        /// All that is listed so far lies before this cursor.
        pub cursor: String,
    }
}

/// Where the stream is now (`tenure.event_end`).
pub async fn event_end(client: &impl GenericClient) -> Result<Option<StreamEnd>> {
    Ok(Call::new("event_end").rows(client).await?.into_iter().next())
}
