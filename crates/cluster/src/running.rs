//! What a managing process leaves for commands in another terminal: where its server answers.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::lock::is_held;
use super::ready::answers;

const RUNNING_FILE: &str = "running.json";

/// A cluster that another process, or this one, manages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Where its database `postgres` answers.
    pub url: String,
    /// The managing process.
    pub pid: u32,
    /// The server it manages.
    pub postmaster_pid: i32,
}

/// The cluster that runs on this data directory, if one does.
///
/// A file left by a killed process is not believed: its lock must be held, and the server must answer.
pub async fn running(data_dir: impl AsRef<Path>) -> Option<Running> {
    let data_dir = data_dir.as_ref();
    let running = recorded(data_dir)?;
    if !is_held(data_dir) || answers(&running.url).await != Some(running.postmaster_pid) {
        return None;
    }
    Some(running)
}

/// What the file says, which may be about a process long gone.
pub(crate) fn recorded(data_dir: &Path) -> Option<Running> {
    let text = fs::read(data_dir.join(RUNNING_FILE)).ok()?;
    tenure_core::json::parse_bytes(&text).ok()
}

/// The number at the start of a file, such as a lock file.
pub(crate) fn recorded_pid(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.lines().next()?.trim().parse().ok()
}

/// Written whole or not at all: a reader never sees half a file.
pub(crate) fn record(data_dir: &Path, running: &Running) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(data_dir)?;
    serde_json::to_writer_pretty(&mut file, running)?;
    file.persist(data_dir.join(RUNNING_FILE))?;
    Ok(())
}

pub(crate) fn forget(data_dir: &Path) {
    // Gone already is as good; one left behind is not believed.
    let _ = fs::remove_file(data_dir.join(RUNNING_FILE));
}
