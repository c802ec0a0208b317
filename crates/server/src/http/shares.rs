//! Who may use how many of the database connections that requests have. A request that waits for a lock keeps its
//! connection, so without shares the requests for one held row could take them all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure::Pool;
use tenure::pool::Connection;
use tenure_core::codes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::problem::Problem;

/// How long a request waits for its shares and for a connection, all together.
pub(super) const CONNECTION_WAIT_MAX: Duration = Duration::from_secs(10);

/// What shares connections. A request takes them in this order, so no two wait for each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Sharer {
    /// One row of a tenant: the job with this key, or what the path names.
    Row(Arc<str>, String),
    /// One kind of jobs of a tenant.
    Kind(Arc<str>, String),
    /// One tenant, by its name.
    Tenant(Arc<str>),
}

impl Sharer {
    /// How many of this number of connections it may use at the same time; never none.
    fn share_of(&self, connections: usize) -> usize {
        let share = match self {
            Sharer::Row(..) => connections / 4,
            Sharer::Kind(..) => connections / 2,
            Sharer::Tenant(_) => connections * 3 / 4,
        };
        share.max(1)
    }

    fn name(&self) -> String {
        match self {
            Sharer::Row(_, row) => row.clone(),
            Sharer::Kind(_, kind) => format!("jobs of kind {kind:?}"),
            Sharer::Tenant(_) => "this tenant".to_owned(),
        }
    }
}

/// The shares of a pool that are in use.
pub(super) struct Shares {
    connections: usize,
    used: Arc<Used>,
}

#[derive(Default)]
struct Used(Mutex<HashMap<Sharer, Arc<Semaphore>>>);

/// A part of a share; free again when dropped.
struct Taken {
    used: Arc<Used>,
    sharer: Sharer,
    /// Never none but while it is dropped.
    permit: Option<OwnedSemaphorePermit>,
}

/// Shares that are taken until this is dropped.
pub(super) struct Hold {
    _taken: Vec<Taken>,
}

impl Used {
    fn all(&self) -> MutexGuard<'_, HashMap<Sharer, Arc<Semaphore>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shares {
    pub(super) fn new(connections: usize) -> Shares {
        Shares {
            connections,
            used: Arc::default(),
        }
    }

    /// A connection for a request of these sharers, in the order of [`Sharer`]. One whose share is used up waits in line,
    /// and is refused after [`CONNECTION_WAIT_MAX`].
    pub(super) async fn connection(&self, pool: &Pool, sharers: Vec<Sharer>) -> Result<(Connection, Hold), Problem> {
        let until = Instant::now() + CONNECTION_WAIT_MAX;
        let taken = self.take(sharers, until).await?;
        let connection = timeout_at(until, pool.get()).await;
        let connection = connection.map_err(|_| busy("All connections of the server are in use."))??;
        Ok((connection, taken))
    }

    async fn take(&self, sharers: Vec<Sharer>, until: Instant) -> Result<Hold, Problem> {
        let mut taken = Vec::with_capacity(sharers.len());
        for sharer in sharers {
            let share = sharer.share_of(self.connections);
            let free = {
                let mut used = self.used.all();
                let free = used.entry(sharer.clone());
                free.or_insert_with(|| Arc::new(Semaphore::new(share))).clone()
            };
            // Made before the wait: a request that goes away while it waits leaves nothing behind.
            let mut one = Taken {
                used: self.used.clone(),
                sharer,
                permit: None,
            };
            let Ok(permit) = timeout_at(until, free.acquire_owned()).await else {
                let (name, all) = (one.sharer.name(), self.connections);
                let why = format!("Requests for {name} use {share} of {all} connections, which is their share.");
                return Err(busy(&why));
            };
            one.permit = Some(permit.expect("it is never closed"));
            taken.push(one);
        }
        Ok(Hold { _taken: taken })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut used = self.used.all();
        drop(self.permit.take());
        // The map's own is the last: no request uses it, or waits for it.
        if used.get(&self.sharer).is_some_and(|free| Arc::strong_count(free) == 1) {
            used.remove(&self.sharer);
        }
    }
}

fn busy(why: &str) -> Problem {
    Problem::new(
        codes::BUSY_TRY_AGAIN,
        format!(
            "No database connection became free within {} seconds.",
            CONNECTION_WAIT_MAX.as_secs()
        ),
        why,
        "Try again.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> Sharer {
        Sharer::Tenant(name.into())
    }

    fn row(tenant: &str, name: &str) -> Sharer {
        Sharer::Row(tenant.into(), name.to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_used_its_share_waits_in_line_and_others_pass() {
        let shares = Shares::new(4);
        let until = || Instant::now() + CONNECTION_WAIT_MAX;
        let first = shares
            .take(vec![row("a", "x"), tenant("a")], until())
            .await
            .expect("the first");
        let refused = shares
            .take(vec![row("a", "x"), tenant("a")], until())
            .await
            .err()
            .expect("a refusal");
        assert!(refused.is(codes::BUSY_TRY_AGAIN));
        let second = shares
            .take(vec![row("a", "y"), tenant("a")], until())
            .await
            .expect("another row");
        let third = shares.take(vec![tenant("a")], until()).await.expect("three of four");
        assert!(
            shares.take(vec![tenant("a")], until()).await.is_err(),
            "the tenant's share is used up"
        );
        let other = shares
            .take(vec![row("b", "x"), tenant("b")], until())
            .await
            .expect("another tenant");
        let next = shares.take(vec![row("a", "x"), tenant("a")], until());
        let leave = async { drop(first) };
        let (next, ()) = tokio::join!(next, leave);
        let next = next.expect("the line moves on");
        drop((second, third, other, next));
        assert!(shares.used.all().is_empty(), "a share that is not in use is not kept");
    }

    #[test]
    fn a_share_is_never_empty_and_a_larger_one_holds_a_smaller_one() {
        for connections in 1..50 {
            let row = row("a", "x").share_of(connections);
            let kind = Sharer::Kind("a".into(), String::new()).share_of(connections);
            let tenant = tenant("a").share_of(connections);
            assert!(1 <= row && row <= kind && kind <= tenant && tenant <= connections);
            assert!(connections < 4 || (row < kind && kind < tenant && tenant < connections));
        }
    }
}
