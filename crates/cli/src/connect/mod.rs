//! Which database, and the session on it.

mod session;

use std::env;
use std::path::PathBuf;

use tenure::private;
use tenure_core::{codes, limits, names};

use crate::cli::Globals;
use crate::errors::{Outcome, refuse};

pub(crate) use session::Session;

/// Names the database when no option does.
pub(crate) const URL_VARIABLE: &str = "DATABASE_URL";

/// What the command line says about where to work.
#[derive(Debug)]
pub(crate) struct Place {
    database_url: Option<String>,
    data_dir: Option<PathBuf>,
    /// The tenant, where one is named.
    pub(crate) tenant: Option<String>,
}

/// A server that runs anyway, or a directory whose server `tenure dev` manages.
#[derive(Debug)]
pub(crate) enum Choice {
    /// By URL: nothing is managed.
    Given {
        /// Its URL.
        url: String,
        /// What named it.
        by: &'static str,
    },
    /// By data directory.
    Private {
        /// The directory.
        data_dir: PathBuf,
        /// Whether it is where it is unless somebody says otherwise.
        default: bool,
    },
}

impl From<Globals> for Place {
    fn from(globals: Globals) -> Place {
        Place {
            database_url: globals.database_url,
            data_dir: globals.data_dir,
            tenant: globals.tenant,
        }
    }
}

impl Place {
    /// An option goes before the environment, and a URL before a directory; two options are a contradiction.
    pub(crate) fn choice(&self) -> Outcome<Choice> {
        match (&self.database_url, &self.data_dir) {
            (Some(_), Some(_)) => Err(refuse(
                codes::USAGE,
                "Both --database-url and --data-dir are given.",
                "Each names a database.",
                "Leave one out.",
            )),
            (Some(url), None) => Ok(Choice::Given {
                url: url.clone(),
                by: "--database-url",
            }),
            (None, Some(data_dir)) => Ok(Choice::Private {
                data_dir: data_dir.clone(),
                default: false,
            }),
            (None, None) => match url_from_environment()? {
                Some(url) => Ok(Choice::Given { url, by: URL_VARIABLE }),
                None => Ok(Choice::Private {
                    data_dir: private::default_data_dir(),
                    default: true,
                }),
            },
        }
    }

    /// The URL of the database to use: the one given, or the one that a running `tenure dev` manages.
    pub(crate) async fn url(&self) -> Outcome<String> {
        match self.choice()? {
            Choice::Given { url, .. } => Ok(url),
            Choice::Private { data_dir, default } => match private::running(&data_dir).await {
                Some(running) => Ok(running.url),
                None => {
                    let option = if default {
                        String::new()
                    } else {
                        format!(" --data-dir '{}'", data_dir.display())
                    };
                    Err(refuse(
                        codes::DATABASE_UNREACHABLE,
                        "There is no database to talk to.",
                        format!(
                            "No `tenure dev` runs on {}, and neither --database-url nor {URL_VARIABLE} names a server.",
                            data_dir.display()
                        ),
                        format!("Run `tenure dev{option}` in another terminal, or give --database-url."),
                    ))
                }
            },
        }
    }

    /// The tenant's name, if it is one.
    pub(crate) fn checked_tenant(&self) -> Outcome<Option<&str>> {
        match &self.tenant {
            None => Ok(None),
            // A blank name would silently mean the default tenant.
            Some(name) => {
                names::check("tenant", name, limits::NAME_CHARS_MAX)?;
                Ok(Some(name))
            }
        }
    }
}

fn url_from_environment() -> Outcome<Option<String>> {
    match env::var(URL_VARIABLE) {
        Ok(url) if url.trim().is_empty() => Ok(None),
        Ok(url) => Ok(Some(url)),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(refuse(
            codes::TEXT_INVALID,
            format!("{URL_VARIABLE} is not valid UTF-8."),
            "It names the database.",
            format!("Set it again, or unset it: unset {URL_VARIABLE}"),
        )),
    }
}
