//! The runner: one transaction, tried again when somebody was in the way.

use std::time::Duration;

use tenure_core::{Refusal, codes};
use tokio_postgres::error::{ErrorPosition, SqlState};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, GenericClient, IsolationLevel, Transaction};

use super::objects;
use super::source::{Migration, SOURCE, SqlFile};
use super::{Options, Report, SCHEMA_VERSION};
use crate::error::{Error, Result};

/// Lets migrations of one database take turns. Only the owner of the book can lock it so: an advisory lock could be
/// taken, and kept, by any login.
pub(super) const LOCK: &str = "lock table tenure.migrations in share row exclusive mode";

/// The session that has [`LOCK`], as far as this login may see.
const HOLDER: &str = "select pg_catalog.format('process %s%s%s', l.pid, ' of ' || a.usename,
         ' (' || nullif(a.application_name, '') || ')')
  from pg_catalog.pg_locks l
  left join pg_catalog.pg_stat_activity a on a.pid = l.pid
 where l.locktype = 'relation' and l.relation = 'tenure.migrations'::pg_catalog.regclass and l.granted
   and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
   and l.pid <> pg_catalog.pg_backend_pid()
   and l.mode not in ('AccessShareLock', 'RowShareLock')
 order by l.pid
 limit 1";

/// The book of migrations, and the schema it lies in, whoever made that.
pub(super) const BOOK: &str = "select r.rolname::text, c.oid is not null
  from pg_catalog.pg_namespace n
  join pg_catalog.pg_roles r on r.oid = n.nspowner
  left join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = 'migrations'
 where n.nspname = 'tenure'";

/// Why a migration ended early.
#[derive(Debug)]
pub(super) enum Stop {
    /// It must not go on.
    Refused(Refusal),
    /// The database said no at this step.
    Sql { step: String, error: tokio_postgres::Error },
}

impl From<Stop> for Error {
    fn from(stop: Stop) -> Error {
        match stop {
            Stop::Refused(refusal) => Error::Refused(refusal),
            Stop::Sql { step, error } => explain(&step, error),
        }
    }
}

/// Brings the database to this program's schema; a database that has it is left as it is.
pub async fn migrate(client: &mut Client, options: &Options) -> Result<Report> {
    let mut attempt = 1;
    loop {
        match once(client, options).await {
            Ok(report) => return Ok(report),
            Err(Stop::Sql { step, error }) if attempt < options.attempts_max && is_passing(&error) => {
                tracing::debug!(attempt, step, %error, "migration tried again");
                // Growing, so that whoever holds the lock gets a moment without us in the queue.
                tokio::time::sleep(Duration::from_millis(50) * attempt).await;
                attempt += 1;
            }
            Err(stop) => return Err(stop.into()),
        }
    }
}

async fn once(client: &mut Client, options: &Options) -> Result<Report, Stop> {
    // Each statement must see what a migration before us has committed.
    let transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::ReadCommitted)
        .start()
        .await
        .map_err(at("begin"))?;
    settle(&transaction, options).await?;
    run(&transaction, "roles.sql", SOURCE.roles.text).await?;
    let is_new = open_book(&transaction).await?;
    lock(&transaction, options).await?;
    let mut report = Report {
        version_before: None,
        version: SCHEMA_VERSION,
        applied: Vec::new(),
        objects_applied: false,
        dropped: Vec::new(),
        epoch_before: None,
        epoch: 0,
        notes: Vec::new(),
    };
    let applied = if is_new {
        Vec::new()
    } else {
        read_book(&transaction).await?
    };
    report.version_before = applied.iter().map(|(version, ..)| *version).max();
    let missing = pending(&applied)?;
    if !missing.is_empty() {
        objects::apply_structure(&transaction).await?;
    }
    for migration in missing {
        run_file(&transaction, migration.file).await?;
        record(&transaction, migration).await?;
        report
            .applied
            .push(format!("{:04}_{}", migration.version, migration.name));
    }
    let hash: Option<String> = one(&transaction, "select i.functions_hash from tenure.installation i").await?;
    if options.force || !report.applied.is_empty() || hash.as_deref() != Some(SOURCE.functions_hash.as_str()) {
        report.dropped = objects::apply(&transaction).await?;
        report.objects_applied = true;
    }
    if !is_new {
        let rows = transaction
            .query_typed("select i.epoch from tenure.installation i", &[])
            .await;
        report.epoch_before = rows.map_err(at("tenure.installation"))?.first().map(|row| row.get(0));
    }
    let rows = transaction
        .query_typed(
            "select tenure.installation_stamp($1, $2)",
            &[(&SOURCE.functions_hash, Type::TEXT), (&options.restored, Type::BOOL)],
        )
        .await
        .map_err(at("tenure.installation_stamp"))?;
    report.epoch = rows.first().map_or(0, |row| row.get(0));
    report.notes.extend(keep_partitions(&transaction).await?);
    transaction.commit().await.map_err(at("commit"))?;
    Ok(report)
}

/// The settings of the transaction. Until the book is locked, a lock may take as long as another migration does.
async fn settle(transaction: &Transaction<'_>, options: &Options) -> Result<(), Stop> {
    // The path is ours: a function somebody put into public must not run with the rights of whoever migrates.
    let settings = format!(
        "set local client_min_messages = warning; set local statement_timeout = 0;
         set local idle_in_transaction_session_timeout = 0; set local standard_conforming_strings = on;
         set local search_path = pg_catalog, pg_temp; set local lock_timeout = {}",
        options.wait.as_millis()
    );
    run(transaction, "settings", &settings).await
}

/// Waits for another migration, and says who runs it when that takes too long. Two that make the schema at the same
/// moment meet before: the second fails on its name, is tried again, and then waits here.
async fn lock(transaction: &Transaction<'_>, options: &Options) -> Result<(), Stop> {
    run(transaction, "savepoint", "savepoint book").await?;
    match transaction.batch_execute(LOCK).await {
        Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
            run(transaction, "savepoint", "rollback to savepoint book").await?;
            let holder = one(transaction, HOLDER).await?;
            return Err(Stop::Refused(Refusal::new(
                codes::BUSY_TRY_AGAIN,
                "Another migration of this database is running.",
                format!(
                    "It has not ended within {} seconds; {} holds the lock on tenure.migrations.",
                    options.wait.as_secs(),
                    holder.as_deref().unwrap_or("a session that has just ended"),
                ),
                "Wait for it, or end its session: select pg_terminate_backend(process).",
            )));
        }
        other => other.map_err(at("the lock of migrations"))?,
    }
    let settings = format!("set local lock_timeout = {}", options.lock_timeout.as_millis());
    run(transaction, "settings", &settings).await
}

/// Makes schema and book if need be, and goes on as the owner. Answers whether the book is new.
async fn open_book(transaction: &Transaction<'_>) -> Result<bool, Stop> {
    let rows = transaction
        .query_typed(BOOK, &[])
        .await
        .map_err(at("the book of migrations"))?;
    if let Some(row) = rows.first() {
        let (owner, has_book): (String, bool) = (row.get(0), row.get(1));
        if owner != "tenure_owner" {
            return Err(Stop::Refused(Refusal::new(
                codes::NOT_PERMITTED,
                format!("The schema tenure belongs to {owner}."),
                "It was not made by a migration, and nothing is touched that is not ours.",
                "Rename it, or hand it over: alter schema tenure owner to tenure_owner. Then migrate again.",
            )));
        }
        if has_book {
            // Not bootstrap.sql: even a guarded create schema asks for the right to create one.
            run(transaction, "the role of the owner", "set local role tenure_owner").await?;
            return Ok(false);
        }
    }
    run_file(transaction, SOURCE.bootstrap).await?;
    Ok(true)
}

pub(super) type Applied = (i32, String, String);

pub(super) async fn read_book(client: &impl GenericClient) -> Result<Vec<Applied>, Stop> {
    let rows = client
        .query_typed(
            "select m.version, m.name, m.checksum from tenure.migrations m order by m.version",
            &[],
        )
        .await
        .map_err(at("the book of migrations"))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect())
}

/// What is still to be applied; refuses when what was applied is not what this program carries.
pub(super) fn pending(applied: &[Applied]) -> Result<Vec<&'static Migration>, Stop> {
    for (version, name, checksum) in applied {
        let Some(ours) = SOURCE.migrations.iter().find(|ours| ours.version == *version) else {
            return Err(Stop::Refused(Refusal::new(
                codes::SCHEMA_TOO_NEW,
                format!("The database has migration {version:04}_{name}, which this program does not know."),
                format!("This program's last migration is {SCHEMA_VERSION:04}; a newer one has migrated before it."),
                "Migrate with the newer tenure; the schema does not go back.",
            )));
        };
        if ours.checksum != *checksum {
            return Err(Stop::Refused(Refusal::new(
                codes::SCHEMA_TOO_NEW,
                format!("Migration {version:04}_{name} was applied with another text."),
                "A migration that was applied never changes; this program and the one that applied it disagree about it.",
                "Use the tenure that migrated this database, or restore the migration's file as it was.",
            )));
        }
    }
    let is_pending = |ours: &&Migration| applied.iter().all(|(version, ..)| *version != ours.version);
    Ok(SOURCE.migrations.iter().filter(is_pending).collect())
}

async fn record(transaction: &Transaction<'_>, migration: &Migration) -> Result<(), Stop> {
    transaction
        .query_typed(
            "insert into tenure.migrations (version, name, checksum) values ($1, $2, $3)",
            &[
                (&migration.version, Type::INT4),
                (&migration.name, Type::TEXT),
                (&migration.checksum, Type::TEXT),
            ],
        )
        .await
        .map_err(at("the book of migrations"))?;
    Ok(())
}

/// Partitions are made ahead by every retention run; here only the first ones matter, so a failure is a note.
async fn keep_partitions(transaction: &Transaction<'_>) -> Result<Option<String>, Stop> {
    run(transaction, "savepoint", "savepoint partitions").await?;
    match one(transaction, "select tenure.partition_upkeep() ->> 'gave_way'").await {
        Ok(gave_way) if gave_way.as_deref() == Some("true") => Ok(Some(
            "Partitions were not looked after, the next retention run will: callers were at work on them.".to_owned(),
        )),
        Ok(_) => Ok(None),
        Err(Stop::Refused(refusal)) => Err(Stop::Refused(refusal)),
        Err(Stop::Sql { error, .. }) => {
            run(transaction, "savepoint", "rollback to savepoint partitions").await?;
            let refusal = Refusal::from(Error::from(error));
            Ok(Some(format!(
                "Partitions were not looked after, the next retention run will: {} {}",
                refusal.what, refusal.why
            )))
        }
    }
}

async fn one(transaction: &Transaction<'_>, query: &str) -> Result<Option<String>, Stop> {
    let rows = transaction
        .query_typed(query, &[])
        .await
        .map_err(at("tenure.installation"))?;
    Ok(rows.first().and_then(|row| row.get(0)))
}

pub(super) async fn run_file(transaction: &Transaction<'_>, file: SqlFile) -> Result<(), Stop> {
    transaction.batch_execute(file.text).await.map_err(|error| {
        let position = error.as_db_error().and_then(|answer| answer.position());
        let line = match position {
            Some(ErrorPosition::Original(at)) => {
                file.text.chars().take(*at as usize).filter(|c| *c == '\n').count() + 1
            }
            _ => 0,
        };
        let step = match line {
            0 => file.path.to_owned(),
            line => format!("{} line {line}", file.path),
        };
        Stop::Sql { step, error }
    })
}

pub(super) async fn run(transaction: &Transaction<'_>, step: &str, statements: &str) -> Result<(), Stop> {
    transaction.batch_execute(statements).await.map_err(at(step))
}

pub(super) fn at(step: &str) -> impl Fn(tokio_postgres::Error) -> Stop + use<> {
    let step = step.to_owned();
    move |error| Stop::Sql {
        step: step.clone(),
        error,
    }
}

/// Whether trying again may help: a lock was not free, or another database of the server was migrated just now.
fn is_passing(error: &tokio_postgres::Error) -> bool {
    let Some(answer) = error.as_db_error() else {
        return false;
    };
    let state = answer.code();
    [
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::DUPLICATE_OBJECT,
    ]
    .contains(state)
        || (*state == SqlState::UNIQUE_VIOLATION && answer.schema() == Some("pg_catalog"))
        || (*state == SqlState::INTERNAL_ERROR && answer.message().contains("concurrently"))
}

fn explain(step: &str, error: tokio_postgres::Error) -> Error {
    let is_role = step == "roles.sql";
    let told = Error::from(error).while_doing(&format!("The migration was taken back at {step}"));
    if !told.is(codes::NOT_PERMITTED) {
        return told;
    }
    let mut refusal = Refusal::from(told);
    refusal.next = if is_role {
        "Let a login with CREATEROLE run what tenure migrate --roles prints, and grant tenure_owner to this login."
    } else {
        "Migrate with a login that may create schemas in this database (grant create on database) and act as tenure_owner."
    }
    .to_owned();
    Error::Refused(refusal)
}
