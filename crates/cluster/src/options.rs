//! What a caller may choose about a private cluster.

use std::path::PathBuf;
use std::time::Duration;

use super::find::Search;

/// How long a server may take until it answers, crash recovery included.
const START_SECONDS_MAX: u64 = 120;

/// Choices for [`Cluster::start`](super::Cluster::start).
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// Where the cluster lives; the server's own files are in `pg<MAJOR>` below it.
    pub data_dir: PathBuf,
    /// Off only where losing everything with the machine is fine, such as a test run.
    pub fsync: bool,
    /// Also listen on this loopback port. The Unix socket is always there.
    pub tcp_port: Option<u16>,
    /// Where the socket directory is made; short, because a socket path has a limit. `/tmp` unless chosen.
    pub runtime_base: Option<PathBuf>,
    /// The data directory is removed with all that is in it when the cluster stops, however it stops: for temporary
    /// directories only.
    pub ephemeral: bool,
    /// Further settings of the server by name, such as `shared_buffers`; they go before ours.
    pub settings: Vec<(String, String)>,
    /// Where to look for PostgreSQL.
    pub search: Search,
    /// How long the server may take until it answers.
    pub start_timeout: Duration,
}

impl ClusterOptions {
    /// The durable defaults in this data directory: fsync on, Unix socket only.
    pub fn new(data_dir: impl Into<PathBuf>) -> ClusterOptions {
        ClusterOptions {
            data_dir: data_dir.into(),
            fsync: true,
            tcp_port: None,
            runtime_base: std::env::var_os("TENURE_RUNTIME_DIR")
                .filter(|v| !v.is_empty())
                .map(PathBuf::from),
            ephemeral: false,
            settings: Vec::new(),
            search: Search::from_env(),
            start_timeout: Duration::from_secs(START_SECONDS_MAX),
        }
    }
}
