//! Ends what nobody holds any more: expired leases, runs that take too long, deadlines that have passed.

use std::future::Future;
use std::time::Duration;

use tenure_api::jobs::{JobReap, ReapMode};
use tokio_postgres::{Client, GenericClient};

use crate::error::Result;
use crate::operations;
use crate::pool::Pool;
use crate::store::for_every_tenant;
use crate::store::health::installation_check;

/// How often the reaper looks, unless told otherwise.
pub const INTERVAL: Duration = Duration::from_secs(5);
/// Jobs in one transaction.
const BATCH_ROWS_MAX: i32 = 500;
/// Transactions in one run; what is left waits for the next.
const BATCHES_MAX: usize = 20;

/// What one run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Jobs it ended.
    pub ended: usize,
}

/// Reaps until nothing is left, or a bounded number of batches.
///
/// A restore or a failover that no migration followed is noticed here, before anything new is written.
pub async fn run_once(client: &mut Client) -> Result<Counts> {
    notice_restore(client).await?;
    let mut counts = Counts::default();
    for _ in 0..BATCHES_MAX {
        let transaction = client.transaction().await?;
        for_every_tenant(&transaction).await?;
        let reap = JobReap {
            mode: ReapMode::Apply,
            limit: BATCH_ROWS_MAX,
        };
        let ended = operations::call(&transaction, &reap).await?.items.len();
        transaction.commit().await?;
        counts.ended += ended;
        if ended < BATCH_ROWS_MAX as usize {
            break;
        }
    }
    Ok(counts)
}

/// Begins a new epoch of the event stream when this is a restored database or another server than before: transaction
/// ids may have gone back, and a reader would pass over what comes.
pub async fn notice_restore(client: &impl GenericClient) -> Result<()> {
    let found = installation_check(client).await?;
    if found.began {
        tracing::warn!(
            epoch = found.epoch,
            "The database was restored, or another server took over: the event stream goes on in a new epoch."
        );
    }
    Ok(())
}

/// Reaps on a timer until `shutdown` is ready.
pub async fn run(pool: &Pool, interval: Duration, shutdown: impl Future<Output = ()>) {
    super::every("reaper", pool, interval, shutdown, async |connection| {
        let counts = run_once(connection).await?;
        #[cfg(feature = "metrics")]
        crate::measure::reaped(counts);
        if counts != Counts::default() {
            tracing::info!(service = "reaper", ended = counts.ended, "jobs ended");
        }
        Ok(())
    })
    .await;
}
