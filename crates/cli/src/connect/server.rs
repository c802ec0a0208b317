//! Which server, where one is named instead of a database.
//!
//! What the command line says goes first, then the environment, then the default context. Two that contradict each other
//! are refused, never weighed: a command must not go where nobody expected it.

use std::time::Duration;

use tenure_core::{codes, limits, names};

use super::contexts::{Context, Contexts};
use super::{Place, URL_VARIABLE, from_environment, key};
use crate::errors::{Failure, Outcome, refuse};
use crate::remote::{Reach, Target, not_over_http, without_server};

/// Names the server when no option does.
const SERVER_VARIABLE: &str = "TENURE_SERVER";
/// Names the context when no option does: the way to use a guarded one for a shell.
pub(crate) const CONTEXT_VARIABLE: &str = "TENURE_CONTEXT";
/// The key, for a server that is named by URL or a context without one.
const KEY_VARIABLE: &str = "TENURE_KEY";
/// How a default is named to people.
const DEFAULT: &str = "`tenure context use`";

/// What names a server.
#[derive(Debug)]
pub(crate) enum Named {
    Url(String),
    Context(String),
}

impl Place {
    /// What names a server, and by which means; none where it is a database.
    pub(crate) fn server(&self) -> Outcome<Option<(Named, &'static str)>> {
        let options = [
            ("--server", self.server.is_some()),
            ("--context", self.context.is_some()),
            ("--database-url", self.database_url.is_some()),
            ("--data-dir", self.data_dir.is_some()),
        ];
        one_of(&options, "Leave all but one out.")?;
        if let Some(url) = &self.server {
            return Ok(Some((Named::Url(url.clone()), "--server")));
        }
        if let Some(name) = &self.context {
            return Ok(Some((Named::Context(name.clone()), "--context")));
        }
        if self.database_url.is_some() || self.data_dir.is_some() {
            return Ok(None);
        }
        let (server, context) = (from_environment(SERVER_VARIABLE)?, from_environment(CONTEXT_VARIABLE)?);
        let database = from_environment(URL_VARIABLE)?;
        let variables = [
            (SERVER_VARIABLE, server.is_some()),
            (CONTEXT_VARIABLE, context.is_some()),
            (URL_VARIABLE, database.is_some()),
        ];
        one_of(
            &variables,
            "Unset all but one, or say it with --server, --context or --database-url.",
        )?;
        Ok(match (server, context, database) {
            (Some(url), ..) => Some((Named::Url(url), SERVER_VARIABLE)),
            (_, Some(name), _) => Some((Named::Context(name), CONTEXT_VARIABLE)),
            (_, _, Some(_)) => None,
            _ => Contexts::read()?.current.map(|name| (Named::Context(name), DEFAULT)),
        })
    }

    /// The server to ask, with all that it takes; none where it is a database.
    pub(crate) fn target(&self) -> Outcome<Option<Target>> {
        let Some((named, by)) = self.server()? else {
            self.refuse_server_options()?;
            return Ok(None);
        };
        if let Some(name) = &self.principal {
            return Err(refuse(
                codes::USAGE,
                format!("--as {name} is for a database."),
                "To a server the key says who acts.",
                "Leave it out, and give the key of that principal with --key-file.",
            ));
        }
        let (context, saved) = match named {
            Named::Url(url) => (None, Place::unsaved(url)),
            Named::Context(name) => {
                let saved = Contexts::read()?.get(&name)?.clone();
                if by == DEFAULT && !saved.development {
                    return Err(guarded(&name));
                }
                (Some(name), saved)
            }
        };
        let key = match (
            key::given(self.key.as_deref(), self.key_file.as_deref())?,
            &saved.key,
            from_environment(KEY_VARIABLE)?,
        ) {
            (Some(key), ..) => key,
            (None, Some(saved), _) => key::parsed(saved, "the context")?,
            (None, None, Some(text)) => key::parsed(&text, KEY_VARIABLE)?,
            (None, None, None) => return Err(no_key(&saved.server)),
        };
        Ok(Some(Target {
            url: Target::url_of(&saved.server)?,
            context,
            key,
            tenant: self.tenant()?.or(saved.tenant),
            ca_file: self.ca_file.clone().or(saved.ca_file),
            development: saved.development,
            plaintext: self.allow_plaintext || saved.allow_plaintext,
            timeout: Duration::from_secs(self.timeout.into()),
        }))
    }

    /// The context that the options describe.
    pub(crate) fn to_save(&self, key: Option<&str>, development: bool) -> Outcome<Context> {
        let Some(server) = &self.server else {
            return Err(refuse(
                codes::USAGE,
                "Missing: --server <URL>.",
                "A context is a server under a name.",
                "Say which: tenure context add NAME --server https://tenure.example --key -",
            ));
        };
        if let Some(name) = &self.tenant {
            names::check("tenant", name, limits::NAME_CHARS_MAX)?;
        }
        let key = key::given(key.or(self.key.as_deref()), self.key_file.as_deref())?;
        let ca_file = self.ca_file.as_deref().map(std::path::absolute).transpose()?;
        Ok(Context {
            server: Target::url_of(server)?,
            key: key.map(|key| key.reveal()),
            tenant: self.tenant.clone(),
            ca_file,
            development,
            allow_plaintext: self.allow_plaintext,
        })
    }

    fn unsaved(server: String) -> Context {
        Context {
            server,
            key: None,
            tenant: None,
            ca_file: None,
            development: false,
            allow_plaintext: false,
        }
    }

    /// Refuses a server where a command cannot go to one.
    pub(crate) fn check(&self, command: &str, reach: Reach) -> Outcome {
        let named = match reach {
            Reach::Http | Reach::Nobody => return Ok(()),
            Reach::Own => self.server_option(),
            // This needs a database, so one that the environment names is meant, whatever else it names.
            Reach::Database => match self.server_option() {
                None if from_environment(URL_VARIABLE)?.is_some() => None,
                None => self.server()?.map(|(_, by)| by),
                named => named,
            },
        };
        let Some(by) = named else { return Ok(()) };
        let what = format!("`tenure {command}`");
        Err(match reach {
            Reach::Own => {
                let why = format!("{by} names a server, and this brings a database of its own.");
                without_server(&what, &why, &format!("Leave {by} out."))
            }
            _ => not_over_http(
                &what,
                &format!("{by} names a server, and this works on the database itself."),
            ),
        })
    }

    fn server_option(&self) -> Option<&'static str> {
        match (&self.server, &self.context) {
            (Some(_), _) => Some("--server"),
            (None, Some(_)) => Some("--context"),
            (None, None) => None,
        }
    }

    /// A key is for a server: who gives one believes to talk to one.
    fn refuse_server_options(&self) -> Outcome {
        let given = [
            ("--key", self.key.is_some()),
            ("--key-file", self.key_file.is_some()),
            ("--ca-file", self.ca_file.is_some()),
            ("--allow-plaintext", self.allow_plaintext),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((option, _)) => Err(refuse(
                codes::USAGE,
                format!("{option} is given, and no server."),
                "It is for a server, and this would go to a database.",
                "Name the server with --server or --context, or leave it out.",
            )),
        }
    }
}

/// Where only one may be named.
fn one_of(named: &[(&str, bool)], next: &str) -> Outcome {
    let given: Vec<&str> = named
        .iter()
        .filter(|(_, given)| *given)
        .map(|(name, _)| *name)
        .collect();
    match given.as_slice() {
        [] | [_] => Ok(()),
        [first @ .., last] => Err(refuse(
            codes::USAGE,
            format!("Both {} and {last} are given.", first.join(", ")),
            "Each names where to work, and nobody should have to guess.",
            next,
        )),
    }
}

/// A guarded context is not for silent use.
pub(crate) fn guarded(name: &str) -> Failure {
    refuse(
        codes::CONTEXT_GUARDED,
        format!("The context {name:?} cannot be the default."),
        "It is not marked as one for development: commands go there only where somebody names it.",
        format!("Name it each time (--context {name}), or for this shell: export {CONTEXT_VARIABLE}={name}"),
    )
}

fn no_key(server: &str) -> Failure {
    refuse(
        codes::UNAUTHENTICATED,
        format!("There is no key for {server}."),
        "A server answers those whom it knows by their key.",
        format!(
            "Give it by --key-file FILE, by {KEY_VARIABLE}, or save it: tenure context add NAME --server {server} --key -"
        ),
    )
}
