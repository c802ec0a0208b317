//! Archived executions: their rows are gone, their evidence is kept.

use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// An archived execution, in a list.
    pub struct ArchivedExecution {
        /// The execution.
        pub execution_id: Uuid,
        /// How it ended: `succeeded`, `partially_failed`, `failed`, `cancelled` or `rejected`.
        pub state: String,
        /// What it was for.
        pub purpose: String,
        /// Who submitted it.
        pub requested_by: String,
        /// Who stood behind it: who submitted it, on whose behalf, and the same of those that it retried.
        pub requesters: Vec<String>,
        /// The SHA-256 of its plan.
        pub plan_hash: String,
        /// Ties together what belongs together.
        pub correlation_id: Option<String>,
        /// What its steps were about: `type:ref`, and `type:ref:action`.
        pub targets: Vec<String>,
        /// When it was submitted.
        pub created_at: Timestamp,
        /// When it was over.
        pub ended_at: Timestamp,
        /// When it was archived.
        pub archived_at: Timestamp,
        /// Bytes of its evidence.
        pub evidence_bytes: i32,
    }
}

/// Which archived executions to list.
#[derive(Debug, Clone, Default)]
pub struct ArchiveFilter {
    /// Only those that ended in this state.
    pub state: Option<String>,
    /// Only those with this requester.
    pub requested_by: Option<String>,
    /// Only those that touched this target, `type:ref` or `type:ref:action`, escaped as in lock keys.
    pub target: Option<String>,
    /// Only those with this correlation id.
    pub correlation_id: Option<String>,
    /// Only those that ended after this.
    pub ended_after: Option<Timestamp>,
    /// Only those that ended before this.
    pub ended_before: Option<Timestamp>,
    /// Where the page before ended.
    pub before: Option<Uuid>,
    /// Maximum number of rows.
    pub limit: Option<i32>,
}

/// Archived executions of the tenant, those that ended last first (`tenure.execution_archive_list`).
pub async fn execution_archive_list(
    client: &impl GenericClient,
    filter: &ArchiveFilter,
) -> Result<Vec<ArchivedExecution>> {
    Call::new("execution_archive_list")
        .maybe("p_state", &filter.state)
        .maybe("p_requested_by", &filter.requested_by)
        .maybe("p_target", &filter.target)
        .maybe("p_correlation_id", &filter.correlation_id)
        .maybe("p_ended_after", &filter.ended_after)
        .maybe("p_ended_before", &filter.ended_before)
        .maybe("p_before", &filter.before)
        .maybe("p_limit", &filter.limit)
        .rows(client)
        .await
}
