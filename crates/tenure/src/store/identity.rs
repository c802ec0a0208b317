//! For whom a transaction acts.

use tenure_core::{Refusal, codes};
use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Transaction};

use super::Timestamp;
use crate::error::{Error, Result};

/// Acts for this tenant, and as this principal if one is named, until the transaction ends. Only members of
/// `tenure_server`, and who can act as the owner, are believed; any other login stays bound to its own tenant and principal.
pub async fn as_tenant(transaction: &Transaction<'_>, tenant: &str, principal: Option<&str>) -> Result<()> {
    set(transaction, "tenure.tenant", tenant).await?;
    match principal {
        Some(principal) => as_principal(transaction, principal).await,
        None => Ok(()),
    }
}

/// Acts as this principal until the transaction ends. Only members of `tenure_server`, and who can act as the owner, are
/// believed; [`principal`] tells whether it was.
pub async fn as_principal(transaction: &Transaction<'_>, principal: &str) -> Result<()> {
    set(transaction, "tenure.principal", principal).await
}

/// As whom the transaction acts.
pub async fn principal(client: &impl GenericClient) -> Result<String> {
    let row = client
        .query_typed_one("select principal from tenure.caller()", &[])
        .await?;
    Ok(row.get(0))
}

/// Acts for every tenant at once until the transaction ends: for services, and for what holds for the installation.
/// A login that is not trusted with that is refused: it would stay in its own tenant and believe it had done the others.
pub async fn for_every_tenant(transaction: &Transaction<'_>) -> Result<()> {
    set(transaction, "tenure.tenant", "*").await?;
    let row = transaction
        .query_typed_one("select tenure.is_every_tenant()", &[])
        .await?;
    if row.get(0) {
        return Ok(());
    }
    Err(Error::Refused(Refusal::new(
        codes::NOT_PERMITTED,
        "This login cannot act for every tenant.",
        "Only members of tenure_server, and who can act as the owner, are trusted beyond their own tenant.",
        "Use such a login, or grant it: grant tenure_server to LOGIN.",
    )))
}

/// What time it is by the only clock that counts.
pub async fn now(client: &impl GenericClient) -> Result<Timestamp> {
    let row = client.query_typed_one("select tenure.now()", &[]).await?;
    Ok(row.get(0))
}

/// Local to the transaction: behind a pool or PgBouncer the next one belongs to somebody else.
async fn set(client: &impl GenericClient, name: &str, value: &str) -> Result<()> {
    let statement = "select pg_catalog.set_config($1, $2, true)";
    client
        .query_typed(statement, &[(&name, Type::TEXT), (&value, Type::TEXT)])
        .await?;
    Ok(())
}
