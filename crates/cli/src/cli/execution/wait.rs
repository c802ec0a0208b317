//! Waiting until nothing moves by itself any more.

use std::time::Duration;

use serde_json::Value;
use tenure::store::executions;
use tokio::time::Instant;
use uuid::Uuid;

use crate::connect::Session;
use crate::errors::Outcome;
use crate::remote;
use crate::values::Number;

/// How long a command may wait.
const WAIT_SECONDS_MAX: u32 = 86_400;
/// How often a waiting command asks: often at first, then less.
const POLL_FIRST: Duration = Duration::from_millis(100);
const POLL_LAST: Duration = Duration::from_secs(1);

/// For a command that waits for nothing.
pub(super) const AT_ONCE: Duration = Duration::ZERO;

/// Until when to wait.
pub(super) fn until(wait: Option<&Number>) -> Outcome<Option<Instant>> {
    let seconds = wait.map(|wait| wait.within("wait", 0..=WAIT_SECONDS_MAX)).transpose()?;
    Ok(seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds.into())))
}

/// How much of the time is left.
pub(super) fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

/// The execution when it is over or waits for somebody, or as it is when the time is up.
pub(super) async fn settled(session: &mut Session, execution: Uuid, until: Instant) -> Outcome<Value> {
    let mut pause = POLL_FIRST;
    loop {
        let shown = session
            .call(remote::execution_show(execution, left(until)), async |tx| {
                executions::execution_show(tx, execution).await
            })
            .await?;
        let left = left(until);
        if shown["settled"] == true || left.is_zero() {
            return Ok(shown);
        }
        tokio::time::sleep(pause.min(left)).await;
        pause = (pause * 2).min(POLL_LAST);
    }
}
