//! What the server counts, read by every runner just before and just after its drain.

use anyhow::Result;
use tokio_postgres::Client;

/// Kept beside the runners of the other languages, which ask the same.
const COUNTERS: &str = include_str!("../counters.sql");

pub(crate) struct Counters {
    /// Bytes of write-ahead log ever written.
    pub(crate) wal_bytes: i64,
    /// Transactions that ever wrote something.
    pub(crate) transactions: i64,
}

impl Counters {
    pub(crate) async fn read(client: &Client) -> Result<Counters> {
        let row = client.query_one(COUNTERS, &[]).await?;
        Ok(Counters {
            wal_bytes: row.get(0),
            transactions: row.get(1),
        })
    }
}
