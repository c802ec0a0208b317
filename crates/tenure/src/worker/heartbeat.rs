//! One heartbeat for everything a worker holds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure_core::limits::BATCH_ROWS_MAX;
use tokio::time::sleep_until;

use super::held::RunId;
use super::line::Line;
use super::runtime::Runtime;
use super::trouble::Log;
use crate::measure;
use crate::store::jobs::{Hold, heartbeat_many};

/// No answer is waited for shorter than this.
const PATIENCE_MIN: Duration = Duration::from_millis(300);
/// Nor is the next try sooner than this.
const RETRY_MIN: Duration = Duration::from_millis(20);

/// Renews leases for as long as the worker lives, on a connection of its own: it must not wait for a turn.
pub(super) async fn beat(runtime: Arc<Runtime>) {
    let (mut line, log) = (Line::new(runtime.beats.clone()), Log::default());
    loop {
        let mut changed = std::pin::pin!(runtime.timers.notified());
        changed.as_mut().enable();
        let due = runtime.board().held.beats(Instant::now());
        match due {
            Ok(holds) => once(&runtime, &mut line, &log, &holds).await,
            Err(Some(next)) => {
                tokio::select! {
                    () = changed => {}
                    () = sleep_until(next.into()) => {}
                }
            }
            Err(None) => changed.await,
        }
    }
}

/// One heartbeat, in as few statements as the limit of a batch allows.
async fn once(runtime: &Runtime, line: &mut Line, log: &Log, holds: &[(RunId, Hold)]) {
    let name = &runtime.settings.name;
    let third = runtime.board().held.shortest_lease().unwrap_or_default() / 3;
    let mut retry = None;
    for part in holds.chunks(BATCH_ROWS_MAX) {
        let pairs: Vec<Hold> = part.iter().map(|(_, hold)| *hold).collect();
        // The lease is counted from here: the database renews it later, never sooner.
        let sent = Instant::now();
        let question = async |client: &tokio_postgres::Client| heartbeat_many(client, &pairs, None).await;
        match line.ask(third.max(PATIENCE_MIN), question).await {
            Ok(answers) => {
                log.fine(name);
                measure::beaten(true);
                let kill_at = Instant::now() + runtime.settings.grace;
                let mut board = runtime.board();
                for ((run, _), answer) in part.iter().zip(answers) {
                    board.held.beaten(*run, answer, sent, kill_at);
                }
            }
            Err(error) => {
                measure::beaten(false);
                // A heartbeat that failed is not a lost lease: what is held stays ours until its time is up.
                let delay = log.trouble(name, &error).min(third / 2).max(RETRY_MIN);
                retry = Some(Instant::now() + delay);
                break;
            }
        }
    }
    runtime.board().held.set_next_beat(retry);
    // A lease that was lost sets the alarm.
    runtime.timers.notify_waiters();
}

/// Watches the time: leases that run out unrenewed, and runs that take too long.
pub(super) async fn watch(runtime: Arc<Runtime>) {
    loop {
        let mut changed = std::pin::pin!(runtime.timers.notified());
        changed.as_mut().enable();
        let (overdue, next) = runtime.board().held.overdue(Instant::now(), runtime.settings.grace);
        if overdue.is_any() {
            runtime.settle(overdue);
        }
        match next {
            Some(next) => {
                tokio::select! {
                    () = changed => {}
                    () = sleep_until(next.into()) => {}
                }
            }
            None => changed.await,
        }
    }
}
