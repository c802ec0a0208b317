//! What a handler tells the clock. Handlers are often plain functions without state, so this is one of the process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

static HANDLED: AtomicU64 = AtomicU64::new(0);
static TARGET: AtomicU64 = AtomicU64::new(u64::MAX);
static REACHED: Notify = Notify::const_new();
static FIRST: OnceLock<Instant> = OnceLock::new();
static STARTS: OnceLock<Mutex<UnboundedSender<Instant>>> = OnceLock::new();

/// Called by the handler as its whole work.
pub fn handled() {
    handled_many(1);
}

/// The same for a peer that hands over a batch.
pub fn handled_many(jobs: usize) {
    if let Some(starts) = STARTS.get()
        && let Ok(starts) = starts.lock()
    {
        // The receiver is gone once everything was measured.
        let _ = starts.send(Instant::now());
    }
    FIRST.get_or_init(Instant::now);
    let before = HANDLED.fetch_add(jobs as u64, Ordering::Relaxed);
    let target = TARGET.load(Ordering::Relaxed);
    if before < target && before + jobs as u64 >= target {
        REACHED.notify_one();
    }
}

pub(crate) fn count() -> u64 {
    HANDLED.load(Ordering::Relaxed)
}

pub(crate) fn first() -> Option<Instant> {
    FIRST.get().copied()
}

pub(crate) fn expect(jobs: usize) {
    TARGET.store(jobs as u64, Ordering::Relaxed);
}

pub(crate) async fn reached() {
    REACHED.notified().await;
}

/// From now on every start of a handler is sent here.
pub(crate) fn tell_starts(to: UnboundedSender<Instant>) {
    let _ = STARTS.set(Mutex::new(to));
}
