//! What runs on a timer: each a `run_once` and a loop around it.
//!
//! A service acts for every tenant whose gate is open, so its login must be a member of `tenure_server`. Any number of
//! processes may run the same service; what one works on, another leaves alone.

pub mod archive;
pub mod executions;
pub mod reaper;
pub mod retention;
pub mod scheduler;
pub mod subscriptions;

use std::future::Future;
use std::time::Duration;

use crate::error::Result;
use crate::pool::{Connection, Pool};

/// A part of the interval, at random, is added to each pause, so that processes started together drift apart.
const JITTER_PERCENT: u32 = 20;

/// Does the work, then pauses, until `shutdown` is ready; work that has begun is finished.
async fn every(
    name: &'static str,
    pool: &Pool,
    interval: Duration,
    shutdown: impl Future<Output = ()>,
    work: impl AsyncFn(&mut Connection) -> Result<()>,
) {
    let mut shutdown = std::pin::pin!(shutdown);
    let mut failing = false;
    loop {
        let outcome = match pool.get().await {
            Ok(mut connection) => work(&mut connection).await,
            Err(error) => Err(error),
        };
        match &outcome {
            Ok(()) if failing => tracing::info!(service = name, "works again"),
            // Told once, not at every turn of the timer.
            Err(error) if !failing => tracing::warn!(service = name, code = error.code(), "{error}"),
            _ => {}
        }
        failing = outcome.is_err();
        crate::measure::served(name, !failing);
        tokio::select! {
            () = &mut shutdown => return,
            () = tokio::time::sleep(pause(interval)) => {}
        }
    }
}

fn pause(interval: Duration) -> Duration {
    // A random UUID is randomness enough, and already here.
    let random = (uuid::Uuid::new_v4().as_u128() % 1000) as u32;
    interval + interval * JITTER_PERCENT / 100 * random / 1000
}
