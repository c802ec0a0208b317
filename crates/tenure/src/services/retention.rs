//! Cleans what is past its retention, and keeps the partitions.

use std::future::Future;
use std::time::Duration;

use tenure_api::jobs::JobSweep;
use tokio_postgres::Client;

use crate::error::Result;
use crate::operations;
use crate::pool::Pool;
use crate::store::for_every_tenant;
use crate::store::requests::request_sweep;
use crate::store::retention::{Kept, PARTITIONED, partition_upkeep};
use crate::store::schedules::slot_sweep;
use crate::store::subscriptions::delivery_sweep;

/// How often retention runs, unless told otherwise.
pub const INTERVAL: Duration = Duration::from_secs(60);
/// Jobs in one transaction.
const BATCH_ROWS_MAX: i32 = 1000;
/// Transactions in one run; what is left waits for the next.
const BATCHES_MAX: usize = 200;
/// How often upkeep of one table is tried in a run when a lock was in use; then the next run tries again.
const UPKEEP_ROUNDS_MAX: u32 = 5;
/// The pause before the second round; it doubles with every round, so that callers have most of the time to themselves.
const UPKEEP_PAUSE: Duration = Duration::from_millis(100);

/// What one run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Jobs it looked at.
    pub examined: i64,
    /// Jobs it cleaned.
    pub cleaned: i64,
    /// Closed dead letters it removed.
    pub dead_letters_removed: i64,
    /// Deliveries to webhooks it removed.
    pub deliveries_removed: i64,
    /// Slots of schedules it removed.
    pub slots_removed: i64,
    /// Answers to requests it removed.
    pub requests_removed: i64,
    /// Partitions it made ahead.
    pub partitions_made: usize,
    /// Partitions it dropped.
    pub partitions_dropped: usize,
    /// Tables whose partitions it left for the next run, because callers were at work on them all the time.
    pub tables_left: usize,
}

/// Sweeps to the end of the jobs, or a bounded number of batches, then looks after the partitions.
pub async fn run_once(client: &mut Client) -> Result<Counts> {
    let mut counts = Counts::default();
    for _ in 0..BATCHES_MAX {
        let transaction = client.transaction().await?;
        for_every_tenant(&transaction).await?;
        let sweep = JobSweep { limit: BATCH_ROWS_MAX };
        let swept = operations::call(&transaction, &sweep).await?;
        transaction.commit().await?;
        counts.examined += swept.examined;
        counts.cleaned += swept.cleaned;
        counts.dead_letters_removed += swept.dead_letters_removed;
        // Another sweep at work, or nothing more to see.
        if swept.end_of_pass == Some(true) || swept.why.is_some() {
            break;
        }
    }
    for _ in 0..BATCHES_MAX {
        let transaction = client.transaction().await?;
        for_every_tenant(&transaction).await?;
        let removed = delivery_sweep(&transaction, BATCH_ROWS_MAX).await?;
        transaction.commit().await?;
        counts.deliveries_removed += i64::from(removed);
        if removed < BATCH_ROWS_MAX {
            break;
        }
    }
    for _ in 0..BATCHES_MAX {
        let transaction = client.transaction().await?;
        for_every_tenant(&transaction).await?;
        let removed = slot_sweep(&transaction, BATCH_ROWS_MAX).await?;
        transaction.commit().await?;
        counts.slots_removed += i64::from(removed);
        if removed < BATCH_ROWS_MAX {
            break;
        }
    }
    for _ in 0..BATCHES_MAX {
        let transaction = client.transaction().await?;
        for_every_tenant(&transaction).await?;
        let removed = request_sweep(&transaction, BATCH_ROWS_MAX).await?;
        transaction.commit().await?;
        counts.requests_removed += i64::from(removed);
        if removed < BATCH_ROWS_MAX {
            break;
        }
    }
    for table in PARTITIONED {
        let kept = keep_partitions(client, table).await?;
        counts.partitions_made += kept.made.len();
        counts.partitions_dropped += kept.dropped.len();
        counts.tables_left += usize::from(kept.gave_way);
    }
    Ok(counts)
}

/// Looks after the partitions of one table, each round in a transaction of its own: no lock outlives a round, and none
/// is held while another is awaited.
pub async fn keep_partitions(client: &mut Client, table: &str) -> Result<Kept> {
    let mut round = 1;
    loop {
        let transaction = client.transaction().await?;
        for_every_tenant(&transaction).await?;
        let kept = partition_upkeep(&transaction, Some(table)).await?;
        transaction.commit().await?;
        if !kept.gave_way || round == UPKEEP_ROUNDS_MAX {
            return Ok(kept);
        }
        tokio::time::sleep(UPKEEP_PAUSE * 2_u32.pow(round - 1)).await;
        round += 1;
    }
}

/// Sweeps on a timer until `shutdown` is ready.
pub async fn run(pool: &Pool, interval: Duration, shutdown: impl Future<Output = ()>) {
    super::every("retention", pool, interval, shutdown, async |connection| {
        let counts = run_once(connection).await?;
        #[cfg(feature = "metrics")]
        crate::measure::swept(counts);
        let removed = counts.cleaned + counts.dead_letters_removed + counts.slots_removed;
        if removed > 0 || counts.partitions_made + counts.partitions_dropped > 0 {
            tracing::info!(service = "retention", ?counts, "cleaned");
        }
        if counts.tables_left > 0 {
            let tables = counts.tables_left;
            tracing::info!(
                service = "retention",
                tables,
                "partitions are left for the next run: a lock was in use"
            );
        }
        Ok(())
    })
    .await;
}
