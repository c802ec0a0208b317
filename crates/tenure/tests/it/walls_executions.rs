//! The plans, approvals, locks and evidence of the furnished tenant, and what a stranger would try with them.

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
    pub(crate) change: Uuid,
}

/// A plan of one step, as a stranger may find it.
fn plan(purpose: &str, action_class: &str) -> String {
    format!(
        r#"{{"purpose": "{purpose}", "sla_class": "long", "steps": [{{"id": "one", "action": "touch", "action_class": "{action_class}", "kind": "{purpose}", "lock_scope": "target", "target_ref": "{purpose} ref", "target_type": "thing"}}]}}"#
    )
}

/// Plans of tenant default in every state a stranger could wish to reach.
pub(crate) async fn furnish(c: &Client) -> Executions {
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
         values ($1, 1, $1, '{\"members\": {}}', 201, 'alpha answer', to_timestamp(0), to_timestamp(1))",
        &[&archived],
    )
    .await;
    rows(
        c,
        "insert into tenure.execution_archives (execution_id, tenant_id, purpose, plan_hash, state, requested_by, created_at, ended_at, archived_at, evidence)
         values ($1, 1, 'alpha old', 'alpha', 'succeeded', 'alpha owner', now(), now(), now(), 'alpha evidence')",
        &[&archived],
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
        change,
    }
}

/// Every function about executions, approvals, locks and evidence.
pub(crate) fn attempts(e: &Executions) -> Vec<(&'static str, String)> {
    let (w, r, f) = (e.waiting, e.running, e.failed);
    let theirs = plan("stranger", "modify");
    let hash = "0".repeat(64);
    let held = format!("array['thing:alpha hand'], array[{}]::bigint[]", e.fence);
    let none = String::new;
    vec![
        ("execution_moves", none()),
        ("execution_show", format!("'{w}'")),
        ("execution_plan", format!("'{w}'")),
        ("execution_list", format!("p_before => '{r}'")),
        ("step_list", format!("'{r}'")),
        ("execution_timeline", format!("'{r}'")),
        ("execution_difference", format!("'{w}', '{r}'")),
        ("execution_ended", format!("array['{w}', '{f}']::uuid[]")),
        ("execution_preview", format!("'{}'", plan("stranger", "deploy"))),
        ("execution_evidence", format!("'{f}'")),
        ("execution_archive_show", format!("'{}'", e.archived)),
        ("execution_archive_list", format!("p_before => '{}'", e.archived)),
        ("execution_dead_letter_list", none()),
        ("execution_dead_letter_show", format!("'{f}'")),
        ("approval_list", format!("'{w}', null")),
        ("approval_show", format!("'{}'", e.approval)),
        ("approval_votes_of", format!("'{}'", e.approval)),
        ("approval_rule_list", none()),
        ("lock_list", none()),
        ("lock_waiters", "'thing:alpha read ref'".into()),
        ("timeout_policy_list", none()),
        ("evidence_key_list", none()),
        ("anchor_list", "p_heads => true".into()),
        ("anchor_show", "1".into()),
        ("anchor_proof", format!("'{f}'")),
        ("anchor_status", none()),
        (
            "execution_submit",
            format!("'{theirs}', 'alpha alpha change', p_supersedes => '{w}'"),
        ),
        ("execution_withdraw", format!("'{w}', 'no'")),
        ("execution_background", format!("'{w}'")),
        ("approval_decide", format!("'{}', 'reject', '{hash}', 'no'", e.approval)),
        ("lock_acquire", "array['thing:alpha hand'], 60".into()),
        ("lock_renew", format!("{held}, 60")),
        ("lock_release", held),
        ("lock_break", "'thing:alpha hand', 'no'".into()),
        ("execution_cancel", format!("'{r}', 'no'")),
        ("execution_resolve", format!("'{r}', 'one', 'failed', 'no'")),
        ("execution_retry", format!("'{f}'")),
        ("execution_close", format!("'{f}', 'no'")),
        ("execution_freeze", "'no'".into()),
        ("execution_unfreeze", "'no'".into()),
        ("execution_tick", none()),
        ("execution_dead_letter_triage", format!("'{f}', 'closed'")),
        ("approval_rule_set", r#"'alpha rule', '{"level": 0}'"#.into()),
        ("approval_rule_delete", "'alpha rule'".into()),
        ("principal_set", r#"'alpha owner', '{"approver_level": 3}'"#.into()),
        (
            "timeout_policy_set",
            r#"'fast', 'read', '{"step_timeout_ms": 1000}'"#.into(),
        ),
    ]
}
