//! The server tests share.

use std::env;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::sys::statvfs::{Statvfs, statvfs};
use nix::unistd::Pid;
use tokio::sync::OnceCell;
use tokio_postgres::{Client, Config};

use crate::{
    Cluster, ClusterOptions, PrivateError, account::Account, lock::is_held, ready::connect, reset::remove_abandoned,
    url::with_dbname,
};

/// A directory of a test run: this, the process id, and something random.
const PREFIX: &str = "tenure-test-";
/// Free memory below which a test run keeps its databases on disk.
const MEMORY_BYTES_MIN: u64 = 2 * 1024 * 1024 * 1024;

static SHARED: OnceCell<TestCluster> = OnceCell::const_new();

/// The one server of this test process.
#[derive(Debug)]
#[doc(hidden)]
pub enum TestCluster {
    /// A private cluster of this process.
    Private(Box<Cluster>),
    /// A server somebody else manages, by the URL of a database whose login may create databases.
    Given(String),
}

impl TestCluster {
    /// The server every test of this process shares, started by the first that asks.
    pub async fn shared() -> Result<&'static TestCluster, PrivateError> {
        SHARED.get_or_try_init(TestCluster::open).await
    }

    /// A server of the caller's own: the given one if the environment names it, else a new private cluster.
    pub async fn open() -> Result<TestCluster, PrivateError> {
        let given = ["TENURE_TEST_DATABASE_URL", "DATABASE_URL"]
            .iter()
            .find_map(|name| env::var(name).ok());
        match given.filter(|url| !url.trim().is_empty()) {
            Some(url) => Ok(TestCluster::Given(url)),
            None => TestCluster::private().await,
        }
    }

    /// A new private cluster, whatever the environment names: for a program that runs several test processes on one.
    pub async fn private() -> Result<TestCluster, PrivateError> {
        Ok(TestCluster::Private(Box::new(start().await?)))
    }

    /// The URL of one of its databases.
    pub fn url(&self, dbname: &str) -> String {
        match self {
            TestCluster::Private(cluster) => cluster.url(dbname),
            TestCluster::Given(url) => with_dbname(url, dbname),
        }
    }

    /// A connection that may create and drop databases.
    pub(super) async fn admin(&self) -> Result<Client, PrivateError> {
        let url = match self {
            TestCluster::Private(cluster) => cluster.url("postgres"),
            TestCluster::Given(url) => url.clone(),
        };
        let config: Config = url.parse().map_err(|error| unreachable_server(&error))?;
        connect(&config).await.map_err(|error| unreachable_server(&error))
    }
}

fn unreachable_server(error: &tokio_postgres::Error) -> PrivateError {
    PrivateError::new(
        "database_unreachable",
        "The test server does not answer.",
        format!("{error:?}"),
        "Check TENURE_TEST_DATABASE_URL and DATABASE_URL, or unset both to let tests start their own server.",
    )
}

/// Memory if there is plenty: a database is some hundred files, and making them on a disk takes longer than most tests.
fn base_dir() -> PathBuf {
    let memory = Path::new("/dev/shm");
    #[allow(clippy::unnecessary_cast)] // The types are narrower on some systems.
    let roomy = |disk: Statvfs| disk.blocks_available() as u64 * disk.fragment_size() as u64 >= MEMORY_BYTES_MIN;
    match env::var_os("TMPDIR") {
        None if statvfs(memory).is_ok_and(roomy) => memory.to_owned(),
        _ => env::temp_dir(),
    }
}

async fn start() -> Result<Cluster, PrivateError> {
    let base = base_dir();
    remove_those_of_dead_runs(&base).await;
    let failed = |error| PrivateError::from_io("create a temporary data directory in", &base, &error);
    let dir = tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-", std::process::id()))
        // Root's server runs as another account, which must be able to pass.
        .permissions(fs::Permissions::from_mode(0o711))
        .tempdir_in(&base)
        .map_err(failed)?;
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).map_err(failed)?;
    let mut options = ClusterOptions::new(dir.path());
    options.fsync = false;
    options.ephemeral = true;
    let cluster = Cluster::start(options).await?;
    // From here on the cluster removes it.
    let _ = dir.keep();
    Ok(cluster)
}

/// A run that was killed together with its watcher leaves its directory; the next run takes it away.
async fn remove_those_of_dead_runs(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    let Ok(account) = Account::current_or_unprivileged() else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split('-').next()?.parse().ok());
        let Some(pid) = pid.filter(|pid: &i32| *pid > 0).map(Pid::from_raw) else {
            continue;
        };
        let Ok(metadata) = fs::symlink_metadata(entry.path()) else {
            continue;
        };
        let ours =
            metadata.is_dir() && [account.uid.as_raw(), nix::unistd::geteuid().as_raw()].contains(&metadata.uid());
        // A run that has just begun holds no lock yet, but its process is there.
        let alive = nix::sys::signal::kill(pid, None) != Err(nix::errno::Errno::ESRCH);
        if ours && !alive && !is_held(&entry.path()) {
            remove_abandoned(&entry.path()).await;
        }
    }
}
