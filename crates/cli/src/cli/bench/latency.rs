//! `tenure bench latency`: how soon an idle worker begins a job that was just committed.

use std::time::{Duration, Instant};

use clap::Args;
use tenure::store::jobs;
use tenure_core::codes;
use tokio::sync::{mpsc, oneshot};

use super::crew::{Crew, Pace};
use super::ground::Ground;
use super::load::{Load, Producer};
use super::percentiles::Durations;
use super::report::{Report, settings};
use super::server::Server;
use crate::errors::{Outcome, refuse};
use crate::output::Bar;
use crate::values::Number;

const JOBS_MAX: u32 = 1_000_000;
const PAUSE_MS_MAX: u32 = 60_000;
/// So rare that only a notification explains a quick start.
const POLL: Duration = Duration::from_secs(10);
/// A start may take that long before something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);
/// Not counted: the first jobs meet cold plans.
const WARM_UP: u32 = 10;

#[derive(Debug, Args)]
pub(super) struct Latency {
    /// How many jobs, one after the other
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "200",
        allow_negative_numbers = true
    )]
    jobs: Number,
    /// How long to wait after each, so that the worker is idle again
    #[arg(long, value_name = "MS", default_value = "20", allow_negative_numbers = true)]
    pause_ms: Number,
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    load: Load,
}

/// What was asked for, read.
struct Plan {
    jobs: u32,
    pause_ms: u32,
    crew: Crew,
    producer: Producer,
}

impl Latency {
    /// Refuses what cannot be done, before anything is started for it.
    pub(super) fn check(&self) -> Outcome {
        self.plan().map(drop)
    }

    fn plan(&self) -> Outcome<Plan> {
        Ok(Plan {
            jobs: self.jobs.within("jobs", 1..=JOBS_MAX)?,
            pause_ms: self.pause_ms.within("pause_ms", 0..=PAUSE_MS_MAX)?,
            crew: self.pace.crew()?,
            producer: self.load.producer(true)?,
        })
    }

    pub(super) async fn run(&self, ground: &Ground) -> Outcome<Report> {
        let Plan {
            jobs,
            pause_ms,
            crew,
            producer,
        } = self.plan()?;
        let server = Server::connect(ground.url()).await?;
        let client = tenure::pool::connect(ground.url()).await?;
        let told = settings(
            &[
                &crew.settings()[..],
                &[
                    ("keys", producer.keys.into()),
                    ("payload_bytes", producer.payload_bytes.into()),
                    ("pause_ms", pause_ms.into()),
                ],
            ]
            .concat(),
        );
        let mut report = Report::new("latency", told, &server.facts().await?)?;

        let (started, mut starts) = mpsc::unbounded_channel();
        let (ending, ended) = oneshot::channel::<()>();
        let see = move |_: &_| {
            // Nobody waits for it any more: the run is over.
            let _ = started.send(Instant::now());
        };
        let pool = crew.pool(ground.url()).await?;
        let working = crew.work(pool, ground.url(), POLL, see, async {
            let _ = ended.await;
        });
        let bar = Bar::new(ground.out, "latency", jobs.into());
        let producing = async {
            let (mut from_commit, mut from_send) = (Durations::new(), Durations::new());
            for number in 0..WARM_UP + jobs {
                let job = producer.batch(1, 0)?;
                tokio::time::sleep(Duration::from_millis(pause_ms.into())).await;
                let sent = Instant::now();
                jobs::enqueue_alone(&client, &job[0], None).await?;
                let committed = Instant::now();
                let start = match tokio::time::timeout(PATIENCE, starts.recv()).await {
                    Ok(Some(start)) => start,
                    _ => return Err(nobody_came()),
                };
                if number >= WARM_UP {
                    from_commit.record(start.saturating_duration_since(committed));
                    from_send.record(start.duration_since(sent));
                    bar.at((number - WARM_UP + 1).into());
                }
            }
            drop(ending);
            Outcome::Ok((from_commit.percentiles(), from_send.percentiles()))
        };
        let (_, (from_commit, from_send)) = tokio::try_join!(working, producing)?;
        drop(bar);

        report.put("jobs", &jobs)?;
        report.put_all(&from_commit)?;
        report.put("from_send", &from_send)?;
        report.put("left", &server.left().await?)?;
        report.facts.add("commit to start", from_commit.told());
        report.facts.add("send to start", from_send.told());
        report.facts.add("jobs", jobs.to_string());
        Ok(report)
    }
}

fn nobody_came() -> crate::errors::Failure {
    refuse(
        codes::BUSY_TRY_AGAIN,
        "A job was not started.",
        format!("It waited {} s.", PATIENCE.as_secs()),
        "Ask why: tenure job list --kind bench.noop, then tenure job explain JOB.",
    )
}
