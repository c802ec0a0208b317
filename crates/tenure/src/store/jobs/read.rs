//! Looking at jobs.

use serde_json::Value;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use crate::error::Result;
use crate::executions::StepInfo;
use crate::schedules::SlotInfo;
use crate::store::Timestamp;
use crate::store::call::{Call, row};

row! {
    /// A job in a list.
    pub struct JobSummary {
        /// The job.
        pub job_id: Uuid,
        /// Its kind.
        pub kind: String,
        /// Who runs it.
        pub executor: String,
        /// Its state.
        pub state: String,
        /// Its priority.
        pub priority: i16,
        /// When it is due.
        pub due: Option<Timestamp>,
        /// Attempts so far.
        pub attempts: Option<i32>,
        /// Attempts before it gives up.
        pub attempts_max: i16,
        /// Who holds it.
        pub lease_owner: Option<String>,
        /// How long.
        pub lease_until: Option<Timestamp>,
        /// Its last error.
        pub error_message: Option<String>,
        /// Who enqueued it.
        pub enqueued_by: String,
        /// When it was enqueued.
        pub created_at: Timestamp,
        /// When it was finished.
        pub finished_at: Option<Timestamp>,
        /// The step of an execution it runs.
        pub step: Option<StepInfo>,
        /// The slot of a schedule it runs for.
        pub slot: Option<SlotInfo>,
    }
}

row! {
    /// One step in the life of a job.
    pub struct Moment {
        /// When.
        pub at: Option<Timestamp>,
        /// The state it led to.
        pub state: Option<String>,
        /// What was done.
        pub verb: String,
        /// In which run.
        pub run: Option<i32>,
        /// In which attempt.
        pub attempt: Option<i32>,
        /// By whom.
        pub actor: Option<String>,
        /// By which worker.
        pub worker: Option<String>,
        /// More about it.
        pub detail: Option<String>,
    }
}

/// Which jobs to list; what is left out does not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Only those in this state.
    pub state: Option<String>,
    /// Only those of this kind.
    pub kind: Option<String>,
    /// Only those for this executor.
    pub executor: Option<String>,
    /// Only those that belong together by this.
    pub correlation_id: Option<String>,
    /// Only those enqueued then or later.
    pub created_after: Option<Timestamp>,
    /// Only those enqueued earlier than then.
    pub created_before: Option<Timestamp>,
    /// Only those whose last run ended with this error.
    pub error_code: Option<String>,
    /// Only older ones: the last job of the page before.
    pub before: Option<Uuid>,
    /// At most so many.
    pub limit: Option<i32>,
}

/// Everything about one job (`tenure.job_show`).
pub async fn show(client: &impl GenericClient, job_id: Uuid) -> Result<Value> {
    Call::new("job_show").with("p_job_id", &job_id).value(client).await
}

/// Jobs, newest first (`tenure.job_list`).
pub async fn list(client: &impl GenericClient, filter: &JobFilter) -> Result<Vec<JobSummary>> {
    Call::new("job_list")
        .maybe("p_state", &filter.state)
        .maybe("p_kind", &filter.kind)
        .maybe("p_executor", &filter.executor)
        .maybe("p_correlation_id", &filter.correlation_id)
        .maybe("p_created_after", &filter.created_after)
        .maybe("p_created_before", &filter.created_before)
        .maybe("p_error_code", &filter.error_code)
        .maybe("p_before", &filter.before)
        .maybe("p_limit", &filter.limit)
        .rows(client)
        .await
}

/// Those of the jobs that have ended (`tenure.job_ended`).
pub async fn ended(client: &impl GenericClient, job_ids: &[Uuid]) -> Result<Vec<Uuid>> {
    let job_ids = job_ids.to_vec();
    let ended = Call::new("job_ended").with("p_job_ids", &job_ids).scalar(client);
    Ok(ended.await?.unwrap_or_default())
}

/// The life of a job, oldest first (`tenure.job_timeline`).
pub async fn timeline(client: &impl GenericClient, job_id: Uuid) -> Result<Vec<Moment>> {
    Call::new("job_timeline").with("p_job_id", &job_id).rows(client).await
}

/// Why a job is not running (`tenure.job_explain`).
pub async fn explain(client: &impl GenericClient, job_id: Uuid) -> Result<Value> {
    Call::new("job_explain").with("p_job_id", &job_id).value(client).await
}
