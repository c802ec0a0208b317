//! The server's log file, and what its last lines mean.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::error::{PrivateError, next_disk_full};

/// A log larger than this is set aside when the server starts; one older log is kept.
const LOG_BYTES_MAX: u64 = 16 * 1024 * 1024;
const TAIL_BYTES_MAX: u64 = 16 * 1024;
const TAIL_LINES_MAX: usize = 12;

/// The log file of one start: what came before this start is not looked at.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    start: u64,
}

impl Log {
    pub(crate) fn open(data_dir: &Path) -> io::Result<Log> {
        let path = data_dir.join("postgres.log");
        let length = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        if length > LOG_BYTES_MAX {
            fs::rename(&path, data_dir.join("postgres.log.old"))?;
        }
        let log = Log {
            start: if length > LOG_BYTES_MAX { 0 } else { length },
            path,
        };
        log.writer()?;
        Ok(log)
    }

    /// A handle to give to a child process.
    pub(crate) fn writer(&self) -> io::Result<File> {
        OpenOptions::new().create(true).append(true).open(&self.path)
    }

    /// The last lines since the start.
    pub(crate) fn tail(&self) -> String {
        self.read_tail().unwrap_or_default()
    }

    fn read_tail(&self) -> io::Result<String> {
        let mut file = File::open(&self.path)?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(self.start.max(end.saturating_sub(TAIL_BYTES_MAX))))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES_MAX).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        Ok(lines[lines.len().saturating_sub(TAIL_LINES_MAX)..].join("\n"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// The refusal that the last lines of a server's log amount to, for `what` went wrong.
///
/// ```
/// use std::path::Path;
/// use tenure_cluster::explain_log;
///
/// let tail = "FATAL:  could not write lock file \"postmaster.pid\": No space left on device";
/// let refusal = explain_log("The database did not start.", tail, Path::new("/data/postgres.log"));
/// assert_eq!(refusal.code, "disk_full");
/// ```
pub fn explain_log(what: &str, tail: &str, log_path: &Path) -> PrivateError {
    let has = |texts: &[&str]| texts.iter().any(|text| tail.contains(text));
    let why = if tail.is_empty() {
        "The server wrote nothing to its log.".to_owned()
    } else {
        tail.to_owned()
    };
    let log = log_path.display();
    if has(&["No space left on device", "Disk quota exceeded"]) {
        PrivateError::new("disk_full", what, why, next_disk_full())
    } else if has(&[
        "Permission denied",
        "Operation not permitted",
        "Read-only file system",
        "invalid permissions",
    ]) {
        let next = "Give the account that runs the server access to that path, or choose another with --data-dir.";
        PrivateError::new("permission_denied", what, why, next)
    } else if has(&["database files are incompatible with server"]) {
        let next = "Install the PostgreSQL that made these files, or choose another data directory with --data-dir.";
        PrivateError::new("data_dir_version", what, why, next)
    } else if has(&[
        "could not bind IPv4 address",
        "could not bind IPv6 address",
        "Address already in use",
    ]) {
        let next = "Choose a free port, or stop the program that listens on it.";
        PrivateError::new("database_start_failed", what, why, next)
    } else {
        PrivateError::new(
            "database_start_failed",
            what,
            why,
            format!("Read {log} for the whole story, then start again."),
        )
    }
}
