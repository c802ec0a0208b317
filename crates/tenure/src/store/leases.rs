//! The reaper.

use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::call::{Call, row};
use crate::error::Result;

row! {
    /// A job the reaper ended, or would end.
    pub struct Reaped {
        /// The job.
        pub job_id: Uuid,
        /// Its tenant.
        pub tenant: String,
        /// Its kind.
        pub kind: String,
        /// What was wrong, such as `expired` or `timed_out`.
        pub finding: String,
        /// Who held it.
        pub worker: Option<String>,
        /// Its state now.
        pub state: String,
    }
}

/// Whether the reaper acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReapMode {
    /// It ends what it finds.
    #[default]
    Apply,
    /// It only tells.
    DryRun,
}

/// Ends what nobody holds any more, or holds for too long (`tenure.job_reap`).
pub async fn job_reap(client: &impl GenericClient, mode: ReapMode, limit: Option<i32>) -> Result<Vec<Reaped>> {
    let mode = match mode {
        ReapMode::Apply => "apply",
        ReapMode::DryRun => "dry_run",
    };
    let call = Call::new("job_reap").with("p_mode", &mode);
    call.maybe("p_limit", &limit).rows(client).await
}
