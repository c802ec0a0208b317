//! The worker of a benchmark: the public one, with a typed handler that does nothing but count.

use std::future::{Future, ready};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value;
use tenure::pool::{Pool, PoolOptions};
use tenure::worker::{self, Context, Worker};
use tokio::sync::Notify;

use super::load::{KIND, Payload};
use super::server::Server;
use crate::errors::Outcome;
use crate::output::Bar;
use crate::values::Number;

/// Beside those that take turns: one for heartbeats, one to spare.
const CONNECTIONS_BESIDE: usize = 2;
const BATCH_MAX: u32 = 1000;
const CONNECTIONS_MAX: u32 = 100;
const CONCURRENCY_MAX: u32 = 100_000;
const TICK: Duration = Duration::from_millis(100);
/// When nothing has happened for that long, perhaps nothing is left: somebody else may have taken it.
const QUIET: Duration = Duration::from_secs(5);

/// How the worker works.
#[derive(Debug, Args)]
pub(super) struct Pace {
    /// Jobs that one statement of the worker records and claims
    #[arg(long, value_name = "N", default_value = "500", allow_negative_numbers = true)]
    batch: Number,
    /// Connections on which the worker takes turns
    #[arg(long, value_name = "N", default_value = "2", allow_negative_numbers = true)]
    connections: Number,
    /// Jobs at once
    #[arg(long, value_name = "N", default_value = "1000", allow_negative_numbers = true)]
    concurrency: Number,
}

/// A worker about to be hired.
pub(super) struct Crew {
    batch: usize,
    connections: usize,
    concurrency: usize,
}

impl Pace {
    pub(super) fn crew(&self) -> Outcome<Crew> {
        Ok(Crew {
            batch: self.batch.within("batch", 1..=BATCH_MAX)? as usize,
            connections: self.connections.within("connections", 1..=CONNECTIONS_MAX)? as usize,
            concurrency: self.concurrency.within("concurrency", 1..=CONCURRENCY_MAX)? as usize,
        })
    }
}

impl Crew {
    /// For work that is not measured.
    pub(super) fn plain() -> Crew {
        Crew {
            batch: 500,
            connections: 2,
            concurrency: 1000,
        }
    }

    /// How it works, for the report.
    pub(super) fn settings(&self) -> [(&'static str, Value); 3] {
        [
            ("batch", self.batch.into()),
            ("connections", self.connections.into()),
            ("concurrency", self.concurrency.into()),
        ]
    }

    /// Connections that stand: making them is not what is measured.
    pub(super) async fn pool(&self, url: &str) -> Outcome<Pool> {
        let options = PoolOptions {
            connections_max: self.connections + CONNECTIONS_BESIDE,
            ..Default::default()
        };
        let pool = Pool::new(url, &options)?;
        let mut made = Vec::new();
        for _ in 0..options.connections_max {
            made.push(pool.get().await?);
        }
        drop(made);
        Ok(pool)
    }

    /// Works until `end`, and tells the tally of every job.
    pub(super) async fn work(
        &self,
        pool: Pool,
        url: &str,
        poll: Duration,
        see: impl Fn(&Payload) + Send + Sync + 'static,
        end: impl Future<Output = ()>,
    ) -> Outcome<worker::Report> {
        let worker = Worker::builder(pool)
            .listen_url(url)
            .concurrency(self.concurrency)
            .connections(self.connections)
            .batch_max(self.batch)
            .poll_interval(poll)
            .handler(KIND, move |payload: Payload, _: Context| {
                see(&payload);
                ready(Ok(()))
            })
            .build()?;
        Ok(worker.run_until(end).await?)
    }

    /// Runs what is left of ours, unmeasured.
    pub(super) async fn clear(&self, url: &str, server: &Server) -> Outcome {
        let left = server.left().await?;
        let tally = Arc::new(Tally::new(left.unsigned_abs(), u64::MAX));
        let counted = tally.clone();
        let end = async { tally.finished(server, None).await };
        let pool = self.pool(url).await?;
        self.work(pool, url, TICK, move |_| counted.count(), end).await?;
        Ok(())
    }
}

/// Counts jobs as they are run.
pub(super) struct Tally {
    seen: AtomicU64,
    goal: AtomicU64,
    reached: Notify,
    /// Every so many jobs the time is noted.
    slice: u64,
    slices: Mutex<Vec<Instant>>,
}

impl Tally {
    pub(super) fn new(goal: u64, slice: u64) -> Tally {
        Tally {
            seen: AtomicU64::new(0),
            goal: AtomicU64::new(goal),
            reached: Notify::new(),
            slice,
            slices: Mutex::default(),
        }
    }

    /// One more.
    pub(super) fn count(&self) {
        let seen = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
        if seen.is_multiple_of(self.slice) {
            let mut slices = self.slices.lock().unwrap_or_else(PoisonError::into_inner);
            slices.push(Instant::now());
        }
        if seen >= self.goal.load(Ordering::Relaxed) {
            self.reached.notify_one();
        }
    }

    pub(super) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// From now on this many are enough.
    pub(super) fn aim(&self, goal: u64) {
        self.goal.store(goal, Ordering::Relaxed);
        self.reached.notify_one();
    }

    /// When each slice was full.
    pub(super) fn slices(&self) -> Vec<Instant> {
        self.slices.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ready when all are done, or none is left to do.
    pub(super) async fn finished(&self, server: &Server, bar: Option<&Bar>) {
        let (mut last, mut since) = (0, Instant::now());
        loop {
            let seen = self.seen();
            if let Some(bar) = bar {
                bar.at(seen);
            }
            if seen >= self.goal.load(Ordering::Relaxed) {
                return;
            }
            if seen != last {
                (last, since) = (seen, Instant::now());
            } else if since.elapsed() > QUIET {
                if matches!(server.left().await, Ok(0)) {
                    return;
                }
                since = Instant::now();
            }
            tokio::select! {
                () = self.reached.notified() => {}
                () = tokio::time::sleep(TICK) => {}
            }
        }
    }
}
