//! A kind as a worker knows it: its handler, its options, and whether its runs are quick.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::handler::{Erased, HandlerOptions, Registered};
use super::middleware::{Layer, Next};
use super::run::Running;
use super::{Context, Failure};
use crate::measure::RunTimes;

/// A run that ends at its first poll within this time was quick.
const QUICK: Duration = Duration::from_micros(20);
/// So many quick runs in a row, and the next are run where they are claimed, without a task of their own.
const QUICK_RUNS: u32 = 16;

pub(super) struct Kind {
    pub(super) options: HandlerOptions,
    /// The places it shares; see [`Board`](super::board::Board).
    pub(super) group: usize,
    handler: Erased,
    layers: Arc<[Layer]>,
    /// Whether its runs wait for each other at their first poll.
    gathers: bool,
    quick_runs: AtomicU32,
    pub(super) run_times: RunTimes,
}

impl Kind {
    pub(super) fn new(registered: Registered, group: usize, layers: Arc<[Layer]>) -> Kind {
        Kind {
            options: registered.options,
            group,
            handler: registered.run,
            layers,
            gathers: registered.batch_max.is_some(),
            quick_runs: AtomicU32::new(0),
            run_times: RunTimes::default(),
        }
    }

    /// Sets a run up: the middleware around the handler.
    pub(super) fn set_up(&self, context: Context) -> Running {
        if self.layers.is_empty() {
            return (self.handler)(context);
        }
        Next::new(self.layers.clone(), self.handler.clone()).run(context)
    }

    /// Whether its runs are polled where they are claimed: they end at once, so that a task for each would cost more than the
    /// run, or they meet there for one call.
    pub(super) fn is_polled_here(&self) -> bool {
        self.gathers || self.quick_runs.load(Ordering::Relaxed) >= QUICK_RUNS
    }

    /// Learns from the first poll of a run. One slow run, and the kind has to earn its place again: a handler that
    /// computes for long must not hold up the others of its batch twice.
    pub(super) fn learn(&self, ended: bool, took: Duration) {
        let runs = self.quick_runs.load(Ordering::Relaxed);
        let learnt = if ended && took <= QUICK {
            (runs + 1).min(QUICK_RUNS)
        } else {
            0
        };
        if learnt != runs {
            self.quick_runs.store(learnt, Ordering::Relaxed);
        }
    }

    /// The delay its own backoff gives; none: as the policy of the kind says.
    pub(super) fn delay(&self, attempt: u32, failure: &Failure) -> Option<Duration> {
        let backoff = self.options.backoff.as_ref()?;
        catch_unwind(AssertUnwindSafe(|| backoff(attempt, failure))).ok()
    }
}
