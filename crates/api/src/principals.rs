//! Principals: persons, agents and services that act in a tenant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::present;
use crate::{Effect, Operation, Page, Route, Shape, Timestamp, words};

words! {
    /// What a principal is.
    pub enum PrincipalKind {
        /// A person.
        Human = "human",
        /// An agent; it never approves.
        Agent = "agent",
        /// A program.
        Service = "service",
    }
}

/// List principals, by name
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrincipalList {
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of principals.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn limit_default() -> i32 {
    100
}

impl Operation for PrincipalList {
    const NAME: &str = "principal_list";
    const ROUTE: Route = Route::get("/v1/principals", "principals");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("after", "name")];
    type Answer = Page<Principal>;
}

/// A principal in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Principal {
    /// Its name: the actor of its events.
    pub name: String,
    /// What it is.
    pub kind: PrincipalKind,
    /// Its e-mail address.
    pub email: Option<String>,
    /// The highest level that it approves when it comes by a database login; null if it does not approve.
    pub approver_level: Option<i32>,
    /// The roles in which it approves.
    pub approval_roles: Vec<String>,
    /// When it was registered.
    pub created_at: Timestamp,
    /// The principal that registered it.
    pub created_by: String,
    /// The principals that registered or changed it. It cannot decide about their plans.
    pub makers: Vec<String>,
    /// The number of its valid keys.
    pub keys: i64,
}

/// Register a principal: a person, an agent or a service
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrincipalCreate {
    /// Its name, up to 200 characters: the actor of its events.
    #[schemars(example = &"anna", length(min = 1, max = 200))]
    pub name: String,
    /// What it is.
    pub kind: PrincipalKind,
    /// Its e-mail address, up to 320 characters.
    #[schemars(example = &"anna@example.org")]
    pub email: Option<String>,
}

impl Operation for PrincipalCreate {
    const NAME: &str = "principal_create";
    const ROUTE: Route = Route::post("/v1/principals", "principals").answers(&[(201, "Created")]);
    const EFFECT: Effect = Effect::Changes;
    type Answer = PrincipalCreated;
}

/// A principal that was registered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrincipalCreated {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: PrincipalKind,
    /// Its e-mail address.
    pub email: Option<String>,
    /// When it was registered.
    pub created_at: Timestamp,
}

/// Set up to which level a principal approves, and in which roles
///
/// A field that is left out stays as it is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrincipalSet {
    /// The name of the principal.
    pub name: String,
    /// What changes.
    pub spec: PrincipalChanges,
}

impl Operation for PrincipalSet {
    const NAME: &str = "principal_set";
    const ROUTE: Route = Route::patch("/v1/principals/{name}", "principals").spec("spec");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = PrincipalChanged;
}

/// What changes about a principal. A field that is left out stays as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrincipalChanges {
    /// The highest level that it approves when it comes by a database login, 1 to 3; null: it does not approve. A key has a level
    /// of its own.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3))]
    pub approver_level: Option<Option<i32>>,
    /// The roles in which it approves, up to 100; they replace the roles before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub approval_roles: Option<Vec<String>>,
    /// True: the caller vouches for the principal as it is then, in place of the principals that registered or changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<bool>,
}

/// A principal as it is after a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrincipalChanged {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: PrincipalKind,
    /// The highest level that it approves when it comes by a database login; null if it does not approve.
    pub approver_level: Option<i32>,
    /// The roles in which it approves.
    pub approval_roles: Vec<String>,
    /// The principals that registered or changed it. It cannot decide about their plans.
    pub makers: Vec<String>,
}
