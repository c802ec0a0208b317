//! Putting work in: one, many, in a transaction of the caller's.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_core::codes;
use tenure_core::limits::BATCH_ROWS_MAX;
use tokio_postgres::GenericClient;

use super::{Client, IntoNewJob, NewJob};
use crate::error::{Error, Result};
use crate::store::jobs::{self, Enqueued};
use crate::store::{Timestamp, kinds, now};

/// Two enqueues of many batches whose keys overlap may stand in each other's way; the one that gives way tries again.
const ROUNDS_MAX: usize = 5;
/// How long a transaction of the client's own waits for one that holds a key. In a transaction of the caller's it is for the
/// caller to say: `lock_timeout`.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(10);

impl Client {
    /// Enqueues one job, in a transaction of its own. A key that an unfinished job has answers with that job. A key that
    /// an open transaction holds is waited for; after 10 seconds the answer is `busy_try_again`.
    pub async fn enqueue(&self, job: &impl IntoNewJob) -> Result<Enqueued> {
        let job = &*job.new_job()?;
        self.open_lanes_of(std::slice::from_ref(job)).await?;
        let connection = self.pool.get().await?;
        // On its own a refusal spoils nothing, so the cheaper form will do.
        let now = clock(&*connection, std::slice::from_ref(job)).await?;
        let answers = jobs::enqueue_alone_within(
            &*connection,
            &job.at(now),
            self.on_behalf_of.as_deref(),
            Some(LOCK_WAIT_MAX),
        )
        .await?;
        answers.into_iter().next().ok_or_else(nothing_answered)
    }

    /// Enqueues jobs, all or none of them, and answers in their order. However many they are, they are one transaction;
    /// one statement takes a thousand.
    pub async fn enqueue_many<J: IntoNewJob>(&self, jobs: &[J]) -> Result<Vec<Enqueued>> {
        let jobs = &*J::new_jobs(jobs)?;
        self.open_lanes_of(jobs).await?;
        let mut connection = self.pool.get().await?;
        let whom = self.on_behalf_of.as_deref();
        if jobs.len() <= BATCH_ROWS_MAX {
            return enqueue_all(&*connection, jobs, whom, Some(LOCK_WAIT_MAX)).await;
        }
        let mut round = 1;
        loop {
            let transaction = connection.transaction().await?;
            match enqueue_all(&transaction, jobs, whom, Some(LOCK_WAIT_MAX)).await {
                Ok(enqueued) => {
                    transaction.commit().await?;
                    return Ok(enqueued);
                }
                Err(error) if error.is(codes::BUSY_TRY_AGAIN) && round < ROUNDS_MAX => transaction.rollback().await?,
                Err(error) => return Err(error),
            }
            round += 1;
        }
    }

    /// Makes sure that the lanes of these kinds stand. [`Client::enqueue`] does so by itself; before [`enqueue_in`] it
    /// keeps a new kind in one lane: a transaction that stays open with its first job does not share the lane it made.
    pub async fn open_lanes(&self, kinds: impl IntoIterator<Item = impl Into<String>>) -> Result<()> {
        for kind in kinds {
            self.open_lane((kind.into(), None)).await?;
        }
        Ok(())
    }

    async fn open_lanes_of(&self, jobs: &[NewJob]) -> Result<()> {
        // Nearly always a batch is of one kind.
        let lanes: BTreeSet<_> = jobs.iter().map(NewJob::lane).collect();
        for (kind, executor) in lanes {
            self.open_lane((kind.to_owned(), executor.map(str::to_owned))).await?;
        }
        Ok(())
    }

    /// In a transaction of its own, and once for this client.
    async fn open_lane(&self, lane: super::Lane) -> Result<()> {
        if !self.is_open(&lane) {
            let connection = self.pool.get().await?;
            kinds::lane_open(&*connection, &lane.0, lane.1.as_deref()).await?;
            self.remember(lane);
        }
        Ok(())
    }
}

/// Enqueues one job in a transaction of the caller's: it exists exactly if that commits. A refusal aborts the transaction, as any
/// SQL error does; a savepoint around the call (`transaction.transaction()`) keeps what came before it.
///
/// ```no_run
/// # async fn order(client: &mut tokio_postgres::Client) -> tenure::Result<()> {
/// use serde_json::json;
/// use tenure::{NewJob, enqueue_in};
///
/// let transaction = client.transaction().await?;
/// transaction.execute("insert into orders (id) values (7)", &[]).await?;
/// enqueue_in(&transaction, &NewJob::of("order.ship", &json!({"order": 7}))?.key("order-7")).await?;
/// transaction.commit().await?;
/// # Ok(())
/// # }
/// ```
pub async fn enqueue_in(client: &impl GenericClient, job: &impl IntoNewJob) -> Result<Enqueued> {
    enqueue_one(client, &*job.new_job()?, None).await
}

/// Enqueues jobs in a transaction of the caller's, and answers in their order. A refusal aborts the transaction, as any
/// SQL error does. Without a transaction each thousand of them stands for itself.
pub async fn enqueue_many_in<J: IntoNewJob>(client: &impl GenericClient, jobs: &[J]) -> Result<Vec<Enqueued>> {
    enqueue_all(client, &J::new_jobs(jobs)?, None, None).await
}

async fn enqueue_one(client: &impl GenericClient, job: &NewJob, on_behalf_of: Option<&str>) -> Result<Enqueued> {
    let now = clock(client, std::slice::from_ref(job)).await?;
    jobs::enqueue(client, &job.at(now), on_behalf_of).await
}

async fn enqueue_all(
    client: &impl GenericClient,
    jobs: &[NewJob],
    on_behalf_of: Option<&str>,
    lock_wait: Option<Duration>,
) -> Result<Vec<Enqueued>, Error> {
    let now = clock(client, jobs).await?;
    let mut enqueued = Vec::with_capacity(jobs.len());
    for (batch, first) in jobs.chunks(BATCH_ROWS_MAX).zip((0..).step_by(BATCH_ROWS_MAX)) {
        let batch: Vec<_> = batch.iter().map(|job| job.at(now)).collect();
        let answers = jobs::enqueue_many_within(client, &batch, on_behalf_of, lock_wait).await;
        // The database counts within its batch.
        enqueued.extend(answers.map_err(|error| match first {
            0 => error,
            _ => error.while_doing(&format!("Counted from job {first} on")),
        })?);
    }
    Ok(enqueued)
}

/// A batch of one has one answer; another schema than ours may be at the other end.
fn nothing_answered() -> Error {
    Error::Refused(tenure_core::Refusal::new(
        codes::DATABASE_ERROR,
        "The job was not answered for.",
        "tenure.job_enqueue_many answers with one row for each job.",
        "Check that program and schema belong together: tenure doctor.",
    ))
}

/// The time, if any of the jobs asks for it: only the database's clock counts.
async fn clock(client: &impl GenericClient, jobs: &[NewJob]) -> Result<Option<Timestamp>> {
    match jobs.iter().any(NewJob::asks_the_clock) {
        true => now(client).await.map(Some),
        false => Ok(None),
    }
}
