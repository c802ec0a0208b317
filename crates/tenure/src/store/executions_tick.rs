//! What happens to executions by itself, one round at a time.

use tokio_postgres::GenericClient;

use super::call::Call;
use crate::error::Result;

/// What one round of the tick did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
pub struct Ticked {
    /// Ends of steps that were followed up late.
    pub followed: i64,
    /// Freed targets that were handed on late.
    pub handed_over: i64,
    /// Locks taken by hand that expired.
    pub expired_locks: i64,
    /// Executions that were looked at, and nothing had to be done.
    pub looked: i64,
    /// Executions that started: their window opened, or a freeze was lifted.
    pub started: i64,
    /// Approvals that expired.
    pub expired: i64,
    /// Approvals that were escalated.
    pub escalated: i64,
    /// Executions that took too long.
    pub timed_out: i64,
}

impl Ticked {
    /// How many rows it touched, of all sorts.
    pub fn rows(&self) -> i64 {
        self.followed
            + self.handed_over
            + self.expired_locks
            + self.looked
            + self.started
            + self.expired
            + self.escalated
            + self.timed_out
    }
}

impl std::ops::Add for Ticked {
    type Output = Ticked;

    fn add(self, other: Ticked) -> Ticked {
        Ticked {
            followed: self.followed + other.followed,
            handed_over: self.handed_over + other.handed_over,
            expired_locks: self.expired_locks + other.expired_locks,
            looked: self.looked + other.looked,
            started: self.started + other.started,
            expired: self.expired + other.expired,
            escalated: self.escalated + other.escalated,
            timed_out: self.timed_out + other.timed_out,
        }
    }
}

/// Does what is due by itself, at most `limit` of each sort (`tenure.execution_tick`).
pub async fn execution_tick(client: &impl GenericClient, limit: i32) -> Result<Ticked> {
    Call::new("execution_tick").with("p_limit", &limit).read(client).await
}
