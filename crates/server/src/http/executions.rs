//! Executions: plans submitted, previewed and waited for.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::value::RawValue;
use tenure::operations;
use tenure::store::executions::execution_background;
use tenure_api::Operation;
use tenure_api::executions::{ExecutionDetails, ExecutionPreview, ExecutionShow, ExecutionSubmit};
use tenure_core::json;
use tenure_core::plan::{Mode, Plan};
use uuid::Uuid;

use super::auth::Caller;
use super::problem::Problem;
use super::{Server, body, mount, waits};

pub(super) fn routes() -> mount::ByHand {
    mount::ByHand::default()
        .with::<ExecutionSubmit, _, _>(execution_submit)
        .with::<ExecutionPreview, _, _>(execution_preview)
        .with::<ExecutionShow, _, _>(execution_show)
}

async fn execution_submit(
    State(server): State<Arc<Server>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let (mut submission, text): (ExecutionSubmit, _) = mount::read_with_body(&server, request).await?;
    let until = until(submission.wait_seconds)?;
    let plan = plan_in(&text)?;
    submission.plan_hash.get_or_insert_with(|| plan.hash());
    let caller = caller.about_execution(submission.key.as_deref());
    let submitted = server.call(&caller, ExecutionSubmit::FUNCTION, async |client| {
        operations::call(client, &submission).await
    });
    let mut answer = submitted.await?;
    if let Some(until) = until {
        // Its steps must not wait for their own request.
        let status = StatusCode::from_u16(ExecutionSubmit::status(&answer)).unwrap_or_default();
        server.keep(&caller, status, &answer).await?;
        let id = answer.execution_id;
        let mut shown = settled(&server, &caller, id, until).await?;
        if !shown.settled && plan.mode() == Mode::Immediate {
            let parted = server.call(&caller, "execution_background", async |client| {
                execution_background(client, id).await
            });
            parted.await?;
            shown = show(&server, &caller, id).await?;
        }
        answer.state = shown.state.clone();
        answer.execution = Some(Box::new(shown));
    }
    mount::answered::<ExecutionSubmit>(&answer)
}

async fn execution_preview(
    State(server): State<Arc<Server>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let (preview, text): (ExecutionPreview, _) = mount::read_with_body(&server, request).await?;
    plan_in(&text)?;
    let answer = server.call(&caller, ExecutionPreview::FUNCTION, async |client| {
        operations::call(client, &preview).await
    });
    mount::answered::<ExecutionPreview>(&answer.await?)
}

async fn execution_show(
    State(server): State<Arc<Server>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    let asked: ExecutionShow = mount::read(&server, request).await?;
    let shown = match until(asked.wait_seconds)? {
        Some(until) => settled(&server, &caller, asked.execution_id, until).await?,
        None => show(&server, &caller, asked.execution_id).await?,
    };
    mount::answered::<ExecutionShow>(&shown)
}

/// The plan in a body, as it was written.
#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow)]
    plan: &'a RawValue,
}

/// The plan in the text of a body. Of a member that the text has twice, the operation has only one.
fn plan_in(text: &[u8]) -> Result<Plan, Problem> {
    let read = json::parse_bytes(text).map_err(|error| body::wrong("plan", &error.to_string(), "The body"));
    let Written { plan } = read?;
    Ok(Plan::read(plan.get())?)
}

/// Until when to wait; none: not at all.
fn until(wait_seconds: Option<u64>) -> Result<Option<Instant>, Problem> {
    let until = waits::until(wait_seconds)?;
    Ok(wait_seconds.is_some_and(|seconds| seconds > 0).then_some(until))
}

/// The execution as it is.
async fn show(server: &Server, caller: &Caller, execution_id: Uuid) -> Result<ExecutionDetails, Problem> {
    let asked = ExecutionShow {
        execution_id,
        wait_seconds: None,
    };
    let shown = server.call(caller, ExecutionShow::FUNCTION, async |client| {
        operations::call(client, &asked).await
    });
    shown.await
}

/// The execution when it is settled, or as it is when the time is up.
async fn settled(server: &Server, caller: &Caller, id: Uuid, until: Instant) -> Result<ExecutionDetails, Problem> {
    let mut key = server.key_ends.watch(caller.key_id);
    loop {
        // Join before looking, or an end between the two is missed.
        let waits = Instant::now() < until && !key.has_ended();
        let place = waits.then(|| server.settlings.join(id)).flatten();
        let shown = show(server, caller, id).await?;
        let Some(place) = place.filter(|_| !shown.settled) else {
            return Ok(shown);
        };
        // The last look checks again whether the key is valid and sees the execution.
        tokio::select! {
            _ = tokio::time::timeout_at(until.into(), place.ended.notified()) => {}
            () = key.ended() => {}
        }
    }
}
