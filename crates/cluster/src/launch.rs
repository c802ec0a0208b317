//! Launches the server and waits until it answers.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::account::Account;
use super::error::PrivateError;
use super::find::Installation;
use super::log::{Log, explain_log};
use super::options::ClusterOptions;
use super::orphan::stop_orphan;
use super::ready::answers;
use super::supervise::{Spec, Supervised};
use super::url::{SOCKET_PORT, socket_url};

const CONNECTIONS_MAX: u32 = 200;
const POLL: Duration = Duration::from_millis(10);
/// What PostgreSQL says while processes of a killed server are still ending.
const STILL_ENDING: [&str; 2] = [
    "pre-existing shared memory block",
    "lock file \"postmaster.pid\" already exists",
];
const STILL_ENDING_SECONDS_MAX: u64 = 20;

pub(crate) fn open_log(data_dir: &Path) -> Result<Log, PrivateError> {
    Log::open(data_dir).map_err(|error| PrivateError::from_io("open the log in", data_dir, &error))
}

/// How to launch the server.
pub(crate) struct Launch<'a> {
    pub(crate) options: &'a ClusterOptions,
    pub(crate) installation: &'a Installation,
    pub(crate) account: &'a Account,
    pub(crate) socket_dir: &'a Path,
}

impl Launch<'_> {
    /// Launches, and again while processes of a killed predecessor still hold the files.
    pub(crate) async fn until_ready(
        &self,
        data_dir: &Path,
        server_dir: &Path,
    ) -> Result<(Supervised, Log), PrivateError> {
        let deadline = Instant::now() + Duration::from_secs(STILL_ENDING_SECONDS_MAX);
        loop {
            stop_orphan(server_dir).await?;
            let log = open_log(data_dir)?;
            let mut server = self
                .spawn(data_dir, server_dir, &log)
                .map_err(|error| PrivateError::from_io("run the server in", server_dir, &error))?;
            match self.ready(&mut server, &log).await {
                Ok(()) => return Ok((server, log)),
                Err(refusal)
                    if Instant::now() < deadline && STILL_ENDING.iter().any(|text| refusal.why.contains(text)) =>
                {
                    tokio::time::sleep(POLL * 10).await;
                }
                Err(refusal) => return Err(refusal),
            }
        }
    }

    /// Ready means that our own child answers a query.
    async fn ready(&self, server: &mut Supervised, log: &Log) -> Result<(), PrivateError> {
        let url = socket_url(self.socket_dir, self.port(), "postgres");
        let deadline = Instant::now() + self.options.start_timeout;
        loop {
            if answers(&url).await == Some(server.pid().as_raw()) {
                return Ok(());
            }
            match server.exited() {
                Ok(None) if Instant::now() < deadline => tokio::time::sleep(POLL).await,
                _ => return Err(explain_log("The database did not start.", &log.tail(), log.path())),
            }
        }
    }

    fn spawn(&self, data_dir: &Path, server_dir: &Path, log: &Log) -> io::Result<Supervised> {
        let mut args = vec!["-D".to_owned(), server_dir.display().to_string()];
        let ours = self
            .settings()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        // The last word counts, and the caller has it.
        for (name, value) in ours.chain(self.options.settings.iter().cloned()) {
            args.extend(["-c".to_owned(), format!("{name}={value}")]);
        }
        let ephemeral = self.options.ephemeral;
        Supervised::spawn(Spec {
            program: self.installation.bin_dir.join("postgres"),
            args,
            account: self.account,
            current_dir: data_dir,
            output: log.writer()?,
            // Nothing to keep, nothing to write down before the end.
            stop_signal: if ephemeral { Signal::SIGQUIT } else { Signal::SIGINT },
            remove_after_death: if ephemeral {
                vec![data_dir.to_owned(), self.socket_dir.to_owned()]
            } else {
                vec![]
            },
        })
    }

    /// On the command line, so that a data directory made by an older Tenure starts with today's settings.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let on_off = |on: bool| if on { "on" } else { "off" }.to_owned();
        let mut settings = vec![
            // Quoted, because a comma would separate two directories.
            ("unix_socket_directories", format!("\"{}\"", self.socket_dir.display())),
            ("unix_socket_permissions", "0700".to_owned()),
            (
                "listen_addresses",
                if self.options.tcp_port.is_some() {
                    "127.0.0.1"
                } else {
                    ""
                }
                .to_owned(),
            ),
            ("port", self.port().to_string()),
            ("max_connections", CONNECTIONS_MAX.to_string()),
            ("fsync", on_off(self.options.fsync)),
            ("full_page_writes", on_off(self.options.fsync)),
            ("logging_collector", on_off(false)),
            ("log_destination", "stderr".to_owned()),
            ("log_timezone", "UTC".to_owned()),
            ("timezone", "UTC".to_owned()),
            ("cluster_name", "tenure".to_owned()),
        ];
        if self.options.ephemeral {
            // What is shared lies in the data directory and goes with it; a killed server would leave it elsewhere.
            settings.push(("dynamic_shared_memory_type", "mmap".to_owned()));
            settings.push(("max_wal_size", "256MB".to_owned()));
        }
        settings
    }

    fn port(&self) -> u16 {
        self.options.tcp_port.unwrap_or(SOCKET_PORT)
    }
}
