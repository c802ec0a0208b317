//! Waiting for a job to end.

use std::time::Duration;

use serde_json::Value;
use tenure_api::jobs::{JobDetails, JobShow};
use tenure_api::request;
use tokio::time::Instant;
use uuid::Uuid;

use crate::connect::Session;
use crate::errors::Outcome;
use crate::values::Number;

/// How long a command may wait.
pub(super) const WAIT_SECONDS_MAX: u32 = 3600;
/// How often a waiting command asks: often at first, when what it waits for may be about to happen, then less.
const POLL_FIRST: Duration = Duration::from_millis(100);
const POLL_LAST: Duration = Duration::from_secs(2);

/// Pauses between questions, until a time is up.
pub(super) struct Patience {
    until: Instant,
    pause: Duration,
}

impl Patience {
    /// For the seconds given, or for none.
    pub(super) fn of(wait: Option<&Number>) -> Outcome<Patience> {
        let seconds = wait.map(|wait| wait.within("wait", 0..=WAIT_SECONDS_MAX)).transpose()?;
        Ok(Patience {
            until: Instant::now() + Duration::from_secs(seconds.unwrap_or(0).into()),
            pause: POLL_FIRST,
        })
    }

    /// How much of the time is left.
    pub(super) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Pauses, longer every time. False when the time is up.
    pub(super) async fn pause(&mut self) -> bool {
        let left = self.left();
        if left.is_zero() {
            return false;
        }
        tokio::time::sleep(self.pause.min(left)).await;
        self.pause = (self.pause * 2).min(POLL_LAST);
        true
    }
}

/// The job as it is when it has ended, or when the time is up.
pub(super) async fn ended(session: &mut Session, job_id: Uuid, mut patience: Patience) -> Outcome<(JobDetails, Value)> {
    loop {
        let show = JobShow {
            job_id,
            wait_seconds: Some(patience.left().as_secs().min(request::WAIT_SECONDS_MAX)),
        };
        let (details, whole) = session.perform(&show).await?;
        if details.state.is_at_rest() || !patience.pause().await {
            return Ok((details, whole));
        }
    }
}
