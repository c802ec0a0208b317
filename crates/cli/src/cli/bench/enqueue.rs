//! `tenure bench enqueue`: how fast work goes in.

use clap::Args;
use tenure::store::jobs;

use super::cost::Meter;
use super::crew::Crew;
use super::ground::Ground;
use super::load::{Load, Producer};
use super::report::{Report, settings};
use super::server::Server;
use crate::errors::Outcome;
use crate::output::Bar;
use crate::values::Number;

const JOBS_MAX: u32 = 10_000_000;
const BATCH_MAX: u32 = 1000;
/// So many one by one take as long as many in bulk.
const ONE_BY_ONE: &str = "2000";
const BULK: &str = "50000";

#[derive(Debug, Args)]
pub(super) struct Enqueue {
    /// How many jobs
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = BULK,
        default_value_if("one_by_one", "true", ONE_BY_ONE),
        allow_negative_numbers = true
    )]
    jobs: Number,
    /// Jobs in one call
    #[arg(
        long,
        value_name = "N",
        default_value = "1000",
        conflicts_with = "one_by_one",
        allow_negative_numbers = true
    )]
    batch: Number,
    /// One job in one call, each in a transaction of its own
    #[arg(long)]
    one_by_one: bool,
    #[command(flatten)]
    load: Load,
}

/// What was asked for, read.
struct Plan {
    jobs: u32,
    batch: usize,
    producer: Producer,
}

impl Enqueue {
    /// Refuses what cannot be done, before anything is started for it.
    pub(super) fn check(&self) -> Outcome {
        self.plan().map(drop)
    }

    fn plan(&self) -> Outcome<Plan> {
        Ok(Plan {
            jobs: self.jobs.within("jobs", 1..=JOBS_MAX)?,
            batch: match self.one_by_one {
                true => 1,
                false => self.batch.within("batch", 1..=BATCH_MAX)? as usize,
            },
            producer: self.load.producer(false)?,
        })
    }

    pub(super) async fn run(&self, ground: &Ground) -> Outcome<Report> {
        let Plan { jobs, batch, producer } = self.plan()?;
        let server = Server::connect(ground.url()).await?;
        let client = tenure::pool::connect(ground.url()).await?;
        let told = settings(&[
            ("batch", batch.into()),
            ("connections", 1.into()),
            ("keys", producer.keys.into()),
            ("payload_bytes", producer.payload_bytes.into()),
        ]);
        let mut report = Report::new("enqueue", told, &server.facts().await?)?;
        // The first of a kind makes its lane, which is done once and never again.
        jobs::enqueue_many(&client, &producer.batch(1, 0)?, None).await?;
        // Made before the clock runs: what a caller's objects cost is the caller's.
        let work = producer.batch(jobs as usize, 0)?;

        let bar = Bar::new(ground.out, "enqueue", jobs.into());
        let meter = Meter::start(&server).await?;
        let mut done = 0;
        for part in work.chunks(batch) {
            jobs::enqueue_many(&client, part, None).await?;
            done += part.len() as u64;
            bar.at(done);
        }
        let cost = meter.read(jobs.into()).await?;
        drop(bar);

        report.put_all(&cost)?;
        cost.tell(&mut report.facts);
        if !ground.is_own() {
            // Nobody else runs this kind: what is not cleared would wait for ever.
            Crew::plain().clear(ground.url(), &server).await?;
            report.put("left", &server.left().await?)?;
        }
        Ok(report)
    }
}
