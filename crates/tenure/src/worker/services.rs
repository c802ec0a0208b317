//! Whether any process runs the services that a worker depends on. Without them the jobs of a worker that died stay held,
//! and schedules do not fire; nothing else would say so.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::runtime::Runtime;
use super::trouble::jittered;
use crate::error::Result;
use crate::store::services::{Service, service_list};

/// Services that start together with the worker have run by then.
const FIRST_LOOK: Duration = Duration::from_secs(5);
/// The pause between two looks, one short statement each, while all is well.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// The same while a service is missing.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// A look that gets no connection or no answer by then is left out.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a worker cannot do without.
const NEEDED: [&str; 2] = ["reaper", "scheduler"];
const FIX: &str = "Run `tenure serve` on this database, or tenure::services::run(pool, shutdown) in this program.";

/// Warns once when a service is missing, and says once when all run again.
pub(super) async fn watch(runtime: Arc<Runtime>) {
    let worker = &*runtime.settings.name;
    let mut is_warned = false;
    let mut pause = FIRST_LOOK;
    loop {
        sleep(pause).await;
        let Ok(Ok(services)) = timeout(PATIENCE, look(&runtime)).await else {
            continue;
        };
        let missing = troubles(&services);
        match (missing.is_empty(), is_warned) {
            (false, false) => tracing::warn!(worker, "{} {FIX}", missing.join(" ")),
            (true, true) => tracing::info!(worker, "a reaper and a scheduler run"),
            _ => {}
        }
        is_warned = !missing.is_empty();
        pause = jittered(if is_warned { LOOK_AGAIN } else { LOOK_EVERY });
    }
}

async fn look(runtime: &Runtime) -> Result<Vec<Service>> {
    let connection = runtime.pool.get().await?;
    service_list(&*connection).await
}

/// What is wrong with the services that are needed.
fn troubles(services: &[Service]) -> Vec<String> {
    let needed = services.iter().filter(|it| NEEDED.contains(&it.service.as_str()));
    needed.filter_map(Service::trouble).collect()
}
