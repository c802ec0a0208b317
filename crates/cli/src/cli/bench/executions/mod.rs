//! `tenure bench executions`: what it costs that a plan goes on, beside plain jobs, and whether a large plan gets slower as it goes.

mod advance;
mod growth;
mod hand;
mod plans;

use clap::Args;
use tenure_core::limits::{BATCH_ROWS_MAX, PLAN_STEPS_MAX};

use self::advance::Course;
use self::growth::Growth;
use self::hand::Hand;
use super::ground::Ground;
use super::load;
use super::report::{Report, settings};
use super::server::Server;
use crate::errors::Outcome;
use crate::values::Number;

/// What no real step is called. Not the kind of plain jobs: from lanes in which steps ever ran, ends look for steps.
const KIND: &str = "bench.step";
/// Steps that take locks.
const LOCKED_KIND: &str = "bench.locked";
/// What is measured unless one is named.
const BATCHES: [usize; 4] = [1, 10, 100, 250];
const ROUNDS_MAX: u32 = 100;
/// A quarter of fewer says nothing.
const PLAN_STEPS_MIN: u32 = 8;

const AFTER_HELP: &str = "\
In a database of yours, the plans run by an approval rule that is made for the run, holds for
their targets only, and is removed in the end; the executions stay until they are archived.";
/// What it makes besides plain jobs.
pub(super) const MAKES: &str = "executions, and an approval rule that lets just these start";
/// What to do after a run that was interrupted in a database of the user's.
pub(super) const LEFT: &str = "Executions may be left too (`tenure execution list --state running`, `tenure execution cancel`), and the rule that lets \
                               them run, named bench- and a number (`tenure approval rule list`, `tenure approval rule delete`).";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(in crate::cli::bench) struct Executions {
    /// Steps of each execution, one after the other
    #[arg(long, value_name = "N", default_value = "50", allow_negative_numbers = true)]
    steps: Number,
    /// Executions that go on at once, and plain jobs; 1, 10, 100 and 250 one after the other unless given
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    batch: Option<Number>,
    /// How often each is measured
    #[arg(long, value_name = "N", default_value = "3", allow_negative_numbers = true)]
    rounds: Number,
    /// Steps of a large plan, to see whether it gets slower; 0 leaves that out
    #[arg(long, value_name = "N", default_value = "1000", allow_negative_numbers = true)]
    plan_steps: Number,
}

/// What was asked for, read.
struct Asked {
    course: Course,
    growth: Option<Growth>,
}

impl Executions {
    /// Refuses what cannot be done, before anything is started for it.
    pub(in crate::cli::bench) fn check(&self) -> Outcome {
        self.asked().map(drop)
    }

    fn asked(&self) -> Outcome<Asked> {
        let rounds = self.rounds.within("rounds", 1..=ROUNDS_MAX)?;
        let batches = match &self.batch {
            None => BATCHES.to_vec(),
            Some(batch) => vec![batch.within("batch", 1..=BATCH_ROWS_MAX as u32)? as usize],
        };
        let growth = match self.plan_steps.read("plan_steps")? {
            0 => None,
            _ => Some(Growth {
                rounds,
                steps: self
                    .plan_steps
                    .within("plan_steps", PLAN_STEPS_MIN..=PLAN_STEPS_MAX as u32)? as usize,
            }),
        };
        Ok(Asked {
            course: Course {
                rounds,
                steps: self.steps.within("steps", 1..=PLAN_STEPS_MAX as u32)? as usize,
                batches,
            },
            growth,
        })
    }

    pub(in crate::cli::bench) async fn run(&self, ground: &Ground) -> Outcome<Report> {
        let Asked { course, growth } = self.asked()?;
        let server = Server::connect(ground.url()).await?;
        let told = settings(&[
            ("steps", course.steps.into()),
            ("batches", course.batches.clone().into()),
            ("rounds", course.rounds.into()),
            ("plan_steps", growth.as_ref().map(|growth| growth.steps).into()),
            ("keys", true.into()),
            ("payload_bytes", advance::PAYLOAD_BYTES.into()),
        ]);
        let mut report = Report::new("executions", told, &server.facts().await?)?;
        let mut hand = Hand::connect(ground.url()).await?;
        let measured = async {
            course.measure(ground, &mut hand, &server, &mut report).await?;
            match &growth {
                Some(growth) => growth.measure(ground, &mut hand, &server, &mut report).await,
                None => Ok(()),
            }
        }
        .await;
        // First of all: the rule goes, whatever happened.
        let left = hand.leave().await;
        measured.and(left)?;
        report.put("left", &server.left_of(&[load::KIND, KIND, LOCKED_KIND]).await?)?;
        Ok(report)
    }
}
