//! Saved contexts: servers and keys under names, in a file that nobody else can read.
//!
//! A context is guarded unless somebody has said that it is for development: what is forgotten must not be what is
//! dangerous. A guarded one is used only where it is named, on the command line or in the environment of a shell; only one
//! for development can be kept as the default.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::unistd::{User, geteuid};
use serde::{Deserialize, Serialize};
use tenure_core::{codes, names};

use crate::errors::{Failure, Outcome, refuse};

/// A server under a name.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Context {
    pub(crate) server: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tenant: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Nobody is hurt by a mistake there: it may be the default.
    #[serde(default)]
    pub(crate) development: bool,
    #[serde(default)]
    pub(crate) allow_plaintext: bool,
}

/// The file.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contexts {
    /// The default, where nothing else says where to work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    #[serde(default)]
    pub(crate) contexts: BTreeMap<String, Context>,
}

impl Contexts {
    /// Where they are.
    pub(crate) fn path() -> Outcome<PathBuf> {
        let set = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let home = || set("HOME").or_else(|| User::from_uid(geteuid()).ok().flatten().map(|user| user.dir));
        let config = set("XDG_CONFIG_HOME").or_else(|| home().map(|home| home.join(".config")));
        match config {
            Some(config) => Ok(config.join("tenure").join("contexts.json")),
            None => Err(refuse(
                codes::USAGE,
                "There is no place for saved contexts.",
                "Neither XDG_CONFIG_HOME nor HOME is set, and this user has no home.",
                "Set one of them, or name the server with --server.",
            )),
        }
    }

    /// Those that are saved; none where there is no file.
    pub(crate) fn read() -> Outcome<Contexts> {
        let path = Contexts::path()?;
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Contexts::default()),
            Err(error) => return Err(unusable(&path, &error.to_string())),
        };
        check_private(&file, &path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)
            .map_err(|error| unusable(&path, &error.to_string()))?;
        // Only where it is wrong: what stands there may be a key.
        tenure_core::json::parse(&text).map_err(|error| {
            let place = format!("Line {}, column {} cannot be read.", error.line(), error.column());
            unusable(&path, &place)
        })
    }

    /// Writes all of them, or nothing.
    pub(crate) fn write(&self) -> Outcome {
        let path = Contexts::path()?;
        let failed = |error: io::Error| unusable(&path, &error.to_string());
        let directory = path.parent().unwrap_or(Path::new("."));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(failed)?;
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(error.into()))?;
        // Only its owner can read a temporary file, from the first byte on.
        let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
        writeln!(file, "{text}").map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// The one of this name.
    pub(crate) fn get(&self, name: &str) -> Outcome<&Context> {
        self.contexts.get(name).ok_or_else(|| {
            let next = match names::nearest(name, self.contexts.keys().map(String::as_str)) {
                Some(near) => format!("Did you mean {near}? `tenure context list` shows all."),
                None => "See `tenure context list`; `tenure context add NAME --server URL` saves one.".to_owned(),
            };
            refuse(
                codes::CONTEXT_UNKNOWN,
                format!("There is no context {name:?}."),
                "No server is saved under this name.",
                next,
            )
        })
    }
}

/// Keys that others can read are keys that others have.
fn check_private(file: &File, path: &Path) -> Outcome {
    let about = file.metadata().map_err(|error| unusable(path, &error.to_string()))?;
    let exposed = about.mode() & 0o077 != 0;
    if !exposed && about.uid() == geteuid().as_raw() {
        return Ok(());
    }
    let why = match exposed {
        true => format!("Its mode is {:04o}, and it holds keys.", about.mode() & 0o7777),
        false => "It belongs to somebody else, and it holds keys.".to_owned(),
    };
    Err(refuse(
        codes::FILE_EXPOSED,
        format!("Others can read {}.", path.display()),
        why,
        format!(
            "Close it: chmod 600 '{}'. Who had a look may have the keys: revoke them if in doubt.",
            path.display()
        ),
    ))
}

fn unusable(path: &Path, why: &str) -> Failure {
    refuse(
        codes::USAGE,
        format!("The saved contexts in {} cannot be used.", path.display()),
        why,
        "Mend the file or remove it; `tenure context add` writes it anew.",
    )
}

/// Writes a secret to a new file that only its owner can read.
pub(crate) fn write_secret(path: &Path, secret: &str) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    writeln!(file, "{secret}")?;
    file.sync_all()
}
