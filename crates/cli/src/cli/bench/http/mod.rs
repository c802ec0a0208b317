//! `tenure bench http`: the same work over HTTP and over SQL, and what it costs to keep many waiting.

mod idle;
mod served;
mod way;

use std::time::Instant;

use clap::Args;
use futures_util::future::try_join_all;
use serde_json::json;

use self::served::Served;
use self::way::Way;
use super::ground::Ground;
use super::load::{Load, Producer};
use super::report::{Report, decimal, median, ratio, settings, thousands};
use super::server::Server;
use crate::errors::Outcome;
use crate::output::Bar;
use crate::values::Number;

const JOBS_MAX: u32 = 1_000_000;
const BATCH_MAX: u32 = 1000;
const CONNECTIONS_MAX: u32 = 64;
const ROUNDS_MAX: u32 = 100;
const IDLE_MAX: u32 = 5000;

#[derive(Debug, Args)]
pub(in crate::cli::bench) struct Http {
    /// How many jobs, in each round and each way
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "20000",
        allow_negative_numbers = true
    )]
    jobs: Number,
    /// Jobs in one call
    #[arg(long, value_name = "N", default_value = "100", allow_negative_numbers = true)]
    batch: Number,
    /// Connections at once: to the server, or to the database
    #[arg(long, value_name = "N", default_value = "4", allow_negative_numbers = true)]
    connections: Number,
    /// How often both ways are gone, one after the other
    #[arg(long, value_name = "N", default_value = "5", allow_negative_numbers = true)]
    rounds: Number,
    /// How many claims wait, and how many follow the events, to see what each costs; 0 leaves that out
    #[arg(long, value_name = "N", default_value = "1000", allow_negative_numbers = true)]
    idle: Number,
    #[command(flatten)]
    load: Load,
}

/// What was asked for, read.
struct Plan {
    jobs: usize,
    batch: usize,
    connections: usize,
    rounds: u32,
    idle: usize,
    producer: Producer,
}

/// Jobs in a second of one way, round by round.
#[derive(Default)]
struct Rates {
    enqueue: Vec<f64>,
    work: Vec<f64>,
}

impl Http {
    /// Refuses what cannot be done, before anything is started for it.
    pub(in crate::cli::bench) fn check(&self) -> Outcome {
        self.plan().map(drop)
    }

    fn plan(&self) -> Outcome<Plan> {
        Ok(Plan {
            jobs: self.jobs.within("jobs", 1..=JOBS_MAX)? as usize,
            batch: self.batch.within("batch", 1..=BATCH_MAX)? as usize,
            connections: self.connections.within("connections", 1..=CONNECTIONS_MAX)? as usize,
            rounds: self.rounds.within("rounds", 1..=ROUNDS_MAX)?,
            idle: self.idle.within("idle", 0..=IDLE_MAX)? as usize,
            producer: self.load.producer(false)?,
        })
    }

    pub(in crate::cli::bench) async fn run(&self, ground: &Ground) -> Outcome<Report> {
        let plan = self.plan()?;
        let server = Server::connect(ground.url()).await?;
        let told = settings(&[
            ("jobs", plan.jobs.into()),
            ("batch", plan.batch.into()),
            ("connections", plan.connections.into()),
            ("rounds", plan.rounds.into()),
            ("keys", plan.producer.keys.into()),
            ("payload_bytes", plan.producer.payload_bytes.into()),
        ]);
        let mut report = Report::new("http", told, &server.facts().await?)?;
        let served = Served::start(ground, plan.connections).await?;
        let sql = way::sql(ground.url(), plan.connections).await?;
        let http = way::http(&served, plan.connections)?;

        let (mut by_sql, mut by_http) = (Rates::default(), Rates::default());
        let bar = Bar::new(ground.out, "rounds", u64::from(plan.rounds) * 2);
        // The first round warms both up, and does not count.
        for round in 0..=plan.rounds {
            for (ways, rates) in [(&sql, &mut by_sql), (&http, &mut by_http)] {
                server.settle().await?;
                let (enqueue, work) = plan.go(ways).await?;
                if round > 0 {
                    rates.enqueue.push(enqueue);
                    rates.work.push(work);
                }
            }
            bar.at(u64::from(round) * 2);
        }
        drop(bar);
        for (name, http, sql) in [
            ("enqueue", &by_http.enqueue, &by_sql.enqueue),
            ("claim and complete", &by_http.work, &by_sql.work),
        ] {
            let (http_rate, sql_rate) = (median(http).round(), median(sql).round());
            let part = ratio(http_rate, sql_rate);
            let field = name.replace(' ', "_");
            report.put(&field, &json!({"http": http, "sql": sql, "http_median": http_rate, "sql_median": sql_rate, "http_to_sql": part}))?;
            let told = format!(
                "{} jobs/s over HTTP, {} over SQL: {}",
                thousands(http_rate),
                thousands(sql_rate),
                part.map_or_else(String::new, |part| decimal(part, 2))
            );
            report.facts.add(name, told);
        }
        report.put("jobs_per_second", &median(&by_http.work).round())?;
        served.stop().await;
        if plan.idle > 0 {
            idle::measure(ground, &server, plan.idle, plan.connections, &mut report).await?;
        }
        report.put("left", &server.left().await?)?;
        Ok(report)
    }
}

impl Plan {
    /// Enqueues all, then works all off; jobs in a second of each.
    async fn go(&self, ways: &[Way]) -> Outcome<(f64, f64)> {
        let work = self.producer.batch(self.jobs, 0)?;
        // Made before the clock runs: what a caller's objects cost is the caller's.
        let parts: Vec<_> = work.chunks(self.batch).map(<[_]>::to_vec).collect();
        let mut shares: Vec<Vec<way::Parcel>> = ways.iter().map(|_| Vec::new()).collect();
        for (at, part) in parts.into_iter().enumerate() {
            let to = at % ways.len();
            shares[to].push(ways[to].parcel(part)?);
        }
        let began = Instant::now();
        let sending = ways.iter().zip(shares).map(|(way, share)| way.enqueue(share));
        try_join_all(sending).await?;
        let enqueue = self.jobs as f64 / began.elapsed().as_secs_f64();
        let began = Instant::now();
        let done = try_join_all(ways.iter().map(|way| way.work_off(self.batch))).await?;
        let work = done.iter().sum::<usize>() as f64 / began.elapsed().as_secs_f64();
        Ok((enqueue, work))
    }
}
