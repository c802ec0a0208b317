//! Hearing of new work.

use std::sync::Arc;
use std::time::Instant;

use tokio_postgres::types::Type;
use uuid::Uuid;

use super::runtime::Runtime;
use super::trouble::Log;
use crate::error::Result;
use crate::pool::{Listener, listen};
use crate::store::kinds::lane_open;

/// The channel an enqueue notifies on, with the number of the lane.
const CHANNEL: &str = "tenure_lane";

/// Hears of new work for as long as the worker lives. While it cannot, the worker polls.
pub(super) async fn hear(runtime: Arc<Runtime>, url: String) {
    let log = Log::default();
    let name = runtime.settings.name.clone();
    open_lanes(&runtime).await;
    loop {
        let delay = match listen(&url, CHANNEL).await {
            Ok(mut listener) => {
                log.fine(&name);
                let own = own_channel(&listener).await;
                // What was enqueued before we heard has to be looked for once; the park does that.
                runtime.board().hearing(own.clone());
                runtime.turns.notify_one();
                loop {
                    let told = tokio::select! {
                        told = listener.next() => told,
                        // A job was handed to us and we did not hear of it: the connection is good for nothing.
                        () = runtime.deaf.notified() => None,
                    };
                    let Some(told) = told else { break };
                    if own.as_ref() == Some(&told.channel) {
                        // Nobody else knows this channel: what comes here was sent by a hand-over.
                        match tenure_core::json::parse(&told.payload) {
                            Ok(handed) => runtime.handed(handed),
                            Err(error) => tracing::warn!(%error, "a hand-over could not be read"),
                        }
                    } else if told.payload.parse().is_ok_and(|lane| runtime.board().wake_lane(lane)) {
                        runtime.turns.notify_one();
                    }
                }
                runtime.board().deaf(Instant::now());
                // Somebody has to look after what we offered.
                runtime.turns.notify_one();
                log.told(
                    &name,
                    "database_unreachable",
                    "The connection that hears of new work is gone; polling.",
                )
            }
            Err(error) => log.trouble(&name, &error),
        };
        tokio::time::sleep(delay).await;
    }
}

/// A channel that nobody else knows, where jobs may be handed to us. The lock says that we live: it goes with the connection.
async fn own_channel(listener: &Listener) -> Option<String> {
    let channel = format!("tenure_hand_{}", Uuid::new_v4().simple());
    let open = async || -> Result<bool> {
        listener.hear(&channel).await?;
        // Last: what a connection asked last can be seen by others of the same role.
        let lock = "select pg_catalog.pg_try_advisory_lock(tenure.offer_lock($1))";
        let rows = listener.client().query_typed(lock, &[(&channel, Type::TEXT)]).await?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    };
    match open().await {
        Ok(true) => Some(channel),
        Ok(false) => None,
        Err(error) => {
            tracing::debug!(code = error.code(), "no jobs can be handed over: {error}");
            None
        }
    }
}

/// A kind that was never enqueued has no lane to park on, so its first job would have to be found by polling. A login
/// that may not open lanes leaves it at that.
async fn open_lanes(runtime: &Runtime) {
    let Ok(client) = runtime.pool.get().await else { return };
    for kind in runtime.kinds.keys() {
        if let Err(error) = lane_open(&*client, kind, runtime.settings.executor.as_deref()).await {
            tracing::debug!(kind, code = error.code(), "lane not opened: {error}");
            return;
        }
    }
}
