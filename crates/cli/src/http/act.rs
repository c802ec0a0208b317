//! A request's call to the database, as the one who asks.

use tenure::Result;
use tenure::store::principals::{self, Acting};
use tokio_postgres::Client;

use super::Server;
use super::auth::Caller;
use super::problem::Problem;

impl Server {
    /// Makes one call to one SQL function, in a transaction that acts for the caller: in its tenant and with its rights,
    /// which the database looks up. All of it goes out at once and comes back at once.
    pub(super) async fn call<T>(
        &self,
        caller: &Caller,
        function: &str,
        work: impl AsyncFnOnce(&Client) -> Result<T>,
    ) -> Result<T, Problem> {
        let connection = self.pool.get().await?;
        let client: &Client = &connection;
        let acting = caller.acting(function);
        // Each is sent when it is first asked for, in this order, and all of them before the first answer: whoever drops
        // this future drops no part of the transaction.
        let (begun, known, done, committed) = tokio::join!(
            biased;
            client.batch_execute("begin"),
            principals::act_as(client, &acting),
            work(client),
            client.batch_execute("commit"),
        );
        begun.map_err(tenure::Error::from)?;
        known?;
        let done = done?;
        committed.map_err(tenure::Error::from)?;
        Ok(done)
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
