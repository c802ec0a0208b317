//! The settings of the server: a flag goes before the environment, that before the file, that before the default.

mod file;
mod flags;
mod table;

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tenure_core::{codes, masking};
use tenure_server::Limits;

use self::file::File;
pub(crate) use self::file::others_can_read;
use self::flags::FILE_VARIABLE;
pub(crate) use self::flags::Flags;
use self::table::{ALL, Setting};
use crate::connect::{Place, from_environment, without_password};
use crate::errors::{Failure, Outcome, refuse};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    Default,
    File(PathBuf),
    Environment(&'static str),
    Flag(String),
}

/// What is in force, and why.
#[derive(Debug)]
pub(crate) struct Settings {
    /// In the order of the table.
    found: Vec<(&'static Setting, Option<String>, Origin)>,
}

/// A line of `tenure config explain`.
#[derive(Debug, Serialize)]
pub(crate) struct Explained {
    key: &'static str,
    value: Option<Value>,
    origin: &'static str,
    source: Option<String>,
    meaning: &'static str,
}

impl Settings {
    /// Finds every value, from the strongest to the weakest.
    pub(crate) fn find(flags: &Flags, place: &Place) -> Outcome<Settings> {
        let named = match &flags.file {
            Some(path) => Some(path.clone()),
            None => from_environment(FILE_VARIABLE)?.map(PathBuf::from),
        };
        let file = file::read(named.as_deref())?;
        let found = ALL.iter().map(|setting| {
            let (value, origin) = find_one(setting, flags, place, file.as_ref())?;
            Ok((setting, value, origin))
        });
        let settings = Settings {
            found: found.collect::<Outcome<_>>()?,
        };
        settings.check()?;
        Ok(settings)
    }

    fn get(&self, key: &str) -> (&Option<String>, &Origin) {
        let setting = table::of(key);
        let found = self.found.iter().find(|(of, ..)| *of == setting);
        found.map(|(_, value, origin)| (value, origin)).expect("all are there")
    }

    /// A setting as text.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.get(key).0.as_deref()
    }

    /// A setting that has a default, in its own type.
    pub(crate) fn value<T: FromStr<Err: Display>>(&self, key: &str) -> Outcome<T> {
        let (value, origin) = self.get(key);
        let text = value.as_deref().unwrap_or_default();
        text.parse()
            .map_err(|error| invalid(key, text, &format!("{error}"), origin))
    }

    /// A whole number within bounds.
    pub(crate) fn number(&self, key: &str, bounds: RangeInclusive<usize>) -> Outcome<usize> {
        let number = self.value(key)?;
        if bounds.contains(&number) {
            return Ok(number);
        }
        let why = format!("It goes from {} to {}", bounds.start(), bounds.end());
        Err(invalid(key, &number.to_string(), &why, self.get(key).1))
    }

    fn seconds(&self, key: &str) -> Outcome<Duration> {
        const DAY: usize = 24 * 60 * 60;
        Ok(Duration::from_secs(self.number(key, 1..=DAY)? as u64))
    }

    /// What clients may take.
    pub(crate) fn limits(&self) -> Outcome<Limits> {
        const CLIENTS: usize = 1_000_000;
        const GIBIBYTE: usize = 1 << 30;
        Ok(Limits {
            clients_max: self.number("clients_max", 1..=CLIENTS)?,
            head: self.seconds("head_seconds")?,
            body: self.seconds("body_seconds")?,
            write: self.seconds("write_seconds")?,
            handshake: self.seconds("handshake_seconds")?,
            drain: self.seconds("drain_seconds")?,
            body_bytes_max: self.number("body_bytes_max", 1024..=GIBIBYTE)?,
            bodies_bytes_max: self.number("bodies_bytes_max", 1024..=1024 * GIBIBYTE)?,
        })
    }

    /// Certificate and key: both, or none.
    pub(crate) fn tls(&self) -> Outcome<Option<(&Path, &Path)>> {
        match (self.text("tls_cert"), self.text("tls_key")) {
            (Some(cert), Some(key)) => Ok(Some((Path::new(cert), Path::new(key)))),
            (None, None) => Ok(None),
            (one, _) => {
                let (has, lacks) = if one.is_some() {
                    ("tls_cert", "tls_key")
                } else {
                    ("tls_key", "tls_cert")
                };
                let why = format!("There is a {has} without a {lacks}");
                Err(invalid(lacks, "", &why, self.get(has).1))
            }
        }
    }

    /// Values that cannot be used are refused before anything is done.
    fn check(&self) -> Outcome {
        self.value::<std::net::SocketAddr>("listen")?;
        self.number("connections", 1..=10_000)?;
        self.number("service_connections", 1..=10_000)?;
        if self.text("metrics_listen").is_some() {
            self.value::<std::net::SocketAddr>("metrics_listen")?;
        }
        self.value::<bool>("no_services")?;
        self.value::<tenure_server::webhooks::Reach>("webhook_allow")?;
        self.value::<crate::logs::LogFormat>("log_format")?;
        self.value::<crate::logs::Filter>("log")?;
        self.limits()?;
        self.tls()?;
        self.hsts_seconds()?;
        Ok(())
    }

    /// How long browsers are to come over TLS only.
    pub(crate) fn hsts_seconds(&self) -> Outcome<u64> {
        const TWO_YEARS: usize = 2 * 366 * 24 * 60 * 60;
        let seconds = self.number("hsts_seconds", 0..=TWO_YEARS)?;
        if seconds > 0 && self.tls()?.is_none() {
            let why = "There is no tls_cert, and browsers heed the header only where it comes over TLS";
            return Err(invalid(
                "hsts_seconds",
                &seconds.to_string(),
                why,
                self.get("hsts_seconds").1,
            ));
        }
        Ok(seconds as u64)
    }

    /// The database, if a file names it.
    pub(crate) fn database_of_file(&self) -> Option<&str> {
        let (url, origin) = self.get("database_url");
        url.as_deref().filter(|_| matches!(origin, Origin::File(_)))
    }

    /// Files with secrets that everybody on this machine can read.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for (setting, value, origin) in &self.found {
            let Origin::File(path) = origin else { continue };
            if value.as_deref().is_some_and(|value| masked(value) != value) && others_can_read(path) {
                warnings.push(format!(
                    "{} holds a password ({}), and everybody on this machine can read it: chmod o= {0}",
                    path.display(),
                    setting.key
                ));
            }
        }
        if let Some(key) = self.text("tls_key").map(Path::new)
            && others_can_read(key)
        {
            warnings.push(format!(
                "Everybody on this machine can read the key of the certificate: chmod o= {}",
                key.display()
            ));
        }
        warnings
    }

    /// Every value with its origin; secrets are masked.
    pub(crate) fn explained(&self) -> Vec<Explained> {
        let explain = |(setting, value, origin): &(&'static Setting, Option<String>, Origin)| {
            let (origin, source) = match origin {
                Origin::Default => ("default", None),
                Origin::File(path) => ("file", Some(path.display().to_string())),
                Origin::Environment(variable) => ("environment", Some((*variable).to_owned())),
                Origin::Flag(option) => ("flag", Some(option.clone())),
            };
            Explained {
                key: setting.key,
                value: value.as_deref().map(as_json),
                origin,
                source,
                meaning: setting.meaning,
            }
        };
        self.found.iter().map(explain).collect()
    }
}

fn find_one(
    setting: &'static Setting,
    flags: &Flags,
    place: &Place,
    file: Option<&File>,
) -> Outcome<(Option<String>, Origin)> {
    if setting.key == "database_url" {
        // The options that name a database are not the server's own.
        match (place.database_url(), place.data_dir()) {
            (Some(url), _) => return Ok((Some(url.to_owned()), Origin::Flag(setting.option()))),
            (None, Some(_)) => return Ok((None, Origin::Flag("--data-dir".to_owned()))),
            (None, None) => {}
        }
    }
    if let Some(value) = flags.given.get(setting.key) {
        return Ok((Some(value.clone()), Origin::Flag(setting.option())));
    }
    for variable in setting.variables {
        if let Some(value) = from_environment(variable)? {
            return Ok((Some(value), Origin::Environment(variable)));
        }
    }
    if let Some(file) = file
        && let Some(value) = file.values.get(setting.key)
    {
        return Ok((Some(value.clone()), Origin::File(file.path.clone())));
    }
    Ok((setting.default.map(str::to_owned), Origin::Default))
}

fn invalid(key: &str, value: &str, why: &str, origin: &Origin) -> Failure {
    let from = match origin {
        Origin::Default => "the default".to_owned(),
        Origin::File(path) => path.display().to_string(),
        Origin::Environment(variable) => format!("the environment variable {variable}"),
        Origin::Flag(option) => option.clone(),
    };
    refuse(
        codes::CONFIG_INVALID,
        format!("The setting {key} cannot be {:?}.", masked(value)),
        format!("{}. It comes from {from}.", why.trim_end_matches('.')),
        "`tenure config explain` lists all settings and what they are for.",
    )
}

/// Numbers, true and false as such.
fn as_json(value: &str) -> Value {
    match tenure_core::json::parse(value) {
        Ok(value @ (Value::Bool(_) | Value::Number(_))) => value,
        _ => Value::String(masked(value)),
    }
}

/// Without secrets, wherever they stand in it.
pub(crate) fn masked(value: &str) -> String {
    let value = match without_password(value) {
        // Masking leaves an address alone that has no user.
        (rest, Some(_)) => rest.replacen('@', ":***@", 1),
        (rest, None) => rest,
    };
    masking::mask(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_the_table_are_those_of_the_code() {
        let found = ALL
            .iter()
            .map(|setting| (setting, setting.default.map(str::to_owned), Origin::Default));
        let settings = Settings { found: found.collect() };
        settings.check().expect("they can be used");
        assert_eq!(settings.limits().expect("limits"), Limits::default());
        assert_eq!(settings.text("listen"), Some(crate::cli::LISTEN));
    }

    #[test]
    fn a_password_is_masked_wherever_it_stands() {
        for (url, shown) in [
            ("postgres://me:p%40s@host/db", "postgres://me:***@host/db"),
            (
                "postgres://me@host/db?sslmode=require",
                "postgres://me@host/db?sslmode=require",
            ),
            (
                "postgres://me@host/db?password=xyz",
                "postgres://me@host/db?password=***",
            ),
            ("host=a password=xyz", "host=a password=***"),
        ] {
            assert_eq!(masked(url), shown);
        }
    }
}
