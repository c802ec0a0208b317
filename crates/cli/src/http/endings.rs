//! Waiting for the end of a job or an execution. One look for all who wait, however many they are, and no connection between two looks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use tenure::store::executions::execution_ended;
use tenure::store::{for_every_tenant, jobs};
use tenure::{Pool, Result};
use tenure_core::limits;
use tokio::sync::Notify;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::Server;
use super::auth::Caller;
use super::body::{Id, Query};
use super::problem::{Body, Problem};
use super::waits;

/// How often is looked, while anybody waits.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long to wait before looking again, when the database did not answer.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// More do not wait: they are answered at once.
const WAITERS_MAX: usize = 10_000;
/// The states that nothing but an operator or retention changes.
const AT_REST: &[&str] = &["succeeded", "failed", "cancelled", "dead_letter", "cleaned"];

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new().routes(routes!(job_show))
}

/// Whether to wait.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ShowQuery {
    /// Wait for its end, so long at most: up to 40 seconds.
    #[param(minimum = 0, maximum = 40)]
    wait_seconds: Option<u64>,
}

/// Show all about a job, at once or when it has ended
///
/// With `wait_seconds` the answer comes when the job has ended, or when the time is up: its `state` tells which.
#[utoipa::path(
    get, path = "/v1/jobs/{job_id}", tag = "jobs", params(("job_id" = Uuid, Path), ShowQuery),
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_show(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(job_id): Id,
    Query(query): Query<ShowQuery>,
) -> Result<Json<Value>, Problem> {
    let until = waits::until(query.wait_seconds)?;
    let mut key = server.key_ends.watch(caller.key_id);
    let look = async || {
        let shown = server.call(&caller, "job_show", async |client| jobs::show(client, job_id).await);
        shown.await
    };
    loop {
        // In line before the look: what ends after it is told.
        let waits = Instant::now() < until && !key.has_ended();
        let place = waits.then(|| server.endings.join(job_id)).flatten();
        let shown = look().await?;
        let ended = shown["state"].as_str().is_some_and(|state| AT_REST.contains(&state));
        let Some(place) = place.filter(|_| !ended) else {
            return Ok(Json(shown));
        };
        // Whether the key is still valid, and sees the job, is asked again at the end.
        tokio::select! {
            _ = tokio::time::timeout_at(until.into(), place.ended.notified()) => {}
            () = key.ended() => {}
        }
    }
}

/// Whose end is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Of {
    Jobs,
    /// Those that wait for somebody count too: nothing moves there by itself.
    Executions,
}

/// All who wait for an end.
pub(super) struct Endings {
    of: Of,
    queue: Mutex<Queue>,
    /// Somebody waits.
    busy: Notify,
}

#[derive(Default)]
struct Queue {
    by_id: HashMap<Uuid, Vec<(u64, Arc<Notify>)>>,
    waiters: usize,
    next: u64,
    closed: bool,
}

/// One who waits, until it is dropped.
pub(super) struct Place {
    endings: Arc<Endings>,
    id: Uuid,
    number: u64,
    pub(super) ended: Arc<Notify>,
}

impl Endings {
    pub(super) fn new(of: Of) -> Arc<Endings> {
        Arc::new(Endings {
            of,
            queue: Mutex::default(),
            busy: Notify::default(),
        })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for this one; none when the server is about to end, or too many wait already.
    pub(super) fn join(self: &Arc<Endings>, id: Uuid) -> Option<Place> {
        let mut queue = self.queue();
        if queue.closed || queue.waiters >= WAITERS_MAX {
            return None;
        }
        let (number, ended) = (queue.next, Arc::new(Notify::new()));
        queue.next += 1;
        queue.waiters += 1;
        queue.by_id.entry(id).or_default().push((number, ended.clone()));
        self.busy.notify_one();
        Some(Place {
            endings: self.clone(),
            id,
            number,
            ended,
        })
    }

    /// Nobody waits any more.
    pub(super) fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        queue.by_id.values().flatten().for_each(|(_, ended)| ended.notify_one());
    }

    /// Looks for ends while anybody waits, for as long as the server lives.
    pub(super) async fn watch(self: Arc<Endings>, pool: Pool) {
        loop {
            let mut awaited: Vec<Uuid> = self.queue().by_id.keys().copied().collect();
            if awaited.is_empty() {
                self.busy.notified().await;
                continue;
            }
            tokio::time::sleep(LOOK_EVERY).await;
            awaited.sort_unstable();
            match ended(self.of, &pool, &awaited).await {
                Ok(ended) => self.tell(&ended),
                Err(error) => {
                    tracing::warn!(code = error.code(), of = ?self.of, "ends are not seen: {error}");
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
            }
        }
    }

    fn tell(&self, ended: &[Uuid]) {
        let queue = self.queue();
        let waiting = ended.iter().filter_map(|id| queue.by_id.get(id)).flatten();
        waiting.for_each(|(_, ended)| ended.notify_one());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut queue = self.endings.queue();
        queue.waiters -= 1;
        if let Some(waiting) = queue.by_id.get_mut(&self.id) {
            waiting.retain(|(number, _)| *number != self.number);
            if waiting.is_empty() {
                queue.by_id.remove(&self.id);
            }
        }
    }
}

/// Those that have ended. All tenants at once: who may see them was asked before, and is asked again.
async fn ended(of: Of, pool: &Pool, awaited: &[Uuid]) -> Result<Vec<Uuid>> {
    let mut connection = pool.get().await?;
    let transaction = connection.transaction().await?;
    for_every_tenant(&transaction).await?;
    let mut found = Vec::new();
    for batch in awaited.chunks(limits::BATCH_ROWS_MAX) {
        match of {
            Of::Jobs => found.extend(jobs::ended(&transaction, batch).await?),
            Of::Executions => {
                let settled = execution_ended(&transaction, batch).await?;
                found.extend(settled.iter().map(|settled| settled.execution_id));
            }
        }
    }
    transaction.commit().await?;
    Ok(found)
}
