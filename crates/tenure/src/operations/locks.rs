//! Locks that are held by hand. A request names pairs of a lock and its fence, the SQL functions take two arrays.

use tenure_api::locks::{LockRelease, LockRenew, LocksReleased, LocksRenewed};
use tokio_postgres::GenericClient;

use super::{Perform, read};
use crate::error::Result;
use crate::store::locks;

impl Perform for LockRenew {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<LocksRenewed> {
        read::<LockRenew>(locks::lock_renew(client, &self.locks, self.seconds).await?)
    }
}

impl Perform for LockRelease {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<LocksReleased> {
        read::<LockRelease>(locks::lock_release(client, &self.locks).await?)
    }
}
