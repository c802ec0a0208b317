//! Which transactions are open, in any database of the server. Only those that have written something have a number.

use tokio_postgres::GenericClient;

use crate::error::Result;

/// What a moment knows of transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Those below this number have ended, but for the ones named.
    below: u64,
    open: Vec<u64>,
}

impl Snapshot {
    /// This moment.
    pub async fn now(client: &impl GenericClient) -> Result<Snapshot> {
        let rows = client
            .query_typed("select pg_catalog.pg_current_snapshot()::text", &[])
            .await?;
        let text: &str = rows.first().map_or(Ok(""), |row| row.try_get(0))?;
        Ok(Snapshot::parse(text))
    }

    /// Whether the transaction was open, or not yet begun.
    pub fn is_open(&self, id: u64) -> bool {
        id >= self.below || self.open.contains(&id)
    }

    /// PostgreSQL writes `oldest:next:open,open,…`.
    fn parse(text: &str) -> Snapshot {
        let mut parts = text.split(':').skip(1);
        let below = parts.next().and_then(|part| part.parse().ok()).unwrap_or_default();
        let open = parts.next().unwrap_or_default().split(',');
        Snapshot {
            below,
            open: open.flat_map(str::parse).collect(),
        }
    }
}

/// The transactions open at this moment. One that gets its number later sees all that was committed before this was asked.
pub async fn open_transactions(client: &impl GenericClient) -> Result<Vec<u64>> {
    // A snapshot counts what is newer than the last one that ended as not begun; our own number is the bound that it lacks.
    let sql = "select pg_catalog.pg_current_snapshot()::text, pg_catalog.pg_current_xact_id()::text";
    let rows = client.query_typed(sql, &[]).await?;
    let Some(row) = rows.first() else { return Ok(Vec::new()) };
    let snapshot = Snapshot::parse(row.try_get(0)?);
    let own: u64 = row.try_get::<_, &str>(1)?.parse().unwrap_or(snapshot.below);
    let newer = snapshot.below..own;
    Ok(snapshot.open.into_iter().chain(newer).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_snapshot_does_not_name_has_ended_below_its_bound_and_not_begun_above() {
        let snapshot = Snapshot::parse("10:20:10,14");
        assert!(snapshot.is_open(10) && snapshot.is_open(14) && snapshot.is_open(20));
        assert!(!snapshot.is_open(9) && !snapshot.is_open(11) && !snapshot.is_open(19));
        assert!(!Snapshot::parse("10:10:").is_open(9));
    }
}
