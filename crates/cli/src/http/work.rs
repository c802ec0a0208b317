//! Work under way: start, renew, end.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::store::jobs::{self, Beat, End, EndAnswer, Hold, Outcome, Started};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::Server;
use super::auth::Caller;
use super::body::{Id, Object, Strict};
use super::problem::{Body, Problem};

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(job_start))
        .routes(routes!(job_start_many))
        .routes(routes!(job_heartbeat))
        .routes(routes!(job_heartbeat_many))
        .routes(routes!(job_progress))
        .routes(routes!(job_complete))
        .routes(routes!(job_fail))
        .routes(routes!(job_snooze))
        .routes(routes!(job_release))
        .routes(routes!(job_acknowledge_cancel))
        .routes(routes!(job_end_many))
}

/// The token of the claim.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct HoldRequest {
    /// As the claim answered it.
    token: Uuid,
}

/// A job and the token of its claim.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Held {
    /// The job.
    job_id: Uuid,
    /// As the claim answered it.
    token: Uuid,
}

impl From<Held> for Hold {
    fn from(held: Held) -> Hold {
        Hold::new(held.job_id, held.token)
    }
}

/// Start a job that was claimed without being started
#[utoipa::path(
    post, path = "/v1/jobs/{job_id}/start", tag = "work", params(("job_id" = Uuid, Path)), request_body = HoldRequest,
    responses((status = 200, body = Started), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_start(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(job_id): Id,
    Strict(HoldRequest { token }): Strict<HoldRequest>,
) -> Result<Json<Value>, Problem> {
    let hold = Hold::new(job_id, token);
    let started = server.call(&caller, "job_start", async |client| jobs::start(client, hold).await);
    Ok(Json(started.await?))
}

/// The jobs to start.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct StartsRequest {
    /// At most a thousand.
    #[schema(max_items = 1000, value_type = Vec<Held>)]
    jobs: Vec<Object<Held>>,
}

/// An answer for each job.
#[derive(Debug, Serialize, ToSchema)]
struct StartsAnswer {
    /// In the order of the request.
    jobs: Vec<Started>,
}

/// Start many jobs that were claimed without being started; each answers for itself
#[utoipa::path(
    post, path = "/v1/jobs/start", tag = "work", request_body = StartsRequest,
    responses((status = 200, body = StartsAnswer), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_start_many(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<StartsRequest>,
) -> Result<Json<StartsAnswer>, Problem> {
    let holds: Vec<Hold> = request.jobs.into_iter().map(|Object(held)| held.into()).collect();
    let jobs = server.call(&caller, "job_start_many", async |client| {
        jobs::start_many(client, &holds).await
    });
    Ok(Json(StartsAnswer { jobs: jobs.await? }))
}

/// The lease to renew.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct HeartbeatRequest {
    /// As the claim answered it.
    token: Uuid,
    /// How long it lasts from now on.
    #[schema(minimum = 1, maximum = 86400)]
    lease_seconds: Option<i32>,
}

/// Renew the lease of a job
///
/// The answer says `cancel` when somebody wants the job cancelled: stop, and acknowledge.
#[utoipa::path(
    post, path = "/v1/jobs/{job_id}/heartbeat", tag = "work", params(("job_id" = Uuid, Path)), request_body = HeartbeatRequest,
    responses((status = 200, body = Beat), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_heartbeat(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(job_id): Id,
    Strict(request): Strict<HeartbeatRequest>,
) -> Result<Json<Beat>, Problem> {
    let hold = Hold::new(job_id, request.token);
    let beat = server.call(&caller, "job_heartbeat", async |client| {
        jobs::heartbeat(client, hold, request.lease_seconds).await
    });
    Ok(Json(beat.await?))
}

/// The leases to renew.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct HeartbeatsRequest {
    /// At most a thousand.
    #[schema(max_items = 1000, value_type = Vec<Held>)]
    jobs: Vec<Object<Held>>,
    /// How long they last from now on.
    #[schema(minimum = 1, maximum = 86400)]
    lease_seconds: Option<i32>,
}

/// An answer for each job.
#[derive(Debug, Serialize, ToSchema)]
struct Beats {
    /// In the order of the request.
    jobs: Vec<Beat>,
}

/// Renew the leases of many jobs
#[utoipa::path(
    post, path = "/v1/jobs/heartbeat", tag = "work", request_body = HeartbeatsRequest,
    responses((status = 200, body = Beats), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_heartbeat_many(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<HeartbeatsRequest>,
) -> Result<Json<Beats>, Problem> {
    let holds: Vec<Hold> = request.jobs.into_iter().map(|Object(held)| held.into()).collect();
    let jobs = server.call(&caller, "job_heartbeat_many", async |client| {
        jobs::heartbeat_many(client, &holds, request.lease_seconds).await
    });
    Ok(Json(Beats { jobs: jobs.await? }))
}

/// How far a job is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ProgressRequest {
    /// As the claim answered it.
    token: Uuid,
    /// A small JSON object.
    #[schema(value_type = Object)]
    progress: Value,
}

/// Record how far a job is
#[utoipa::path(
    post, path = "/v1/jobs/{job_id}/progress", tag = "work", params(("job_id" = Uuid, Path)), request_body = ProgressRequest,
    responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_progress(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(job_id): Id,
    Strict(request): Strict<ProgressRequest>,
) -> Result<Json<Value>, Problem> {
    let hold = Hold::new(job_id, request.token);
    let done = server.call(&caller, "job_progress", async |client| {
        jobs::progress(client, hold, &request.progress).await
    });
    Ok(Json(done.await?))
}

/// What came of a job.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CompleteRequest {
    /// As the claim answered it.
    token: Uuid,
    /// A small JSON value.
    result: Option<Value>,
    /// Where a larger result is.
    result_ref: Option<String>,
}

/// Complete a job
#[utoipa::path(
    post, path = "/v1/jobs/{job_id}/complete", tag = "work", params(("job_id" = Uuid, Path)), request_body = CompleteRequest,
    responses((status = 200, body = EndAnswer), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_complete(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(job_id): Id,
    Strict(request): Strict<CompleteRequest>,
) -> Result<Json<EndAnswer>, Problem> {
    let hold = Hold::new(job_id, request.token);
    let (result, reference) = (request.result.as_ref(), request.result_ref.as_deref());
    let ended = server.call(&caller, "job_complete", async |client| {
        jobs::complete(client, hold, result, reference).await
    });
    Ok(Json(ended.await?))
}

/// What went wrong.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct FailRequest {
    /// As the claim answered it.
    token: Uuid,
    /// What went wrong, in words; what looks like a secret is masked.
    message: String,
    /// A stable name of the error.
    code: Option<String>,
    /// What sort of error it is.
    class: Option<String>,
    /// No attempt will help.
    #[serde(default)]
    permanent: bool,
    /// When to try again, instead of the policy of the kind.
    retry_seconds: Option<i32>,
}

/// Fail a job
#[utoipa::path(
    post, path = "/v1/jobs/{job_id}/fail", tag = "work", params(("job_id" = Uuid, Path)), request_body = FailRequest,
    responses((status = 200, body = EndAnswer), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_fail(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(job_id): Id,
    Strict(request): Strict<FailRequest>,
) -> Result<Json<EndAnswer>, Problem> {
    let outcome = if request.permanent {
        Outcome::FailedPermanently
    } else {
        Outcome::Failed
    };
    let mut end = End::new(job_id, request.token, outcome);
    end.error_message = Some(request.message);
    end.error_code = request.code;
    end.error_class = request.class;
    end.delay_seconds = request.retry_seconds;
    let ended = server.call(&caller, "job_fail", async |client| jobs::fail(client, &end).await);
    Ok(Json(ended.await?))
}

/// For how long.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SnoozeRequest {
    /// As the claim answered it.
    token: Uuid,
    /// So many seconds.
    seconds: i32,
}

/// Put a job aside, without using up an attempt
#[utoipa::path(
    post, path = "/v1/jobs/{job_id}/snooze", tag = "work", params(("job_id" = Uuid, Path)), request_body = SnoozeRequest,
    responses((status = 200, body = EndAnswer), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_snooze(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(job_id): Id,
    Strict(request): Strict<SnoozeRequest>,
) -> Result<Json<EndAnswer>, Problem> {
    let hold = Hold::new(job_id, request.token);
    let ended = server.call(&caller, "job_snooze", async |client| {
        jobs::snooze(client, hold, request.seconds).await
    });
    Ok(Json(ended.await?))
}

/// Give a job back, as if it had never been claimed
#[utoipa::path(
    post, path = "/v1/jobs/{job_id}/release", tag = "work", params(("job_id" = Uuid, Path)), request_body = HoldRequest,
    responses((status = 200, body = EndAnswer), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_release(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(job_id): Id,
    Strict(HoldRequest { token }): Strict<HoldRequest>,
) -> Result<Json<EndAnswer>, Problem> {
    let hold = Hold::new(job_id, token);
    let ended = server.call(&caller, "job_release", async |client| jobs::release(client, hold).await);
    Ok(Json(ended.await?))
}

/// Acknowledge that somebody wanted a job cancelled
#[utoipa::path(
    post, path = "/v1/jobs/{job_id}/acknowledge-cancel", tag = "work", params(("job_id" = Uuid, Path)), request_body = HoldRequest,
    responses((status = 200, body = EndAnswer), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_acknowledge_cancel(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(job_id): Id,
    Strict(HoldRequest { token }): Strict<HoldRequest>,
) -> Result<Json<EndAnswer>, Problem> {
    let hold = Hold::new(job_id, token);
    let ended = server.call(&caller, "job_acknowledge_cancel", async |client| {
        jobs::acknowledge_cancel(client, hold).await
    });
    Ok(Json(ended.await?))
}

/// How a run ended.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Ended {
    /// Well.
    Succeeded,
    /// Not well; there may be another attempt.
    Failed,
    /// Not well, and no attempt will help.
    FailedPermanently,
    /// As somebody asked for.
    Cancelled,
    /// Put aside.
    Snoozed,
    /// Given back.
    Released,
}

/// The end of a run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EndRequest {
    /// The job.
    job_id: Uuid,
    /// As the claim answered it.
    token: Uuid,
    /// How it ended.
    outcome: Ended,
    /// A small JSON value.
    result: Option<Value>,
    /// Where a larger result is.
    result_ref: Option<String>,
    /// A stable name of the error.
    error_code: Option<String>,
    /// What sort of error it is.
    error_class: Option<String>,
    /// What went wrong, in words.
    error_message: Option<String>,
    /// When to try again, or how long it is put aside.
    delay_seconds: Option<i32>,
}

impl From<EndRequest> for End {
    fn from(request: EndRequest) -> End {
        let outcome = match request.outcome {
            Ended::Succeeded => Outcome::Succeeded,
            Ended::Failed => Outcome::Failed,
            Ended::FailedPermanently => Outcome::FailedPermanently,
            Ended::Cancelled => Outcome::Cancelled,
            Ended::Snoozed => Outcome::Snoozed,
            Ended::Released => Outcome::Released,
        };
        let mut end = End::new(request.job_id, request.token, outcome);
        end.result = request.result;
        end.result_ref = request.result_ref;
        end.error_code = request.error_code;
        end.error_class = request.error_class;
        end.error_message = request.error_message;
        end.delay_seconds = request.delay_seconds;
        end
    }
}

/// Ends of runs.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EndsRequest {
    /// At most a thousand.
    #[schema(max_items = 1000, value_type = Vec<EndRequest>)]
    ends: Vec<Object<EndRequest>>,
}

/// An answer for each of them.
#[derive(Debug, Serialize, ToSchema)]
struct EndsAnswer {
    /// In the order of the request.
    ends: Vec<EndAnswer>,
}

/// End many runs; each answers for itself
#[utoipa::path(
    post, path = "/v1/jobs/end", tag = "work", request_body = EndsRequest,
    responses((status = 200, body = EndsAnswer), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"))
)]
async fn job_end_many(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<EndsRequest>,
) -> Result<Json<EndsAnswer>, Problem> {
    let ends: Vec<End> = request.ends.into_iter().map(|Object(end)| end.into()).collect();
    let answers = server.call(&caller, "job_end_many", async |client| {
        jobs::end_many(client, &ends).await
    });
    Ok(Json(EndsAnswer { ends: answers.await? }))
}
