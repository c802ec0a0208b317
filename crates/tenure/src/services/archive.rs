//! Archives executions whose retention is over: their evidence is signed and kept, their rows go.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::codes;
use tenure_core::evidence::{SecretKey, sign, verify};
use tokio_postgres::Client;
use uuid::Uuid;

use super::Settings;
use crate::error::Result;
use crate::evidence::KeySource;
use crate::pool::Pool;
use crate::store::evidence::{Due, execution_archive, execution_archive_due, execution_evidence};
use crate::store::{as_tenant, for_every_tenant};

/// How often the archive looks, unless told otherwise.
pub const INTERVAL: Duration = Duration::from_secs(60);
/// Executions that are asked for at once; each is a transaction of its own.
const BATCH_ROWS_MAX: i32 = 10;
/// Executions in one run; what is left waits for the next.
const EXECUTIONS_MAX: usize = 500;

/// What one run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Executions it archived.
    pub archived: usize,
    /// Executions whose evidence does not verify: their rows stay, for whoever looks into it.
    pub doubtful: usize,
}

/// What became of one execution.
enum End {
    Archived,
    /// Its evidence does not verify.
    Doubtful,
    /// Another server has it, or somebody at work on it.
    Elsewhere,
}

/// Archives what is due, one execution at a time, as far as a bounded number of them goes, with the key of the database.
pub async fn run_once(client: &mut Client) -> Result<Counts> {
    run_once_with(client, &KeySource::default()).await
}

/// The same, with this key.
pub async fn run_once_with(client: &mut Client, source: &KeySource) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut left: Vec<Uuid> = Vec::new();
    let mut key = None;
    while counts.archived + left.len() < EXECUTIONS_MAX {
        // Those that were left are due still, and must not keep the others waiting.
        let mut due = due(client, BATCH_ROWS_MAX + left.len() as i32).await?;
        due.retain(|due| !left.contains(&due.execution_id));
        if due.is_empty() {
            break;
        }
        let key = match &key {
            Some(key) => key,
            None => key.insert(signing_key(client, source).await?),
        };
        for due in &due {
            match archive(client, due, key).await? {
                End::Archived => counts.archived += 1,
                End::Doubtful => {
                    counts.doubtful += 1;
                    left.push(due.execution_id);
                }
                End::Elsewhere => left.push(due.execution_id),
            }
        }
    }
    Ok(counts)
}

async fn due(client: &mut Client, limit: i32) -> Result<Vec<Due>> {
    let transaction = client.transaction().await?;
    for_every_tenant(&transaction).await?;
    let due = execution_archive_due(&transaction, limit).await?;
    transaction.commit().await?;
    Ok(due)
}

async fn signing_key(client: &mut Client, source: &KeySource) -> Result<Arc<SecretKey>> {
    let transaction = client.transaction().await?;
    source.ensure(&transaction).await?;
    let key = source.signing_key(&transaction).await?;
    transaction.commit().await?;
    Ok(key)
}

/// Archives one execution. Not if its evidence does not verify: what would be removed is what somebody has to look into.
async fn archive(client: &mut Client, due: &Due, key: &SecretKey) -> Result<End> {
    let Due { tenant, execution_id } = due;
    let transaction = client.transaction().await?;
    as_tenant(&transaction, tenant, None).await?;
    let lines = match execution_evidence(&transaction, *execution_id).await {
        Err(error) if error.is(codes::EXECUTION_UNKNOWN) => return Ok(End::Elsewhere),
        lines => lines?,
    };
    let file = sign(&lines, key);
    if let Err(findings) = verify(file.as_bytes(), &key.public_key()) {
        let finding = findings.first().map(ToString::to_string).unwrap_or_default();
        tracing::error!(
            service = "archive",
            tenant,
            %execution_id,
            findings = findings.len(),
            finding,
            "the evidence of an execution does not hold together: it stays where it is"
        );
        return Ok(End::Doubtful);
    }
    match execution_archive(&transaction, *execution_id, &file).await {
        Err(error)
            if error.is(codes::EXECUTION_UNKNOWN)
                || error.is(codes::STATE_CONFLICT)
                || error.is(codes::BUSY_TRY_AGAIN) =>
        {
            return Ok(End::Elsewhere);
        }
        done => done.map(drop)?,
    }
    transaction.commit().await?;
    Ok(End::Archived)
}

/// Archives on a timer until `shutdown` is ready.
pub async fn run(pool: &Pool, settings: &Settings, interval: Duration, shutdown: impl Future<Output = ()>) {
    super::every_with(
        "archive",
        pool,
        interval,
        shutdown,
        settings,
        async |connection, settings| {
            let counts = run_once_with(connection, &settings.key).await?;
            if counts.archived > 0 {
                tracing::info!(service = "archive", ?counts, "archived");
            }
            Ok(())
        },
    )
    .await;
}
