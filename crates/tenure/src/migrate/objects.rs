//! Functions and views: replaced in place where that is possible, made anew where it is not.

use std::collections::BTreeSet;

use tokio_postgres::Transaction;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use super::run::{Stop, at, run, run_file};
use super::source::SOURCE;

/// Functions of the schema that are ours, with the transaction that wrote each last.
const FUNCTIONS: &str = "select p.oid::bigint, p.proname::text, p.xmin::text, pg_catalog.format('tenure.%I(%s)', p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid))
  from pg_catalog.pg_proc p
 where p.pronamespace = 'tenure'::pg_catalog.regnamespace and p.proowner = 'tenure_owner'::pg_catalog.regrole and p.prokind <> 'a'
 order by 4";

const VIEWS: &str = "select c.relname::text
  from pg_catalog.pg_class c
 where c.relnamespace = 'tenure'::pg_catalog.regnamespace and c.relowner = 'tenure_owner'::pg_catalog.regrole and c.relkind = 'v'
 order by 1";

struct Function {
    oid: i64,
    name: String,
    written_by: String,
    signature: String,
}

/// Replaces a function without a look at its body, which may name what is made later.
pub(super) const UNCHECKED: &str = "set local check_function_bodies = off";

/// Applies the functions that migrations need before they run.
pub(super) async fn apply_structure(transaction: &Transaction<'_>) -> Result<(), Stop> {
    run(transaction, "settings", UNCHECKED).await?;
    for file in &SOURCE.structure {
        run_file(transaction, *file).await?;
    }
    Ok(())
}

/// Applies functions, views and grants, and answers which older ones were dropped.
pub(super) async fn apply(transaction: &Transaction<'_>) -> Result<Vec<String>, Stop> {
    run(transaction, "settings", UNCHECKED).await?;
    let before = functions(transaction).await?;
    run(transaction, "savepoint", "savepoint objects").await?;
    let dropped = match replace(transaction, &before).await {
        Err(Stop::Sql { error, .. }) if is_changed_shape(&error) => {
            run(transaction, "savepoint", "rollback to savepoint objects").await?;
            drop_by_manifest(transaction, &before).await?;
            replace(transaction, &before).await?
        }
        other => other?,
    };
    for file in SOURCE.grants {
        run_file(transaction, file).await?;
    }
    Ok(dropped)
}

/// Whether the new text cannot replace the old object, or an old overload stands beside it.
fn is_changed_shape(error: &tokio_postgres::Error) -> bool {
    [
        SqlState::INVALID_FUNCTION_DEFINITION,
        SqlState::INVALID_TABLE_DEFINITION,
        SqlState::AMBIGUOUS_FUNCTION,
        SqlState::WRONG_OBJECT_TYPE,
        SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
    ]
    .iter()
    .any(|state| error.code() == Some(state))
}

async fn replace(transaction: &Transaction<'_>, before: &[Function]) -> Result<Vec<String>, Stop> {
    for file in &SOURCE.objects {
        run_file(transaction, *file).await?;
    }
    drop_stale(transaction, before).await
}

/// Drops what stood before and no file makes any more: views by name, functions by signature.
async fn drop_stale(transaction: &Transaction<'_>, before: &[Function]) -> Result<Vec<String>, Stop> {
    let is_stale = |name: &str, ours: &BTreeSet<&str>| !ours.contains(name) && !SOURCE.structural.contains(name);
    let views: Vec<String> = views(transaction).await?;
    let views = views.iter().filter(|name| is_stale(name, &SOURCE.views));
    let views: Vec<String> = views.map(|name| format!("tenure.{name}")).collect();
    drop_all(transaction, "view", &views).await?;
    // A function that was just replaced was written by this transaction, so an untouched one is not in any file.
    let is_untouched = |now: &Function| {
        before
            .iter()
            .any(|then| then.oid == now.oid && then.written_by == now.written_by)
            && !SOURCE.structural.contains(now.name.as_str())
    };
    let now = functions(transaction).await?;
    let functions: Vec<String> = now
        .into_iter()
        .filter(is_untouched)
        .map(|function| function.signature)
        .collect();
    drop_all(transaction, "function", &functions).await?;
    Ok(views.into_iter().chain(functions).collect())
}

/// Drops every view and function that our files make, never what migrations make, and nothing that depends on them:
/// a view of somebody else's that reads one of ours refuses the migration by its name.
async fn drop_by_manifest(transaction: &Transaction<'_>, before: &[Function]) -> Result<(), Stop> {
    let there = views(transaction).await?;
    let there = there.iter().filter(|name| SOURCE.views.contains(name.as_str()));
    let there: Vec<String> = there.map(|name| format!("tenure.{name}")).collect();
    drop_all(transaction, "view", &there).await?;
    let ours = before.iter().filter(|function| {
        SOURCE.functions.contains(function.name.as_str()) && !SOURCE.structural.contains(function.name.as_str())
    });
    let ours: Vec<String> = ours.map(|function| function.signature.clone()).collect();
    drop_all(transaction, "function", &ours).await
}

/// In one statement, so that their order among themselves does not matter.
async fn drop_all(transaction: &Transaction<'_>, what: &str, names: &[String]) -> Result<(), Stop> {
    if names.is_empty() {
        return Ok(());
    }
    let statement = format!("drop {what} {}", names.join(", "));
    run(transaction, &format!("dropping the older {what}s"), &statement).await
}

async fn functions(transaction: &Transaction<'_>) -> Result<Vec<Function>, Stop> {
    let rows = transaction
        .query_typed(FUNCTIONS, &[])
        .await
        .map_err(at("the list of functions"))?;
    let read = |row: &tokio_postgres::Row| Function {
        oid: row.get(0),
        name: row.get(1),
        written_by: row.get(2),
        signature: row.get(3),
    };
    Ok(rows.iter().map(read).collect())
}

async fn views(transaction: &Transaction<'_>) -> Result<Vec<String>, Stop> {
    let none: &[(&(dyn tokio_postgres::types::ToSql + Sync), Type)] = &[];
    let rows = transaction
        .query_typed(VIEWS, none)
        .await
        .map_err(at("the list of views"))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
