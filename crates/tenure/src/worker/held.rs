//! The runs under way: their leases, their time, and who may end them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;
use uuid::Uuid;

use super::ends::{released, timed_out};
use super::kind::Kind;
use super::{CancelReason, Context};
use crate::store::jobs::{Beat, ClaimedJob, End, Hold};

/// A run of a job: a job that was lost may come back while its old run is still stopping.
pub(super) type RunId = (Uuid, i32);

pub(super) fn run_id(job: &ClaimedJob) -> RunId {
    (job.job_id, job.run)
}

/// How long a claim holds without a heartbeat. A length, so it holds on any clock.
pub(super) fn lease_of(job: &ClaimedJob) -> Duration {
    let micros = job.leased_until.micros().saturating_sub(job.leased_at.micros());
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

/// A run under way.
pub(super) struct Held {
    pub(super) kind: Arc<Kind>,
    pub(super) context: Context,
    /// The lease lasts from when it was last asked for: the database gave it later than that, never sooner.
    renewed: Instant,
    lease: Duration,
    /// Stops its task; none in the moment before it has one.
    abort: Option<AbortHandle>,
    /// The lease is lost; when the handler will be stopped, if it has not stopped by then.
    lost_until: Option<Instant>,
}

impl Held {
    pub(super) fn new(kind: Arc<Kind>, context: Context, asked: Instant, lease: Duration) -> Held {
        Held {
            kind,
            context,
            renewed: asked,
            lease,
            abort: None,
            lost_until: None,
        }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost_until.is_some()
    }

    /// Whether what comes out of it is dropped. A job that may be completed by its handler is not: the answer to its end
    /// says what became of it.
    pub(super) fn is_dropped(&self) -> bool {
        self.is_lost() && !self.context.may_be_completed()
    }

    fn lose(&mut self, kill_at: Instant) {
        if self.lost_until.is_none() {
            let job = self.context.job();
            tracing::warn!(job_id = %job.job_id, kind = %job.kind, run = job.run, "lease lost, its result will be dropped");
            self.context.cancel(CancelReason::LeaseLost);
            self.lost_until = Some(kill_at);
        }
    }

    /// When something has to be done about it, without an answer of the database.
    fn alarm(&self) -> Instant {
        match (self.lost_until, self.context.deadline()) {
            (Some(until), _) => until,
            (None, Some(deadline)) => deadline.min(self.renewed + self.lease),
            (None, None) => self.renewed + self.lease,
        }
    }
}

/// All runs under way that did not end at once.
pub(super) struct HeldRuns {
    runs: HashMap<RunId, Held>,
    /// The longest time between two heartbeats.
    beat_max: Duration,
    next_beat: Option<Instant>,
    next_alarm: Option<Instant>,
}

/// What became of runs by the mere passing of time.
#[derive(Default)]
pub(super) struct Overdue {
    pub(super) ends: Vec<End>,
    pub(super) lost: u64,
    /// Tasks to stop, but not under the lock: their places take it.
    pub(super) tasks: Vec<AbortHandle>,
}

impl Overdue {
    pub(super) fn is_any(&self) -> bool {
        self.lost > 0 || !self.ends.is_empty()
    }
}

impl HeldRuns {
    pub(super) fn new(beat_max: Duration) -> HeldRuns {
        HeldRuns {
            runs: HashMap::new(),
            beat_max,
            next_beat: None,
            next_alarm: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Watches over a run; says whether a timer has to be set to an earlier time for it.
    pub(super) fn insert(&mut self, held: Held) -> bool {
        let (beat, alarm) = (self.beat_of(&held), held.alarm());
        let sooner = self.next_beat.is_none_or(|at| beat < at) || self.next_alarm.is_none_or(|at| alarm < at);
        self.next_beat = Some(self.next_beat.map_or(beat, |at| at.min(beat)));
        self.next_alarm = Some(self.next_alarm.map_or(alarm, |at| at.min(alarm)));
        self.runs.insert(run_id(held.context.job()), held);
        sooner
    }

    /// Knows how to stop a run from now on. A run that is no longer watched has ended, or was to be stopped in the
    /// meantime: then the task comes back.
    pub(super) fn attach(&mut self, run: RunId, abort: AbortHandle) -> Option<AbortHandle> {
        match self.runs.get_mut(&run) {
            Some(held) => held.abort.replace(abort),
            None => Some(abort),
        }
    }

    /// Takes a run out; whoever gets it ends it.
    pub(super) fn remove(&mut self, run: RunId) -> Option<Held> {
        self.runs.remove(&run)
    }

    fn beat_of(&self, held: &Held) -> Instant {
        held.renewed + (held.lease / 3).min(self.beat_max)
    }

    /// What to renew now, all of it at once; or when to ask again.
    pub(super) fn beats(&mut self, now: Instant) -> Result<Vec<(RunId, Hold)>, Option<Instant>> {
        if self.next_beat.is_some_and(|at| at <= now) {
            // A run may have ended since.
            self.next_beat = self.living().map(|held| self.beat_of(held)).min();
        }
        match self.next_beat {
            Some(at) if at <= now => Ok(self
                .living()
                .map(|held| (run_id(held.context.job()), held.context.job().hold()))
                .collect()),
            other => Err(other),
        }
    }

    fn living(&self) -> impl Iterator<Item = &Held> {
        self.runs.values().filter(|held| !held.is_lost())
    }

    /// How long the shortest lease lasts.
    pub(super) fn shortest_lease(&self) -> Option<Duration> {
        self.living().map(|held| held.lease).min()
    }

    /// Learns what the database said to a heartbeat sent at `sent`.
    pub(super) fn beaten(&mut self, run: RunId, beat: Beat, sent: Instant, kill_at: Instant) {
        let Some(held) = self.runs.get_mut(&run) else { return };
        // A job that its handler has completed is held no longer either.
        if beat.is_lost() && !held.context.may_be_completed() {
            held.lose(kill_at);
            self.next_alarm = Some(self.next_alarm.map_or(kill_at, |at| at.min(kill_at)));
        } else {
            held.renewed = held.renewed.max(sent);
            if beat.is_cancel_requested() {
                held.context.cancel_as_asked(beat.cancel_reason);
            }
        }
    }

    /// The next heartbeat is due when the first lease of all needs it, or, after one that failed, at `retry`.
    pub(super) fn set_next_beat(&mut self, retry: Option<Instant>) {
        let due = self.living().map(|held| self.beat_of(held)).min();
        self.next_beat = due.map(|due| retry.map_or(due, |retry| due.max(retry)));
    }

    /// Loses what has run out, stops what took too long; and when to look again.
    pub(super) fn overdue(&mut self, now: Instant, grace: Duration) -> (Overdue, Option<Instant>) {
        let mut overdue = Overdue::default();
        if self.next_alarm.is_none_or(|at| at > now) {
            return (overdue, self.next_alarm);
        }
        for held in self.runs.values_mut() {
            if !held.is_lost() && held.renewed + held.lease <= now {
                held.lose(now + grace);
            }
        }
        for (_, held) in self.runs.extract_if(|_, held| held.alarm() <= now) {
            let hold = held.context.job().hold();
            if held.is_dropped() {
                overdue.lost += 1;
            } else if held.is_lost() {
                overdue.ends.push(released(hold.job_id, hold.token));
            } else {
                held.context.cancel(CancelReason::Timeout);
                overdue.ends.push(timed_out(&held.kind, &held.context));
            }
            overdue.tasks.extend(held.abort);
        }
        self.next_alarm = self.runs.values().map(Held::alarm).min();
        (overdue, self.next_alarm)
    }

    /// Tells every handler to stop.
    pub(super) fn cancel_all(&self, reason: CancelReason) {
        for held in self.runs.values() {
            held.context.cancel(reason);
        }
    }

    /// Stops every handler and gives its job back.
    pub(super) fn release_all(&mut self) -> Overdue {
        let mut overdue = Overdue::default();
        for (_, held) in self.runs.drain() {
            let job = held.context.job();
            if held.is_dropped() {
                overdue.lost += 1;
            } else {
                overdue.ends.push(released(job.job_id, job.token));
            }
            overdue.tasks.extend(held.abort);
        }
        overdue
    }
}
