//! `tenure bench steady`: a producer and a worker together, for as long as it takes to see whether the rate holds.

use clap::Args;
use serde_json::{Value, json};
use tenure::store::kinds;

use super::course::{Course, Plan};
use super::crew::Pace;
use super::ground::Ground;
use super::load::{KIND, Load};
use super::report::{Report, decimal, ratio, settings, thousands};
use super::server::Server;
use crate::errors::Outcome;
use crate::output::Column;
use crate::values::Number;

const RATE_MAX: u32 = 1_000_000;
const SECONDS_MAX: u32 = 86_400;
const BACKLOG_MAX: u32 = 1_000_000;
const PRODUCER_BATCH_MAX: u32 = 1000;
/// As short as a policy may have it, so that the sweep has something to do.
const RETENTION_SECONDS: u32 = 60;

const SEGMENT: &[Column] = &[
    Column("SECONDS", "seconds"),
    Column("JOBS/S", "jobs_per_second"),
    Column("ENQUEUED/S", "enqueued_per_second"),
    Column("P50 MS", "p50_ms"),
    Column("P99 MS", "p99_ms"),
    Column("DEAD ROWS", "dead_rows"),
    Column("DISK MB", "disk_mb"),
];

#[derive(Debug, Args)]
pub(super) struct Steady {
    #[command(flatten)]
    terms: Terms,
    /// Keep a transaction open all the time, so that nothing dead can be cleaned away
    #[arg(long)]
    hold_horizon: bool,
}

/// How the work goes on.
#[derive(Debug, Args)]
pub(super) struct Terms {
    /// Jobs in a second [default: as many as the worker takes, see --closed-loop]
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "closed_loop",
        allow_negative_numbers = true
    )]
    rate: Option<Number>,
    /// Keep a short backlog: as many jobs in a second as the worker takes
    #[arg(long)]
    closed_loop: bool,
    /// How long
    #[arg(long, short, value_name = "N", default_value = "60", allow_negative_numbers = true)]
    seconds: Number,
    /// Jobs that wait in a closed loop
    #[arg(long, value_name = "N", default_value = "2000", allow_negative_numbers = true)]
    backlog: Number,
    /// Jobs in one call of the producer, at most
    #[arg(long, value_name = "N", default_value = "500", allow_negative_numbers = true)]
    producer_batch: Number,
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    load: Load,
}

impl Steady {
    /// Refuses what cannot be done, before anything is started for it.
    pub(super) fn check(&self) -> Outcome {
        self.terms.check()
    }

    pub(super) async fn run(&self, ground: &Ground) -> Outcome<Report> {
        self.terms.run_on(ground, ground.url(), self.hold_horizon).await
    }
}

impl Terms {
    /// Refuses what cannot be done, before anything is started for it.
    pub(super) fn check(&self) -> Outcome {
        self.plan().map(drop)
    }

    /// On this database, with or without an old snapshot.
    pub(super) async fn run_on(&self, ground: &Ground, url: &str, hold: bool) -> Outcome<Report> {
        let plan = self.plan()?;
        let (crew, producer) = (&plan.crew, &plan.producer);
        let server = Server::connect(url).await?;
        let told = settings(
            &[
                &crew.settings()[..],
                &[
                    ("rate", plan.rate.map_or(Value::Null, Value::from)),
                    ("backlog", plan.rate.map_or(plan.backlog.into(), |_| Value::Null)),
                    ("producer_batch", plan.producer_batch.into()),
                    ("keys", producer.keys.into()),
                    ("payload_bytes", producer.payload_bytes.into()),
                    ("hold_horizon", hold.into()),
                ],
            ]
            .concat(),
        );
        let mut report = Report::new("steady", told, &server.facts().await?)?;
        shorten_retention(ground, url).await;
        let horizon = Server::connect(url).await?;
        if hold {
            horizon.hold_horizon().await?;
        }
        let course = Course::new();
        let (segments, cost, cleaned) = course.hold(ground, url, &plan, &server).await?;

        let latency = course.latency();
        let (first, last) = (&segments[0], &segments[segments.len() - 1]);
        let ratio = ratio(last.jobs_per_second, first.jobs_per_second);
        report.put_all(&cost)?;
        report.put("latency", &latency)?;
        report.put("last_to_first", &ratio)?;
        report.put("enqueued", &course.enqueued())?;
        report.put("cleaned", &cleaned)?;
        report.put("dead_rows", &last.dead_rows)?;
        report.put("disk_mb", &last.disk_mb)?;
        report.put("hot_tables", &server.hot_tables().await?)?;
        report.put("left", &server.left().await?)?;
        cost.tell(&mut report.facts);
        report.facts.add("commit to start", latency.told());
        if let Some(ratio) = ratio {
            report
                .facts
                .add("last segment", format!("{} of the first", decimal(ratio, 2)));
        }
        report.facts.add("dead rows", thousands(last.dead_rows as f64));
        report
            .facts
            .add("disk", format!("{} MB", thousands(last.disk_mb as f64)));
        report
            .facts
            .add("cleaned", format!("{} jobs by retention", thousands(cleaned as f64)));
        report.put_series("segments", SEGMENT, &segments)?;
        Ok(report)
    }

    fn plan(&self) -> Outcome<Plan> {
        let rate = self.rate.as_ref().map(|rate| rate.within("rate", 1..=RATE_MAX));
        Ok(Plan {
            rate: rate.transpose()?,
            seconds: self.seconds.within("seconds", 1..=SECONDS_MAX)?,
            backlog: self.backlog.within("backlog", 1..=BACKLOG_MAX)?.into(),
            producer_batch: self.producer_batch.within("producer_batch", 1..=PRODUCER_BATCH_MAX)? as usize,
            crew: self.pace.crew()?,
            producer: self.load.producer(true)?,
        })
    }
}

/// So that the sweep has work within the run. Whoever may not set a policy sweeps less.
async fn shorten_retention(ground: &Ground, url: &str) {
    let policy = json!({"retention_seconds": RETENTION_SECONDS, "description": "jobs of `tenure bench`"});
    let set = async {
        let client = tenure::pool::connect(url).await?;
        kinds::kind_set(&client, KIND, &policy, None).await
    };
    if let Err(error) = set.await {
        ground
            .out
            .note(&format!("The policy of {KIND} stays as it is: {error}"));
    }
}
