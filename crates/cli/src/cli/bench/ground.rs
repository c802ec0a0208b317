//! Where a benchmark runs: on a server of its own, gone when it ends, or on a database of the user's.

use std::io::{self, IsTerminal};

use tenure_api::settings::ConfigList;
use tenure_cluster::Cluster;
use tenure_core::codes;

use crate::cli::{migrate_to, open_actions, open_all_gates};
use crate::connect::{Choice, Place, in_tenant};
use crate::errors::{Outcome, refuse};
use crate::output::{Output, ask, step};
use crate::settings::masked;
use crate::temporary::{self, Setting};

/// What a server of our own runs with unless told otherwise: checkpoints and vacuum as a busy server has them.
const SETTINGS: &[&str] = &["shared_buffers=1GB", "max_wal_size=8GB", "autovacuum_naptime=5s"];
/// What a worker needs, and how `tenure gate` calls it.
const GATES: &[(&str, &str)] = &[
    ("queue.job_substrate.enabled", "jobs"),
    ("queue.worker.enabled", "worker"),
    ("queue.notify.enabled", "notify"),
];

/// A database that may be worked on.
pub(super) struct Ground {
    url: String,
    own: Option<Cluster>,
    /// Where remarks go.
    pub(super) out: Output,
}

impl Ground {
    /// A server of its own, unless an option or the environment names a database.
    /// There somebody must agree to what the run makes; none: they have.
    pub(super) async fn prepare(
        place: &Place,
        settings: &[Setting],
        makes: Option<&str>,
        out: Output,
    ) -> Outcome<Ground> {
        if let Choice::Private { default: true, .. } = place.choice()? {
            return Ground::start(place, settings, out).await;
        }
        if !settings.is_empty() {
            return Err(refuse(
                codes::USAGE,
                "--set is for the server that bench starts itself, and another database is named.",
                "A server that is only used is not configured.",
                "Leave --set out, or --database-url, --data-dir and DATABASE_URL.",
            ));
        }
        let url = place.url().await?;
        let mut session = place.session_at(&url, out).await?;
        let entries = session.perform(&ConfigList {}).await?.0.items;
        let closed: Vec<_> = GATES
            .iter()
            .filter(|(key, _)| !entries.iter().any(|entry| entry.key == *key && entry.value.0 == true))
            .collect();
        if !closed.is_empty() {
            let keys: Vec<&str> = closed.iter().map(|gate| gate.0).collect();
            let names: Vec<&str> = closed.iter().map(|gate| gate.1).collect();
            return Err(refuse(
                codes::GATE_CLOSED,
                format!("Closed: {}.", keys.join(", ")),
                "A benchmark enqueues jobs, and runs a worker that is woken by notifications.",
                format!("Open what is closed: tenure gate open {}", names.join(" ")),
            ));
        }
        if let Some(makes) = makes {
            confirm(&url, makes)?;
        }
        let url = in_tenant(&url, place.tenant()?.as_deref());
        Ok(Ground { url, own: None, out })
    }

    async fn start(place: &Place, settings: &[Setting], out: Output) -> Outcome<Ground> {
        let ours = SETTINGS.iter().map(|text| text.parse().expect("a setting"));
        let settings: Vec<Setting> = ours.chain(settings.iter().cloned()).collect();
        let cluster = step(out, "PostgreSQL", temporary::start(true, &settings)).await?;
        let url = cluster.url("postgres");
        step(out, "schema", migrated(place, &url, out)).await?;
        Ok(Ground {
            url,
            own: Some(cluster),
            out,
        })
    }

    /// The database to work on.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Whether it is gone after the run.
    pub(super) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// A database without a past, where the server is our own; else the same one.
    pub(super) async fn fresh_url(&self, place: &Place, name: &str) -> Outcome<String> {
        let Some(cluster) = &self.own else {
            return Ok(self.url.clone());
        };
        let client = tenure::pool::connect(&self.url).await?;
        let created = client.batch_execute(&format!("create database {name}")).await;
        created.map_err(tenure::Error::from)?;
        let url = cluster.url(name);
        migrated(place, &url, self.out).await?;
        Ok(url)
    }

    /// Stops what was started.
    pub(super) async fn stop(self) -> Outcome {
        match self.own {
            Some(cluster) => Ok(cluster.stop().await?),
            None => Ok(()),
        }
    }
}

async fn migrated(place: &Place, url: &str, out: Output) -> Outcome {
    migrate_to(url, out, &Default::default()).await?;
    let mut session = place.session_at(url, out).await?;
    open_all_gates(&mut session).await?;
    open_actions(&mut session).await?;
    Ok(())
}

/// Jobs with their history in somebody's database are not made unasked.
fn confirm(url: &str, makes: &str) -> Outcome {
    let shown = masked(url);
    if !io::stdin().is_terminal() {
        return Err(refuse(
            codes::USAGE,
            format!("bench would write into {shown}, and wants a confirmation."),
            format!("It makes {makes} and runs them; their history stays until retention cleans it."),
            "Add --yes if that is what you want; without a database named, bench starts a server of its own.",
        ));
    }
    let what = format!("bench makes {makes} in {shown} and runs them");
    ask(
        &format!("{what}; their history stays until retention cleans it.\nGo on?"),
        "Nothing was written.",
    )
}
