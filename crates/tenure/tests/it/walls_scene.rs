//! What a stranger meets: a furnished tenant, every function with the arguments one would try, and a picture of all that must
//! not change.

use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Claimed, Db, claim, claim_with, enqueue_with, get, one, rows, until, verb};
use crate::walls_executions::{self, Executions};
use crate::walls_governance;

/// Everything of tenant default that a stranger could get hold of. Every text in it contains the word alpha.
pub(crate) struct Alpha {
    pub(crate) queued: Uuid,
    leased: Claimed,
    pub(crate) running: Claimed,
    failed: Uuid,
    dead_letter: Uuid,
    replayable: Uuid,
    fingerprint: String,
    cursor: String,
    login: String,
    delivery: Uuid,
    executions: Executions,
}

pub(crate) async fn furnish(db: &Db, c: &Client) -> Alpha {
    one(
        c,
        r#"select tenure.kind_set('alpha_rest', '{"on_exhausted": "fail", "description": "alpha policy"}')"#,
        &[],
    )
    .await;
    one(c, "select tenure.config_set('queue.lease.duration_sec', '777')", &[]).await;
    let more = r#", '{"mark": "alpha payload"}', p_key => 'alpha key', p_correlation_id => 'alpha correlation', p_source_ref => 'alpha ref'"#;
    let ended = async |kind: &str, how: &str| {
        enqueue_with(c, kind, r#", '{"mark": "alpha payload"}'"#).await;
        let held = claim(c, "alpha worker").await;
        verb(c, "job_fail", &held, how).await;
        held.job_id
    };
    let failed = ended("alpha_rest", ", 'alpha error', 'permanent'").await;
    let dead = ended("alpha_dead", ", 'alpha error', 'permanent'").await;
    let again = ended("alpha_dead", ", 'alpha error too', 'permanent'").await;
    let letter = async |job: Uuid| -> Uuid {
        get(
            c,
            "select dead_letter_id from tenure.dead_letters where job_id = $1",
            &[&job],
        )
        .await
    };
    let (dead_letter, replayable) = (letter(dead).await, letter(again).await);
    one(
        c,
        "select tenure.dead_letter_triage($1, 'manual_replay', 'alpha note')",
        &[&replayable],
    )
    .await;
    enqueue_with(c, "alpha_held", "").await;
    let leased = claim(c, "alpha worker").await;
    enqueue_with(c, "alpha_held", "").await;
    let running = claim_with(c, "alpha worker", ", p_mode => 'started'").await.remove(0);
    let queued = enqueue_with(c, "alpha_kind", more).await;
    one(
        c,
        "select tenure.executor_beat('alpha worker', 'external_worker', p_metadata => '{\"on\": \"alpha host\"}')",
        &[],
    )
    .await;
    let (login, _) = db.login(&["tenure_worker"], "default", None).await;
    one(
        c,
        "select tenure.login_bind($1, p_principal => 'alpha principal')",
        &[&login],
    )
    .await;
    one(
        c,
        "select tenure.principal_create('alpha owner', 'human', 'alpha@example.org')",
        &[],
    )
    .await;
    let key = format!(
        "select tenure.key_create('alpha owner', 'alphakey', '\\x{}', array['admin'])",
        "11".repeat(32)
    );
    one(c, &key, &[]).await;
    // Two slots: one that runs, and one that is old enough to go.
    let planned = "select tenure.schedule_create('alpha plan', '{\"every_seconds\": 60, \"kind\": \"alpha_plan\", \"overlap\": \"queue\", \"description\": \"alpha words\"}'), \
                   tenure.schedule_run('alpha plan'), tenure.schedule_pause('alpha plan', 'alpha pause')";
    rows(c, planned, &[]).await;
    let old = "insert into tenure.planned_slots (tenant_id, schedule_id, scope_kind, scope_id, plan_time, origin, state, skip_reason, expression, zone, due_at, ended_at, error_message,
                 planned_at, planned_by, updated_at)
               select 1, schedule_id, 'alpha scope', 'global', to_timestamp(0), 'rule', 'skipped', 'paused', 'x', 'UTC', to_timestamp(0), to_timestamp(0), 'alpha error', to_timestamp(0),
                      'alpha planner', to_timestamp(0) from tenure.schedules";
    rows(c, old, &[]).await;
    let subscribe = "select tenure.subscription_create('alpha reader', array['*'], 'reader', p_from => 'start'), \
                     tenure.subscription_create('alpha hook', array['job.*'], 'webhook', p_from => 'start', p_url => 'https://example.org/alpha')";
    rows(c, subscribe, &[]).await;
    until(
        c,
        "select coalesce(tenure.subscription_run() ->> 'made' <> '0', false)",
        &[],
        "something to send",
    )
    .await;
    let delivery = get(c, "select delivery_id from tenure.deliveries limit 1", &[]).await;
    let executions = walls_executions::furnish(c).await;
    let cursor = get(
        c,
        "select epoch || '.' || txid || '.' || seq from tenure.events where tenant_id = 1 order by seq limit 1",
        &[],
    )
    .await;
    let fingerprint = get(
        c,
        "select fingerprint from tenure.dead_letters where dead_letter_id = $1",
        &[&dead_letter],
    )
    .await;
    Alpha {
        queued,
        leased,
        running,
        failed,
        dead_letter,
        replayable,
        fingerprint,
        cursor,
        login,
        delivery,
        executions,
    }
}

/// Functions, and the forms of them that answer a refusal as a value.
const TRIED: [(&str, &str); 11] = [
    ("job_enqueue", "try_job_enqueue"),
    ("job_claim", "try_job_claim"),
    ("job_start", "try_job_start"),
    ("job_progress", "try_job_progress"),
    ("job_heartbeat", "try_job_heartbeat"),
    ("job_complete", "try_job_complete"),
    ("job_fail", "try_job_fail"),
    ("job_cancel", "try_job_cancel"),
    ("job_dead_letter", "try_job_dead_letter"),
    ("job_sweep", "try_job_sweep"),
    ("executor_beat", "try_executor_beat"),
];

/// Every function somebody may call, with the arguments a stranger would try.
pub(crate) fn attempts(a: &Alpha) -> Vec<(&'static str, String)> {
    let (q, f) = (a.queued, a.failed);
    let (lj, lt, rj, rt) = (a.leased.job_id, a.leased.token, a.running.job_id, a.running.token);
    let (d, r) = (a.dead_letter, a.replayable);
    let pair = format!("array['{lj}', '{rj}']::uuid[], array['{lt}', '{rt}']::uuid[]");
    let held = format!("'{rj}', '{rt}'");
    let none = || String::new();
    let mut calls = vec![
        ("now", none()),
        ("caller", none()),
        ("current_tenant", none()),
        ("is_every_tenant", none()),
        ("setting", "1, 'queue.lease.duration_sec'".into()),
        ("setting_integer", "1, 'queue.lease.duration_sec'".into()),
        ("limit_of", "'batch_rows_max'".into()),
        ("refuse", "'key_taken', 'a', 'b', 'c'".into()),
        ("refusal", "'TN019', 'a', 'b', 'c'".into()),
        ("refusal_codes", none()),
        ("check_number", "'n', 1, 1, 1".into()),
        ("acts_as", "'tenure_server'".into()),
        ("may_see", "'restricted'".into()),
        ("priority_of", "'urgent'".into()),
        ("config_list", none()),
        ("config_get", "'queue.lease.duration_sec'".into()),
        ("tenant_list", none()),
        ("executor_list", none()),
        ("stale_check", "1".into()),
        ("service_list", none()),
        ("kind_list", none()),
        ("kind_show", "'alpha_rest'".into()),
        ("event_list", format!("'{}', 1000", a.cursor)),
        ("stream_lag", none()),
        ("job_show", format!("'{q}'")),
        ("job_list", format!("p_before => '{rj}', p_limit => 1000")),
        ("job_ended", format!("array['{f}', '{q}']::uuid[]")),
        ("job_timeline", format!("'{f}'")),
        ("job_explain", format!("'{q}'")),
        ("job_payload", format!("'{q}'")),
        ("job_lease", format!("'{rj}'")),
        ("dead_letter_list", format!("p_fingerprint => '{}'", a.fingerprint)),
        ("dead_letter_show", format!("'{d}'")),
        ("health", none()),
        ("doctor", none()),
        ("metrics", "'1.0'".into()),
        ("partition_list", "'jobs'".into()),
        (
            "job_enqueue",
            format!("'alpha_kind', p_key => 'alpha key', p_parent_job_id => '{q}'"),
        ),
        (
            "job_enqueue_many",
            format!("array['alpha_kind'], p_keys => array['alpha key'], p_job_ids => array['{q}']::uuid[]"),
        ),
        ("job_enqueue_plain", "'alpha_kind', '[]', 'alpha key'".into()),
        ("lane_open", "'alpha_kind'".into()),
        (
            "job_claim",
            "'stranger', p_kinds => array['alpha_kind', 'alpha_held']".into(),
        ),
        (
            "job_claim_many",
            format!("'stranger', p_limit => 100, p_token => '{lt}'"),
        ),
        ("job_held", format!("'{lt}'")),
        ("job_start", format!("'{lj}', '{lt}'")),
        ("job_start_many", pair.clone()),
        ("job_heartbeat", held.clone()),
        ("job_heartbeat_many", pair.clone()),
        ("job_progress", format!("{held}, '{{}}'")),
        ("job_end_many", format!("{pair}, array['succeeded', 'failed']")),
        ("job_complete", held.clone()),
        ("job_fail", format!("{held}, 'no'")),
        ("job_snooze", format!("{held}, 1")),
        ("job_release", held.clone()),
        ("job_acknowledge_cancel", held.clone()),
        (
            "job_turn",
            format!(
                "{pair}, array['succeeded', 'released'], null, null, null, null, null, null, 'stranger', null, null, 10, 60, 'started', gen_random_uuid()"
            ),
        ),
        ("worker_park", "null, array['alpha_kind']".into()),
        ("lane_ready", "array(select generate_series(1, 100))".into()),
        (
            "offer_make",
            format!("'{{}}', 's', 'tenure_hand_{}', null, null, null, 30", "0".repeat(32)),
        ),
        ("offer_withdraw", format!("array['{rt}']::uuid[]")),
        ("offer_lock", "'alpha'".into()),
        ("executor_beat", "'alpha worker', 'external_worker', 'error'".into()),
        ("job_cancel", format!("'{q}', 'no', 'force'")),
        ("job_retry", format!("'{f}'")),
        ("job_dead_letter", format!("'{q}', 'no'")),
        ("dead_letter_triage", format!("'{d}', 'closed'")),
        ("dead_letter_replay_preview", format!("'{r}'")),
        ("dead_letter_replay", format!("'{r}'")),
        ("gate_set", "'queue.notify.enabled', 'closed'".into()),
        ("job_reap", none()),
        ("job_sweep", none()),
        ("partition_upkeep", none()),
        ("config_set", "'queue.lease.duration_sec', '5'".into()),
        ("kind_pause", "'alpha_rest', 'for a while'".into()),
        ("kind_resume", "'alpha_rest'".into()),
        ("kind_set", r#"'alpha_rest', '{"attempts_max": 1}'"#.into()),
        ("login_bind", format!("'{}'", a.login)),
        ("login_unbind", format!("'{}'", a.login)),
        ("tenant_create", "'third'".into()),
        ("principal_create", "'stranger', 'human'".into()),
        ("principal_list", none()),
        (
            "key_create",
            format!("'alpha owner', 'strangerkey', '\\x{}', array['admin']", "00".repeat(32)),
        ),
        ("key_list", none()),
        ("key_revoke", "'alphakey'".into()),
        ("event_end", none()),
        (
            "subscription_create",
            "'stranger', array['*'], 'reader', p_from => 'start'".into(),
        ),
        ("subscription_list", none()),
        ("subscription_read", "'alpha reader'".into()),
        ("subscription_ack", format!("'alpha reader', '{}'", a.cursor)),
        ("subscription_pause", "'alpha hook'".into()),
        ("subscription_resume", "'alpha hook', 'start'".into()),
        ("subscription_rotate", "'alpha hook'".into()),
        ("subscription_run", none()),
        ("subscription_delete", "'alpha hook'".into()),
        ("delivery_list", "'alpha hook'".into()),
        ("delivery_retry", format!("'{}'", a.delivery)),
        ("delivery_sweep", none()),
        ("request_sweep", none()),
        (
            "schedule_create",
            r#"'stranger', '{"every_seconds": 60, "kind": "other"}'"#.into(),
        ),
        ("schedule_list", none()),
        ("schedule_show", "'alpha plan'".into()),
        ("schedule_slots", "'alpha plan'".into()),
        ("schedule_at", "'alpha plan', to_timestamp(0)".into()),
        ("schedule_update", r#"'alpha plan', '{"every_seconds": 120}'"#.into()),
        ("schedule_pause", "'alpha plan', 'no'".into()),
        ("schedule_resume", "'alpha plan'".into()),
        ("schedule_run", "'alpha plan'".into()),
        (
            "schedule_backfill",
            "'alpha plan', array[to_timestamp(60)], 'apply'".into(),
        ),
        ("schedule_delete", "'alpha plan'".into()),
        ("slot_sweep", none()),
        // The last: it makes one of the same name, on this side of the wall.
        (
            "schedule_put",
            r#"'alpha plan', '{"every_seconds": 90, "kind": "other"}'"#.into(),
        ),
    ];
    calls.extend(walls_executions::attempts(&a.executions));
    calls.extend(walls_governance::attempts(a.executions.change));
    // The try_ forms are the same calls.
    for (name, tried) in TRIED {
        let arguments = calls
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, given)| given.clone());
        calls.push((tried, arguments.expect("a call of its own")));
    }
    calls
}

/// All rows that belong to tenant default or to the installation, as one hash.
pub(crate) const SNAPSHOT: &str = "
    select md5(string_agg(t.line, '|' order by t.line)) from (
      select 'j' || x::text from tenure.jobs x where x.tenant_id = 1
      union all select 'l' || x::text from tenure.leases x where x.tenant_id = 1
      union all select 'a' || x::text from tenure.attempts x where x.tenant_id = 1
      union all select 'd' || x::text from tenure.dead_letters x where x.tenant_id = 1
      union all select 'e' || x::text from tenure.events x where x.tenant_id in (0, 1)
      union all select 'h' || x::text from tenure.heartbeats x where x.tenant_id = 1
      union all select 'k' || x::text from tenure.kinds x where x.tenant_id = 1
      union all select 'n' || x::text from tenure.lanes x where x.tenant_id = 1
      union all select 'c' || x::text from tenure.config x where x.tenant_id in (0, 1)
      union all select 'b' || x::text from tenure.logins x where x.tenant_id = 1
      union all select 'p' || x::text from tenure.principals x where x.tenant_id in (0, 1)
      union all select 'q' || x::text from tenure.keys x where x.tenant_id in (0, 1)
      union all select 's' || x::text from tenure.subscriptions x where x.tenant_id = 1
      union all select 'z' || x::text from tenure.deliveries x where x.tenant_id = 1
      union all select 'rq' || x::text from tenure.requests x where x.tenant_id in (0, 1)
      union all select 'o' || x::text from tenure.schedules x where x.tenant_id = 1
      union all select 'w' || x::text from tenure.planned_slots x where x.tenant_id = 1
      union all select 'ex' || x::text from tenure.execution_rows x where x.tenant_id in (0, 1)
      union all select 'pl' || x::text from tenure.plans x where x.tenant_id in (0, 1)
      union all select 'st' || x::text from tenure.step_rows x where x.tenant_id in (0, 1)
      union all select 'sn' || x::text from tenure.step_needs x where x.tenant_id in (0, 1)
      union all select 'ap' || x::text from tenure.approvals x where x.tenant_id in (0, 1)
      union all select 'av' || x::text from tenure.approval_votes x where x.tenant_id in (0, 1)
      union all select 'ar' || x::text from tenure.approval_rules x where x.tenant_id in (0, 1)
      union all select 'ac' || x::text from tenure.actions x where x.tenant_id in (0, 1)
      union all select 'ty' || x::text from tenure.target_types x where x.tenant_id in (0, 1)
      union all select 'gc' || x::text from tenure.governance_changes x where x.tenant_id in (0, 1)
      union all select 'lt' || x::text from tenure.lock_targets x where x.tenant_id in (0, 1)
      union all select 'lo' || x::text from tenure.locks x where x.tenant_id in (0, 1)
      union all select 'fr' || x::text from tenure.freezes x where x.tenant_id in (0, 1)
      union all select 'ee' || x::text from tenure.execution_events x where x.tenant_id in (0, 1)
      union all select 'fu' || x::text from tenure.follow_ups x where x.tenant_id in (0, 1)
      union all select 'ed' || x::text from tenure.execution_dead_letters x where x.tenant_id in (0, 1)
      union all select 'ea' || x::text from tenure.execution_archives x where x.tenant_id in (0, 1)
      union all select 'et' || x::text from tenure.execution_archive_terms x where x.tenant_id in (0, 1)
      union all select 'ul' || x::text from tenure.unbound_logins x where x.tenant_id in (0, 1)
      union all select 'tp' || x::text from tenure.timeout_policies x where x.tenant_id in (0, 1)
      union all select 't' || x::text from tenure.tenants x where x.tenant_id in (0, 1)
      union all select 'r' || x::text from tenure.ready x where x.lane in (select n.lane from tenure.lanes n where n.tenant_id = 1)
      union all select 'y' || x::text from tenure.delayed x where x.lane in (select n.lane from tenure.lanes n where n.tenant_id = 1)
      union all select 'v' || x::text from tenure.active x where x.lane in (select n.lane from tenure.lanes n where n.tenant_id = 1)
      union all select 'i' || x::text from tenure.idempotency x join tenure.jobs j on j.job_id = x.job_id where j.tenant_id = 1
      union all select 'x' || x::text from tenure.executors x) t (line)";
