//! Retention and partitions.

use tokio_postgres::GenericClient;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// A partition with its bounds in time.
    pub struct Partition {
        /// Its table.
        pub name: String,
        /// From here on.
        pub lower_at: Timestamp,
        /// Up to here.
        pub upper_at: Timestamp,
        /// How many there are.
        pub total: i64,
    }
}

/// What partition upkeep did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Kept {
    /// Partitions it made.
    pub made: Vec<String>,
    /// Partitions it dropped.
    pub dropped: Vec<String>,
    /// Partitions whose time is over, with jobs that are not.
    pub waiting: Vec<String>,
    /// It found a lock in use and changed nothing, so that no caller had to wait for long: call again later.
    pub gave_way: bool,
}

/// The partitioned tables, in the order in which their partitions are kept.
pub const PARTITIONED: [&str; 3] = ["jobs", "attempts", "events"];

/// Makes partitions of one table ahead and drops those whose time is over (`tenure.partition_upkeep`); without a
/// name, of all [`PARTITIONED`] tables at once. One table per transaction holds no lock while it waits for another.
pub async fn partition_upkeep(client: &impl GenericClient, table: Option<&str>) -> Result<Kept> {
    Call::new("partition_upkeep")
        .maybe("p_table", &table)
        .read(client)
        .await
}

/// The partitions of `jobs`, `attempts` or `events` (`tenure.partition_list`).
pub async fn partition_list(client: &impl GenericClient, table: &str) -> Result<Vec<Partition>> {
    Call::new("partition_list").with("p_table", &table).rows(client).await
}
