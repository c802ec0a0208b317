//! Waiting until an execution is settled.

use std::time::Duration;

use serde_json::Value;
use tenure_api::executions::ExecutionShow;
use tokio::time::Instant;
use uuid::Uuid;

use crate::connect::Session;
use crate::errors::Outcome;
use crate::values::Number;

/// How long a command may wait.
const WAIT_SECONDS_MAX: u32 = 86_400;
/// How often a waiting command asks: often at first, then less.
const POLL_FIRST: Duration = Duration::from_millis(100);
const POLL_LAST: Duration = Duration::from_secs(1);

/// Until when to wait.
pub(super) fn until(wait: Option<&Number>) -> Outcome<Option<Instant>> {
    let seconds = wait.map(|wait| wait.within("wait", 0..=WAIT_SECONDS_MAX)).transpose()?;
    Ok(seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds.into())))
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

/// What is left of the time, within the limit of a server.
pub(super) fn wait_seconds(until: Instant) -> Option<u64> {
    let seconds = left(until).as_secs().min(tenure_api::request::WAIT_SECONDS_MAX);
    (seconds > 0).then_some(seconds)
}

/// The execution as it is.
pub(super) async fn look(session: &mut Session, execution_id: Uuid) -> Outcome<Value> {
    let show = ExecutionShow {
        execution_id,
        wait_seconds: None,
    };
    let (_, whole) = session.perform(&show).await?;
    Ok(whole)
}

/// The execution when it is over or waits for a decision, or as it is when the time is up.
pub(super) async fn settled(session: &mut Session, execution_id: Uuid, until: Instant) -> Outcome<Value> {
    let mut pause = POLL_FIRST;
    loop {
        let show = ExecutionShow {
            execution_id,
            wait_seconds: wait_seconds(until),
        };
        let (shown, whole) = session.perform(&show).await?;
        let left = left(until);
        if shown.settled || left.is_zero() {
            return Ok(whole);
        }
        tokio::time::sleep(pause.min(left)).await;
        pause = (pause * 2).min(POLL_LAST);
    }
}
