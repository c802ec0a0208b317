//! Start, renew and end many jobs at once, by hand-written handlers: they must be quick. A single job has the handler of all operations.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use tenure::store::jobs::{self, Beat, End, EndAnswer, Hold, Started};
use tenure_api::work::{JobEndMany, JobHeartbeatMany, JobStartMany};

use super::Server;
use super::auth::Caller;
use super::body::Strict;
use super::mount::ByHand;
use super::problem::Problem;

pub(super) fn routes() -> ByHand {
    ByHand::default()
        .with::<JobStartMany, _, _>(job_start_many)
        .with::<JobHeartbeatMany, _, _>(job_heartbeat_many)
        .with::<JobEndMany, _, _>(job_end_many)
}

/// An answer for each job, in the order of the request.
#[derive(Debug, Serialize)]
struct Jobs<T> {
    jobs: Vec<T>,
}

async fn job_start_many(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<JobStartMany>,
) -> Result<Json<Jobs<Started>>, Problem> {
    let holds: Vec<Hold> = request.jobs.into_iter().map(Hold::from).collect();
    let jobs = server.call(&caller, "job_start_many", async |client| {
        jobs::start_many(client, &holds).await
    });
    Ok(Json(Jobs { jobs: jobs.await? }))
}

async fn job_heartbeat_many(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<JobHeartbeatMany>,
) -> Result<Json<Jobs<Beat>>, Problem> {
    let holds: Vec<Hold> = request.jobs.into_iter().map(Hold::from).collect();
    let jobs = server.call(&caller, "job_heartbeat_many", async |client| {
        jobs::heartbeat_many(client, &holds, request.lease_seconds).await
    });
    Ok(Json(Jobs { jobs: jobs.await? }))
}

/// An answer for each run, in the order of the request.
#[derive(Debug, Serialize)]
struct Ends {
    ends: Vec<EndAnswer>,
}

async fn job_end_many(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<JobEndMany>,
) -> Result<Json<Ends>, Problem> {
    let ends: Vec<End> = request.ends.into_iter().map(End::try_from).collect::<Result<_, _>>()?;
    let answers = server.call(&caller, "job_end_many", async |client| {
        jobs::end_many(client, &ends).await
    });
    Ok(Json(Ends { ends: answers.await? }))
}
