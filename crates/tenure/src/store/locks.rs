//! Locks on targets: who has what for themselves, and who waits for it.

use serde_json::Value;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// A lock that somebody holds.
    pub struct Lock {
        /// Its key: `lock:v1:{tenant}:{part}`.
        pub lock_key: String,
        /// What is locked: `type:ref`, or with the action `type:ref:action`.
        pub part: String,
        /// The fencing number of the run that may act on it, or of the lock by hand. It grows with every run and every lock.
        pub fence: i64,
        /// Who holds it.
        pub owner: String,
        /// The execution that holds it.
        pub execution_id: Option<Uuid>,
        /// Its step.
        pub step_id: Option<String>,
        /// Why, if it was taken by hand.
        pub reason: Option<String>,
        /// Since when.
        pub acquired_at: Timestamp,
        /// Until when, unless it is renewed. That of a step lasts as long as the step.
        pub expires_at: Timestamp,
        /// How many steps wait for it.
        pub waiters: i64,
        /// The section of the execution that holds it across its steps.
        pub section: Option<String>,
    }
}

row! {
    /// A step that waits for a lock.
    pub struct LockWaiter {
        /// Its place in the line; 1 is next.
        pub place: i64,
        /// Its execution.
        pub execution_id: Uuid,
        /// The step.
        pub step_id: String,
        /// What the execution is for.
        pub purpose: String,
        /// Its priority.
        pub priority: i32,
        /// The action it wants the target for; none: for itself alone.
        pub action: Option<String>,
        /// Since when it waits.
        pub waiting_since: Timestamp,
    }
}

/// A lock that somebody holds by hand, and the number that proves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldLock {
    /// What is locked.
    pub part: String,
    /// Its fencing number.
    pub fence: i64,
}

/// Locks that are held, of this target or all (`tenure.lock_list`).
pub async fn lock_list(client: &impl GenericClient, target: Option<&str>, limit: Option<i32>) -> Result<Vec<Lock>> {
    Call::new("lock_list")
        .maybe("p_target", &target)
        .maybe("p_limit", &limit)
        .rows(client)
        .await
}

/// Who waits for a lock, in order (`tenure.lock_waiters`).
pub async fn lock_waiters(client: &impl GenericClient, part: &str, limit: Option<i32>) -> Result<Vec<LockWaiter>> {
    Call::new("lock_waiters")
        .with("p_part", &part)
        .maybe("p_limit", &limit)
        .rows(client)
        .await
}

/// Takes all of these locks, or none (`tenure.lock_acquire`).
pub async fn lock_acquire(
    client: &impl GenericClient,
    parts: &[String],
    seconds: i32,
    reason: Option<&str>,
) -> Result<Value> {
    let parts = parts.to_vec();
    Call::new("lock_acquire")
        .with("p_parts", &parts)
        .with("p_seconds", &seconds)
        .maybe("p_reason", &reason)
        .value(client)
        .await
}

/// Holds these locks for so long from now on (`tenure.lock_renew`).
pub async fn lock_renew(client: &impl GenericClient, locks: &[HeldLock], seconds: i32) -> Result<Value> {
    let (parts, fences) = columns(locks);
    Call::new("lock_renew")
        .with("p_parts", &parts)
        .with("p_fences", &fences)
        .with("p_seconds", &seconds)
        .value(client)
        .await
}

/// Lets these locks go (`tenure.lock_release`).
pub async fn lock_release(client: &impl GenericClient, locks: &[HeldLock]) -> Result<Value> {
    let (parts, fences) = columns(locks);
    Call::new("lock_release")
        .with("p_parts", &parts)
        .with("p_fences", &fences)
        .value(client)
        .await
}

/// Takes a lock from whoever holds it (`tenure.lock_break`).
pub async fn lock_break(client: &impl GenericClient, part: &str, reason: &str) -> Result<Value> {
    Call::new("lock_break")
        .with("p_part", &part)
        .with("p_reason", &reason)
        .value(client)
        .await
}

fn columns(locks: &[HeldLock]) -> (Vec<String>, Vec<i64>) {
    locks.iter().map(|lock| (lock.part.clone(), lock.fence)).unzip()
}
