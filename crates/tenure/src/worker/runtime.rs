//! What the loops of a worker share, and how jobs get from a claim into their handlers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::board::{Board, Phase};
use super::builder::Settings;
use super::context::{Context, Home};
use super::ends::{end_of, released};
use super::handed::Handed;
use super::held::{Held, Overdue, lease_of, run_id};
use super::kind::Kind;
use super::offers::Taken;
use super::report::Report;
use super::run::{Outcome, Run};
use super::trouble::Log;
use crate::measure;
use crate::pool::Pool;
use crate::store::jobs::{ClaimedJob, End};

/// A worker at work.
pub(super) struct Runtime {
    pub(super) pool: Pool,
    /// For heartbeats alone.
    pub(super) beats: Pool,
    pub(super) settings: Settings,
    pub(super) home: Arc<Home>,
    pub(super) kinds: HashMap<String, Arc<Kind>>,
    board: Mutex<Board>,
    /// Wakes the loops that take turns.
    pub(super) turns: Notify,
    /// Wakes the heartbeat, and the one who watches the time.
    pub(super) timers: Notify,
    /// Tells the listener that it hears nothing.
    pub(super) deaf: Notify,
    pub(super) log: Log,
    /// What keeps us from claiming though all works.
    pub(super) gates: Log,
    /// What was counted already.
    told: Mutex<Report>,
}

/// A place that a task holds: free again when the task is over, however it ends.
struct Place {
    runtime: Arc<Runtime>,
    group: usize,
    held: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.held {
            self.runtime.board().release(self.group, 1);
            self.runtime.turns.notify_one();
        }
    }
}

impl Runtime {
    pub(super) fn new(
        (pool, beats): (Pool, Pool),
        settings: Settings,
        kinds: HashMap<String, Arc<Kind>>,
        board: Board,
    ) -> Runtime {
        let home = Arc::new(Home {
            worker: settings.name.clone(),
            pool: pool.clone(),
        });
        Runtime {
            pool,
            beats,
            settings,
            home,
            kinds,
            board: Mutex::new(board),
            turns: Notify::new(),
            timers: Notify::new(),
            deaf: Notify::new(),
            log: Log::default(),
            gates: Log::default(),
            told: Mutex::default(),
        }
    }

    pub(super) fn board(&self) -> MutexGuard<'_, Board> {
        // Nothing that can panic runs under it but our own code, and that leaves it whole.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs jobs whose start is confirmed, asked for at `asked`. Each has a place of the group.
    pub(super) fn dispatch(self: &Arc<Runtime>, jobs: Vec<ClaimedJob>, asked: Instant, group: usize) {
        let places = jobs.len();
        let mut ends: Vec<End> = Vec::with_capacity(places);
        let mut pending: Vec<Run> = Vec::new();
        let mut of: Option<(String, Arc<Kind>)> = None;
        for job in jobs {
            // Jobs of a batch are mostly of one kind.
            let kind = match &of {
                Some((name, kind)) if *name == job.kind => kind,
                _ => match self.kinds.get(&job.kind) {
                    Some(kind) => &of.insert((job.kind.clone(), kind.clone())).1,
                    None => {
                        tracing::error!(kind = %job.kind, "claimed a kind without a handler, given back");
                        ends.push(released(job.job_id, job.token));
                        continue;
                    }
                },
            };
            let deadline = deadline(&job, kind, asked);
            let mut run = Run::new(kind.clone(), Context::new(job, self.home.clone(), deadline));
            if !kind.is_polled_here() {
                pending.push(run);
                continue;
            }
            match run.poll_here() {
                Poll::Ready(outcome) => ends.push(end_of(&run.kind, &run.context, outcome)),
                Poll::Pending => pending.push(run),
            }
        }
        let sooner = {
            let mut board = self.board();
            board.release(group, places - pending.len());
            board.post(ends);
            pending.iter().fold(false, |sooner, run| {
                let lease = lease_of(run.context.job());
                let held = Held::new(run.kind.clone(), run.context.clone(), asked, lease);
                board.held.insert(held) | sooner
            })
        };
        if sooner {
            self.timers.notify_waiters();
        }
        self.spawn(pending, group);
    }

    /// Counts what was done since it was last counted.
    pub(super) fn tell(&self, report: Report) {
        measure::told(&mut self.told.lock().unwrap_or_else(PoisonError::into_inner), report);
    }

    /// A job came by itself.
    pub(super) fn handed(self: &Arc<Runtime>, handed: Handed) {
        let taken = self.board().offers.take(handed, Instant::now());
        match taken {
            Some(taken) => self.run_handed(taken),
            // Somebody may have to look for it.
            None => self.turns.notify_one(),
        }
    }

    /// Runs a job that was handed to us.
    pub(super) fn run_handed(self: &Arc<Runtime>, taken: Taken) {
        let Taken { job, asked, place } = taken;
        let mut board = self.board();
        let group = board.shared_group().unwrap_or_default();
        board.report.claimed += 1;
        let place = place || board.take_place();
        let late = asked + lease_of(&job) <= Instant::now();
        if late || !place || board.phase == Phase::Closing {
            board.release(group, usize::from(place));
            if late {
                tracing::warn!(job_id = %job.job_id, "handed over so slowly that its lease has run out, not run");
                board.report.lost += 1;
            } else {
                board.give_all_back(&[job]);
            }
        } else {
            drop(board);
            self.dispatch(vec![job], asked, group);
        }
        self.turns.notify_one();
    }

    /// Each on a task of its own. Not under the lock: a runtime that shuts down drops a task where it is spawned, and
    /// its place takes the lock.
    fn spawn(self: &Arc<Runtime>, runs: Vec<Run>, group: usize) {
        let mut tasks = Vec::with_capacity(runs.len());
        for run in runs {
            let id = run_id(run.context.job());
            let place = Place {
                runtime: self.clone(),
                group,
                held: true,
            };
            tasks.push((id, tokio::spawn(drive(run, place)).abort_handle()));
        }
        if tasks.is_empty() {
            return;
        }
        let mut board = self.board();
        let late: Vec<_> = tasks
            .into_iter()
            .filter_map(|(id, abort)| board.held.attach(id, abort))
            .collect();
        drop(board);
        late.iter().for_each(AbortHandle::abort);
    }

    /// What time alone, or the end of the worker, has brought about.
    pub(super) fn settle(&self, overdue: Overdue) {
        let Overdue { ends, lost, tasks } = overdue;
        if !ends.is_empty() || lost > 0 {
            let mut board = self.board();
            board.report.lost += lost;
            board.post(ends);
        }
        tasks.iter().for_each(AbortHandle::abort);
        self.turns.notify_waiters();
    }

    /// A run on a task of its own has ended.
    fn finish(&self, run: &Run, outcome: Outcome, mut place: Place) {
        let id = run_id(run.context.job());
        let end = end_of(&run.kind, &run.context, outcome);
        let mut board = self.board();
        match board.held.remove(id) {
            Some(held) if held.is_dropped() => board.report.lost += 1,
            Some(_) => board.post([end]),
            // Somebody else has ended it: it took too long, or we are shutting down.
            None => {}
        }
        board.release(place.group, 1);
        place.held = false;
        drop(board);
        self.turns.notify_one();
    }
}

async fn drive(mut run: Run, place: Place) {
    let outcome = (&mut run).await;
    place.runtime.clone().finish(&run, outcome, place);
}

/// When the run is over, by its handler's timeout or by the policy of its kind. The database's times give a length,
/// measured from when we asked: never later than the database would say.
fn deadline(job: &ClaimedJob, kind: &Kind, asked: Instant) -> Option<Instant> {
    let by_policy = job.run_until.zip(job.started_at).and_then(|(until, from)| {
        let micros = u64::try_from(until.micros().saturating_sub(from.micros())).ok()?;
        asked.checked_add(Duration::from_micros(micros))
    });
    let by_handler = kind
        .options
        .timeout
        .and_then(|timeout| Instant::now().checked_add(timeout));
    by_policy.into_iter().chain(by_handler).min()
}
