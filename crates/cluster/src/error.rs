//! Refusals of the private cluster: what happened, why, and what to do next.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

/// A refusal with the four parts every Tenure refusal has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateError {
    /// Stable name to match on, such as `data_dir_in_use`.
    pub code: &'static str,
    /// What happened.
    pub what: String,
    /// Why it happened.
    pub why: String,
    /// What to do next.
    pub next: String,
}

impl PrivateError {
    /// A refusal from its four parts.
    pub fn new(
        code: &'static str,
        what: impl Into<String>,
        why: impl Into<String>,
        next: impl Into<String>,
    ) -> PrivateError {
        PrivateError {
            code,
            what: what.into(),
            why: why.into(),
            next: next.into(),
        }
    }

    /// The refusal for a file operation that failed, `doing` something such as "create the data directory".
    pub(crate) fn from_io(doing: &str, path: &Path, error: &io::Error) -> PrivateError {
        let what = format!("Could not {doing}: {}", path.display());
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                PrivateError::new("disk_full", what, error.to_string(), next_disk_full())
            }
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                PrivateError::new("permission_denied", what, error.to_string(), next_permission(path))
            }
            _ => PrivateError::new("database_start_failed", what, error.to_string(), next_permission(path)),
        }
    }
}

pub(crate) fn next_disk_full() -> String {
    "Free space on that file system, or choose a data directory on another one with --data-dir.".to_owned()
}

fn next_permission(path: &Path) -> String {
    format!(
        "Make {} writable for this user, or choose another data directory with --data-dir.",
        path.display()
    )
}

impl fmt::Display for PrivateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} [{}]\n  why: {}\n  next: {}",
            self.what, self.code, self.why, self.next
        )
    }
}

impl std::error::Error for PrivateError {}

impl From<PrivateError> for tenure_core::Refusal {
    fn from(error: PrivateError) -> tenure_core::Refusal {
        let PrivateError { code, what, why, next } = error;
        tenure_core::Refusal {
            code: code.into(),
            what,
            why,
            next,
        }
    }
}
