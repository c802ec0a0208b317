//! What happens to executions by itself: approvals expire, windows open, time runs out, locks and ends that nobody could
//! follow at once are followed up. Every server runs it and none leads.

use std::future::Future;
use std::time::Duration;

use tokio_postgres::Client;

use crate::error::Result;
use crate::pool::Pool;
use crate::store::executions_tick::{Ticked, execution_tick};
use crate::store::for_every_tenant;

/// How often it looks, unless told otherwise.
pub const INTERVAL: Duration = Duration::from_millis(500);
/// Rows of each sort in one transaction.
const ROWS_MAX: i32 = 100;
/// Transactions in one run; what is left waits for the next.
const ROUNDS_MAX: usize = 100;

/// Looks at all whose time has come, one transaction at a time, as far as a bounded number of them goes.
pub async fn run_once(client: &mut Client) -> Result<Ticked> {
    let mut done = Ticked::default();
    for _ in 0..ROUNDS_MAX {
        let transaction = client.transaction().await?;
        for_every_tenant(&transaction).await?;
        let round = execution_tick(&transaction, ROWS_MAX).await?;
        transaction.commit().await?;
        let is_last = round.rows() < i64::from(ROWS_MAX);
        done = done + round;
        if is_last {
            break;
        }
    }
    Ok(done)
}

/// Looks on a timer until `shutdown` is ready.
pub async fn run(pool: &Pool, interval: Duration, shutdown: impl Future<Output = ()>) {
    super::every("executions", pool, interval, shutdown, async |connection| {
        let done = run_once(connection).await?;
        if done.timed_out > 0 || done.expired > 0 {
            tracing::info!(
                service = "executions",
                timed_out = done.timed_out,
                expired = done.expired,
                "ran out of time"
            );
        }
        Ok(())
    })
    .await;
}
