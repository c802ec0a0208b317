//! A `tenure serve` of its own, for the time of a benchmark.

use std::process::Stdio;

use serde_json::Value;
use tenure::operations::Perform;
use tenure_api::keys::{KeyCreate, KeyRevoke, Role};
use tenure_api::principals::{PrincipalCreate, PrincipalKind};
use tenure_core::codes;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use uuid::Uuid;

use crate::cli::bench::ground::Ground;
use crate::connect::URL_VARIABLE;
use crate::errors::{Outcome, refuse};

/// What its connections to the database call themselves.
pub(super) const APPLICATION: &str = "tenure_bench_served";

/// A server that runs, and a key for it. It is killed with this value.
pub(super) struct Served {
    child: Child,
    pub(super) url: String,
    pub(super) key: String,
    /// The prefix of the key.
    prefix: String,
    database_url: String,
}

impl Served {
    /// Starts it with so many connections to the database.
    pub(super) async fn start(ground: &Ground, connections: usize) -> Outcome<Served> {
        let client = tenure::pool::connect(ground.url()).await?;
        // Under a name that no one has.
        let principal = format!("bench {}", Uuid::new_v4().simple());
        let service = PrincipalCreate {
            name: principal.clone(),
            kind: PrincipalKind::Service,
            email: None,
        };
        service.perform(&client).await?;
        let key = KeyCreate {
            principal,
            roles: vec![Role::Producer, Role::Worker],
            approver_level: None,
            executors: None,
            kinds: None,
            payload_access: None,
            expires_at: None,
            note: None,
        };
        let key = key.perform(&client).await?;
        let connections = connections.to_string();
        let mut child = Command::new(std::env::current_exe()?)
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--json",
                "--no-services",
                "--log",
                "warn",
                "--connections",
                &connections,
            ])
            // Not on the command line: it may hold a password.
            .env(URL_VARIABLE, named(ground.url()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = child.stdout.take().expect("it was asked for");
        let line = BufReader::new(output).lines().next_line().await?.unwrap_or_default();
        let ready: Value = tenure_core::json::parse(&line).unwrap_or_default();
        let Some(url) = ready["ready"].as_str() else {
            return Err(refuse(
                codes::USAGE,
                "The server for the benchmark did not start.",
                "What it said stands above.",
                "Try tenure serve by hand.",
            ));
        };
        Ok(Served {
            url: url.to_owned(),
            child,
            key: key.key,
            prefix: key.prefix,
            database_url: ground.url().to_owned(),
        })
    }

    /// The memory of its process that is in use, in bytes; none where nobody tells.
    pub(super) fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()?)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
        Some(kilobytes * 1024)
    }

    /// Ends it; its key is worth nothing any more.
    pub(super) async fn stop(mut self) {
        let _ = self.child.kill().await;
        let revoked = async {
            let client = tenure::pool::connect(&self.database_url).await?;
            let revoke = KeyRevoke { prefix: self.prefix };
            revoke.perform(&client).await?;
            Ok::<_, tenure::Error>(())
        };
        if let Err(error) = revoked.await {
            tracing::warn!(code = error.code(), "the key of the benchmark was not revoked: {error}");
        }
    }
}

/// The same database, by a name that is only the server's.
fn named(url: &str) -> String {
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}application_name={APPLICATION}")
}
