//! What stays when people and rows go, and the tables that are data: timeouts and dead letters.

use serde_json::json;
use tenure_core::limits::STEP_PROGRESS_LINES_MAX;
use uuid::Uuid;

use crate::approvals_scene::{
    act, as_owner, ask, ask_change, check_executions, decide, id, people, plan, rule, state_of, submit, tick, work,
    work_all,
};
use crate::fixture::{Db, claim, get, one, refused, rows, run, verb};

/// Who asked, who decided and who cancelled are names, not references: their rows may go.
/// Proves: S164, S170, S185. Guards: D81, D82, D83, D95, D105.
#[tokio::test]
async fn history_outlives_those_who_made_it() {
    let (db, c) = people().await;
    let approved = ask_change(&c).await;
    decide(&c, "ada", &approved, "approve", "").await;
    let cancelled = ask(&c, &plan("cancelled", &["a modify"])).await;
    act(&c, "bob").await;
    one(&c, "select tenure.execution_cancel($1, 'no')", &[&cancelled.execution]).await;
    // Nobody cancels this one: the clock does, and says so by a name of its own.
    let expired = ask(&c, &plan("expired", &["a modify"])).await;
    db.advance("25 hours").await;
    tick(&c).await;
    run(&c, "delete from tenure.principals").await;
    act(&c, "somebody").await;
    work_all(&c).await;
    for (execution, by) in [(cancelled.execution, "bob"), (expired.execution, "policy")] {
        let row = rows(
            &c,
            "select cancelled_by, requested_by from tenure.execution_rows where execution_id = $1",
            &[&execution],
        )
        .await
        .remove(0);
        assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), (by, "eve"));
    }
    let voter: String = get(
        &c,
        "select principal from tenure.approval_votes_of($1)",
        &[&approved.approval],
    )
    .await;
    assert_eq!(voter, "ada");
    let cascades: i64 = get(
        &c,
        "select count(*) from pg_constraint where contype = 'f' and connamespace = 'tenure'::regnamespace and confdeltype <> 'a'",
        &[],
    )
    .await;
    assert_eq!(
        cascades, 0,
        "nothing is deleted, or forgotten, because something else was"
    );
    check_executions(&c).await;
}

/// Proves: S209, S210, S211. Guards: D97, D98.
#[tokio::test]
async fn all_nine_timeout_policies_are_there_and_a_tenant_sets_its_own() {
    let (_db, c) = people().await;
    let listed: Vec<String> = rows(
        &c,
        "select sla_class || '_' || action_class || ' ' || execution_timeout_ms || ' ' || step_timeout_ms || ' ' || lease_ms || ' ' || renewals_max || ' ' || origin from tenure.timeout_policy_list()",
        &[],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    assert_eq!(
        listed,
        [
            "fast_read 10000 5000 15000 3 default",
            "fast_modify 10000 8000 24000 3 default",
            "fast_deploy 10000 10000 30000 3 default",
            "medium_read 30000 15000 45000 3 default",
            "medium_modify 30000 20000 60000 3 default",
            "medium_deploy 30000 30000 90000 3 default",
            "long_read 600000 60000 180000 3 default",
            "long_modify 600000 120000 360000 3 default",
            "long_deploy 600000 180000 540000 3 default",
        ]
    );
    act(&c, "pam").await;
    for (spec, code) in [
        (json!({"step_timeout_ms": 0}), "number_out_of_range"),
        (json!({"lease_ms": 1000}), "number_out_of_range"),
        (json!({"execution_timeout_ms": 1000}), "number_out_of_range"),
        (json!({"lease": 1}), "value_unknown"),
        (json!("long"), "payload_not_object"),
    ] {
        let answer = one(&c, "select tenure.timeout_policy_set('long', 'read', $1)", &[&spec]).await;
        assert_eq!(answer["code"], code, "{spec}: {answer}");
    }
    let spec = json!({"execution_timeout_ms": 1_200_000, "step_timeout_ms": 90_000, "lease_ms": 200_000});
    one(&c, "select tenure.timeout_policy_set('long', 'read', $1)", &[&spec]).await;
    let made = submit(&c, "eve", &plan("p", &["a read"]), "").await;
    let row = rows(
        &c,
        "select e.timeout_ms, s.timeout_seconds, s.lease_seconds from tenure.execution_rows e join tenure.step_rows s using (execution_id) where e.execution_id = $1",
        &[&id(&made, "execution_id")],
    )
    .await
    .remove(0);
    assert_eq!((row.get::<_, i32>(0), row.get::<_, i32>(1)), (1_200_000, 90));
    assert_eq!(row.get::<_, Option<i32>>(2), Some(200), "a lease outlasts the step");
}

/// Proves: S200, S201, S202, S203, S227. Guards: D108.
#[tokio::test]
async fn a_failed_execution_leaves_a_letter_with_all_that_a_retry_needs() {
    let (db, c) = people().await;
    let text = plan("p", &["a read", "b read a"]);
    let failed = id(
        &submit(&c, "eve", &text, ", p_metadata => '{\"ticket\": 7}'").await,
        "execution_id",
    );
    let held = work(&c).await;
    verb(&c, "job_fail", &held, ", 'the disk is full', 'permanent'").await;
    assert_eq!(state_of(&c, failed).await, "failed");
    let letter = one(&c, "select tenure.execution_dead_letter_show($1)", &[&failed]).await;
    assert_eq!(letter["plan"], text.to_string());
    assert_eq!(letter["context"]["requested_by"], "eve");
    assert_eq!(letter["context"]["metadata"], json!({"ticket": 7}));
    assert_eq!(letter["context"]["steps"][0]["state"], "failed");
    assert!(
        letter["last_error"]
            .as_str()
            .expect("text")
            .contains("the disk is full"),
        "{letter}"
    );
    assert_eq!(letter["triage_status"], "pending");
    for change in [
        "last_error = ' '",
        "attempt_count = -1",
        "triage_status = 'lost'",
        "triaged_at = now()",
    ] {
        let refusal = as_owner(&c, &format!("update tenure.execution_dead_letters set {change}")).await;
        assert!(refusal.starts_with("23514"), "{change}: {refusal}");
    }
    act(&c, "pam").await;
    refused(
        &one(
            &c,
            "select tenure.execution_dead_letter_triage($1, 'later')",
            &[&failed],
        )
        .await,
        "value_unknown",
    );
    one(
        &c,
        "select tenure.execution_dead_letter_triage($1, 'acknowledged', 'known')",
        &[&failed],
    )
    .await;
    let again = one(&c, "select tenure.execution_retry($1)", &[&failed]).await;
    refused(
        &one(
            &c,
            "select tenure.execution_dead_letter_triage($1, 'closed')",
            &[&failed],
        )
        .await,
        "already_replayed",
    );
    let listed = "select count(*) from tenure.execution_dead_letter_list()";
    assert_eq!(get::<i64>(&c, listed, &[]).await, 1);
    work_all(&c).await;
    assert_eq!(state_of(&c, id(&again, "execution_id")).await, "succeeded");
    db.advance("8 days").await;
    assert_eq!(get::<i64>(&c, listed, &[]).await, 0, "the last seven days");
    assert_eq!(
        get::<i64>(
            &c,
            "select count(*) from tenure.execution_dead_letter_list(30, '{closed}')",
            &[]
        )
        .await,
        1
    );
    check_executions(&c).await;
}

/// A key is free again when what it stood for failed; that of a partially failed one only when somebody says so.
/// Proves: S176. Guards: D91.
#[tokio::test]
async fn the_key_of_a_partially_failed_execution_stays_taken_until_somebody_decides() {
    let (_db, c) = people().await;
    let mut text = plan("p", &["a read", "b read"]);
    text["on_step_failure"] = json!("continue");
    let first = id(&submit(&c, "eve", &text, ", p_key => 'k'").await, "execution_id");
    let (a, b) = (work(&c).await, work(&c).await);
    verb(&c, "job_complete", &a, "").await;
    verb(&c, "job_fail", &b, ", 'broken', 'permanent'").await;
    assert_eq!(state_of(&c, first).await, "partially_failed");
    let taken = submit(&c, "eve", &text, ", p_key => 'k'").await;
    assert_eq!((&taken["duplicate"], id(&taken, "execution_id")), (&json!(true), first));
    act(&c, "pam").await;
    let close = "select tenure.execution_close($1, 'done by hand')";
    assert_eq!(one(&c, close, &[&first]).await["key_held_by"], json!(null));
    let next = submit(&c, "eve", &text, ", p_key => 'k'").await;
    assert_eq!(next["duplicate"], false, "{next}");
    act(&c, "pam").await;
    assert_eq!(
        one(&c, close, &[&first]).await["key_held_by"],
        next["execution_id"],
        "it is free no longer"
    );
    refused(
        &one(
            &c,
            "select tenure.execution_close($1, 'x')",
            &[&id(&next, "execution_id")],
        )
        .await,
        "state_conflict",
    );
    let held = work(&c).await;
    verb(&c, "job_fail", &held, ", 'broken', 'permanent'").await;
    work_all(&c).await;
    act(&c, "pam").await;
    // Retried, it keeps the key, and what succeeded is not done again.
    let retried = one(&c, "select tenure.execution_retry($1)", &[&id(&next, "execution_id")]).await;
    assert_eq!(retried["carried"], 1, "{retried}");
    let other = submit(&c, "eve", &text, ", p_key => 'k'").await;
    assert_eq!(other["execution_id"], retried["execution_id"]);
    act(&c, "pam").await;
    let late = one(&c, close, &[&id(&next, "execution_id")]).await;
    refused(&late, "already_replayed");
    assert!(
        late.to_string()
            .contains(&retried["execution_id"].to_string().replace('"', "")),
        "{late}"
    );
    work_all(&c).await;
    assert_eq!(state_of(&c, id(&retried, "execution_id")).await, "succeeded");
    check_executions(&c).await;
}

/// What documents call a workflow and its queue: an execution that knows its generator, and steps that are jobs like all others.
/// Proves: S94, S95, S96, S194, S195, S196, S198, S225.
#[tokio::test]
async fn a_workflow_is_an_execution_and_its_steps_are_jobs_of_the_queue() {
    let (_db, c) = people().await;
    let mut text = plan("p", &["a read", "b read"]);
    text["generator"] = json!("MOT:template");
    text["correlation_id"] = json!("ticket 7");
    text["priority"] = json!("urgent");
    let first = id(&submit(&c, "eve", &text, "").await, "execution_id");
    let mut bulk = plan("q", &["a read"]);
    bulk["priority"] = json!("bulk");
    submit(&c, "eve", &bulk, "").await;
    let shown = one(&c, "select tenure.execution_show($1)", &[&first]).await;
    assert_eq!(
        shown.get("takes_locks"),
        None,
        "what is kept for speed is nobody's business"
    );
    for (field, value) in [
        ("generator", json!("MOT:template")),
        ("correlation_id", json!("ticket 7")),
        ("requested_by", json!("eve")),
        ("state", json!("running")),
        ("ended_at", json!(null)),
    ] {
        assert_eq!(shown[field], value, "{field}");
    }
    // How deep the queue is, by priority, and since when.
    let depth: Vec<String> = rows(
        &c,
        "select priority || ' ' || count(*) || ' ' || (min(created_at) <= tenure.now()) from tenure.job_queue where state = 'queued' group by priority order by priority desc",
        &[],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    assert_eq!(depth, ["100 2 true", "-100 1 true"]);
    let step = async || -> Vec<Option<String>> {
        let sql = "select s.job_state, j.lease_owner, (j.lease_until is not null)::text, j.attempts::text, j.workflow_id::text, j.correlation_id, j.source_system
                     from tenure.step_list($1) s join tenure.job_queue j on j.job_id = s.job_id where s.step_id = 'a'";
        let row = rows(&c, sql, &[&first]).await.remove(0);
        (0..7).map(|at| row.get(at)).collect()
    };
    let said = |words: [Option<&str>; 4]| -> Vec<Option<String>> {
        let workflow = first.to_string();
        let rest = [Some(workflow.as_str()), Some("ticket 7"), Some("tenure.execution")];
        words.into_iter().chain(rest).map(|it| it.map(str::to_owned)).collect()
    };
    assert_eq!(step().await, said([Some("queued"), None, Some("false"), Some("0")]));
    let held = claim(&c, "w").await;
    assert_eq!(step().await, said([Some("leased"), Some("w"), Some("true"), Some("1")]));
    verb(&c, "job_start", &held, "").await;
    assert_eq!(
        step().await,
        said([Some("in_progress"), Some("w"), Some("true"), Some("1")])
    );
    verb(&c, "job_complete", &held, "").await;
    work_all(&c).await;
    let ended = one(&c, "select tenure.execution_show($1)", &[&first]).await;
    assert_eq!(ended["state"], "succeeded");
    assert!(
        ended["ended_at"].is_string() && ended["steps"][0]["queued_at"].is_string(),
        "{ended}"
    );
    check_executions(&c).await;
}

/// Rejected is an end like any other: it is archived too.
/// Proves: S228, S229. Guards: D79, D100, D101.
#[tokio::test]
async fn rejected_executions_are_archived_with_all_that_belongs_to_them() {
    let (db, c) = people().await;
    let asked = ask_change(&c).await;
    decide(&c, "ada", &asked, "reject", ", 'no'").await;
    let due = "select count(*) from tenure.execution_archive_due()";
    assert_eq!(get::<i64>(&c, due, &[]).await, 0);
    db.advance("91 days").await;
    assert_eq!(get::<i64>(&c, due, &[]).await, 1);
    let sql = "select string_agg(line, e'\\n' order by n) from tenure.execution_evidence($1)";
    let text: String = get(&c, sql, &[&asked.execution]).await;
    one(
        &c,
        "select tenure.execution_archive($1, $2)",
        &[&asked.execution, &text.as_str()],
    )
    .await;
    let kept: String = get(&c, "select tenure.execution_archive_show($1)", &[&asked.execution]).await;
    for part in ["\"vote\"", "approval_rejected", "execution_rejected", &asked.hash] {
        assert!(kept.contains(part), "{part}");
    }
    let left: i64 = get(
        &c,
        "select (select count(*) from tenure.execution_rows) + (select count(*) from tenure.approvals) + (select count(*) from tenure.approval_votes)",
        &[],
    )
    .await;
    assert_eq!(left, 0);
    let change = as_owner(&c, "update tenure.execution_archives set evidence = ''").await;
    assert!(change.starts_with("TN014"), "{change}");
}

/// Whoever migrates again changes nothing of it.
/// Proves: S163. Guards: D106.
#[tokio::test]
async fn the_tables_of_executions_hold_nothing_in_a_fresh_database() {
    let db = Db::open().await;
    let c = db.client().await;
    for table in [
        "executions",
        "plans",
        "steps",
        "step_runs",
        "approvals",
        "approval_rules",
        "locks",
        "execution_events",
        "freezes",
    ] {
        assert_eq!(
            get::<i64>(&c, &format!("select count(*) from tenure.{table}"), &[]).await,
            0,
            "{table}"
        );
    }
    assert_eq!(
        get::<i64>(&c, "select count(*) from tenure.timeout_policies", &[]).await,
        9
    );
}

/// A step may report as often as it likes; the story stays one that can be read.
#[tokio::test]
async fn a_step_that_reports_without_end_fills_no_story() {
    const MORE: i64 = 20;
    let (_db, c) = people().await;
    let execution = id(
        &submit(&c, "eve", &plan("p", &["a read", "b read"]), "").await,
        "execution_id",
    );
    let lines = async |step: &str| -> i64 {
        let sql = "select count(*) from tenure.execution_timeline($1) where kind = 'step_progress' and step_id = $2";
        get(&c, sql, &[&execution, &step]).await
    };
    let (a, b) = (work(&c).await, work(&c).await);
    for percent in 1..=STEP_PROGRESS_LINES_MAX + MORE {
        verb(&c, "job_progress", &a, &format!(", '{{\"percent\": {percent}}}'")).await;
    }
    assert_eq!(lines("a").await, STEP_PROGRESS_LINES_MAX);
    let known = "select progress ->> 'percent' from tenure.active where job_id = $1";
    let percent: String = get(&c, known, &[&a.job_id]).await;
    assert_eq!(percent, (STEP_PROGRESS_LINES_MAX + MORE).to_string(), "the job knows");
    verb(&c, "job_progress", &b, ", '{\"percent\": 1}'").await;
    assert_eq!(lines("b").await, 1, "each step has lines of its own");
    verb(&c, "job_complete", &a, "").await;
    verb(&c, "job_complete", &b, "").await;
    assert_eq!(state_of(&c, execution).await, "succeeded");
    check_executions(&c).await;
}

/// One plan with a long step gave every later job of its kind a long lease, and so a late rescue.
/// Proves: S211.
#[tokio::test]
async fn a_long_step_gives_no_plain_job_of_its_kind_a_long_lease() {
    let (_db, c) = people().await;
    rule(&c, "free", json!({"level": 0})).await;
    let mut long = plan("p", &["a modify", "b modify"]);
    long["steps"][0]["timeout_seconds"] = json!(7200);
    submit(&c, "eve", &long, "").await;
    one(&c, "select tenure.job_enqueue('touch')", &[]).await;
    let claimed = rows(
        &c,
        "select c.job_id, c.token, extract(epoch from c.leased_until - c.leased_at)::integer as seconds, j.workflow_id is not null as is_step
           from tenure.job_claim_many('w', p_kinds => array['touch'], p_limit => 10, p_lease_seconds => 20) c
           join tenure.jobs j on j.job_id = c.job_id order by 3",
        &[],
    )
    .await;
    let leases: Vec<(i32, bool)> = claimed.iter().map(|row| (row.get(2), row.get(3))).collect();
    // That of a step is its policy's, also where the plan gives it more time: it is renewed.
    assert_eq!(leases, [(20, false), (360, true), (360, true)]);

    // A heartbeat renews each as its claim had it, whatever it asks for.
    let (jobs, tokens): (Vec<Uuid>, Vec<Uuid>) = claimed
        .iter()
        .map(|row| (row.get::<_, Uuid>(0), row.get::<_, Uuid>(1)))
        .unzip();
    let renewed = rows(
        &c,
        "select h.leased_until >= tenure.now() + make_interval(secs => (array[20, 360, 360])[n] - 10)
           from tenure.job_heartbeat_many($1, $2, p_lease_seconds => 20) with ordinality h (job_id, status, leased_until, cancel_reason, n) order by n",
        &[&jobs, &tokens],
    )
    .await;
    assert!(renewed.len() == 3 && renewed.iter().all(|row| row.get(0)));
    let stepped: Vec<bool> = get(
        &c,
        "select array_agg(stepped order by stepped) from tenure.lanes where kind = 'touch'",
        &[],
    )
    .await;
    assert_eq!(stepped, [false, true]);
}

/// A step needs a lease of its own length, but for what the kind itself allows.
/// Proves: S211.
#[tokio::test]
async fn the_lease_of_a_step_keeps_to_the_limit_of_its_kind() {
    let (_db, c) = people().await;
    rule(&c, "free", json!({"level": 0})).await;
    let lease = async || {
        let sql = "select extract(epoch from c.leased_until - c.leased_at)::integer from tenure.job_claim_many('w', p_kinds => array['touch'], p_lease_seconds => 20) c";
        get::<i32>(&c, sql, &[]).await
    };
    submit(&c, "eve", &plan("p", &["a modify"]), "").await;
    assert_eq!(lease().await, 360);
    one(
        &c,
        "select tenure.kind_set('touch', '{\"lease_seconds\": 20, \"lease_seconds_max\": 30}')",
        &[],
    )
    .await;
    submit(&c, "eve", &plan("q", &["a modify"]), "").await;
    assert_eq!(lease().await, 30);
}

/// The lease of a step comes with its job, so steps of any lengths wait in one lane. A claim has one lease, which is not
/// shorter than any of its steps needs; the renewals of each are counted by its own. Proves: S211.
#[tokio::test]
async fn a_kind_has_few_lanes_however_many_lengths_its_steps_have() {
    let (_db, c) = people().await;
    rule(&c, "free", json!({"level": 0})).await;
    for timeout in [5, 100, 30, 60, 900, 20] {
        let mut one_step = plan(&format!("p{timeout}"), &["a modify"]);
        one_step["steps"][0]["timeout_seconds"] = json!(timeout);
        submit(&c, "eve", &one_step, "").await;
    }
    let claim = async |limit: i32| -> Vec<(i32, i32, i32)> {
        let taken = "select array_agg(job_id) from tenure.job_claim_many('w', p_kinds => array['touch'], p_limit => $1, p_mode => 'started')";
        let jobs: Vec<Uuid> = get(&c, taken, &[&limit]).await;
        let sql = "select l.lease_seconds, j.lease_seconds,
                          extract(epoch from a.hold_until - a.started_at)::integer / (1 + j.renewals_max)
                     from unnest($1::uuid[]) with ordinality t (id, n) join tenure.jobs j on j.job_id = t.id
                     join tenure.active a on a.job_id = t.id join tenure.leases l on l.token = a.token and l.lane = a.lane order by t.n";
        let held = rows(&c, sql, &[&jobs]).await;
        held.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
    };
    assert_eq!(claim(1).await, [(15, 15, 15)]);
    assert_eq!(claim(1).await, [(110, 110, 110)]);
    assert_eq!(claim(10).await, [(70, 40, 40), (70, 70, 70), (70, 30, 30)]);
    assert_eq!(claim(10).await, [(360, 360, 360)]);
    let lanes = "select count(*) from tenure.lanes where kind = 'touch'";
    assert_eq!(get::<i64>(&c, lanes, &[]).await, 2, "one of plain jobs, one of steps");
}
