//! Executions: plans submitted and waited for. What is read of them is in `reads`, what is decided about them in `operate`.

mod archives;
mod dead_letters;
mod operate;
mod reads;

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tenure::store::executions::{self as stored, Submission, Submitted};
use tenure_core::plan::{Mode, Plan};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::Server;
use super::auth::Caller;
use super::body::{Query, Strict};
use super::problem::{Body, Problem};
use super::times::RequestTime;
use super::waits;

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(reads::execution_list, execution_submit))
        .routes(routes!(execution_preview))
        .routes(routes!(archives::execution_archive_list))
        .routes(routes!(reads::execution_show))
        .routes(routes!(reads::execution_plan))
        .routes(routes!(reads::step_list))
        .routes(routes!(reads::execution_timeline))
        .routes(routes!(reads::execution_difference))
        .routes(routes!(operate::execution_cancel))
        .routes(routes!(operate::execution_withdraw))
        .routes(routes!(operate::execution_resolve))
        .routes(routes!(operate::execution_retry))
        .routes(routes!(operate::execution_close))
        .routes(routes!(operate::execution_freeze))
        .routes(routes!(operate::execution_unfreeze))
        .merge(dead_letters::routes())
}

/// Whether to wait.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct WaitQuery {
    /// Wait until it is over or waits for a decision: up to 40 seconds.
    #[param(minimum = 0, maximum = 40)]
    wait_seconds: Option<u64>,
}

impl WaitQuery {
    /// Until when; none: nobody waits.
    fn until(&self) -> Result<Option<Instant>, Problem> {
        let until = waits::until(self.wait_seconds)?;
        Ok(self.wait_seconds.is_some_and(|seconds| seconds > 0).then_some(until))
    }
}

/// A plan to submit.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewExecution)]
struct SubmitRequest {
    /// The plan: a JSON document by /plan.schema.json. Its text is brought into its canonical form (RFC 8785), frozen and hashed.
    #[schema(value_type = Object)]
    plan: Box<RawValue>,
    /// The same key and plan is the same execution; another plan under this key is refused. Left out: the plan itself,
    /// while it is under way.
    key: Option<String>,
    /// What the caller takes for the SHA-256 of the canonical plan; any other is refused.
    #[schema(min_length = 64, max_length = 64)]
    plan_hash: Option<String>,
    /// An execution of the same purpose that has not started, which this one takes the place of.
    supersedes: Option<Uuid>,
    /// Not started before.
    #[schema(value_type = Option<String>, format = DateTime)]
    start_after: Option<RequestTime>,
    /// Not started after.
    #[schema(value_type = Option<String>, format = DateTime)]
    start_before: Option<RequestTime>,
    /// What the caller wants to find again beside the plan: a small JSON object.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Value>,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// What became of the plan.
#[derive(Debug, Serialize, ToSchema)]
struct SubmitAnswer {
    #[serde(flatten)]
    submitted: Submitted,
    /// All about the execution, for those who waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    execution: Option<Value>,
}

/// Submit a plan
///
/// It is frozen, and runs as soon as it may: at once, or when another principal has approved just this plan. With `wait_seconds`
/// the answer comes when it is over or waits for a decision; when the time is up before, the status is 202 and an immediate one
/// goes on in the background.
#[utoipa::path(
    post, path = "/v1/executions", tag = "executions", request_body = SubmitRequest,
    params(WaitQuery),
    responses(
        (status = 201, description = "Submitted", body = SubmitAnswer),
        (status = 200, description = "It was there already: the same plan under the same key, or the one to supersede is just this", body = SubmitAnswer),
        (status = 202, description = "Submitted, and still going on when the wait was over", body = SubmitAnswer),
        (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"),
    )
)]
async fn execution_submit(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(query): Query<WaitQuery>,
    Strict(request): Strict<SubmitRequest>,
) -> Result<(StatusCode, Json<SubmitAnswer>), Problem> {
    let until = query.until()?;
    let plan = Plan::read(request.plan.get())?;
    let submission = Submission {
        key: request.key,
        plan_hash: request.plan_hash,
        supersedes: request.supersedes,
        start_after: request.start_after.map(Into::into),
        start_before: request.start_before.map(Into::into),
        metadata: request.metadata,
        on_behalf_of: request.on_behalf_of,
    };
    let caller = caller.about_execution(submission.key.as_deref());
    let submitted = server.call(&caller, "execution_submit", async |client| {
        stored::execution_submit(client, &plan, &submission).await
    });
    let mut answer = SubmitAnswer {
        submitted: submitted.await?,
        execution: None,
    };
    let mut status = match answer.submitted.duplicate || answer.submitted.unchanged {
        true => StatusCode::OK,
        false => StatusCode::CREATED,
    };
    if let Some(until) = until {
        // Its steps must not wait for their own request.
        server.keep(&caller, status, &answer).await?;
        let id = answer.submitted.execution_id;
        let mut shown = settled(&server, &caller, id, until).await?;
        if shown["settled"] != true {
            status = StatusCode::ACCEPTED;
            if plan.mode() == Mode::Immediate {
                let parted = server.call(&caller, "execution_background", async |client| {
                    stored::execution_background(client, id).await
                });
                parted.await?;
                shown = show(&server, &caller, id).await?;
            }
        }
        answer.submitted.state = shown["state"].as_str().unwrap_or_default().to_owned();
        answer.execution = Some(shown);
    }
    Ok((status, Json(answer)))
}

/// A plan to look at.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ExecutionPreviewRequest)]
struct PreviewRequest {
    /// The plan.
    #[schema(value_type = Object)]
    plan: Box<RawValue>,
    /// For whom it would be submitted: their rules hold too.
    on_behalf_of: Option<String>,
}

/// Say what a plan would need: approvals, locks, time. Nothing is written
#[utoipa::path(post, path = "/v1/executions/preview", tag = "executions", request_body = PreviewRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn execution_preview(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<PreviewRequest>,
) -> Result<Json<Value>, Problem> {
    let plan = Plan::read(request.plan.get())?;
    let preview = server.call(&caller, "execution_preview", async |client| {
        stored::execution_preview(client, &plan, request.on_behalf_of.as_deref()).await
    });
    Ok(Json(preview.await?))
}

/// The execution as it is.
async fn show(server: &Server, caller: &Caller, id: Uuid) -> Result<Value, Problem> {
    let shown = server.call(caller, "execution_show", async |client| {
        stored::execution_show(client, id).await
    });
    shown.await
}

/// The execution when nothing moves by itself any more, or as it is when the time is up.
async fn settled(server: &Server, caller: &Caller, id: Uuid, until: Instant) -> Result<Value, Problem> {
    let mut key = server.key_ends.watch(caller.key_id);
    loop {
        // In line before the look: what settles after it is told.
        let waits = Instant::now() < until && !key.has_ended();
        let place = waits.then(|| server.settlings.join(id)).flatten();
        let shown = show(server, caller, id).await?;
        let Some(place) = place.filter(|_| shown["settled"] != true) else {
            return Ok(shown);
        };
        // Whether the key is still valid, and sees it, is asked again at the end.
        tokio::select! {
            _ = tokio::time::timeout_at(until.into(), place.ended.notified()) => {}
            () = key.ended() => {}
        }
    }
}
