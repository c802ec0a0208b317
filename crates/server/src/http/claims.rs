//! Claims, which may wait for work.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use tenure::store::jobs::{self, Claim, ClaimedJob};
use tenure_api::work::{JobClaim, JobHeld};
use tenure_core::limits;

use super::Server;
use super::auth::Caller;
use super::body::Strict;
use super::mount::ByHand;
use super::problem::Problem;
use super::waits;

/// How long the database notifies us while claims wait.
const PARK_SECONDS: i32 = 60;

pub(super) fn routes() -> ByHand {
    ByHand::default()
        .with::<JobClaim, _, _>(job_claim)
        .with::<JobHeld, _, _>(job_held)
}

/// The answer of `JobClaim` and `JobHeld`. Payloads stay the texts that the database sent.
#[derive(Debug, Serialize)]
struct Claimed {
    jobs: Vec<ClaimedJob>,
}

async fn job_claim(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<JobClaim>,
) -> Result<Json<Claimed>, Problem> {
    let until = waits::until(request.wait_seconds)?;
    let claim = Claim::try_from(request)?;
    Ok(Json(claim_within(&server, &caller, &claim, until).await?))
}

async fn job_held(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(JobHeld { token }): Strict<JobHeld>,
) -> Result<Json<Claimed>, Problem> {
    let jobs = server.call(&caller, "job_held", async |client| jobs::held(client, token).await);
    Ok(Json(Claimed { jobs: jobs.await? }))
}

/// Claims, and waits for work while there is none.
async fn claim_within(server: &Server, caller: &Caller, claim: &Claim, until: Instant) -> Result<Claimed, Problem> {
    let executor = claim.executor.as_deref();
    let apart = caller.apart();
    let look = async || {
        let jobs = server.call(caller, "job_claim_many", async |client| {
            jobs::claim_many(client, claim).await
        });
        jobs.await
    };
    let group = format!(
        "{} {executor:?} {:?} {:?} {:?}",
        caller.key_id, claim.kinds, claim.affinity_key, claim.priority_min
    );
    let mut key = server.key_ends.watch(caller.key_id);
    let mut looking = None;
    loop {
        // Looked at before: a key that ends during the look is refused by the next call.
        let ended = key.has_ended();
        let jobs = look().await?;
        drop(looking);
        if !jobs.is_empty() || Instant::now() >= until || ended {
            return claimed(server, caller, jobs).await;
        }
        server.look_again(caller).await?;
        // Parked, then in line, then one more look: it finds what came before, and what comes after is notified.
        let lanes = server.call(&apart, "worker_park", async |client| {
            jobs::park(client, executor, claim.kinds.as_deref(), Some(PARK_SECONDS)).await
        });
        let Some(place) = server.waiting.join(group.clone(), lanes.await?) else {
            return Ok(Claimed { jobs: Vec::new() });
        };
        let jobs = look().await?;
        if !jobs.is_empty() {
            return claimed(server, caller, jobs).await;
        }
        server.look_again(caller).await?;
        looking = tokio::select! {
            woken = tokio::time::timeout_at(until.into(), place.woken()) => woken.ok(),
            // The next look is refused.
            () = key.ended() => None,
        };
    }
}

/// Where there was a job there may be more, and one notification stands for all of them: wakes as many waiters as there are
/// jobs. Only the last of those who were woken together does it, so that no job is counted for two.
async fn claimed(server: &Server, caller: &Caller, jobs: Vec<ClaimedJob>) -> Result<Claimed, Problem> {
    let lanes: BTreeSet<i32> = jobs.iter().map(|job| job.lane).collect();
    let claimed = Claimed { jobs };
    for lane in lanes {
        let waiters = server.waiting.idle(lane).min(limits::BATCH_ROWS_MAX);
        if waiters == 0 {
            continue;
        }
        // The claim is committed first: what is called for the waiters must not undo it.
        server.keep(caller, StatusCode::OK, &claimed).await?;
        let most = i32::try_from(waiters).unwrap_or(i32::MAX);
        let ready = server.call(caller, "lane_ready", async |client| {
            jobs::lane_ready(client, &[lane], most).await
        });
        // At least one: it finds nothing, and parks again.
        let ready = ready
            .await
            .ok()
            .and_then(|ready| usize::try_from(ready).ok())
            .unwrap_or(0);
        server.waiting.wake(lane, ready.max(1));
    }
    Ok(claimed)
}
