//! A database full of live work, as a program of one version leaves it to the next. Everything is made by public
//! functions. Each piece has a kind or a purpose of its own, by which the tests of upgrades find it again.

use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::anchors_scene::anchored;
use crate::approvals_scene::{Asked, act, decide, people, submit};
use crate::fixture::{Claimed, Db, claim_with, enqueue, enqueue_with, one, rows, run, state, verb};
use crate::schedules_scene::{look_after, schedule};

/// The database, and a session that acts as pam.
pub(crate) async fn furnished() -> (Db, Client) {
    let (db, mut c) = people().await;
    run(
        &c,
        "begin;
         set local tenure.tenant = '*';
         select tenure.tenant_create('other');
         -- A dump is restored years later, and what it holds must not be too old then.
         select tenure.config_set('retention.events_days', '3650'), tenure.config_set('retention.tombstone_days', '3650');
         commit",
    )
    .await;
    act(&c, "pam").await;
    // First, because it lets time pass, and leases would run out.
    slots(&db, &mut c).await;
    one(
        &c,
        "select tenure.subscription_create('audit', array['job.enqueued'], 'reader')",
        &[],
    )
    .await;
    jobs(&c).await;
    executions(&c).await;
    act(&c, "pam").await;
    one(
        &c,
        "select tenure.key_create('ada', 'upgraded', sha256('secret'), array['approver'], 3)",
        &[],
    )
    .await;
    checkpoint(&mut c).await;
    (db, c)
}

/// A schedule with a slot that succeeded, one that runs, and one to come.
async fn slots(db: &Db, c: &mut Client) {
    schedule(
        c,
        "hourly",
        json!({"kind": "report", "every_seconds": 3600, "overlap": "queue"}),
    )
    .await;
    look_after(db, c, "1 hour 1 minute").await;
    let first = started(c, "report").await;
    verb(c, "job_complete", &first, ", '{\"rows\": 12}'").await;
    look_after(db, c, "1 hour").await;
    started(c, "report").await;
}

/// Jobs in each state.
async fn jobs(c: &Client) {
    let ready = ", '{\"n\": 12345678901234567890, \"text\": \"ü\"}', p_key => 'taken', p_priority => 'urgent',
                   p_target_ref => 'file:1', p_correlation_id => 'order 7', p_attempts_max => 3";
    enqueue_with(c, "ready", ready).await;
    enqueue_with(c, "delayed", ", p_due => tenure.now() + interval '1 hour'").await;
    enqueue(c, "leased").await;
    assert_eq!(claimed(c, "leased", "leased").await.state, "leased");
    enqueue(c, "started").await;
    let held = started(c, "started").await;
    verb(c, "job_progress", &held, ", '{\"percent\": 40}'").await;
    enqueue(c, "ended").await;
    let held = started(c, "ended").await;
    verb(c, "job_complete", &held, ", '{\"rows\": 7}'").await;
    enqueue(c, "again").await;
    let held = started(c, "again").await;
    verb(c, "job_fail", &held, ", 'the disk is full'").await;
    assert_eq!(state(c, held.job_id).await, "retry_waiting");
    enqueue(c, "dead").await;
    let held = started(c, "dead").await;
    verb(c, "job_fail", &held, ", 'no such host', 'permanent'").await;
    assert_eq!(state(c, held.job_id).await, "dead_letter");
    let cancelled = enqueue(c, "cancelled").await;
    one(c, "select tenure.job_cancel($1, 'not needed')", &[&cancelled]).await;
    enqueue(c, "paused").await;
    rows(
        c,
        "select tenure.kind_set('limited', '{\"concurrency_max\": 1, \"description\": \"one at a time\"}'),
                tenure.kind_set('timed', '{\"run_timeout_seconds\": 600}'), tenure.kind_pause('paused', 'until Monday')",
        &[],
    )
    .await;
    enqueue(c, "timed").await;
    enqueue(c, "limited").await;
    enqueue(c, "limited").await;
    started(c, "limited").await;
    run(
        c,
        "begin; set local tenure.tenant = 'other'; select tenure.job_enqueue('elsewhere'); commit",
    )
    .await;
}

/// Executions that have succeeded and failed, that wait for an approval, run with a lock, and wait for that lock.
async fn executions(c: &Client) {
    submit(c, "eve", &plan("succeeded", "read", "one"), "").await;
    for _ in ["first", "second"] {
        let held = started(c, "succeeded").await;
        verb(c, "job_complete", &held, ", '{\"seen\": 3}'").await;
    }
    submit(c, "eve", &plan("failed", "read", "two"), "").await;
    let held = started(c, "failed").await;
    verb(c, "job_fail", &held, ", 'broken', 'permanent'").await;
    let more = ", p_key => 'plan 1', p_on_behalf_of => 'pam', p_metadata => '{\"ticket\": 9}'";
    submit(c, "eve", &plan("waiting", "modify", "three"), more).await;
    let running = Asked::of(&submit(c, "eve", &plan("running", "modify", "shared"), "").await);
    decide(c, "ada", &running, "approve", "").await;
    started(c, "running").await;
    let blocked = Asked::of(&submit(c, "eve", &plan("blocked", "modify", "shared"), "").await);
    decide(c, "bob", &blocked, "approve", "").await;
    act(c, "pam").await;
    let locked = one(
        c,
        "select tenure.lock_acquire(array['host:by hand'], 3600, 'maintenance')",
        &[],
    )
    .await;
    assert_eq!(locked["locks"].as_array().map(Vec::len), Some(1), "{locked}");
}

/// A signed checkpoint over all chains.
async fn checkpoint(c: &mut Client) {
    let transaction = c.transaction().await.expect("begin");
    tenure::evidence::ensure_key(&transaction).await.expect("a key");
    transaction.commit().await.expect("commit");
    anchored(c).await;
}

/// A plan of two steps, one after the other, whose jobs are of the kind of its purpose. The first locks its target.
fn plan(purpose: &str, class: &str, target: &str) -> Value {
    let step = |id: &str, needs: &[&str], lock: &str, target: &str| {
        json!({"id": id, "action": "touch", "action_class": class, "kind": purpose, "needs": needs,
               "lock_scope": lock, "target_type": "host", "target_ref": target, "payload": {"of": purpose}})
    };
    json!({"purpose": purpose, "sla_class": "long", "runbook_ref": "https://example.org/runbook", "steps": [
        step("first", &[], "target", target),
        step("second", &["first"], "none", purpose),
    ]})
}

/// Claims the one job of this kind, for an hour.
async fn claimed(c: &Client, kind: &str, mode: &str) -> Claimed {
    let arguments = format!(", p_kinds => array['{kind}'], p_mode => '{mode}', p_lease_seconds => 3600");
    let mut found = claim_with(c, "worker", &arguments).await;
    assert_eq!(found.len(), 1, "one job of the kind {kind} is claimable");
    found.remove(0)
}

pub(crate) async fn started(c: &Client, kind: &str) -> Claimed {
    claimed(c, kind, "started").await
}
