//! For whom a transaction acts.

use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Transaction};

use crate::error::Result;

/// Acts for this tenant, and as this principal if one is named, until the transaction ends. Only superusers and members
/// of `tenure_server` are believed; any other login stays bound to its own tenant and principal.
pub async fn as_tenant(transaction: &Transaction<'_>, tenant: &str, principal: Option<&str>) -> Result<()> {
    set(transaction, "tenure.tenant", tenant).await?;
    match principal {
        Some(principal) => set(transaction, "tenure.principal", principal).await,
        None => Ok(()),
    }
}

/// Acts for every tenant at once until the transaction ends: for services, and for what holds for the installation.
pub async fn for_every_tenant(transaction: &Transaction<'_>) -> Result<()> {
    set(transaction, "tenure.tenant", "*").await
}

/// Local to the transaction: behind a pool or PgBouncer the next one belongs to somebody else.
async fn set(client: &impl GenericClient, name: &str, value: &str) -> Result<()> {
    let statement = "select pg_catalog.set_config($1, $2, true)";
    client
        .query_typed(statement, &[(&name, Type::TEXT), (&value, Type::TEXT)])
        .await?;
    Ok(())
}
