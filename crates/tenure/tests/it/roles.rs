//! Who may call what: the whole matrix, and what really happens to a login that tries.

use std::collections::{BTreeMap, BTreeSet};

use tenure_api::Effect;
use tenure_api::registry::ENTRIES;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::fixture::{Db, claim, enqueue, get, one, raised, refused, rows, try_rows};
use crate::grants::granted;
use crate::walls_calls::calls;
use crate::walls_picture::Picture;
use crate::walls_scene::{furnish, values};

const SERVER: &str = "tenure_server";
const ADMIN: &str = "tenure_admin";
const OPERATOR: &str = "tenure_operator";
const APPROVER: &str = "tenure_approver";
const REQUESTER: &str = "tenure_requester";
const PRODUCER: &str = "tenure_producer";
const WORKER: &str = "tenure_worker";
const VIEWER: &str = "tenure_viewer";
const ROLES: [&str; 8] = [SERVER, ADMIN, OPERATOR, APPROVER, REQUESTER, PRODUCER, WORKER, VIEWER];

/// What no comment beside a function may ever grant: the promises that the roles are there for. The server is trusted; it is here
/// only with what even its clients never reach.
#[rustfmt::skip] // A table is read by column.
const NEVER: &[(&str, &[&str], &[&str])] = &[
    ("only workers hold jobs", &[ADMIN, OPERATOR, APPROVER, REQUESTER, PRODUCER, VIEWER], &[
        "job_claim", "job_claim_many", "job_turn", "job_held", "job_start", "job_start_many", "job_heartbeat", "job_heartbeat_many", "job_progress",
        "job_complete", "job_fail", "job_snooze", "job_release", "job_end_many", "job_acknowledge_cancel", "offer_make", "executor_beat", "try_job_claim",
    ]),
    ("only approvers decide about plans", &[ADMIN, OPERATOR, REQUESTER, PRODUCER, WORKER, VIEWER], &["approval_decide"]),
    ("who approves or only enqueues submits no plans", &[APPROVER, PRODUCER, WORKER, VIEWER], &["execution_submit", "execution_retry", "execution_withdraw"]),
    ("requesters, approvers and viewers enqueue nothing", &[REQUESTER, APPROVER, VIEWER], &[
        "job_enqueue", "job_enqueue_many", "job_enqueue_plain", "try_job_enqueue", "lane_open",
    ]),
    ("only admins configure", &[OPERATOR, APPROVER, REQUESTER, PRODUCER, WORKER, VIEWER], &[
        "config_set", "kind_set", "approval_rule_set", "approval_rule_delete", "principal_create", "principal_set", "key_create", "key_revoke", "login_bind", "login_unbind",
        "tenant_create", "action_set", "action_delete", "target_type_set", "timeout_policy_set", "governance_change_decide",
    ]),
    ("operators and admins decide about the work of others", &[APPROVER, REQUESTER, PRODUCER, WORKER, VIEWER], &[
        "job_cancel", "job_retry", "job_dead_letter", "dead_letter_triage", "dead_letter_replay", "gate_set", "kind_pause", "execution_cancel", "execution_resolve",
        "execution_freeze", "execution_unfreeze", "lock_break", "schedule_create", "schedule_delete", "subscription_create", "subscription_rotate",
    ]),
    ("only servers see secrets, act for keys and keep evidence", &[ADMIN, OPERATOR, APPROVER, REQUESTER, PRODUCER, WORKER, VIEWER], &[
        "key_check", "act_for_key", "delivery_claim", "evidence_key_current", "evidence_key_add", "evidence_key_register", "execution_archive", "anchor_add", "request_end",
    ]),
    ("functions of the core are called by the core only", &ROLES, &[
        "is_trusted", "enqueue_alike", "steps_dispatch", "executions_advance", "installation_stamp",
    ]),
];

/// Proves: S128.
/// Guards: D33, D54.
#[tokio::test]
async fn each_role_may_call_exactly_what_the_functions_grant() {
    let db = Db::open().await;
    let c = db.client().await;
    let granted = granted();
    let found = rows(
        &c,
        "select p.proname::text, r.name, has_function_privilege(r.name, p.oid, 'execute')
           from pg_proc p cross join unnest($1) r (name) where p.pronamespace = 'tenure'::regnamespace",
        &[&ROLES.to_vec()],
    )
    .await;
    let mut unseen: BTreeSet<&str> = granted.keys().map(String::as_str).collect();
    let mut allowed: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in &found {
        let (function, role, may): (&str, &str, bool) = (row.get(0), row.get(1), row.get(2));
        let roles = granted.get(function).map_or(&[][..], |granted| &granted.roles);
        let should = roles.contains(&role.trim_start_matches("tenure_"));
        assert_eq!(may, should, "{role} and {function}");
        unseen.remove(function);
        let roles = allowed.entry(function).or_default();
        if may {
            roles.insert(role);
        }
    }
    assert!(
        unseen.is_empty(),
        "a comment grants them, but they are not in the database: {unseen:?}"
    );
    for (promise, roles, functions) in NEVER {
        for function in *functions {
            let allowed = allowed.get(function);
            let allowed = allowed.unwrap_or_else(|| panic!("{promise}: there is no function {function}"));
            let broken: Vec<&&str> = roles.iter().filter(|role| allowed.contains(**role)).collect();
            assert!(broken.is_empty(), "{promise}: {broken:?} may call {function}");
        }
    }
}

/// Operations that change nothing a caller could see, and write nevertheless.
const WRITES_UNSEEN: &[(&str, &str)] = &[(
    "subscription_read",
    "it locks its subscription, and moves the cursor past events that do not match",
)];

/// Every operation, and every other function that is granted, is called by every role: with a right it is carried out or refused for
/// its arguments, without one PostgreSQL refuses it. An operation that only reads writes nothing, whichever role calls it.
/// Proves: S128.
#[tokio::test]
async fn every_operation_is_called_by_every_role_and_what_reads_writes_nothing() {
    let db = Db::open().await;
    let c = db.direct().await;
    let alpha = furnish(&db, &c).await;
    let calls = calls(&c, &values(&alpha)).await;
    let reads: BTreeSet<&str> = ENTRIES
        .iter()
        .filter(|entry| entry.effect == Effect::Reads)
        .map(|entry| entry.function)
        .filter(|function| !WRITES_UNSEEN.iter().any(|(known, _)| known == function))
        .collect();
    let granted = granted();
    let picture = Picture::take(&c).await;
    let mut wrong = Vec::new();
    for role in ROLES {
        let (login, _) = db.login(&[role], "default", None).await;
        let entering = format!("set local session authorization {login}");
        for (function, calls) in &calls {
            let outcome = picture.attempt(&c, &entering, &calls[0]).await;
            let is_denied = outcome.code == SqlState::INSUFFICIENT_PRIVILEGE.code();
            let may = granted[function].roles.contains(&role.trim_start_matches("tenure_"));
            if is_denied == may {
                wrong.push(format!("{role} and {}: {:?}", calls[0], outcome.answer));
            }
            if outcome.has_written && reads.contains(function.as_str()) {
                wrong.push(format!("{} only reads, but has written for {role}", calls[0]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Asserts that the database itself refuses: the login has no right to call or touch that.
async fn no_right(client: &Client, sql: &str) {
    let error = try_rows(client, sql, &[]).await.expect_err(sql);
    assert_eq!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{sql}: {error}");
}

/// Proves: S128.
/// Guards: D54.
#[tokio::test]
async fn a_producer_enqueues_and_cannot_claim_decide_or_configure() {
    let db = Db::open().await;
    let (_, producer) = db.login(&[PRODUCER], "default", None).await;
    enqueue(&producer, "report").await;
    for sql in [
        "select tenure.job_claim('w')",
        "select * from tenure.job_claim_many('w')",
        "select tenure.job_complete(gen_random_uuid(), gen_random_uuid())",
        "select tenure.job_cancel(gen_random_uuid(), 'no')",
        "select tenure.gate_set('queue.job_substrate.enabled', 'closed')",
        "select tenure.config_set('queue.lease.duration_sec', '1')",
        "select tenure.executor_beat('p', 'DOT')",
    ] {
        no_right(&producer, sql).await;
    }
    let queued: i64 = get(
        &producer,
        "select count(*) from tenure.job_queue where state = 'queued'",
        &[],
    )
    .await;
    assert_eq!(queued, 1, "it may look");
}

/// Proves: S78, S128.
/// Guards: D54.
#[tokio::test]
async fn a_worker_enqueues_only_for_executors_it_drives() {
    let db = Db::open().await;
    let (_, bound) = db.login(&[WORKER], "default", Some(&["Codex"])).await;
    enqueue_for(&bound, "Codex").await.expect("its own executor");
    refused(
        &one(&bound, "select tenure.job_enqueue('report', p_executor => 'DOT')", &[]).await,
        "executor_not_driven",
    );
    raised(
        try_rows(
            &bound,
            "select * from tenure.job_enqueue_many(array['report'], p_executors => array['Agent'])",
            &[],
        )
        .await,
        "executor_not_driven",
    );
    let lanes: i64 = get(
        &bound,
        "select count(*) from tenure.lanes where executor <> 'Codex'",
        &[],
    )
    .await;
    assert_eq!(lanes, 0, "a refused enqueue leaves no lane behind");

    let (_, free) = db.login(&[WORKER], "default", None).await;
    refused(
        &one(&free, "select tenure.job_enqueue('report')", &[]).await,
        "executor_not_driven",
    );

    let (_, both) = db.login(&[WORKER, PRODUCER], "default", None).await;
    enqueue(&both, "report").await;
}

async fn enqueue_for(client: &Client, executor: &str) -> Result<Vec<tokio_postgres::Row>, tokio_postgres::Error> {
    try_rows(
        client,
        "select * from tenure.job_enqueue_many(array['report'], p_executors => array[$1])",
        &[&executor],
    )
    .await
}

/// Proves: S128.
#[tokio::test]
async fn a_worker_claims_only_for_executors_and_kinds_it_is_bound_to() {
    let db = Db::open().await;
    let c = db.client().await;
    one(&c, "select tenure.job_enqueue('report', p_executor => 'DOT')", &[]).await;
    one(&c, "select tenure.job_enqueue('report', p_executor => 'Codex')", &[]).await;
    one(&c, "select tenure.job_enqueue('audit', p_executor => 'Codex')", &[]).await;
    let (login, worker) = db.login(&[WORKER], "default", Some(&["Codex"])).await;
    one(
        &c,
        "select tenure.login_bind($1, p_executors => array['Codex'], p_kinds => array['report'])",
        &[&login],
    )
    .await;
    let taken = claim(&worker, "w").await;
    let executor: String = get(
        &c,
        "select executor from tenure.jobs where job_id = $1",
        &[&taken.job_id],
    )
    .await;
    assert_eq!(executor, "Codex");
    let more = one(&worker, "select tenure.job_claim('w')", &[]).await;
    assert!(
        more["job"].is_null(),
        "neither the other executor's nor the other kind's: {more}"
    );
    refused(
        &one(&worker, "select tenure.job_claim('w', 'DOT')", &[]).await,
        "executor_not_driven",
    );
    refused(
        &one(
            &worker,
            "select tenure.job_enqueue('audit', p_executor => 'Codex')",
            &[],
        )
        .await,
        "kind_not_allowed",
    );
}

/// Proves: S128.
#[tokio::test]
async fn a_viewer_and_an_approver_only_look() {
    let db = Db::open().await;
    enqueue(&db.client().await, "report").await;
    for role in [VIEWER, APPROVER] {
        let (_, looker) = db.login(&[role], "default", None).await;
        for sql in [
            "select tenure.job_enqueue('report')",
            "select tenure.job_claim('w')",
            "select tenure.job_cancel(gen_random_uuid(), 'no')",
            "select tenure.job_sweep()",
            "select tenure.gate_set('queue.job_substrate.enabled', 'closed')",
            "select tenure.login_bind('x')",
        ] {
            no_right(&looker, sql).await;
        }
        let seen: i64 = get(&looker, "select count(*) from tenure.job_queue", &[]).await;
        assert_eq!(seen, 1);
        let health = one(&looker, "select tenure.health()", &[]).await;
        assert_eq!(health["backlog"], 1, "{health}");
    }
}

/// Proves: S98, S109.
#[tokio::test]
async fn an_operator_decides_but_does_not_configure_and_an_admin_does_not_hold_jobs() {
    let db = Db::open().await;
    let job = enqueue(&db.client().await, "report").await;
    let (name, operator) = db.login(&[OPERATOR], "default", None).await;
    no_right(&operator, "select tenure.config_set('queue.lease.duration_sec', '1')").await;
    no_right(&operator, "select tenure.kind_set('report')").await;
    no_right(&operator, "select tenure.job_claim('w')").await;
    let answer = one(&operator, "select tenure.job_cancel($1, 'no longer needed')", &[&job]).await;
    assert_eq!(answer["state"], "cancelled");
    let actor: String = get(
        &operator,
        "select actor from tenure.attempts where job_id = $1",
        &[&job],
    )
    .await;
    assert_eq!(actor, name);

    let (_, admin) = db.login(&[ADMIN], "default", None).await;
    no_right(&admin, "select tenure.job_claim('w')").await;
    let set = one(
        &admin,
        "select tenure.config_set('queue.lease.duration_sec', '60')",
        &[],
    )
    .await;
    assert_eq!(set["value"], 60);
    refused(
        &one(&admin, "select tenure.tenant_create('another')", &[]).await,
        "not_permitted",
    );
}

/// Proves: S98, S109, S128.
#[tokio::test]
async fn no_role_writes_a_table_or_reads_a_token() {
    let db = Db::open().await;
    enqueue(&db.client().await, "report").await;
    let (_, all) = db.login(&ROLES, "default", None).await;
    let tables = rows(
        &all,
        "select c.relname::text from pg_class c where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p')",
        &[],
    )
    .await;
    assert!(tables.len() > 20);
    for row in &tables {
        let table: &str = row.get(0);
        no_right(&all, &format!("delete from tenure.{table}")).await;
        no_right(&all, &format!("truncate tenure.{table}")).await;
        no_right(&all, &format!("insert into tenure.{table} default values")).await;
    }
    no_right(&all, "update tenure.ready set attempts = 0").await;
    no_right(&all, "update tenure.jobs set priority = 0").await;
    no_right(&all, "select token from tenure.leases").await;
    no_right(&all, "select payload from tenure.jobs").await;
    no_right(&all, "select * from tenure.logins").await;
    no_right(&all, "set role tenure_owner").await;
    no_right(&all, "alter table tenure.jobs disable row level security").await;
}

/// Guards: D33.
#[tokio::test]
async fn a_login_without_a_role_reaches_nothing() {
    let db = Db::open().await;
    let (_, stranger) = db.login(&[], "default", None).await;
    for sql in [
        "select tenure.job_enqueue('report')",
        "select * from tenure.job_queue",
        "select tenure.health()",
        "select tenure.now()",
    ] {
        no_right(&stranger, sql).await;
    }
}
