//! `tenure serve`: the API for programs in any language, on a database that is there.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use ipnet::IpNet;
use serde_json::json;
use tenure::Pool;
use tenure::pool::PoolOptions;
use tenure::services::{reaper, retention, subscriptions};
use tenure_core::codes;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::connect::{Place, without_password};
use crate::errors::{Outcome, refuse};
use crate::http::{self, Server};
use crate::output::{Format, Output};
use crate::stop::{Stop, closed};
use crate::webhooks::{self, Reach};

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
    /// Leave reaper, retention, subscriptions and webhooks to another process
    #[arg(long)]
    no_services: bool,
    /// Let webhooks go to this network though it is private, and without TLS too
    #[arg(long, value_name = "NETWORK")]
    webhook_allow: Vec<IpNet>,
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
        let (ending, ended) = watch::channel(());
        let mut services = JoinSet::new();
        if !self.no_services {
            let (reaping, sweeping) = (pool.clone(), pool.clone());
            let (reaper_end, retention_end) = (closed(ended.clone()), closed(ended.clone()));
            services.spawn(async move { reaper::run(&reaping, reaper::INTERVAL, reaper_end).await });
            services.spawn(async move { retention::run(&sweeping, retention::INTERVAL, retention_end).await });
            let (telling, sending) = (pool.clone(), pool.clone());
            let (telling_end, sending_end) = (closed(ended.clone()), closed(ended.clone()));
            services.spawn(async move { subscriptions::run(&telling, subscriptions::INTERVAL, telling_end).await });
            services.spawn(webhooks::run(sending, Reach::new(self.webhook_allow), sending_end));
        }
        let server = tokio::spawn(http::serve(
            Server::new(pool.clone(), self.listen_url.as_deref().unwrap_or(&url)),
            listener,
            closed(ended),
        ));
        let (shown, _) = without_password(&url);
        match out.format {
            Format::Json => {
                out.json(&json!({"ready": format!("http://{address}"), "database": shown, "pid": std::process::id()}))?
            }
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
