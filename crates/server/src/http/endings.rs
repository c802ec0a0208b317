//! Waiting for the end of a job or an execution. One look for all who wait, however many they are, and no connection between two looks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{Request, State};
use tenure::operations::Perform;
use tenure::store::executions::execution_ended;
use tenure::store::{for_every_tenant, jobs};
use tenure::{Pool, Result};
use tenure_api::jobs::{JobDetails, JobShow};
use tenure_core::limits;
use tokio::sync::Notify;
use uuid::Uuid;

use super::auth::Caller;
use super::mount::ByHand;
use super::problem::Problem;
use super::{Server, mount, waits};

/// How often is looked, while anybody waits.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long to wait before looking again, when the database did not answer.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// More do not wait: they are answered at once.
const WAITERS_MAX: usize = 10_000;

pub(super) fn routes() -> ByHand {
    ByHand::default().with::<JobShow, _, _>(job_show)
}

/// Shows a job, at once or when it has ended.
async fn job_show(
    State(server): State<Arc<Server>>,
    caller: Caller,
    request: Request,
) -> Result<Json<JobDetails>, Problem> {
    let operation: JobShow = mount::read(&server, request).await?;
    let until = waits::until(operation.wait_seconds)?;
    let mut key = server.key_ends.watch(caller.key_id);
    loop {
        // Register before the look: an end after it is notified.
        let waits = Instant::now() < until && !key.has_ended();
        let place = waits.then(|| server.endings.join(operation.job_id)).flatten();
        let shown = server.call(&caller, "job_show", async |client| operation.perform(client).await);
        let shown = shown.await?;
        let Some(place) = place.filter(|_| !shown.state.is_at_rest()) else {
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
