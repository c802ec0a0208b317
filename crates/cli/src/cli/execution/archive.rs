//! `tenure execution list --archived`.

use serde_json::Value;
use tenure::store::archives::{self, ArchiveFilter};

use crate::connect::Session;
use crate::errors::Outcome;
use crate::output::{Column, json_of};
use crate::remote;

const LIST: &[Column] = &[
    Column("EXECUTION", "execution_id"),
    Column("STATE", "state"),
    Column("PURPOSE", "purpose_note"),
    Column("BY", "requested_by"),
    Column("CORRELATION", "correlation_id"),
    Column("ENDED", "ended_at"),
    Column("ARCHIVED", "archived_at"),
];

/// Lists archived executions, those that ended last first.
pub(super) async fn list(mut session: Session, filter: &ArchiveFilter) -> Outcome {
    let found = session
        .call(remote::execution_archive_list(filter), async |tx| {
            archives::execution_archive_list(tx, filter).await
        })
        .await?;
    let mut rows: Vec<Value> = found.iter().map(json_of).collect::<Result<_, _>>()?;
    if session.out.format == crate::output::Format::People {
        for row in &mut rows {
            row["purpose_note"] = row["purpose"].clone();
        }
    }
    let empty = "No archived execution matches. `tenure execution list` shows those that are not archived yet.";
    session.out.list(LIST, &rows, &["execution_id"], empty)?;
    let full = |limit: i32| usize::try_from(limit).is_ok_and(|limit| found.len() >= limit);
    if let Some(last) = found.last().filter(|_| filter.limit.is_some_and(full)) {
        session
            .out
            .note(&format!("There may be more: --before {}", last.execution_id));
    }
    Ok(())
}
