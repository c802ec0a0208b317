//! A worker's life: work, drain, cancel, release.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use super::board::{Board, Phase};
use super::groups::Group;
use super::kind::Kind;
use super::runtime::Runtime;
use super::turns::Turns;
use super::{CancelReason, Report, Worker, declared, heartbeat, listening, services};
use crate::error::Result;

/// How long the last ends of a worker may take to be recorded, once no handler runs any more.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// From the first claim to the last answer.
pub(super) async fn live(worker: Worker, phase: Phase, shutdown: impl Future<Output = ()>) -> Result<Report> {
    let listen_url = worker.settings.listen_url.clone();
    let mut shutdown = std::pin::pin!(shutdown);
    tokio::select! {
        // A worker that is told to end at once still does what is there to do.
        biased;
        declared = declared::declare(&worker.pool, &worker.settings, &worker.schedules) => declared?,
        () = &mut shutdown => return Ok(Report::default()),
    }
    let runtime = Arc::new(set_up(worker, phase));
    let (drain, grace) = (runtime.settings.drain, runtime.settings.grace);
    let _stopped = Stopped(runtime.clone());
    // Both end with this function, however it ends.
    let (mut turns, mut tasks) = (JoinSet::new(), JoinSet::new());
    for _ in 0..runtime.settings.connections {
        turns.spawn(Turns::new(runtime.clone()).run());
    }
    tasks.spawn(heartbeat::beat(runtime.clone()));
    tasks.spawn(heartbeat::watch(runtime.clone()));
    tasks.spawn(services::watch(runtime.clone()));
    if let Some(url) = listen_url {
        tasks.spawn(listening::hear(runtime.clone(), url));
    }

    tokio::select! {
        ended = all(&mut turns) => {
            ended?;
            return Ok(runtime.board().report);
        }
        () = &mut shutdown => {}
    }
    runtime.board().phase = Phase::Draining;
    runtime.turns.notify_waiters();
    if let Ok(ended) = timeout(drain, all(&mut turns)).await {
        ended?;
        return Ok(runtime.board().report);
    }
    {
        let mut board = runtime.board();
        board.phase = Phase::Closing;
        board.held.cancel_all(CancelReason::Shutdown);
    }
    if let Ok(ended) = timeout(grace, all(&mut turns)).await {
        ended?;
        return Ok(runtime.board().report);
    }
    let left = runtime.board().held.release_all();
    runtime.settle(left);
    if let Ok(ended) = timeout(LAST_WORDS, all(&mut turns)).await {
        ended?;
    } else {
        let board = runtime.board();
        tracing::warn!(
            worker = &*runtime.settings.name,
            unrecorded = board.unrecorded(),
            "the last ends could not be recorded; their leases will run out"
        );
    }
    Ok(runtime.board().report)
}

/// The worker with nothing done yet.
fn set_up(worker: Worker, phase: Phase) -> Runtime {
    let Worker {
        pool,
        beats,
        settings,
        handlers,
        layers,
        schedules: _,
    } = worker;
    let (mut groups, mut kinds) = (Vec::<Group>::new(), HashMap::new());
    for handler in handlers {
        let name = handler.kind.clone();
        let room = handler.options.concurrency.or(handler.batch_max);
        let shared = groups.iter().position(|group| group.room.is_none());
        let group = match (room, shared) {
            (None, Some(shared)) => {
                groups[shared].kinds.push(name.clone());
                shared
            }
            (room, _) => {
                let group = Group::new(vec![name.clone()], room, Instant::now());
                groups.push(group.claims_at_least(handler.batch_max.unwrap_or(1)));
                groups.len() - 1
            }
        };
        kinds.insert(name, Arc::new(Kind::new(handler, group, layers.clone())));
    }
    let board = Board::new(&settings, groups, phase, Instant::now());
    Runtime::new((pool, beats), settings, kinds, board)
}

/// Until all loops have ended. Theirs is the first error, and their panics are ours.
async fn all(turns: &mut JoinSet<Result<()>>) -> Result<()> {
    while let Some(ended) = turns.join_next().await {
        match ended {
            Ok(ended) => ended?,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // Aborted with the runtime: nothing is left to wait for.
            Err(_) => {}
        }
    }
    Ok(())
}

/// Stops the handlers that are left, when the worker's future is dropped or has failed.
struct Stopped(Arc<Runtime>);

impl Drop for Stopped {
    fn drop(&mut self) {
        let left = self.0.board().held.release_all();
        if left.is_any() {
            let jobs = left.ends.len();
            tracing::warn!(worker = &*self.0.settings.name, jobs, "stopped in the middle of work");
        }
        left.tasks.iter().for_each(AbortHandle::abort);
    }
}
