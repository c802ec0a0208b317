//! `tenure psql`: a prompt on the database in use.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use tenure::private::{Search, find};
use tenure_core::codes;

use crate::connect::Place;
use crate::errors::{Outcome, refuse};

/// Open psql on the database in use; arguments after -- are psql's
#[derive(Debug, Args)]
pub(crate) struct Psql {
    /// Arguments for psql, such as -- -c 'select * from tenure.job_queue'
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

impl Psql {
    pub(super) async fn run(self, place: Place) -> Outcome {
        let (url, password) = without_password(&place.url().await?);
        let mut command = Command::new(program());
        command.arg("--dbname").arg(url).args(self.arguments);
        if let Some(password) = password {
            command.env("PGPASSWORD", password);
        }
        if let Some(tenant) = place.tenant()? {
            let escaped: String = tenant
                .chars()
                .flat_map(|c| {
                    if c.is_whitespace() || c == '\\' {
                        vec!['\\', c]
                    } else {
                        vec![c]
                    }
                })
                .collect();
            command.env("PGOPTIONS", format!("-c tenure.tenant={escaped}"));
        }
        // Returns only when it fails: psql takes this process over, terminal and signals included.
        let error = command.exec();
        Err(refuse(
            codes::POSTGRES_NOT_FOUND,
            "psql cannot be run.",
            error.to_string(),
            "Install PostgreSQL's client programs, or use another client with the URL that `tenure dev` prints.",
        ))
    }
}

/// The one in PATH, else the one beside the server programs.
fn program() -> PathBuf {
    let in_path =
        std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join("psql").is_file()));
    if !in_path && let Ok(found) = find(&Search::from_env()) {
        let beside = found.into_iter().map(|installation| installation.bin_dir.join("psql"));
        if let Some(psql) = beside.into_iter().find(|path| path.is_file()) {
            return psql;
        }
    }
    PathBuf::from("psql")
}

/// Everybody on the machine can read the arguments of a process, so a password goes by the environment.
fn without_password(url: &str) -> (String, Option<String>) {
    let Some((scheme, rest)) = url.split_once("://") else {
        return (url.to_owned(), None);
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((login, host)) => match login.split_once(':') {
            Some((user, password)) => (format!("{scheme}://{user}@{host}{tail}"), Some(decoded(password))),
            None => (url.to_owned(), None),
        },
        None => (url.to_owned(), None),
    }
}

/// Percent-decoded, as a URL's password must be.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let code = tail
            .get(..2)
            .and_then(|hex| u8::from_str_radix(str::from_utf8(hex).ok()?, 16).ok());
        match (byte, code) {
            (b'%', Some(decoded)) => {
                bytes.push(decoded);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_does_not_show_in_the_process_list() {
        let (url, password) = without_password("postgres://me:p%40ss@host:5/db?sslmode=require");
        assert_eq!(url, "postgres://me@host:5/db?sslmode=require");
        assert_eq!(password.as_deref(), Some("p@ss"));
        let socket = "postgresql:///postgres?host=/tmp/a&user=tenure";
        assert_eq!(without_password(socket), (socket.to_owned(), None));
    }
}
