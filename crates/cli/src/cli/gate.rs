//! `tenure gate`: what may run at all.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tenure::store::config::{self, ConfigEntry, GatePosition};
use tenure::store::tenants::{self, Tenant};
use tenure::store::{as_tenant, for_every_tenant};
use tokio_postgres::Transaction;

use super::Behalf;
use super::config::check_installation;
use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, shown};
use crate::remote::{self, Remote};

const LIST: &[Column] = &[
    Column("GATE", "key"),
    Column("POSITION", "position"),
    Column("ORIGIN", "origin"),
    Column("MEANING", "description"),
];
/// Tenants that are asked whether they keep a gate otherwise than the installation.
const TENANTS_ASKED_MAX: usize = 500;

const CHANGED: &[Column] = &[Column("GATE", "key"), Column("POSITION", "position")];

#[derive(Debug, Subcommand)]
pub(crate) enum Gate {
    /// List the gates and their positions
    #[command(visible_alias = "ls")]
    List,
    /// Open gates: let work through
    Open(Change),
    /// Close gates: let nothing through
    Close(Change),
}

#[derive(Debug, Args)]
pub(crate) struct Change {
    /// Gates, by key or short name: jobs, worker, notify, heartbeat
    #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "GATE")]
    gates: Vec<String>,
    /// Every gate
    #[arg(long)]
    all: bool,
    /// For the installation, so for every tenant without a setting of its own
    #[arg(long)]
    installation: bool,
    #[command(flatten)]
    behalf: Behalf,
}

impl Gate {
    pub(super) async fn run(self, session: Session) -> Outcome {
        match self {
            Gate::List => list(session).await,
            Gate::Open(change) => change.run(session, GatePosition::Open).await,
            Gate::Close(change) => change.run(session, GatePosition::Closed).await,
        }
    }
}

async fn list(mut session: Session) -> Outcome {
    let entries = session
        .call(remote::config_list(), async |tx| config::config_list(tx).await)
        .await?;
    let rows: Vec<Value> = entries
        .iter()
        .filter(|entry| entry.is_gate)
        .map(|entry| json!({"key": entry.key, "position": position(&entry.value), "origin": entry.origin, "description": entry.description}))
        .collect();
    session
        .out
        .list(LIST, &rows, &["key", "position"], "There are no gates.")
}

impl Change {
    async fn run(self, mut session: Session, position: GatePosition) -> Outcome {
        let (rows, apart) = match session.remote() {
            Some(remote) => self.over_http(remote, position).await?,
            None => self.over_sql(&mut session, position).await?,
        };
        session
            .out
            .list(CHANGED, &rows, &["key", "position"], "There are no gates.")?;
        if !apart.is_empty() {
            session.out.warn(&format!(
                "a tenant's own setting still holds: {}. To change it: tenure --tenant NAME gate …",
                apart.join("; ")
            ));
        }
        Ok(())
    }
}

impl Change {
    /// All or none: the gates change in one transaction.
    async fn over_sql(&self, session: &mut Session, position: GatePosition) -> Outcome<(Vec<Value>, Vec<String>)> {
        let behalf = self.behalf.on_behalf_of.as_deref();
        session
            .transaction(async |tx| {
                if self.installation {
                    for_every_tenant(tx).await?;
                }
                let keys = self.keys(&config::config_list(tx).await?);
                let rows = set(tx, &keys, position, behalf).await?;
                if !self.installation {
                    return Ok((rows, Vec::new()));
                }
                check_installation(tx, &keys).await?;
                Ok((rows, tenants_apart(tx, &keys, position).await?))
            })
            .await
    }

    /// One request a gate. That there are such gates is asked first, so that a misspelt one changes none.
    async fn over_http(&self, remote: &Remote, position: GatePosition) -> Outcome<(Vec<Value>, Vec<String>)> {
        let behalf = self.behalf.on_behalf_of.as_deref();
        let list = || remote::config_list().for_installation(self.installation);
        let entries: Vec<ConfigEntry> = remote.send(list()).await?;
        let keys = self.keys(&entries);
        let is_gate = |key: &String| entries.iter().any(|entry| entry.is_gate && entry.key == *key);
        // The first that is none is asked for alone: the database says what is wrong with it.
        let stranger = keys.iter().find(|key| !is_gate(key));
        let wanted = stranger.map_or(keys.as_slice(), std::slice::from_ref);
        let mut rows = Vec::with_capacity(wanted.len());
        for key in wanted {
            let request = remote::gate_set(key, position, behalf).for_installation(self.installation);
            rows.push(changed(key, &remote.send(request).await?));
        }
        let mut apart = Vec::new();
        if self.installation {
            let tenants: Vec<Tenant> = remote.send(remote::tenant_list().for_installation(true)).await?;
            for tenant in tenants.iter().take(TENANTS_ASKED_MAX) {
                let entries: Vec<ConfigEntry> = remote.send(remote::config_list().in_tenant(&tenant.name)).await?;
                apart.extend(kept_apart(&tenant.name, &entries, &keys, position));
            }
        }
        Ok((rows, apart))
    }

    fn keys(&self, entries: &[ConfigEntry]) -> Vec<String> {
        if self.all {
            let gates = entries.iter().filter(|entry| entry.is_gate);
            return gates.map(|gate| gate.key.clone()).collect();
        }
        self.gates.iter().map(|gate| key_of(gate)).collect()
    }
}

/// Opens every gate that is not, for the whole installation where the login is trusted with it, else for its own tenant.
pub(crate) async fn open_all(session: &mut Session) -> Outcome<Vec<String>> {
    session
        .transaction(async |tx| {
            for_every_tenant(tx).await?;
            let entries = config::config_list(tx).await?;
            let gates: Vec<ConfigEntry> = entries.into_iter().filter(|entry| entry.is_gate).collect();
            // One that is open stays as it is: a change is an event, and this is none.
            let closed = gates.iter().filter(|gate| gate.value != true);
            let closed: Vec<String> = closed.map(|gate| gate.key.clone()).collect();
            set(tx, &closed, GatePosition::Open, None).await?;
            Ok(gates.into_iter().map(|gate| gate.key).collect())
        })
        .await
}

async fn set(
    tx: &Transaction<'_>,
    keys: &[String],
    to: GatePosition,
    behalf: Option<&str>,
) -> tenure::Result<Vec<Value>> {
    let mut rows = Vec::with_capacity(keys.len());
    for key in keys {
        let answer = config::gate_set(tx, key, to, behalf).await?;
        rows.push(changed(key, &answer));
    }
    Ok(rows)
}

/// Which tenants have set one of these gates themselves, and otherwise. More than a few hundred are not asked for.
async fn tenants_apart(tx: &Transaction<'_>, keys: &[String], to: GatePosition) -> tenure::Result<Vec<String>> {
    let mut apart = Vec::new();
    for tenant in tenants::tenant_list(tx).await?.iter().take(TENANTS_ASKED_MAX) {
        as_tenant(tx, &tenant.name, None).await?;
        let entries = config::config_list(tx).await?;
        apart.extend(kept_apart(&tenant.name, &entries, keys, to));
    }
    Ok(apart)
}

/// Which of these gates a tenant has set itself, and otherwise.
fn kept_apart(tenant: &str, entries: &[ConfigEntry], keys: &[String], to: GatePosition) -> Option<String> {
    let own = entries
        .iter()
        .filter(|entry| keys.contains(&entry.key) && entry.origin == "tenant")
        .filter(|entry| (entry.value == true) != (to == GatePosition::Open));
    let gates: Vec<String> = own
        .map(|entry| format!("{} {}", entry.key, position(&entry.value)))
        .collect();
    (!gates.is_empty()).then(|| format!("{tenant} has {}", gates.join(", ")))
}

/// A gate, and where it is now.
fn changed(key: &str, answer: &Value) -> Value {
    json!({"key": key, "position": position(&answer["value"])})
}

/// `jobs` is short for `queue.job_substrate.enabled`, `worker` for `queue.worker.enabled`.
fn key_of(name: &str) -> String {
    match name {
        "job" | "jobs" => "queue.job_substrate.enabled".to_owned(),
        "workers" => "queue.worker.enabled".to_owned(),
        "heartbeats" => "queue.heartbeat.enabled".to_owned(),
        "worker" | "notify" | "heartbeat" | "job_substrate" => format!("queue.{name}.enabled"),
        key => key.to_owned(),
    }
}

fn position(value: &Value) -> String {
    match value {
        Value::Bool(true) => "open".to_owned(),
        Value::Bool(false) => "closed".to_owned(),
        other => shown("", other),
    }
}
