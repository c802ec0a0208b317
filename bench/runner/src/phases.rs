//! The phases, measured in the same way for everybody.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;

use crate::counters::Counters;
use crate::{Options, Peer, connect, handled};

/// How often the drain asks whether the last job is recorded as done.
const LAST_POLL: Duration = Duration::from_millis(1);
/// A wake-up that takes longer is a fault of the set-up.
const START_SECONDS_MAX: u64 = 30;
const WARM_UP: usize = 5;

/// Runs the phase that the command line names and prints its JSON line.
pub async fn main<P: Peer>() -> Result<()> {
    let options = Options::from_arguments(std::env::args())?;
    let peer = Arc::new(P::open(&options).await.context("open")?);
    let mut line = match options.phase.as_str() {
        "enqueue" => enqueue(&*peer, &options).await?,
        "one_by_one" => one_by_one(&*peer, &options).await?,
        "drain" => drain(&peer, &options).await?,
        "latency" => latency(&peer, &options).await?,
        "sustained" => sustained(&peer, &options).await?,
        other => bail!("no phase is called {other}"),
    };
    line["system"] = json!(P::SYSTEM);
    line["phase"] = json!(options.phase);
    line["settings"] = json!(peer.settings());
    println!("{line}");
    // Its background tasks have nothing left to do, and some would wait for seconds.
    std::process::exit(0);
}

async fn enqueue<P: Peer>(peer: &P, options: &Options) -> Result<Value> {
    // Made before the clock runs: what a caller's objects cost is the caller's.
    let whole = (0..options.jobs / options.batch).map(|_| options.batch);
    let sizes = whole.chain(Some(options.jobs % options.batch).filter(|rest| *rest > 0));
    let batches: Vec<P::Batch> = sizes.map(|size| peer.batch(size)).collect();
    let started = Instant::now();
    for batch in batches {
        peer.enqueue_many(batch).await?;
    }
    Ok(json!({ "jobs": options.jobs, "batch": options.batch, "seconds": started.elapsed().as_secs_f64() }))
}

async fn one_by_one<P: Peer>(peer: &P, options: &Options) -> Result<Value> {
    let started = Instant::now();
    for _ in 0..options.jobs {
        peer.enqueue_one().await?;
    }
    Ok(json!({ "jobs": options.jobs, "seconds": started.elapsed().as_secs_f64() }))
}

fn start<P: Peer>(peer: &Arc<P>) {
    let peer = Arc::clone(peer);
    tokio::spawn(async move {
        let ended = peer.work().await;
        eprintln!("the worker ended by itself: {ended:?}");
        std::process::exit(1);
    });
}

/// From the worker's start until the last job is recorded as done.
async fn drain<P: Peer>(peer: &Arc<P>, options: &Options) -> Result<Value> {
    let watch = connect(&options.url).await?;
    let unfinished = watch.prepare(P::UNFINISHED).await?;
    handled::expect(options.jobs);
    let before = Counters::read(&watch).await?;
    let started = Instant::now();
    start(peer);
    handled::reached().await;
    while watch.query_one(&unfinished, &[]).await?.get(0) {
        tokio::time::sleep(LAST_POLL).await;
    }
    let seconds = started.elapsed().as_secs_f64();
    let after = Counters::read(&watch).await?;
    let first = handled::first().map(|first| (first - started).as_secs_f64());
    Ok(json!({
        "jobs": options.jobs,
        "seconds": seconds,
        "first_start_seconds": first,
        "handled": handled::count(),
        "wal_bytes": after.wal_bytes - before.wal_bytes,
        "transactions": after.transactions - before.transactions,
    }))
}

/// An idle system gets one job at a time.
async fn latency<P: Peer>(peer: &Arc<P>, options: &Options) -> Result<Value> {
    let (send, mut starts) = unbounded_channel();
    handled::tell_starts(send);
    start(peer);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (mut from_commit, mut from_call) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + options.jobs {
        let called = Instant::now();
        peer.enqueue_one().await?;
        let committed = Instant::now();
        let begun = tokio::time::timeout(Duration::from_secs(START_SECONDS_MAX), starts.recv())
            .await
            .context("the job did not start in time")?
            .context("the worker is gone")?;
        if round >= WARM_UP {
            from_commit.push(milliseconds(begun.saturating_duration_since(committed)));
            from_call.push(milliseconds(begun.saturating_duration_since(called)));
        }
        // Uneven, or the jobs would fall into step with a poller.
        tokio::time::sleep(Duration::from_millis(15 + (round as u64 * 7) % 20)).await;
    }
    Ok(json!({
        "jobs": options.jobs,
        "commit_ms": percentiles(from_commit),
        "call_ms": percentiles(from_call),
    }))
}

/// A producer keeps the backlog level while the worker drains it.
async fn sustained<P: Peer>(peer: &Arc<P>, options: &Options) -> Result<Value> {
    let enqueued = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    start(peer);
    let producer = {
        let (peer, enqueued, stop, options) = (peer.clone(), enqueued.clone(), stop.clone(), options.clone());
        tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                if enqueued.load(Ordering::Relaxed) > handled::count() + options.backlog as u64 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    continue;
                }
                peer.enqueue_many(peer.batch(options.batch)).await?;
                enqueued.fetch_add(options.batch as u64, Ordering::Relaxed);
            }
            Ok::<(), anyhow::Error>(())
        })
    };
    let started = Instant::now();
    let step = Duration::from_secs_f64(options.seconds as f64 / options.segments as f64);
    let (mut rates, mut count, mut at) = (Vec::new(), 0, started);
    for segment in 1..=options.segments {
        tokio::time::sleep_until((started + step * segment as u32).into()).await;
        let (now, total) = (Instant::now(), handled::count());
        rates.push((total - count) as f64 / (now - at).as_secs_f64());
        (count, at) = (total, now);
    }
    let seconds = started.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    producer.await??;
    Ok(json!({ "jobs": count, "seconds": seconds, "rates": rates, "backlog": options.backlog }))
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn percentiles(mut values: Vec<f64>) -> Value {
    values.sort_by(f64::total_cmp);
    let at = |part: f64| values.get(((values.len() as f64 * part) as usize).min(values.len().saturating_sub(1)));
    json!({ "p50": at(0.50), "p95": at(0.95), "p99": at(0.99) })
}
