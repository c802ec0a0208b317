//! A request's call to the database, as the one who asks.

use tenure::Result;
use tenure::pool::Connection;
use tenure::store::principals::{self, Acting};
use tokio_postgres::Client;

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
        let lent = Lent(Some(self.pool.get().await?));
        let client = lent.client();
        let acting = caller.acting(function);
        let (begun, known) = tokio::join!(biased; client.batch_execute("begin"), principals::act_as(client, &acting));
        begun.map_err(tenure::Error::from)?;
        if let Err(error) = known {
            client.batch_execute("rollback").await.map_err(tenure::Error::from)?;
            lent.back();
            return Err(error.into());
        }
        let (done, committed) = tokio::join!(biased; work(client), client.batch_execute("commit"));
        committed.map_err(tenure::Error::from)?;
        lent.back();
        self.keys.note(caller.key_id);
        Ok(done?)
    }
}

/// A connection of the pool. Whoever goes away in the middle leaves a transaction behind that is nobody else's: then it is
/// closed instead of given back.
struct Lent(Option<Connection>);

impl Lent {
    fn client(&self) -> &Client {
        self.0.as_deref().expect("it is here until it goes back")
    }

    /// All that was asked on it was answered.
    fn back(mut self) {
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
        }
    }
}
