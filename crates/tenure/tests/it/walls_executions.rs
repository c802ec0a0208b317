//! The plans, approvals, locks and evidence of the furnished tenant.

use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{claim_with, get, one, rows, verb};
use crate::walls_governance;

/// What of it was planned: executions that wait for an approval, that run, that failed and that are archived.
pub(crate) struct Executions {
    waiting: Uuid,
    approval: Uuid,
    running: Uuid,
    failed: Uuid,
    archived: Uuid,
    fence: i64,
    plan_hash: String,
    change: Uuid,
}

/// A plan of one step, as a stranger may find it.
fn plan(purpose: &str, action_class: &str) -> String {
    format!(
        r#"{{"purpose": "{purpose}", "sla_class": "long", "steps": [{{"id": "one", "action": "touch", "action_class": "{action_class}", "kind": "{purpose}", "lock_scope": "target", "target_ref": "{purpose} ref", "target_type": "thing"}}]}}"#
    )
}

/// Plans of a tenant in every state a stranger could wish to reach.
pub(crate) async fn furnish(c: &Client, tenant_id: i32) -> Executions {
    rows(
        c,
        r#"select tenure.approval_rule_set('alpha rule', '{"position": 10, "target_refs": ["alpha secret"], "level": 3, "note": "alpha note"}'),
                  tenure.timeout_policy_set('fast', 'read', '{"step_timeout_ms": 1234}'), tenure.principal_set('alpha owner', '{"approver_level": 2, "approval_roles": ["alpha role"]}')"#,
        &[],
    )
    .await;
    let submit = async |purpose: &str, action_class: &str| -> Uuid {
        let sql = "select tenure.execution_submit($1, p_key => 'alpha ' || $2, p_metadata => '{\"mark\": \"alpha metadata\"}')";
        let made = one(c, sql, &[&plan(purpose, action_class), &purpose]).await;
        let id = made["execution_id"].as_str().unwrap_or_else(|| panic!("{made}"));
        id.parse().expect("an id")
    };
    let waiting = submit("alpha change", "modify").await;
    let approval = get(c, "select approval_id from tenure.approval_list($1)", &[&waiting]).await;
    let plan_hash = get(
        c,
        "select plan_hash from tenure.executions where execution_id = $1",
        &[&waiting],
    )
    .await;
    let failed = submit("alpha broken", "read").await;
    let held = claim_with(c, "alpha worker", ", p_kinds => array['alpha broken']")
        .await
        .remove(0);
    verb(c, "job_fail", &held, ", 'alpha error', 'permanent'").await;
    let running = submit("alpha read", "read").await;
    let taken = one(
        c,
        "select tenure.lock_acquire(array['thing:alpha hand'], 3600, 'alpha reason')",
        &[],
    )
    .await;
    let fence = taken["locks"][0]["fence"].as_i64().unwrap_or_else(|| panic!("{taken}"));
    let archived = Uuid::new_v4();
    rows(
        c,
        "insert into tenure.requests (key_hash, tenant_id, key_id, asked, status, answer, created_at, expires_at)
         values ($1, $2, $1, '{\"members\": {}}', 201, 'alpha answer', to_timestamp(0), to_timestamp(1))",
        &[&archived, &tenant_id],
    )
    .await;
    rows(
        c,
        "insert into tenure.execution_archives (execution_id, tenant_id, purpose, plan_hash, state, requested_by, created_at, ended_at, archived_at, evidence)
         values ($1, $2, 'alpha old', 'alpha', 'succeeded', 'alpha owner', now(), now(), now(), 'alpha evidence')",
        &[&archived, &tenant_id],
    )
    .await;
    one(c, "select tenure.execution_freeze('alpha freeze')", &[]).await;
    let change = walls_governance::furnish(c).await;
    Executions {
        waiting,
        approval,
        running,
        failed,
        archived,
        fence,
        plan_hash,
        change,
    }
}

/// What a stranger would give as an argument: see `walls_scene::values`.
pub(crate) fn values(e: &Executions) -> Vec<(&'static str, Vec<String>)> {
    let id = |id: Uuid| id.to_string();
    let texts = |texts: &[&str]| -> Vec<String> { texts.iter().map(|it| (*it).to_owned()).collect() };
    #[rustfmt::skip] // A table is read by column.
    let mut all = vec![
        ("execution_id", vec![id(e.running), id(e.waiting), id(e.failed), id(e.archived)]),
        ("other_id", vec![id(e.waiting)]),
        ("supersedes", vec![id(e.waiting)]),
        ("execution_list/before", vec![id(e.running)]),
        ("archives/before", vec![id(e.archived)]),
        ("execution_dead_letter_list/before_id", vec![id(e.failed)]),
        ("approval_id", vec![id(e.approval)]),
        ("approvals/after_id", vec![id(e.approval)]),
        ("approvals/plan_hash", vec![e.plan_hash.clone()]),
        ("plan", vec![plan("newcomer", "modify"), plan("newcomer", "read")]),
        ("executions/key", texts(&["alpha alpha change"])),
        ("executions/metadata", texts(&[r#"{"mark": 1}"#])),
        ("executions/target", texts(&["thing:alpha change ref"])),
        ("step_id", texts(&["one"])),
        ("approvals/name", texts(&["alpha rule"])),
        ("approvals/spec", texts(&[r#"{"level": 0}"#])),
        ("sla_class", texts(&["fast"])),
        ("action_class", texts(&["read"])),
        ("timeout_policies/spec", texts(&[r#"{"step_timeout_ms": 1000}"#])),
        ("part", texts(&["thing:alpha hand", "thing:alpha read ref"])),
        ("lock_acquire/parts", texts(&[r#"{"thing:alpha hand"}"#, r#"{"thing:newcomer"}"#])),
        ("fence", vec![e.fence.to_string()]),
    ];
    all.extend(walls_governance::values(e.change));
    all
}
