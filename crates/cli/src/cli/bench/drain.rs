//! `tenure bench drain`: how fast one worker empties a queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use tenure_core::codes;

use super::cost::Meter;
use super::crew::{Crew, Pace, Tally};
use super::ground::Ground;
use super::load::{Load, Producer};
use super::report::{Report, decimal, ratio, round, settings, thousands};
use super::server::Server;
use crate::errors::{Outcome, refuse};
use crate::output::{Bar, Column};
use crate::values::Number;

const JOBS_MAX: u32 = 100_000_000;
const POLL: Duration = Duration::from_secs(1);

const SLICES: &[Column] = &[Column("JOBS", "jobs"), Column("JOBS/S", "jobs_per_second")];

#[derive(Debug, Args)]
pub(super) struct Drain {
    /// How many jobs
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "50000",
        allow_negative_numbers = true
    )]
    jobs: Number,
    /// Instead: a backlog of so many, told in slices, to see whether its length matters
    #[arg(long, value_name = "N", conflicts_with = "jobs", allow_negative_numbers = true)]
    backlog: Option<Number>,
    /// Jobs of one slice of a backlog
    #[arg(long, value_name = "N", default_value = "50000", allow_negative_numbers = true)]
    slice: Number,
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    load: Load,
    /// Only enqueue; drain another time with --skip-enqueue
    #[arg(long, conflicts_with = "skip_enqueue")]
    prepare_only: bool,
    /// Only drain what --prepare-only left
    #[arg(long)]
    skip_enqueue: bool,
}

#[derive(Debug, Serialize)]
struct Slice {
    jobs: u64,
    jobs_per_second: f64,
}

/// What was asked for, read.
struct Plan {
    jobs: u32,
    slice: u64,
    crew: Crew,
    producer: Producer,
}

impl Drain {
    /// Refuses what cannot be done, before anything is started for it.
    pub(super) fn check(&self, on_own: bool) -> Outcome {
        self.plan()?;
        if on_own && (self.prepare_only || self.skip_enqueue) {
            return Err(refuse(
                codes::USAGE,
                "--prepare-only and --skip-enqueue need a database that stays.",
                "No database is named, so one is made for this run and removed after it.",
                "Name one with --database-url.",
            ));
        }
        Ok(())
    }

    fn plan(&self) -> Outcome<Plan> {
        Ok(Plan {
            jobs: match &self.backlog {
                Some(backlog) => backlog.within("backlog", 1..=JOBS_MAX)?,
                None => self.jobs.within("jobs", 1..=JOBS_MAX)?,
            },
            slice: match self.backlog {
                Some(_) => self.slice.within("slice", 1..=JOBS_MAX)?.into(),
                None => u64::MAX,
            },
            crew: self.pace.crew()?,
            producer: self.load.producer(true)?,
        })
    }

    pub(super) async fn run(&self, ground: &Ground) -> Outcome<Report> {
        let Plan {
            jobs,
            slice,
            crew,
            producer,
        } = self.plan()?;
        let server = Server::connect(ground.url()).await?;
        let told = settings(
            &[
                &crew.settings()[..],
                &[
                    ("keys", producer.keys.into()),
                    ("payload_bytes", producer.payload_bytes.into()),
                    ("backlog", self.backlog.as_ref().map_or(Value::Null, |_| jobs.into())),
                ],
            ]
            .concat(),
        );
        let mut report = Report::new("drain", told, &server.facts().await?)?;
        if !self.skip_enqueue {
            let client = tenure::pool::connect(ground.url()).await?;
            producer.fill(&client, jobs, ground.out).await?;
        }
        if self.prepare_only {
            report.put("prepared", &jobs)?;
            report.facts.add("prepared", format!("{} jobs", thousands(jobs.into())));
            return Ok(report);
        }
        let jobs = match self.skip_enqueue {
            true => server.left().await?.unsigned_abs(),
            false => jobs.into(),
        };
        let left_out = server.settle().await?;
        if !left_out.is_empty() {
            ground
                .out
                .note(&format!("Not permitted here, so left out: {}.", left_out.join(", ")));
        }

        let tally = Arc::new(Tally::new(jobs, slice));
        let pool = crew.pool(ground.url()).await?;
        let bar = Bar::new(ground.out, "drain", jobs);
        let counted = tally.clone();
        let meter = Meter::start(&server).await?;
        let end = tally.finished(&server, Some(&bar));
        let done = crew
            .work(pool, ground.url(), POLL, move |_| counted.count(), end)
            .await?;
        let cost = meter.read(done.succeeded).await?;
        drop(bar);

        report.put_all(&cost)?;
        report.put("turns", &done.turns)?;
        report.put("left", &server.left().await?)?;
        report.put("not_settled", &left_out)?;
        cost.tell(&mut report.facts);
        if self.backlog.is_some() {
            tell_slices(&mut report, meter.began(), &tally.slices(), slice)?;
        }
        Ok(report)
    }
}

/// The rate of each slice, and how the first, with everything behind it, compares with the last.
fn tell_slices(report: &mut Report, began: Instant, full: &[Instant], slice: u64) -> Outcome {
    let mut from = began;
    let mut slices = Vec::new();
    for (number, at) in (1..).zip(full) {
        let seconds = at.duration_since(from).as_secs_f64();
        slices.push(Slice {
            jobs: number * slice,
            jobs_per_second: round(slice as f64 / seconds, 1),
        });
        from = *at;
    }
    let rates = slices.first().zip(slices.last());
    if let Some(ratio) = rates.and_then(|(first, last)| ratio(last.jobs_per_second, first.jobs_per_second)) {
        report.put("first_to_last", &ratio)?;
        report.facts.add(
            "first slice",
            format!("took {} of the time of the last", decimal(ratio, 2)),
        );
    }
    report.put_series("slices", SLICES, &slices)
}
