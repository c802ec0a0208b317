//! Database logins, and what they are bound to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::keys::PayloadAccess;
use crate::{Effect, Operation, Route};

/// Bind a database login to a tenant, a principal, executors and kinds
///
/// An admin binds logins within the own tenant only. What is left out is not kept from the binding before.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginBind {
    /// The login, up to 200 characters; `*` stands for the logins without a binding of their own.
    #[schemars(length(min = 1, max = 200))]
    pub login: String,
    /// Its tenant; if left out: that of the caller.
    pub tenant: Option<String>,
    /// The actor of its events; if left out: the login.
    pub principal: Option<String>,
    /// The executors that it drives, up to 100; if left out: any, for claiming.
    #[schemars(length(max = 100))]
    pub executors: Option<Vec<String>>,
    /// The kinds that it works with, up to 100; if left out: every kind.
    #[schemars(length(max = 100))]
    pub kinds: Option<Vec<String>>,
    /// Which payloads it may see; `safe` if left out.
    pub payload_access: Option<PayloadAccess>,
}

impl Operation for LoginBind {
    const NAME: &str = "login_bind";
    const ROUTE: Route = Route::put("/v1/logins/{login}", "principals");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = LoginBound;
}

/// The binding of a login.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoginBound {
    /// The login.
    pub login: String,
    /// Its tenant.
    pub tenant: String,
    /// The actor of its events.
    pub principal: String,
    /// The executors that it drives; null: any, for claiming.
    pub executors: Option<Vec<String>>,
    /// The kinds that it works with; null: every kind.
    pub kinds: Option<Vec<String>>,
    /// Which payloads it may see.
    pub payload_access: PayloadAccess,
}

/// Remove the binding of a database login
///
/// Without a binding for `*`, the login is refused from then on.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginUnbind {
    /// The login.
    pub login: String,
}

impl Operation for LoginUnbind {
    const NAME: &str = "login_unbind";
    const ROUTE: Route = Route::delete("/v1/logins/{login}", "principals");
    const EFFECT: Effect = Effect::Destroys;
    type Answer = LoginUnbound;
}

/// A login whose binding was removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoginUnbound {
    /// The login.
    pub login: String,
    /// True.
    pub unbound: bool,
}
