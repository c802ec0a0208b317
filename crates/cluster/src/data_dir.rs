//! The data directory: where it is by default, which major versions it holds, and which installation may open it.

use std::env;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::unistd::{User, geteuid};

use super::error::PrivateError;
use super::find::Installation;

/// Marks a directory that `initdb` has not finished; removed on the next start.
pub(crate) const UNFINISHED: &str = ".new-";
/// How long a start waits for a dying `initdb`: it ends within a second of its owner's death, longer on a busy machine.
const UNFINISHED_WAIT_MAX: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// Where a cluster lives unless told otherwise: `/var/lib/tenure` for root, whose home no other account may enter, else
/// `tenure` in the user's data directory.
pub fn default_data_dir() -> PathBuf {
    if geteuid().is_root() {
        return PathBuf::from("/var/lib/tenure");
    }
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").or_else(|| User::from_uid(geteuid()).ok().flatten().map(|user| user.dir));
    set("XDG_DATA_HOME")
        .or_else(|| home().map(|home| home.join(".local/share")))
        .unwrap_or_else(env::temp_dir)
        .join("tenure")
}

/// Makes the directory if needed and returns its one true path.
pub(crate) fn create(data_dir: &Path) -> Result<PathBuf, PrivateError> {
    let failed = |error| PrivateError::from_io("create the data directory", data_dir, &error);
    if !data_dir.exists() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(data_dir)
            .map_err(failed)?;
        // The umask may have closed it to the account the server runs as; the server's own files below stay private.
        fs::set_permissions(data_dir, fs::Permissions::from_mode(0o755)).map_err(failed)?;
    }
    let canonical = fs::canonicalize(data_dir).map_err(failed)?;
    if !canonical.is_dir() || canonical.to_str().is_none() {
        return Err(PrivateError::new(
            "usage",
            format!("{} cannot be a data directory.", canonical.display()),
            "It is a file, or its name is not valid UTF-8, and the name appears in settings, which are text.",
            "Choose another data directory with --data-dir.",
        ));
    }
    if has_version_file(&canonical) {
        return Err(PrivateError::new(
            "usage",
            format!("{} is the data directory of a PostgreSQL server.", canonical.display()),
            "Tenure keeps its own files beside the server's and does not take over a server made elsewhere.",
            "Choose an empty directory with --data-dir, or start that server yourself and use DATABASE_URL.",
        ));
    }
    Ok(canonical)
}

/// The server's own directory for one major version.
pub(crate) fn server_dir(data_dir: &Path, major: u32) -> PathBuf {
    data_dir.join(format!("pg{major}"))
}

/// The installation that fits what is there: an existing database is never left aside for an empty newer one.
pub(crate) fn choose(installed: Vec<Installation>, data_dir: &Path) -> Result<Installation, PrivateError> {
    let existing = majors(data_dir)?;
    let versions: Vec<String> = installed.iter().map(|found| found.version.clone()).collect();
    let fits = |found: &Installation| existing.is_empty() || existing.contains(&found.major);
    if let Some(chosen) = installed.into_iter().find(fits) {
        return check_version_file(data_dir, chosen);
    }
    let existing: Vec<String> = existing.iter().map(u32::to_string).collect();
    Err(version_refusal(data_dir, &existing.join(", "), &versions.join(", ")))
}

/// Major versions with a finished database here, the newest first.
pub(crate) fn majors(data_dir: &Path) -> Result<Vec<u32>, PrivateError> {
    let entries =
        fs::read_dir(data_dir).map_err(|error| PrivateError::from_io("read the data directory", data_dir, &error))?;
    let mut majors: Vec<u32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("pg")?.parse().ok())
        .filter(|major| has_version_file(&server_dir(data_dir, *major)))
        .collect();
    majors.sort_unstable_by(|a, b| b.cmp(a));
    Ok(majors)
}

/// True also where we may not look: what is hidden from us is not ours to overwrite.
fn has_version_file(dir: &Path) -> bool {
    match fs::symlink_metadata(dir.join("PG_VERSION")) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::PermissionDenied,
    }
}

fn check_version_file(data_dir: &Path, chosen: Installation) -> Result<Installation, PrivateError> {
    let file = server_dir(data_dir, chosen.major).join("PG_VERSION");
    match fs::read_to_string(file) {
        Ok(text) if text.trim() != chosen.major.to_string() => {
            Err(version_refusal(data_dir, text.trim(), &chosen.version))
        }
        _ => Ok(chosen),
    }
}

fn version_refusal(data_dir: &Path, existing: &str, installed: &str) -> PrivateError {
    PrivateError::new(
        "data_dir_version",
        format!("{} holds a database of PostgreSQL {existing}.", data_dir.display()),
        format!("A data directory belongs to one major version, and the PostgreSQL to use here is {installed}."),
        format!("Install PostgreSQL {existing}, or choose another data directory with --data-dir."),
    )
}

/// Removes what an interrupted `initdb` left, and waits while a dying `initdb` still writes there. Only the holder of the lock
/// may call this. The watcher cannot do it where root owns the data directory: it runs as the account of the server.
pub(crate) async fn remove_unfinished(data_dir: &Path) {
    let deadline = Instant::now() + UNFINISHED_WAIT_MAX;
    let still_written = |path: &PathBuf| {
        let removed = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
        removed.is_err_and(|error| error.kind() == ErrorKind::DirectoryNotEmpty)
    };
    // Every path is tried in each round. What is left after the deadline is removed by the next start.
    while unfinished(data_dir).iter().filter(|path| still_written(path)).count() > 0 && Instant::now() < deadline {
        tokio::time::sleep(POLL).await;
    }
}

fn unfinished(data_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data_dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().contains(UNFINISHED))
        .map(|entry| entry.path())
        .collect()
}
