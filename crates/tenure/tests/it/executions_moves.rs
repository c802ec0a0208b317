//! The states of executions: which moves there are, what each of them writes down, and what the tables refuse.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{
    act, as_owner, ask, ask_change, check_executions, decide, id, people, plan, state_of, story, submit, tick, work,
    work_all,
};
use crate::catalogue::names;
use crate::fixture::{claim, get, one, raised, rows, run, try_rows, verb};

const STATES: [&str; 9] = [
    "pending",
    "awaiting_approval",
    "approved",
    "running",
    "succeeded",
    "partially_failed",
    "failed",
    "cancelled",
    "rejected",
];

/// Every pair of states, tried by the owner of the tables: what is not a move names both states and the moves there are.
/// Proves: S159, S212, S213, S214, S215, S216, S217, S218, S219.
/// Guards: D92.
#[tokio::test]
async fn a_move_that_does_not_exist_names_both_states_and_the_legal_ones() {
    let (_db, c) = people().await;
    let asked = ask_change(&c).await;
    // Past the triggers, so that each state can be tried: what the columns of a state must hold is not the point here.
    run(&c, "alter table tenure.execution_states disable trigger execution_states_move, disable trigger execution_states_values, drop constraint execution_states_counts").await;
    let legal: Vec<(String, String)> = rows(&c, "select from_state, to_state from tenure.execution_moves()", &[])
        .await
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect();
    assert_eq!(legal.len(), 12);
    for from in STATES {
        run(
            &c,
            "alter table tenure.execution_states disable trigger execution_states_move",
        )
        .await;
        rows(&c, "update tenure.execution_states set state = $1", &[&from]).await;
        run(
            &c,
            "alter table tenure.execution_states enable trigger execution_states_move",
        )
        .await;
        for to in STATES.into_iter().filter(|to| *to != from) {
            let sql = "update tenure.execution_states set state = $1 where execution_id = $2";
            run(&c, "begin").await;
            let outcome = try_rows(&c, sql, &[&to, &asked.execution]).await;
            run(&c, "rollback").await;
            if legal.contains(&(from.to_owned(), to.to_owned())) && to != "running" {
                outcome.unwrap_or_else(|error| panic!("{from} to {to}: {error:?}"));
                continue;
            }
            let said = raised(outcome, "state_conflict");
            if to == "running" && from == "approved" {
                assert!(said.contains("without its approval"), "{said}");
                continue;
            }
            assert!(said.contains(&format!("is {from} and cannot become {to}")), "{said}");
            for (_, next) in legal.iter().filter(|it| it.0 == from) {
                assert!(said.contains(next.as_str()), "{from} goes to {next}: {said}");
            }
        }
    }
    let refusal = try_rows(&c, "update tenure.execution_states set state = 'paused'", &[]).await;
    assert!(refusal.is_err(), "no such state");
}

/// Proves: S164, S167, S174, S175, S220, S221.
#[tokio::test]
async fn each_move_records_from_where_by_whom_and_when_and_tells_it() {
    let (_db, c) = people().await;
    let made = submit(
        &c,
        "eve",
        &plan("p", &["a modify"]),
        ", p_metadata => '{\"ticket\": 7}', p_on_behalf_of => 'pam'",
    )
    .await;
    let execution = id(&made, "execution_id");
    let asked = crate::approvals_scene::Asked::of(&made);
    let last = async || {
        let sql = "select last_state || ' ' || state || ' ' || last_transition_by || ' ' || (last_transition_at >= created_at) from tenure.execution_rows where execution_id = $1";
        get::<String>(&c, sql, &[&execution]).await
    };
    assert_eq!(last().await, "pending awaiting_approval eve true");
    decide(&c, "ada", &asked, "approve", "").await;
    assert_eq!(last().await, "approved running ada true");
    act(&c, "w").await;
    work_all(&c).await;
    assert_eq!(last().await, "running succeeded w true");
    let moves: Vec<String> = rows(
        &c,
        "select (data ->> 'from') || ' ' || (data ->> 'to') || ' ' || actor from tenure.execution_timeline($1) where data ? 'from' and step_id is null",
        &[&execution],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    assert_eq!(
        moves,
        [
            "pending awaiting_approval eve",
            "awaiting_approval approved ada",
            "approved running ada",
            "running succeeded w"
        ]
    );
    let shown = one(&c, "select tenure.execution_show($1)", &[&execution]).await;
    for (field, value) in [
        ("mode", json!("background")),
        ("approval_level", json!(1)),
        ("sla_class", json!("long")),
        ("requested_by", json!("eve")),
        ("on_behalf_of", json!("pam")),
        ("metadata", json!({"ticket": 7})),
        ("step_count", json!(1)),
        ("target_count", json!(1)),
        ("timed_out", json!(false)),
        ("retries_total", json!(0)),
        ("timeout_ms", json!(600_000)),
    ] {
        assert_eq!(shown[field], value, "{field}");
    }
    assert!(!shown.as_object().expect("an object").contains_key("tenant_id"));
}

/// The kinds of events that were seen, of all executions.
async fn kinds(c: &Client) -> Vec<String> {
    names(c, "select distinct kind from tenure.execution_events order by 1").await
}

/// Proves: S171, S191, S192, S193, S223.
#[tokio::test]
async fn each_kind_of_event_is_told_when_it_happens() {
    let (db, c) = people().await;
    let deny = ask(&c, &plan("deny", &["a modify"])).await;
    decide(&c, "ada", &deny, "reject", ", 'no'").await;
    let late = ask(&c, &plan("late", &["a modify"])).await;
    let stop = ask(&c, &plan("stop", &["a modify"])).await;
    act(&c, "pam").await;
    one(&c, "select tenure.execution_cancel($1, 'no')", &[&stop.execution]).await;
    let good = ask(&c, &plan("good", &["a modify"])).await;
    decide(&c, "ada", &good, "approve", "").await;
    work_all(&c).await;
    // One that is tried twice and fails for good.
    let mut text = plan("bad", &["a read"]);
    text["steps"][0]["attempts_max"] = json!(2);
    let bad = id(&submit(&c, "eve", &text, "").await, "execution_id");
    let held = work(&c).await;
    verb(&c, "job_progress", &held, ", '{\"percent\": 50}'").await;
    assert_eq!(story(&c, bad).await.last().map(String::as_str), Some("step_progress"));
    verb(&c, "job_fail", &held, ", 'broken'").await;
    assert_eq!(story(&c, bad).await.last().map(String::as_str), Some("step_retrying"));
    db.advance("1 hour").await;
    let held = claim(&c, "w").await;
    verb(&c, "job_start", &held, "").await;
    verb(&c, "job_fail", &held, ", 'broken again'").await;
    assert_eq!(state_of(&c, bad).await, "failed");
    // One that nobody works on in time.
    let slow = id(&submit(&c, "eve", &plan("slow", &["a read"]), "").await, "execution_id");
    db.advance("11 minutes").await;
    tick(&c).await;
    let shown = one(&c, "select tenure.execution_show($1)", &[&slow]).await;
    assert_eq!(
        (&shown["state"], &shown["timed_out"]),
        (&json!("failed"), &json!(true)),
        "{shown}"
    );
    db.advance("18 hours").await;
    tick(&c).await;
    db.advance("6 hours").await;
    tick(&c).await;
    assert_eq!(state_of(&c, late.execution).await, "cancelled");
    let seen = kinds(&c).await;
    for kind in [
        "execution_submitted",
        "execution_started",
        "execution_approved",
        "execution_running",
        "execution_completed",
        "execution_failed",
        "execution_cancelled",
        "execution_rejected",
        "execution_timed_out",
        "step_queued",
        "step_started",
        "step_completed",
        "step_failed",
        "step_progress",
        "step_retrying",
        "approval_requested",
        "approval_approved",
        "approval_rejected",
        "approval_expired",
        "approval_escalated",
    ] {
        assert!(seen.iter().any(|it| it == kind), "{kind} is missing: {seen:?}");
    }
    // Each is in the stream of events too, under the id of its execution; but for starts, which the stream tells of jobs.
    let unheard = names(
        &c,
        "select v.execution_id || ' ' || v.kind from tenure.execution_events v
          where not exists (select from tenure.events e where e.subject = v.execution_id::text and e.kind = regexp_replace(v.kind, '^([a-z]+)_', '\\1.') and (e.data ->> 'seq')::integer = v.seq)",
    )
    .await;
    assert!(unheard.is_empty(), "{unheard:?}");
    let steps: Vec<String> = rows(
        &c,
        "select kind || ' ' || step_id from tenure.execution_timeline($1) where step_id is not null",
        &[&bad],
    )
    .await
    .iter()
    .map(|row| row.get(0))
    .collect();
    let expected = "step_queued a, step_started a, step_progress a, step_retrying a, step_started a, step_failed a";
    assert_eq!(steps.join(", "), expected);
    let page: i64 = get(&c, "select count(*) from tenure.execution_timeline($1, 2, 2)", &[&bad]).await;
    assert_eq!(page, 2);
    check_executions(&c).await;
}

/// Proves: S222, S169, S173.
#[tokio::test]
async fn an_execution_shows_its_steps_by_outcome_and_its_times() {
    let (db, c) = people().await;
    let mut text = plan("p", &["a read", "b read", "c read b", "d read a"]);
    text["on_step_failure"] = json!("continue");
    let made = submit(&c, "eve", &text, "").await;
    let execution = id(&made, "execution_id");
    let show = async || -> Value { one(&c, "select tenure.execution_show($1)", &[&execution]).await };
    let counts = |shown: &Value, state: &str| shown["counts"][state].as_i64().expect("a number");
    let first = show().await;
    assert_eq!(
        (counts(&first, "running"), counts(&first, "waiting")),
        (2, 2),
        "{first}"
    );
    let (a, b) = (work(&c).await, work(&c).await);
    let middle = show().await;
    assert_eq!(middle["steps"][0]["job_state"], "in_progress");
    assert_eq!(middle["steps"][0]["worker"], "w");
    db.advance("90 seconds").await;
    verb(&c, "job_complete", &a, "").await;
    verb(&c, "job_fail", &b, ", 'broken', 'permanent'").await;
    work_all(&c).await;
    let last = show().await;
    assert_eq!(last["state"], "partially_failed", "{last}");
    assert_eq!(
        (
            counts(&last, "succeeded"),
            counts(&last, "failed"),
            counts(&last, "skipped")
        ),
        (2, 1, 1)
    );
    assert!(last["duration_ms"].as_i64().expect("a number") >= 90_000, "{last}");
    assert!(last["queue_wait_ms"].as_i64().expect("a number") >= 0);
    assert_eq!(last["result_summary"]["errors"][0]["step"], "b");
    let listed: String = get(
        &c,
        "select state || ' ' || steps_succeeded || ' ' || steps_failed || ' ' || steps_skipped from tenure.execution_list()",
        &[],
    )
    .await;
    assert_eq!(listed, "partially_failed 2 1 1");
    check_executions(&c).await;
}

/// Proves: S159, S160, S161, S162, S163, S167, S168, S169, S170, S171, S172, S178, S179, S180, S181, S186, S188. Guards: D84, D85, D89, D103, D104.
#[tokio::test]
async fn rows_that_mean_nothing_are_refused_by_the_tables() {
    let (_db, c) = people().await;
    let asked = ask_change(&c).await;
    decide(&c, "ada", &asked, "approve", "").await;
    let long = "repeat('x', 10241)";
    for (change, why) in [
        ("execution_states set mode = 'later'", "S160"),
        ("executions set sla_class = 'slow'", "S161"),
        ("executions set action_class = 'delete'", "an action class"),
        ("executions set approval_level = 4", "S167"),
        ("execution_states set started_at = created_at - interval '1 s'", "S168"),
        ("execution_states set ended_at = started_at - interval '1 s'", "S168"),
        ("execution_states set cancelled_by = 'ada'", "S170"),
        ("execution_states set cancelled_at = now()", "S170"),
        ("executions set timeout_ms = 0", "S171"),
        (
            &format!("execution_states set result_summary = to_jsonb({long})"),
            "S172",
        ),
        ("execution_states set error_class = repeat('x', 201)", "S172"),
        ("execution_states set retries_total = -1", "S172"),
        ("execution_states set steps_open = 2", "counters that do not add up"),
        ("executions set plan_size_bytes = -1", "D85"),
        ("executions set target_count = 0", "D85"),
        ("execution_states set state = 'succeeded'", "D85"),
        ("steps set step_number = -1", "D85"),
        ("step_states set state = 'succeeded'", "D85"),
        ("step_states set state = 'done'", "S178"),
        ("steps set action = ' '", "S178"),
        ("steps set target_ref = ''", "S178"),
        ("step_states set attempt = -1", "S179"),
        ("step_states set attempt = 2, attempts_max = 1", "S179"),
        ("steps set timeout_seconds = 0", "S180"),
        (
            "step_states set started_at = now(), ended_at = now() - interval '1 s', state = 'failed'",
            "S180",
        ),
        ("step_states set output_ref = repeat('x', 501)", "S181"),
        (&format!("step_states set output_summary = to_jsonb({long})"), "S181"),
        ("step_states set output_size_bytes = -1", "S181"),
        ("approvals set state = 'maybe'", "S162"),
        ("approvals set decided_at = created_at - interval '1 s'", "S186"),
        ("approvals set decided_by = null", "S188"),
        ("approvals set runbook_ref = ' '", "S187"),
    ] {
        // Past the trigger that lets nothing of a plan change: the checks are asked when a row is made.
        let table = change.split(' ').next().expect("a table");
        let past = match table {
            "executions" | "steps" => format!("alter table tenure.{table} disable trigger {table}_frozen; "),
            _ => String::new(),
        };
        let refusal = as_owner(&c, &format!("{past}update tenure.{change}")).await;
        assert!(
            ["23514", "TN014"].iter().any(|code| refusal.starts_with(code)),
            "{why}: {change}: {refusal}"
        );
    }
    let twice = "insert into tenure.steps (execution_id, step_number, tenant_id, step_id, action, action_class, target_type, target_ref, kind, effects, timeout_seconds, renewals_max, lease_seconds, priority, approval_level, rule)
                 select execution_id, step_number, tenant_id, 'other', action, action_class, target_type, target_ref, kind, effects, timeout_seconds, renewals_max, lease_seconds, priority, approval_level, rule from tenure.step_rows";
    assert!(as_owner(&c, twice).await.starts_with("23505"), "one step per number");
    let enums: i64 = get(
        &c,
        "select count(*) from pg_type where typnamespace = 'tenure'::regnamespace and typtype = 'e'",
        &[],
    )
    .await;
    assert_eq!(enums, 0);
}

/// What is asked of these tables has its index.
/// Proves: S177, S182, S190, S193, S199, S202.
/// Guards: D78, D87.
#[tokio::test]
async fn what_is_asked_of_executions_has_its_index() {
    let (_db, c) = people().await;
    let there = names(&c, "select indexname || ' ' || regexp_replace(indexdef, '^.* USING btree ', '') from pg_indexes where schemaname = 'tenure'").await;
    for asked in [
        "execution_states_state (tenant_id, state, created_at)",
        "executions_requested_by (tenant_id, requested_by, created_at)",
        "executions_correlation (tenant_id, correlation_id)",
        "execution_states_cancelled (tenant_id, cancelled_at)",
        "execution_states_timed_out (tenant_id, ended_at)",
        "execution_states_sla (tenant_id, sla_class, ((ended_at - started_at)))",
        "execution_states_key (tenant_id, held_key)",
        "ready_pkey (lane, rank, due, job_id)",
        "jobs_workflow_id (workflow_id)",
        "leases_pkey (token, lane)",
        "steps_pkey (execution_id, step_number)",
        "steps_target (tenant_id, target_type, target_ref, action)",
        "step_states_timed_out (tenant_id, execution_id)",
        "approvals_execution (execution_id, plan_hash)",
        "approvals_pending (tenant_id, created_at)",
        "approvals_plan_hash (tenant_id, plan_hash)",
        "approvals_expiry (expires_at)",
        "approval_votes_principal (tenant_id, principal, at)",
        "execution_events_pkey (execution_id, seq)",
        "execution_events_kind (tenant_id, kind, at)",
        "execution_dead_letters_pkey (execution_id)",
        "execution_dead_letters_failed_at (tenant_id, failed_at)",
    ] {
        assert!(there.iter().any(|it| it.starts_with(asked)), "{asked} is missing");
    }
}

/// A result that is too long is refused where it is given, and what is kept is measured uncompressed.
/// Proves: S172, S181, S231. Guards: D103.
#[tokio::test]
async fn results_are_bounded_and_what_looks_like_a_secret_is_masked() {
    let (_db, c) = people().await;
    let secret = submit(
        &c,
        "eve",
        &plan("p", &["a read"]),
        ", p_metadata => '{\"password\": \"x\"}'",
    )
    .await;
    assert_eq!(secret["refused"], true, "{secret}");
    let made = submit(&c, "eve", &plan("p", &["a read", "b read"]), "").await;
    let execution = id(&made, "execution_id");
    let (a, b) = (work(&c).await, work(&c).await);
    let long = one(
        &c,
        "select tenure.job_complete($1, $2, jsonb_build_object('x', repeat('x', 10241)))",
        &[&a.job_id, &a.token],
    )
    .await;
    assert_eq!(long["code"], "result_too_large", "{long}");
    verb(&c, "job_complete", &a, ", '{\"rows\": 3}'").await;
    verb(
        &c,
        "job_fail",
        &b,
        ", 'login with password=hunter2 failed', 'permanent'",
    )
    .await;
    let steps = rows(
        &c,
        "select output_summary, output_size_bytes, error_message from tenure.step_list($1)",
        &[&execution],
    )
    .await;
    assert_eq!(steps[0].get::<_, Value>(0), json!({"rows": 3}));
    assert!(steps[0].get::<_, i32>(1) > 0);
    for text in [
        steps[1].get::<_, String>(2),
        get(
            &c,
            "select error_message from tenure.execution_rows where execution_id = $1",
            &[&execution],
        )
        .await,
        get(&c, "select string_agg(body, '') from tenure.execution_events", &[]).await,
        get(
            &c,
            "select last_error || context::text from tenure.execution_dead_letters",
            &[],
        )
        .await,
    ] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    check_executions(&c).await;
}

/// Proves: S183.
#[tokio::test]
async fn steps_go_with_their_execution_and_neither_before_it_is_archived() {
    let (db, c) = people().await;
    let made = submit(&c, "eve", &plan("p", &["a read", "b read a"]), "").await;
    let execution: Uuid = id(&made, "execution_id");
    work_all(&c).await;
    db.advance("91 days").await;
    let text: String = get(
        &c,
        "select string_agg(line, e'\\n' order by n) from tenure.execution_evidence($1)",
        &[&execution],
    )
    .await;
    let early = one(&c, "select tenure.execution_archive($1, 'nothing')", &[&execution]).await;
    assert_eq!(early["code"], "state_conflict", "{early}");
    let done = one(
        &c,
        "select tenure.execution_archive($1, $2)",
        &[&execution, &text.as_str()],
    )
    .await;
    assert_eq!(done["archived"], true, "{done}");
    for table in [
        "executions",
        "plans",
        "steps",
        "step_needs",
        "approvals",
        "execution_events",
    ] {
        let left: i64 = get(&c, &format!("select count(*) from tenure.{table}"), &[]).await;
        assert_eq!(left, 0, "{table}");
    }
    let kept: String = get(&c, "select tenure.execution_archive_show($1)", &[&execution]).await;
    assert_eq!(kept, text);
}
