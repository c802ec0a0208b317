//! Rules over the catalogue: what must hold for every table, function, view and role, also for those yet to come.

use tokio_postgres::Client;

use crate::fixture::{Db, get, one, rows, run, try_rows};

/// The tables of the hot path, and the runs of steps, of which upkeep asks for all tenants: row-level security holds for readers, but is not forced on the owner's functions.
const HOT: [&str; 25] = [
    "active",
    "attempts",
    "delayed",
    "events",
    "execution_events",
    "execution_states",
    "executions",
    "follow_ups",
    "idempotency",
    "jobs",
    "kinds",
    "lanes",
    "leases",
    "lock_queue",
    "lock_targets",
    "locks",
    "offers",
    "ready",
    "ready_marks",
    "step_fences",
    "step_needs",
    "step_runs",
    "step_states",
    "steps",
    "tunings",
];

/// The first column of each row, as text.
pub(crate) async fn names(client: &Client, sql: &str) -> Vec<String> {
    rows(client, sql, &[]).await.iter().map(|row| row.get(0)).collect()
}

/// Asserts that a query for violations finds none.
async fn nothing(client: &Client, what: &str, sql: &str) {
    let found = names(client, sql).await;
    assert!(found.is_empty(), "{what}: {found:?}");
}

/// Proves: S70, S71.
/// Rule: 26.
#[tokio::test]
async fn every_table_of_a_tenant_has_its_wall_and_only_the_hot_ones_spare_the_owner() {
    let db = Db::open().await;
    let c = db.client().await;
    nothing(
        &c,
        "a table with tenants or lanes and no row-level security",
        "select c.relname::text from pg_class c
          where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p') and not c.relrowsecurity
            and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname in ('tenant_id', 'lane') and not a.attisdropped)",
    )
    .await;
    let spared = names(
        &c,
        "select distinct coalesce(p.relname, c.relname)::text
           from pg_class c
           left join pg_inherits i on i.inhrelid = c.oid
           left join pg_class p on p.oid = i.inhparent
          where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p') and c.relrowsecurity and not c.relforcerowsecurity
          order by 1",
    )
    .await;
    assert_eq!(spared, HOT, "the tables whose wall is not forced on the owner");
    let unwalled = names(
        &c,
        "select c.relname::text from pg_class c
          where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p') and not c.relrowsecurity order by 1",
    )
    .await;
    let installation_wide = [
        "anchor_log",
        "anchor_sinks",
        "anchors",
        "config_keys",
        "event_domains",
        "executors",
        "installation",
        "migrations",
        "services",
        "sweep_cursors",
    ];
    assert_eq!(
        unwalled, installation_wide,
        "tables without a wall: they belong to no tenant"
    );
    nothing(
        &c,
        "a policy that asks for the tenant once per row",
        "select p.polname || ' on ' || p.polrelid::regclass::text from pg_policy p
          where pg_get_expr(p.polqual, p.polrelid) ~ 'current_tenant' and pg_get_expr(p.polqual, p.polrelid) !~ 'SELECT (tenure\\.)?current_tenant'",
    )
    .await;
}

/// Guards: D33.
/// Rule: 26.
#[tokio::test]
async fn a_function_that_acts_as_the_owner_pins_its_search_path_and_is_nobodys_by_default() {
    let db = Db::open().await;
    let c = db.client().await;
    nothing(
        &c,
        "a definer function with a search path that is not pinned",
        "select p.oid::regprocedure::text from pg_proc p
          where p.pronamespace = 'tenure'::regnamespace and p.prosecdef
            and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false)",
    )
    .await;
    nothing(
        &c,
        "a function that PUBLIC may execute",
        "select p.oid::regprocedure::text from pg_proc p
          cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
          where p.pronamespace = 'tenure'::regnamespace and a.grantee = 0",
    )
    .await;
    nothing(
        &c,
        "a name with two signatures",
        "select p.proname::text from pg_proc p where p.pronamespace = 'tenure'::regnamespace group by p.proname having count(*) > 1",
    )
    .await;
}

/// Guards: D33.
#[tokio::test]
async fn dynamic_sql_is_in_one_function_only() {
    let db = Db::open().await;
    let c = db.client().await;
    let dynamic = names(
        &c,
        "select p.proname::text from pg_proc p join pg_language l on l.oid = p.prolang
          where p.pronamespace = 'tenure'::regnamespace and l.lanname = 'plpgsql' and replace(p.prosrc, '''execute''', '') ~* '\\mexecute\\M' order by 1",
    )
    .await;
    assert_eq!(dynamic, ["partition_upkeep"]);
}

/// Proves: S28, S35, S42, S86, S121, S122, S123, S124, S125, S126.
/// Guards: D10, D44, D45, D56, D58.
#[tokio::test]
async fn every_foreign_key_has_an_index_and_history_has_no_foreign_key() {
    let db = Db::open().await;
    let c = db.client().await;
    nothing(
        &c,
        "a foreign key without an index",
        "select k.conname || ' on ' || k.conrelid::regclass::text from pg_constraint k
          where k.contype = 'f' and k.connamespace = 'tenure'::regnamespace
            and not exists (select from pg_index i where i.indrelid = k.conrelid
                             and ((string_to_array(i.indkey::text, ' ')::smallint[])[1:cardinality(k.conkey)] @> k.conkey
                               or (i.indisunique and i.indpred is null and string_to_array(i.indkey::text, ' ')::smallint[] <@ k.conkey)))",
    )
    .await;
    nothing(
        &c,
        "history that something else could delete or block",
        "select k.conname::text from pg_constraint k
          where k.contype = 'f' and k.connamespace = 'tenure'::regnamespace
            and (k.confrelid in ('tenure.jobs'::regclass, 'tenure.attempts'::regclass, 'tenure.events'::regclass, 'tenure.dead_letters'::regclass)
                 or k.confdeltype <> 'a')",
    )
    .await;
    nothing(
        &c,
        "the same index twice",
        "select min(i.indexrelid::regclass::text) from pg_index i join pg_class c on c.oid = i.indrelid
          where c.relnamespace = 'tenure'::regnamespace
          group by i.indrelid, i.indkey::text, coalesce(pg_get_expr(i.indpred, i.indrelid), ''), i.indexprs::text having count(*) > 1",
    )
    .await;
    let indexes = names(&c, "select indexname::text from pg_indexes where schemaname = 'tenure'").await;
    for asked in [
        "ready_pkey",
        "delayed_pkey",
        "active_pkey",
        "leases_pkey",
        "idempotency_pkey",
        "jobs_correlation_id",
        "jobs_workflow_id",
        "jobs_parent_job_id",
        "dead_letters_triage",
        "dead_letters_kind",
        "dead_letters_fingerprint",
        "heartbeats_executor_kind",
        "attempts_rare_endings",
    ] {
        assert!(indexes.iter().any(|it| it == asked), "{asked} is missing");
    }
}

/// Rule: 26.
#[tokio::test]
async fn views_show_what_their_reader_may_see() {
    let db = Db::open().await;
    let c = db.client().await;
    nothing(
        &c,
        "a view that reads tables with its owner's eyes",
        "select c.relname::text from pg_class c
          where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('v', 'm')
            and not coalesce('security_invoker=true' = any (c.reloptions), false)
            and exists (select from pg_rewrite w join pg_depend d on d.objid = w.oid and d.classid = 'pg_rewrite'::regclass
                         where w.ev_class = c.oid and d.refclassid = 'pg_class'::regclass and d.refobjid <> c.oid)",
    )
    .await;
}

/// Proves: S128.
/// Rule: 26.
#[tokio::test]
async fn nobody_but_the_owner_writes_a_table_and_nobody_reads_a_token() {
    let db = Db::open().await;
    let c = db.client().await;
    let roles: Vec<String> = names(
        &c,
        "select rolname::text from pg_roles where rolname in ('tenure_owner', 'tenure_server', 'tenure_admin', 'tenure_operator',
           'tenure_approver', 'tenure_requester', 'tenure_producer', 'tenure_worker', 'tenure_viewer')
          and not (rolcanlogin or rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication)",
    )
    .await;
    assert_eq!(
        roles.len(),
        9,
        "all roles stand, and none can log in or pass the walls: {roles:?}"
    );
    nothing(
        &c,
        "an object that is not the owner's",
        "select o.name from (
           select c.oid::regclass::text, c.relowner from pg_class c where c.relnamespace = 'tenure'::regnamespace
           union all select p.oid::regprocedure::text, p.proowner from pg_proc p where p.pronamespace = 'tenure'::regnamespace
           union all select t.typname::text, t.typowner from pg_type t where t.typnamespace = 'tenure'::regnamespace
           union all select n.nspname::text, n.nspowner from pg_namespace n where n.nspname = 'tenure') o (name, owner)
          where o.owner <> 'tenure_owner'::regrole",
    )
    .await;
    nothing(
        &c,
        "a right to write a table",
        "select c.relname || ' by ' || coalesce(nullif(a.grantee, 0)::regrole::text, 'public') from pg_class c
          cross join lateral aclexplode(c.relacl) a
          where c.relnamespace = 'tenure'::regnamespace and a.grantee <> c.relowner and a.privilege_type <> 'SELECT'
         union all
         select c.relname || '.' || t.attname from pg_attribute t join pg_class c on c.oid = t.attrelid
          cross join lateral aclexplode(t.attacl) a
          where c.relnamespace = 'tenure'::regnamespace and a.grantee <> c.relowner and a.privilege_type <> 'SELECT'
         union all
         select 'schema by ' || a.grantee::regrole::text from pg_namespace n cross join lateral aclexplode(n.nspacl) a
          where n.nspname = 'tenure' and a.grantee <> n.nspowner and a.privilege_type <> 'USAGE'",
    )
    .await;
    nothing(
        &c,
        "a token, a stored payload or a key that a role can read",
        "select r.rolname || ' reads ' || c.relname || '.' || a.attname
           from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname in ('token', 'payload', 'key_hash')
           cross join pg_roles r
          where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p', 'v')
            and r.rolname like 'tenure\\_%' and r.rolname <> 'tenure_owner' and r.rolname !~ '^tenure_test_'
            and not r.rolsuper and has_column_privilege(r.oid, c.oid, a.attnum, 'select')",
    )
    .await;
}

/// Proves: S73.
#[tokio::test]
async fn every_table_and_view_says_what_it_is() {
    let db = Db::open().await;
    let c = db.client().await;
    nothing(
        &c,
        "a table or view without a comment",
        "select c.relname::text from pg_class c
          where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
            and coalesce(obj_description(c.oid, 'pg_class'), '') !~ '\\S'",
    )
    .await;
    nothing(
        &c,
        "more than 16 partitions",
        "select i.inhparent::regclass::text from pg_inherits i join pg_class c on c.oid = i.inhparent
          where c.relnamespace = 'tenure'::regnamespace and c.relkind = 'p' group by i.inhparent having count(*) > 16",
    )
    .await;
    nothing(
        &c,
        "an extension",
        "select extname::text from pg_extension where extname <> 'plpgsql'",
    )
    .await;
    let enums: i64 = get(
        &c,
        "select count(*) from pg_type where typnamespace = 'tenure'::regnamespace and typtype = 'e'",
        &[],
    )
    .await;
    assert_eq!(enums, 0, "text with a check, no enum types");
}

/// Proves: S1, S5, S6, S9, S16, S17, S30.
/// Guards: D24, D25.
#[tokio::test]
async fn what_must_be_there_cannot_be_missing() {
    let db = Db::open().await;
    let c = db.client().await;
    for (table, columns) in [
        (
            "jobs",
            "job_id tenant_id lane kind executor event_domain priority due attempts_max payload payload_classification source_system enqueued_by created_at",
        ),
        ("ready", "lane rank due job_id state run attempts"),
        ("delayed", "lane rank due job_id state run attempts"),
        (
            "leases",
            "token lane tenant_id owner executor principal leased_at until lease_seconds",
        ),
        ("active", "job_id token lane run attempt due"),
        (
            "attempts",
            "job_id run tenant_id attempt outcome state final ended_at actor",
        ),
        (
            "dead_letters",
            "dead_letter_id job_id kind payload attempts final_error fingerprint moved_at moved_by triage_status",
        ),
        (
            "heartbeats",
            "tenant_id executor_name executor_kind last_tick_at last_tick_status ticks_total metadata created_at updated_at",
        ),
    ] {
        for column in columns.split(' ') {
            let present: bool = get(
                &c,
                "select a.attnotnull from pg_attribute a where a.attrelid = ('tenure.' || $1)::regclass and a.attname = $2",
                &[&table, &column],
            )
            .await;
            assert!(present, "{table}.{column} may be null");
        }
    }
    for (broken, why) in [
        (
            "insert into tenure.active (job_id, token, lane, run, attempt, due, run_until) values (gen_random_uuid(), gen_random_uuid(), 1, 1, 1, now(), now())",
            "a run limit without a start",
        ),
        (
            "insert into tenure.active (job_id, token, lane, run, attempt, due) values (gen_random_uuid(), gen_random_uuid(), 1, 1, 0, now())",
            "attempt 0 while held",
        ),
        (
            "insert into tenure.ready (lane, rank, due, job_id, state, run, attempts) values (1, 0, now(), gen_random_uuid(), 'leased', 0, 0)",
            "a held state in a waiting place",
        ),
        (
            "insert into tenure.attempts (job_id, run, tenant_id, lane, attempt, outcome, state, final, ended_at, actor) values (gen_random_uuid(), 1, 1, 1, 1, 'succeeded', 'succeeded', false, now(), 'a')",
            "an end that is not final",
        ),
        (
            "insert into tenure.attempts (job_id, run, tenant_id, lane, attempt, outcome, state, final, ended_at, actor) values (gen_random_uuid(), 1, 1, 1, 1, 'failed', 'retry_waiting', false, now(), 'a')",
            "a retry without a due time",
        ),
        (
            "insert into tenure.leases (token, lane, tenant_id, owner, executor, principal, leased_at, until, lease_seconds, held) values (gen_random_uuid(), 1, 1, ' ', 'DOT', 'p', now(), now(), 1, 1)",
            "a lease of nobody",
        ),
    ] {
        let outcome = try_rows(&c, broken, &[]).await;
        let code = outcome
            .expect_err(why)
            .as_db_error()
            .map(|it| it.code().code().to_owned());
        assert_eq!(code.as_deref(), Some("23514"), "{why}");
    }
}

/// The body of a function is read under the caller's `standard_conforming_strings`: a plain string with a backslash, or
/// one with Unicode escapes, means something else, or fails, where that is off.
#[tokio::test]
async fn no_function_depends_on_how_the_session_reads_a_backslash() {
    let db = Db::open().await;
    let c = db.direct().await;
    nothing(
        &c,
        "a backslash in a plain string: quote it with $r$…$r$, write it as E'…', or set standard_conforming_strings = on",
        r"select p.oid::regprocedure::text
            from pg_proc p
            -- Comments, strings with escapes and strings in dollars may have one.
            cross join lateral (select regexp_replace(p.prosrc, '--[^\n]*', '', 'g')) a (text)
            cross join lateral (select regexp_replace(a.text, '\mE''([^''\\]|\\.|'''')*''', '', 'g')) b (text)
            cross join lateral (select regexp_replace(b.text, '\$(\w*)\$.*?\$\1\$', '', 'g')) d (text)
           where p.pronamespace = 'tenure'::regnamespace and strpos(d.text, '\') > 0
             and 'standard_conforming_strings=on' <> all (coalesce(p.proconfig, '{}'))",
    )
    .await;
    // And so a session that has it off gets the same answers.
    run(
        &c,
        "set standard_conforming_strings = off; set escape_string_warning = off",
    )
    .await;
    let answer = one(&c, r#"select tenure.job_enqueue('plain name', '{"n": 1}')"#, &[]).await;
    assert_eq!(answer["duplicate"], false, "{answer}");
    let refusal = one(&c, r#"select tenure.job_enqueue('a', '{"token": 1}')"#, &[]).await;
    assert_eq!(refusal["code"], "payload_forbidden_key", "{refusal}");
    let masked: String = get(&c, "select tenure.mask_text('password: hunter2, the rest')", &[]).await;
    assert_eq!(masked, "password: ***, the rest");
    one(&c, r#"select tenure.approval_rule_set('free', '{"level": 0}')"#, &[]).await;
    let plan = r#"{"purpose": "move", "sla_class": "long", "steps": [{"id": "a", "action": "go", "action_class": "read", "target_type": "host", "target_ref": "h", "payload": {"at": "\u00e4"}}]}"#;
    let submitted = one(&c, "select tenure.execution_submit($1)", &[&plan]).await;
    assert!(submitted["execution_id"].is_string(), "{submitted}");
}

/// More belong together and are a type. Functions that people call have friendly arguments, passed by name.
#[tokio::test]
async fn no_internal_function_has_more_than_eight_parameters() {
    let db = Db::open().await;
    let c = db.client().await;
    nothing(
        &c,
        "an internal function with a row of parameters",
        "select p.proname || ' has ' || p.pronargs from pg_proc p
          where p.pronamespace = 'tenure'::regnamespace and p.pronargs > 8
            and not exists (select from aclexplode(p.proacl) a where a.grantee <> p.proowner)",
    )
    .await;
}

/// Two names that differ by one letter are taken for each other. Plurals of what a function answers are few and known.
#[tokio::test]
async fn no_two_functions_differ_by_one_letter() {
    let db = Db::open().await;
    let c = db.client().await;
    nothing(
        &c,
        "two functions whose names differ by an s",
        "select a.proname || ' and ' || b.proname from pg_proc a
           join pg_proc b on b.pronamespace = a.pronamespace and a.oid <> b.oid
                         and b.proname in (a.proname || 's', replace(a.proname, '_', 's_'), regexp_replace(a.proname, '^([^_]+)_', '\\1s_'))
          where a.pronamespace = 'tenure'::regnamespace and a.proname <> b.proname",
    )
    .await;
}
