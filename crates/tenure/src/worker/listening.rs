//! Hearing of new work.

use std::sync::Arc;

use super::runtime::Runtime;
use super::trouble::Log;
use crate::pool::listen;
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
                // What was enqueued before we heard has to be looked for once; the park does that.
                runtime.board().parking.listen();
                runtime.turns.notify_one();
                while let Some(lane) = listener.next().await {
                    if lane.parse().is_ok_and(|lane| runtime.board().wake_lane(lane)) {
                        runtime.turns.notify_one();
                    }
                }
                runtime.board().parking.close();
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
