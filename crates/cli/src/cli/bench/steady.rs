//! `tenure bench steady`: a producer and a worker together, for as long as it takes to see whether the rate holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use tenure::pool::Pool;
use tenure::services::retention;
use tenure::store::{jobs, kinds};
use tokio::sync::oneshot;

use super::cost::{Cost, Meter};
use super::crew::{Crew, Pace, Tally};
use super::ground::Ground;
use super::load::{KIND, Load, Producer};
use super::marks::Marks;
use super::percentiles::Percentiles;
use super::report::{Report, decimal, ratio, round, settings, thousands};
use super::server::Server;
use crate::errors::Outcome;
use crate::output::{Bar, Column};
use crate::values::Number;

const RATE_MAX: u32 = 1_000_000;
const SECONDS_MAX: u32 = 86_400;
const BACKLOG_MAX: u32 = 1_000_000;
const PRODUCER_BATCH_MAX: u32 = 1000;
/// A run is told in so many parts, or by the minute when it is long.
const SEGMENTS: u32 = 10;
const SEGMENT_SECONDS_MAX: u32 = 60;
const POLL: Duration = Duration::from_secs(1);
/// How long a producer that is ahead waits.
const BREATH: Duration = Duration::from_millis(2);
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
    /// Keep a transaction open all the time, so that nothing dead can be cleaned away
    #[arg(long)]
    hold_horizon: bool,
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    load: Load,
}

/// What was asked for, read.
struct Plan {
    rate: Option<u32>,
    seconds: u32,
    backlog: u64,
    producer_batch: usize,
    crew: Crew,
    producer: Producer,
}

#[derive(Debug, Serialize)]
struct Segment {
    seconds: f64,
    jobs_per_second: f64,
    enqueued_per_second: f64,
    #[serde(flatten)]
    latency: Percentiles,
    dead_rows: i64,
    disk_mb: i64,
}

/// What the parts of a run share.
struct Course {
    tally: Arc<Tally>,
    marks: Arc<Marks>,
    enqueued: AtomicU64,
    over: AtomicBool,
}

impl Steady {
    /// Refuses what cannot be done, before anything is started for it.
    pub(super) fn check(&self) -> Outcome {
        self.plan().map(drop)
    }

    pub(super) async fn run(&self, ground: &Ground) -> Outcome<Report> {
        self.run_on(ground, ground.url(), self.hold_horizon).await
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
        let course = Course {
            tally: Arc::new(Tally::new(u64::MAX, u64::MAX)),
            marks: Arc::new(Marks::new()),
            enqueued: AtomicU64::new(0),
            over: AtomicBool::new(false),
        };
        let (segments, cost, cleaned) = course.hold(ground, url, &plan, &server).await?;

        let latency = course.marks.all();
        let (first, last) = (&segments[0], &segments[segments.len() - 1]);
        let ratio = ratio(last.jobs_per_second, first.jobs_per_second);
        report.put_all(&cost)?;
        report.put("latency", &latency)?;
        report.put("last_to_first", &ratio)?;
        report.put("enqueued", &course.enqueued.load(Ordering::Relaxed))?;
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

impl Course {
    /// Producer, worker, sweep and observer at once; the worker goes on until nothing is left.
    async fn hold(
        &self,
        ground: &Ground,
        url: &str,
        plan: &Plan,
        server: &Server,
    ) -> Outcome<(Vec<Segment>, Cost, i64)> {
        let pool = plan.crew.pool(url).await?;
        let (ending, ended) = oneshot::channel::<()>();
        let (counted, marks) = (self.tally.clone(), self.marks.clone());
        let see = move |payload: &super::load::Payload| {
            marks.started(payload.mark());
            counted.count();
        };
        let working = plan.crew.work(pool.clone(), url, POLL, see, async {
            let _ = ended.await;
            self.tally.finished(server, None).await;
        });
        let meter = Meter::start(server).await?;
        let observing = async {
            let segments = self.observe(ground, plan, server, meter.began()).await?;
            let cost = meter.read(self.tally.seen()).await?;
            self.over.store(true, Ordering::Relaxed);
            Outcome::Ok((segments, cost))
        };
        let producing = async {
            self.produce(url, plan, meter.began()).await?;
            self.tally.aim(self.enqueued.load(Ordering::Relaxed));
            drop(ending);
            Outcome::Ok(())
        };
        let (_, (segments, cost), (), cleaned) = tokio::try_join!(working, observing, producing, self.sweep(&pool))?;
        Ok((segments, cost, cleaned))
    }

    async fn observe(&self, ground: &Ground, plan: &Plan, server: &Server, began: Instant) -> Outcome<Vec<Segment>> {
        let length = (f64::from(plan.seconds) / f64::from(SEGMENTS)).min(SEGMENT_SECONDS_MAX.into());
        let count = (f64::from(plan.seconds) / length).round() as u32;
        let bar = Bar::of_seconds(ground.out, "steady", plan.seconds.into());
        let (mut segments, mut from, mut before) = (Vec::new(), began, (0, 0));
        for number in 1..=count {
            let end = began + Duration::from_secs_f64(length * f64::from(number));
            while Instant::now() < end {
                let left = end.saturating_duration_since(Instant::now());
                tokio::time::sleep(left.min(Duration::from_secs(1))).await;
                bar.at(began.elapsed().as_secs());
            }
            let (now, counts) = (
                Instant::now(),
                (self.tally.seen(), self.enqueued.load(Ordering::Relaxed)),
            );
            let seconds = now.duration_since(from).as_secs_f64();
            let (dead_rows, bytes) = server.weight().await?;
            segments.push(Segment {
                seconds: round(now.duration_since(began).as_secs_f64(), 1),
                jobs_per_second: round((counts.0 - before.0) as f64 / seconds, 1),
                enqueued_per_second: round((counts.1 - before.1) as f64 / seconds, 1),
                latency: self.marks.segment(),
                dead_rows,
                disk_mb: bytes >> 20,
            });
            (from, before) = (now, counts);
        }
        Ok(segments)
    }

    async fn produce(&self, url: &str, plan: &Plan, began: Instant) -> Outcome {
        let client = tenure::pool::connect(url).await?;
        let mut mark = 0;
        while !self.over.load(Ordering::Relaxed) {
            let sent = self.enqueued.load(Ordering::Relaxed);
            let wanted = match plan.rate {
                Some(rate) => (began.elapsed().as_secs_f64() * f64::from(rate)) as u64,
                None => self.tally.seen() + plan.backlog,
            };
            let missing = usize::try_from(wanted.saturating_sub(sent)).unwrap_or(usize::MAX);
            if missing == 0 || (plan.rate.is_none() && missing < plan.producer_batch.min(plan.backlog as usize)) {
                tokio::time::sleep(BREATH).await;
                continue;
            }
            let size = missing.min(plan.producer_batch);
            mark = self.marks.next(mark);
            jobs::enqueue_many(&client, &plan.producer.batch(size, mark)?, None).await?;
            self.marks.committed(mark);
            self.enqueued.fetch_add(size as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The retention that every installation runs, as often as it does there. Answers how many jobs it cleaned.
    async fn sweep(&self, pool: &Pool) -> Outcome<i64> {
        let mut cleaned = 0;
        let mut last = Instant::now();
        while !self.over.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(100)).await;
            if last.elapsed() >= retention::INTERVAL {
                let mut connection = pool.get().await?;
                cleaned += retention::run_once(&mut connection).await?.cleaned;
                last = Instant::now();
            }
        }
        Ok(cleaned)
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
