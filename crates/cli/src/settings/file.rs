//! The settings in a file of TOML.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tenure_core::codes;
use tenure_core::names::nearest;
use toml::Value;

use super::table::ALL;
use crate::errors::{Outcome, refuse};

/// The file that is read when nobody names one, if it is there.
const DEFAULT: &str = "tenure.toml";
/// Readable for everybody.
const OTHERS_READ: u32 = 0o004;

/// A file, and what it says.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    /// By key.
    pub(super) values: BTreeMap<&'static str, String>,
}

/// Reads the file that was named, or the one that lies here; none if nobody named one and none lies here.
pub(super) fn read(named: Option<&Path>) -> Outcome<Option<File>> {
    let path = named.unwrap_or(Path::new(DEFAULT));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if named.is_none() && error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(refuse(
                codes::CONFIG_INVALID,
                format!("The settings in {} cannot be read.", path.display()),
                error.to_string(),
                "Name a file of TOML with --config, or leave it out.",
            ));
        }
    };
    let path = std::path::absolute(path)?;
    let values = values(&text, &path)?;
    Ok(Some(File { path, values }))
}

fn values(text: &str, path: &Path) -> Outcome<BTreeMap<&'static str, String>> {
    let table: toml::Table = toml::from_str(text).map_err(|error: toml::de::Error| {
        // The parser's own text shows the line, and a line may hold a password.
        let line = error
            .span()
            .map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        refuse(
            codes::CONFIG_INVALID,
            format!("Line {line} of {} cannot be read.", path.display()),
            format!("It is no TOML: {}.", error.message().trim_end_matches('.')),
            "Write a setting per line, such as: listen = \"0.0.0.0:7373\"",
        )
    })?;
    let mut values = BTreeMap::new();
    for (key, value) in table {
        let Some(setting) = ALL.iter().find(|setting| setting.key == key) else {
            let next = match nearest(&key, ALL.iter().map(|setting| setting.key)) {
                Some(near) => format!("Did you mean {near}?"),
                None => "`tenure config explain` lists all there are.".to_owned(),
            };
            return Err(refuse(
                codes::CONFIG_UNKNOWN,
                format!("There is no setting {key:?}."),
                format!("It is in {}.", path.display()),
                next,
            ));
        };
        let text = match value {
            Value::String(text) => text,
            Value::Integer(number) => number.to_string(),
            Value::Boolean(on) => on.to_string(),
            other => {
                return Err(refuse(
                    codes::CONFIG_INVALID,
                    format!("The setting {key} is of the type {}.", other.type_str()),
                    format!(
                        "It is in {}; a setting is a text, a whole number, true or false.",
                        path.display()
                    ),
                    "`tenure config explain` shows what it is now.",
                ));
            }
        };
        values.insert(setting.key, text);
    }
    Ok(values)
}

/// Whether everybody on this machine can read the file.
pub(crate) fn others_can_read(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & OTHERS_READ != 0)
}
