//! Enqueue jobs, by hand-written handlers: they must be quick. The other operations on jobs have the handler of all operations.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use tenure::store::jobs::{self, Enqueued, NewJob};
use tenure_api::jobs::{JobEnqueue, JobEnqueueMany};
use tenure_core::codes;

use super::Server;
use super::auth::Caller;
use super::body::Strict;
use super::mount::ByHand;
use super::problem::Problem;

pub(super) fn routes() -> ByHand {
    ByHand::default()
        .with::<JobEnqueue, _, _>(job_enqueue)
        .with::<JobEnqueueMany, _, _>(job_enqueue_many)
}

async fn job_enqueue(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(mut request): Strict<JobEnqueue>,
) -> Result<(StatusCode, Json<Enqueued>), Problem> {
    let whom = request.on_behalf_of.take();
    let job = NewJob::try_from(tenure_api::jobs::NewJob::from(request))?;
    let caller = caller.about_job(&job.kind, job.key.as_deref());
    let enqueued = server
        .call(&caller, "job_enqueue_many", async |client| {
            jobs::enqueue_alone(client, &job, whom.as_deref()).await
        })
        .await?;
    let Some(enqueued) = enqueued.into_iter().next() else {
        return Err(Problem::new(
            codes::DATABASE_ERROR,
            "The database answered nothing.",
            "It should have answered with the job.",
            "Ask again with the same key.",
        ));
    };
    let status = if enqueued.duplicate {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    Ok((status, Json(enqueued)))
}

/// The answer of `JobEnqueueMany`.
#[derive(Debug, Serialize)]
struct EnqueuedJobs {
    jobs: Vec<Enqueued>,
}

async fn job_enqueue_many(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<JobEnqueueMany>,
) -> Result<Json<EnqueuedJobs>, Problem> {
    let new: Vec<NewJob> = request
        .jobs
        .into_iter()
        .map(NewJob::try_from)
        .collect::<Result<_, _>>()?;
    if new.is_empty() {
        return Ok(Json(EnqueuedJobs { jobs: Vec::new() }));
    }
    let kind = &new[0].kind;
    let caller = match new.iter().all(|job| job.kind == *kind) {
        true => caller.about_job(kind, None),
        false => caller,
    };
    let whom = request.on_behalf_of.as_deref();
    let jobs = server
        .call(&caller, "job_enqueue_many", async |client| {
            jobs::enqueue_many(client, &new, whom).await
        })
        .await?;
    Ok(Json(EnqueuedJobs { jobs }))
}
