//! A request's call to the database, as the one who asks.

use tenure::Result;
use tenure::pool::Connection;
use tenure::store::principals::{self, Acted, Acting};
use tokio_postgres::Client;
use tracing::Span;

use super::Server;
use super::auth::Caller;
use super::problem::Problem;

impl Server {
    /// Makes one call to one SQL function, in a transaction that acts for the caller: in its tenant and with its rights,
    /// which the database looks up. Nothing is asked before it is known that it does.
    pub(super) async fn call<T>(
        &self,
        caller: &Caller,
        function: &str,
        work: impl AsyncFnOnce(&Client) -> Result<T>,
    ) -> Result<T, Problem> {
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
        let lent = self.begin(caller, function).await?;
        let client = lent.client();
        let done = work(client).await;
        client.batch_execute("commit").await.map_err(tenure::Error::from)?;
        lent.back();
        self.keys.note(caller.key_id);
        Ok(done?)
    }

    /// A connection with a transaction that acts for the caller, if the caller may call this function.
    async fn begin(&self, caller: &Caller, function: &str) -> Result<Lent, Problem> {
        let lent = Lent::of(self.pool.get().await?);
        let client = lent.client();
        let acting = caller.acting(function);
        let (begun, known) = tokio::join!(biased; client.batch_execute("begin"), principals::act_as(client, &acting));
        begun.map_err(tenure::Error::from)?;
        match known {
            Ok(acted) => note(acted),
            Err(error) => {
                client.batch_execute("rollback").await.map_err(tenure::Error::from)?;
                lent.back();
                return Err(error.into());
            }
        }
        Ok(lent)
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

/// A connection of the pool. Whoever goes away in the middle leaves a transaction behind that is nobody else's: then it is
/// closed instead of given back.
pub(super) struct Lent(Option<Connection>);

impl Lent {
    pub(super) fn of(connection: Connection) -> Lent {
        Lent(Some(connection))
    }

    fn client(&self) -> &Client {
        self.0.as_deref().expect("it is here until it goes back")
    }

    pub(super) fn client_mut(&mut self) -> &mut Client {
        self.0.as_deref_mut().expect("it is here until it goes back")
    }

    /// All that was asked on it was answered.
    pub(super) fn back(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            connection.discard();
        }
    }
}

impl Caller {
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
