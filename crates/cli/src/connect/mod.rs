//! Which database or server, and the session on it.

mod contexts;
mod key;
mod password;
mod server;
mod session;
mod tenant;

use std::env;
use std::path::{Path, PathBuf};

use tenure_core::{codes, limits, names};

use crate::cli::Globals;
use crate::errors::{Outcome, refuse};

pub(crate) use contexts::{Context, Contexts, write_secret};
pub(crate) use password::without_password;
pub(crate) use server::{Named, guarded};
pub(crate) use session::{ROWS_MAX, Scope, Session};
pub(crate) use tenant::{in_tenant, tenant_options};

/// Names the database when no option does.
pub(crate) const URL_VARIABLE: &str = "DATABASE_URL";
/// Names the tenant when no option does.
const TENANT_VARIABLE: &str = "TENURE_TENANT";

/// What the command line says about where to work.
#[derive(Debug)]
pub(crate) struct Place {
    database_url: Option<String>,
    data_dir: Option<PathBuf>,
    tenant: Option<String>,
    principal: Option<String>,
    /// The database that a file of settings names.
    configured: Option<String>,
    server: Option<String>,
    context: Option<String>,
    key: Option<String>,
    key_file: Option<PathBuf>,
    ca_file: Option<PathBuf>,
    allow_plaintext: bool,
    timeout: u32,
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

impl Place {
    /// What the options say; the key is no option of every command.
    pub(crate) fn new(globals: Globals, key: Option<String>) -> Place {
        Place {
            database_url: globals.database_url,
            data_dir: globals.data_dir,
            tenant: globals.tenant,
            principal: globals.acting_as,
            configured: None,
            server: globals.server,
            context: globals.context,
            key,
            key_file: globals.key_file,
            ca_file: globals.ca_file,
            allow_plaintext: globals.allow_plaintext,
            timeout: globals.timeout,
        }
    }

    /// The same, but with a database for when neither an option nor the environment names one.
    pub(crate) fn configured(self, url: Option<&str>) -> Place {
        Place {
            configured: url.map(str::to_owned),
            ..self
        }
    }

    /// What the option says.
    pub(crate) fn database_url(&self) -> Option<&str> {
        self.database_url.as_deref()
    }

    /// What the option says.
    pub(crate) fn data_dir(&self) -> Option<&Path> {
        self.data_dir.as_deref()
    }

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
            (None, None) => match (from_environment(URL_VARIABLE)?, &self.configured) {
                (Some(url), _) => Ok(Choice::Given { url, by: URL_VARIABLE }),
                (None, Some(url)) => Ok(Choice::Given {
                    url: url.clone(),
                    by: "the file of settings",
                }),
                (None, None) => Ok(Choice::Private {
                    data_dir: tenure_cluster::default_data_dir(),
                    default: true,
                }),
            },
        }
    }

    /// The URL of the database to use: the one given, or the one that a running `tenure dev` manages.
    pub(crate) async fn url(&self) -> Outcome<String> {
        match self.choice()? {
            Choice::Given { url, .. } => Ok(url),
            Choice::Private { data_dir, default } => match tenure_cluster::running(&data_dir).await {
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
    pub(crate) fn tenant(&self) -> Outcome<Option<String>> {
        let named = match &self.tenant {
            Some(name) => Some(name.clone()),
            None => from_environment(TENANT_VARIABLE)?,
        };
        if let Some(name) = &named {
            // A blank name would silently mean the default tenant.
            names::check("tenant", name, limits::NAME_CHARS_MAX)?;
        }
        Ok(named)
    }
}

impl Place {
    /// The principal to act as, if it is a name.
    fn principal(&self) -> Outcome<Option<String>> {
        if let Some(name) = &self.principal {
            names::check("principal", name, limits::NAME_CHARS_MAX)?;
        }
        Ok(self.principal.clone())
    }
}

/// A variable that is set to something; one that is blank counts as not set.
pub(crate) fn from_environment(variable: &str) -> Outcome<Option<String>> {
    match env::var(variable) {
        Ok(value) if value.trim().is_empty() => Ok(None),
        Ok(value) => Ok(Some(value)),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(refuse(
            codes::TEXT_INVALID,
            format!("{variable} is not valid UTF-8."),
            "It names where to work.",
            format!("Set it again, or unset it: unset {variable}"),
        )),
    }
}
