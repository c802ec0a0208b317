//! A course of steady work: producer, worker, sweep and an observer who notes how it goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use tenure::pool::Pool;
use tenure::services::retention;
use tenure::store::jobs;
use tokio::sync::oneshot;

use super::cost::{Cost, Meter};
use super::crew::{Crew, Tally};
use super::ground::Ground;
use super::load::{Payload, Producer};
use super::marks::Marks;
use super::percentiles::Percentiles;
use super::report::round;
use super::server::Server;
use crate::errors::Outcome;
use crate::output::Bar;

/// A run is told in so many parts, or by the minute when it is long.
const SEGMENTS: u32 = 10;
const SEGMENT_SECONDS_MAX: u32 = 60;
const POLL: Duration = Duration::from_secs(1);
/// How long a producer that is ahead waits.
const BREATH: Duration = Duration::from_millis(2);

/// What was asked for, read.
pub(super) struct Plan {
    pub(super) rate: Option<u32>,
    pub(super) seconds: u32,
    pub(super) backlog: u64,
    pub(super) producer_batch: usize,
    pub(super) crew: Crew,
    pub(super) producer: Producer,
}

#[derive(Debug, Serialize)]
pub(super) struct Segment {
    seconds: f64,
    pub(super) jobs_per_second: f64,
    enqueued_per_second: f64,
    #[serde(flatten)]
    latency: Percentiles,
    pub(super) dead_rows: i64,
    pub(super) disk_mb: i64,
}

/// What the parts of a run share.
pub(super) struct Course {
    tally: Arc<Tally>,
    marks: Arc<Marks>,
    enqueued: AtomicU64,
    over: AtomicBool,
}

impl Course {
    pub(super) fn new() -> Course {
        Course {
            tally: Arc::new(Tally::new(u64::MAX, u64::MAX)),
            marks: Arc::new(Marks::new()),
            enqueued: AtomicU64::new(0),
            over: AtomicBool::new(false),
        }
    }

    /// How long jobs have waited, from commit to start.
    pub(super) fn latency(&self) -> Percentiles {
        self.marks.all()
    }

    /// How many jobs the producer made.
    pub(super) fn enqueued(&self) -> u64 {
        self.enqueued.load(Ordering::Relaxed)
    }

    /// Producer, worker, sweep and observer at once; the worker goes on until nothing is left.
    pub(super) async fn hold(
        &self,
        ground: &Ground,
        url: &str,
        plan: &Plan,
        server: &Server,
    ) -> Outcome<(Vec<Segment>, Cost, i64)> {
        let pool = plan.crew.pool(url).await?;
        let (ending, ended) = oneshot::channel::<()>();
        let (counted, marks) = (self.tally.clone(), self.marks.clone());
        let see = move |payload: &Payload| {
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
            self.tally.aim(self.enqueued());
            drop(ending);
            Outcome::Ok(())
        };
        let (_, (segments, cost), (), cleaned) =
            tokio::try_join!(working, observing, producing, self.sweep(ground, &pool))?;
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
            let (now, counts) = (Instant::now(), (self.tally.seen(), self.enqueued()));
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
            let sent = self.enqueued();
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
    async fn sweep(&self, ground: &Ground, pool: &Pool) -> Outcome<i64> {
        let mut cleaned = 0;
        let mut last = Instant::now();
        while !self.over.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(100)).await;
            if last.elapsed() >= retention::INTERVAL {
                let mut connection = pool.get().await?;
                match retention::run_once(&mut connection).await {
                    Ok(counts) => cleaned += counts.cleaned,
                    // A login that is not trusted with services measures without them.
                    Err(error) => ground.out.note(&format!("Nothing was swept: {error}")),
                }
                last = Instant::now();
            }
        }
        Ok(cleaned)
    }
}
