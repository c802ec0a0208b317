//! A connection on which every call is a transaction of its own, for the tenant that was named.

use serde::Serialize;
use serde_json::Value;
use tenure::store;
use tenure_core::codes;
use tokio_postgres::{Client, Transaction};

use super::Place;
use crate::errors::{Outcome, refuse};
use crate::output::{Output, json_of};

/// What a command works with.
pub(crate) struct Session {
    client: Client,
    tenant: Option<String>,
    /// Where its answer goes.
    pub(crate) out: Output,
}

impl Place {
    /// Connects, and refuses a schema this program cannot work with.
    pub(crate) async fn session(&self, out: Output) -> Outcome<Session> {
        self.session_at(&self.url().await?, out).await
    }

    /// The same, where the URL is known already.
    pub(crate) async fn session_at(&self, url: &str, out: Output) -> Outcome<Session> {
        let tenant = self.tenant()?;
        let client = tenure::pool::connect(url).await?;
        let status = tenure::migrate::check(&client).await?;
        status.accept()?;
        if let Some(warning) = status.warning() {
            out.warn(&warning);
        }
        let mut session = Session { client, tenant, out };
        session.check_tenant().await?;
        Ok(session)
    }
}

impl Session {
    /// Runs one call. It is committed even when it refuses: a refusal may carry what it decided, such as the move of a
    /// job whose deadline has passed. What was raised has undone itself.
    pub(crate) async fn call<T>(
        &mut self,
        work: impl AsyncFnOnce(&Transaction<'_>) -> tenure::Result<T>,
    ) -> Outcome<T> {
        let transaction = self.client.transaction().await.map_err(tenure::Error::from)?;
        if let Some(tenant) = &self.tenant {
            store::as_tenant(&transaction, tenant, None).await?;
        }
        let answer = work(&transaction).await;
        transaction.commit().await.map_err(tenure::Error::from)?;
        Ok(answer?)
    }

    /// Runs several calls that hold together: when one refuses, none has happened.
    pub(crate) async fn together<T>(
        &mut self,
        work: impl AsyncFnOnce(&Transaction<'_>) -> tenure::Result<T>,
    ) -> Outcome<T> {
        let transaction = self.client.transaction().await.map_err(tenure::Error::from)?;
        if let Some(tenant) = &self.tenant {
            store::as_tenant(&transaction, tenant, None).await?;
        }
        // Left by an error, the transaction is rolled back as it is dropped.
        let answer = work(&transaction).await?;
        transaction.commit().await.map_err(tenure::Error::from)?;
        Ok(answer)
    }

    /// The same, as JSON.
    pub(crate) async fn ask<T: Serialize>(
        &mut self,
        work: impl AsyncFnOnce(&Transaction<'_>) -> tenure::Result<T>,
    ) -> Outcome<Value> {
        json_of(&self.call(work).await?)
    }

    /// What time it is by the only clock that counts.
    pub(crate) async fn now(&mut self) -> Outcome<jiff::Timestamp> {
        let now = self.call(async |tx| store::now(tx).await).await?;
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
        let Some(name) = self.tenant.clone() else {
            return Ok(());
        };
        let seen = self.call(async |tx| store::tenants::tenant_list(tx).await).await?;
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
}
