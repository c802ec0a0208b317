//! Ends what nobody holds any more: expired leases, runs that take too long, deadlines that have passed.

use std::future::Future;
use std::time::Duration;

use tokio_postgres::Client;

use crate::error::Result;
use crate::pool::Pool;
use crate::store::for_every_tenant;
use crate::store::leases::{ReapMode, job_reap};

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
pub async fn run_once(client: &mut Client) -> Result<Counts> {
    let mut counts = Counts::default();
    for _ in 0..BATCHES_MAX {
        let transaction = client.transaction().await?;
        for_every_tenant(&transaction).await?;
        let ended = job_reap(&transaction, ReapMode::Apply, Some(BATCH_ROWS_MAX))
            .await?
            .len();
        transaction.commit().await?;
        counts.ended += ended;
        if ended < BATCH_ROWS_MAX as usize {
            break;
        }
    }
    Ok(counts)
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
