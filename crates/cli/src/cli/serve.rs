//! `tenure serve`: the API for programs in any language, on a database that is there.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tenure::Pool;
use tenure::pool::PoolOptions;
use tenure::services::{reaper, retention};
use tenure_core::codes;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::connect::{Place, without_password};
use crate::errors::{Outcome, refuse};
use crate::http::{self, Server};
use crate::output::{Format, Output};
use crate::stop::{Stop, closed};

/// Where the API is, unless somebody says otherwise.
pub(crate) const LISTEN: &str = "127.0.0.1:7373";

/// How long requests that have begun are waited for at the end.
const DRAIN: Duration = Duration::from_secs(20);

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = LISTEN, env = "TENURE_LISTEN")]
    listen: SocketAddr,
    /// Database connections at most
    #[arg(long, value_name = "N", default_value_t = 10)]
    connections: usize,
    /// A direct way to the database, where PgBouncer stands between: new work is heard of there [default: the database]
    #[arg(long, value_name = "URL")]
    listen_url: Option<String>,
    /// Where /metrics is to be had without a key, for whoever can reach it; port 0 takes a free one [default: nowhere]
    #[arg(long, value_name = "ADDRESS:PORT", env = "TENURE_METRICS_LISTEN")]
    metrics_listen: Option<SocketAddr>,
    /// Leave reaper and retention to another process
    #[arg(long)]
    no_services: bool,
    /// Print the OpenAPI document, and serve nothing
    #[arg(long)]
    openapi: bool,
}

impl Serve {
    pub(super) async fn run(self, place: Place, out: Output) -> Outcome {
        if self.openapi {
            return out.text(&http::description());
        }
        let mut stop = Stop::listen()?;
        http::metrics::install();
        let url = place.url().await?;
        // Refuses a schema that this program cannot work with.
        drop(place.session_at(&url, out).await?);
        let options = PoolOptions {
            connections_max: self.connections,
            ..Default::default()
        };
        let pool = Pool::new(&url, &options)?;
        let listener = listen(self.listen).await?;
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() {
            out.warn(&format!(
                "{address} can be reached by others, and nothing is encrypted: put something that speaks TLS before it."
            ));
        }
        let metrics = match self.metrics_listen {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let metrics_address = metrics.as_ref().map(TcpListener::local_addr).transpose()?;
        if let Some(address) = metrics_address.filter(|address| !address.ip().is_loopback()) {
            out.warn(&format!(
                "The metrics at {address} can be read by whoever reaches it: they name tenants and kinds."
            ));
        }
        let (ending, ended) = watch::channel(());
        let mut services = JoinSet::new();
        if !self.no_services {
            let (reaping, sweeping) = (pool.clone(), pool.clone());
            let (reaper_end, retention_end) = (closed(ended.clone()), closed(ended.clone()));
            services.spawn(async move { reaper::run(&reaping, reaper::INTERVAL, reaper_end).await });
            services.spawn(async move { retention::run(&sweeping, retention::INTERVAL, retention_end).await });
        }
        let server = Server::new(pool.clone(), self.listen_url.as_deref().unwrap_or(&url));
        if let Some(listener) = metrics {
            let (server, end) = (server.clone(), closed(ended.clone()));
            services.spawn(async move {
                if let Err(error) = http::metrics::listen(server, listener, end).await {
                    tracing::error!("the metrics have ended: {error}");
                }
            });
        }
        let server = tokio::spawn(http::serve(server, listener, closed(ended)));
        let (shown, _) = without_password(&url);
        match out.format {
            Format::Json => out.json(
                &json!({"ready": format!("http://{address}"), "database": shown, "pid": std::process::id(),
                    "metrics": metrics_address.map(|address| format!("http://{address}/metrics"))}),
            )?,
            _ => out.text(&format!("ready: http://{address}"))?,
        }
        stop.asked().await;
        drop(ending);
        tokio::select! {
            _ = async { let _ = server.await; services.join_all().await } => {}
            () = stop.asked() => {}
            // Somebody does not read what they asked for.
            () = tokio::time::sleep(DRAIN) => {}
        }
        pool.close();
        Ok(())
    }
}

/// Listens there, or says why that is not possible.
pub(crate) async fn listen(address: SocketAddr) -> Outcome<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        refuse(
            codes::USAGE,
            format!("Nobody can listen on {address}."),
            error.to_string(),
            "Choose another address or port with --listen; port 0 takes a free one.",
        )
    })
}
