//! Locks that are held by hand: each goes with its fence.

use serde_json::Value;
use tenure_api::locks::HeldLock;
use tokio_postgres::GenericClient;

use super::call::Call;
use crate::error::Result;

/// Holds these locks for this many seconds from now on (`tenure.lock_renew`).
pub(crate) async fn lock_renew(client: &impl GenericClient, locks: &[HeldLock], seconds: i32) -> Result<Value> {
    let (parts, fences) = columns(locks);
    Call::new("lock_renew")
        .with("p_parts", &parts)
        .with("p_fences", &fences)
        .with("p_seconds", &seconds)
        .value(client)
        .await
}

/// Releases these locks (`tenure.lock_release`).
pub(crate) async fn lock_release(client: &impl GenericClient, locks: &[HeldLock]) -> Result<Value> {
    let (parts, fences) = columns(locks);
    Call::new("lock_release")
        .with("p_parts", &parts)
        .with("p_fences", &fences)
        .value(client)
        .await
}

fn columns(locks: &[HeldLock]) -> (Vec<String>, Vec<i64>) {
    locks.iter().map(|lock| (lock.part.clone(), lock.fence)).unzip()
}
