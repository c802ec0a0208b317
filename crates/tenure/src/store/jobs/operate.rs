//! What an operator does to one job.

use serde_json::Value;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use crate::error::Result;
use crate::store::call::Call;

/// How a held job is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CancelMode {
    /// Its worker is asked, and acknowledges.
    #[default]
    Cooperative,
    /// It is taken from its worker at once.
    Force,
}

/// Cancels a job; twice is no error (`tenure.job_cancel`).
pub async fn cancel(
    client: &impl GenericClient,
    job_id: Uuid,
    reason: &str,
    mode: CancelMode,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    let mode = match mode {
        CancelMode::Cooperative => "cooperative",
        CancelMode::Force => "force",
    };
    Call::new("job_cancel")
        .with("p_job_id", &job_id)
        .with("p_reason", &reason)
        .with("p_mode", &mode)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Runs a waiting job now, or gives a failed one a fresh set of attempts (`tenure.job_retry`).
pub async fn retry(
    client: &impl GenericClient,
    job_id: Uuid,
    reason: Option<&str>,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("job_retry")
        .with("p_job_id", &job_id)
        .maybe("p_reason", &reason)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Gives up on a waiting job (`tenure.job_dead_letter`).
pub async fn dead_letter(
    client: &impl GenericClient,
    job_id: Uuid,
    reason: &str,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("job_dead_letter")
        .with("p_job_id", &job_id)
        .with("p_reason", &reason)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}
