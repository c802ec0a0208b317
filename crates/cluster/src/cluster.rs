//! The cluster itself: started, answering, stopped.

use std::fs;
use std::io;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::Config;

use super::account::Account;
use super::data_dir;
use super::error::PrivateError;
use super::find::{Installation, find_for};
use super::initdb::{Initdb, PASSWORD_FILE};
use super::launch::{Launch, open_log};
use super::lock::DataDirLock;
use super::log::{Log, explain_log};
use super::options::ClusterOptions;
use super::running::{Running, forget, record};
use super::runtime_dir::RuntimeDir;
use super::supervise::Supervised;
use super::url::{SOCKET_PORT, SUPERUSER, encode, socket_url};

/// How often a server that should keep running is looked at.
const WATCH: Duration = Duration::from_millis(100);

/// A running private cluster. It stops when dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct Cluster {
    server: Supervised,
    data_dir: PathBuf,
    socket_dir: RuntimeDir,
    installation: Installation,
    /// Names the socket file, and is a loopback port only if TCP was asked for.
    port: u16,
    tcp: bool,
    ephemeral: bool,
    log: Log,
    stopped: bool,
    // Last, so that the directory is free only once the server is gone.
    _lock: DataDirLock,
}

impl Cluster {
    /// Starts a cluster in this data directory, creating it if needed, and returns when it answers queries.
    pub async fn start(options: ClusterOptions) -> Result<Cluster, PrivateError> {
        let account = Account::current_or_unprivileged()?;
        let installed = find_for(&options.search, &account)?;
        let data_dir = data_dir::create(&options.data_dir)?;
        let lock = DataDirLock::acquire(&data_dir).await?;
        forget(&data_dir);
        data_dir::remove_unfinished(&data_dir).await;
        let installation = data_dir::choose(installed, &data_dir)?;
        let server_dir = data_dir::server_dir(&data_dir, installation.major);
        let account = account.owner_of(&server_dir)?;
        account.check_reach(&data_dir)?;
        if options.ephemeral && account.steps_down {
            // The watcher removes the directory after a death, and it runs as that account.
            chown(&data_dir, Some(account.uid.as_raw()), Some(account.gid.as_raw()))
                .map_err(|error| PrivateError::from_io("hand over the data directory", &data_dir, &error))?;
        }
        let socket_dir = RuntimeDir::prepare(options.runtime_base.as_deref(), &data_dir, &account)?;

        let log = open_log(&data_dir)?;
        if fs::symlink_metadata(server_dir.join("PG_VERSION")).is_err() {
            let initdb = Initdb {
                installation: &installation,
                data_dir: &data_dir,
                account: &account,
                log: &log,
                fsync: options.fsync,
            };
            initdb.run().await?;
        }
        let launch = Launch {
            options: &options,
            installation: &installation,
            account: &account,
            socket_dir: socket_dir.path(),
        };
        let (server, log) = launch.until_ready(&data_dir, &server_dir).await?;
        let cluster = Cluster {
            server,
            data_dir,
            socket_dir,
            installation,
            port: options.tcp_port.unwrap_or(SOCKET_PORT),
            tcp: options.tcp_port.is_some(),
            ephemeral: options.ephemeral,
            log,
            stopped: false,
            _lock: lock,
        };
        record(&cluster.data_dir, &cluster.running())
            .map_err(|error| PrivateError::from_io("write running.json in", &cluster.data_dir, &error))?;
        Ok(cluster)
    }

    /// The URL of one of its databases, over the Unix socket.
    pub fn url(&self, dbname: &str) -> String {
        socket_url(self.socket_dir.path(), self.port, dbname)
    }

    /// The URL over the loopback port, with its password, if a port was asked for.
    pub fn tcp_url(&self, dbname: &str) -> Option<String> {
        let password = fs::read_to_string(self.server_dir().join(PASSWORD_FILE))
            .ok()
            .filter(|_| self.tcp)?;
        let (password, port) = (encode(password.trim()), self.port);
        Some(format!(
            "postgresql://{SUPERUSER}:{password}@127.0.0.1:{port}/{}",
            encode(dbname)
        ))
    }

    /// The client configuration for one of its databases, over the Unix socket.
    pub fn config(&self, dbname: &str) -> Config {
        let mut config = Config::new();
        config
            .host_path(self.socket_dir.path())
            .port(self.port)
            .user(SUPERUSER)
            .dbname(dbname);
        config
    }

    /// The PostgreSQL it runs on.
    pub fn installation(&self) -> &Installation {
        &self.installation
    }

    /// Where it lives, symbolic links resolved.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The server's log file.
    pub fn log_path(&self) -> &Path {
        self.log.path()
    }

    /// What commands in another terminal learn about it.
    pub fn running(&self) -> Running {
        Running {
            url: self.url("postgres"),
            pid: std::process::id(),
            postmaster_pid: self.server.pid().as_raw(),
        }
    }

    /// Waits until the server ends by itself, and says why it did.
    pub async fn failed(&mut self) -> PrivateError {
        while matches!(self.server.exited(), Ok(None)) {
            tokio::time::sleep(WATCH).await;
        }
        let refusal = explain_log("The database stopped by itself.", &self.log.tail(), self.log.path());
        match refusal.code {
            "database_start_failed" => PrivateError {
                code: "database_unreachable",
                ..refusal
            },
            _ => refusal,
        }
    }

    /// Stops the server in good order: sessions are ended, everything committed is on disk.
    pub async fn stop(mut self) -> Result<(), PrivateError> {
        let data_dir = self.data_dir.clone();
        let stopped = tokio::task::spawn_blocking(move || self.shut_down()).await;
        stopped
            .unwrap_or_else(|panic| Err(io::Error::other(panic)))
            .map_err(|error| PrivateError::from_io("stop the database in", &data_dir, &error))
    }

    fn server_dir(&self) -> PathBuf {
        data_dir::server_dir(&self.data_dir, self.installation.major)
    }

    fn shut_down(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.stopped, true) {
            return Ok(());
        }
        // Forgotten first: nobody should be sent to a server that is about to go.
        forget(&self.data_dir);
        self.server.stop()?;
        if self.ephemeral {
            fs::remove_dir_all(&self.data_dir)?;
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Err(error) = self.shut_down() {
            tracing::warn!(%error, data_dir = %self.data_dir.display(), "the private database did not stop in order");
        }
    }
}
