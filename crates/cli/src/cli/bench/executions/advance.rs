//! What going on costs: the end of a step, with all that follows from it, beside a plain job that is ended while another is enqueued.

use std::time::Duration;

use serde::Serialize;
use tenure_core::plan::ActionClass;

use super::hand::Hand;
use super::plans::{self, Target};
use super::{KIND, LOCKED_KIND};
use crate::cli::bench::ground::Ground;
use crate::cli::bench::load::{self, Producer};
use crate::cli::bench::report::{Report, decimal, median, ratio, round};
use crate::cli::bench::server::Server;
use crate::errors::Outcome;
use crate::output::{Bar, Column};

/// What is promised: a step costs at most so much of a plain job.
const TO_PLAIN_MAX: f64 = 5.0;
/// As many bytes as the payload of a step has, which tells whose it is.
pub(super) const PAYLOAD_BYTES: u32 = 256;
/// Statements are planned anew after every `analyze`: so many jobs and steps, not measured, see to that.
const WARM_UP: (usize, usize) = (2, 2);

const SIZES: &[Column] = &[
    Column("BATCH", "batch"),
    Column("PLAIN, µS", "plain_us"),
    Column("STEP, µS", "step_us"),
    Column("× PLAIN", "to_plain"),
    Column("LOWEST", "to_plain_min"),
    Column("HIGHEST", "to_plain_max"),
    Column("WITH A LOCK, µS", "locked_us"),
    Column("× PLAIN", "locked_to_plain"),
    Column("CLAIM PLAIN, µS", "plain_claim_us"),
    Column("CLAIM STEP, µS", "step_claim_us"),
];

/// What is ended, and what comes of it.
#[derive(Clone, Copy)]
enum Way {
    /// Plain jobs: as many others are enqueued.
    Plain,
    /// Steps of executions that need each the one before.
    Step,
    /// The same, and each takes the lock of its target and frees it.
    Locked,
}

const WAYS: [Way; 3] = [Way::Plain, Way::Step, Way::Locked];

/// Microseconds of one job or step, on average of a round.
#[derive(Clone, Copy, Serialize)]
struct Took {
    claim_us: f64,
    end_us: f64,
}

/// One round at one size of batch.
#[derive(Clone, Copy, Serialize)]
struct Round {
    plain: Took,
    step: Took,
    locked: Took,
}

/// What was found at one size of batch: medians of all rounds.
#[derive(Serialize)]
struct Size {
    batch: usize,
    plain_us: f64,
    step_us: f64,
    to_plain: f64,
    to_plain_min: f64,
    to_plain_max: f64,
    locked_us: f64,
    locked_to_plain: f64,
    plain_claim_us: f64,
    step_claim_us: f64,
    rounds: Vec<Round>,
}

/// How often, how long, how many at once.
pub(super) struct Course {
    pub(super) rounds: u32,
    pub(super) steps: usize,
    pub(super) batches: Vec<usize>,
}

impl Course {
    pub(super) async fn measure(
        &self,
        ground: &Ground,
        hand: &mut Hand,
        server: &Server,
        report: &mut Report,
    ) -> Outcome {
        let producer = Producer::new(true, PAYLOAD_BYTES)?;
        let mut rounds: Vec<Vec<Round>> = vec![Vec::new(); self.batches.len()];
        let each_round = self.batches.iter().sum::<usize>() * self.steps;
        let bar = Bar::new(ground.out, "steps", u64::from(self.rounds) * each_round as u64);
        let mut done = 0;
        for _ in 0..self.rounds {
            for (batch, rounds) in self.batches.iter().zip(&mut rounds) {
                server.settle().await?;
                let (jobs, steps) = WARM_UP;
                turns(hand, &producer, jobs.min(*batch), steps, || ()).await?;
                let ended = || {
                    done += *batch as u64;
                    bar.at(done);
                };
                rounds.push(turns(hand, &producer, *batch, self.steps, ended).await?);
            }
        }
        drop(bar);
        let sizes = self.batches.iter().zip(rounds);
        let sizes: Vec<Size> = sizes.map(|(batch, rounds)| Size::of(*batch, rounds)).collect();
        tell(&sizes, report)
    }
}

/// So many at once, so often in a row. The ways take turns: what slows the machine down for a while slows all of them.
async fn turns(
    hand: &mut Hand,
    producer: &Producer,
    batch: usize,
    steps: usize,
    mut ended: impl FnMut(),
) -> Outcome<Round> {
    for way in WAYS {
        way.prepare(hand, producer, batch, steps).await?;
    }
    let mut times = [(Duration::ZERO, Duration::ZERO); WAYS.len()];
    for _ in 0..steps {
        for (way, (claiming, ending)) in WAYS.iter().zip(&mut times) {
            // Made before the clock runs: what a caller's objects cost is the caller's.
            let next = match way {
                Way::Plain => producer.batch(batch, 0)?,
                Way::Step | Way::Locked => Vec::new(),
            };
            let (ends, took) = hand.claim(way.kind(), batch).await?;
            *claiming += took;
            *ending += hand.end(&ends, &next).await?;
        }
        ended();
    }
    hand.done();
    // As many plain jobs as were put in are left, and no others.
    let (rest, _) = hand.claim(Way::Plain.kind(), batch).await?;
    hand.end(&rest, &[]).await?;

    let each = |time: Duration| round(time.as_secs_f64() * 1e6 / (batch * steps) as f64, 1);
    let [plain, step, locked] = times.map(|(claiming, ending)| Took {
        claim_us: each(claiming),
        end_us: each(ending),
    });
    Ok(Round { plain, step, locked })
}

impl Way {
    fn kind(self) -> &'static str {
        match self {
            Way::Plain => load::KIND,
            Way::Step => KIND,
            Way::Locked => LOCKED_KIND,
        }
    }

    /// Puts in what is ended first.
    async fn prepare(self, hand: &mut Hand, producer: &Producer, batch: usize, steps: usize) -> Outcome {
        let action_class = match self {
            Way::Plain => return hand.enqueue(&producer.batch(batch, 0)?).await,
            Way::Step => ActionClass::Read,
            Way::Locked => ActionClass::Modify,
        };
        for _ in 0..batch {
            let target_ref = hand.new_target();
            let target = Target {
                target_type: hand.target_type(),
                target_ref: &target_ref,
                action_class,
                kind: self.kind(),
            };
            let plan = plans::chain(&target, steps)?;
            hand.submit(&plan).await?;
        }
        Ok(())
    }
}

impl Size {
    fn of(batch: usize, rounds: Vec<Round>) -> Size {
        let all = |read: fn(&Round) -> f64| rounds.iter().map(read).collect::<Vec<f64>>();
        let middle = |read| round(median(&all(read)), 1);
        let to_plain = all(|round| round.step.end_us / round.plain.end_us);
        Size {
            batch,
            plain_us: middle(|round| round.plain.end_us),
            step_us: middle(|round| round.step.end_us),
            to_plain: round(median(&to_plain), 3),
            to_plain_min: round(to_plain.iter().copied().fold(f64::INFINITY, f64::min), 3),
            to_plain_max: round(to_plain.iter().copied().fold(0.0, f64::max), 3),
            locked_us: middle(|round| round.locked.end_us),
            locked_to_plain: round(median(&all(|round| round.locked.end_us / round.plain.end_us)), 3),
            plain_claim_us: middle(|round| round.plain.claim_us),
            step_claim_us: middle(|round| round.step.claim_us),
            rounds,
        }
    }
}

fn tell(sizes: &[Size], report: &mut Report) -> Outcome {
    report.put_series("advance", SIZES, sizes)?;
    if let Some(worst) = sizes
        .iter()
        .max_by(|one, other| one.to_plain.total_cmp(&other.to_plain))
    {
        report.put("advance_to_plain", &worst.to_plain)?;
        let told = format!(
            "{} of ending and enqueuing plain jobs (batches of {}, {} to {}), at most {TO_PLAIN_MAX} is promised",
            decimal(worst.to_plain, 1),
            worst.batch,
            decimal(worst.to_plain_min, 1),
            decimal(worst.to_plain_max, 1),
        );
        report.facts.add("a step", told);
    }
    if let Some(largest) = sizes.iter().max_by_key(|size| size.batch) {
        let rate = ratio(1e6, largest.step_us + largest.step_claim_us).unwrap_or_default();
        report.put("jobs_per_second", &round(rate, 0))?;
        let told = format!(
            "{rate:.0} steps/s on one connection, claimed and ended {} at a time",
            largest.batch
        );
        report.facts.add("rate", told);
    }
    Ok(())
}
