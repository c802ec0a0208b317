//! A request's call to the database, as the one who asks.

use tenure::Result;
use tenure::pool::Connection;
use tenure::store::principals::{self, Acted, Acting};
use tokio_postgres::Client;
use tracing::Span;

use super::Server;
use super::auth::Caller;
use super::problem::Problem;
use super::shares::{Hold, Sharer};

impl Server {
    /// Makes one call to one SQL function, in a transaction that acts for the caller: in its tenant and with its rights,
    /// which the database looks up. Nothing is asked before it is known that it does.
    pub(super) async fn call<T>(
        &self,
        caller: &Caller,
        function: &str,
        work: impl AsyncFnOnce(&Client) -> Result<T>,
    ) -> Result<T, Problem> {
        if let Some(keyed) = &caller.keyed {
            return self.call_once(keyed, caller, function, work).await;
        }
        let lent = self.begin(caller, function).await?;
        let client = lent.client();
        let (done, committed) = tokio::join!(biased; work(client), client.batch_execute("commit"));
        committed.map_err(tenure::Error::from)?;
        lent.back();
        self.keys.note(caller.key_id);
        Ok(done?)
    }

    /// Makes several calls, in one transaction that acts for the caller. [`Server::call`] is quicker, but sends the end of the
    /// transaction right behind the first statement.
    pub(super) async fn calls<T>(
        &self,
        caller: &Caller,
        function: &str,
        work: impl AsyncFnOnce(&Client) -> Result<T>,
    ) -> Result<T, Problem> {
        match &caller.keyed {
            Some(keyed) => self.call_once(keyed, caller, function, work).await,
            None => self.calls_apart(caller, function, work).await,
        }
    }

    /// [`Server::calls`] in a transaction of its own, whether or not the request has a key.
    pub(super) async fn calls_apart<T>(
        &self,
        caller: &Caller,
        function: &str,
        work: impl AsyncFnOnce(&Client) -> Result<T>,
    ) -> Result<T, Problem> {
        let lent = self.begin(caller, function).await?;
        let done = work(lent.client()).await;
        lent.commit().await?;
        self.keys.note(caller.key_id);
        Ok(done?)
    }

    /// A connection with a transaction that acts for the caller, if the caller may call this function.
    pub(super) async fn begin(&self, caller: &Caller, function: &str) -> Result<Lent, Problem> {
        let lent = match caller.is_health_check {
            true => Lent::of(self.health.get().await?),
            false => {
                let (connection, share) = self.shares.connection(&self.pool, caller.sharers()).await?;
                Lent {
                    connection: Some(connection),
                    share: Some(share),
                }
            }
        };
        let client = lent.client();
        let acting = caller.acting(function);
        let (begun, known) =
            tokio::join!(biased; client.batch_execute("begin"), principals::act_for_key(client, &acting));
        begun.map_err(tenure::Error::from)?;
        match known {
            Ok(acted) => note(acted),
            Err(error) => {
                lent.roll_back().await?;
                return Err(error.into());
            }
        }
        Ok(lent)
    }

    /// The same transaction, if the caller may also call this function.
    pub(super) async fn act(&self, lent: Lent, caller: &Caller, function: &str) -> Result<Lent, Problem> {
        match principals::act_for_key(lent.client(), &caller.acting(function)).await {
            Ok(_) => Ok(lent),
            Err(error) => {
                lent.roll_back().await?;
                Err(error.into())
            }
        }
    }
}

/// For whom we act, for the span of the request.
fn note(acted: Option<Acted>) {
    let Some(Acted { tenant, principal, .. }) = acted else {
        return;
    };
    let span = Span::current();
    span.record("tenure.tenant", tenant)
        .record("tenure.principal", principal);
}

/// A connection of the pool. A client that goes away in the middle leaves a transaction behind, and a backend that may wait
/// for a lock: both end before the connection and its share are free again.
pub(super) struct Lent {
    connection: Option<Connection>,
    /// What it is taken from, until it goes back.
    share: Option<Hold>,
}

impl Lent {
    pub(super) fn of(connection: Connection) -> Lent {
        Lent {
            connection: Some(connection),
            share: None,
        }
    }

    pub(super) fn client(&self) -> &Client {
        self.connection.as_deref().expect("it is here until it goes back")
    }

    pub(super) fn client_mut(&mut self) -> &mut Client {
        self.connection.as_deref_mut().expect("it is here until it goes back")
    }

    /// Commits its transaction, and gives it back. One that has failed is rolled back by that.
    pub(super) async fn commit(self) -> Result<(), Problem> {
        self.finish("commit").await
    }

    pub(super) async fn roll_back(self) -> Result<(), Problem> {
        self.finish("rollback").await
    }

    async fn finish(self, how: &str) -> Result<(), Problem> {
        let ended = self.client().batch_execute(how).await;
        ended.map_err(tenure::Error::from)?;
        self.back();
        Ok(())
    }

    /// All that was asked on it was answered.
    pub(super) fn back(mut self) {
        drop(self.connection.take());
        drop(self.share.take());
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        let share = self.share.take();
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move {
                connection.recover().await;
                drop(share);
            })),
            Err(_) => connection.discard(),
        }
    }
}

impl Caller {
    /// Whose shares of the connections it takes, in the order in which they are taken.
    fn sharers(&self) -> Vec<Sharer> {
        let row = self.row.clone().map(|row| Sharer::Row(self.home.clone(), row));
        let kind = self.kind.clone().map(|kind| Sharer::Kind(self.home.clone(), kind));
        let tenant = Sharer::Tenant(self.home.clone());
        row.into_iter().chain(kind).chain([tenant]).collect()
    }

    fn acting<'a>(&'a self, function: &'a str) -> Acting<'a> {
        Acting {
            key_id: self.key_id,
            function,
            tenant: self.tenant.as_deref(),
            via: &self.via,
            traceparent: self.traceparent.as_deref(),
        }
    }
}
