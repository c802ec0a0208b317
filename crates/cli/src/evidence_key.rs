//! The key that signs evidence and checkpoints, where it is kept outside the database: in a file, or in the environment.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::geteuid;
use tenure::evidence::KeySource;
use tenure_core::codes;
use tenure_core::evidence::SecretKey;
use zeroize::Zeroizing;

use crate::connect::from_environment;
use crate::errors::{Failure, Outcome, refuse};

/// Holds the key itself.
const KEY_VARIABLE: &str = "TENURE_EVIDENCE_KEY";
/// Names the file with the key.
const FILE_VARIABLE: &str = "TENURE_EVIDENCE_KEY_FILE";
/// Bytes of a file with a key at the most.
const BYTES_MAX: u64 = 64 * 1024;

/// The key in this file or in the environment; that of the database where there is neither.
pub(crate) fn source(file: Option<&str>) -> Outcome<KeySource> {
    let key = match (file, from_environment(KEY_VARIABLE)?.map(Zeroizing::new)) {
        (None, None) => return Ok(KeySource::default()),
        (Some(file), Some(_)) => {
            return Err(refuse(
                codes::CONFIG_INVALID,
                "There are two keys that would sign evidence.",
                format!("One is in {file}, another in the environment variable {KEY_VARIABLE}."),
                "Leave one of them out.",
            ));
        }
        (Some(file), None) => parse(&read(Path::new(file))?, file)?,
        (None, Some(text)) => parse(&text, KEY_VARIABLE)?,
    };
    Ok(KeySource::outside(key))
}

/// The same, for a command that has no setting for it.
pub(crate) fn source_of_environment() -> Outcome<KeySource> {
    source(from_environment(FILE_VARIABLE)?.as_deref())
}

/// A key that others can read is a key that others have.
fn read(path: &Path) -> Outcome<Zeroizing<String>> {
    let unusable = |error: std::io::Error| unusable(&path.display().to_string(), &error.to_string());
    let file = File::open(path).map_err(unusable)?;
    let about = file.metadata().map_err(unusable)?;
    let (exposed, owner) = (about.mode() & 0o077 != 0, about.uid());
    if exposed || (owner != geteuid().as_raw() && owner != 0) {
        let why = match exposed {
            true => format!("Its mode is {:04o}, and it holds the key.", about.mode() & 0o7777),
            false => format!("It belongs to the user {owner}, and it holds the key."),
        };
        return Err(refuse(
            codes::FILE_EXPOSED,
            format!("Others can read {}.", path.display()),
            why,
            format!("Close it: chmod 600 '{}'. Make a new key if in doubt.", path.display()),
        ));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(BYTES_MAX).read_to_string(&mut text).map_err(unusable)?;
    Ok(text)
}

fn parse(text: &str, place: &str) -> Outcome<SecretKey> {
    SecretKey::parse(text).map_err(|error| unusable(place, &error.to_string()))
}

fn unusable(place: &str, why: &str) -> Failure {
    refuse(
        codes::CONFIG_INVALID,
        format!("The key that signs evidence cannot be read from {place}."),
        why,
        "Make one: (umask 077; openssl genpkey -algorithm ed25519 -out evidence.pem)",
    )
}
