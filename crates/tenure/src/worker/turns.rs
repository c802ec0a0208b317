//! The loop that takes turns: the ends so far and the next claim in one statement.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep_until;
use tokio_postgres::Client;
use uuid::Uuid;

use super::board::{Buffered, Phase, Step};
use super::groups::Ask;
use super::line::Line;
use super::offers::OFFER_SECONDS;
use super::parking::PARK_SECONDS;
use super::runtime::Runtime;
use super::trouble::Trouble;
use crate::error::{Error, Result};
use crate::measure;
use crate::store::jobs::{self, Claim, ClaimMode, ClaimedJob, End, Hold, Turn};
use crate::store::{Snapshot, open_transactions};

/// A statement that is not answered in this time never will be: the connection is given up.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Offers are not worth waiting for: a worker that stops has little time.
const WITHDRAW_MAX: Duration = Duration::from_secs(5);

/// One of the loops, with its connection.
pub(super) struct Turns {
    runtime: Arc<Runtime>,
    line: Line,
    /// Of the next claim. Stays the same after a claim that may or may not have been made: if it was, and only shows
    /// later, the next one is refused instead of leaving those jobs to nobody.
    token: Uuid,
    /// A claim has been made before: what goes wrong now is no matter of how the worker was set up.
    proven: bool,
}

impl Turns {
    pub(super) fn new(runtime: Arc<Runtime>) -> Turns {
        Turns {
            line: Line::new(runtime.pool.clone()),
            runtime,
            token: Uuid::new_v4(),
            proven: false,
        }
    }

    /// Takes turns until there is nothing more to do. Fails only when the worker is set up in a way that cannot work.
    pub(super) async fn run(mut self) -> Result<()> {
        let runtime = self.runtime.clone();
        loop {
            // Interest first, then the look: what happens between the two wakes us.
            let mut woken = std::pin::pin!(runtime.turns.notified());
            woken.as_mut().enable();
            let (step, more) = {
                let mut board = runtime.board();
                let step = board.step(Instant::now());
                (step, board.has_more())
            };
            match step {
                Step::Finished => {
                    runtime.turns.notify_waiters();
                    return Ok(());
                }
                Step::Wait(until) => {
                    tokio::select! {
                        () = woken => {}
                        () = sleep_until(until.into()) => {}
                    }
                    continue;
                }
                _ if more => runtime.turns.notify_one(),
                _ => {}
            }
            match step {
                Step::Turn { ends, ask } => self.turn(ends, ask).await?,
                Step::Start(batch) => self.start(batch).await,
                Step::Park => self.park().await,
                Step::AskOpen => self.ask_open().await,
                Step::Offer(places, channel) => self.offer(places, &channel).await,
                Step::Withdraw(tokens) => self.withdraw(tokens).await,
                Step::Finished | Step::Wait(_) => {}
            }
            let mut board = runtime.board();
            board.over();
            runtime.tell(board.report);
            if board.phase >= Phase::UntilIdle {
                // Others may be waiting for us to be the last.
                runtime.turns.notify_waiters();
            }
        }
    }

    async fn turn(&mut self, ends: Vec<End>, ask: Option<Ask>) -> Result<()> {
        let claim = self.claim(ask.as_ref());
        let asked = Instant::now();
        match self.ask(async |client| jobs::turn(client, &ends, &claim).await).await {
            Ok(turn) => {
                self.answered(turn, ends, ask, asked);
                Ok(())
            }
            Err(error) => self.failed(error, ends, ask, asked).await,
        }
    }

    fn claim(&self, ask: Option<&Ask>) -> Claim {
        let settings = &self.runtime.settings;
        let mut claim = Claim::new(&*settings.name).limit(0);
        if let Some(ask) = ask {
            claim.kinds = Some(self.runtime.board().kinds(ask.group));
            claim.executor = settings.executor.clone();
            claim.limit = i32::try_from(ask.limit).ok();
            claim.lease_seconds = settings.lease_seconds();
            claim.mode = if ask.to_buffer {
                ClaimMode::Leased
            } else {
                ClaimMode::Started
            };
            claim.token = Some(self.token);
            claim.lane_after = ask.lane_after;
            claim.hint = ask.hint;
            claim.hint_alone = ask.hint.is_some();
        }
        claim
    }

    fn answered(&mut self, turn: Turn, ends: Vec<End>, ask: Option<Ask>, asked: Instant) {
        self.runtime.log.fine(&self.runtime.settings.name);
        {
            let mut board = self.runtime.board();
            if board.phase == Phase::UntilIdle && !ends.is_empty() {
                // An end may have made work, such as the next step of a plan: one look more before we are idle.
                board.wake();
            }
            board.recorded(ends, turn.ends);
        }
        if let Some(ask) = ask {
            self.proven = true;
            self.token = Uuid::new_v4();
            let name = &self.runtime.settings.name;
            match turn.gate {
                Some(gate) => {
                    let text = format!("The gate {gate} is closed: nothing is claimed until it is open.");
                    self.runtime.gates.told(name, "gate_closed", &text);
                }
                None => self.runtime.gates.fine(name),
            }
            self.claimed(&ask, turn.jobs, asked);
        }
    }

    /// New work: to its handlers, or to the buffer.
    fn claimed(&self, ask: &Ask, jobs: Vec<ClaimedJob>, asked: Instant) {
        let mut board = self.runtime.board();
        board.claimed(ask, &jobs);
        measure::claimed(jobs.len());
        if ask.to_buffer {
            board.store(jobs, asked);
        } else if board.phase == Phase::Closing {
            board.release(ask.group, jobs.len());
            board.give_all_back(&jobs);
        } else {
            drop(board);
            self.runtime.dispatch(jobs, asked, ask.group);
        }
    }

    async fn failed(&mut self, error: Error, ends: Vec<End>, ask: Option<Ask>, asked: Instant) -> Result<()> {
        let trouble = Trouble::of(&error);
        if trouble == Trouble::Other && !ends.is_empty() {
            let split = self.record_apart(ends).await;
            let Some(ask) = ask else { return Ok(()) };
            self.runtime.board().ask_failed(&ask);
            // With the ends recorded as they were, it was the claim.
            return match split {
                Whole::Yes => self.claim_refused(error),
                Whole::No => Ok(()),
            };
        }
        self.runtime.board().post(ends);
        match (trouble, ask) {
            (Trouble::Connection | Trouble::TokenReused, Some(ask)) => {
                // The ends go with the turn of another loop, if there is one.
                self.runtime.turns.notify_one();
                self.recover(&error, ask, asked).await;
                return Ok(());
            }
            (_, Some(ask)) => self.runtime.board().ask_failed(&ask),
            (_, None) => {}
        }
        match trouble {
            Trouble::Other => self.claim_refused(error),
            _ => {
                self.hold(&error);
                Ok(())
            }
        }
    }

    /// A claim that never worked will not work by itself.
    fn claim_refused(&self, error: Error) -> Result<()> {
        if !self.proven {
            return Err(error);
        }
        self.hold(&error);
        Ok(())
    }

    /// Leaves the database alone for a while.
    fn hold(&self, error: &Error) {
        let settings = &self.runtime.settings;
        let mut delay = self.runtime.log.trouble(&settings.name, error);
        if Trouble::of(error) == Trouble::Gate {
            delay = settings.poll_interval;
        }
        self.runtime.board().hold(Instant::now() + delay);
    }

    /// Finds out what became of a claim whose answer was lost, as soon as there is a database to ask.
    async fn recover(&mut self, error: &Error, ask: Ask, asked: Instant) {
        let name = self.runtime.settings.name.clone();
        let mut delay = match Trouble::of(error) {
            Trouble::TokenReused => Duration::ZERO,
            _ => self.runtime.log.trouble(&name, error),
        };
        let token = self.token;
        loop {
            tokio::time::sleep(delay).await;
            match self.ask(async |client| jobs::held(client, token).await).await {
                Ok(jobs) => {
                    self.runtime.log.fine(&name);
                    if !jobs.is_empty() || Trouble::of(error) == Trouble::TokenReused {
                        self.token = Uuid::new_v4();
                    }
                    if jobs.is_empty() {
                        self.runtime.board().ask_failed(&ask);
                    } else {
                        self.claimed(&ask, jobs, asked);
                    }
                    return;
                }
                Err(error) => delay = self.runtime.log.trouble(&name, &error),
            }
        }
    }

    /// Records ends in ever smaller parts, without a claim, until what cannot be recorded is alone.
    async fn record_apart(&mut self, ends: Vec<End>) -> Whole {
        let mut parts = vec![ends];
        let mut whole = Whole::Yes;
        let claim = self.claim(None);
        while let Some(mut part) = parts.pop() {
            match self.ask(async |client| jobs::turn(client, &part, &claim).await).await {
                Ok(turn) => self.runtime.board().recorded(part, turn.ends),
                Err(error) if Trouble::of(&error) != Trouble::Other => {
                    let mut board = self.runtime.board();
                    board.post(part);
                    board.post(parts.into_iter().flatten());
                    drop(board);
                    self.hold(&error);
                    return Whole::No;
                }
                Err(error) => {
                    whole = Whole::No;
                    if part.len() == 1 {
                        self.runtime.board().poisoned(&part[0], &error);
                    } else {
                        parts.push(part.split_off(part.len() / 2));
                        parts.push(part);
                    }
                }
            }
        }
        whole
    }

    /// Starts jobs of the buffer, and runs those whose start is confirmed.
    async fn start(&mut self, batch: Vec<Buffered>) {
        let holds: Vec<Hold> = batch.iter().map(|it| it.job.hold()).collect();
        let group = self.runtime.kinds.get(&batch[0].job.kind).map_or(0, |kind| kind.group);
        let answers = match self.ask(async |client| jobs::start_many(client, &holds).await).await {
            Ok(answers) => answers,
            Err(error) => {
                self.runtime.board().start_failed(batch, group);
                return self.hold(&error);
            }
        };
        let mut ready: Vec<(Instant, Vec<ClaimedJob>)> = Vec::new();
        let mut refused = 0;
        for (it, answer) in batch.into_iter().zip(answers) {
            if !answer.is_confirmed() {
                refused += 1;
                tracing::warn!(job_id = %answer.job_id, status = %answer.status, "not started, dropped from the buffer");
                continue;
            }
            let mut job = it.job;
            job.state = "in_progress".to_owned();
            (job.started_at, job.run_until) = (answer.started_at, answer.run_until);
            match ready.last_mut() {
                Some((asked, jobs)) if *asked == it.asked => jobs.push(job),
                _ => ready.push((it.asked, vec![job])),
            }
        }
        self.runtime.board().release(group, refused);
        for (asked, jobs) in ready {
            self.runtime.dispatch(jobs, asked, group);
        }
    }

    /// Says that we are idle: from then on an enqueue tells us.
    async fn park(&mut self) {
        let runtime = self.runtime.clone();
        let kinds: Vec<String> = runtime.kinds.keys().cloned().collect();
        let executor = runtime.settings.executor.as_deref();
        let parked = self
            .ask(async |client| {
                let lanes = jobs::park(client, executor, Some(&kinds), Some(PARK_SECONDS)).await?;
                // Only now: the park has committed, and whoever begins from here on sees it.
                Ok((lanes, open_transactions(client).await?))
            })
            .await;
        match parked {
            Ok((lanes, open)) => runtime.board().parked(lanes, open, Instant::now()),
            Err(error) => {
                runtime.board().parking.failed();
                self.hold(&error);
            }
        }
    }

    /// Finds out which transactions have ended that were open when we parked.
    async fn ask_open(&mut self) {
        match self.ask(async |client| Snapshot::now(client).await).await {
            Ok(snapshot) => self.runtime.board().told_open(&snapshot, Instant::now()),
            Err(error) => {
                self.runtime.board().parking.unanswered(Instant::now());
                self.hold(&error);
            }
        }
    }

    /// Offers places: from then on a job may come by itself.
    async fn offer(&mut self, places: usize, channel: &str) {
        let runtime = self.runtime.clone();
        let group = runtime.board().shared_group().unwrap_or_default();
        let mut claim = Claim::new(&*runtime.settings.name).kinds(runtime.board().kinds(group));
        claim.executor = runtime.settings.executor.clone();
        claim.lease_seconds = runtime.settings.lease_seconds();
        let tokens: Vec<Uuid> = (0..places).map(|_| Uuid::new_v4()).collect();
        let sent = Instant::now();
        let answer = self
            .ask(async |client| jobs::offer(client, &tokens, channel, &claim, OFFER_SECONDS).await)
            .await;
        let early = {
            let mut board = runtime.board();
            match answer {
                Ok(offers) => {
                    board.release(group, places - offers.len());
                    board.offers.made(places, channel, &offers, sent)
                }
                Err(error) => {
                    tracing::debug!(code = error.code(), "places not offered: {error}");
                    if Trouble::of(&error) == Trouble::Connection {
                        board.offers.failed(tokens, sent, Instant::now());
                    } else {
                        board.release(group, places);
                        board.offers.refused(Instant::now());
                    }
                    Vec::new()
                }
            }
        };
        for handed in early {
            runtime.handed(handed);
        }
    }

    /// Takes offers back. What is not to be had any more has been handed to us, and is looked for if we did not hear of it.
    async fn withdraw(&mut self, tokens: Vec<Uuid>) {
        let runtime = self.runtime.clone();
        let group = runtime.board().shared_group().unwrap_or_default();
        if let Err(error) = self.find_out(&tokens, group).await {
            tracing::debug!(code = error.code(), "offers not taken back: {error}");
        }
        let mut board = runtime.board();
        let free = board.offers.settled(&tokens);
        board.release(group, free);
    }

    /// Finds out what became of offers. What cannot be known now is looked for again.
    async fn find_out(&mut self, tokens: &[Uuid], group: usize) -> Result<()> {
        let runtime = self.runtime.clone();
        let back = self
            .line
            .ask(WITHDRAW_MAX, async |client| jobs::withdraw(client, tokens).await);
        let back = back.await.inspect_err(|_| {
            runtime.board().offers.withdrawn(tokens, &[], Instant::now());
        })?;
        {
            let mut board = runtime.board();
            let free = board.offers.withdrawn(tokens, &back, Instant::now());
            board.release(group, free);
        }
        for token in tokens.iter().filter(|token| !back.contains(token)) {
            let held = self
                .line
                .ask(WITHDRAW_MAX, async |client| jobs::held(client, *token).await);
            for job in held.await? {
                let found = runtime.board().offers.found(job, Instant::now());
                if let Some((taken, deaf)) = found {
                    if deaf {
                        runtime.deaf.notify_one();
                    }
                    runtime.run_handed(taken);
                }
            }
        }
        Ok(())
    }

    async fn ask<T>(&mut self, question: impl AsyncFnOnce(&Client) -> Result<T>) -> Result<T> {
        self.line.ask(ANSWER_MAX, question).await
    }
}

/// Whether ends could be recorded as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whole {
    Yes,
    No,
}
