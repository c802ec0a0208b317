//! `tenure serve`: the API for programs in any language, on a database that is there.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::json;
use tenure::services::{AnchorFile, reaper};
use tenure::zones;
use tenure_core::codes;
use tenure_server::webhooks::{self, Reach};
use tenure_server::{Certificates, HEALTH_CONNECTIONS, Limits, Manners, Pools, Server, closed};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::ensure_evidence_key;
use crate::connect::Place;
use crate::errors::{Outcome, refuse};
use crate::evidence_key;
use crate::logs;
use crate::output::{Format, Output};
use crate::settings::{Flags, Settings, masked};
use crate::stop::Stop;

/// Where the API is, unless somebody says otherwise.
pub(crate) const LISTEN: &str = "127.0.0.1:7373";

/// File descriptors for all that is neither a client nor a database connection.
const DESCRIPTORS_SPARE: usize = 64;

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    flags: Flags,
    /// Print the OpenAPI document, and serve nothing
    #[arg(long)]
    openapi: bool,
}

impl Serve {
    pub(super) async fn run(self, place: Place, out: Output) -> Outcome {
        if self.openapi {
            return out.text(&tenure_server::description());
        }
        let settings = Settings::find(&self.flags, &place)?;
        logs::start(settings.value("log")?, settings.value("log_format")?);
        tenure_server::metrics::install();
        let certificates = match settings.tls()? {
            Some((cert, key)) => Some(Arc::new(Certificates::read(cert, key)?)),
            None => None,
        };
        for warning in settings.warnings() {
            tracing::warn!("{warning}");
        }
        let zones = match settings.text("zoneinfo") {
            Some(directory) => zones::use_directory(Path::new(directory))?,
            None => zones::current(),
        };
        // Where there is a certificate, SIGHUP is for that.
        let mut stop = match certificates {
            Some(_) => Stop::listen_but_for_hang_up()?,
            None => Stop::listen()?,
        };
        let key = evidence_key::source(settings.text("evidence_key_file"))?;
        let place = place.configured(settings.database_of_file());
        let url = place.url().await?;
        let anchor_file = settings.text("anchor_file").map(anchor_file).transpose()?;
        // Refuses a schema that this program cannot work with.
        let mut session = place.session_at(&url, out).await?;
        if let Some(key_id) = ensure_evidence_key(&mut session, &key).await? {
            match key.is_outside() {
                true => tracing::warn!(key_id, "evidence is signed with a key outside the database from now on"),
                false => tracing::info!(key_id, "made a key that signs evidence"),
            }
        }
        session.sql(async |tx| reaper::notice_restore(tx).await).await?;
        drop(session);
        let (connections, service_connections) =
            (settings.value("connections")?, settings.value("service_connections")?);
        let pools = Pools::new(&url, connections, service_connections)?;
        let pool = pools.services.clone();
        let listener = listen(settings.value("listen")?).await?;
        let address = listener.local_addr()?;
        let scheme = if certificates.is_some() { "https" } else { "http" };
        if certificates.is_none() && !address.ip().is_loopback() {
            tracing::warn!(
                "{address} can be reached by others, and nothing is encrypted: give it --tls-cert and --tls-key, or put \
                 something that speaks TLS before it."
            );
        }
        let metrics = match settings.text("metrics_listen") {
            Some(_) => Some(listen(settings.value("metrics_listen")?).await?),
            None => None,
        };
        let metrics_address = metrics.as_ref().map(TcpListener::local_addr).transpose()?;
        if let Some(address) = metrics_address.filter(|address| !address.ip().is_loopback()) {
            tracing::warn!("The metrics at {address} can be read by whoever reaches it: they name tenants and kinds.");
        }
        let limits = within_descriptors(
            settings.limits()?,
            connections + service_connections + HEALTH_CONNECTIONS,
        );
        let reach: Reach = settings.value("webhook_allow")?;
        let (ending, ended) = watch::channel(());
        let mut services = JoinSet::new();
        if !settings.value::<bool>("no_services")? {
            let outside = tenure::services::Settings {
                key: key.clone(),
                anchor_file,
            };
            let running = tenure::services::run_with(pool.clone(), outside, closed(ended.clone()));
            services.spawn(running);
            let (sending, sending_end) = (pool.clone(), closed(ended.clone()));
            services.spawn(webhooks::run(sending, reach.clone(), sending_end));
        }
        let listen_url = settings.text("listen_url").unwrap_or(&url);
        let manners = Manners {
            webhooks: reach,
            hsts_seconds: settings.hsts_seconds()?,
            evidence_key: key,
        };
        let server = Server::new(pools, listen_url, limits, manners);
        let ended_with = server.clone();
        if let Some(listener) = metrics {
            let (server, end) = (server.clone(), closed(ended.clone()));
            services.spawn(async move {
                if let Err(error) = tenure_server::metrics::listen(server, listener, end).await {
                    tracing::error!("the metrics have ended: {error}");
                }
            });
        }
        let server = tokio::spawn(tenure_server::serve(server, listener, certificates, closed(ended)));
        let ready = format!("{scheme}://{address}");
        match out.format {
            Format::Json => {
                let metrics = metrics_address.map(|address| format!("http://{address}/metrics"));
                out.json(
                    &json!({"ready": ready, "database": masked(&url), "pid": std::process::id(), "metrics": metrics}),
                )?;
            }
            _ => out.text(&format!("ready: {ready}"))?,
        }
        tracing::info!(%address, tls = scheme == "https", version = env!("CARGO_PKG_VERSION"), %zones, "serving");
        stop.asked().await;
        tracing::info!("asked to stop: what has begun is finished");
        drop(ending);
        tokio::select! {
            _ = async { let _ = server.await; services.join_all().await } => {}
            // Who asks twice does not want to wait.
            () = stop.asked() => {}
        }
        ended_with.close();
        Ok(())
    }
}

/// The file that checkpoints are appended to, known by the name of this machine. Its directory must be there.
fn anchor_file(path: &str) -> Outcome<AnchorFile> {
    let host = nix::unistd::gethostname().ok().and_then(|host| host.into_string().ok());
    let path = std::path::absolute(path)?;
    match path.parent() {
        Some(directory) if directory.is_dir() => Ok(AnchorFile::new(path, host.as_deref())),
        directory => Err(refuse(
            codes::CONFIG_INVALID,
            format!("The anchor file {} cannot be written.", path.display()),
            format!("There is no directory {}.", directory.unwrap_or(&path).display()),
            "Make the directory, or name another file: --anchor-file FILE.",
        )),
    }
}

/// Takes as many file descriptors as the system gives, and no more clients than there are descriptors for.
fn within_descriptors(mut limits: Limits, connections: usize) -> Limits {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return limits;
    };
    let given = match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
        Ok(()) => hard,
        Err(_) => soft,
    };
    let given = usize::try_from(given).unwrap_or(usize::MAX);
    let room = given.saturating_sub(connections + DESCRIPTORS_SPARE).max(1);
    if room < limits.clients_max {
        tracing::warn!(
            "The system lets this process have {given} open files: no more than {room} clients at once, not {}.",
            limits.clients_max
        );
        limits.clients_max = room;
    }
    limits
}

/// Listens there, or says why that is not possible.
pub(crate) async fn listen(address: SocketAddr) -> Outcome<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        refuse(
            codes::USAGE,
            format!("Cannot listen on {address}: {}.", error.kind()),
            error.to_string(),
            "Choose another address or port with --listen; port 0 takes a free one.",
        )
    })
}
