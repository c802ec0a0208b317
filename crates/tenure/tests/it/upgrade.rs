//! Upgrades lose nothing: a dump full of live work is restored and migrated, says what it said before, and goes on.
//!
//! `testdata/upgrade/` has a dump for each schema version that was released, written by its own program. With the
//! checksums in it, it also holds that a migration which landed is not edited. To write the dump of this version:
//!   TENURE_WRITE=1 cargo test -p tenure --test it upgrade::

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;
use tenure::migrate::{Options, SCHEMA_VERSION};
use tenure::services::scheduler;
use tenure_cluster::testing::TestDatabase;
use tenure_cluster::{Search, find};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::anchors_scene::until_seen;
use crate::approvals_scene::{act, check_executions, tick, work_all};
use crate::fixture::{claim_with, get, one, rows, run};
use crate::upgrade_scene::{furnished, started};

/// A clock that stands still until the test moves it, one second after the last event.
const CLOCK: &str = "
    create schema if not exists fixture;
    create table if not exists fixture.clock as select max(e.at) + interval '1 second' as at from tenure.events e;
    grant usage on schema fixture to public;
    grant select on fixture.clock to public;
    create or replace function tenure.now() returns timestamptz
    language sql volatile
    set search_path = pg_catalog, pg_temp
    as $$ select c.at from fixture.clock c $$;";

/// All that can be read of the work, as one value.
const PORTRAIT: &str = "
    select jsonb_build_object(
      'jobs', (
        select jsonb_object_agg(j.job_id, jsonb_build_object(
                 'list', to_jsonb(j),
                 'show', tenure.job_show(j.job_id),
                 'payload', tenure.job_payload(j.job_id),
                 'timeline', (select jsonb_agg(to_jsonb(t)) from tenure.job_timeline(j.job_id) t)))
          from tenure.job_list(p_limit => 100) j),
      'dead_letters', (
        select jsonb_object_agg(d.dead_letter_id, tenure.dead_letter_show(d.dead_letter_id))
          from tenure.dead_letter_list() d),
      'schedules', (select jsonb_object_agg(s.name, to_jsonb(s)) from tenure.schedule_list() s),
      'slots', (select jsonb_object_agg(s.plan_time, to_jsonb(s)) from tenure.schedule_slots('hourly') s),
      'executions', (
        select jsonb_object_agg(e.execution_id, jsonb_build_object(
                 'list', to_jsonb(e),
                 'show', tenure.execution_show(e.execution_id),
                 'plan', tenure.execution_plan(e.execution_id),
                 'steps', (select jsonb_object_agg(s.step_id, to_jsonb(s)) from tenure.step_list(e.execution_id) s),
                 'timeline', (select jsonb_agg(to_jsonb(t)) from tenure.execution_timeline(e.execution_id) t),
                 'approvals', (
                   select jsonb_object_agg(a.approval_id, jsonb_build_object(
                            'show', tenure.approval_show(a.approval_id),
                            'votes', (select jsonb_agg(to_jsonb(v)) from tenure.approval_votes_of(a.approval_id) v)))
                     from tenure.approval_list(e.execution_id, null) a)))
          from tenure.execution_list() e),
      'execution_dead_letters', (
        select jsonb_object_agg(d.execution_id, tenure.execution_dead_letter_show(d.execution_id))
          from tenure.execution_dead_letter_list() d),
      'locks', (select jsonb_object_agg(l.lock_key, to_jsonb(l)) from tenure.lock_list() l),
      'subscriptions', (
        select jsonb_object_agg(s.name, to_jsonb(s) - array['cursor', 'behind_since'])
          from tenure.subscription_list() s),
      'principals', (select jsonb_object_agg(p.name, to_jsonb(p)) from tenure.principal_list() p),
      'keys', (select jsonb_object_agg(k.prefix, to_jsonb(k)) from tenure.key_list() k),
      'kinds', (select jsonb_object_agg(k.kind, tenure.kind_show(k.kind)) from tenure.kind_list() k),
      'config', (select jsonb_object_agg(k.key, k.value) from tenure.config_list() k),
      'anchors', (select jsonb_agg(to_jsonb(a)) from tenure.anchor_list(p_heads => true) a))";

/// Where the dumps of released versions are.
fn dumps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/upgrade")
}

/// Dumps a furnished database, with the clock that every installation has.
async fn dump() -> String {
    let (db, mut c) = furnished().await;
    let options = Options {
        force: true,
        ..Options::default()
    };
    tenure::migrate(&mut c, &options).await.expect("applies the functions");
    let version: String = get(&c, "select current_setting('server_version_num')", &[]).await;
    let major = version.parse::<u32>().expect("a number") / 10_000;
    let found = find(&Search::from_env()).expect("PostgreSQL's programs");
    let path = found
        .iter()
        .filter(|installation| installation.major == major)
        .map(|installation| installation.bin_dir.join("pg_dump"))
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("pg_dump of PostgreSQL {major} is missing; install the client package"));
    // As inserts: then it is plain SQL, which any client can run.
    let mut pg_dump = Command::new(path);
    pg_dump.args(["--schema=tenure", "--inserts", "--rows-per-insert=100", db.url()]);
    let text = String::from_utf8(output(&mut pg_dump)).expect("UTF-8");
    // Two commands are meant for psql.
    let is_sql = |line: &&str| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict");
    text.lines().filter(is_sql).flat_map(|line| [line, "\n"]).collect()
}

/// What a program prints.
fn output(command: &mut Command) -> Vec<u8> {
    let done = command.output().expect("the program runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {said}");
    done.stdout
}

/// Restores a dump, migrates it, and sees that nothing is lost and the work goes on.
async fn upgraded(dump: &str, version: i32) {
    let database = TestDatabase::empty().await.expect("a database");
    let restoring = database.connect().await.expect("connect");
    run(&restoring, &tenure::migrate::print_roles()).await;
    run(&restoring, dump).await;
    let mut c = database.connect().await.expect("connect");
    run(&c, CLOCK).await;
    act(&c, "pam").await;
    let before: Value = get(&c, PORTRAIT, &[]).await;
    let events: i64 = get(&c, "select count(*) from tenure.events where tenant_id = 1", &[]).await;

    let report = tenure::migrate(&mut c, &Options::default())
        .await
        .unwrap_or_else(|error| {
            panic!(
                "{error}\nUntil schema version {version} is released, its dump is written again by\n  \
                 TENURE_WRITE=1 cargo test -p tenure --test it upgrade::"
            )
        });
    assert_eq!((report.version_before, report.version), (Some(version), SCHEMA_VERSION));
    assert!(report.began_epoch(), "a restored database is seen as one: {report:?}");
    run(&c, CLOCK).await;
    let after: Value = get(&c, PORTRAIT, &[]).await;
    let mut lost = Vec::new();
    kept("", &before, &after, &mut lost);
    assert!(lost.is_empty(), "{lost:#?}");
    until_seen(&c).await;
    let listed: i64 = get(&c, "select count(*) from tenure.event_list(p_limit => 1000)", &[]).await;
    assert!(listed >= events, "{listed} of {events} events");

    goes_on(&c).await;
    drains(&mut c).await;
}

/// Notes each place where a value of before is missing or another. What is new is no loss.
fn kept(place: &str, before: &Value, after: &Value, lost: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in old {
                let found = new.get(name).unwrap_or(&Value::Null);
                kept(&format!("{place}.{name}"), value, found, lost);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (at, (old, new)) in old.iter().zip(new).enumerate() {
                kept(&format!("{place}[{at}]"), old, new, lost);
            }
        }
        _ if before == after => {}
        _ => lost.push(format!("{place} was {before} and is {after}")),
    }
}

/// What a held job of this kind ends with, by the token of before.
async fn end(c: &Client, kind: &str) {
    let held = "select a.job_id, a.token from tenure.active a join tenure.jobs j on j.job_id = a.job_id
                 where j.kind = $1";
    let held = rows(c, held, &[&kind]).await;
    assert_eq!(held.len(), 1, "{kind} is held");
    let (job, token): (Uuid, Uuid) = (held[0].get(0), held[0].get(1));
    let ended = one(c, "select tenure.job_complete($1, $2)", &[&job, &token]).await;
    assert_eq!(ended["state"], "succeeded", "{kind}: {ended}");
}

async fn execution(c: &Client, purpose: &str) -> String {
    get(
        c,
        "select state from tenure.execution_list() where purpose = $1",
        &[&purpose],
    )
    .await
}

/// Each piece of work goes on from where it was.
async fn goes_on(c: &Client) {
    // A key of before is still taken, by the job that is ready.
    let repeated = one(c, "select tenure.job_enqueue('ready', p_key => 'taken')", &[]).await;
    let ready = started(c, "ready").await;
    assert_eq!(repeated["job_id"], ready.job_id.to_string(), "{repeated}");
    for kind in ["ready", "leased", "started", "report"] {
        end(c, kind).await;
    }
    started(c, "timed").await;
    let until = "select a.run_until is not null from tenure.active a join tenure.jobs j on j.job_id = a.job_id
                  where j.kind = 'timed'";
    assert!(get::<bool>(c, until, &[]).await, "its run has a limit");
    end(c, "timed").await;
    // A limit holds, and so does a pause.
    for kind in ["limited", "paused"] {
        let none = claim_with(c, "w", &format!(", p_kinds => array['{kind}']")).await;
        assert!(none.is_empty(), "{kind}: {none:?}");
    }
    end(c, "limited").await;
    one(c, "select tenure.kind_resume('paused')", &[]).await;

    // The lock passes from the execution that holds it to the one that waits for it.
    let locked = claim_with(c, "w", ", p_kinds => array['blocked']").await;
    assert!(locked.is_empty(), "{locked:?}");
    end(c, "running").await;
    let blocked = started(c, "blocked").await;
    let payload: Value = get(c, "select tenure.job_payload($1)", &[&blocked.job_id]).await;
    assert_eq!(payload["of"], "blocked", "{payload}");
    end(c, "blocked").await;
    // An API key of before is known, and an approval of before is decided.
    let key = "select tenure.key_check('upgraded', sha256('secret')) is not null";
    assert!(get::<bool>(c, key, &[]).await);
    let waiting = rows(c, "select approval_id, plan_hash from tenure.approval_list()", &[]).await;
    assert_eq!(waiting.len(), 1, "one approval is pending");
    let (approval, hash): (Uuid, String) = (waiting[0].get(0), waiting[0].get(1));
    let decide = "select tenure.approval_decide($1, 'approve', $2)";
    act(c, "eve").await;
    assert_eq!(one(c, decide, &[&approval, &hash]).await["code"], "self_approval");
    act(c, "ada").await;
    let decided = one(c, decide, &[&approval, &hash]).await;
    assert_eq!(decided["state"], "approved", "{decided}");
    act(c, "pam").await;
    assert_eq!(execution(c, "waiting").await, "running");

    let dead: Uuid = get(
        c,
        "select dead_letter_id from tenure.dead_letter_list(p_kind => 'dead')",
        &[],
    )
    .await;
    let triage = "select tenure.dead_letter_triage($1, 'manual_replay', 'the host is back')";
    one(c, triage, &[&dead]).await;
    let replayed = one(c, "select tenure.dead_letter_replay($1)", &[&dead]).await;
    assert!(replayed["job_id"].is_string(), "{replayed}");
    // A reader gets what it had not read. Its first events may be older: "now" was where the stream had come to.
    let unread = "select job_kind from tenure.subscription_read('audit') where job_kind <> 'report' limit 3";
    let unread: Vec<String> = rows(c, unread, &[]).await.iter().map(|row| row.get(0)).collect();
    assert_eq!(unread, ["ready", "delayed", "leased"]);
}

/// Runs every job there is, of both tenants.
async fn work(c: &Client) {
    for tenant in ["default", "other"] {
        rows(c, "select set_config('tenure.tenant', $1, false)", &[&tenant]).await;
        tick(c).await;
        work_all(c).await;
    }
    run(c, "reset tenure.tenant").await;
}

/// Everything comes to its end, and what is not due yet does so later.
async fn drains(c: &mut Client) {
    work(c).await;
    run(c, "update fixture.clock set at = at + interval '2 hours'").await;
    let advanced = scheduler::run_once(c).await.expect("a look");
    assert!(advanced.started > 0, "the schedule goes on: {advanced:?}");
    work(c).await;
    let open = "select string_agg(j.kind || ' is ' || j.state, ', ') from tenure.job_list(p_limit => 100) j
                 where j.state not in ('succeeded', 'failed', 'cancelled', 'dead_letter')";
    for tenant in ["other", "default"] {
        rows(c, "select set_config('tenure.tenant', $1, false)", &[&tenant]).await;
        assert_eq!(get::<Option<String>>(c, open, &[]).await, None, "{tenant}");
    }
    for (purpose, end) in [
        ("succeeded", "succeeded"),
        ("failed", "failed"),
        ("waiting", "succeeded"),
        ("running", "succeeded"),
        ("blocked", "succeeded"),
    ] {
        assert_eq!(execution(c, purpose).await, end, "{purpose}");
    }
    check_executions(c).await;
}

/// Rule: 27.
#[tokio::test]
async fn work_goes_on_after_an_upgrade_from_every_released_schema() {
    if env::var_os("TENURE_WRITE").is_some() {
        fs::create_dir_all(dumps()).expect("a directory");
        let file = dumps().join(format!("{SCHEMA_VERSION:04}.sql"));
        fs::write(&file, dump().await).expect("a file");
        output(Command::new("gzip").args(["-9", "-n", "-f"]).arg(&file));
    }
    let found = fs::read_dir(dumps()).map_or_else(|_| Vec::new(), |entries| entries.flatten().collect());
    assert!(!found.is_empty(), "there is a dump of a released version");
    for entry in found {
        let path = entry.path();
        let version = entry.file_name().to_string_lossy().trim_end_matches(".sql.gz").parse();
        let dump = String::from_utf8(output(Command::new("gzip").arg("-dc").arg(&path))).expect("UTF-8");
        upgraded(&dump, version.expect("a dump is named by its schema version")).await;
    }
}

/// So that the scene, and what is asked of it, fit the present functions whenever the next dump is written. Rule: 27.
#[tokio::test]
async fn work_goes_on_in_a_restored_dump_of_this_schema() {
    upgraded(&dump().await, SCHEMA_VERSION).await;
}
