//! Any login can take any advisory lock: nothing of ours may wait for one.

use std::time::Duration;

use tenure::core::codes;
use tenure::migrate::Options;
use tokio_postgres::Client;

use crate::fixture::{Db, get, one, rows, run, until_blocked};
use crate::migrate::{migrate, migrated};

/// Takes the numbers that configuration, the heartbeat of a worker of tenant 1 and migrations once waited for.
const ONCE_WAITED_FOR: &str = "select pg_advisory_lock(hashtextextended('tenure.tunings', 0)),
    pg_advisory_lock(hashtextextended('alpha worker', 1)), pg_advisory_lock(8387231331756895591)";

/// Fails when a call has to wait.
async fn hurried(c: &Client) {
    run(c, "set lock_timeout = '1s'; set statement_timeout = '30s'").await;
}

#[tokio::test]
async fn a_viewer_of_one_tenant_holds_up_no_admin_and_no_heartbeat_of_another() {
    let db = Db::open().await;
    let c = db.direct().await;
    one(&c, "select tenure.tenant_create('other')", &[]).await;
    let (_, admin) = db.login(&["tenure_admin"], "default", None).await;
    let (_, worker) = db.login(&["tenure_worker", "tenure_producer"], "default", None).await;
    let (_, viewer) = db.login(&["tenure_viewer"], "other", None).await;
    run(&viewer, ONCE_WAITED_FOR).await;
    hurried(&admin).await;
    hurried(&worker).await;
    let set = one(
        &admin,
        "select tenure.config_set('queue.lease.duration_sec', '120')",
        &[],
    )
    .await;
    assert_eq!(set["value"], 120, "{set}");
    let opened = one(&admin, "select tenure.gate_set('queue.notify.enabled', 'closed')", &[]).await;
    assert_eq!(opened["value"], false, "{opened}");
    let beat = one(
        &worker,
        "select tenure.executor_beat('alpha worker', 'external_worker')",
        &[],
    )
    .await;
    assert_eq!(beat["ticks_total"], 1, "{beat}");
    // A claim registers its worker, whatever a stranger holds.
    one(&worker, "select tenure.job_enqueue('report')", &[]).await;
    run(&viewer, "select pg_advisory_lock(hashtextextended('beta worker', 1))").await;
    rows(&worker, "select * from tenure.job_claim_many('beta worker')", &[]).await;
    let known = rows(&worker, "select executor_name from tenure.heartbeats order by 1", &[]).await;
    let known: Vec<&str> = known.iter().map(|row| row.get(0)).collect();
    assert_eq!(known, ["alpha worker", "beta worker"]);
}

/// Functions try such locks at most, where it does no harm when they are not free.
#[tokio::test]
async fn no_function_waits_for_an_advisory_lock() {
    let db = Db::open().await;
    let c = db.client().await;
    let found = rows(
        &c,
        "select p.proname::text from pg_proc p where p.pronamespace = 'tenure'::regnamespace
            and regexp_replace(p.prosrc, '--[^\\n]*', '', 'g') ~* '(?<!try_)advisory_(xact_)?lock' order by 1",
        &[],
    )
    .await;
    let found: Vec<&str> = found.iter().map(|row| row.get(0)).collect();
    assert!(found.is_empty(), "{found:?}");
    let tried = rows(
        &c,
        "select p.proname::text from pg_proc p where p.pronamespace = 'tenure'::regnamespace
            and p.prosrc ~* 'pg_try_advisory' order by 1",
        &[],
    )
    .await;
    let tried: Vec<&str> = tried.iter().map(|row| row.get(0)).collect();
    assert_eq!(
        tried,
        ["offer_take", "request_begin"],
        "says at the call why a lock that is not free does no harm"
    );
}

/// Two changes at once take turns: what both wrote is in force.
#[tokio::test]
async fn settings_of_a_tenant_and_of_the_installation_that_change_at_once_both_hold() {
    let db = Db::open().await;
    let (mut tenant, installation) = (db.direct().await, db.direct().await);
    let changing = tenant.transaction().await.expect("begin");
    let set = "select tenure.config_set('queue.lease.duration_sec', '77')";
    changing.query(set, &[]).await.expect("set");
    let everywhere = async {
        run(
            &installation,
            "begin; set local tenure.tenant = '*'; select tenure.config_set('queue.retry.max_attempts_default', '9');
             select tenure.tenant_create('made beside'); commit",
        )
        .await;
    };
    let waits = async {
        until_blocked(&db.direct().await, "max_attempts_default").await;
        changing.commit().await.expect("commit");
    };
    tokio::join!(everywhere, waits);
    let both = rows(
        &installation,
        "select lease_seconds, attempts_max from tenure.tunings where tenant_id = 1",
        &[],
    )
    .await;
    assert_eq!((both[0].get::<_, i32>(0), both[0].get::<_, i32>(1)), (77, 9));
    let new = "select attempts_max = 9 from tenure.tunings u join tenure.tenants t using (tenant_id) where t.name = 'made beside'";
    assert!(get::<bool>(&installation, new, &[]).await);
}

/// Rule: 27.
#[tokio::test]
async fn a_stranger_cannot_hold_up_a_migration_and_another_migration_is_named() {
    let (database, mut client) = migrated().await;
    let (stranger, mut other) = (
        database.connect().await.expect("connect"),
        database.connect().await.expect("connect"),
    );
    run(&stranger, ONCE_WAITED_FOR).await;
    let hurry = Options {
        wait: Duration::from_millis(200),
        attempts_max: 1,
        ..Options::default()
    };
    tenure::migrate(&mut client, &hurry)
        .await
        .expect("nothing is in the way");
    let migrating = other.transaction().await.expect("begin");
    migrating
        .batch_execute("set local role tenure_owner; lock table tenure.migrations in share row exclusive mode")
        .await
        .expect("locks");
    let pid: i32 = migrating
        .query_one("select pg_backend_pid()", &[])
        .await
        .expect("pid")
        .get(0);
    let error = tenure::migrate(&mut client, &hurry).await.expect_err("refused");
    assert!(error.is(codes::BUSY_TRY_AGAIN), "{error}");
    assert!(error.refusal().why.contains(&format!("process {pid}")), "{error}");
    migrating.rollback().await.expect("rollback");
    migrate(&mut client).await;
}
