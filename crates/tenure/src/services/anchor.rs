//! Makes checkpoints over the chains of executions, signs them, and publishes them outside the database.

use std::future::Future;
use std::time::Duration;

use tenure_api::anchors::AnchorList;
use tenure_core::anchor::Checkpoint;
use tokio_postgres::Client;

use super::Settings;
use super::anchor_file::AnchorFile;
use crate::error::Result;
use crate::evidence::KeySource;
use crate::operations::Perform;
use crate::pool::Pool;
use crate::store::anchors::{self, anchor_add, anchor_begin, anchor_collect, anchor_published, anchor_sweep};
use crate::store::for_every_tenant;

/// How often it looks, unless told otherwise. How often a checkpoint is made is a setting: `evidence.anchor_minutes`.
pub const INTERVAL: Duration = Duration::from_secs(15);
/// Pages of events and executions in one run; what is left waits for the next.
const PAGES_MAX: usize = 100;
/// Checkpoints in one run: more than one only where more executions have changed than one has leaves for.
const CHECKPOINTS_MAX: usize = 20;
/// Checkpoints that are read at once to be published; with all their leaves each may have some 100 kB.
const PUBLISH_ROWS: i32 = 20;

/// What one run did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Checkpoints it made.
    pub made: usize,
    /// Checkpoints it wrote to the file.
    pub published: usize,
    /// Executions that differ from what a checkpoint covers.
    pub rewritten: usize,
}

/// Looks for chains that have grown, makes the checkpoints that are due, and publishes what the file does not have yet.
///
/// Any number of servers may do so: a row lock lets one of them make the next checkpoint, and each writes its own file. What
/// fails on the way to the file is noted and tried again, in order; the checkpoint stays made.
pub async fn run_once(client: &mut Client, settings: &Settings) -> Result<Counts> {
    let mut counts = Counts::default();
    let made = make(client, &settings.key, &mut counts).await;
    // Also where this server has no key: another may have made some.
    if let Some(file) = &settings.anchor_file {
        counts.published = publish(client, file).await?;
    }
    made?;
    let transaction = client.transaction().await?;
    for_every_tenant(&transaction).await?;
    anchor_sweep(&transaction).await?;
    transaction.commit().await?;
    Ok(counts)
}

async fn make(client: &mut Client, key: &KeySource, counts: &mut Counts) -> Result<()> {
    if !collect(client, counts).await? {
        return Ok(());
    }
    while counts.made < CHECKPOINTS_MAX && checkpoint(client, key, counts).await?.is_some() {
        counts.made += 1;
    }
    Ok(())
}

/// Notes which executions the next checkpoint has to cover, and answers whether it is due.
async fn collect(client: &mut Client, counts: &mut Counts) -> Result<bool> {
    let mut due = false;
    for _ in 0..PAGES_MAX {
        let transaction = client.transaction().await?;
        for_every_tenant(&transaction).await?;
        let collected = anchor_collect(&transaction).await?;
        transaction.commit().await?;
        report(&collected.rewritten, counts);
        due = collected.due;
        if !collected.more {
            break;
        }
    }
    Ok(due)
}

/// Says in the log which executions are not as they were anchored.
fn report(rewritten: &[anchors::Rewritten], counts: &mut Counts) {
    for anchors::Rewritten {
        execution_id, number, ..
    } in rewritten
    {
        tracing::error!(
            service = "anchor",
            %execution_id,
            checkpoint = number,
            "the history of an execution is not the one that a checkpoint covers: it was changed in the database"
        );
    }
    counts.rewritten += rewritten.len();
}

/// Makes the next checkpoint if it is due: leaves, root and signature in one transaction.
async fn checkpoint(client: &mut Client, key: &KeySource, counts: &mut Counts) -> Result<Option<Checkpoint>> {
    let transaction = client.transaction().await?;
    // Only now: what has nothing to sign needs no key.
    key.ensure(&transaction).await?;
    let key = key.signing_key(&transaction).await?;
    let key_id = key.public_key().id();
    for_every_tenant(&transaction).await?;
    let made = match anchor_begin(&transaction, &key_id).await? {
        Some(begun) => {
            let rewritten: Vec<anchors::Rewritten> =
                serde_json::from_value(begun.rewritten.clone()).unwrap_or_default();
            report(&rewritten, counts);
            let signature = key.sign(begun.signed.as_bytes());
            Some(anchor_add(&transaction, &begun, &key_id, &signature).await?)
        }
        None => None,
    };
    transaction.commit().await?;
    Ok(made)
}

/// Appends what the file does not have yet, in order, and notes how far it has come.
///
/// The file itself says what it has: nothing is lost or written twice, whatever happened between commit and append.
async fn publish(client: &mut Client, file: &AnchorFile) -> Result<usize> {
    let mut published = 0;
    loop {
        match publish_page(client, file).await? {
            Ok(0) => return Ok(published),
            Ok(rows) => published += rows,
            Err(error) => {
                tracing::warn!(
                    service = "anchor",
                    sink = file.sink(),
                    "checkpoints are not published: {error}"
                );
                return Ok(published);
            }
        }
    }
}

/// The row of the sink is locked meanwhile: of two servers that write to one file, one waits.
async fn publish_page(client: &mut Client, file: &AnchorFile) -> Result<std::io::Result<usize>> {
    let transaction = client.transaction().await?;
    for_every_tenant(&transaction).await?;
    let sink = file.sink();
    anchor_published(&transaction, sink, 0, Some("being written")).await?;
    let at = file.last_number();
    let after = AnchorList {
        after: Some(*at.as_ref().unwrap_or(&0)),
        heads: true,
        limit: PUBLISH_ROWS,
        ..AnchorList::default()
    };
    let page = after.perform(&transaction).await?.items;
    let last = AnchorList {
        newest: true,
        limit: 1,
        ..AnchorList::default()
    };
    let newest = last.perform(&transaction).await?.items.pop();
    let written = match at {
        Ok(at) => append(file.clone(), page, newest).await.map(|rows| (at, rows)),
        Err(error) => Err(error),
    };
    match &written {
        Ok((at, rows)) => anchor_published(&transaction, sink, at + *rows as i64, None).await?,
        Err(error) => {
            let at = file.last_number().unwrap_or_default();
            anchor_published(&transaction, sink, at, Some(&error.to_string())).await?;
        }
    }
    transaction.commit().await?;
    Ok(written.map(|(_, rows)| rows))
}

/// Waits for the disk on a thread of its own.
async fn append(file: AnchorFile, page: Vec<Checkpoint>, newest: Option<Checkpoint>) -> std::io::Result<usize> {
    let appended = tokio::task::spawn_blocking(move || file.append(&page, newest.as_ref()));
    appended.await.map_err(std::io::Error::other)?
}

/// Does so on a timer until `shutdown` is ready.
pub async fn run(pool: &Pool, settings: &Settings, interval: Duration, shutdown: impl Future<Output = ()>) {
    super::every_with(
        "anchor",
        pool,
        interval,
        shutdown,
        settings,
        async |connection, settings| {
            let counts = run_once(connection, settings).await?;
            if counts.made > 0 {
                tracing::info!(service = "anchor", ?counts, "made checkpoints");
            }
            Ok(())
        },
    )
    .await;
}
