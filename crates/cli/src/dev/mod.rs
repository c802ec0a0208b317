//! `tenure dev`: a private database, migrated, with gates open and services running, until somebody stops it.

mod api;
mod hello;
mod people;
mod reset;
mod welcome;

use std::net::SocketAddr;
use std::path::Path;

use clap::Args;
use serde_json::json;
use tenure::{Pool, pool::PoolOptions};
use tenure_cluster::{Cluster, ClusterOptions, PrivateError};
use tenure_core::api_key::ApiKey;
use tenure_core::codes;
use tenure_server::webhooks::{self, Reach};
use tenure_server::{Limits, Manners, Pools, Server, closed};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::cli::{ensure_evidence_key, migrate_to, migrated_sentence, open_actions, open_all_gates};
use crate::connect::{Choice, Place, in_tenant};
use crate::errors::{Failure, Outcome, refuse};
use crate::output::{Format, Output, step};
use crate::settings::masked;
use crate::stop::Stop;

use self::api::Api;
pub(crate) use self::welcome::quoted;
use self::welcome::welcome;

/// The database of the cluster that holds the schema.
const DATABASE: &str = "postgres";
/// One for each service, or two for the worker and some to spare.
const CONNECTIONS_MAX: usize = 6;

#[derive(Debug, Args)]
pub(crate) struct Dev {
    /// Begin again: remove the private database first
    #[arg(long)]
    reset: bool,
    /// Do not ask before --reset
    #[arg(long, short, requires = "reset")]
    yes: bool,
    /// Also listen on this port of 127.0.0.1; the Unix socket is always there
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Where the API listens; port 0 takes a free one [default: 127.0.0.1:7373, or a free port where that is taken]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Do not run jobs of the kind hello
    #[arg(long)]
    no_worker: bool,
}

impl Dev {
    pub(crate) async fn run(self, place: Place, out: Output) -> Outcome {
        // Listening begins before the server starts: a signal in between must not leave it behind.
        let mut stop = Stop::listen()?;
        tenure_server::metrics::install();
        let choice = place.choice()?;
        let server = match &choice {
            Choice::Given { by, .. } => {
                self.refuse_management(by)?;
                None
            }
            Choice::Private { data_dir, .. } => {
                if self.reset {
                    reset::reset(data_dir, self.yes).await?;
                }
                let starting = step(out, "PostgreSQL", Cluster::start(self.options(data_dir)));
                tokio::select! {
                    started = starting => Some(started?),
                    () = stop.asked() => return Ok(()),
                }
            }
        };
        let url = match (&server, &choice) {
            (Some(cluster), _) => cluster.url(DATABASE),
            (None, Choice::Given { url, .. }) => url.clone(),
            (None, Choice::Private { .. }) => unreachable!("a private choice has a server"),
        };
        let tcp_url = server.as_ref().and_then(|cluster| cluster.tcp_url(DATABASE));
        let running = Running {
            server,
            out,
            place,
            worker: !self.no_worker,
        };
        let prepared = tokio::select! {
            prepared = running.prepare(&url) => prepared,
            () = stop.asked() => return running.stop(None).await,
        };
        let opened = match prepared {
            Ok(gates) => running.open(&url, &choice, self.listen).await.map(|api| (gates, api)),
            Err(failure) => Err(failure),
        };
        let (gates, api) = match opened {
            Ok(opened) => opened,
            Err(failure) => return running.stop(Some(failure)).await,
        };
        let shown = masked(&url);
        running.announce(&choice, &shown, tcp_url.as_deref(), &gates, &api)?;
        running.serve(&url, api, &mut stop).await
    }

    /// A server that somebody else runs is used as it is.
    fn refuse_management(&self, by: &str) -> Outcome {
        if !self.reset && self.port.is_none() {
            return Ok(());
        }
        Err(refuse(
            codes::USAGE,
            format!("--reset and --port are for the private database, and {by} names another server."),
            "A server that is only used is neither emptied nor configured.",
            format!("Leave them out, or name a data directory with --data-dir instead of {by}."),
        ))
    }

    fn options(&self, data_dir: &Path) -> ClusterOptions {
        let mut options = ClusterOptions::new(data_dir);
        options.tcp_port = self.port;
        options
    }
}

/// What is up, and must come down.
struct Running {
    server: Option<Cluster>,
    out: Output,
    place: Place,
    /// Whether jobs of the kind hello are run here.
    worker: bool,
}

impl Running {
    async fn prepare(&self, url: &str) -> Outcome<Vec<String>> {
        let report = step(self.out, "schema", migrate_to(url, self.out, &Default::default())).await?;
        self.out.note(&format!("  {}", migrated_sentence(&report)));
        let opening = async {
            let mut session = self.place.session_at(url, self.out).await?;
            ensure_evidence_key(&mut session, &Default::default()).await?;
            open_actions(&mut session).await?;
            open_all_gates(&mut session).await
        };
        step(self.out, "gates", opening).await
    }

    /// Opens the API. A key is made where it will be seen, and only for a database of our own.
    async fn open(&self, url: &str, choice: &Choice, listen: Option<SocketAddr>) -> Outcome<Api> {
        let listener = api::listen_at(listen).await?;
        let shown = self.out.format != Format::Quiet && matches!(choice, Choice::Private { .. });
        let mut session = self.place.session_at(url, self.out).await?;
        if matches!(choice, Choice::Private { .. }) {
            people::register(&mut session).await?;
        }
        api::open(listener, &mut session, shown).await
    }

    fn announce(&self, choice: &Choice, url: &str, tcp_url: Option<&str>, gates: &[String], api: &Api) -> Outcome {
        match self.out.format {
            Format::Json => {
                let data_dir = self.server.as_ref().map(|cluster| cluster.data_dir());
                let pid = std::process::id();
                return self.out.json(
                    &json!({"ready": url, "tcp_url": tcp_url, "data_dir": data_dir, "gates_open": gates, "pid": pid,
                        "api": api.url(), "key": api.key.as_ref().map(ApiKey::reveal)}),
                );
            }
            Format::People => self.out.text(&welcome(choice, url, tcp_url, gates, api, self.worker))?,
            Format::Quiet => {}
        }
        self.out.text(&format!("ready: {url}"))
    }

    /// Runs the services until somebody asks to stop, or the server ends by itself.
    async fn serve(mut self, url: &str, api: Api, stop: &mut Stop) -> Outcome {
        let options = PoolOptions {
            connections_max: CONNECTIONS_MAX,
            ..Default::default()
        };
        let pool = Pool::new(url, &options)?;
        let (ending, ended) = watch::channel(());
        let mut services = JoinSet::new();
        services.spawn(tenure::services::run(pool.clone(), closed(ended.clone())));
        services.spawn(webhooks::run(
            pool.clone(),
            Reach::this_machine(),
            closed(ended.clone()),
        ));
        if let Some(listener) = api.listener {
            let pools = Pools::new(url, PoolOptions::default().connections_max, CONNECTIONS_MAX)?;
            let manners = Manners {
                webhooks: Reach::this_machine(),
                ..Manners::default()
            };
            let server = Server::new(pools, url, Limits::default(), manners);
            let end = closed(ended.clone());
            services.spawn(tenure_server::serve(server, listener, None, end));
        }
        if self.worker {
            let (url, out) = (in_tenant(url, self.place.tenant()?.as_deref()), self.out);
            let pool = Pool::new(&url, &options)?;
            services.spawn(async move { hello::run(pool, &url, out, closed(ended)).await });
        }

        let failure = tokio::select! {
            () = stop.asked() => None,
            error = failed(self.server.as_mut()) => Some(Failure::from(error)),
        };
        drop(ending);
        // Work that has begun is finished, unless somebody asks a second time.
        tokio::select! {
            _ = services.join_all() => {}
            () = stop.asked() => {}
        }
        pool.close();
        self.stop(failure).await
    }

    /// Stops the server, says where the data stays, and passes the failure on.
    async fn stop(self, failure: Option<Failure>) -> Outcome {
        if let Some(cluster) = self.server {
            let data_dir = cluster.data_dir().to_owned();
            cluster.stop().await?;
            if self.out.format == Format::People {
                self.out
                    .text(&format!("\nStopped. The data stays in {}.", data_dir.display()))?;
            }
        }
        failure.map_or(Ok(()), Err)
    }
}

/// Why the server ended by itself; never, where there is none of our own.
async fn failed(server: Option<&mut Cluster>) -> PrivateError {
    match server {
        Some(cluster) => cluster.failed().await,
        None => std::future::pending().await,
    }
}
