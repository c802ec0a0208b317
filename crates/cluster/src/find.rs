//! Finds PostgreSQL on this machine: the newest usable server binaries, wherever a package put them.

use std::collections::HashSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::account::Account;
use super::error::PrivateError;
use super::install_hint::install_hint;

/// The oldest major version whose SQL Tenure uses.
pub(crate) const MAJOR_MIN: u32 = 15;
/// How deep an unpacked package may nest its `bin` below the cache directory.
const CACHE_DEPTH_MAX: u32 = 8;

/// One installed PostgreSQL whose `initdb` and `postgres` run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// The directory that holds `initdb` and `postgres`, symbolic links resolved.
    pub bin_dir: PathBuf,
    /// The major version, which names the data directory.
    pub major: u32,
    /// The full version, such as `15.14`.
    pub version: String,
}

/// Where to look. A plain value, so that a search can be pointed elsewhere.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// `TENURE_POSTGRES_BIN`: when given, nothing else is considered.
    pub explicit: Option<PathBuf>,
    /// The directories of `PATH`.
    pub path: Vec<PathBuf>,
    /// Binary directories where `*` stands for any part of one name.
    pub patterns: Vec<PathBuf>,
    /// Below it, any `bin` of a package unpacked for this user.
    pub cache: Option<PathBuf>,
}

impl Search {
    /// The environment variable, `PATH`, the places packages use, and the user's cache.
    pub fn from_env() -> Search {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let cache_home = set("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".cache")));
        Search {
            explicit: set("TENURE_POSTGRES_BIN").map(PathBuf::from),
            path: set("PATH")
                .map(|path: OsString| env::split_paths(&path).collect())
                .unwrap_or_default(),
            patterns: [
                "/usr/lib/postgresql/*/bin",
                "/usr/pgsql-*/bin",
                "/usr/libexec/postgresql*",
                "/usr/libexec/postgresql*/bin",
                "/usr/lib/postgresql*/bin",
                "/usr/local/pgsql/bin",
                "/opt/homebrew/opt/postgresql@*/bin",
                "/usr/local/opt/postgresql@*/bin",
                "/Applications/Postgres.app/Contents/Versions/*/bin",
            ]
            .map(PathBuf::from)
            .to_vec(),
            cache: cache_home.map(|home| home.join("tenure/postgresql")),
        }
    }

    /// Directories that hold both binaries, each once, in the order of the search.
    fn candidates(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        if let Some(explicit) = &self.explicit {
            found.push(explicit.clone());
        } else {
            // A link in PATH points into the real directory; a copy there is a directory of its own.
            for dir in &self.path {
                found.extend(
                    fs::canonicalize(dir.join("postgres"))
                        .ok()
                        .and_then(|p| Some(p.parent()?.to_owned())),
                );
                found.extend(
                    fs::canonicalize(dir.join("initdb"))
                        .ok()
                        .and_then(|p| Some(p.parent()?.to_owned())),
                );
                found.extend(pg_config_bindir(&dir.join("pg_config")));
            }
            for pattern in &self.patterns {
                found.extend(expand(pattern));
            }
            if let Some(cache) = &self.cache {
                collect_bins(cache, CACHE_DEPTH_MAX, &mut found);
            }
        }
        let mut seen = HashSet::new();
        found
            .into_iter()
            .filter_map(|dir| fs::canonicalize(dir).ok())
            .filter(|dir| dir.join("initdb").is_file() && dir.join("postgres").is_file())
            .filter(|dir| seen.insert(dir.clone()))
            .collect()
    }
}

/// Every usable installation, the newest first. At least one, or the refusal `postgres_not_found`.
///
/// ```
/// use tenure_cluster::{Search, find};
///
/// let nowhere = Search::default();
/// assert_eq!(find(&nowhere).unwrap_err().code, "postgres_not_found");
/// ```
pub fn find(search: &Search) -> Result<Vec<Installation>, PrivateError> {
    find_for(search, &Account::current_or_unprivileged()?)
}

/// As [`find`], where "usable" means that this account can run the binaries.
pub(crate) fn find_for(search: &Search, account: &Account) -> Result<Vec<Installation>, PrivateError> {
    let mut rejected = Vec::new();
    let mut usable = Vec::new();
    for bin_dir in search.candidates() {
        match inspect(&bin_dir, account) {
            Ok(installation) if installation.major >= MAJOR_MIN => usable.push(installation),
            Ok(old) => rejected.push(format!("{} is version {}", old.bin_dir.display(), old.version)),
            Err(reason) => rejected.push(format!("{} {reason}", bin_dir.display())),
        }
    }
    if usable.is_empty() {
        return Err(not_found(search, &rejected));
    }
    // Stable: of two installations of one version the one found first stays first.
    usable.sort_by_key(|found| std::cmp::Reverse((found.major, version_key(&found.version))));
    Ok(usable)
}

fn not_found(search: &Search, rejected: &[String]) -> PrivateError {
    let mut why = match &search.explicit {
        Some(dir) => format!(
            "TENURE_POSTGRES_BIN is {}, which holds no usable initdb and postgres",
            dir.display()
        ),
        None => {
            "Neither PATH, the usual package directories nor the user's cache hold a usable initdb and postgres".into()
        }
    };
    if !rejected.is_empty() {
        why = format!("{why}; {}", rejected.join("; "));
    }
    let next = match &search.explicit {
        Some(_) => "Point TENURE_POSTGRES_BIN at the bin directory of PostgreSQL 15 or newer, or unset it.".to_owned(),
        None => install_hint(),
    };
    PrivateError::new(
        "postgres_not_found",
        format!("No PostgreSQL {MAJOR_MIN} or newer was found."),
        why,
        next,
    )
}

/// Asks both binaries for their version: a file that is there may still not run.
fn inspect(bin_dir: &Path, account: &Account) -> Result<Installation, String> {
    version_of(&bin_dir.join("initdb"), account)?;
    let version = version_of(&bin_dir.join("postgres"), account)?;
    let major = major_of(&version).ok_or_else(|| format!("has the unknown version {version}"))?;
    Ok(Installation {
        bin_dir: bin_dir.to_owned(),
        major,
        version,
    })
}

fn version_of(binary: &Path, account: &Account) -> Result<String, String> {
    let mut command = Command::new(binary);
    command.arg("--version").current_dir("/").stdin(Stdio::null());
    account.apply(&mut command);
    let output = command
        .output()
        .map_err(|error| format!("cannot run {}: {error}", binary.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)"
    match text
        .split_once("(PostgreSQL)")
        .and_then(|(_, rest)| rest.split_whitespace().next())
    {
        Some(version) if output.status.success() => Ok(version.to_owned()),
        _ => Err(format!("has a {} that does not tell its version", binary.display())),
    }
}

/// `15` of `15.14`, `18beta1` or `16devel`.
fn major_of(version: &str) -> Option<u32> {
    let digits = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    version[..digits].parse().ok()
}

fn version_key(version: &str) -> Vec<u32> {
    version.split('.').filter_map(major_of).collect()
}

fn pg_config_bindir(pg_config: &Path) -> Option<PathBuf> {
    if !pg_config.is_file() {
        return None;
    }
    let output = Command::new(pg_config)
        .arg("--bindir")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(text.trim()))
}

/// The directories a pattern names; `*` matches within one path component.
fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let text = part.as_os_str().to_string_lossy();
        let Some((before, after)) = text.split_once('*') else {
            found.iter_mut().for_each(|dir| dir.push(part));
            continue;
        };
        found = found
            .iter()
            .flat_map(|dir| entries(dir))
            .filter(|path| matches(path, before, after))
            .collect();
    }
    found
}

fn matches(path: &Path, before: &str, after: &str) -> bool {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
}

/// Sorted, so that two runs search alike.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(dir)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort();
    paths
}

fn collect_bins(dir: &Path, depth: u32, found: &mut Vec<PathBuf>) {
    if depth == 0 {
        return;
    }
    for path in entries(dir) {
        // A link could lead back up, and a hidden directory is one that is still being unpacked.
        let hidden = matches(&path, ".", "");
        if !path.is_dir() || path.is_symlink() || hidden {
            continue;
        }
        match path.file_name() {
            Some(name) if name == "bin" => found.push(path),
            _ => collect_bins(&path, depth - 1, found),
        }
    }
}
