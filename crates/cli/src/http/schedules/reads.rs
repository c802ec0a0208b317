//! What is read of schedules: how they stand, what will come, what was, and why.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use tenure::schedules::{self, Explanation, Preview, Rule};
use tenure::store::schedules::{self as stored, Schedule, Slot, SlotFilter};
use tenure::store::{self, Timestamp};
use tenure_core::hints::{self, Surface};
use utoipa::{IntoParams, ToSchema};

use super::super::Server;
use super::super::auth::Caller;
use super::super::body::{Name, Object, Query, Strict};
use super::super::problem::{Body, Problem};
use super::super::times::RequestTime;

/// Slots of a preview, unless somebody says otherwise.
const PREVIEW_SLOTS: u32 = 10;
/// Rows of a page, unless somebody says otherwise.
const PAGE_ROWS: i32 = 100;

/// Which schedules to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// At most so many; 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i32>,
    /// Where the page before ended: its `next`.
    after: Option<String>,
}

/// A page of schedules.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Schedules {
    /// By name.
    schedules: Vec<Schedule>,
    /// For the next page; none: there is none.
    next: Option<String>,
}

/// List schedules, and where each stands
#[utoipa::path(get, path = "/v1/schedules", tag = "schedules", params(ListQuery), responses((status = 200, body = Schedules), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn schedule_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<Schedules>, Problem> {
    let limit = query.limit.unwrap_or(PAGE_ROWS);
    let found = server.call(&caller, "schedule_list", async |client| {
        stored::schedule_list(client, Some(limit), query.after.as_deref()).await
    });
    let schedules = found.await?;
    let full = usize::try_from(limit).is_ok_and(|limit| schedules.len() >= limit);
    let next = schedules.last().filter(|_| full).map(|last| last.name.clone());
    Ok(Json(Schedules { schedules, next }))
}

/// Show a schedule, and where it stands
#[utoipa::path(get, path = "/v1/schedules/{name}", tag = "schedules", params(("name" = String, Path)), responses((status = 200, body = Schedule), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn schedule_show(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
) -> Result<Json<Schedule>, Problem> {
    let found = server.call(&caller, "schedule_show", async |client| {
        stored::schedule_show(client, &name).await
    });
    Ok(Json(found.await?))
}

/// How far to look ahead.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PreviewQuery {
    /// So many slots; 10 if left out.
    #[param(minimum = 1, maximum = 1000)]
    count: Option<u32>,
}

/// Say when a schedule runs next: its rule in words, and the slots that will come
#[utoipa::path(get, path = "/v1/schedules/{name}/preview", tag = "schedules", params(("name" = String, Path), PreviewQuery), responses((status = 200, body = Preview), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn schedule_preview(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Query(query): Query<PreviewQuery>,
) -> Result<Json<Preview>, Problem> {
    let count = query.count.unwrap_or(PREVIEW_SLOTS) as usize;
    let found = server.calls(&caller, "schedule_show", async |client| {
        schedules::preview(client, &name, count).await
    });
    Ok(Json(found.await?))
}

/// A rule to try out.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PreviewRequest {
    /// Cron and its zone, or an interval.
    #[schema(value_type = Rule, example = json!({"cron": "30 2 * * *", "zone": "Europe/Berlin"}))]
    rule: Object<Rule>,
    /// So many slots; 10 if left out.
    #[schema(minimum = 1, maximum = 1000)]
    count: Option<u32>,
}

/// Say what a rule means, without a schedule: in words, and as the slots that would come
#[utoipa::path(post, path = "/v1/schedules/preview", tag = "schedules", request_body = PreviewRequest, responses((status = 200, body = Preview), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn schedule_preview_rule(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<PreviewRequest>,
) -> Result<Json<Preview>, Problem> {
    let now = server
        .call(&caller, "now", async |client| store::now(client).await)
        .await?;
    let count = request.count.unwrap_or(PREVIEW_SLOTS) as usize;
    let Object(rule) = request.rule;
    Ok(Json(schedules::preview_rule(&rule, now, count)?))
}

/// Which slots to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SlotsQuery {
    /// Only those `planned`, `running`, `succeeded`, `failed`, `cancelled` or `skipped`.
    state: Option<String>,
    /// Only those planned for then or later.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<RequestTime>,
    /// Only those planned for then or earlier.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<RequestTime>,
    /// At most so many; 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i32>,
    /// Where the page before ended: its `next`.
    #[param(value_type = Option<String>, format = DateTime)]
    before: Option<RequestTime>,
}

/// A page of slots.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Slots {
    /// Newest first.
    slots: Vec<Slot>,
    /// For the next page; none: there is none.
    next: Option<Timestamp>,
}

/// List the slots of a schedule, newest first: what was planned, and what became of it
#[utoipa::path(get, path = "/v1/schedules/{name}/slots", tag = "schedules", params(("name" = String, Path), SlotsQuery), responses((status = 200, body = Slots), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn schedule_slots(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Query(query): Query<SlotsQuery>,
) -> Result<Json<Slots>, Problem> {
    let limit = query.limit.unwrap_or(PAGE_ROWS);
    let filter = SlotFilter {
        state: query.state,
        from: query.from.map(Into::into),
        until: query.until.map(Into::into),
        limit: Some(limit),
        before: query.before.map(Into::into),
    };
    let found = server.call(&caller, "schedule_slots", async |client| {
        stored::schedule_slots(client, &name, &filter).await
    });
    let slots = found.await?;
    let full = usize::try_from(limit).is_ok_and(|limit| slots.len() >= limit);
    let next = slots.last().filter(|_| full).map(|last| last.plan_time);
    Ok(Json(Slots { slots, next }))
}

/// The moment that is asked about.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExplainQuery {
    /// Just then.
    #[param(value_type = String, format = DateTime)]
    at: RequestTime,
}

/// Say why a schedule did, or did not, run at a moment
#[utoipa::path(get, path = "/v1/schedules/{name}/explain", tag = "schedules", params(("name" = String, Path), ExplainQuery), responses((status = 200, body = Explanation), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
pub(super) async fn schedule_explain(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Query(query): Query<ExplainQuery>,
) -> Result<Json<Explanation>, Problem> {
    let found = server.calls(&caller, "schedule_at", async |client| {
        schedules::explain(client, &name, query.at.into()).await
    });
    let mut found = found.await?;
    found.next_step = found.next_step.map(|step| hints::on(Surface::Request, &step));
    Ok(Json(found))
}
