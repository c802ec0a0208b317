//! Keys, by which principals act over HTTP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::principals::PrincipalKind;
use crate::{Effect, Operation, Page, Route, Shape, Timestamp, words};

words! {
    /// A role of a key.
    pub enum Role {
        /// Sees everything, changes nothing.
        Viewer = "viewer",
        /// Submits plans.
        Requester = "requester",
        /// Enqueues jobs.
        Producer = "producer",
        /// Claims and ends jobs.
        Worker = "worker",
        /// Operates jobs, schedules and gates.
        Operator = "operator",
        /// Decides about approvals.
        Approver = "approver",
        /// Administers the tenant.
        Admin = "admin",
    }
}

words! {
    /// Which payloads a key or a login may see.
    pub enum PayloadAccess {
        /// Those that are not restricted.
        Safe = "safe",
        /// All.
        Restricted = "restricted",
    }
}

words! {
    /// The state of a key.
    pub enum KeyState {
        /// It can be used.
        Valid = "valid",
        /// Its time is over.
        Expired = "expired",
        /// It was revoked.
        Revoked = "revoked",
    }
}

/// List keys without their secrets, valid ones first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyList {
    /// Only keys in one of these states.
    pub state: Option<Vec<KeyState>>,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of keys.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn limit_default() -> i32 {
    100
}

impl Operation for KeyList {
    const NAME: &str = "key_list";
    const ROUTE: Route = Route::get("/v1/keys", "principals");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[
        ("after_state", "state"),
        ("after_at", "created_at"),
        ("after_prefix", "prefix"),
    ];
    type Answer = Page<Key>;
}

/// A key in a list, without its secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Key {
    /// The beginning of the key, which names it.
    pub prefix: String,
    /// The principal that it belongs to.
    pub principal: String,
    /// What the principal is.
    pub kind: PrincipalKind,
    /// Its state.
    pub state: KeyState,
    /// Its roles.
    pub roles: Vec<Role>,
    /// The highest level that it approves, for the role `approver`.
    pub approver_level: Option<i32>,
    /// The executors that it drives; null: any, for claiming.
    pub executors: Option<Vec<String>>,
    /// The kinds that it works with; null: every kind.
    pub kinds: Option<Vec<String>>,
    /// Which payloads it may see.
    pub payload_access: PayloadAccess,
    /// What it is for.
    pub note: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// The principal that made it.
    pub created_by: String,
    /// The principal that made it, and the makers of the key or login that was used for it.
    pub makers: Vec<String>,
    /// When it expires; null: never.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// The principal that revoked it.
    pub revoked_by: Option<String>,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
}

/// Make a key: the answer has it in the field `key`, this once
///
/// Only a hash of the key is stored. A lost key cannot be shown again: make another one, and revoke it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyCreate {
    /// The principal that it belongs to.
    #[schemars(example = &"anna")]
    pub principal: String,
    /// Its roles, one or more.
    #[schemars(length(min = 1, max = 100))]
    pub roles: Vec<Role>,
    /// The highest level that it approves, 1 to 3; with the role `approver`, and only with it.
    #[schemars(range(min = 1, max = 3))]
    pub approver_level: Option<i32>,
    /// The executors that it drives, up to 100; if left out: any, for claiming.
    #[schemars(length(max = 100))]
    pub executors: Option<Vec<String>>,
    /// The kinds that it works with, up to 100; if left out: every kind.
    #[schemars(length(max = 100))]
    pub kinds: Option<Vec<String>>,
    /// Which payloads it may see; `safe` if left out.
    pub payload_access: Option<PayloadAccess>,
    /// When it expires; if left out: never.
    pub expires_at: Option<Timestamp>,
    /// What it is for, up to 500 characters.
    #[schemars(length(max = 500))]
    pub note: Option<String>,
}

impl Operation for KeyCreate {
    const NAME: &str = "key_create";
    const ROUTE: Route = Route::post("/v1/keys", "principals").answers(&[(201, "Created")]);
    const EFFECT: Effect = Effect::Changes;
    type Answer = KeyCreated;

    fn holds_secret(_: &KeyCreated) -> bool {
        true
    }
}

/// A key that was made. This is the only answer with the key itself.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeyCreated {
    /// The key. It is shown this once.
    #[schemars(example = &"tnr_k7q2m4xz_SECRET")]
    pub key: String,
    /// The beginning of the key, which names it.
    pub prefix: String,
    /// The principal that it belongs to.
    pub principal: String,
    /// What the principal is.
    pub kind: PrincipalKind,
    /// Its roles.
    pub roles: Vec<Role>,
    /// The highest level that it approves, for the role `approver`.
    pub approver_level: Option<i32>,
    /// The executors that it drives; null: any, for claiming.
    pub executors: Option<Vec<String>>,
    /// The kinds that it works with; null: every kind.
    pub kinds: Option<Vec<String>>,
    /// Which payloads it may see.
    pub payload_access: PayloadAccess,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it expires; null: never.
    pub expires_at: Option<Timestamp>,
}

/// Without the key, so that no log shows it.
impl std::fmt::Debug for KeyCreated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyCreated")
            .field("prefix", &self.prefix)
            .field("principal", &self.principal)
            .field("roles", &self.roles)
            .finish_non_exhaustive()
    }
}

/// Revoke a key: it is refused from the next call on
///
/// Revoking it again changes nothing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyRevoke {
    /// The prefix of the key.
    pub prefix: String,
}

impl Operation for KeyRevoke {
    const NAME: &str = "key_revoke";
    const ROUTE: Route = Route::delete("/v1/keys/{prefix}", "principals");
    const EFFECT: Effect = Effect::Destroys;
    type Answer = KeyRevoked;
}

/// A key that was revoked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeyRevoked {
    /// The prefix of the key.
    pub prefix: String,
    /// When it was revoked.
    pub revoked_at: Timestamp,
}
