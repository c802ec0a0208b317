//! `tenure psql`: a prompt on the database in use.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use tenure_cluster::{Search, find};
use tenure_core::codes;

use crate::connect::{Place, tenant_options, without_password};
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
        // A refusal says all in message, detail and hint; the functions that it came through are for us.
        command.arg("--set=SHOW_CONTEXT=never");
        command.arg("--dbname").arg(url).args(self.arguments);
        // Everybody on the machine can read the arguments of a process, but not its environment.
        if let Some(password) = password {
            command.env("PGPASSWORD", password);
        }
        if let Some(tenant) = place.tenant()? {
            command.env("PGOPTIONS", tenant_options(&tenant));
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
