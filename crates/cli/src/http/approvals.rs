//! Approvals: what is to be decided, who decided, and the rules about who must.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure::store::approvals::{self, Approval, ApprovalRule, Decision, Vote};
use tenure::store::governance_changes::GovernanceChange;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::Server;
use super::auth::Caller;
use super::body::{Id, Name, NoQuery, Query, Strict};
use super::governance_changes::changed;
use super::problem::{Body, Problem};

/// The word for approvals in whatever state.
const ANY: &str = "any";

pub(super) fn routes() -> OpenApiRouter<Arc<Server>> {
    OpenApiRouter::new()
        .routes(routes!(approval_list))
        .routes(routes!(approval_show))
        .routes(routes!(approval_decide))
        .routes(routes!(approval_votes_of))
        .routes(routes!(approval_rule_list))
        .routes(routes!(approval_rule_set, approval_rule_delete))
}

/// Which approvals to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only those of this execution.
    execution_id: Option<Uuid>,
    /// Only those in this state, or `any`; `pending` if left out.
    state: Option<String>,
    /// At most so many; 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i32>,
}

/// Approvals.
#[derive(Debug, Serialize, ToSchema)]
struct Approvals {
    /// Oldest first.
    approvals: Vec<Approval>,
}

/// List what is to be approved, oldest first
#[utoipa::path(get, path = "/v1/approvals", tag = "approvals", params(ListQuery), responses((status = 200, body = Approvals), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn approval_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Json<Approvals>, Problem> {
    let state = query.state.as_deref().unwrap_or("pending");
    let state = Some(state).filter(|state| *state != ANY);
    let found = server.call(&caller, "approval_list", async |client| {
        approvals::approval_list(client, query.execution_id, state, query.limit).await
    });
    Ok(Json(Approvals {
        approvals: found.await?,
    }))
}

/// Show all about one approval: what for, of which plan, what is missing yet, and who has decided so far
#[utoipa::path(get, path = "/v1/approvals/{approval_id}", tag = "approvals", params(("approval_id" = Uuid, Path)), responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn approval_show(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(approval_id): Id,
) -> Result<Json<Value>, Problem> {
    let found = server.call(&caller, "approval_show", async |client| {
        approvals::approval_show(client, approval_id).await
    });
    Ok(Json(found.await?))
}

/// A decision about one plan.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ApprovalDecision)]
struct DecideRequest {
    /// `approve` or `reject`.
    #[schema(example = "approve")]
    decision: String,
    /// The hash of the plan that was looked at; any other than that of the plan is refused.
    #[schema(min_length = 64, max_length = 64)]
    plan_hash: String,
    /// Why; a rejection says so.
    comment: Option<String>,
    /// The person or program this is done for.
    on_behalf_of: Option<String>,
}

/// Approve or reject just the plan with this hash
///
/// Whoever submitted the plan cannot, nor can an agent, whatever their roles.
#[utoipa::path(post, path = "/v1/approvals/{approval_id}/decide", tag = "approvals", params(("approval_id" = Uuid, Path)), request_body = DecideRequest, responses((status = 200, body = Object), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn approval_decide(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(approval_id): Id,
    Strict(request): Strict<DecideRequest>,
) -> Result<Json<Value>, Problem> {
    let whom = request.on_behalf_of.as_deref();
    let decision = Decision {
        decision: request.decision,
        plan_hash: request.plan_hash,
        comment: request.comment,
    };
    let done = server.call(&caller, "approval_decide", async |client| {
        approvals::approval_decide(client, approval_id, &decision, whom).await
    });
    Ok(Json(done.await?))
}

/// Who decided what.
#[derive(Debug, Serialize, ToSchema)]
struct Votes {
    /// In the order they were given.
    votes: Vec<Vote>,
}

/// Tell who decided what about an approval, and how they proved who they are
#[utoipa::path(get, path = "/v1/approvals/{approval_id}/votes", tag = "approvals", params(("approval_id" = Uuid, Path)), responses((status = 200, body = Votes), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn approval_votes_of(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Id(approval_id): Id,
) -> Result<Json<Votes>, Problem> {
    let votes = server.call(&caller, "approval_votes_of", async |client| {
        approvals::approval_votes_of(client, approval_id).await
    });
    Ok(Json(Votes { votes: votes.await? }))
}

/// The rules.
#[derive(Debug, Serialize, ToSchema)]
struct Rules {
    /// In the order in which they are asked; the built-in one is the last.
    rules: Vec<ApprovalRule>,
}

/// List the rules about who must approve what, in the order in which they are asked
#[utoipa::path(get, path = "/v1/approval-rules", tag = "approvals", responses((status = 200, body = Rules), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn approval_rule_list(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Query(NoQuery {}): Query<NoQuery>,
) -> Result<Json<Rules>, Problem> {
    let found = server.call(&caller, "approval_rule_list", async |client| {
        approvals::approval_rule_list(client).await
    });
    Ok(Json(Rules { rules: found.await? }))
}

/// When approved work may start.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Window {
    /// The days on which it opens, 1 for Monday; every day if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    days: Option<Vec<i32>>,
    /// When it opens.
    #[schema(example = "22:00")]
    from: String,
    /// When it closes; before it opens: on the next day.
    #[schema(example = "06:00")]
    to: String,
    /// The time zone of both; UTC if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Europe/Berlin")]
    zone: Option<String>,
}

/// Who must approve what. A list that is left out matches everything.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ApprovalRuleSpec)]
struct RuleSpec {
    /// Its place: rules are asked in this order, and the first that matches a step decides about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<i32>,
    /// For steps of these classes: `read`, `modify`, `deploy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    action_classes: Option<Vec<String>>,
    /// For these actions, with `*` for anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    actions: Option<Vec<String>>,
    /// For jobs of these kinds, with `*` for anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    kinds: Option<Vec<String>>,
    /// For these executors, with `*` for anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    executors: Option<Vec<String>>,
    /// For targets of these types, with `*` for anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    target_types: Option<Vec<String>>,
    /// For these targets, with `*` for anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    target_refs: Option<Vec<String>>,
    /// For plans of these SLA classes: `fast`, `medium`, `long`.
    #[serde(skip_serializing_if = "Option::is_none")]
    sla_classes: Option<Vec<String>>,
    /// For plans of these requesters, with `*` for anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    requesters: Option<Vec<String>>,
    /// For requesters of these kinds: `human`, `agent`, `service`.
    #[serde(skip_serializing_if = "Option::is_none")]
    requester_kinds: Option<Vec<String>>,
    /// 0: nobody; 1: one approver; 2: by the runbook; 3: each step too.
    #[schema(minimum = 0, maximum = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<i32>,
    /// An approver has one of these roles; left out: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    roles: Option<Vec<String>>,
    /// So many must approve; 1 if left out.
    #[schema(minimum = 1, maximum = 10)]
    #[serde(skip_serializing_if = "Option::is_none")]
    quorum: Option<i32>,
    /// So long they may take; a day if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_seconds: Option<i32>,
    /// When approved work may start; left out: at any time.
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<Window>,
    /// A word about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Make a rule, or put it in the place of the one of this name
#[utoipa::path(put, path = "/v1/approval-rules/{name}", tag = "approvals", params(("name" = String, Path)), request_body = RuleSpec, responses((status = 200, body = ApprovalRule), (status = 202, description = "Proposed: it takes effect when a second admin approves it", body = GovernanceChange), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn approval_rule_set(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
    Strict(spec): Strict<RuleSpec>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let spec = json!(spec);
    let set = server.call(&caller, "approval_rule_set", async |client| {
        approvals::approval_rule_set(client, &name, &spec).await
    });
    Ok(changed(set.await?))
}

/// Remove a rule
#[utoipa::path(delete, path = "/v1/approval-rules/{name}", tag = "approvals", params(("name" = String, Path)), responses((status = 200, body = Object), (status = 202, description = "Proposed: it takes effect when a second admin approves it", body = GovernanceChange), (status = "default", description = "Refused", body = Body, content_type = "application/problem+json")))]
async fn approval_rule_delete(
    State(server): State<Arc<Server>>,
    caller: Caller,
    Name(name): Name,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let done = server.call(&caller, "approval_rule_delete", async |client| {
        approvals::approval_rule_delete(client, &name).await
    });
    Ok(changed(done.await?))
}
