//! Waiting for the end of a job.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tenure_api::jobs::JobState;
use tenure_core::{Refusal, codes};
use tokio::time::Instant;
use uuid::Uuid;

use super::Client;
use crate::error::Result;
use crate::store::{Timestamp, jobs};

/// How often to ask: often at first, when the end may be near, then less.
const POLL_FIRST: Duration = Duration::from_millis(10);
const POLL_LAST: Duration = Duration::from_secs(1);
/// No wait is meant to be longer: one year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct JobEnd {
    /// The job.
    pub job_id: Uuid,
    /// `succeeded`, `failed`, `cancelled`, `dead_letter`, or `cleaned` when its retention is over.
    pub state: String,
    /// Attempts it took.
    pub attempts: u32,
    /// What came out.
    pub result: Option<Value>,
    /// Where a larger result is.
    pub result_ref: Option<String>,
    /// The code of the last error.
    pub error_code: Option<String>,
    /// Its class.
    pub error_class: Option<String>,
    /// Its text.
    pub error_message: Option<String>,
    /// Why it was cancelled.
    pub cancel_reason: Option<String>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

impl JobEnd {
    /// Whether its work is done.
    pub fn is_succeeded(&self) -> bool {
        self.state == "succeeded"
    }

    /// The result as this type. A job that did not succeed is refused as `job_not_succeeded`.
    pub fn read<T: DeserializeOwned>(self) -> Result<T> {
        let job_id = self.job_id;
        if !self.is_succeeded() {
            return Err(self.not_succeeded().into());
        }
        let result = serde_json::from_value(self.result.unwrap_or_default());
        Ok(result.map_err(|error| {
            Refusal::new(
                codes::USAGE,
                format!("The result of job {job_id} cannot be read as {}.", short_name::<T>()),
                error.to_string(),
                "Read it as what its handler gives, or wait without a type and look.",
            )
        })?)
    }

    fn not_succeeded(self) -> Refusal {
        let reasons = [self.error_message, self.cancel_reason, self.error_code];
        let why = reasons.into_iter().flatten().find(|reason| !reason.is_empty());
        Refusal::new(
            codes::JOB_NOT_SUCCEEDED,
            format!("The job {} ended as {}.", self.job_id, self.state),
            why.unwrap_or_else(|| "Its record says no more.".to_owned()),
            "See what happened with tenure job timeline; a dead letter can be replayed.",
        )
    }
}

impl Client {
    /// Waits until the job has ended, whatever its end. A job that has ended already answers at once; one that has not
    /// ended in this time is refused as `wait_timeout`, and goes on.
    ///
    /// The database is asked again and again, ever less often, at the most every second; no connection is kept meanwhile.
    pub async fn wait(&self, job_id: Uuid, timeout: Duration) -> Result<JobEnd> {
        let until = Instant::now() + timeout.min(LONGEST);
        let mut pause = POLL_FIRST;
        loop {
            let shown = {
                let connection = self.pool.get().await?;
                jobs::show(&*connection, job_id).await?
            };
            let state = shown["state"].as_str().unwrap_or_default();
            if JobState::from(state).is_at_rest() {
                return Ok(serde_json::from_value(shown).map_err(|error| unreadable(&error))?);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(not_ended(job_id, state, timeout).into());
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 3 / 2).min(POLL_LAST);
        }
    }

    /// Waits until the job has succeeded, and reads its result. Any other end is refused as `job_not_succeeded`.
    pub async fn wait_for<T: DeserializeOwned>(&self, job_id: Uuid, timeout: Duration) -> Result<T> {
        self.wait(job_id, timeout).await?.read()
    }
}

fn not_ended(job_id: Uuid, state: &str, timeout: Duration) -> Refusal {
    Refusal::new(
        codes::WAIT_TIMEOUT,
        format!("The job {job_id} has not ended within {timeout:?}."),
        format!("It is {state}."),
        "Wait again, or see why it is not running with tenure job explain.",
    )
}

fn unreadable(error: &serde_json::Error) -> Refusal {
    Refusal::new(
        codes::DATABASE_ERROR,
        "The answer of tenure.job_show cannot be read.",
        error.to_string(),
        "Check that program and schema belong together: tenure doctor.",
    )
}

/// A type's name without the path to it.
fn short_name<T>() -> &'static str {
    let name = std::any::type_name::<T>();
    let plain = name.split('<').next().unwrap_or(name);
    plain.rsplit("::").next().unwrap_or(name)
}
