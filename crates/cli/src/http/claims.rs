//! Claims, which may wait for work.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tenure::store::jobs::{self, Claim, ClaimMode, ClaimedJob};
use tenure_core::limits;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::Server;
use super::auth::Caller;
use super::body::Strict;
use super::problem::{Body, Problem};
use super::waits;

/// How long the database notifies us while claims wait.
const PARK_SECONDS: i32 = 60;

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(job_claim))
        .routes(routes!(job_held))
}

/// What to claim.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ClaimRequest {
    /// The name of the worker.
    #[schema(example = "worker-1", min_length = 1, max_length = 200)]
    worker: String,
    /// Only jobs for this executor.
    executor: Option<String>,
    /// Only jobs of these kinds; an empty list means none.
    kinds: Option<Vec<String>>,
    /// At most so many; 1 if left out.
    #[schema(minimum = 1, maximum = 1000)]
    limit: Option<i32>,
    /// How long the lease lasts without a heartbeat.
    #[schema(minimum = 1, maximum = 86400)]
    lease_seconds: Option<i32>,
    /// Whether they are started at once.
    #[serde(default)]
    mode: Mode,
    /// Nothing below this priority.
    #[schema(minimum = -32768, maximum = 32767)]
    priority_min: Option<i32>,
    /// Jobs with this affinity key are preferred; when there are none, others are claimed.
    affinity_key: Option<String>,
    /// A token of the caller's own, to find a claim whose answer was lost.
    token: Option<Uuid>,
    /// How long to wait while there is nothing to do: up to 40 seconds.
    #[schema(minimum = 0, maximum = 40)]
    wait_seconds: Option<u64>,
}

/// Whether claimed jobs are started at once.
#[derive(Debug, Default, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ClaimMode)]
enum Mode {
    /// For a buffer: each is started when its turn comes.
    Leased,
    /// They run now.
    #[default]
    Started,
}

/// What was claimed; an empty list when there is nothing to do.
#[derive(Debug, Serialize, ToSchema)]
struct Claimed {
    /// The jobs.
    jobs: Vec<ClaimedJob>,
}

/// Claim jobs
#[utoipa::path(
    post, path = "/v1/jobs/claim", tag = "work", request_body = ClaimRequest,
    responses((status = 200, body = Claimed), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_claim(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<ClaimRequest>,
) -> Result<Json<Claimed>, Problem> {
    let mut claim = Claim::new(request.worker);
    claim.executor = request.executor;
    claim.kinds = request.kinds;
    claim.limit = Some(request.limit.unwrap_or(1));
    claim.lease_seconds = request.lease_seconds;
    claim.mode = match request.mode {
        Mode::Leased => ClaimMode::Leased,
        Mode::Started => ClaimMode::Started,
    };
    claim.affinity_key = request.affinity_key;
    claim.priority_min = request.priority_min;
    claim.token = request.token;
    let until = waits::until(request.wait_seconds)?;
    Ok(Json(claim_within(&server, &caller, &claim, until).await?))
}

/// The token of a claim.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct HeldRequest {
    /// As the claim gave it.
    token: Uuid,
}

/// Find what a claim holds
///
/// For a claim with a token of the caller's own whose answer was lost: the same jobs, as far as they are still held.
#[utoipa::path(
    post, path = "/v1/jobs/held", tag = "work", request_body = HeldRequest,
    responses((status = 200, body = Claimed), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_held(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(HeldRequest { token }): Strict<HeldRequest>,
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
