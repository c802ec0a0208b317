//! Jobs: put in, look at, decide about.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::store::jobs::{self, Enqueued, JobFilter, JobSummary, Moment, NewJob};
use tenure_core::hints::{self, Surface};
use tenure_core::{codes, priority};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::Server;
use super::auth::Caller;
use super::body::{Id, Object, Query, Strict};
use super::problem::{Body, Problem};
use super::times::RequestTime;

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(job_enqueue, job_list))
        .routes(routes!(job_enqueue_many))
        .routes(routes!(job_timeline))
        .routes(routes!(job_explain))
}

/// A job to enqueue. What is left out has the default of its kind.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewJob)]
struct JobRequest {
    /// What kind of work it is.
    #[schema(example = "report", min_length = 1, max_length = 200)]
    kind: String,
    /// What the worker needs to know: a small JSON object, signals only.
    #[schema(value_type = Option<Object>)]
    payload: Option<Value>,
    /// One unfinished job per tenant, kind and key.
    key: Option<String>,
    /// Who runs it.
    executor: Option<String>,
    /// Higher goes first.
    priority: Option<Priority>,
    /// Not before.
    #[schema(value_type = Option<String>, format = DateTime)]
    due: Option<RequestTime>,
    /// Never started after.
    #[schema(value_type = Option<String>, format = DateTime)]
    deadline: Option<RequestTime>,
    /// Where its input is.
    source_ref: Option<String>,
    /// What it works on.
    target_ref: Option<String>,
    /// Where a larger payload is.
    payload_ref: Option<String>,
    /// `safe_metadata` or `restricted`.
    classification: Option<String>,
    /// Attempts before it gives up.
    #[schema(minimum = 1, maximum = 1000)]
    attempts_max: Option<i32>,
    /// Ties together what belongs together.
    correlation_id: Option<String>,
    /// The job that made it.
    parent_job_id: Option<Uuid>,
    /// The workflow it belongs to.
    workflow_id: Option<Uuid>,
    /// The run of the workflow.
    run_id: Option<Uuid>,
    /// A claim that names this key prefers the job; other claims may take it too.
    affinity_key: Option<String>,
    /// What its events are about.
    event_domain: Option<String>,
    /// Where it comes from.
    source_system: Option<String>,
    /// Its id, if the caller makes it: a UUID of version 7, near the current time.
    job_id: Option<Uuid>,
}

/// A priority by number or by name.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Priority {
    /// A number.
    Number(i32),
    /// `urgent`, `normal` or `bulk`.
    Name(String),
}

impl JobRequest {
    fn into_new(self) -> Result<NewJob, Problem> {
        let priority = match self.priority {
            None => None,
            Some(Priority::Number(number)) => Some(number),
            Some(Priority::Name(name)) => Some(i32::from(priority::parse(&name)?)),
        };
        Ok(NewJob {
            kind: self.kind,
            payload: self.payload,
            key: self.key,
            executor: self.executor,
            priority,
            due: self.due.map(Into::into),
            deadline: self.deadline.map(Into::into),
            source_ref: self.source_ref,
            target_ref: self.target_ref,
            payload_ref: self.payload_ref,
            classification: self.classification,
            attempts_max: self.attempts_max,
            correlation_id: self.correlation_id,
            causation_event: None,
            parent_job_id: self.parent_job_id,
            workflow_id: self.workflow_id,
            run_id: self.run_id,
            affinity_key: self.affinity_key,
            event_domain: self.event_domain,
            source_system: self.source_system,
            job_id: self.job_id,
        })
    }
}

/// Enqueue a job
///
/// With a key, there is one unfinished job of its kind: while that job is unfinished, the answer is that job, with
/// `duplicate` set and status 200 instead of 201.
#[utoipa::path(
    post, path = "/v1/jobs", tag = "jobs", request_body = JobRequest,
    responses(
        (status = 201, description = "Enqueued", body = Enqueued),
        (status = 200, description = "An unfinished job has this key", body = Enqueued),
        (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"),
    )
)]
async fn job_enqueue(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<JobRequest>,
) -> Result<(StatusCode, Json<Enqueued>), Problem> {
    let job = request.into_new()?;
    let caller = caller.about_job(&job.kind, job.key.as_deref());
    let enqueued = server
        .call(&caller, "job_enqueue_many", async |client| {
            jobs::enqueue_alone(client, &job, None).await
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

/// Jobs to enqueue together.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Batch {
    /// At most a thousand.
    #[schema(max_items = 1000, value_type = Vec<JobRequest>)]
    jobs: Vec<Object<JobRequest>>,
}

/// What became of each, in the order of the request.
#[derive(Debug, Serialize, ToSchema)]
struct BatchAnswer {
    /// The jobs.
    jobs: Vec<Enqueued>,
}

/// Enqueue many jobs, all or none of them
#[utoipa::path(
    post, path = "/v1/jobs/batch", tag = "jobs", request_body = Batch,
    responses(
        (status = 200, description = "Enqueued", body = BatchAnswer),
        (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"),
    )
)]
async fn job_enqueue_many(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(batch): Strict<Batch>,
) -> Result<Json<BatchAnswer>, Problem> {
    let new: Vec<NewJob> = batch
        .jobs
        .into_iter()
        .map(|Object(job)| job.into_new())
        .collect::<Result<_, _>>()?;
    if new.is_empty() {
        return Ok(Json(BatchAnswer { jobs: Vec::new() }));
    }
    let kind = &new[0].kind;
    let caller = match new.iter().all(|job| job.kind == *kind) {
        true => caller.about_job(kind, None),
        false => caller,
    };
    let jobs = server
        .call(&caller, "job_enqueue_many", async |client| {
            jobs::enqueue_many(client, &new, None).await
        })
        .await?;
    Ok(Json(BatchAnswer { jobs }))
}

/// Which jobs to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only those in this state.
    state: Option<String>,
    /// Only those of this kind.
    kind: Option<String>,
    /// Only those for this executor.
    executor: Option<String>,
    /// Only those that belong together by this.
    correlation_id: Option<String>,
    /// Only those enqueued then or later.
    #[param(value_type = Option<String>, format = DateTime)]
    created_after: Option<RequestTime>,
    /// Only those enqueued earlier than then.
    #[param(value_type = Option<String>, format = DateTime)]
    created_before: Option<RequestTime>,
    /// Only those whose last run ended with this error.
    error_code: Option<String>,
    /// Where the page before ended: its `next`.
    before: Option<Uuid>,
    /// At most so many, 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i32>,
}

/// A page of jobs, newest first.
#[derive(Debug, Serialize, ToSchema)]
struct JobPage {
    /// The jobs.
    jobs: Vec<JobSummary>,
    /// For the next page; none: there is none.
    next: Option<Uuid>,
}

/// List jobs, newest first
#[utoipa::path(
    get, path = "/v1/jobs", tag = "jobs", params(ListQuery),
    responses((status = 200, body = JobPage), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<JobPage>, Problem> {
    let limit = query.limit.unwrap_or(100);
    let filter = JobFilter {
        state: query.state,
        kind: query.kind,
        executor: query.executor,
        correlation_id: query.correlation_id,
        created_after: query.created_after.map(Into::into),
        created_before: query.created_before.map(Into::into),
        error_code: query.error_code,
        before: query.before,
        limit: Some(limit),
    };
    let jobs = server
        .call(&caller, "job_list", async |client| jobs::list(client, &filter).await)
        .await?;
    let full = usize::try_from(limit).is_ok_and(|limit| jobs.len() >= limit);
    let next = jobs.last().filter(|_| full).map(|job| job.job_id);
    Ok(Json(JobPage { jobs, next }))
}

/// The life of a job.
#[derive(Debug, Serialize, ToSchema)]
struct Timeline {
    /// Oldest first.
    moments: Vec<Moment>,
}

/// Tell the life of a job, step by step
#[utoipa::path(
    get, path = "/v1/jobs/{job_id}/timeline", tag = "jobs", params(("job_id" = Uuid, Path)),
    responses((status = 200, body = Timeline), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_timeline(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(job_id): Id,
) -> Result<Json<Timeline>, Problem> {
    let moments = server.call(&caller, "job_timeline", async |client| {
        jobs::timeline(client, job_id).await
    });
    Ok(Json(Timeline {
        moments: moments.await?,
    }))
}

/// Say why a job is not running
#[utoipa::path(
    get, path = "/v1/jobs/{job_id}/explain", tag = "jobs", params(("job_id" = Uuid, Path)),
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_explain(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(job_id): Id,
) -> Result<Json<Value>, Problem> {
    let why = server.call(&caller, "job_explain", async |client| {
        jobs::explain(client, job_id).await
    });
    let mut why = why.await?;
    hints::in_answer(Surface::Request, &mut why);
    Ok(Json(why))
}
