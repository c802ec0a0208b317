//! What runs on a timer: each a `run_once` and a loop around it.
//!
//! `tenure serve` runs them all. A program that has no server beside it runs them itself: without a reaper the jobs of a
//! worker that died stay held, and without a scheduler no schedule fires.
//!
//! ```no_run
//! use tenure::worker::{self, Context, Worker};
//!
//! # async fn run() -> tenure::Result<()> {
//! let pool = tenure::Pool::new("postgres://localhost/app", &Default::default())?;
//! let worker = Worker::builder(pool.clone())
//!     .handler("hello", async |_: serde_json::Value, _: Context| Ok(()))
//!     .build()?;
//! let services = tokio::spawn(tenure::services::run(pool, worker::shutdown_signal()));
//! worker.run_until(worker::shutdown_signal()).await?;
//! services.await.expect("no service panicked");
//! # Ok(())
//! # }
//! ```
//!
//! A service acts for every tenant whose gate is open, so its login must be a member of `tenure_server`. Any number of
//! processes may run the same service; what one works on, another leaves alone.

#[doc(hidden)]
pub mod anchor;
mod anchor_file;
#[doc(hidden)]
pub mod archive;
mod beat;
#[doc(hidden)]
pub mod executions;
#[doc(hidden)]
pub mod reaper;
#[doc(hidden)]
pub mod retention;
#[doc(hidden)]
pub mod scheduler;
#[doc(hidden)]
pub mod subscriptions;

use std::future::Future;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

pub use self::anchor_file::AnchorFile;
use self::beat::Beat;
use crate::error::Result;
pub use crate::evidence::KeySource;
use crate::pool::{Connection, Pool};

/// A part of the interval, at random, is added to each pause, so that processes started together drift apart.
const JITTER_PERCENT: u32 = 20;

/// What services need beside the database.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The key that signs evidence and checkpoints: that of the database, unless one is given.
    pub key: KeySource,
    /// The file that checkpoints are appended to. Without one they go only to subscriptions to `evidence.anchored`.
    pub anchor_file: Option<AnchorFile>,
}

/// Runs all services until `shutdown` is ready; work that has begun is finished. Dropping the future stops them at once.
///
/// Each needs a connection of the pool while it works. Webhooks are not sent: that takes an HTTP client, and only
/// `tenure serve` has one. What subscriptions have put in line for them waits for such a server.
pub async fn run(pool: Pool, shutdown: impl Future<Output = ()>) {
    run_with(pool, Settings::default(), shutdown).await;
}

/// The same, with a key and a file outside the database.
pub async fn run_with(pool: Pool, settings: Settings, shutdown: impl Future<Output = ()>) {
    let (ending, ended) = watch::channel(());
    let end = || {
        let mut ended = ended.clone();
        // Nothing is ever sent: it ends when the sender is dropped.
        async move { while ended.changed().await.is_ok() {} }
    };
    let mut services = JoinSet::new();
    macro_rules! start {
        ($($service:ident),*) => {$({
            let (pool, end) = (pool.clone(), end());
            services.spawn(async move { $service::run(&pool, $service::INTERVAL, end).await });
        })*};
    }
    start!(reaper, scheduler, executions, subscriptions, retention);
    macro_rules! start_with {
        ($($service:ident),*) => {$({
            let (pool, settings, end) = (pool.clone(), settings.clone(), end());
            services.spawn(async move { $service::run(&pool, &settings, $service::INTERVAL, end).await });
        })*};
    }
    start_with!(archive, anchor);
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            // A service ends by itself only by a panic. The others go on, and the trace of this one grows old.
            Some(ended) = services.join_next() => {
                if let Err(error) = ended {
                    tracing::error!("a service has ended: {error}");
                }
            }
        }
    }
    drop(ending);
    while services.join_next().await.is_some() {}
}

/// Does the work, then pauses, until `shutdown` is ready; work that has begun is finished.
async fn every(
    name: &'static str,
    pool: &Pool,
    interval: Duration,
    shutdown: impl Future<Output = ()>,
    work: impl AsyncFn(&mut Connection) -> Result<()>,
) {
    every_with(name, pool, interval, shutdown, &work, async |connection, work| {
        work(connection).await
    })
    .await;
}

/// The same, with something that the work needs: a closure that captured it could not be sent to another thread.
async fn every_with<S>(
    name: &'static str,
    pool: &Pool,
    interval: Duration,
    shutdown: impl Future<Output = ()>,
    given: &S,
    work: impl AsyncFn(&mut Connection, &S) -> Result<()>,
) {
    let mut shutdown = std::pin::pin!(shutdown);
    let mut failing = false;
    let mut beat = Beat::default();
    loop {
        let outcome = match pool.get().await {
            Ok(mut connection) => {
                let outcome = work(&mut connection, given).await;
                if outcome.is_ok() {
                    beat.ran(name, &connection).await;
                }
                outcome
            }
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
