//! What tests of a program that uses Tenure want to know and do.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tenure_api::jobs::{JobList, JobState};
use tenure_core::limits::LIST_ROWS_MAX;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use crate::error::Result;
use crate::operations;
use crate::store::Timestamp;
use crate::store::jobs;
use crate::worker::{Report, WorkerBuilder};

/// A job that waits for its turn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct WaitingJob {
    /// The job.
    pub job_id: Uuid,
    /// Its kind.
    pub kind: String,
    /// `queued` or `retry_waiting`.
    pub state: String,
    /// What it carries; null when it is restricted and the login may not see it.
    pub payload: Value,
    /// Its key.
    pub idempotency_key: Option<String>,
    /// Higher goes first.
    pub priority: i32,
    /// Not before.
    pub due: Timestamp,
    /// Who is to run it.
    pub executor: String,
    /// Attempts so far.
    pub attempts: u32,
    /// What it belongs together with.
    pub correlation_id: Option<String>,
}

/// Runs a worker until none of its jobs can be claimed any more and all it claimed have ended. Jobs that are not due yet
/// stay: scheduled ones, and those that wait for another attempt.
///
/// ```no_run
/// # async fn ship(_: serde_json::Value) -> Result<(), tenure::worker::Failure> { Ok(()) }
/// # async fn test(pool: tenure::Pool) -> tenure::Result<()> {
/// use tenure::testing::{assert_enqueued, drain};
/// use tenure::worker::{Context, Worker};
///
/// let connection = pool.get().await?;
/// // … the code under test, which is to enqueue a job …
/// assert_enqueued(&*connection, "order.ship", |payload: &serde_json::Value| payload["order"] == 7).await;
///
/// let worker = Worker::builder(pool).handler("order.ship", async |order, _: Context| ship(order).await);
/// assert_eq!(drain(worker).await?.succeeded, 1);
/// # Ok(())
/// # }
/// ```
pub async fn drain(worker: WorkerBuilder) -> Result<Report> {
    worker.build()?.run_until_idle().await
}

/// The jobs of a kind that wait, oldest first, among the newest [`LIST_ROWS_MAX`]. Given a transaction, it sees the jobs
/// enqueued there, so that a test may roll everything back.
pub async fn enqueued(client: &(impl GenericClient + Sync), kind: &str) -> Result<Vec<WaitingJob>> {
    let list = JobList {
        kind: Some(kind.to_owned()),
        state: Some(vec![JobState::Queued, JobState::RetryWaiting]),
        limit: i32::try_from(LIST_ROWS_MAX).unwrap_or(i32::MAX),
        ..JobList::default()
    };
    let mut waiting = Vec::new();
    for job in operations::call(client, &list).await?.items {
        let shown = jobs::show(client, job.job_id).await?;
        waiting.push(serde_json::from_value(shown).map_err(|error| {
            tenure_core::Refusal::new(
                tenure_core::codes::DATABASE_ERROR,
                "The answer of tenure.job_show cannot be read.",
                error.to_string(),
                "Check that program and schema belong together: tenure doctor.",
            )
        })?);
    }
    // Ids are made in the order of time.
    waiting.sort_by_key(|job: &WaitingJob| job.job_id);
    Ok(waiting)
}

/// Asserts that a job of this kind waits whose payload is as wanted, and returns the oldest such.
///
/// # Panics
/// If there is none; the message lists what there is. Also if the database cannot be asked.
pub async fn assert_enqueued<P: DeserializeOwned>(
    client: &(impl GenericClient + Sync),
    kind: &str,
    is_wanted: impl Fn(&P) -> bool,
) -> WaitingJob {
    let mut others = Vec::new();
    for job in listed(client, kind).await {
        match P::deserialize(&job.payload) {
            Ok(payload) if is_wanted(&payload) => return job,
            Ok(_) => others.push(format!("  {}", job.payload)),
            Err(error) => others.push(format!("  {} (not of the type asked for: {error})", job.payload)),
        }
    }
    match others.len() {
        0 => panic!("No job of the kind {kind} waits."),
        count => panic!(
            "None of the {count} waiting jobs of the kind {kind} is the one:\n{}",
            others.join("\n")
        ),
    }
}

/// Asserts that no job of this kind waits.
///
/// # Panics
/// If there is one; the message lists them. Also if the database cannot be asked.
pub async fn assert_none_enqueued(client: &(impl GenericClient + Sync), kind: &str) {
    let payloads: Vec<String> = listed(client, kind)
        .await
        .iter()
        .map(|job| format!("  {}", job.payload))
        .collect();
    assert!(
        payloads.is_empty(),
        "Jobs of the kind {kind} wait:\n{}",
        payloads.join("\n")
    );
}

async fn listed(client: &(impl GenericClient + Sync), kind: &str) -> Vec<WaitingJob> {
    match enqueued(client, kind).await {
        Ok(jobs) => jobs,
        Err(error) => panic!("The jobs of the kind {kind} cannot be listed.\n{error}"),
    }
}
