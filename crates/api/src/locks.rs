//! Locks on targets: the holders, and the steps that wait. Steps take and free their locks by themselves; by hand they are
//! acquired, renewed, released and broken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Effect, Operation, Page, Route, Shape, Timestamp};

fn limit_default() -> i32 {
    100
}

/// List locks that are held, oldest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockList {
    /// Only locks at this target: `type:ref`, or for one action at it `type:ref:action`. Within the reference `%` and `:` are
    /// written `%25` and `%3A`.
    #[schemars(example = "host:web-1")]
    pub target: Option<String>,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of locks.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

impl Default for LockList {
    fn default() -> LockList {
        LockList {
            target: None,
            cursor: None,
            limit: limit_default(),
        }
    }
}

impl Operation for LockList {
    const NAME: &str = "lock_list";
    const ROUTE: Route = Route::get("/v1/locks", "locks");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("after", "acquired_at"), ("after_key", "lock_key")];
    type Answer = Page<Lock>;
}

/// A lock that is held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lock {
    /// Its key: `lock:v1:{tenant}:{part}`.
    pub lock_key: String,
    /// What is locked: `type:ref`, or with the action `type:ref:action`.
    pub part: String,
    /// The fencing number of the run that may act on the target, or of the lock by hand. It grows with every run and every lock.
    pub fence: i64,
    /// The principal or service that holds it.
    pub owner: String,
    /// The execution that holds it.
    pub execution_id: Option<Uuid>,
    /// The step that holds it.
    pub step_id: Option<String>,
    /// The reason, if it was taken by hand and one was given.
    pub reason: Option<String>,
    /// When it was acquired.
    pub acquired_at: Timestamp,
    /// When it expires, unless it is renewed. The lock of a step lasts as long as the step.
    pub expires_at: Timestamp,
    /// How many steps wait for the target; counted up to 10000.
    pub waiters: i64,
    /// The section of the execution that holds it across its steps.
    pub section: Option<String>,
}

/// List the steps that wait for a lock, in the order of their turn
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockWaiters {
    /// The lock: `type:ref`, or `type:ref:action`. All actions at a target have one queue.
    #[schemars(example = "host:web-1")]
    pub part: String,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of steps.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

impl Operation for LockWaiters {
    const NAME: &str = "lock_waiters";
    const ROUTE: Route = Route::get("/v1/locks/waiters", "locks");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("after_priority", "priority"), ("after_turn", "turn")];
    type Answer = Page<LockWaiter>;
}

/// A step that waits for a lock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockWaiter {
    /// Its place in the queue; 1 is next.
    pub place: i64,
    /// Its execution.
    pub execution_id: Uuid,
    /// The step.
    pub step_id: String,
    /// What the execution is for.
    pub purpose: String,
    /// Its priority; higher goes first.
    pub priority: i32,
    /// The action that it wants to lock; null: the whole target.
    pub action: Option<String>,
    /// Since when it waits.
    pub waiting_since: Timestamp,
    /// The order of arrival: of steps with the same priority, the smallest number goes first.
    pub turn: i64,
}

/// Take locks, all of them or none
///
/// The fence of each is greater than that of every earlier holder of the target: hand it to the target, so that it can refuse a
/// holder that lost its lock.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockAcquire {
    /// The locks, each `type:ref` or `type:ref:action`. Within the reference `%` and `:` are written `%25` and `%3A`.
    #[schemars(length(min = 1, max = 100), example = ("host:web-1", "host:web-2:restart"))]
    pub parts: Vec<String>,
    /// How long they are held, in seconds, unless they are renewed or released.
    #[schemars(range(min = 1, max = 86_400))]
    pub seconds: i32,
    /// The reason. It is shown to callers that find the locks held.
    pub reason: Option<String>,
}

impl Operation for LockAcquire {
    const NAME: &str = "lock_acquire";
    const ROUTE: Route = Route::post("/v1/locks/acquire", "locks");
    const EFFECT: Effect = Effect::Changes;
    type Answer = LocksAcquired;
}

/// The locks that were taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LocksAcquired {
    /// One for each part that was named; a part that was named twice counts once.
    pub locks: Vec<AcquiredLock>,
}

/// A lock that was taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AcquiredLock {
    /// What is locked, as it was named.
    pub part: String,
    /// Its key: `lock:v1:{tenant}:{part}`.
    pub lock_key: String,
    /// Its fencing number. Renewing and releasing need it.
    pub fence: i64,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// A lock that the caller holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeldLock {
    /// What is locked: `type:ref`, or `type:ref:action`.
    pub part: String,
    /// The fencing number that acquiring it gave.
    pub fence: i64,
}

/// Renew locks, all of them or none
///
/// Refused if one of them was lost: then stop what needs the lock.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockRenew {
    /// The locks.
    #[schemars(length(min = 1, max = 100))]
    pub locks: Vec<HeldLock>,
    /// How long they are held from now on, in seconds.
    #[schemars(range(min = 1, max = 86_400))]
    pub seconds: i32,
}

impl Operation for LockRenew {
    const NAME: &str = "lock_renew";
    const ROUTE: Route = Route::post("/v1/locks/renew", "locks");
    const EFFECT: Effect = Effect::Idempotent;
    const BESIDE: &[&str] = &["locks"];
    type Answer = LocksRenewed;
}

/// Locks that were renewed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LocksRenewed {
    /// How many.
    pub renewed: i64,
    /// When they expire.
    pub expires_at: Timestamp,
}

/// Release locks, all of them or none
///
/// Refused if one of them was lost.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockRelease {
    /// The locks.
    #[schemars(length(min = 1, max = 100))]
    pub locks: Vec<HeldLock>,
}

impl Operation for LockRelease {
    const NAME: &str = "lock_release";
    const ROUTE: Route = Route::post("/v1/locks/release", "locks");
    const EFFECT: Effect = Effect::Changes;
    const BESIDE: &[&str] = &["locks"];
    type Answer = LocksReleased;
}

/// Locks that were released.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LocksReleased {
    /// How many.
    pub released: i64,
}

/// Break a lock: take it from its holder
///
/// The job of a running step is taken from its worker first. If it is then unknown how far it came, the step waits for a verdict.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockBreak {
    /// The lock: `type:ref`, or `type:ref:action`.
    #[schemars(example = "host:web-1")]
    pub part: String,
    /// The reason; it is recorded.
    #[schemars(length(min = 1, max = 200))]
    pub reason: String,
}

impl Operation for LockBreak {
    const NAME: &str = "lock_break";
    const ROUTE: Route = Route::post("/v1/locks/break", "locks");
    const EFFECT: Effect = Effect::Destroys;
    type Answer = LockBroken;
}

/// A lock that was broken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockBroken {
    /// Its key.
    pub lock_key: String,
    /// The principal or service that held it.
    pub owner: String,
    /// The fencing number that it had.
    pub fence: i64,
    /// Always true.
    pub broken: bool,
}
