//! Checkpoints.

use tenure_api::Page;
use tenure_api::anchors::AnchorList;
use tenure_core::anchor::Checkpoint;
use tokio_postgres::GenericClient;

use super::{Perform, call};
use crate::error::Result;

impl Perform for AnchorList {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<Page<Checkpoint>> {
        let mut page = call(client, self).await?;
        if self.newest {
            page.next = None;
        }
        Ok(page)
    }
}
