//! The SQL for people who apply it themselves.

use std::fmt::Write as _;

use tokio_postgres::GenericClient;

use super::objects::UNCHECKED;
use super::run::{BOOK, LOCK, at, pending, read_book};
use super::source::{Migration, SOURCE, SqlFile};
use super::{SCHEMA_VERSION, functions_hash};
use crate::error::{Error, Result};

/// Everything a migration does, as one script for `psql`: a transaction that brings any older schema to this one, and
/// changes nothing where it is in force already.
///
/// ```
/// let script = tenure::migrate::print();
/// assert!(script.contains("create or replace function tenure.job_claim_many"));
/// ```
#[doc(hidden)]
pub fn print() -> String {
    let mut script = opening();
    append(&mut script, SOURCE.roles);
    append(&mut script, SOURCE.bootstrap);
    append_lock(&mut script);
    append_structure(&mut script);
    for migration in &SOURCE.migrations {
        append_migration(&mut script, migration);
    }
    append_objects(&mut script);
    script.push_str("commit;\n");
    script
}

/// What a migration would change in this database, as a script like that of [`print`]: the migrations that it lacks, and
/// functions, views and grants if they are others. Empty for a database that is up to date. Reads, and changes nothing.
#[doc(hidden)]
pub async fn print_pending(client: &impl GenericClient) -> Result<String> {
    let found = client
        .query_typed(BOOK, &[])
        .await
        .map_err(at("the book of migrations"));
    let has_book = found.map_err(Error::from)?.first().is_some_and(|row| row.get(1));
    if !has_book {
        return Ok(print());
    }
    let applied = read_book(client).await.map_err(Error::from)?;
    let missing = pending(&applied).map_err(Error::from)?;
    let state = "select i.functions_hash from tenure.installation i";
    let rows = client.query_typed(state, &[]).await?;
    let hash: Option<String> = rows.first().and_then(|row| row.get(0));
    if missing.is_empty() && hash.as_deref() == Some(functions_hash()) {
        return Ok(String::new());
    }
    let mut script = opening();
    append(&mut script, SOURCE.roles);
    script.push_str("\nset local role tenure_owner;\n");
    append_lock(&mut script);
    append_structure(&mut script);
    for migration in missing {
        append_migration(&mut script, migration);
    }
    append_objects(&mut script);
    script.push_str("commit;\n");
    Ok(script)
}

fn opening() -> String {
    format!(
        "-- The Tenure schema, version {SCHEMA_VERSION}. Apply it with psql, as a login that may create roles and schemas:\n\
         --   psql -X -f this-file.sql the-database\n\
         \\set ON_ERROR_STOP on\n\
         begin;\n\
         set local client_min_messages = warning;\n\
         set local search_path = pg_catalog, pg_temp;\n\
         set local lock_timeout = '120s';\n"
    )
}

/// The roles alone, for a login with `CREATEROLE` when whoever migrates has none.
#[doc(hidden)]
pub fn print_roles() -> String {
    format!(
        "{}\n-- Whoever migrates must be able to act as the owner:\n--   grant tenure_owner to the_migrating_login;\n",
        SOURCE.roles.text
    )
}

fn append(script: &mut String, file: SqlFile) {
    let _ = write!(script, "\n-- sql/{}\n{}", file.path, file.text);
    if !file.text.ends_with('\n') {
        script.push('\n');
    }
}

/// Another migration may take longer than a lock on a table that is in use.
fn append_lock(script: &mut String) {
    let _ = write!(
        script,
        "\n-- One migration at a time.\n{LOCK};\nset local lock_timeout = '10s';\n"
    );
}

/// The functions that migrations need, only if the book lacks a migration.
fn append_structure(script: &mut String) {
    let _ = write!(
        script,
        "\nselect count(*) < {} as pending from tenure.migrations m \\gset\n\\if :pending\n{UNCHECKED};\n",
        SOURCE.migrations.len()
    );
    for file in &SOURCE.structure {
        append(script, *file);
    }
    script.push_str("\\endif\n");
}

/// Applied only if the book lacks it; refused if the book has it with another text.
fn append_migration(script: &mut String, migration: &Migration) {
    let Migration {
        version,
        name,
        file,
        checksum,
    } = migration;
    let _ = write!(
        script,
        "\nselect not exists (select from tenure.migrations m where m.version = {version}) as pending,\n       \
         exists (select from tenure.migrations m where m.version = {version} and m.checksum <> '{checksum}') as differs \\gset\n\
         \\if :differs\n\
         do $$ begin raise exception 'Migration {version:04}_{name} was applied with another text.'; end $$;\n\
         \\endif\n\
         \\if :pending\n"
    );
    append(script, *file);
    let _ = write!(
        script,
        "insert into tenure.migrations (version, name, checksum) values ({version}, '{name}', '{checksum}');\n\\endif\n"
    );
}

/// A script cannot try and fall back, so other functions and views are dropped by name before ours are made.
fn append_objects(script: &mut String) {
    let hash = &SOURCE.functions_hash;
    let names = |names: &mut dyn Iterator<Item = &&str>| -> String {
        names.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
    };
    let structural = names(&mut SOURCE.structural.iter());
    let _ = write!(
        script,
        "\nselect i.functions_hash is distinct from '{hash}' as pending from tenure.installation i \\gset\n\
         \\if :pending\n\
         {UNCHECKED};\n\
         do $$\n\
         declare\n  v_views text;\n  v_functions text;\n\
         begin\n  \
           select string_agg(format('tenure.%I', c.relname), ', ') into v_views from pg_class c\n   \
            where c.relnamespace = 'tenure'::regnamespace and c.relowner = 'tenure_owner'::regrole and c.relkind = 'v'\n     \
              and c.relname <> all (array[{structural}]);\n  \
           if v_views is not null then execute 'drop view ' || v_views; end if;\n  \
           select string_agg(format('tenure.%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid)), ', ') into v_functions from pg_proc p\n   \
            where p.pronamespace = 'tenure'::regnamespace and p.proowner = 'tenure_owner'::regrole and p.prokind <> 'a'\n     \
              and p.proname <> all (array[{structural}]);\n  \
           if v_functions is not null then execute 'drop function ' || v_functions; end if;\n\
         end\n$$;\n"
    );
    for file in &SOURCE.objects {
        append(script, *file);
    }
    for file in SOURCE.grants {
        append(script, file);
    }
    let _ = write!(
        script,
        "\\endif\n\n\
         select tenure.installation_stamp('{hash}') \\g /dev/null\n\
         select tenure.partition_upkeep() \\g /dev/null\n"
    );
}
