//! Bringing a database to the schema.

use std::collections::BTreeSet;

use tenure::core::codes;
use tenure::migrate::{Options, Report, SCHEMA_VERSION, SCHEMA_VERSION_MAX, SCHEMA_VERSION_MIN, SchemaStatus, check};
use tenure::testing::TestDatabase;
use tokio_postgres::Client;

async fn migrate(client: &mut Client) -> Report {
    tenure::migrate(client, &Options::default()).await.expect("migrates")
}

/// An empty database, migrated.
async fn migrated() -> (TestDatabase, Client) {
    let database = TestDatabase::empty().await.expect("database");
    let mut client = database.connect().await.expect("connect");
    migrate(&mut client).await;
    (database, client)
}

async fn text(client: &Client, query: &str) -> String {
    let row = client.query_one(query, &[]).await.expect(query);
    row.get::<_, Option<String>>(0).unwrap_or_default()
}

/// Fails with the lines that differ.
fn same(before: &str, after: &str) {
    let lines = |text: &str| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
    let (before, after) = (lines(before), lines(after));
    let differing: Vec<&String> = before.symmetric_difference(&after).collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

/// Everything in the catalogue that a migration could change, in one text.
const CATALOGUE: &str = "select string_agg(line, e'\n' order by line) from (
  select format('function %s %s %s', p.oid::regprocedure, md5(p.prosrc), p.proacl) as line from pg_proc p where p.pronamespace = 'tenure'::regnamespace
  union all
  select format('relation %s %s %s', c.oid::regclass, c.relkind, coalesce(c.relacl, acldefault('r', c.relowner))) from pg_class c where c.relnamespace = 'tenure'::regnamespace
  union all
  select format('column %s %s %s %s', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull)
    from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relnamespace = 'tenure'::regnamespace and a.attnum > 0 and not a.attisdropped
  union all
  select format('constraint %s %s %s', o.conrelid::regclass, o.conname, pg_get_constraintdef(o.oid)) from pg_constraint o where o.connamespace = 'tenure'::regnamespace
  union all
  select format('policy %s %s', p.polrelid::regclass, p.polname) from pg_policy p
  union all
  select format('migration %s %s %s', m.version, m.name, m.checksum) from tenure.migrations m
  union all
  select format('hash %s', i.functions_hash) from tenure.installation i) x";

#[tokio::test]
async fn migrating_twice_changes_nothing_the_second_time() {
    let (_database, mut client) = migrated().await;
    let before = text(&client, CATALOGUE).await;
    let again = migrate(&mut client).await;
    assert!(!again.changed(), "{again:?}");
    assert_eq!(again.version_before, Some(SCHEMA_VERSION));
    same(&before, &text(&client, CATALOGUE).await);
    let forced = Options {
        force: true,
        ..Options::default()
    };
    let forced = tenure::migrate(&mut client, &forced).await.expect("migrates");
    assert!(forced.objects_applied && forced.dropped.is_empty(), "{forced:?}");
    same(&before, &text(&client, CATALOGUE).await);
}
