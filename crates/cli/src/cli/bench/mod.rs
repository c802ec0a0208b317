//! `tenure bench`: how fast it is here, through the same worker that programs embed.

mod cost;
mod course;
mod crew;
mod drain;
mod enqueue;
mod executions;
mod ground;
mod http;
mod latency;
mod load;
mod marks;
mod percentiles;
mod report;
mod schedules;
mod server;
mod soak;
mod steady;

use clap::{Args, Subcommand};
use tenure_core::codes;

use self::ground::Ground;
use self::load::KIND;
use self::report::Report;
use crate::connect::{Choice, Place};
use crate::errors::{Failure, Outcome, refuse};
use crate::output::{Format, Output};
use crate::stop::Stop;
use crate::temporary::Setting;

/// As a shell has it: 128 and the number of the signal.
const EXIT_INTERRUPTED: u8 = 130;

const AFTER_HELP: &str = "\
Where it runs:
  without a database named   on a PostgreSQL of its own, made for the run and removed after it
  --database-url and others  on that database, after asking: it must be migrated and its gates open;
                             jobs of the kind bench.noop are made and run there

Examples:
  tenure bench drain
  tenure bench drain --backlog 1000000
  tenure bench enqueue --one-by-one
  tenure bench latency --markdown
  tenure bench steady --seconds 600
  tenure bench soak --rate 10000 --seconds 600
  tenure bench http
  tenure bench schedules
  tenure bench executions --batch 100";

/// Measure how fast it is here
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Bench {
    #[command(subcommand)]
    phase: Phase,
    /// Do not ask before writing into a database of yours
    #[arg(long, short, global = true)]
    yes: bool,
    /// Answer with a Markdown table
    #[arg(long, global = true)]
    markdown: bool,
    /// A setting of the server that is started for the run, such as shared_buffers=256MB
    #[arg(long = "set", global = true, value_name = "NAME=VALUE")]
    settings: Vec<Setting>,
}

#[derive(Debug, Subcommand)]
enum Phase {
    /// Empty a queue that is full: jobs in a second, WAL and commits per job
    Drain(drain::Drain),
    /// Fill a queue, in bulk or one by one
    Enqueue(enqueue::Enqueue),
    /// Wake an idle worker: from commit to the start of the handler
    Latency(latency::Latency),
    /// Producer and worker together for a while: does the rate hold?
    Steady(steady::Steady),
    /// The same twice, without and with a transaction that is left open
    Soak(soak::Soak),
    /// The same work over HTTP and over SQL, and what it costs to keep many waiting
    Http(http::Http),
    /// Many schedules that are due in the same second, and many that are not due at all
    Schedules(schedules::Schedules),
    /// Steps that follow each other in executions, beside plain jobs
    Executions(executions::Executions),
}

impl Bench {
    pub(super) async fn run(self, place: Place, out: Output) -> Outcome {
        if self.markdown && out.format != Format::People {
            return Err(refuse(
                codes::USAGE,
                "--markdown is given with --json or --quiet.",
                "Each is a form of the answer.",
                "Leave one out.",
            ));
        }
        let on_own = matches!(place.choice()?, Choice::Private { default: true, .. });
        self.phase.check(on_own)?;
        // Listening begins before a server starts: a signal in between must not leave it behind.
        let mut stop = Stop::listen()?;
        let makes = (!self.yes).then(|| self.phase.makes());
        let ground = tokio::select! {
            ground = Ground::prepare(&place, &self.settings, makes.as_deref(), out) => ground?,
            () = stop.asked() => return Err(Failure::Told(EXIT_INTERRUPTED)),
        };
        let measured = tokio::select! {
            report = self.phase.run(&place, &ground) => report,
            () = stop.asked() => Err(self.phase.interrupted(&ground)),
        };
        ground.stop().await?;
        measured?.print(out, self.markdown)
    }
}

impl Phase {
    fn check(&self, on_own: bool) -> Outcome {
        match self {
            Phase::Drain(drain) => drain.check(on_own),
            Phase::Enqueue(enqueue) => enqueue.check(),
            Phase::Latency(latency) => latency.check(),
            Phase::Steady(steady) => steady.check(),
            Phase::Soak(soak) => soak.check(),
            Phase::Http(http) => http.check(),
            Phase::Schedules(schedules) => schedules.check(),
            Phase::Executions(executions) => executions.check(),
        }
    }

    async fn run(&self, place: &Place, ground: &Ground) -> Outcome<Report> {
        match self {
            Phase::Drain(drain) => drain.run(ground).await,
            Phase::Enqueue(enqueue) => enqueue.run(ground).await,
            Phase::Latency(latency) => latency.run(ground).await,
            Phase::Steady(steady) => steady.run(ground).await,
            Phase::Soak(soak) => soak.run(place, ground).await,
            Phase::Http(http) => http.run(ground).await,
            Phase::Schedules(schedules) => schedules.run(ground).await,
            Phase::Executions(executions) => executions.run(ground).await,
        }
    }

    /// What is left in a database of the user's, until its retention.
    fn makes(&self) -> String {
        match self {
            Phase::Schedules(_) => format!("schedules and jobs of the kind {KIND}"),
            Phase::Executions(_) => format!("jobs of the kind {KIND}, {},", executions::MAKES),
            _ => format!("jobs of the kind {KIND}"),
        }
    }

    fn interrupted(&self, ground: &Ground) -> Failure {
        if !ground.is_own() {
            ground.out.note(&format!(
                "Jobs of the kind {KIND} may be left; `tenure bench drain --skip-enqueue` runs them."
            ));
            if let Phase::Executions(_) = self {
                ground.out.note(executions::LEFT);
            }
        }
        Failure::Told(EXIT_INTERRUPTED)
    }
}
