//! The walls between tenants: whatever a login of one tenant calls with whatever it knows of another, it sees nothing of
//! it and changes nothing there.

use std::collections::BTreeSet;

use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{
    Claimed, Db, claim, claim_with, enqueue_with, get, id_of, one, raised, refused, rows, run, try_rows, until, verb,
};

/// Everything of tenant default that a stranger could get hold of. Every text in it contains the word alpha.
pub(crate) struct Alpha {
    queued: Uuid,
    leased: Claimed,
    running: Claimed,
    failed: Uuid,
    dead_letter: Uuid,
    replayable: Uuid,
    fingerprint: String,
    cursor: String,
    login: String,
    delivery: Uuid,
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
    }
}

/// Every function somebody may call, with the arguments a stranger would try.
pub(crate) fn attempts(a: &Alpha) -> Vec<(&'static str, String)> {
    let (q, f) = (a.queued, a.failed);
    let (lj, lt, rj, rt) = (a.leased.job_id, a.leased.token, a.running.job_id, a.running.token);
    let (d, r) = (a.dead_letter, a.replayable);
    let pair = format!("array['{lj}', '{rj}']::uuid[], array['{lt}', '{rt}']::uuid[]");
    let held = format!("'{rj}', '{rt}'");
    let none = || String::new();
    vec![
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
        (
            "slot_offer",
            format!("'{{}}', 's', 'tenure_hand_{}', null, null, null, 30", "0".repeat(32)),
        ),
        ("slot_withdraw", format!("array['{rt}']::uuid[]")),
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
    ]
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
      union all select 't' || x::text from tenure.tenants x where x.tenant_id in (0, 1)
      union all select 'r' || x::text from tenure.ready x where x.lane in (select n.lane from tenure.lanes n where n.tenant_id = 1)
      union all select 'y' || x::text from tenure.delayed x where x.lane in (select n.lane from tenure.lanes n where n.tenant_id = 1)
      union all select 'v' || x::text from tenure.active x where x.lane in (select n.lane from tenure.lanes n where n.tenant_id = 1)
      union all select 'i' || x::text from tenure.idempotency x join tenure.jobs j on j.job_id = x.job_id where j.tenant_id = 1
      union all select 'x' || x::text from tenure.executors x) t (line)";

/// A login of tenant beta with every role but the server's.
async fn stranger(db: &Db) -> (String, Client) {
    let roles = ["admin", "operator", "approver", "producer", "worker", "viewer"].map(|it| format!("tenure_{it}"));
    let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
    db.login(&roles, "beta", None).await
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
    let (_, beta) = stranger(&db).await;
    let calls = attempts(&alpha);

    let granted: BTreeSet<String> = rows(
        &c,
        "select distinct p.proname::text from pg_proc p cross join pg_roles r
          where p.pronamespace = 'tenure'::regnamespace and r.rolname in ('tenure_admin', 'tenure_operator', 'tenure_approver', 'tenure_producer', 'tenure_worker', 'tenure_viewer') and has_function_privilege(r.oid, p.oid, 'execute')",
        &[],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    let tried: BTreeSet<String> = calls.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(
        tried, granted,
        "every function that somebody but the trusted server may call is tried, and no other"
    );

    let before: String = get(&c, SNAPSHOT, &[]).await;
    for (name, arguments) in &calls {
        let sql = format!("select coalesce(string_agg(x::text, ' '), '') from tenure.{name}({arguments}) x");
        let answer = match try_rows(&beta, &sql, &[]).await {
            Ok(rows) => rows[0].get::<_, String>(0),
            Err(error) => {
                let db_error = error.as_db_error().unwrap_or_else(|| panic!("{name}: {error:?}"));
                assert!(db_error.code().code().starts_with("TN"), "{name}: {error:?}");
                format!("{} {:?} {:?}", db_error.message(), db_error.detail(), db_error.hint())
            }
        };
        let echoed = arguments
            .split('\'')
            .skip(1)
            .step_by(2)
            .fold(answer.clone(), |text, given| text.replace(given, ""));
        assert!(!echoed.contains("alpha"), "{name} tells of a foreign tenant: {answer}");
        let after: String = get(&c, SNAPSHOT, &[]).await;
        assert_eq!(
            after, before,
            "{name}({arguments}) changed a foreign tenant; it answered {answer}"
        );
    }

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
        &one(&server, "select tenure.job_enqueue('report')", &[]).await,
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
