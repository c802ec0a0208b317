//! Tenants.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Effect, Operation, Page, Route, Shape, Timestamp};

/// List the tenants that the caller may see, in the order in which they were made
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantList {
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of tenants.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn limit_default() -> i32 {
    100
}

impl Operation for TenantList {
    const NAME: &str = "tenant_list";
    const ROUTE: Route = Route::get("/v1/tenants", "principals");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("after", "name")];
    type Answer = Page<Tenant>;
}

/// A tenant in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// The principal that made it.
    pub created_by: String,
}

/// Make a tenant; for keys of the installation
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TenantCreate {
    /// Its name, up to 200 characters.
    #[schemars(example = &"acme", length(min = 1, max = 200))]
    pub name: String,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for TenantCreate {
    const NAME: &str = "tenant_create";
    const ROUTE: Route = Route::post("/v1/tenants", "principals").answers(&[(201, "Created")]);
    const EFFECT: Effect = Effect::Changes;
    type Answer = TenantCreated;
}

/// A tenant that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TenantCreated {
    /// Its name.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}
