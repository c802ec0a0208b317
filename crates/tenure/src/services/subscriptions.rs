//! Lets subscriptions do something about what happened: jobs are made, and deliveries put in line.

use std::future::Future;
use std::time::Duration;

use tokio_postgres::Client;

use crate::error::Result;
use crate::pool::Pool;
use crate::store::for_every_tenant;
use crate::store::subscriptions::subscription_run;

/// How often subscriptions look, unless told otherwise.
pub const INTERVAL: Duration = Duration::from_millis(500);
/// Transactions in one run; what is left waits for the next.
const STEPS_MAX: usize = 1000;

/// What one run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Events that subscriptions passed.
    pub events: i64,
    /// Jobs and deliveries that were made.
    pub made: i64,
    /// Matches of which nothing was made, because too many subscriptions had followed upon one another.
    pub skipped: i64,
    /// Subscriptions that could not do their work.
    pub failed: usize,
}

/// Lets each subscription catch up, one transaction at a time, as far as a bounded number of them goes.
pub async fn run_once(client: &mut Client) -> Result<Counts> {
    let mut counts = Counts::default();
    for _ in 0..STEPS_MAX {
        let transaction = client.transaction().await?;
        for_every_tenant(&transaction).await?;
        let step = subscription_run(&transaction).await?;
        transaction.commit().await?;
        let Some(name) = step.name else { break };
        counts.events += step.events;
        counts.made += step.made;
        counts.skipped += step.skipped;
        if let Some(code) = step.failed {
            counts.failed += 1;
            tracing::warn!(
                service = "subscriptions",
                tenant = step.tenant,
                subscription = name,
                code,
                "cannot go on"
            );
        }
    }
    Ok(counts)
}

/// Looks on a timer until `shutdown` is ready.
pub async fn run(pool: &Pool, interval: Duration, shutdown: impl Future<Output = ()>) {
    super::every("subscriptions", pool, interval, shutdown, async |connection| {
        run_once(connection).await?;
        Ok(())
    })
    .await;
}
