//! What a worker has to do next. Decides and waits for nothing: the loops ask it, act, and tell it what came of it.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::builder::Settings;
use super::ends::{instead_of, instead_of_poison, released, tell_uncommitted};
use super::groups::{Ask, Flow, Group};
use super::held::{HeldRuns, lease_of};
use super::offers::Offers;
use super::parking::Parking;
use super::report::Report;
use super::trouble::jittered;
use crate::error::Error;
use crate::store::Snapshot;
use crate::store::jobs::{ClaimedJob, End, TurnEnd};

/// How far a worker's life is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Claims and runs.
    Working,
    /// Claims and runs until there is nothing more.
    UntilIdle,
    /// Claims no more.
    Draining,
    /// Handlers have been told to stop; nothing new is run.
    Closing,
}

/// What to do next.
pub(super) enum Step {
    /// Record these ends, and claim.
    Turn { ends: Vec<End>, ask: Option<Ask> },
    /// Start these jobs of the buffer; places are kept for them.
    Start(Vec<Buffered>),
    /// Say that we are idle.
    Park,
    /// Find out which transactions are open.
    AskOpen,
    /// Offer this many places on this channel; they are kept.
    Offer(usize, String),
    /// Take these offers back.
    Withdraw(Vec<Uuid>),
    /// Nothing, until then or until somebody wakes us.
    Wait(Instant),
    /// Nothing ever again.
    Finished,
}

/// A job that was claimed ahead and not started.
pub(super) struct Buffered {
    pub(super) job: ClaimedJob,
    pub(super) asked: Instant,
}

impl Buffered {
    /// When it has waited for a large part of its lease: somebody else may have room for it.
    fn give_back_at(&self) -> Instant {
        self.asked + lease_of(&self.job) / 2
    }
}

/// The state of a worker.
pub(super) struct Board {
    places: usize,
    free: usize,
    groups: Vec<Group>,
    next_group: usize,
    batch_max: usize,
    outbox: Vec<End>,
    /// Steps under way.
    under_way: usize,
    pub(super) held: HeldRuns,
    buffer: VecDeque<Buffered>,
    buffer_max: usize,
    /// Room in the buffer that a claim under way is to fill.
    buffer_kept: usize,
    /// The buffer was given back: it stays empty until a place becomes free.
    buffer_rests: bool,
    poll_interval: Duration,
    next_poll: Instant,
    hold_until: Option<Instant>,
    pub(super) parking: Parking,
    pub(super) offers: Offers,
    pub(super) phase: Phase,
    pub(super) report: Report,
}

impl Board {
    pub(super) fn new(settings: &Settings, groups: Vec<Group>, phase: Phase, now: Instant) -> Board {
        Board {
            places: settings.concurrency,
            free: settings.concurrency,
            groups,
            next_group: 0,
            batch_max: settings.batch_max,
            outbox: Vec::new(),
            under_way: 0,
            held: HeldRuns::new(settings.heartbeat_interval),
            buffer: VecDeque::new(),
            buffer_max: settings.buffer,
            buffer_kept: 0,
            buffer_rests: false,
            poll_interval: settings.poll_interval,
            next_poll: now + jittered(settings.poll_interval),
            hold_until: None,
            parking: Parking::default(),
            offers: Offers::default(),
            phase,
            report: Report::default(),
        }
    }

    /// What to do next. What it answers is taken: the caller does it and tells how it went.
    pub(super) fn step(&mut self, now: Instant) -> Step {
        if let Some(until) = self.hold_until.filter(|until| *until > now) {
            return Step::Wait(until);
        }
        self.hold_until = None;
        let claiming = self.phase < Phase::Draining;
        if claiming && self.next_poll <= now {
            self.next_poll = now + jittered(self.poll_interval);
            self.wake();
        }
        self.groups.iter_mut().for_each(|group| group.look_whole(now));
        self.give_back(now);
        if claiming && let Some(start) = self.start() {
            self.under_way += 1;
            return Step::Start(start);
        }
        if self.phase < Phase::Closing {
            let withdrawn = self.offers.withdraw(self.needs_all_places(), now);
            if !withdrawn.is_empty() {
                self.under_way += 1;
                return Step::Withdraw(withdrawn);
            }
        }
        let ask = if claiming { self.ask(now) } else { None };
        if ask.is_some() || !self.outbox.is_empty() {
            self.under_way += 1;
            let ends = self.take_ends();
            return Step::Turn { ends, ask };
        }
        if self.is_over() {
            self.phase = self.phase.max(Phase::Draining);
            return Step::Finished;
        }
        if claiming && self.is_idle() {
            if self.parking.is_due(now) {
                self.under_way += 1;
                self.parking.begin();
                return Step::Park;
            }
            if self.parking.ask(now) {
                self.under_way += 1;
                return Step::AskOpen;
            }
            if let Some((places, channel)) = self.offer(now) {
                self.under_way += 1;
                return Step::Offer(places, channel);
            }
        }
        Step::Wait(self.wait_until(now))
    }

    /// Whether another loop could do something at the same time.
    pub(super) fn has_more(&self) -> bool {
        !self.outbox.is_empty()
            || (self.phase < Phase::Draining && (0..self.groups.len()).any(|at| self.limit(at, false) > 0))
    }

    fn take_ends(&mut self) -> Vec<End> {
        if self.outbox.len() <= self.batch_max {
            return std::mem::take(&mut self.outbox);
        }
        let rest = self.outbox.split_off(self.batch_max);
        std::mem::replace(&mut self.outbox, rest)
    }

    /// How many jobs of a group to claim now. A turn that records ends claims along, also where nothing was found.
    fn limit(&self, group: usize, along: bool) -> usize {
        let worth_it = match self.groups[group].flow {
            Flow::Asked | Flow::Flowing => true,
            Flow::Dry => along,
            Flow::Probing => false,
        };
        if !worth_it || self.groups[group].is_full() {
            return 0;
        }
        let room = self.groups[group].room.unwrap_or(usize::MAX);
        self.free.min(room).min(self.batch_max)
    }

    /// The next claim: each group in its turn, then the buffer, then whatever may go along with ends.
    fn ask(&mut self, now: Instant) -> Option<Ask> {
        if self.phase > Phase::Working {
            // Nothing left means nothing in the whole lane.
            self.forget_hints();
        }
        let turns = |along| (0..self.groups.len()).map(move |n| (n, along));
        let order: Vec<(usize, bool)> = turns(false).chain(turns(true)).collect();
        for (n, along) in order {
            if along && self.outbox.is_empty() {
                break;
            }
            let group = (self.next_group + n) % self.groups.len();
            let limit = self.limit(group, along);
            if limit > 0 {
                self.next_group = (group + 1) % self.groups.len();
                self.free -= limit;
                if let Some(room) = &mut self.groups[group].room {
                    *room -= limit;
                }
                return Some(self.groups[group].ask(group, limit, false, now));
            }
        }
        self.ask_for_buffer(now)
    }

    fn forget_hints(&mut self) {
        self.groups.iter_mut().for_each(Group::forget_hint);
    }

    fn ask_for_buffer(&mut self, now: Instant) -> Option<Ask> {
        let group = self.shared_group()?;
        let coming = self.buffer.len() + self.buffer_kept;
        // Half empty, or a claim for every job that leaves it.
        if self.buffer_rests || coming > self.buffer_max / 2 || self.groups[group].flow != Flow::Flowing {
            return None;
        }
        let limit = (self.buffer_max - coming).min(self.batch_max);
        if limit == 0 {
            return None;
        }
        self.buffer_kept += limit;
        Some(self.groups[group].ask(group, limit, true, now))
    }

    fn start(&mut self) -> Option<Vec<Buffered>> {
        let count = self.free.min(self.buffer.len()).min(self.batch_max);
        self.free -= count;
        (count > 0).then(|| self.buffer.drain(..count).collect())
    }

    /// Gives back what waited too long in the buffer, or all of it when nothing is started any more.
    fn give_back(&mut self, now: Instant) {
        let all = self.phase >= Phase::Draining;
        while let Some(oldest) = self.buffer.front()
            && (all || oldest.give_back_at() <= now)
        {
            self.outbox.push(released(oldest.job.job_id, oldest.job.token));
            self.buffer.pop_front();
            self.buffer_rests = true;
            // It goes back to where it was.
            self.forget_hints();
        }
    }

    fn is_over(&self) -> bool {
        // Nobody waits for the database at the very end: offers die with us.
        let dead = self.phase == Phase::Closing;
        let kept = if dead { self.offers.kept() } else { 0 };
        let free = self.free + kept == self.places;
        let done = self.under_way == 0 && free && self.buffer.is_empty() && self.held.is_empty();
        match self.phase {
            Phase::Working => false,
            Phase::UntilIdle => done && self.groups.iter().all(|group| group.flow == Flow::Dry),
            Phase::Draining | Phase::Closing => done,
        }
    }

    /// There are places, and nothing to be had for them.
    fn is_idle(&self) -> bool {
        let nothing = |group: &Group| group.flow == Flow::Dry || group.is_full();
        self.free > 0 && self.groups.iter().all(nothing)
    }

    /// The group that all kinds without a limit of their own share.
    pub(super) fn shared_group(&self) -> Option<usize> {
        self.groups.iter().position(|group| group.room.is_none())
    }

    /// Whether there is more to do than the places that are not offered can take.
    fn needs_all_places(&self) -> bool {
        let wanting = |group: &Group| matches!(group.flow, Flow::Asked | Flow::Flowing) && !group.is_full();
        self.phase > Phase::Working || (self.free == 0 && self.groups.iter().any(wanting))
    }

    /// How many places to offer, and where; they are kept.
    fn offer(&mut self, now: Instant) -> Option<(usize, String)> {
        if self.needs_all_places() || !self.parking.is_parked() {
            return None;
        }
        let lanes = self.groups[self.shared_group()?].kinds.len();
        let (places, channel) = self.offers.make(self.free, lanes, now)?;
        self.free -= places;
        Some((places, channel))
    }

    /// Takes a place for a job that came when its offer kept none any more; there may be none.
    pub(super) fn take_place(&mut self) -> bool {
        let taken = self.free > 0;
        self.free -= usize::from(taken);
        taken
    }

    /// Notifications are heard from now on, and hand-overs on this channel.
    pub(super) fn hearing(&mut self, own: Option<String>) {
        self.parking.listen();
        if let Some(channel) = own {
            self.offers.open(channel);
        }
    }

    /// Nobody will tell us anything any more.
    pub(super) fn deaf(&mut self, now: Instant) {
        self.parking.close();
        self.offers.close(now);
    }

    fn wait_until(&self, now: Instant) -> Instant {
        if self.phase >= Phase::Draining {
            // Nothing is looked for any more; whoever ends a run wakes us.
            return now + self.poll_interval.min(Duration::from_secs(1));
        }
        let mut until = self.next_poll;
        if let Some(due) = self.offers.due(now) {
            until = until.min(due);
        }
        if let Some(oldest) = self.buffer.front() {
            until = until.min(oldest.give_back_at());
        }
        if self.is_idle() {
            let owed = self.groups.iter().filter_map(Group::whole_look_owed);
            until = owed.chain(self.parking.next(now)).fold(until, Instant::min);
        }
        until
    }

    /// There may be work in any group.
    pub(super) fn wake(&mut self) {
        self.groups.iter_mut().for_each(Group::wake);
    }

    /// There is work in this lane. Says whether it is one of ours.
    pub(super) fn wake_lane(&mut self, lane: i32) -> bool {
        let ours = self.parking.hear(lane);
        if ours {
            self.wake();
        }
        ours
    }

    /// The park stands. What came before is found by one more look; what these open transactions bring, as they end.
    pub(super) fn parked(&mut self, lanes: Vec<i32>, open: Vec<u64>, now: Instant) {
        self.parking.stands(lanes, open, now);
        self.wake();
    }

    /// This is what is open now.
    pub(super) fn told_open(&mut self, snapshot: &Snapshot, now: Instant) {
        if self.parking.answered(|id| snapshot.is_open(id), now) {
            self.wake();
        }
    }

    /// The claim brought these jobs; the places it kept beyond them are free again.
    pub(super) fn claimed(&mut self, ask: &Ask, jobs: &[ClaimedJob]) {
        self.groups[ask.group].answered(ask, jobs, Instant::now());
        self.report.claimed += jobs.len() as u64;
        if ask.to_buffer {
            self.buffer_kept -= ask.limit;
        } else {
            self.release(ask.group, ask.limit.saturating_sub(jobs.len()));
        }
    }

    /// The claim came to nothing, and has to be made again.
    pub(super) fn ask_failed(&mut self, ask: &Ask) {
        self.groups[ask.group].failed();
        if ask.to_buffer {
            self.buffer_kept -= ask.limit;
        } else {
            self.release(ask.group, ask.limit);
        }
    }

    /// Places are free again.
    pub(super) fn release(&mut self, group: usize, count: usize) {
        self.free += count;
        if let Some(room) = &mut self.groups[group].room {
            *room += count;
        }
        self.buffer_rests &= count == 0;
    }

    /// Jobs for the buffer.
    pub(super) fn store(&mut self, jobs: Vec<ClaimedJob>, asked: Instant) {
        self.buffer.extend(jobs.into_iter().map(|job| Buffered { job, asked }));
    }

    /// Jobs that nobody will run any more.
    pub(super) fn give_all_back(&mut self, jobs: &[ClaimedJob]) {
        self.outbox
            .extend(jobs.iter().map(|job| released(job.job_id, job.token)));
    }

    /// The kinds of a group.
    pub(super) fn kinds(&self, group: usize) -> Vec<String> {
        self.groups[group].kinds.clone()
    }

    /// Jobs whose start has to be asked for again; their places are free again.
    pub(super) fn start_failed(&mut self, batch: Vec<Buffered>, group: usize) {
        self.release(group, batch.len());
        for it in batch.into_iter().rev() {
            self.buffer.push_front(it);
        }
    }

    /// What the last step was about is done, or has failed.
    pub(super) fn over(&mut self) {
        self.under_way -= 1;
    }

    /// Ends to be recorded.
    pub(super) fn post(&mut self, ends: impl IntoIterator<Item = End>) {
        self.outbox.extend(ends);
    }

    /// Counts what the database said to these ends. It tells only what did not simply succeed.
    pub(super) fn recorded(&mut self, ends: Vec<End>, answers: Vec<TurnEnd>) {
        self.report.turns += 1;
        if answers.is_empty() {
            self.report.succeeded += ends.len() as u64;
            return;
        }
        let answers: HashMap<_, _> = answers.into_iter().map(|it| (it.pair(), it.answer)).collect();
        for end in ends {
            match answers.get(&(end.hold.job_id, end.hold.token)) {
                None => self.report.count(end.outcome, None),
                Some(answer) if answer.is_ended() => {
                    tell_uncommitted(&end, answer);
                    self.report.count(end.outcome, answer.state.as_deref());
                }
                Some(answer) if answer.is_lost() => {
                    tracing::warn!(job_id = %answer.job_id, status = %answer.status, "lease lost, result dropped");
                    self.report.lost += 1;
                }
                Some(answer) => {
                    let why = format!("The outcome of the run was refused: {}.", answer.status);
                    self.replace(&end, instead_of(&end, &answer.status, &why), &answer.status);
                }
            }
        }
    }

    /// An end that makes its statement fail, whatever else is in it.
    pub(super) fn poisoned(&mut self, end: &End, error: &Error) {
        self.replace(end, instead_of_poison(end, error), error.code());
    }

    fn replace(&mut self, end: &End, instead: Option<End>, code: &str) {
        let job_id = end.hold.job_id;
        match instead {
            Some(instead) => {
                tracing::warn!(%job_id, outcome = ?end.outcome, code, "outcome refused, a failure is recorded instead");
                self.outbox.push(instead);
            }
            None => {
                tracing::error!(%job_id, outcome = ?end.outcome, code, "outcome refused; the job's lease will run out");
                self.report.lost += 1;
            }
        }
    }

    /// Nothing is asked of the database before then.
    pub(super) fn hold(&mut self, until: Instant) {
        self.hold_until = Some(self.hold_until.map_or(until, |at| at.max(until)));
    }

    /// How many ends were never recorded.
    pub(super) fn unrecorded(&self) -> usize {
        self.outbox.len()
    }
}
