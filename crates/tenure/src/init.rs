//! From an empty database to one that works, for programs that embed Tenure.

use tenure_api::settings::{ConfigList, GatePosition, GateSet};

use crate::error::Result;
use crate::migrate::{Report, migrate};
use crate::operations::call;
use crate::pool::Pool;
use crate::store::for_every_tenant;

/// Migrates the database of this pool and opens every gate that is closed, as `tenure init` does (but for the first API
/// key). A database that is ready is left as it is, so a program may call it at every start.
///
/// ```
/// # use tenure_cluster::testing::TestDatabase;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> anyhow::Result<()> {
/// # let database = TestDatabase::empty().await?;
/// # let url = database.url();
/// use tenure::{Client, NewJob, Pool};
///
/// let pool = Pool::new(url, &Default::default())?;
/// tenure::init(&pool).await?;
/// let client = Client::new(pool);
/// client.enqueue(&NewJob::of("hello", &serde_json::json!({"name": "world"}))?).await?;
/// # Ok(())
/// # }
/// ```
///
/// Needs what [`migrate`] needs, and a login that is trusted with the whole installation: the one that migrates is. Open
/// gates let work run at once, so a program whose operator opens them deliberately calls [`migrate`] alone.
pub async fn init(pool: &Pool) -> Result<Report> {
    let mut connection = pool.get().await?;
    let report = migrate(&mut connection, &Default::default()).await?;
    let transaction = connection.transaction().await?;
    for_every_tenant(&transaction).await?;
    let entries = call(&transaction, &ConfigList {}).await?.items;
    // An open gate stays as it is: a change is an event, and this would be none.
    for gate in entries
        .into_iter()
        .filter(|entry| entry.is_gate && entry.value.0 != true)
    {
        let open = GateSet {
            key: gate.key,
            position: GatePosition::Open,
            on_behalf_of: None,
        };
        call(&transaction, &open).await?;
    }
    transaction.commit().await?;
    Ok(report)
}
