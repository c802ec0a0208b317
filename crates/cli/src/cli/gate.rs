//! `tenure gate`: what may run at all.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tenure::operations::Perform;
use tenure_api::settings::{ConfigEntry, ConfigList, GatePosition, GateSet, SettingChanged, SettingOrigin};
use tenure_api::tenants::TenantList;

use super::Behalf;
use crate::connect::{Scope, Session};
use crate::errors::Outcome;
use crate::output::{Column, shown};

const LIST: &[Column] = &[
    Column("GATE", "key"),
    Column("POSITION", "position"),
    Column("ORIGIN", "origin"),
    Column("MEANING", "description"),
];
/// The number of tenants whose own settings of a gate are looked up.
const TENANTS_MAX: i32 = 500;

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
    let rows: Vec<Value> = entries(&mut session, Scope::Session)
        .await?
        .iter()
        .filter(|entry| entry.is_gate)
        .map(|entry| json!({"key": entry.key, "position": position(&entry.value.0), "origin": entry.origin, "description": entry.description}))
        .collect();
    session
        .out
        .list(LIST, &rows, &["key", "position"], "There are no gates.")
}

/// Every setting.
async fn entries(session: &mut Session, scope: Scope<'_>) -> Outcome<Vec<ConfigEntry>> {
    Ok(session.perform_in(scope, &ConfigList {}).await?.0.items)
}

impl Change {
    async fn run(self, mut session: Session, to: GatePosition) -> Outcome {
        let scope = Scope::of(self.installation);
        let entries = entries(&mut session, scope).await?;
        let keys = self.keys(&entries);
        let is_gate = |key: &String| entries.iter().any(|entry| entry.is_gate && entry.key == *key);
        // A key that is no gate is sent alone, so that no gate changes: the database says what is wrong with it.
        let stranger = keys.iter().find(|key| !is_gate(key));
        let wanted = stranger.map_or(keys.as_slice(), std::slice::from_ref);
        let rows = set(&mut session, scope, wanted, &to, self.behalf.on_behalf_of).await?;
        session
            .out
            .list(CHANGED, &rows, &["key", "position"], "There are no gates.")?;
        if !self.installation {
            return Ok(());
        }
        let apart = tenants_apart(&mut session, &keys, &to).await?;
        if !apart.is_empty() {
            session.out.warn(&format!(
                "a tenant's own setting still holds: {}. To change it: tenure --tenant NAME gate …",
                apart.join("; ")
            ));
        }
        Ok(())
    }

    fn keys(&self, entries: &[ConfigEntry]) -> Vec<String> {
        if self.all {
            let gates = entries.iter().filter(|entry| entry.is_gate);
            return gates.map(|gate| gate.key.clone()).collect();
        }
        self.gates.iter().map(|gate| key_of(gate)).collect()
    }
}

/// Opens every gate of the installation that is closed, and answers the keys of all.
pub(crate) async fn open_all(session: &mut Session) -> Outcome<Vec<String>> {
    let entries = entries(session, Scope::Installation).await?;
    let gates: Vec<ConfigEntry> = entries.into_iter().filter(|entry| entry.is_gate).collect();
    // One that is open stays as it is: a change is an event, and this is none.
    let closed = gates.iter().filter(|gate| gate.value.0 != true);
    let closed: Vec<String> = closed.map(|gate| gate.key.clone()).collect();
    set(session, Scope::Installation, &closed, &GatePosition::Open, None).await?;
    Ok(gates.into_iter().map(|gate| gate.key).collect())
}

/// Sets gates: in one transaction on a database, by one request each on a server. Answers each with its position.
async fn set(
    session: &mut Session,
    scope: Scope<'_>,
    keys: &[String],
    to: &GatePosition,
    behalf: Option<String>,
) -> Outcome<Vec<Value>> {
    let changes: Vec<GateSet> = keys
        .iter()
        .map(|key| GateSet {
            key: key.clone(),
            position: to.clone(),
            on_behalf_of: behalf.clone(),
        })
        .collect();
    let mut done = Vec::with_capacity(changes.len());
    if session.remote().is_some() {
        for change in &changes {
            done.push(session.perform_in(scope, change).await?.0);
        }
    } else {
        let work = session.transaction(async |tx| {
            scope.enter(tx).await?;
            for change in &changes {
                done.push(change.perform(tx).await?);
            }
            Ok(())
        });
        work.await?;
    }
    let row = |(key, set): (&String, &SettingChanged)| json!({"key": key, "position": position(&set.value.0)});
    Ok(keys.iter().zip(&done).map(row).collect())
}

/// The tenants that have set one of these gates themselves, to the other position.
async fn tenants_apart(session: &mut Session, keys: &[String], to: &GatePosition) -> Outcome<Vec<String>> {
    let list = TenantList {
        cursor: None,
        limit: TENANTS_MAX,
    };
    let (tenants, _) = session.perform_in(Scope::Installation, &list).await?;
    let mut apart = Vec::new();
    for tenant in tenants.items {
        let entries = entries(session, Scope::Tenant(&tenant.name)).await?;
        apart.extend(kept_apart(&tenant.name, &entries, keys, to));
    }
    Ok(apart)
}

/// Which of these gates a tenant has set itself, to the other position.
fn kept_apart(tenant: &str, entries: &[ConfigEntry], keys: &[String], to: &GatePosition) -> Option<String> {
    let own = entries
        .iter()
        .filter(|entry| keys.contains(&entry.key) && entry.origin == SettingOrigin::Tenant)
        .filter(|entry| (entry.value.0 == true) != (*to == GatePosition::Open));
    let gates: Vec<String> = own
        .map(|entry| format!("{} {}", entry.key, position(&entry.value.0)))
        .collect();
    (!gates.is_empty()).then(|| format!("{tenant} has {}", gates.join(", ")))
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
