//! `tenure init`: from an empty database to one that works, and to the first key of its API.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use tenure_core::api_key::ApiKey;
use tenure_core::codes;

use super::{ensure_evidence_key, gate, key, migrate};
use crate::connect::{Place, Session, write_secret};
use crate::errors::{Failure, Outcome, refuse};
use crate::output::{Format, Output};

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Write the first admin key into this new file, readable for its owner only, instead of showing it
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Make no key
    #[arg(long, conflicts_with = "key_file")]
    no_key: bool,
}

/// What became of the first key.
enum First {
    Shown(ApiKey),
    Written(ApiKey, PathBuf),
    /// There is an admin key already.
    There,
    /// Nobody asked for one, would see it, or may make it.
    None(&'static str),
}

impl Init {
    pub(super) async fn run(self, place: Place, out: Output) -> Outcome {
        let url = place.url().await?;
        let report = migrate::apply(&url, out, &Default::default()).await?;
        let mut session = place.session_at(&url, out).await?;
        let gates = gate::open_all(&mut session).await?;
        let evidence_key = ensure_evidence_key(&mut session, &Default::default()).await?;
        let first = self.first_key(&mut session, out).await?;
        if out.format == Format::People {
            out.text(&migrate::sentence(&report))?;
            out.text(&format!("The gates are open: {}.", gates.join(", ")))?;
            if let Some(id) = &evidence_key {
                out.text(&format!("A key that signs evidence was made: {id}."))?;
            }
            first.tell(out)?;
            return out.text("Next: tenure job enqueue KIND, tenure serve, or tenure doctor.");
        }
        let mut answer = json!({"migrated": report, "gates_open": gates, "evidence_key": evidence_key});
        answer["first_key"] = first.to_json();
        out.done("", &answer, &[])
    }

    /// Made only where somebody will have it: a key that nobody saw is a lock that nobody opens.
    async fn first_key(&self, session: &mut Session, out: Output) -> Outcome<First> {
        if self.no_key {
            return Ok(First::None("none was asked for"));
        }
        match key::has_admin(session).await {
            Err(Failure::Refused(refusal)) if refusal.is(codes::NOT_PERMITTED) => {
                return Ok(First::None("this login is not trusted with the installation"));
            }
            Ok(true) => return Ok(First::There),
            there => there.map(drop)?,
        }
        let shown = match out.format {
            Format::Json => true,
            Format::People => io::stdout().is_terminal(),
            Format::Quiet => false,
        };
        if self.key_file.is_none() && !shown {
            return Ok(First::None("nobody would see it: say --key-file FILE"));
        }
        if let Some(path) = &self.key_file {
            check_new(path)?;
        }
        match (key::first_key(session).await?, &self.key_file) {
            (None, _) => Ok(First::There),
            (Some(key), None) => Ok(First::Shown(key)),
            (Some(key), Some(path)) => {
                if let Err(error) = write_secret(path, &key.reveal()) {
                    // It was not seen by anybody, so it opens nothing; the next try makes another.
                    key::revoke(session, key.prefix()).await?;
                    return Err(unwritable(path, &error));
                }
                Ok(First::Written(key, path.clone()))
            }
        }
    }
}

impl First {
    fn tell(&self, out: Output) -> Outcome {
        match self {
            First::Shown(key) => {
                out.text("The first admin key, shown this once:\n")?;
                out.text(&format!("    {}\n", key.reveal()))?;
                out.text("Keep it where secrets are kept. Lost? `tenure key create` on the database makes another.")
            }
            First::Written(key, path) => out.text(&format!(
                "The first admin key (prefix {}) is in {}.",
                key.prefix(),
                path.display()
            )),
            First::There | First::None(_) => out.text(&format!("No admin key was made: {}.", self.why_none())),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            First::Shown(key) => json!({"made": true, "prefix": key.prefix(), "key": key.reveal()}),
            First::Written(key, path) => json!({"made": true, "prefix": key.prefix(), "file": path}),
            First::There | First::None(_) => json!({"made": false, "why": self.why_none()}),
        }
    }

    fn why_none(&self) -> &'static str {
        match self {
            First::There => {
                "there is one already. If it was lost: tenure key create NAME --role admin --installation, on the database"
            }
            First::None(why) => why,
            First::Shown(_) | First::Written(..) => "",
        }
    }
}

/// Before the key is made: a file that is there is never overwritten, and its directory must be.
fn check_new(path: &Path) -> Outcome {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound && directory.is_dir() => Ok(()),
        Err(error) => Err(unwritable(path, &error)),
        Ok(_) => Err(refuse(
            codes::USAGE,
            format!("The file {} exists and is never overwritten.", path.display()),
            "It may hold a key that is in use.",
            "Name a new file, or remove it. No key was made.",
        )),
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    refuse(
        codes::USAGE,
        format!("The key cannot be written to {}.", path.display()),
        error.to_string(),
        "Name a new file in a directory that you can write to. No valid key was made.",
    )
}
