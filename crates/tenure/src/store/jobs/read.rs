//! Looking at jobs.

use serde_json::Value;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use crate::error::Result;
use crate::store::call::Call;

/// Everything about one job (`tenure.job_show`).
pub async fn show(client: &impl GenericClient, job_id: Uuid) -> Result<Value> {
    Call::new("job_show").with("p_job_id", &job_id).value(client).await
}

/// Those of the jobs that have ended (`tenure.job_ended`).
pub async fn ended(client: &impl GenericClient, job_ids: &[Uuid]) -> Result<Vec<Uuid>> {
    let job_ids = job_ids.to_vec();
    let ended = Call::new("job_ended").with("p_job_ids", &job_ids).scalar(client);
    Ok(ended.await?.unwrap_or_default())
}
