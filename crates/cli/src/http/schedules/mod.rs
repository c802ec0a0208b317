//! Schedules: planned runs, made, changed and asked for. What is read of them is in `reads`.

mod reads;
mod spec;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::schedules;
use tenure::store::schedules::{self as stored, Backfilled, Schedule, Slot};
use tenure_core::codes;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::spec::{NewSchedule, ScheduleChanges, ScheduleSpec};
use super::Server;
use super::auth::Caller;
use super::body::{Name, Strict};
use super::problem::{Body, Problem};
use super::times::RequestTime;

/// The last word of the path that previews a rule, which a schedule may have for its name.
const PREVIEW: &str = "preview";

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    let name = || Name(PREVIEW.to_owned());
    let of_that_name = get(move |state, caller| reads::schedule_show(state, caller, name()))
        .put(move |state, caller, body| schedule_put(state, caller, name(), body))
        .patch(move |state, caller, body| schedule_update(state, caller, name(), body))
        .delete(move |state, caller| schedule_delete(state, caller, name()));
    OpenApiRouter::new()
        .routes(routes!(reads::schedule_list, schedule_create))
        .routes(routes!(reads::schedule_preview_rule))
        .routes(routes!(
            reads::schedule_show,
            schedule_update,
            schedule_put,
            schedule_delete
        ))
        .routes(routes!(schedule_pause))
        .routes(routes!(schedule_resume))
        .routes(routes!(schedule_run))
        .routes(routes!(schedule_backfill))
        .routes(routes!(reads::schedule_preview))
        .routes(routes!(reads::schedule_slots))
        .routes(routes!(reads::schedule_explain))
        .route("/v1/schedules/preview", of_that_name)
}

/// A schedule, and what became of it.
#[derive(Debug, Serialize, ToSchema)]
struct Written {
    #[serde(flatten)]
    schedule: Schedule,
    /// `created`, `updated` or `unchanged`.
    outcome: String,
}

impl Written {
    fn read(answer: Value) -> Result<Written, Problem> {
        let outcome = answer["outcome"].as_str().unwrap_or_default().to_owned();
        match serde_json::from_value(answer) {
            Ok(schedule) => Ok(Written { schedule, outcome }),
            Err(error) => Err(Problem::new(
                codes::DATABASE_ERROR,
                "What became of the schedule cannot be read.",
                error.to_string(),
                "See how it stands now; check that server and schema belong together.",
            )),
        }
    }
}

/// Make a schedule
///
/// Its rule is cron (five fields, in a time zone) or a fixed interval; each slot it names becomes a row, and a job when it
/// is due.
#[utoipa::path(post, path = "/v1/schedules", tag = "schedules", request_body = NewSchedule, responses((status = 201, body = Written), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn schedule_create(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Strict(request): Strict<NewSchedule>,
) -> Result<(StatusCode, Json<Written>), Problem> {
    let (spec, whom) = (request.spec(), request.on_behalf_of.as_deref());
    let made = server.call(&caller, "schedule_create", async |client| {
        schedules::create(client, &request.name, &spec, whom).await
    });
    Ok((StatusCode::CREATED, Json(Written::read(made.await?)?)))
}

/// Change a schedule
///
/// A new rule takes the place of the old one, from now on; what the old one had planned is skipped as `superseded`.
#[utoipa::path(patch, path = "/v1/schedules/{name}", tag = "schedules", params(("name" = String, Path)), request_body = ScheduleChanges, responses((status = 200, body = Written), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn schedule_update(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Strict(request): Strict<ScheduleChanges>,
) -> Result<Json<Written>, Problem> {
    let (changes, whom) = (request.spec(), request.on_behalf_of.as_deref());
    let changed = server.calls(&caller, "schedule_update", async |client| {
        schedules::update(client, &name, &changes, whom).await
    });
    Ok(Json(Written::read(changed.await?)?))
}

/// Declare a schedule: it is made, made equal to this, or left alone
///
/// For programs that name their schedules when they start. A pause stays.
#[utoipa::path(
    put, path = "/v1/schedules/{name}", tag = "schedules", params(("name" = String, Path)), request_body = ScheduleSpec,
    responses(
        (status = 201, description = "Made", body = Written),
        (status = 200, description = "Made equal to this, or left alone", body = Written),
        (status = "default", description = "Refused", body = Body, content_type = "application/problem+json"),
    )
)]
async fn schedule_put(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Strict(request): Strict<ScheduleSpec>,
) -> Result<(StatusCode, Json<Written>), Problem> {
    let (spec, whom) = (request.spec(), request.on_behalf_of.as_deref());
    let declared = server.call(&caller, "schedule_put", async |client| {
        schedules::put(client, &name, &spec, whom).await
    });
    let written = Written::read(declared.await?)?;
    let status = match written.outcome.as_str() {
        "created" => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    Ok((status, Json(written)))
}

/// End a schedule; its slots stay until their retention is over
#[utoipa::path(delete, path = "/v1/schedules/{name}", tag = "schedules", params(("name" = String, Path)), responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn schedule_delete(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
) -> Result<Json<Value>, Problem> {
    let ended = server.call(&caller, "schedule_delete", async |client| {
        stored::schedule_delete(client, &name, None).await
    });
    Ok(Json(ended.await?))
}

/// Why.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SchedulePauseRequest)]
struct PauseRequest {
    /// A word about it; everybody who asks is told.
    note: Option<String>,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Pause a schedule: its slots are skipped as they come, each with its row
#[utoipa::path(post, path = "/v1/schedules/{name}/pause", tag = "schedules", params(("name" = String, Path)), request_body = PauseRequest, responses((status = 200, body = Schedule), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn schedule_pause(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Strict(request): Strict<PauseRequest>,
) -> Result<Json<Value>, Problem> {
    let (note, whom) = (request.note.as_deref(), request.on_behalf_of.as_deref());
    let paused = server.call(&caller, "schedule_pause", async |client| {
        stored::schedule_pause(client, &name, note, whom).await
    });
    Ok(Json(paused.await?))
}

/// For whom.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ScheduleRequest)]
struct OrdinaryRequest {
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Let a schedule go on with its next slot
#[utoipa::path(post, path = "/v1/schedules/{name}/resume", tag = "schedules", params(("name" = String, Path)), request_body = OrdinaryRequest, responses((status = 200, body = Schedule), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn schedule_resume(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Strict(request): Strict<OrdinaryRequest>,
) -> Result<Json<Value>, Problem> {
    let whom = request.on_behalf_of.as_deref();
    let resumed = server.call(&caller, "schedule_resume", async |client| {
        stored::schedule_resume(client, &name, whom).await
    });
    Ok(Json(resumed.await?))
}

/// Run a schedule now, paused or not: a slot of its own
///
/// The overlap policy decides whether it runs, waits or is skipped; the answer is the slot.
#[utoipa::path(post, path = "/v1/schedules/{name}/run", tag = "schedules", params(("name" = String, Path)), request_body = OrdinaryRequest, responses((status = 200, body = Slot), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn schedule_run(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Strict(request): Strict<OrdinaryRequest>,
) -> Result<Json<Value>, Problem> {
    let whom = request.on_behalf_of.as_deref();
    let run = server.call(&caller, "schedule_run", async |client| {
        stored::schedule_run(client, &name, whom).await
    });
    Ok(Json(run.await?))
}

/// Which slots of the past to run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BackfillRequest {
    /// Not before.
    #[schema(value_type = String, format = DateTime)]
    from: RequestTime,
    /// Not after, and not in the future.
    #[schema(value_type = String, format = DateTime)]
    until: RequestTime,
    /// `dry_run`, which changes nothing and is the default, or `apply`.
    #[schema(example = "dry_run")]
    mode: Option<String>,
    /// So much lies between the starts of two of them; 0 by default.
    #[schema(minimum = 0, maximum = 86400)]
    stagger_seconds: Option<i32>,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// What becomes of each slot.
#[derive(Debug, Serialize, ToSchema)]
struct Backfill {
    /// In the order of their plan times.
    slots: Vec<Backfilled>,
}

/// Run slots of the past that nobody ran: a dry run, unless the mode is `apply`
#[utoipa::path(post, path = "/v1/schedules/{name}/backfill", tag = "schedules", params(("name" = String, Path)), request_body = BackfillRequest, responses((status = 200, body = Backfill), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn schedule_backfill(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Strict(request): Strict<BackfillRequest>,
) -> Result<Json<Backfill>, Problem> {
    let (mode, whom) = (
        request.mode.as_deref().unwrap_or("dry_run"),
        request.on_behalf_of.as_deref(),
    );
    let range = (request.from.into(), request.until.into());
    let slots = server.calls(&caller, "schedule_backfill", async |client| {
        schedules::backfill(client, &name, range, mode, request.stagger_seconds, whom).await
    });
    Ok(Json(Backfill { slots: slots.await? }))
}
