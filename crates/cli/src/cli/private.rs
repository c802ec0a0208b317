//! `tenure private`: the private PostgreSQL for scripts, such as the one that runs the tests.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use clap::{Args, Subcommand, ValueEnum};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tenure_cluster::Cluster;
use tenure_cluster::testing::TestCluster;
use tenure_core::codes;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use crate::errors::{Failure, Outcome, refuse};
use crate::temporary::{self, Setting};

/// What the child finds the throw-away server by.
const URL_VARIABLE: &str = "TENURE_TEST_DATABASE_URL";

#[derive(Debug, Subcommand)]
pub(crate) enum Private {
    /// Run a command with a throw-away PostgreSQL, named by TENURE_TEST_DATABASE_URL
    Exec(Exec),
}

#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// Whether the server survives a crash of the machine, which costs time
    #[arg(long, value_enum, default_value = "off")]
    fsync: Fsync,
    /// A setting of the server, such as shared_buffers=1GB; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<Setting>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Fsync {
    Off,
    On,
}

impl Private {
    pub(super) async fn run(self) -> Outcome {
        let Private::Exec(exec) = self;
        exec.run().await
    }
}

impl Exec {
    async fn run(self) -> Outcome {
        let (program, arguments) = self.command.split_first().expect("the parser requires one");
        // Listening begins before the server starts: a signal in between must not leave it behind.
        let mut signals = Signals::listen()?;
        let server = match self.fsync {
            Fsync::Off if self.settings.is_empty() => Server::Fast(TestCluster::private().await?),
            fsync => Server::Chosen(Box::new(temporary::start(fsync == Fsync::On, &self.settings).await?)),
        };
        let mut child = Command::new(program)
            .args(arguments)
            .env(URL_VARIABLE, server.url())
            .spawn()
            .map_err(|error| {
                refuse(
                    codes::USAGE,
                    format!("{} cannot be run.", program.to_string_lossy()),
                    error.to_string(),
                    "Check the command after --.",
                )
            })?;
        let status = signals.wait(&mut child).await?;
        server.stop().await?;
        match status.code().or(status.signal().map(|signal| 128 + signal)) {
            Some(0) => Ok(()),
            code => Err(Failure::Told(
                code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX),
            )),
        }
    }
}

enum Server {
    /// The one that tests start: in memory where there is plenty.
    Fast(TestCluster),
    /// On a disk, with the settings asked for.
    Chosen(Box<Cluster>),
}

impl Server {
    fn url(&self) -> String {
        match self {
            Server::Fast(cluster) => cluster.url("postgres"),
            Server::Chosen(cluster) => cluster.url("postgres"),
        }
    }

    async fn stop(self) -> Outcome {
        match self {
            Server::Fast(TestCluster::Private(cluster)) | Server::Chosen(cluster) => cluster.stop().await?,
            Server::Fast(TestCluster::Given(_)) => {}
        }
        Ok(())
    }
}

/// Signals that would end us. The terminal sends Ctrl-C to the child as well; what is sent to us alone is passed on.
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

impl Signals {
    fn listen() -> Outcome<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn wait(&mut self, child: &mut Child) -> Outcome<ExitStatus> {
        loop {
            tokio::select! {
                status = child.wait() => return Ok(status?),
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => pass_on(child, Signal::SIGTERM),
                _ = self.hang_up.recv() => pass_on(child, Signal::SIGHUP),
            }
        }
    }
}

fn pass_on(child: &Child, signal: Signal) {
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()) {
        // Gone already is as good.
        let _ = kill(Pid::from_raw(pid), signal);
    }
}
