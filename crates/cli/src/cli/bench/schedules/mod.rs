//! `tenure bench schedules`: many schedules that are due in the same second, and many that are not due at all.

mod made;

use std::time::{Duration, Instant};

use clap::Args;
use futures_util::future::try_join_all;
use serde::Serialize;
use serde_json::json;
use tenure::schedules::{NewSchedule, Overlap};
use tenure::services::scheduler;
use tenure::store::jobs;
use tokio_postgres::Client;

use self::made::Made;
use super::crew::Crew;
use super::ground::Ground;
use super::load::{KIND, Load, Producer};
use super::report::{Report, decimal, median, ratio, round, settings, thousands};
use super::server::Server;
use crate::errors::Outcome;
use crate::output::{Bar, Column};
use crate::values::Number;

const SCHEDULES_MAX: u32 = 100_000;
const ROUNDS_MAX: u32 = 100;
const IDLE_MAX: u32 = 1_000_000;
const INTERVAL_SECONDS: std::ops::RangeInclusive<u32> = 10..=3600;
/// Looks at what is not due, of which the median is told.
const TICKS: usize = 500;
/// Jobs in one call of those who enqueue the same number by hand; a look of the scheduler takes as many schedules.
const BATCH: usize = 500;
/// Between none and all that are not due.
const FEW_IDLE: u32 = 1000;

const IDLE: &[Column] = &[
    Column("SCHEDULES NOT DUE", "schedules"),
    Column("A LOOK, µS", "look_us"),
    Column("× NONE", "to_none"),
];

#[derive(Debug, Args)]
pub(in crate::cli::bench) struct Schedules {
    /// How many are due in the same second
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "10000",
        allow_negative_numbers = true
    )]
    schedules: Number,
    /// The seconds from one of their slots to the next: how long a round waits at most
    #[arg(long, value_name = "N", default_value = "30", allow_negative_numbers = true)]
    interval: Number,
    /// How often each way is gone
    #[arg(long, value_name = "N", default_value = "3", allow_negative_numbers = true)]
    rounds: Number,
    /// How many are not due, to see what looking costs then; 0 leaves that out
    #[arg(long, value_name = "N", default_value = "100000", allow_negative_numbers = true)]
    idle: Number,
    #[command(flatten)]
    load: Load,
}

/// What was asked for, read.
struct Plan {
    schedules: u32,
    interval: u32,
    rounds: u32,
    idle: u32,
    producer: Producer,
}

/// What a look costs beside so many that are not due.
#[derive(Debug, Serialize)]
struct Look {
    schedules: u32,
    look_us: f64,
    to_none: Option<f64>,
}

impl Schedules {
    /// Refuses what cannot be done, before anything is started for it.
    pub(in crate::cli::bench) fn check(&self) -> Outcome {
        self.plan().map(drop)
    }

    fn plan(&self) -> Outcome<Plan> {
        Ok(Plan {
            schedules: self.schedules.within("schedules", 1..=SCHEDULES_MAX)?,
            interval: self.interval.within("interval", INTERVAL_SECONDS)?,
            rounds: self.rounds.within("rounds", 1..=ROUNDS_MAX)?,
            idle: self.idle.within("idle", 0..=IDLE_MAX)?,
            producer: self.load.producer(true)?,
        })
    }

    pub(in crate::cli::bench) async fn run(&self, ground: &Ground) -> Outcome<Report> {
        let plan = self.plan()?;
        let server = Server::connect(ground.url()).await?;
        let told = settings(&[
            ("schedules", plan.schedules.into()),
            ("interval", plan.interval.into()),
            ("rounds", plan.rounds.into()),
            ("idle", plan.idle.into()),
            ("keys", plan.producer.keys.into()),
            ("payload_bytes", plan.producer.payload_bytes.into()),
        ]);
        let mut report = Report::new("schedules", told, &server.facts().await?)?;
        let mut clients = Vec::new();
        for _ in 0..2 {
            clients.push(tenure::pool::connect(ground.url()).await?);
        }
        let mut made = Made::connect(ground.url(), ground.is_own()).await?;
        if plan.idle > 0 {
            plan.look(ground, &mut clients[0], &mut made, &server, &mut report)
                .await?;
        }
        plan.fire_all(ground, &mut clients, &mut made, &server, &mut report)
            .await?;
        if !ground.is_own() {
            Crew::plain().clear(ground.url(), &server).await?;
            made.delete_all().await?;
        }
        report.put("left", &server.left().await?)?;
        Ok(report)
    }
}

impl Plan {
    /// What a look costs beside none, some and many that are not due.
    async fn look(
        &self,
        ground: &Ground,
        client: &mut Client,
        made: &mut Made,
        server: &Server,
        report: &mut Report,
    ) -> Outcome {
        let yearly = NewSchedule::cron("0 0 1 1 *", KIND);
        let mut looks: Vec<Look> = Vec::new();
        for schedules in [0, FEW_IDLE.min(self.idle), self.idle] {
            let bar = Bar::new(ground.out, "schedules that are not due", schedules.into());
            while made.count() < schedules {
                let more = (schedules - made.count()).min(BATCH as u32);
                made.make(&yearly, more).await?;
                scheduler::run_once(client).await?;
                bar.at(made.count().into());
            }
            drop(bar);
            server.settle().await?;
            let mut took = Vec::with_capacity(TICKS);
            for _ in 0..TICKS {
                let began = Instant::now();
                scheduler::run_once(client).await?;
                took.push(began.elapsed().as_secs_f64() * 1e6);
            }
            let look_us = round(median(&took), 0);
            let to_none = looks.first().and_then(|none| ratio(look_us, none.look_us));
            looks.push(Look {
                schedules,
                look_us,
                to_none,
            });
        }
        report.put_series("looks", IDLE, &looks)
    }

    /// All that are due in the same second, with one connection and with two; and the same number of jobs by hand.
    async fn fire_all(
        &self,
        ground: &Ground,
        clients: &mut [Client],
        made: &mut Made,
        server: &Server,
        report: &mut Report,
    ) -> Outcome {
        let often = NewSchedule::every(Duration::from_secs(self.interval.into()), KIND)
            .payload(&self.producer.batch(1, 0)?[0].payload)?
            // Nobody runs the jobs meanwhile.
            .overlap(Overlap::Allow);
        let bar = Bar::new(ground.out, "schedules", self.schedules.into());
        let first = made.count();
        while made.count() - first < self.schedules {
            let more = (self.schedules - (made.count() - first)).min(BATCH as u32);
            made.make(&often, more).await?;
            scheduler::run_once(&mut clients[0]).await?;
            bar.at((made.count() - first).into());
        }
        drop(bar);
        let bar = Bar::new(ground.out, "rounds", u64::from(self.rounds) * 2);
        let (mut one, mut two, mut by_hand) = (Vec::new(), Vec::new(), Vec::new());
        for round in 1..=self.rounds {
            for (connections, took) in [(1, &mut one), (2, &mut two)] {
                self.next_slot(&clients[0]).await?;
                let began = Instant::now();
                let started: i64 = try_join_all(clients[..connections].iter_mut().map(fire))
                    .await?
                    .iter()
                    .sum();
                took.push((started, began.elapsed().as_secs_f64()));
            }
            let work = self.producer.batch(self.schedules as usize, 0)?;
            let began = Instant::now();
            for part in work.chunks(BATCH) {
                jobs::enqueue_many(&clients[0], part, None).await?;
            }
            by_hand.push((i64::from(self.schedules), began.elapsed().as_secs_f64()));
            server.settle().await?;
            bar.at(u64::from(round) * 2);
        }
        drop(bar);
        let rate = |took: &[(i64, f64)]| median(&took.iter().map(|it| it.0 as f64 / it.1).collect::<Vec<_>>());
        let enqueue = rate(&by_hand);
        for (name, took) in [("one", &one), ("two", &two)] {
            let seconds = round(median(&took.iter().map(|it| it.1).collect::<Vec<_>>()), 3);
            let part = ratio(rate(took), enqueue);
            let rates: Vec<f64> = took.iter().map(|it| round(it.0 as f64 / it.1, 0)).collect();
            let started: Vec<i64> = took.iter().map(|it| it.0).collect();
            report.put(
                name,
                &json!({"seconds": seconds, "slots_per_second": round(rate(took), 0), "rounds": rates, "started": started, "to_enqueue": part}),
            )?;
            let told = format!(
                "all {} in {} s, {} slots/s, {} of enqueuing as many jobs",
                thousands(self.schedules.into()),
                decimal(seconds, 2),
                thousands(rate(took)),
                part.map_or_else(String::new, |part| decimal(part, 2))
            );
            report.facts.add(format!("started by {name}"), told);
        }
        report.put("jobs_per_second", &round(rate(&one), 0))?;
        report.put("enqueue_per_second", &round(enqueue, 0))?;
        report
            .facts
            .add("enqueued by hand", format!("{} jobs/s", thousands(enqueue)));
        Ok(())
    }

    /// Waits until all of them are due.
    async fn next_slot(&self, client: &Client) -> Outcome {
        let micros = i64::from(self.interval) * 1_000_000;
        let now = tenure::store::now(client).await?.micros();
        let wait = micros - now.rem_euclid(micros);
        tokio::time::sleep(Duration::from_micros(wait.unsigned_abs())).await;
        Ok(())
    }
}

/// Looks until there is nothing more to start.
async fn fire(client: &mut Client) -> Outcome<i64> {
    let mut started = 0;
    loop {
        let done = scheduler::run_once(client).await?;
        started += done.started;
        if done.started == 0 {
            return Ok(started);
        }
    }
}
