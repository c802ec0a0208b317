//! A connection to a database, on which every call is a transaction of its own, or the way to a server, for the tenant that
//! was named.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tenure::store;
use tenure_core::codes;
use tokio_postgres::{Client, Transaction};

use super::Place;
use crate::errors::{Outcome, refuse};
use crate::output::{Output, json_of};
use crate::remote::{self, Remote, Request};

/// What a command works with.
pub(crate) struct Session {
    way: Way,
    /// Where its answer goes.
    pub(crate) out: Output,
}

enum Way {
    /// To a database.
    Sql {
        client: Client,
        tenant: Option<String>,
        principal: Option<String>,
    },
    /// To a server.
    Http(Box<Remote>),
}

impl Place {
    /// The way to the server that is named, else a connection to the database.
    pub(crate) async fn session(&self, out: Output) -> Outcome<Session> {
        match self.target()? {
            Some(target) => Ok(Session {
                way: Way::Http(Box::new(Remote::new(target, out)?)),
                out,
            }),
            None => self.database(out).await,
        }
    }

    /// A connection to the database, whatever server is named.
    pub(crate) async fn database(&self, out: Output) -> Outcome<Session> {
        self.session_at(&self.url().await?, out).await
    }

    /// Connects to a database, and refuses a schema this program cannot work with.
    pub(crate) async fn session_at(&self, url: &str, out: Output) -> Outcome<Session> {
        let (tenant, principal) = (self.tenant()?, self.principal()?);
        let client = tenure::pool::connect(url).await?;
        let status = tenure::migrate::check(&client).await?;
        status.accept()?;
        if let Some(warning) = status.warning() {
            out.warn(&warning);
        }
        let way = Way::Sql {
            client,
            tenant,
            principal,
        };
        let mut session = Session { way, out };
        session.check_tenant().await?;
        session.check_principal().await?;
        Ok(session)
    }
}

impl Session {
    /// Runs one call: the request where this is the way to a server, else the work in a transaction of its own.
    pub(crate) async fn call<T: DeserializeOwned>(
        &mut self,
        request: Request,
        work: impl AsyncFnOnce(&Transaction<'_>) -> tenure::Result<T>,
    ) -> Outcome<T> {
        match &self.way {
            Way::Http(remote) => remote.send(request).await,
            Way::Sql { .. } => self.sql(work).await,
        }
    }

    /// The same, as JSON.
    pub(crate) async fn ask<T: Serialize + DeserializeOwned>(
        &mut self,
        request: Request,
        work: impl AsyncFnOnce(&Transaction<'_>) -> tenure::Result<T>,
    ) -> Outcome<Value> {
        json_of(&self.call(request, work).await?)
    }

    /// Runs one call in the database. It is committed even when it refuses: a refusal may carry what it decided, such as the
    /// move of a job whose deadline has passed. What was raised has undone itself.
    pub(crate) async fn sql<T>(&mut self, work: impl AsyncFnOnce(&Transaction<'_>) -> tenure::Result<T>) -> Outcome<T> {
        let transaction = self.begin().await?;
        let answer = work(&transaction).await;
        transaction.commit().await.map_err(tenure::Error::from)?;
        Ok(answer?)
    }

    /// Runs one request, or several calls in the database that hold together.
    pub(crate) async fn together<T: DeserializeOwned>(
        &mut self,
        request: Request,
        work: impl AsyncFnOnce(&Transaction<'_>) -> tenure::Result<T>,
    ) -> Outcome<T> {
        match &self.way {
            Way::Http(remote) => remote.send(request).await,
            Way::Sql { .. } => self.transaction(work).await,
        }
    }

    /// Runs several calls in the database that hold together: when one refuses, none has happened.
    pub(crate) async fn transaction<T>(
        &mut self,
        work: impl AsyncFnOnce(&Transaction<'_>) -> tenure::Result<T>,
    ) -> Outcome<T> {
        let transaction = self.begin().await?;
        // Left by an error, the transaction is rolled back as it is dropped.
        let answer = work(&transaction).await?;
        transaction.commit().await.map_err(tenure::Error::from)?;
        Ok(answer)
    }

    /// A transaction for the tenant that was named.
    async fn begin(&mut self) -> Outcome<Transaction<'_>> {
        let Way::Sql {
            client,
            tenant,
            principal,
        } = &mut self.way
        else {
            return Err(remote::not_over_http("This", "It works on the database itself."));
        };
        let transaction = client.transaction().await.map_err(tenure::Error::from)?;
        if let Some(tenant) = tenant {
            store::as_tenant(&transaction, tenant, None).await?;
        }
        if let Some(principal) = principal {
            store::as_principal(&transaction, principal).await?;
        }
        Ok(transaction)
    }

    /// The server, where this is the way to one.
    pub(crate) fn remote(&self) -> Option<&Remote> {
        match &self.way {
            Way::Http(remote) => Some(remote),
            Way::Sql { .. } => None,
        }
    }

    /// What time it is by the only clock that counts.
    pub(crate) async fn now(&mut self) -> Outcome<jiff::Timestamp> {
        let now = self.call(remote::now(), async |tx| store::now(tx).await).await?;
        jiff::Timestamp::from_microsecond(now.micros()).map_err(|error| {
            refuse(
                codes::DATABASE_ERROR,
                "The database's clock is beyond reason.",
                error.to_string(),
                "Set the clock of its machine.",
            )
        })
    }

    /// A login that is not trusted to name a tenant stays in its own, silently; nobody should find out by what changed there.
    async fn check_tenant(&mut self) -> Outcome {
        let Way::Sql { tenant: Some(name), .. } = &self.way else {
            return Ok(());
        };
        let name = name.clone();
        let seen = self.sql(async |tx| store::tenants::tenant_list(tx).await).await?;
        if seen.iter().any(|tenant| tenant.name == name) {
            return Ok(());
        }
        Err(refuse(
            codes::NOT_PERMITTED,
            format!("This login cannot act in the tenant {name:?}."),
            "Only members of tenure_server name a tenant; any other login is bound to its own.",
            "Leave --tenant out, or use the login of that tenant.",
        ))
    }

    /// A login that is not trusted to name a principal stays its own, silently; nobody should find out by whom it was done.
    async fn check_principal(&mut self) -> Outcome {
        let Way::Sql {
            principal: Some(name), ..
        } = &self.way
        else {
            return Ok(());
        };
        let name = name.clone();
        let acts_as = self.sql(async |tx| store::principal(tx).await).await?;
        if acts_as == name {
            return Ok(());
        }
        Err(refuse(
            codes::NOT_PERMITTED,
            format!("This login cannot act as {name:?}."),
            format!("It is {acts_as:?}; only members of tenure_server name another."),
            "Leave --as out, or use the login of that principal.",
        ))
    }
}
