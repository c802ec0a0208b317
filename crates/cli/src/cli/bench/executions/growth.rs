//! Whether a large plan goes on as fast at its end as at its beginning.

use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use tenure_core::plan::ActionClass;

use super::KIND;
use super::hand::Hand;
use super::plans::{self, Target};
use crate::cli::bench::ground::Ground;
use crate::cli::bench::report::{Report, decimal, median, ratio, round, thousands};
use crate::cli::bench::server::Server;
use crate::errors::Outcome;
use crate::output::Bar;

/// What is promised: a step in the last quarter takes at most so much of one in the first.
const LAST_TO_FIRST_MAX: f64 = 1.5;
/// Steps that lie side by side are ended at most so many at a time, and at most a quarter of them.
const BATCH_MAX: usize = 100;
const QUARTERS: usize = 4;
/// Statements are planned anew after every `analyze`: a plan of so many steps, not measured, sees to that.
const WARM_UP: usize = 8;

/// The time of the steps in each quarter.
#[derive(Clone, Copy, Default)]
struct Quarters([(Duration, usize); QUARTERS]);

/// What was found of one shape of plan: medians of all rounds.
#[derive(Serialize)]
struct Grown {
    steps: usize,
    /// Microseconds of a step in each quarter.
    quarters_us: Vec<f64>,
    last_to_first: f64,
    rounds: Vec<f64>,
}

/// One round of a plan whose steps lie side by side.
struct Opened {
    quarters: Quarters,
    batch: usize,
    wide: usize,
    /// The end that made all of them ready.
    out: Duration,
    /// The ends of those that gather them, and of the last.
    back: Duration,
    gather: usize,
}

/// How often, and of how many steps.
pub(super) struct Growth {
    pub(super) rounds: u32,
    pub(super) steps: usize,
}

impl Growth {
    pub(super) async fn measure(
        &self,
        ground: &Ground,
        hand: &mut Hand,
        server: &Server,
        report: &mut Report,
    ) -> Outcome {
        let (mut chains, mut fans) = (Vec::new(), Vec::new());
        let bar = Bar::new(ground.out, "growth", u64::from(self.rounds) * 2);
        for round in 0..u64::from(self.rounds) {
            server.settle().await?;
            chain(hand, WARM_UP).await?;
            chains.push(chain(hand, self.steps).await?);
            bar.at(round * 2 + 1);
            server.settle().await?;
            fan(hand, WARM_UP).await?;
            fans.push(fan(hand, self.steps).await?);
            bar.at(round * 2 + 2);
        }
        drop(bar);

        let grown = Grown::of(self.steps, &chains);
        grown.tell("one after the other", report);
        report.put("chain", &grown)?;
        let quarters: Vec<Quarters> = fans.iter().map(|fan| fan.quarters).collect();
        let wide = fans.first().map_or(0, |fan| fan.wide);
        let grown = Grown::of(wide, &quarters);
        grown.tell("side by side", report);
        let each = |time: Duration, steps: usize| time.as_secs_f64() * 1e6 / steps.max(1) as f64;
        let out: Vec<f64> = fans.iter().map(|fan| each(fan.out, fan.wide)).collect();
        let back: Vec<f64> = fans.iter().map(|fan| each(fan.back, fan.gather + 1)).collect();
        report.put(
            "fan",
            &json!({
                "batch": fans.first().map(|fan| fan.batch), "steps": grown.steps, "quarters_us": grown.quarters_us, "last_to_first": grown.last_to_first,
                "rounds": grown.rounds, "out_us": round(median(&out), 1), "gather_us": round(median(&back), 1),
            }),
        )
    }
}

/// One after the other, one by one.
async fn chain(hand: &mut Hand, steps: usize) -> Outcome<Quarters> {
    let target_ref = hand.new_target();
    let plan = plans::chain(&target(hand, &target_ref), steps)?;
    hand.submit(&plan).await?;
    let mut quarters = Quarters::default();
    for at in 0..steps {
        let took = end(hand, 1).await?;
        quarters.add(at, steps, took, 1);
    }
    hand.done();
    Ok(quarters)
}

/// All by the end of the first, in batches, and gathered at the end.
async fn fan(hand: &mut Hand, steps: usize) -> Outcome<Opened> {
    let target_ref = hand.new_target();
    let plans::Fan { plan, wide, gather } = plans::fan(&target(hand, &target_ref), steps)?;
    hand.submit(&plan).await?;
    let out = end(hand, 1).await?;
    let mut quarters = Quarters::default();
    let batches = batches(wide);
    for (at, steps) in batches.iter().enumerate() {
        // Those that gather them wait behind all of them.
        let took = end(hand, *steps).await?;
        quarters.add(at, batches.len(), took, *steps);
    }
    let back = end(hand, gather).await? + end(hand, 1).await?;
    hand.done();
    Ok(Opened {
        quarters,
        batch: batches[0],
        wide,
        out,
        back,
        gather,
    })
}

/// Equal ones, but for a step: a small rest would be slow for its size alone.
fn batches(steps: usize) -> Vec<usize> {
    let count = steps.div_ceil(BATCH_MAX).max(QUARTERS);
    (0..count)
        .map(|at| (at + 1) * steps / count - at * steps / count)
        .collect()
}

async fn end(hand: &mut Hand, batch: usize) -> Outcome<Duration> {
    let (ends, _) = hand.claim(KIND, batch).await?;
    hand.end(&ends, &[]).await
}

fn target<'a>(hand: &'a Hand, target_ref: &'a str) -> Target<'a> {
    Target {
        target_type: hand.target_type(),
        target_ref,
        action_class: ActionClass::Read,
        kind: KIND,
    }
}

impl Quarters {
    /// The steps of one batch of all, counted from 0.
    fn add(&mut self, batch: usize, batches: usize, took: Duration, steps: usize) {
        let quarter = &mut self.0[batch * QUARTERS / batches];
        quarter.0 += took;
        quarter.1 += steps;
    }

    /// Microseconds of a step in each.
    fn each_us(&self) -> [f64; QUARTERS] {
        self.0
            .map(|(time, steps)| time.as_secs_f64() * 1e6 / steps.max(1) as f64)
    }

    fn last_to_first(&self) -> f64 {
        let each = self.each_us();
        ratio(each[QUARTERS - 1], each[0]).unwrap_or_default()
    }
}

impl Grown {
    fn of(steps: usize, rounds: &[Quarters]) -> Grown {
        let quarter = |at: usize| median(&rounds.iter().map(|quarters| quarters.each_us()[at]).collect::<Vec<_>>());
        let ratios: Vec<f64> = rounds.iter().map(Quarters::last_to_first).collect();
        Grown {
            steps,
            quarters_us: (0..QUARTERS).map(|at| round(quarter(at), 1)).collect(),
            last_to_first: median(&ratios),
            rounds: ratios,
        }
    }

    fn tell(&self, shape: &str, report: &mut Report) {
        let quarters: Vec<String> = self.quarters_us.iter().map(|us| decimal(*us, 0)).collect();
        let told = format!(
            "the last quarter of {} steps takes {} of the first, at most {LAST_TO_FIRST_MAX} is promised ({} µs each)",
            thousands(self.steps as f64),
            decimal(self.last_to_first, 2),
            quarters.join(", "),
        );
        report.facts.add(shape, told);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_is_the_mean_of_its_steps() {
        let mut quarters = Quarters::default();
        for at in 0..8 {
            quarters.add(at, 8, Duration::from_micros(10 * (at as u64 + 1)), 1);
        }
        assert_eq!(quarters.each_us(), [15.0, 35.0, 55.0, 75.0]);
        assert_eq!(quarters.last_to_first(), 5.0);
    }

    #[test]
    fn batches_are_equal_and_enough_for_four_quarters() {
        assert_eq!(batches(5), [1, 1, 1, 2]);
        assert_eq!(batches(97), [24, 24, 24, 25]);
        let many = batches(988);
        assert_eq!((many.len(), many.iter().sum()), (10, 988));
        assert!(many.iter().all(|steps| (98..=99).contains(steps)), "{many:?}");
    }
}
