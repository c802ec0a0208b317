//! Setting a worker up.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tenure_core::limits::BATCH_ROWS_MAX;
use tenure_core::{Refusal, codes};

use super::batch;
use super::handler::{self, Registered};
use super::middleware::{self, Layer, Next};
use super::{Context, Done, Failure, Handler, HandlerOptions, Worker};
use crate::client::Job;
use crate::error::{Error, Result};
use crate::pool::{Pool, PoolOptions};
use crate::schedules::NewSchedule;

/// No waiting of a worker is meant to be longer: one day.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How a worker behaves.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) name: Arc<str>,
    pub(super) executor: Option<String>,
    pub(super) concurrency: usize,
    pub(super) connections: usize,
    pub(super) batch_max: usize,
    pub(super) buffer: usize,
    pub(super) lease: Option<Duration>,
    pub(super) heartbeat_interval: Duration,
    pub(super) poll_interval: Duration,
    pub(super) drain: Duration,
    pub(super) grace: Duration,
    pub(super) listen_url: Option<String>,
}

impl Settings {
    /// The lease to ask for.
    pub(super) fn lease_seconds(&self) -> Option<i32> {
        self.lease
            .map(|lease| i32::try_from(lease.as_secs().max(1)).unwrap_or(i32::MAX))
    }
}

/// Builds a [`Worker`].
#[must_use]
pub struct WorkerBuilder {
    pool: Pool,
    settings: Settings,
    handlers: Vec<Registered>,
    layers: Vec<Layer>,
    schedules: Vec<(String, NewSchedule)>,
}

impl WorkerBuilder {
    pub(super) fn new(pool: Pool) -> WorkerBuilder {
        WorkerBuilder {
            pool,
            settings: Settings {
                name: default_name().into(),
                executor: None,
                concurrency: 10,
                connections: 2,
                batch_max: 500,
                buffer: 0,
                lease: None,
                heartbeat_interval: Duration::from_secs(15),
                poll_interval: Duration::from_secs(1),
                drain: Duration::from_secs(30),
                grace: Duration::from_secs(5),
                listen_url: None,
            },
            handlers: Vec::new(),
            layers: Vec::new(),
            schedules: Vec::new(),
        }
    }

    /// Runs jobs of this kind with a closure. Its payload is read by serde; one that cannot be read fails for good with
    /// the code `payload_unreadable`. It returns anything that turns into [`Done`], `()` among it.
    ///
    /// A closure that captures something hands each run a clone of it:
    ///
    /// ```no_run
    /// # #[derive(Clone)] struct Mailer;
    /// # impl Mailer { async fn send(&self, _: serde_json::Value) -> std::io::Result<()> { Ok(()) } }
    /// # fn of(pool: tenure::Pool, mailer: Mailer) -> tenure::Result<()> {
    /// use tenure::worker::{Context, Worker};
    ///
    /// let worker = Worker::builder(pool)
    ///     .handler("mail.send", move |mail: serde_json::Value, _: Context| {
    ///         let mailer = mailer.clone();
    ///         async move { Ok(mailer.send(mail).await?) }
    ///     })
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn handler<P, D, F, Fut>(self, kind: impl Into<String>, handler: F) -> WorkerBuilder
    where
        P: DeserializeOwned + Send + 'static,
        D: Into<Done>,
        F: Fn(P, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<D, Failure>> + Send + 'static,
    {
        self.handler_with(kind, HandlerOptions::default(), handler)
    }

    /// The same with options.
    pub fn handler_with<P, D, F, Fut>(
        mut self,
        kind: impl Into<String>,
        options: HandlerOptions,
        handler: F,
    ) -> WorkerBuilder
    where
        P: DeserializeOwned + Send + 'static,
        D: Into<Done>,
        F: Fn(P, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<D, Failure>> + Send + 'static,
    {
        self.handlers.push(Registered {
            kind: kind.into(),
            options,
            batch_max: None,
            run: handler::of_closure(handler),
        });
        self
    }

    /// Runs jobs of the kind that the payload's type names: [`Job::KIND`]. Otherwise as [`handler`](Self::handler).
    ///
    /// ```no_run
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Welcome { name: String }
    /// # impl tenure::Job for Welcome { const KIND: &'static str = "mail.welcome"; }
    /// # fn of(pool: tenure::Pool) -> tenure::Result<()> {
    /// use tenure::worker::{Context, Done, Worker};
    ///
    /// let worker = Worker::builder(pool)
    ///     .job(async |welcome: Welcome, _: Context| Ok(Done::with(format!("Welcome, {}!", welcome.name))?))
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn job<J, D, F, Fut>(self, handler: F) -> WorkerBuilder
    where
        J: Job,
        D: Into<Done>,
        F: Fn(J, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<D, Failure>> + Send + 'static,
    {
        self.job_with(HandlerOptions::default(), handler)
    }

    /// The same with options.
    pub fn job_with<J, D, F, Fut>(self, options: HandlerOptions, handler: F) -> WorkerBuilder
    where
        J: Job,
        D: Into<Done>,
        F: Fn(J, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<D, Failure>> + Send + 'static,
    {
        self.handler_with(J::KIND, options, handler)
    }

    /// Runs jobs of [`Handler::KIND`].
    pub fn register<H: Handler>(mut self, handler: H) -> WorkerBuilder {
        self.handlers.push(Registered {
            kind: H::KIND.to_owned(),
            options: handler.options(),
            batch_max: None,
            run: handler::of_handler(handler),
        });
        self
    }

    /// Runs jobs of this kind many at a time: one call gets up to `jobs_max` of them. It returns an outcome for each, in their
    /// order, or one failure of them all. Another number of outcomes fails each of them, and so does a panic.
    ///
    /// Nothing waits for a batch to fill. While a call runs, the jobs of the kind gather in the database, and the next claim
    /// takes as many as there are; there is one call at a time. With a [`concurrency`](HandlerOptions::concurrency) of `n`
    /// times `jobs_max` there are up to `n`. Every job needs a place of the worker, so [`concurrency`](Self::concurrency), less
    /// what other kinds run or are just claiming, bounds a batch too, and so does [`batch_max`](Self::batch_max).
    ///
    /// Each job has a [`Context`] of its own: only that says whether this job was cancelled or its lease is lost. Middleware
    /// is around every job; one that awaits before it goes on makes batches smaller.
    ///
    /// ```no_run
    /// # #[derive(serde::Deserialize)] struct Mail { to: String }
    /// # async fn send_all(_: &[Mail]) -> std::io::Result<Vec<bool>> { Ok(Vec::new()) }
    /// # fn of(pool: tenure::Pool) -> tenure::Result<()> {
    /// use tenure::worker::{Context, Failure, Worker};
    ///
    /// let worker = Worker::builder(pool)
    ///     .concurrency(100)
    ///     .batch_handler("mail.send", 100, async |jobs: Vec<(Mail, Context)>| {
    ///         let mails: Vec<Mail> = jobs.into_iter().map(|(mail, _)| mail).collect();
    ///         let accepted = send_all(&mails).await?;
    ///         let outcome = |accepted| if accepted { Ok(()) } else { Err(Failure::permanent("refused")) };
    ///         Ok(accepted.into_iter().map(outcome).collect())
    ///     })
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn batch_handler<P, D, F, Fut>(self, kind: impl Into<String>, jobs_max: usize, handler: F) -> WorkerBuilder
    where
        P: DeserializeOwned + Send + 'static,
        D: Into<Done>,
        F: Fn(Vec<(P, Context)>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<Result<D, Failure>>, Failure>> + Send + 'static,
    {
        self.batch_handler_with(kind, jobs_max, HandlerOptions::default(), handler)
    }

    /// The same with options. A timeout is that of each job; a call is stopped when all its jobs are over.
    pub fn batch_handler_with<P, D, F, Fut>(
        mut self,
        kind: impl Into<String>,
        jobs_max: usize,
        options: HandlerOptions,
        handler: F,
    ) -> WorkerBuilder
    where
        P: DeserializeOwned + Send + 'static,
        D: Into<Done>,
        F: Fn(Vec<(P, Context)>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<Result<D, Failure>>, Failure>> + Send + 'static,
    {
        let calls_max = options.concurrency.unwrap_or(jobs_max).div_ceil(jobs_max.max(1)).max(1);
        self.handlers.push(Registered {
            kind: kind.into(),
            options,
            batch_max: Some(jobs_max),
            run: batch::of_closure(jobs_max, calls_max, handler),
        });
        self
    }

    /// Puts this around every run. The first one named is the outermost.
    pub fn middleware<F, Fut>(mut self, middleware: F) -> WorkerBuilder
    where
        F: Fn(Context, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Done, Failure>> + Send + 'static,
    {
        self.layers.push(middleware::of_closure(middleware));
        self
    }

    /// Declares a schedule. When the worker starts, before its first claim, it is made, or made equal to this, or left
    /// alone if it stands so; a pause stays. Any number of workers may declare the same. What is refused fails the start;
    /// the login must be allowed to operate (`tenure_operator` or above).
    ///
    /// The worker does not start its slots: a scheduler does, that of a server or of [`crate::services::run`] in this
    /// program, and a worker that has a handler for the kind runs them.
    ///
    /// ```no_run
    /// # fn of(pool: tenure::Pool) -> tenure::Result<()> {
    /// use tenure::schedules::NewSchedule;
    /// use tenure::worker::{Context, Worker};
    ///
    /// let worker = Worker::builder(pool)
    ///     .schedule("nightly", NewSchedule::cron("0 3 * * *", "report.build").zone("Europe/Berlin"))
    ///     .handler("report.build", async |_: serde_json::Value, context: Context| {
    ///         if let Some(slot) = context.slot() {
    ///             println!("the report of {}", slot.plan_time);
    ///         }
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn schedule(mut self, name: impl Into<String>, schedule: NewSchedule) -> WorkerBuilder {
        self.schedules.push((name.into(), schedule));
        self
    }

    /// Its name, as jobs and timelines show it. By default the host's name, the process id and something random.
    pub fn name(mut self, name: impl Into<String>) -> WorkerBuilder {
        self.settings.name = name.into().into();
        self
    }

    /// Only jobs for this executor.
    pub fn executor(mut self, executor: impl Into<String>) -> WorkerBuilder {
        self.settings.executor = Some(executor.into());
        self
    }

    /// Jobs at once, of all kinds together. By default 10.
    pub fn concurrency(mut self, concurrency: usize) -> WorkerBuilder {
        self.settings.concurrency = concurrency;
        self
    }

    /// Connections that take turns at recording and claiming: while one waits for the database, another runs its jobs.
    /// By default 2. Heartbeats have one more, beside the pool.
    pub fn connections(mut self, connections: usize) -> WorkerBuilder {
        self.settings.connections = connections;
        self
    }

    /// Jobs that one statement records or claims. By default 500.
    pub fn batch_max(mut self, batch_max: usize) -> WorkerBuilder {
        self.settings.batch_max = batch_max;
        self
    }

    /// Jobs to hold ready for places that become free: leased, not started, given back when they would wait too long. By
    /// default none. Kinds with a concurrency of their own are never buffered.
    pub fn buffer(mut self, buffer: usize) -> WorkerBuilder {
        self.settings.buffer = buffer;
        self
    }

    /// How long a claim lasts without a heartbeat: what a crash of this worker costs. In whole seconds; by default what
    /// the policy of the kind says.
    pub fn lease(mut self, lease: Duration) -> WorkerBuilder {
        self.settings.lease = Some(lease);
        self
    }

    /// The longest time between two heartbeats, by which cancel requests come; a third of the shortest lease if that is
    /// less. By default 15 seconds.
    pub fn heartbeat_interval(mut self, heartbeat_interval: Duration) -> WorkerBuilder {
        self.settings.heartbeat_interval = heartbeat_interval.clamp(Duration::from_millis(10), LONGEST);
        self
    }

    /// How often to look for work when nobody tells that there is some. By default every second.
    pub fn poll_interval(mut self, poll_interval: Duration) -> WorkerBuilder {
        self.settings.poll_interval = poll_interval.clamp(Duration::from_millis(1), LONGEST);
        self
    }

    /// How long running jobs may go on after a shutdown has begun. By default 30 seconds.
    pub fn drain(mut self, drain: Duration) -> WorkerBuilder {
        self.settings.drain = drain.min(LONGEST);
        self
    }

    /// How long a handler that was told to stop may take. By default 5 seconds.
    pub fn grace(mut self, grace: Duration) -> WorkerBuilder {
        self.settings.grace = grace.min(LONGEST);
        self
    }

    /// Where to listen for new work: the same database by a direct connection, not through PgBouncer in transaction
    /// mode. Without it the worker only polls.
    pub fn listen_url(mut self, url: impl Into<String>) -> WorkerBuilder {
        self.settings.listen_url = Some(url.into());
        self
    }

    /// The worker, if it can work that way.
    pub fn build(self) -> Result<Worker> {
        let Settings {
            concurrency,
            connections,
            batch_max,
            ..
        } = self.settings;
        let at_least_one = [
            ("concurrency", concurrency),
            ("connections", connections),
            ("batch_max", batch_max),
        ];
        if let Some((name, _)) = at_least_one.iter().find(|(_, number)| *number == 0) {
            return Err(refuse(
                format!("{name} is 0."),
                "A worker that may do nothing does nothing.",
            ));
        }
        if batch_max > BATCH_ROWS_MAX {
            let why = format!("A batch has at most {BATCH_ROWS_MAX} rows (batch_rows_max).");
            return Err(refuse(format!("batch_max is {batch_max}."), &why));
        }
        if connections >= self.pool.connections_max() {
            let why = format!(
                "One more is for handlers that report their progress, and for listening; the pool has {}.",
                self.pool.connections_max()
            );
            return Err(refuse(
                format!("The worker wants {connections} connections to take turns on."),
                &why,
            ));
        }
        if self.handlers.is_empty() {
            return Err(refuse(
                "The worker has no handler.".to_owned(),
                "It would claim nothing.",
            ));
        }
        let mut names = HashMap::new();
        for Registered {
            kind,
            options,
            batch_max,
            ..
        } in &self.handlers
        {
            if *batch_max == Some(0) {
                return Err(refuse(
                    format!("A batch of {kind} has at most 0 jobs."),
                    "None of its jobs would ever run.",
                ));
            }
            if names.insert(kind.as_str(), ()).is_some() {
                return Err(refuse(
                    format!("The kind {kind} has two handlers."),
                    "Only one could run a job.",
                ));
            }
            if options.concurrency == Some(0) {
                return Err(refuse(
                    format!("The concurrency of {kind} is 0."),
                    "None of its jobs would ever run.",
                ));
            }
        }
        if let Some((name, _)) = self
            .schedules
            .iter()
            .enumerate()
            .find_map(|(at, it)| self.schedules[..at].iter().any(|other| other.0 == it.0).then_some(it))
        {
            return Err(refuse(
                format!("The schedule {name} is declared twice."),
                "Only one of them could stand.",
            ));
        }
        // Handlers may use the pool too, and all of it may wait for a lock: heartbeats go on.
        let beats = self.pool.apart(&PoolOptions {
            connections_max: 1,
            ..PoolOptions::default()
        })?;
        Ok(Worker {
            pool: self.pool,
            beats,
            settings: self.settings,
            handlers: self.handlers,
            layers: self.layers.into(),
            schedules: self.schedules,
        })
    }
}

impl std::fmt::Debug for WorkerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerBuilder")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

fn refuse(what: String, why: &str) -> Error {
    Error::Refused(Refusal::new(
        codes::USAGE,
        what,
        why,
        "Set the worker up differently; see tenure::worker::WorkerBuilder.",
    ))
}

/// Host, process and something random: no two workers share it, and a person knows where to look.
fn default_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("HOSTNAME").ok())
        .or_else(|| std::env::var("COMPUTERNAME").ok())
        .unwrap_or_else(|| "worker".to_owned());
    let random = uuid::Uuid::new_v4().simple().to_string();
    let host: String = host.trim().chars().filter(|c| !c.is_control()).take(100).collect();
    format!("{host}-{}-{}", std::process::id(), &random[..6])
}
