//! Plans and starts the slots of schedules. Every server runs it and none leads: what one has locked, another leaves alone.

use std::future::Future;
use std::time::Duration;

use tokio_postgres::Client;

use crate::error::Result;
use crate::pool::Pool;
use crate::schedules::plan;
use crate::store::for_every_tenant;
use crate::store::schedules::{Advanced, Plan, schedule_advance, schedule_take};

/// How often the scheduler looks, unless told otherwise.
pub const INTERVAL: Duration = Duration::from_millis(500);
/// Schedules in one transaction.
const SCHEDULES_MAX: i32 = 500;
/// Transactions in one run; what is left waits for the next.
const STEPS_MAX: usize = 100;

/// Looks at all that is due, one transaction at a time, as far as a bounded number of them goes.
pub async fn run_once(client: &mut Client) -> Result<Advanced> {
    let mut done = Advanced::default();
    for _ in 0..STEPS_MAX {
        let transaction = client.transaction().await?;
        for_every_tenant(&transaction).await?;
        let taken = schedule_take(&transaction, SCHEDULES_MAX).await?;
        if taken.is_empty() {
            break;
        }
        let plans: Vec<Plan> = taken.iter().map(plan).collect();
        let step = schedule_advance(&transaction, &plans).await?;
        transaction.commit().await?;
        for (it, plan) in taken.iter().zip(&plans) {
            if let Some(code) = &plan.error_code {
                tracing::warn!(
                    service = "scheduler",
                    tenant = it.tenant,
                    schedule = it.name,
                    code,
                    "has no slots"
                );
            }
        }
        done = done + step;
        if taken.len() < SCHEDULES_MAX as usize {
            break;
        }
    }
    Ok(done)
}

/// Looks on a timer until `shutdown` is ready.
pub async fn run(pool: &Pool, interval: Duration, shutdown: impl Future<Output = ()>) {
    super::every("scheduler", pool, interval, shutdown, async |connection| {
        let done = run_once(connection).await?;
        #[cfg(feature = "metrics")]
        crate::measure::advanced(done);
        if done.missed > 0 {
            tracing::warn!(service = "scheduler", missed = done.missed, "slots were missed");
        }
        Ok(())
    })
    .await;
}
