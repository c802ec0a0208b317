//! Archived executions: listed and searched. The evidence of one is read through `evidence`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use tenure::store::archives::{self as stored, ArchiveFilter, ArchivedExecution};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::super::Server;
use super::super::auth::Caller;
use super::super::body::Query;
use super::super::problem::{Body, Problem};
use super::super::times::RequestTime;

/// Rows of a page, unless the caller says otherwise.
const PAGE_ROWS: i32 = 50;

/// Which archived executions to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ArchiveQuery {
    /// Only those that ended in this state.
    state: Option<String>,
    /// Only those with this requester.
    requested_by: Option<String>,
    /// Only those that touched this target: `type:ref` or `type:ref:action`, with `%` and `:` in the reference written `%25` and `%3A`.
    target: Option<String>,
    /// Only those with this correlation id.
    correlation_id: Option<String>,
    /// Only those that ended after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    ended_after: Option<RequestTime>,
    /// Only those that ended before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    ended_before: Option<RequestTime>,
    /// Where the page before ended: its `next`.
    before: Option<Uuid>,
    /// Maximum number of rows; 50 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i32>,
}

/// A page of archived executions.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ArchivedExecutions {
    /// Those that ended last first.
    executions: Vec<ArchivedExecution>,
    /// For the next page; none: this is the last.
    next: Option<Uuid>,
}

/// List archived executions, those that ended last first
#[utoipa::path(get, path = "/v1/executions/archived", tag = "executions", params(ArchiveQuery), responses((status = 200, body = ArchivedExecutions), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn execution_archive_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(query): Query<ArchiveQuery>,
) -> Result<Json<ArchivedExecutions>, Problem> {
    let limit = query.limit.unwrap_or(PAGE_ROWS);
    let filter = ArchiveFilter {
        state: query.state,
        requested_by: query.requested_by,
        target: query.target,
        correlation_id: query.correlation_id,
        ended_after: query.ended_after.map(Into::into),
        ended_before: query.ended_before.map(Into::into),
        before: query.before,
        limit: Some(limit),
    };
    let found = server.call(&caller, "execution_archive_list", async |client| {
        stored::execution_archive_list(client, &filter).await
    });
    let executions = found.await?;
    let full = usize::try_from(limit).is_ok_and(|limit| executions.len() >= limit);
    let next = executions.last().filter(|_| full).map(|last| last.execution_id);
    Ok(Json(ArchivedExecutions { executions, next }))
}
