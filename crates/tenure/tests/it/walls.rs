//! The walls between tenants: whatever a login of one tenant calls with whatever it knows of another, it sees nothing of
//! it and changes nothing there.

use std::collections::{BTreeMap, BTreeSet};

use tenure_api::registry::ENTRIES;
use tokio_postgres::Client;

use crate::fixture::{Db, enqueue_with, get, id_of, one, one_within, raised, refused, rows, run, try_rows};
use crate::walls_calls::{Call, calls};
use crate::walls_picture::Picture;
use crate::walls_scene::{furnish, furnish_tenant, values};

/// A login of tenant beta with every role but the server's.
async fn stranger(db: &Db) -> (String, Client) {
    member(db, "beta").await
}

/// A login of a tenant with every role but the server's.
async fn member(db: &Db, tenant: &str) -> (String, Client) {
    let roles = [
        "admin",
        "operator",
        "approver",
        "requester",
        "producer",
        "worker",
        "viewer",
    ]
    .map(|it| format!("tenure_{it}"));
    let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
    db.login(&roles, tenant, None).await
}

/// Proves: S128.
/// Guards: D19, D102.
/// Rule: 26.
#[tokio::test]
async fn a_foreign_tenant_sees_and_changes_nothing_with_any_function() {
    let db = Db::open().await;
    let c = db.direct().await;
    one(&c, "select tenure.tenant_create('beta')", &[]).await;
    let alpha = furnish(&db, &c).await;
    let (login, beta) = stranger(&db).await;
    let calls = calls(&c, &values(&alpha)).await;
    let picture = Picture::take(&c).await;
    let entering = |_: &Call| format!("set local session authorization {login}");
    let calls: Vec<Call> = calls.into_values().flatten().collect();
    let holes = picture.holes(&c, entering, &calls, Some("alpha")).await;
    assert!(holes.is_empty(), "{}", holes.join("\n\n"));

    let theirs: String = get(&beta, "select tenure.setting(1, 'queue.lease.duration_sec')::text", &[]).await;
    assert_eq!(theirs, "300", "another tenant's setting is not shown");
    let own: bool = get(
        &c,
        "select tenure.job_cancel($1, 'mine', 'force') ->> 'state' = 'cancelled'",
        &[&alpha.running.job_id],
    )
    .await;
    assert!(own, "the tenant itself can do what the stranger could not");
}

/// Where a stranger has a kind, a schedule or a rule of the same name, a function that forgets the tenant would change both.
/// Proves: S128.
/// Rule: 26.
#[tokio::test]
async fn a_tenant_with_the_same_names_shows_and_changes_its_own() {
    let db = Db::open().await;
    let c = db.direct().await;
    one(&c, "select tenure.tenant_create('beta')", &[]).await;
    let alpha = furnish(&db, &c).await;
    furnish_tenant(&db, &c, "beta").await;
    let (login, _) = stranger(&db).await;
    let calls = calls(&c, &values(&alpha)).await;
    let calls: Vec<Call> = calls.into_values().flatten().collect();
    let picture = Picture::take(&c).await;
    let entering = |_: &Call| format!("set local session authorization {login}");
    let holes = picture.holes(&c, entering, &calls, None).await;
    assert!(holes.is_empty(), "{}", holes.join("\n\n"));
}

/// Operations that a login with every role cannot carry out on what the scene holds, with the reason.
const NOT_IN_SCENE: &[(&str, &str)] = &[
    (
        "anchor_proof",
        "a server with a signing key makes checkpoints: see anchors_tenants",
    ),
    (
        "anchor_show",
        "a server with a signing key makes checkpoints: see anchors_tenants",
    ),
    (
        "execution_close",
        "no execution is partially failed: see executions_history",
    ),
    ("execution_resolve", "no step is in the state unknown: see verdicts"),
    ("tenant_create", "only the installation makes tenants"),
];

/// A call that fails for its arguments says nothing about a wall.
#[tokio::test]
async fn the_own_tenant_can_do_with_these_arguments_what_a_stranger_cannot() {
    let db = Db::open().await;
    let c = db.direct().await;
    let alpha = furnish(&db, &c).await;
    // One who has made what is there, and one who may decide about it.
    let (maker, _) = member(&db, "default").await;
    let principal: String = get(&c, "select principal from tenure.caller()", &[]).await;
    one(
        &c,
        "select tenure.login_bind($1, p_principal => $2)",
        &[&maker, &principal],
    )
    .await;
    let (decider, _) = member(&db, "default").await;
    rows(
        &c,
        r#"select tenure.principal_create($1, 'human'), tenure.principal_set($1, '{"approver_level": 3}')"#,
        &[&decider],
    )
    .await;
    let calls = calls(&c, &values(&alpha)).await;
    let picture = Picture::take(&c).await;
    let mut refused = Vec::new();
    let mut excused: BTreeMap<&str, &str> = NOT_IN_SCENE.iter().copied().collect();
    let functions: BTreeSet<&str> = ENTRIES.iter().map(|entry| entry.function).collect();
    for function in functions {
        let mut refusals = Vec::new();
        let mut is_done = false;
        for (call, login) in calls[function]
            .iter()
            .flat_map(|call| [(call, &maker), (call, &decider)])
        {
            let entering = format!("set local session authorization {login}");
            match picture.attempt(&c, &entering, call).await.answer {
                Ok(_) => {
                    is_done = true;
                    break;
                }
                Err(refusal) => refusals.push(format!("{call}: {refusal}")),
            }
        }
        if !is_done && excused.remove(function).is_none() {
            refused.push(refusals.join("\n"));
        }
    }
    assert!(
        refused.is_empty(),
        "add values to walls_scene.rs with which the tenant's own login is not refused:\n\n{}",
        refused.join("\n\n")
    );
    assert!(excused.is_empty(), "not refused at all: {excused:?}");
}

/// Proves: S128.
/// Rule: 26.
#[tokio::test]
async fn views_and_tables_show_the_own_tenant_only() {
    let db = Db::open().await;
    let c = db.direct().await;
    one(&c, "select tenure.tenant_create('beta')", &[]).await;
    furnish(&db, &c).await;
    let (_, beta) = stranger(&db).await;
    let readable = rows(
        &beta,
        "select c.relname::text, string_agg(a.attname, ', ') from pg_class c
           join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
            and has_column_privilege(c.oid, a.attnum, 'select')
          group by c.relname",
        &[],
    )
    .await;
    assert!(readable.len() >= 20, "most tables and every view can be read");
    for row in &readable {
        let (table, columns): (String, String) = (row.get(0), row.get(1));
        let sql =
            format!("select coalesce(string_agg(x::text, ' '), '') from (select {columns} from tenure.{table}) x");
        let seen: String = get(&beta, &sql, &[]).await;
        assert!(!seen.contains("alpha"), "{table} shows {seen}");
        if columns.split(", ").any(|it| it == "tenant_id") {
            let foreign: i64 = get(
                &beta,
                &format!("select count(*) from tenure.{table} where tenant_id = 1"),
                &[],
            )
            .await;
            assert_eq!(foreign, 0, "{table}");
        }
    }
    let partition = try_rows(&beta, "select job_id from tenure.jobs_p0", &[]).await;
    assert!(partition.is_err(), "a partition is not a way around its table's wall");
}

/// Guards: D20, D102.
/// Rule: 26.
#[tokio::test]
async fn a_login_that_names_another_tenant_or_principal_gains_nothing() {
    let db = Db::open().await;
    let c = db.direct().await;
    one(&c, "select tenure.tenant_create('beta')", &[]).await;
    let alpha = furnish(&db, &c).await;
    let (login, beta) = stranger(&db).await;
    for tenant in ["default", "*", "nowhere", ""] {
        run(&beta, &format!("set tenure.tenant = '{tenant}'; set tenure.principal = 'root'; set tenure.payload_access = 'restricted'")).await;
        refused(
            &one(&beta, "select tenure.job_cancel($1, 'no')", &[&alpha.queued]).await,
            "job_not_found",
        );
        let who = rows(
            &beta,
            "select tenant_id, principal, scope, payload_access from tenure.caller()",
            &[],
        )
        .await;
        assert_eq!(who[0].get::<_, i32>(0), 2, "tenure.tenant = '{tenant}'");
        assert_eq!(who[0].get::<_, String>(1), login);
        assert_eq!(who[0].get::<_, String>(2), "tenant");
        assert_eq!(who[0].get::<_, String>(3), "safe");
        let seen: i64 = get(&beta, "select count(*) from tenure.job_queue", &[]).await;
        assert_eq!(seen, 0);
    }
    let own = enqueue_with(&beta, "report", ", p_on_behalf_of => 'somebody else'").await;
    let row = rows(
        &c,
        "select enqueued_by, on_behalf_of from tenure.jobs where job_id = $1",
        &[&own],
    )
    .await;
    assert_eq!(
        row[0].get::<_, String>(0),
        login,
        "on behalf of somebody, but the actor is the login's principal"
    );
    assert_eq!(row[0].get::<_, String>(1), "somebody else");
    one(
        &beta,
        "select tenure.job_cancel($1, 'enough', p_on_behalf_of => 'a boss')",
        &[&own],
    )
    .await;
    let event = rows(
        &c,
        "select actor, on_behalf_of from tenure.events where kind = 'job.cancelled' and $1 = any (job_ids)",
        &[&own],
    )
    .await;
    assert_eq!(event[0].get::<_, String>(0), login);
    assert_eq!(event[0].get::<_, String>(1), "a boss");
}

/// Guards: D20, D102.
/// Rule: 26.
#[tokio::test]
async fn the_server_acts_as_the_tenant_and_principal_its_transaction_names() {
    let db = Db::open().await;
    let c = db.direct().await;
    one(&c, "select tenure.tenant_create('beta')", &[]).await;
    let (_, server) = db.login(&["tenure_server"], "default", None).await;
    run(
        &server,
        "begin; set local tenure.tenant = 'beta'; set local tenure.principal = 'ada'",
    )
    .await;
    let job = id_of(&one(&server, "select tenure.job_enqueue('report')", &[]).await);
    run(&server, "commit").await;
    let row = rows(
        &c,
        "select tenant_id, enqueued_by from tenure.jobs where job_id = $1",
        &[&job],
    )
    .await;
    assert_eq!((row[0].get::<_, i32>(0), row[0].get::<_, &str>(1)), (2, "ada"));

    let tenant: i32 = get(&server, "select tenure.current_tenant()", &[]).await;
    assert_eq!(
        tenant, 1,
        "the setting ended with its transaction, also when it is left behind empty"
    );
    run(&server, "begin; set local tenure.tenant = 'nowhere'").await;
    raised(try_rows(&server, "select tenure.health()", &[]).await, "tenant_unknown");
    run(&server, "rollback; begin; set local tenure.tenant = '*'").await;
    refused(
        &one_within(&server, "select tenure.job_enqueue('report')", &[]).await,
        "tenant_unknown",
    );
    let seen: i64 = get(&server, "select count(*) from tenure.job_queue", &[]).await;
    assert_eq!(seen, 1, "every tenant's jobs");
    run(&server, "rollback").await;
    let bypass: bool = get(
        &c,
        "select rolbypassrls from pg_roles where rolname = 'tenure_server'",
        &[],
    )
    .await;
    assert!(!bypass);
}
