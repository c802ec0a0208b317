//! What a stranger meets: a furnished tenant, and the values of arguments that point into it.

use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Claimed, Db, claim, claim_with, enqueue_with, get, one, rows, run, until, verb};
use crate::walls_calls::Values;
use crate::walls_executions::{self, Executions};

/// Everything of a tenant that a stranger could get hold of. Every text in it contains the word alpha.
pub(crate) struct Alpha {
    pub(crate) queued: Uuid,
    leased: Claimed,
    cancelling: Claimed,
    pub(crate) running: Claimed,
    failed: Uuid,
    dead: Uuid,
    dead_letter: Uuid,
    replayable: Uuid,
    fingerprint: String,
    cursor: String,
    login: String,
    delivery: Uuid,
    lanes: String,
    executions: Executions,
}

/// Furnishes tenant default.
pub(crate) async fn furnish(db: &Db, c: &Client) -> Alpha {
    furnish_tenant(db, c, "default").await
}

/// Furnishes a tenant, with the same names in each.
pub(crate) async fn furnish_tenant(db: &Db, c: &Client, tenant: &str) -> Alpha {
    run(c, &format!("set tenure.tenant = '{tenant}'")).await;
    let tenant_id: i32 = get(c, "select tenure.current_tenant()", &[]).await;
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
    enqueue_with(c, "alpha_held", "").await;
    let cancelling = claim_with(c, "alpha worker", ", p_mode => 'started'").await.remove(0);
    one(c, "select tenure.job_cancel($1, 'alpha reason')", &[&cancelling.job_id]).await;
    let queued = enqueue_with(c, "alpha_kind", more).await;
    one(
        c,
        "select tenure.executor_beat('alpha worker', 'external_worker', p_metadata => '{\"on\": \"alpha host\"}')",
        &[],
    )
    .await;
    let (login, _) = db.login(&["tenure_worker"], tenant, None).await;
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
        "select tenure.key_create('alpha owner', 'alphakey{tenant_id}', '\\x{}', array['admin'])",
        format!("{tenant_id:02x}").repeat(32)
    );
    one(c, &key, &[]).await;
    // Two slots: one that runs, and one that is old enough to go.
    let planned = "select tenure.schedule_create('alpha plan', '{\"every_seconds\": 60, \"kind\": \"alpha_plan\", \"overlap\": \"queue\", \"description\": \"alpha words\"}'), \
                   tenure.schedule_run('alpha plan'), tenure.schedule_pause('alpha plan', 'alpha pause'), \
                   tenure.schedule_create('alpha idle', '{\"every_seconds\": 600, \"kind\": \"alpha_plan\"}')";
    rows(c, planned, &[]).await;
    let old = "insert into tenure.planned_slots (tenant_id, schedule_id, scope_kind, scope_id, plan_time, origin, state, skip_reason, expression, zone, due_at, ended_at, error_message,
                 planned_at, planned_by, updated_at)
               select tenant_id, schedule_id, 'alpha scope', 'global', to_timestamp(0), 'rule', 'skipped', 'paused', 'x', 'UTC', to_timestamp(0), to_timestamp(0), 'alpha error', to_timestamp(0),
                      'alpha planner', to_timestamp(0) from tenure.schedules where name = 'alpha plan' and tenant_id = $1";
    rows(c, old, &[&tenant_id]).await;
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
    let delivery = get(
        c,
        "update tenure.deliveries set state = 'dead', due = null, ended_at = created_at
          where place = (select min(place) from tenure.deliveries where tenant_id = $1) returning delivery_id",
        &[&tenant_id],
    )
    .await;
    let executions = walls_executions::furnish(c, tenant_id).await;
    let cursor = get(
        c,
        "select epoch || '.' || txid || '.' || seq from tenure.events where tenant_id = $1 order by seq limit 1",
        &[&tenant_id],
    )
    .await;
    let fingerprint = get(
        c,
        "select fingerprint from tenure.dead_letters where dead_letter_id = $1",
        &[&dead_letter],
    )
    .await;
    let lanes = get(
        c,
        "select array_agg(lane order by lane)::text from tenure.lanes where tenant_id = $1",
        &[&tenant_id],
    )
    .await;
    run(c, "reset tenure.tenant").await;
    Alpha {
        lanes,
        queued,
        leased,
        cancelling,
        running,
        failed,
        dead,
        dead_letter,
        replayable,
        fingerprint,
        cursor,
        login,
        delivery,
        executions,
    }
}

/// What a stranger would give as an argument, by its name, by noun and name, or by function and name: see [`Values`]. A new operation
/// needs nothing here as long as its required fields are called like those of others; else its test says what is missing.
pub(crate) fn values(a: &Alpha) -> Values {
    let id = |id: Uuid| id.to_string();
    let (leased, running, cancelling) = (&a.leased, &a.running, &a.cancelling);
    let zeros = "0".repeat(32);
    #[rustfmt::skip] // A table is read by column.
    let mut all: Vec<(&str, Vec<String>)> = vec![
        ("job_id", vec![id(running.job_id), id(leased.job_id), id(cancelling.job_id), id(a.queued), id(a.failed), id(a.dead)]),
        ("token", vec![id(running.token), id(leased.token), id(cancelling.token)]),
        ("parent_job_id", vec![id(a.queued)]),
        ("current_job_id", vec![id(running.job_id)]),
        ("workflow_id", vec![id(a.queued)]),
        ("run_id", vec![id(a.queued)]),
        ("instance", vec![id(a.queued)]),
        ("job_list/before", vec![id(running.job_id)]),
        ("job_enqueue/job_id", vec![id(a.queued)]),
        ("dead_letter_id", vec![id(a.replayable), id(a.dead_letter)]),
        ("dead_letters/before_id", vec![id(a.dead_letter)]),
        ("delivery_id", vec![id(a.delivery)]),
        ("fingerprint", vec![a.fingerprint.clone()]),
        ("cursor", vec![a.cursor.clone()]),
        ("event_list/after", vec![a.cursor.clone()]),
        ("login", vec![a.login.clone()]),
        ("lanes", vec![a.lanes.clone()]),
        ("digest", vec![format!("\\x{zeros}{zeros}")]),
        ("channel", vec![format!("tenure_hand_{zeros}")]),
    ];
    #[rustfmt::skip]
    let texts: &[(&str, &[&str])] = &[
        // Names of the tenant's own things.
        ("kind", &["alpha_kind", "alpha_held", "alpha_rest"]),
        ("kinds/kind", &["alpha_rest"]),
        ("principals/kind", &["human"]),
        ("job_kind", &["alpha_kind"]),
        ("key", &["alpha key"]),
        ("prefix", &["alphakey1"]),
        ("principal", &["alpha owner"]),
        ("requested_by", &["alpha owner"]),
        ("on_behalf_of", &["alpha owner"]),
        ("correlation_id", &["alpha correlation"]),
        ("subscription", &["alpha hook"]),
        ("executor_beat/name", &["alpha worker"]),
        ("principals/name", &["alpha owner"]),
        ("schedules/name", &["alpha plan", "alpha idle"]),
        ("slots/name", &["alpha plan"]),
        ("subscriptions/name", &["alpha reader", "alpha hook"]),
        ("tenant", &["default"]),
        ("tenant_id", &["1"]),
        // Names of new things.
        ("principal_create/name", &["newcomer"]),
        ("schedule_create/name", &["newcomer"]),
        ("subscription_create/name", &["newcomer"]),
        ("tenant_create/name", &["newcomer"]),
        ("key_create/prefix", &["newcomer"]),
        // Names that the program knows.
        ("config/key", &["queue.lease.duration_sec"]),
        ("gate_set/key", &["queue.notify.enabled"]),
        ("executor", &["external_worker"]),
        ("limit_of/name", &["batch_rows_max"]),
        ("priority_of/name", &["urgent"]),
        ("table", &["jobs"]),
        ("role", &["tenure_server"]),
        ("roles", &["{admin}"]),
        ("event_kinds", &["{*}"]),
        ("target", &["alpha target"]),
        ("subscriptions/target", &["reader"]),
        ("from", &["start"]),
        ("schedule_slots/from", &["epoch"]),
        ("outcomes", &["{succeeded}"]),
        ("job_turn/mode", &["started"]),
        ("may_see/classification", &["restricted"]),
        ("refuse/code", &["key_taken"]),
        ("sqlstate", &["TN019"]),
        // What is asked for.
        ("config/value", &["5"]),
        ("schedules/spec", &[r#"{"every_seconds": 90, "kind": "other"}"#]),
        ("changes", &[r#"{"every_seconds": 120}"#]),
        ("principals/spec", &[r#"{"approver_level": 3}"#]),
        ("policy", &[r#"{"attempts_max": 1}"#]),
        ("url", &["https://example.org/newcomer"]),
        ("email", &["newcomer@example.org"]),
        ("worker", &["newcomer"]),
        ("limit", &["100"]),
        ("seconds", &["30"]),
        ("at", &["epoch"]),
        ("times", &["{1970-01-01 00:01:00+00}"]),
        // Words.
        ("reason", &["no"]),
        ("note", &["no"]),
        ("comment", &["no"]),
        ("message", &["no"]),
        ("what", &["no"]),
        ("why", &["no"]),
        ("next", &["no"]),
        // Of jobs that end or are offered together: one of each.
        ("delay_seconds", &["{NULL}"]),
        ("error_codes", &["{NULL}"]),
        ("error_classes", &["{NULL}"]),
        ("error_messages", &["{NULL}"]),
        ("results", &["{NULL}"]),
        ("result_refs", &["{NULL}"]),
        ("offer_make/tokens", &["{}"]),
    ];
    all.extend(
        texts
            .iter()
            .map(|(name, texts)| (*name, texts.iter().map(|it| (*it).to_owned()).collect())),
    );
    all.extend(walls_executions::values(&a.executions));
    all.into_iter()
        .map(|(name, values)| (name.to_owned(), values))
        .collect()
}
