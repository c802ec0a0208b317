//! One managing process per data directory, held by a lock the kernel releases when the process ends.

use std::fs::{File, OpenOptions};
use std::io::{Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};

use super::error::PrivateError;
use super::running::{recorded, recorded_pid};

const LOCK_FILE: &str = "tenure.lock";
/// A look at the lock holds it for a moment; a real owner holds it longer than this.
const GLANCE: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(10);

/// Holds the data directory until dropped.
#[derive(Debug)]
pub(crate) struct DataDirLock {
    _file: Flock<File>,
}

impl DataDirLock {
    /// Takes the lock, or refuses with `data_dir_in_use`, the owner's pid and how to connect to its server.
    pub(crate) async fn acquire(data_dir: &Path) -> Result<DataDirLock, PrivateError> {
        let path = data_dir.join(LOCK_FILE);
        let deadline = Instant::now() + GLANCE;
        loop {
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)
                .map_err(|error| PrivateError::from_io("open the lock file", &path, &error))?;
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(mut file) => {
                    // Only informs; who holds the lock is known to the kernel alone.
                    file.set_len(0)
                        .and_then(|()| file.rewind())
                        .and_then(|()| writeln!(file, "{}", std::process::id()))
                        .map_err(|error| PrivateError::from_io("write the lock file", &path, &error))?;
                    return Ok(DataDirLock { _file: file });
                }
                Err((_, _)) if Instant::now() < deadline => tokio::time::sleep(POLL).await,
                Err((_, _)) => return Err(in_use(data_dir)),
            }
        }
    }
}

/// Whether some process manages this data directory now. A file a dead process left says nothing.
pub(crate) fn is_held(data_dir: &Path) -> bool {
    let Ok(file) = File::open(data_dir.join(LOCK_FILE)) else {
        return false;
    };
    Flock::lock(file, FlockArg::LockSharedNonblock).is_err()
}

fn in_use(data_dir: &Path) -> PrivateError {
    let what = format!("The data directory {} is in use.", data_dir.display());
    let pid = recorded_pid(&data_dir.join(LOCK_FILE));
    let owner = pid.map_or_else(|| "Another process".to_owned(), |pid| format!("The process {pid}"));
    let why = format!("{owner} manages the database in it.");
    let next = match recorded(data_dir).filter(|running| Some(running.pid) == pid) {
        Some(running) => format!(
            "Use it: DATABASE_URL='{}'. Or stop process {}.",
            running.url, running.pid
        ),
        None => "Wait until it has started, stop it, or choose another data directory with --data-dir.".to_owned(),
    };
    PrivateError::new("data_dir_in_use", what, why, next)
}
