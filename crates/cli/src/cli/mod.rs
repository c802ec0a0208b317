//! The commands, one file per noun.

mod action;
mod approval;
mod approval_rule;
mod bench;
mod completions;
mod config;
mod context;
mod dead_letter;
mod doctor;
mod errors;
mod event;
mod evidence;
mod execution;
mod executor;
mod gate;
pub(crate) mod generic;
mod governance;
mod health;
mod init;
mod job;
mod key;
mod kind;
mod lock;
mod login;
mod migrate;
mod plan;
mod principal;
mod private;
mod psql;
mod reap;
mod schedule;
mod serve;
mod subscription;
mod sweep;
mod target_type;
mod tenant;
mod timeout_policy;
mod verb;

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};

use crate::connect::Place;
use crate::dev;
use crate::errors::Outcome;
use crate::logs;
use crate::output::{Format, Output};
use crate::remote::{Reach, reach_of};

pub(crate) use config::open_actions;
pub(crate) use evidence::ensure_evidence_key;
pub(crate) use gate::open_all as open_all_gates;
pub(crate) use key::first_key;
pub(crate) use migrate::{apply as migrate_to, sentence as migrated_sentence};
pub(crate) use serve::{LISTEN, listen};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const AFTER_HELP: &str = "\
Where to work:
  a database  --database-url, --data-dir, or DATABASE_URL
  a server    --server, --context, TENURE_SERVER, or TENURE_CONTEXT; `tenure context show` says which
  else the default context (`tenure context use`), else the database of a running `tenure dev`

Answers:
  for people    tables and sentences, times in the local zone
  with --json   one document per line on standard output, a refusal too
  with --quiet  ids only
  A refusal for people is on standard error: what happened, why, what to do next.

Exit codes:
  0 ok           3 refused        6 lease lost
  1 unexpected   4 not found      7 database or server unreachable
  2 usage        5 gate closed    8 schema missing, too old or too new
  `tenure errors CODE` explains a refusal.";

/// How long a server may take to answer, unless somebody says otherwise, and at the most.
const TIMEOUT_SECONDS: u32 = 30;
const TIMEOUT_SECONDS_MAX: i64 = 3600;

/// Work that must not be lost, must not run twice by accident, and must not run without permission.
#[derive(Debug, Parser)]
#[command(name = "tenure", version, styles = STYLES, after_help = AFTER_HELP, max_term_width = 120)]
#[command(subcommand_required = true, arg_required_else_help = true, infer_long_args = false)]
pub(crate) struct Cli {
    #[command(flatten)]
    globals: Globals,
    /// The key for the server, before the command; - is the first line of standard input [env: TENURE_KEY]
    // Everybody on the machine sees the arguments of a process: --key-file and contexts keep a key out of them. It is not
    // for every place, since `job enqueue --key` is the key of a job.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    #[command(subcommand)]
    command: Command,
}

/// Options every command knows.
#[derive(Debug, Args)]
pub(crate) struct Globals {
    /// The database, such as postgres://user@host/name?sslmode=verify-full [env: DATABASE_URL]
    #[arg(long, global = true, value_name = "URL", help_heading = "Global options")]
    pub(crate) database_url: Option<String>,
    /// The data directory of `tenure dev` [default: /var/lib/tenure for root, else in the user's data directory]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) data_dir: Option<PathBuf>,
    /// A server to ask instead of a database, such as https://tenure.example [env: TENURE_SERVER]
    #[arg(long, global = true, value_name = "URL", help_heading = "Global options")]
    pub(crate) server: Option<String>,
    /// A saved server to ask, see `tenure context` [env: TENURE_CONTEXT]
    #[arg(long, global = true, value_name = "NAME", help_heading = "Global options")]
    pub(crate) context: Option<String>,
    /// The file with the key for the server [env: TENURE_KEY holds the key itself]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub(crate) key_file: Option<PathBuf>,
    /// PEM certificates of the authority that signed the server's [default: those of the system]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        help_heading = "Global options",
        hide_short_help = true
    )]
    pub(crate) ca_file: Option<PathBuf>,
    /// Send the key unencrypted to another machine
    #[arg(long, global = true, help_heading = "Global options", hide_short_help = true)]
    pub(crate) allow_plaintext: bool,
    /// How long an answer of the server may take
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = TIMEOUT_SECONDS, help_heading = "Global options", hide_short_help = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=TIMEOUT_SECONDS_MAX))]
    pub(crate) timeout: u32,
    /// The tenant to act in; needs a login that is trusted to name it [env: TENURE_TENANT]
    #[arg(long, global = true, value_name = "NAME", help_heading = "Global options")]
    pub(crate) tenant: Option<String>,
    /// The principal to act as, on a database; needs a login that is trusted to name it
    #[arg(
        long = "as",
        global = true,
        value_name = "PRINCIPAL",
        help_heading = "Global options",
        hide_short_help = true
    )]
    pub(crate) acting_as: Option<String>,
    /// Answer in JSON, one document per line
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// Print only what a script needs: ids, or one word
    #[arg(long, short, global = true, conflicts_with = "json", help_heading = "Global options")]
    pub(crate) quiet: bool,
}

impl Globals {
    fn output(&self) -> Output {
        let format = match (self.json, self.quiet) {
            (true, _) => Format::Json,
            (false, true) => Format::Quiet,
            (false, false) => Format::People,
        };
        Output { format }
    }
}

/// For whom the caller acts.
#[derive(Debug, Args)]
pub(crate) struct Behalf {
    /// The person or program this is done for; kept beside who really did it
    #[arg(long, value_name = "NAME")]
    pub(crate) on_behalf_of: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a private database with everything on, in the foreground
    Dev(dev::Dev),
    /// Serve the API over HTTP, on a database that is there
    Serve(serve::Serve),
    /// Prepare a database: migrate it and open the gates
    Init(init::Init),
    /// Bring a database to this program's schema
    Migrate(migrate::Migrate),
    /// Enqueue, claim, finish and look at jobs
    #[command(subcommand)]
    Job(job::Job),
    /// Policies of job kinds
    #[command(subcommand)]
    Kind(kind::Kind),
    /// Jobs that gave up: look, triage, replay
    #[command(subcommand, visible_alias = "dead-letters")]
    DeadLetter(verb::Chosen<dead_letter::DeadLetter>),
    /// What happened, as a stream
    #[command(subcommand)]
    Event(event::Event),
    /// Being told of events: by jobs, by webhooks, or by reading
    #[command(subcommand)]
    Subscription(subscription::Subscription),
    /// Planned runs: rules, and every slot of them
    #[command(subcommand)]
    Schedule(schedule::Schedule),
    /// Plans before they are submitted: check, hash and look at them
    #[command(subcommand)]
    Plan(plan::Plan),
    /// Frozen plans: submit, approve and watch them, and decide about them
    #[command(subcommand)]
    Execution(execution::Execution),
    /// What is to be approved, who decided, and the rules about who must
    #[command(subcommand)]
    Approval(approval::Approval),
    /// Registered actions: what they are, and the least that their steps must have
    #[command(subcommand)]
    Action(verb::Chosen<action::Action>),
    /// Types of targets, and how their references are compared
    #[command(subcommand)]
    TargetType(verb::Chosen<target_type::TargetType>),
    /// Changes of actions, rules and governed settings that wait for a second admin
    #[command(subcommand)]
    Governance(governance::Governance),
    /// Locks on targets: who holds them, and who waits
    #[command(subcommand)]
    Lock(lock::Lock),
    /// How long executions, steps and leases may take
    #[command(subcommand)]
    TimeoutPolicy(verb::Chosen<timeout_policy::TimeoutPolicy>),
    /// What proves an execution: check it, tell its story, keep its keys
    #[command(subcommand)]
    Evidence(evidence::Evidence),
    /// Who may hold work, and who is alive
    #[command(subcommand)]
    Executor(verb::Chosen<executor::Executor>),
    /// Tenants, the walls between customers
    #[command(subcommand)]
    Tenant(verb::Chosen<tenant::Tenant>),
    /// Bind database logins to tenant and principal
    #[command(subcommand)]
    Login(verb::Chosen<login::Login>),
    /// Who acts: people, agents and services, and up to which level they approve
    #[command(subcommand)]
    Principal(principal::Principal),
    /// Keys for the API: who may act over HTTP, and how
    #[command(subcommand)]
    Key(key::Key),
    /// Servers to work with, saved under names
    #[command(subcommand)]
    Context(context::Context),
    /// Settings of the installation or of a tenant
    #[command(subcommand)]
    Config(config::Config),
    /// Open and close what may run
    #[command(subcommand)]
    Gate(gate::Gate),
    /// End what nobody holds any more
    Reap(reap::Reap),
    /// Clean jobs whose retention has passed
    Sweep(sweep::Sweep),
    /// Backlog, leases, executors and gates in one look
    Health(health::Health),
    /// Check the installation, and say what to do about each finding
    Doctor(doctor::Doctor),
    /// Measure how fast it is here
    Bench(bench::Bench),
    /// Open psql on the database in use
    Psql(psql::Psql),
    /// Explain a refusal code
    Errors(errors::Errors),
    /// Print the completions of a shell
    Completions(completions::Completions),
    /// The private PostgreSQL, for scripts
    #[command(subcommand, hide = true)]
    Private(private::Private),
}

impl Cli {
    /// Whether it will answer requests for a while.
    pub(crate) fn is_server(&self) -> bool {
        matches!(self.command, Command::Dev(_) | Command::Serve(_))
    }

    /// Does what the command line asks for; `words` are those of the command.
    pub(crate) async fn run(self, words: &str) -> Outcome {
        // A server has settings for its log, and reads them first.
        if !matches!(self.command, Command::Serve(_)) {
            logs::start_for_commands();
        }
        let out = self.globals.output();
        let place = Place::new(self.globals, self.key);
        place.check(words, reach_of(words).unwrap_or(Reach::Database))?;
        match self.command {
            Command::Dev(command) => command.run(place, out).await,
            Command::Serve(command) => command.run(place, out).await,
            Command::Init(command) => command.run(place, out).await,
            Command::Migrate(command) => command.run(place, out).await,
            Command::Private(command) => command.run().await,
            Command::Bench(command) => command.run(place, out).await,
            Command::Psql(command) => command.run(place).await,
            Command::Plan(command) => command.run(place, out).await,
            Command::Evidence(command) => command.run(place, out).await,
            Command::Errors(command) => command.run(out),
            Command::Completions(command) => command.run(out),
            Command::Context(command) => command.run(place, out).await,
            Command::Doctor(command) => command.run(place, out).await,
            Command::Job(command) => command.run(place.session(out).await?).await,
            Command::Kind(command) => command.run(place.session(out).await?).await,
            Command::DeadLetter(command) => command.run(place.session(out).await?).await,
            Command::Event(command) => command.run(place.session(out).await?).await,
            Command::Subscription(command) => command.run(place.session(out).await?).await,
            Command::Schedule(command) => command.run(place, out).await,
            Command::Execution(command) => command.run(place.session(out).await?).await,
            Command::Approval(command) => command.run(place.session(out).await?).await,
            Command::Action(command) => command.run(place.session(out).await?).await,
            Command::TargetType(command) => command.run(place.session(out).await?).await,
            Command::Governance(command) => command.run(place.session(out).await?).await,
            Command::Lock(command) => command.run(place.session(out).await?).await,
            Command::TimeoutPolicy(command) => command.run(place.session(out).await?).await,
            Command::Executor(command) => command.run(place.session(out).await?).await,
            Command::Tenant(command) => command.run(place.session(out).await?).await,
            Command::Login(command) => command.run(place.session(out).await?).await,
            Command::Principal(command) => command.run(place.session(out).await?).await,
            Command::Key(command) => command.run(place.session(out).await?).await,
            Command::Config(command) => command.run(place, out).await,
            Command::Gate(command) => command.run(place.session(out).await?).await,
            Command::Reap(command) => command.run(place.session(out).await?).await,
            Command::Sweep(command) => command.run(place.session(out).await?).await,
            Command::Health(command) => command.run(place.session(out).await?).await,
        }
    }
}
