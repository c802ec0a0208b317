//! While a job is held: start, heartbeat, progress.

use serde_json::Value;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Hold;
use crate::error::Result;
use crate::store::Timestamp;
use crate::store::call::{Call, row};

row! {
    /// The answer to a start.
    pub struct Started {
        /// The job.
        pub job_id: Uuid,
        /// `started`, `already_started`, `deadline_passed`, `stale_lease` or `lease_expired`.
        pub status: String,
        /// Since when it runs.
        pub started_at: Option<Timestamp>,
        /// When its run is over, renewed or not.
        pub run_until: Option<Timestamp>,
    }
}

impl Started {
    /// Whether the handler may run.
    pub fn is_confirmed(&self) -> bool {
        self.status == "started" || self.status == "already_started"
    }
}

row! {
    /// The answer to a heartbeat.
    pub struct Beat {
        /// The job.
        pub job_id: Uuid,
        /// `ok`, `cancel` (stop and acknowledge) or `lost` (stop at once).
        pub status: String,
        /// How long it is held now.
        pub leased_until: Option<Timestamp>,
        /// Why somebody wants it cancelled.
        pub cancel_reason: Option<String>,
    }
}

impl Beat {
    /// Whether another attempt may own the job.
    pub fn is_lost(&self) -> bool {
        self.status == "lost"
    }

    /// Whether somebody wants it cancelled.
    pub fn is_cancel_requested(&self) -> bool {
        self.status == "cancel"
    }
}

/// Starts jobs of a buffer (`tenure.job_start_many`).
pub async fn start_many(client: &impl GenericClient, holds: &[Hold]) -> Result<Vec<Started>> {
    let (job_ids, tokens) = Hold::split(holds);
    Call::new("job_start_many")
        .with("p_job_ids", &job_ids)
        .with("p_tokens", &tokens)
        .rows(client)
        .await
}

/// Renews the leases of all these jobs at once (`tenure.job_heartbeat_many`).
pub async fn heartbeat_many(
    client: &impl GenericClient,
    holds: &[Hold],
    lease_seconds: Option<i32>,
) -> Result<Vec<Beat>> {
    let (job_ids, tokens) = Hold::split(holds);
    Call::new("job_heartbeat_many")
        .with("p_job_ids", &job_ids)
        .with("p_tokens", &tokens)
        .maybe("p_lease_seconds", &lease_seconds)
        .rows(client)
        .await
}

/// Records how far a job is (`tenure.job_progress`).
pub async fn progress(client: &impl GenericClient, hold: Hold, progress: &Value) -> Result<Value> {
    let call = one("job_progress", &hold);
    call.with("p_progress", &progress).value(client).await
}

/// The call for one held job.
pub(super) fn one<'a>(function: &'static str, hold: &'a Hold) -> Call<'a> {
    Call::new(function)
        .with("p_job_id", &hold.job_id)
        .with("p_token", &hold.token)
}
