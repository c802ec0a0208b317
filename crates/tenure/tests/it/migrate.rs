//! Bringing a database to the schema, and back to it.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure::core::codes;
use tenure::migrate::{Options, Report, SCHEMA_VERSION, SCHEMA_VERSION_MAX, SCHEMA_VERSION_MIN, SchemaStatus, check};
use tenure_cluster::testing::TestDatabase;
use tokio_postgres::Client;

pub(crate) async fn migrate(client: &mut Client) -> Report {
    tenure::migrate(client, &Options::default()).await.expect("migrates")
}

/// An empty database, migrated.
pub(crate) async fn migrated() -> (TestDatabase, Client) {
    let database = TestDatabase::empty().await.expect("database");
    let mut client = database.connect().await.expect("connect");
    migrate(&mut client).await;
    (database, client)
}

pub(crate) async fn run(client: &Client, statements: &str) {
    client.batch_execute(statements).await.expect(statements);
}

pub(crate) async fn text(client: &Client, query: &str) -> String {
    let row = client.query_one(query, &[]).await.expect(query);
    row.get::<_, Option<String>>(0).unwrap_or_default()
}

/// Fails with the lines that differ.
pub(crate) fn same(before: &str, after: &str) {
    let lines = |text: &str| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
    let (before, after) = (lines(before), lines(after));
    let differing: Vec<&String> = before.symmetric_difference(&after).collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

/// Everything in the catalogue that a migration could change, in one text.
pub(crate) const CATALOGUE: &str = "select string_agg(line, e'\n' order by line) from (
  select format('function %s %s %s', p.oid::regprocedure, md5(p.prosrc), p.proacl) as line from pg_proc p where p.pronamespace = 'tenure'::regnamespace
  union all
  select format('relation %s %s %s', c.oid::regclass, c.relkind, coalesce(c.relacl, acldefault('r', c.relowner))) from pg_class c where c.relnamespace = 'tenure'::regnamespace and c.relname !~ '_p[0-9]{8}'
  union all
  select format('column %s %s %s %s', a.attrelid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull)
    from pg_attribute a join pg_class c on c.oid = a.attrelid where c.relnamespace = 'tenure'::regnamespace and c.relname !~ '_p[0-9]{8}' and a.attnum > 0 and not a.attisdropped
  union all
  select format('constraint %s %s %s', o.conrelid::regclass, o.conname, pg_get_constraintdef(o.oid)) from pg_constraint o
   where o.connamespace = 'tenure'::regnamespace and o.conname !~ '_p[0-9]{8}'
  union all
  select format('policy %s %s', p.polrelid::regclass, p.polname) from pg_policy p
  union all
  select format('migration %s %s %s', m.version, m.name, m.checksum) from tenure.migrations m
  union all
  select format('hash %s', i.functions_hash) from tenure.installation i) x";

/// What lies outside the schema: must be the same before and after.
const OUTSIDE: &str = "select string_agg(line, e'\n' order by line) from (
  select format('namespace %s %s', n.nspname, n.nspacl) as line from pg_namespace n where n.nspname not in ('tenure') and n.nspname !~ '^pg_(toast|temp)'
  union all
  select format('relation %s %s %s %s', c.oid::regclass, c.relkind, c.relacl, c.relowner::regrole) from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where n.nspname <> 'tenure' and n.nspname !~ '^pg_(toast|temp)'
  union all
  select format('function %s %s %s', p.oid::regprocedure, md5(p.prosrc), p.proacl) from pg_proc p where p.pronamespace <> (select n.oid from pg_namespace n where n.nspname = 'tenure')
  union all
  select format('trigger %s %s', t.tgrelid::regclass, t.tgname) from pg_trigger t join pg_class c on c.oid = t.tgrelid
   where c.relnamespace <> (select n.oid from pg_namespace n where n.nspname = 'tenure')
  union all
  select format('default %s', d.defaclacl) from pg_default_acl d
  union all
  select format('extension %s', e.extname) from pg_extension e
  union all
  select format('setting %s', s.setconfig) from pg_db_role_setting s
  union all
  select format('database %s', d.datacl) from pg_database d where d.datname = current_database()) x";

/// Proves: S2. Rule: 27.
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

/// One transaction, stopped by the first error, with nothing left behind.
///
/// Proves: S1.
#[tokio::test]
async fn a_migration_that_fails_leaves_nothing_behind() {
    let (first, _) = migrated().await;
    drop(first);
    let database = TestDatabase::empty().await.expect("database");
    let mut client = database.connect().await.expect("connect");
    // In the way of the sixth migration, after five have gone well.
    run(
        &client,
        "create schema tenure authorization tenure_owner; create table tenure.leases ()",
    )
    .await;
    let error = tenure::migrate(&mut client, &Options::default())
        .await
        .expect_err("fails");
    assert!(error.is(codes::DATABASE_ERROR), "{error}");
    assert!(error.refusal().what.contains("migrations/0006_jobs.sql"), "{error}");
    let left = "select string_agg(c.relname, ' ') from pg_class c where c.relnamespace = 'tenure'::regnamespace";
    assert_eq!(text(&client, left).await, "leases");
    run(&client, "drop table tenure.leases").await;
    assert_eq!(migrate(&mut client).await.applied.len(), SCHEMA_VERSION as usize);
}

/// Proves: S3.
#[tokio::test]
async fn a_migrated_database_is_inert() {
    let (_database, client) = migrated().await;
    let open = "select count(*)::text from tenure.config_list() c where c.is_gate and c.value <> 'false'";
    assert_eq!(text(&client, open).await, "0");
    for table in [
        "jobs",
        "ready",
        "delayed",
        "active",
        "leases",
        "attempts",
        "dead_letters",
        "heartbeats",
        "events",
        "config",
        "kinds",
    ] {
        let rows = text(&client, &format!("select count(*)::text from tenure.{table}")).await;
        assert_eq!(rows, "0", "{table}");
    }
    let error = tenure::store::jobs::enqueue(&client, &tenure::store::jobs::NewJob::new("a"), None).await;
    assert!(error.expect_err("refused").is(codes::GATE_CLOSED));
}

/// Proves: S4.
#[tokio::test]
async fn foreign_objects_stay_untouched() {
    let database = TestDatabase::empty().await.expect("database");
    let mut client = database.connect().await.expect("connect");
    run(
        &client,
        "set search_path = pg_catalog; -- or names would show with and without their schema
         create schema shop;
         create table shop.jobs (id int primary key, note text check (note <> ''));
         create view public.jobs as select id from shop.jobs;
         create function public.now() returns int language sql as 'select 1';
         create function shop.changed() returns trigger language plpgsql as 'begin return new; end';
         create trigger changed before update on shop.jobs for each row execute function shop.changed();
         grant select on shop.jobs to public;
         insert into shop.jobs values (1, 'kept')",
    )
    .await;
    // The schema itself is ours: made before, so that its absence is no difference.
    migrate(&mut client).await;
    run(
        &client,
        "drop schema tenure cascade; create schema tenure authorization tenure_owner",
    )
    .await;
    let before = text(&client, OUTSIDE).await;
    migrate(&mut client).await;
    run(
        &client,
        "create view public.mine as select job_id from tenure.job_queue;
         create function tenure.of_somebody_else() returns int language sql as 'select 1'",
    )
    .await;
    let forced = Options {
        force: true,
        ..Options::default()
    };
    let report = tenure::migrate(&mut client, &forced).await.expect("migrates");
    assert!(report.dropped.is_empty(), "{report:?}");
    run(&client, "drop view public.mine; select tenure.of_somebody_else()").await;
    same(&before, &text(&client, OUTSIDE).await);
    assert_eq!(text(&client, "select note from shop.jobs").await, "kept");
}

/// Guards the one name we take: a schema that happens to be called so.
#[tokio::test]
async fn a_schema_of_that_name_that_is_not_ours_is_refused() {
    let database = TestDatabase::empty().await.expect("database");
    let mut client = database.connect().await.expect("connect");
    run(&client, "create schema tenure; create table tenure.flats (number int)").await;
    let error = tenure::migrate(&mut client, &Options::default())
        .await
        .expect_err("refused");
    assert!(error.is(codes::NOT_PERMITTED), "{error}");
    assert_eq!(text(&client, "select count(*)::text from tenure.flats").await, "0");
}

/// Rule: 27.
#[tokio::test]
async fn two_servers_that_start_together_migrate_once() {
    let database = TestDatabase::empty().await.expect("database");
    let one = async || {
        let mut client = database.connect().await.expect("connect");
        migrate(&mut client).await
    };
    let (a, b, c, d) = tokio::join!(one(), one(), one(), one());
    let changed = [&a, &b, &c, &d].into_iter().filter(|report| report.changed()).count();
    assert_eq!(changed, 1, "{a:?} {b:?} {c:?} {d:?}");
}

/// A migration whose text has changed since it was applied. Rule: 27.
#[tokio::test]
async fn an_applied_migration_never_changes() {
    let (_database, mut client) = migrated().await;
    run(
        &client,
        "update tenure.migrations set checksum = 'other' where version = 3",
    )
    .await;
    let before = text(&client, CATALOGUE).await;
    let error = tenure::migrate(&mut client, &Options::default())
        .await
        .expect_err("refused");
    assert!(error.refusal().what.contains("0003_executors"), "{error}");
    same(&before, &text(&client, CATALOGUE).await);
}

/// Proves that a changed signature, return type or column list replaces the old object. Rule: 27.
#[tokio::test]
async fn functions_and_views_of_another_shape_are_replaced_by_manifest() {
    let (_database, mut client) = migrated().await;
    let before = text(&client, CATALOGUE).await;
    let older = "set role tenure_owner;
        create function tenure.health(p_detail text) returns text language sql as 'select 1::text';
        create function tenure.retired() returns int language sql as 'select 1';
        create view tenure.retired_view as select 1 as one;
        update tenure.installation set functions_hash = 'older';
        reset role";
    // Replaced in place: only what no file makes any more goes.
    run(&client, older).await;
    let report = migrate(&mut client).await;
    assert_eq!(
        report.dropped,
        [
            "tenure.retired_view",
            "tenure.health(p_detail text)",
            "tenure.retired()"
        ]
    );
    same(&before, &text(&client, CATALOGUE).await);
    // Made anew: a return type and a column have changed.
    run(&client, older).await;
    run(
        &client,
        "set role tenure_owner;
         drop function tenure.doctor();
         create function tenure.doctor() returns int language sql as 'select 1';
         drop view tenure.transitions;
         create view tenure.transitions as select 1 as one;
         reset role",
    )
    .await;
    let report = migrate(&mut client).await;
    assert!(report.objects_applied);
    same(&before, &text(&client, CATALOGUE).await);
}

/// Nothing is dropped by force: a view of somebody else's that stands in the way is named. Rule: 27.
#[tokio::test]
async fn a_foreign_view_in_the_way_is_named_and_kept() {
    let (_database, mut client) = migrated().await;
    run(
        &client,
        "set role tenure_owner;
         drop view tenure.transitions;
         create view tenure.transitions as select 1 as one;
         update tenure.installation set functions_hash = 'older';
         reset role;
         create view public.mine as select one from tenure.transitions",
    )
    .await;
    let error = tenure::migrate(&mut client, &Options::default())
        .await
        .expect_err("refused");
    assert!(error.refusal().why.contains("mine"), "{error}");
    run(&client, "drop view public.mine").await;
    migrate(&mut client).await;
}

/// Rule: 27.
#[tokio::test]
async fn a_lock_that_is_not_free_is_waited_for_in_bounds() {
    let (database, mut client) = migrated().await;
    let mut other = database.connect().await.expect("connect");
    let holding = other.transaction().await.expect("begin");
    holding
        .batch_execute("lock table tenure.job_queue in access share mode")
        .await
        .expect("locks");
    let hurried = Options {
        force: true,
        lock_timeout: Duration::from_millis(50),
        attempts_max: 2,
        ..Options::default()
    };
    let error = tenure::migrate(&mut client, &hurried).await.expect_err("refused");
    assert!(error.is(codes::BUSY_TRY_AGAIN), "{error}");
    holding.rollback().await.expect("rollback");
    tenure::migrate(&mut client, &hurried).await.expect("migrates");
}

/// Rule: 27.
#[tokio::test]
async fn a_range_of_schema_versions_is_accepted_and_the_rest_says_what_to_run() {
    let database = TestDatabase::empty().await.expect("database");
    let mut client = database.connect().await.expect("connect");
    let missing = check(&client).await.expect("checks");
    assert_eq!(missing, SchemaStatus::Missing);
    let refusal = missing.accept().expect_err("refused");
    assert!(refusal.is(codes::SCHEMA_MISSING) && refusal.refusal().next.contains("tenure migrate"));
    let error = tenure::operations::call(&client, &tenure_api::health::HealthShow {})
        .await
        .expect_err("refused");
    assert!(error.is(codes::SCHEMA_MISSING), "{error}");

    migrate(&mut client).await;
    let usable = check(&client).await.expect("checks");
    assert_eq!(usable.accept().expect("usable"), SCHEMA_VERSION);
    assert_eq!(usable.warning(), None);
    run(&client, "update tenure.installation set functions_hash = 'other'").await;
    assert!(
        check(&client)
            .await
            .expect("checks")
            .warning()
            .expect("warns")
            .contains("tenure migrate")
    );

    let newest =
        format!("insert into tenure.migrations (version, name, checksum) values ({SCHEMA_VERSION_MAX}, 'later', 'x')");
    run(&client, &newest).await;
    assert_eq!(
        check(&client).await.expect("checks").accept().expect("usable"),
        SCHEMA_VERSION_MAX
    );
    let error = tenure::migrate(&mut client, &Options::default())
        .await
        .expect_err("refused");
    assert!(error.is(codes::SCHEMA_TOO_NEW), "{error}");

    run(
        &client,
        "update tenure.migrations set version = version + 1 where name = 'later'",
    )
    .await;
    let too_new = check(&client).await.expect("checks").accept().expect_err("refused");
    assert!(too_new.is(codes::SCHEMA_TOO_NEW), "{too_new}");
    run(
        &client,
        &format!("delete from tenure.migrations where version >= {SCHEMA_VERSION_MIN}"),
    )
    .await;
    let too_old = check(&client).await.expect("checks").accept().expect_err("refused");
    assert!(
        too_old.is(codes::SCHEMA_TOO_OLD) && too_old.refusal().next.contains("tenure migrate"),
        "{too_old}"
    );
}

#[tokio::test]
async fn the_schema_version_is_the_number_of_the_last_migration() {
    let (_database, client) = migrated().await;
    let last = text(&client, "select max(m.version)::text from tenure.migrations m").await;
    assert_eq!(last, SCHEMA_VERSION.to_string());
    assert!((1..=SCHEMA_VERSION).contains(&SCHEMA_VERSION_MIN));
}
