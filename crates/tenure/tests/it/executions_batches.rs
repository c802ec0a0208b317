//! Many steps of an execution at once: a batch of ends tells each of them once, and a stop settles what is queued together.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{check_executions, id, people, plan, rule, state_of, submit, tick, told, work_all};
use crate::archive_lists::archive;
use crate::fixture::{Claimed, check_invariants, claim_with, get, one, rows, run, until, verb};
use crate::locks::{start, steps};
use crate::locks_order::measured;
use crate::subscriptions::subscribe;

/// How many steps the wide plans have.
const STEPS: usize = 200;

/// A stop may write the row of its execution this often, however many steps it has.
const WRITES_MAX: i64 = 40;

/// Executions that go on at once, and what ending one step of each may read of a table for each of them.
const CHAINS: usize = 60;
const READS_MAX: i64 = 25;

async fn begin(c: &Client, text: &Value) -> Uuid {
    let made = submit(c, "eve", text, "").await;
    assert_eq!(made["state"], "running", "{made}");
    id(&made, "execution_id")
}

/// Ends runs in one batch.
async fn end_many(c: &Client, ends: &[(&Claimed, &str)]) -> Vec<(String, String)> {
    let jobs: Vec<Uuid> = ends.iter().map(|it| it.0.job_id).collect();
    let tokens: Vec<Uuid> = ends.iter().map(|it| it.0.token).collect();
    let outcomes: Vec<&str> = ends.iter().map(|it| it.1).collect();
    let sql = "select status, state from tenure.job_end_many($1, $2, $3)";
    let ended = rows(c, sql, &[&jobs, &tokens, &outcomes]).await;
    ended.iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// The run of each step that the story tells of, as `step_retrying b 1`.
async fn runs_told(c: &Client, execution: Uuid) -> Vec<String> {
    let sql = "select concat_ws(' ', kind, step_id, data ->> 'run') from tenure.execution_timeline($1)
                where kind in ('step_completed', 'step_failed', 'step_retrying') order by 1";
    rows(c, sql, &[&execution]).await.iter().map(|row| row.get(0)).collect()
}

async fn retries(c: &Client, execution: Uuid) -> i32 {
    let sql = "select retries_total from tenure.execution_rows where execution_id = $1";
    get(c, sql, &[&execution]).await
}

/// The second run of a step fails beside the success of another: its first is not told again.
#[tokio::test]
async fn a_mixed_batch_of_ends_tells_each_end_once_and_counts_each_retry_once() {
    let (db, c) = people().await;
    let mut text = plan("p", &["a read", "b read", "c read", "d read"]);
    text["on_step_failure"] = json!("continue");
    for place in 1..3 {
        text["steps"][place]["attempts_max"] = json!(3);
    }
    text["steps"][3]["attempts_max"] = json!(1);
    let execution = begin(&c, &text).await;
    let claimed = claim_with(&c, "w", ", p_limit => 4, p_mode => 'started'").await;
    let steps = "select job_id from tenure.step_rows where execution_id = $1 order by step_number";
    let jobs: Vec<Uuid> = rows(&c, steps, &[&execution])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    let held = |claimed: &[Claimed], place: usize| {
        let mine = claimed.iter().find(|it| it.job_id == jobs[place]);
        mine.expect("it is claimed").clone()
    };
    let (a, b, c1, d) = (
        held(&claimed, 0),
        held(&claimed, 1),
        held(&claimed, 2),
        held(&claimed, 3),
    );
    verb(&c, "job_fail", &b, ", 'no', 'transient', null, null, 0").await;
    assert_eq!(retries(&c, execution).await, 1);
    let again = claim_with(&c, "w", ", p_limit => 4, p_mode => 'started'").await;
    let b2 = held(&again, 1);
    assert_eq!(b2.run, 2);

    // A success, a second failure that is retried, a first failure that is retried, a failure for good.
    let ended = end_many(
        &c,
        &[(&a, "succeeded"), (&b2, "failed"), (&c1, "failed"), (&d, "failed")],
    )
    .await;
    assert!(ended.iter().all(|it| it.0 == "ended"), "{ended:?}");
    let so_far = [
        "step_completed a 1",
        "step_failed d 1",
        "step_retrying b 1",
        "step_retrying b 2",
        "step_retrying c 1",
    ];
    assert_eq!(runs_told(&c, execution).await, so_far);
    assert_eq!(retries(&c, execution).await, 3);

    // Their last runs, in one batch too.
    db.advance("1 day").await;
    one(&c, "select to_jsonb(count(*)) from tenure.job_reap()", &[]).await;
    let last = claim_with(&c, "w", ", p_limit => 4, p_mode => 'started'").await;
    let (b3, c2) = (held(&last, 1), held(&last, 2));
    end_many(&c, &[(&c2, "succeeded"), (&b3, "failed")]).await;
    let all = [
        "step_completed a 1",
        "step_completed c 2",
        "step_failed b 3",
        "step_failed d 1",
        "step_retrying b 1",
        "step_retrying b 2",
        "step_retrying c 1",
    ];
    assert_eq!(runs_told(&c, execution).await, all);
    assert_eq!(retries(&c, execution).await, 3);
    assert_eq!(state_of(&c, execution).await, "partially_failed");
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// A plan of many steps that need nothing: all are queued at once.
fn wide(purpose: &str) -> Value {
    let steps: Vec<String> = (0..STEPS).map(|n| format!("s{n} read")).collect();
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    plan(purpose, &steps)
}

/// How often the statement wrote the state of an execution.
async fn writes(c: &Client, sql: &str) -> i64 {
    run(c, "begin").await;
    one(c, sql, &[]).await;
    let written = "select n_tup_upd from pg_stat_xact_user_tables
                    where schemaname = 'tenure' and relname = 'execution_states'";
    let written = get(c, written, &[]).await;
    run(c, "commit").await;
    written
}

async fn skipped(c: &Client, execution: Uuid) -> i32 {
    let sql = "select steps_skipped from tenure.execution_rows where execution_id = $1";
    get(c, sql, &[&execution]).await
}

/// Rows are counted, not seconds: each step by itself would write its execution several times.
#[tokio::test]
async fn stopping_an_execution_of_hundreds_of_queued_steps_settles_them_together() {
    let (db, c) = people().await;

    let cancelled = begin(&c, &wide("cancelled")).await;
    let written = writes(&c, &format!("select tenure.execution_cancel('{cancelled}', 'enough')")).await;
    assert!(written <= WRITES_MAX, "a cancel wrote its execution {written} times");
    assert_eq!(state_of(&c, cancelled).await, "cancelled");
    assert_eq!(skipped(&c, cancelled).await, STEPS as i32);

    let failed = begin(&c, &wide("failed")).await;
    let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
    let fail = format!(
        "select tenure.job_fail('{}', '{}', 'no', 'permanent')",
        held.job_id, held.token
    );
    let written = writes(&c, &fail).await;
    assert!(written <= WRITES_MAX, "a failure wrote its execution {written} times");
    assert_eq!(state_of(&c, failed).await, "failed");
    assert_eq!(skipped(&c, failed).await, STEPS as i32 - 1);

    let late = begin(&c, &wide("late")).await;
    db.advance("30 days").await;
    let written = writes(&c, "select tenure.execution_tick()").await;
    assert!(written <= WRITES_MAX, "a timeout wrote its execution {written} times");
    assert_eq!(state_of(&c, late).await, "failed");
    assert_eq!(skipped(&c, late).await, STEPS as i32);

    for execution in [cancelled, failed, late] {
        let skips = told(&c, execution, "step_skipped").await;
        assert_eq!(skips, skipped(&c, execution).await as usize, "each is told of once");
    }
    let left: i64 = get(&c, "select (select count(*) from tenure.ready) + (select count(*) from tenure.delayed) + (select count(*) from tenure.active)", &[]).await;
    assert_eq!(left, 0, "nothing of them is left to be claimed");
    tick(&c).await;
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// One step of an execution fails while another waits for a worker, with its target locked. In the transaction of the
/// failure the job is taken back, its execution ends, and the target goes to the next. Where another transaction has
/// locked the target, the job is gone all the same, and the tick does the rest.
#[tokio::test]
async fn a_failure_takes_back_what_is_queued_and_hands_its_targets_over_at_once() {
    let (db, c) = people().await;
    let other = db.direct().await;
    for busy in [false, true] {
        let target = format!("t{busy}");
        let mut text = plan(&format!("first {busy}"), &["a read", "b read"]);
        text["steps"][1]["target_ref"] = json!(target);
        text["steps"][1]["lock_scope"] = json!("target");
        let first = begin(&c, &text).await;
        let next = start(&c, &target, &format!("next {busy}"), json!({})).await;
        assert_eq!(steps(&c, &[first, next]).await, ["running", "running", "blocked"]);
        let held = claim_with(&c, "w", ", p_mode => 'started'").await.remove(0);
        let of_step = "select step_id from tenure.step_rows where job_id = $1";
        assert_eq!(get::<String>(&c, of_step, &[&held.job_id]).await, "a");
        if busy {
            run(&other, "begin").await;
            let sql = "select from tenure.lock_targets where target = 'host:' || $1 for update";
            assert_eq!(rows(&other, sql, &[&target.as_str()]).await.len(), 1);
        }
        verb(&c, "job_fail", &held, ", 'no', 'permanent'").await;
        let waiting: i64 = get(&c, "select count(*) from tenure.ready", &[]).await;
        if busy {
            assert_eq!(waiting, 0, "its job is taken back");
            assert_eq!(steps(&c, &[first, next]).await, ["failed", "running", "blocked"]);
            run(&other, "commit").await;
            tick(&c).await;
        }
        assert_eq!(steps(&c, &[first, next]).await, ["failed", "skipped", "running"]);
        assert_eq!(state_of(&c, first).await, "failed");
        assert_eq!(told(&c, first, "step_skipped").await, 1);
        work_all(&c).await;
        assert_eq!(state_of(&c, next).await, "succeeded");
    }
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// A session keeps its plans, and those that it made while the tables were empty must do when they are full: nothing tells it
/// that they have grown before somebody analyses them.
/// Ends of 250 steps took two seconds in a new database, 40 times what plain jobs took.
#[tokio::test]
async fn what_a_session_planned_beside_empty_tables_reads_no_more_when_they_are_full() {
    let (_db, c) = people().await;
    rule(&c, "free", json!({"level": 0})).await;
    for table in ["executions", "steps", "step_needs", "locks", "lock_targets"] {
        run(
            &c,
            &format!("alter table tenure.{table} set (autovacuum_enabled = off)"),
        )
        .await;
        run(&c, &format!("analyze tenure.{table}")).await;
    }
    // Each of these takes a lock, waits for two others, or both.
    let chain = [
        "a modify",
        "b read",
        "c modify a b",
        "d read c",
        "e modify d",
        "f read e",
    ];
    let first = begin(&c, &plan("first", &chain)).await;
    work_all(&c).await;
    assert_eq!(state_of(&c, first).await, "succeeded");

    for n in 0..CHAINS {
        begin(&c, &plan(&format!("chain {n}"), &chain)).await;
    }
    for round in 0..4 {
        let held = claim_with(&c, "w", ", p_limit => 1000, p_mode => 'started'").await;
        assert!(held.len() >= CHAINS, "{} in round {round}", held.len());
        let ends: Vec<(&Claimed, &str)> = held.iter().map(|it| (it, "succeeded")).collect();
        let (_, touched) = measured(&c, async || end_many(&c, &ends).await).await;
        for table in ["executions", "steps", "step_needs", "locks", "lock_targets"] {
            let read = touched.get(table).map_or(0, |it| it.0);
            let allowed = READS_MAX * i64::try_from(ends.len()).expect("few");
            assert!(
                read <= allowed,
                "round {round} reads {read} rows of {table} for {} ends",
                ends.len()
            );
        }
    }
    work_all(&c).await;
    check_executions(&c).await;
}

/// The events of one subject, or of all, as the stream shows them.
async fn streamed(c: &Client, arguments: &str) -> Vec<(String, String)> {
    let sql =
        format!("select cursor, concat_ws(' ', subject, actor, at, kind, data) from tenure.event_list({arguments})");
    rows(c, &sql, &[])
        .await
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect()
}

/// Rows of the stream that stand for many events are an inner matter: readers get each event once, in order, whole.
///
/// Rule: 21, 22.
#[tokio::test]
async fn steps_that_move_together_are_read_from_the_stream_one_by_one() {
    let (db, c) = people().await;
    rule(&c, "free", json!({"level": 0})).await;
    subscribe(&c, "echo", "'step.completed'", "job", ", p_job_kind => 'echo'").await;
    let mut executions = Vec::new();
    for n in 0..12 {
        executions.push(begin(&c, &plan(&format!("chain {n}"), &["a read", "b modify a"])).await);
    }
    for _ in 0..2 {
        let held = claim_with(
            &c,
            "w",
            ", p_kinds => array['touch'], p_limit => 100, p_mode => 'started'",
        )
        .await;
        assert_eq!(held.len(), executions.len());
        let ends: Vec<(&Claimed, &str)> = held.iter().map(|it| (it, "succeeded")).collect();
        end_many(&c, &ends).await;
    }
    let shared = "select count(*) >= 4 and max(cardinality(entries)) = 24 from tenure.events where entries is not null";
    assert!(get::<bool>(&c, shared, &[]).await);
    let ended = "select count(*) = 12 from tenure.event_list(p_kind => 'execution.completed', p_limit => 1000)";
    until(&c, ended, &[], "the stream has come to the ends").await;

    let all = streamed(&c, "p_limit => 1000").await;
    for execution in &executions {
        let story = "select concat_ws(' ', $1::text, t.actor, t.at, regexp_replace(t.kind, '_', '.'), t.data || \
                       jsonb_strip_nulls(jsonb_build_object('seq', t.seq, 'step', t.step_id)))
                       from tenure.execution_timeline($1) t order by t.seq";
        let story: Vec<String> = rows(&c, story, &[execution])
            .await
            .iter()
            .map(|row| row.get(0))
            .collect();
        let subject = execution.to_string();
        let among_all: Vec<&String> = all
            .iter()
            .map(|it| &it.1)
            .filter(|it| it.starts_with(&subject))
            .collect();
        assert_eq!(among_all, story.iter().collect::<Vec<_>>());
        let alone = streamed(&c, &format!("p_subject => '{subject}'")).await;
        assert_eq!(alone.iter().map(|it| &it.1).collect::<Vec<_>>(), among_all);
        let last = streamed(&c, &format!("p_subject => '{subject}', p_newest => true, p_limit => 2")).await;
        assert_eq!(last, alone[alone.len() - 2..]);
    }
    // Page by page, whatever the page and the filter, also from the middle of a row.
    for (limit, filter) in [
        (1, ", p_kind => 'step.completed'"),
        (5, ", p_kind => 'step.*'"),
        (7, ""),
    ] {
        let whole = streamed(&c, &format!("p_limit => 1000{filter}")).await;
        let mut paged: Vec<(String, String)> = Vec::new();
        loop {
            let after = paged
                .last()
                .map(|it| format!(", p_after => '{}'", it.0))
                .unwrap_or_default();
            let page = streamed(&c, &format!("p_limit => {limit}{filter}{after}")).await;
            assert!(page.len() <= limit);
            if page.is_empty() {
                break;
            }
            paged.extend(page);
        }
        assert_eq!(paged, whole);
        let newest = streamed(&c, &format!("p_newest => true, p_limit => {limit}{filter}")).await;
        assert_eq!(newest, whole[whole.len() - limit..]);
    }
    let made =
        "select tenure.subscription_run(7) is not null and (select count(*) = 24 from tenure.jobs where kind = 'echo')";
    until(&c, made, &[], "a job for each step that was completed").await;
    let each = "select count(distinct payload ->> 'event') = 24 from tenure.jobs where kind = 'echo'";
    assert!(get::<bool>(&c, each, &[]).await);
    check_executions(&c).await;

    // An archived execution has no chain any more, and its events are found all the same.
    let subject = format!("p_subject => '{}'", executions[0]);
    let before = streamed(&c, &subject).await;
    archive(&db, &c, executions[0]).await;
    let after = streamed(&c, &subject).await;
    assert_eq!(after[..before.len()], before);
}

/// Rule: 22.
#[tokio::test]
async fn events_in_shared_rows_that_are_dropped_unread_are_told() {
    let (db, c) = people().await;
    rule(&c, "free", json!({"level": 0})).await;
    subscribe(&c, "steps", "'step.completed'", "reader", "").await;
    subscribe(&c, "other", "'kind.changed'", "reader", "").await;
    for n in 0..12 {
        begin(&c, &plan(&format!("alone {n}"), &["a read"])).await;
    }
    let held = claim_with(
        &c,
        "w",
        ", p_kinds => array['touch'], p_limit => 100, p_mode => 'started'",
    )
    .await;
    let ends: Vec<(&Claimed, &str)> = held.iter().map(|it| (it, "succeeded")).collect();
    end_many(&c, &ends).await;
    let shared = "select count(*) from tenure.events where entries is not null";
    assert!(get::<i64>(&c, shared, &[]).await > 0);
    for _ in 0..12 {
        one(&c, "select tenure.partition_upkeep()", &[]).await;
        db.advance("7 days").await;
    }
    let lost = "select string_agg(distinct subject, ', ') from tenure.events where kind = 'subscription.lost'";
    assert_eq!(get::<Option<String>>(&c, lost, &[]).await.as_deref(), Some("steps"));
}
