//! A connection to a database, on which every call is a transaction of its own, or the way to a server, for the tenant that
//! was named.

use serde_json::Value;
use tenure::operations::Perform;
use tenure::store;
use tenure_api::health::Now;
use tenure_api::tenants::TenantList;
use tenure_api::{Operation, Page, page};
use tenure_core::codes;
use tokio_postgres::{Client, Transaction};

use super::Place;
use crate::errors::{Outcome, refuse};
use crate::output::{Output, json_of};
use crate::remote::{self, Remote};

/// The rows of a page where the whole list is wanted: the most that a page may have.
pub(crate) const ROWS_MAX: i32 = 1000;

/// What a command works with.
pub(crate) struct Session {
    way: Way,
    /// Where its answer goes.
    pub(crate) out: Output,
}

enum Way {
    /// To a database.
    Sql {
        client: Box<Client>,
        tenant: Option<String>,
        principal: Option<String>,
        /// It acts for all tenants, whichever was named.
        every_tenant: bool,
    },
    /// To a server.
    Http(Box<Remote>),
}

/// The tenant that an operation is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// That of the session.
    Session,
    /// The whole installation.
    Installation,
    /// This one.
    Tenant(&'a str),
}

impl Scope<'_> {
    /// The whole installation, if it is asked for.
    pub(crate) fn of(installation: bool) -> Scope<'static> {
        if installation {
            Scope::Installation
        } else {
            Scope::Session
        }
    }

    /// The rest of the transaction is for it.
    pub(crate) async fn enter(self, tx: &Transaction<'_>) -> tenure::Result<()> {
        match self {
            Scope::Session => Ok(()),
            Scope::Installation => store::for_every_tenant(tx).await,
            Scope::Tenant(name) => store::as_tenant(tx, name, None).await,
        }
    }
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
            client: Box::new(client),
            tenant,
            principal,
            every_tenant: false,
        };
        let mut session = Session { way, out };
        session.check_tenant().await?;
        session.check_principal().await?;
        Ok(session)
    }
}

impl Session {
    /// Carries an operation out, on the server or in the database. Answers what the type knows, and everything that came: a newer
    /// server may send more.
    pub(crate) async fn perform<O: Perform>(&mut self, operation: &O) -> Outcome<(O::Answer, Value)> {
        self.perform_in(Scope::Session, operation).await
    }

    /// The same, for another tenant or for the whole installation.
    pub(crate) async fn perform_in<O: Perform>(
        &mut self,
        scope: Scope<'_>,
        operation: &O,
    ) -> Outcome<(O::Answer, Value)> {
        if let Way::Http(remote) = &self.way {
            return remote.perform(scope, operation).await;
        }
        let work = async |tx: &Transaction<'_>| {
            scope.enter(tx).await?;
            operation.perform(tx).await
        };
        let answer = match O::CALLS_SEVERAL {
            false => self.sql(work).await?,
            true => self.transaction(work).await?,
        };
        let whole = json_of(&answer)?;
        Ok((answer, whole))
    }

    /// Acts for all tenants from now on. A caller that is not trusted with that is refused.
    pub(crate) fn for_every_tenant(&mut self) {
        match &mut self.way {
            Way::Http(remote) => remote.for_every_tenant(),
            Way::Sql { every_tenant, .. } => *every_tenant = true,
        }
    }

    /// Every item of a list, page by page.
    pub(crate) async fn all_in<O, T>(&mut self, scope: Scope<'_>, list: O) -> Outcome<Vec<T>>
    where
        O: Perform + Operation<Answer = Page<T>>,
    {
        let (mut items, mut question) = (Vec::new(), Some(list));
        while let Some(list) = question {
            let (found, _) = self.perform_in(scope, &list).await?;
            items.extend(found.items);
            question = found.next.and_then(|cursor| page::following(&list, cursor));
        }
        Ok(items)
    }

    /// Runs one call in the database. It is committed even when it refuses: a refusal may carry what it decided, such as the
    /// move of a job whose deadline has passed. What was raised has undone itself.
    pub(crate) async fn sql<T>(&mut self, work: impl AsyncFnOnce(&Transaction<'_>) -> tenure::Result<T>) -> Outcome<T> {
        let transaction = self.begin().await?;
        let answer = work(&transaction).await;
        transaction.commit().await.map_err(tenure::Error::from)?;
        Ok(answer?)
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
            every_tenant,
        } = &mut self.way
        else {
            return Err(remote::not_over_http("This", "It works on the database itself."));
        };
        let transaction = client.transaction().await.map_err(tenure::Error::from)?;
        if *every_tenant {
            store::for_every_tenant(&transaction).await?;
        } else if let Some(tenant) = tenant {
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
        let (clock, _) = self.perform(&Now {}).await?;
        jiff::Timestamp::from_microsecond(clock.now.micros()).map_err(|error| {
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
        let list = TenantList {
            cursor: None,
            limit: ROWS_MAX,
        };
        let seen = self.all_in(Scope::Session, list).await?;
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
