//! When a worker starts a step: the line `step_started` names worker, run, time and fence, in its order, whoever holds the
//! execution meanwhile; and no claim waits for it.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_race::sessions;
use crate::approvals_scene::{check_executions, id, people, plan, rule, state_of, story, submit, tick, told};
use crate::fixture::{Claimed, all, check_invariants, claim, claim_with, get, one, reap, rows, run, verb};

const STARTED: &str = ", p_limit => 10, p_mode => 'started'";

/// The lines of one kind, with what they say.
async fn lines(c: &Client, execution: Uuid, kind: &str) -> Vec<Value> {
    let sql = "select data || jsonb_build_object('actor', actor, 'step', step_id) from tenure.execution_timeline($1) where kind = $2";
    rows(c, sql, &[&execution, &kind])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect()
}

async fn run_plan(c: &Client, steps: &[&str]) -> Uuid {
    id(&submit(c, "eve", &plan("p", steps), "").await, "execution_id")
}

/// Starts of all executions that are still to be written.
async fn left(c: &Client) -> i64 {
    get(
        c,
        "select count(*) from tenure.follow_ups where task = 'step_start'",
        &[],
    )
    .await
}

/// What must hold of every step: queued before it started, started before it ended, and each started run named once.
pub(crate) async fn check_starts(c: &Client) {
    let disorder = "
        with lines as (
          select v.execution_id, v.step_number, v.seq, v.kind, (v.body::jsonb -> 'data' ->> 'run')::integer as run, v.body::jsonb -> 'data' ->> 'job_id' as job_id
            from tenure.execution_events v where v.kind in ('step_queued', 'step_started', 'step_completed', 'step_failed', 'step_retrying', 'step_unknown', 'step_cancelled')
             and not v.body::jsonb -> 'data' ? 'by_verdict'
        )
        select l.execution_id || '/' || l.step_number || ' ' || l.kind || ' ' || coalesce(l.run::text, '') from lines l
         where l.kind = 'step_started' and (
                 coalesce((select p.kind from lines p where p.execution_id = l.execution_id and p.step_number = l.step_number and p.seq < l.seq order by p.seq desc limit 1), 'none')
                   not in ('step_queued', 'step_retrying')
                 -- A run that was given back, or snoozed, has no line of its end.
                 and not exists (select from tenure.attempts a join tenure.step_rows s on s.job_id = a.job_id
                                  where s.execution_id = l.execution_id and s.step_number = l.step_number and a.run = l.run - 1 and a.outcome in ('released', 'snoozed')))";
    let found: Vec<String> = rows(c, disorder, &[]).await.iter().map(|row| row.get(0)).collect();
    assert!(found.is_empty(), "{found:?}");
    let missing = "
        select s.execution_id || '/' || s.step_id || ' run ' || a.run
          from tenure.step_rows s join tenure.attempts a on a.job_id = s.job_id
         where a.started_at is not null
           and (select count(*) from tenure.execution_events v
                 where v.execution_id = s.execution_id and v.step_number = s.step_number and v.kind = 'step_started' and (v.body::jsonb -> 'data' ->> 'run')::integer = a.run
                   and v.body::jsonb -> 'data' ->> 'worker' = a.owner and (v.body::jsonb -> 'data' ->> 'started_at')::timestamptz = a.started_at) <> 1";
    let found: Vec<String> = rows(c, missing, &[]).await.iter().map(|row| row.get(0)).collect();
    assert!(found.is_empty(), "{found:?}");
}

/// Proves: S191.
#[tokio::test]
async fn a_step_has_started_when_a_worker_starts_it_and_not_before() {
    let (_db, c) = people().await;
    rule(&c, "free", json!({"level": 0})).await;
    let execution = run_plan(&c, &["a modify"]).await;
    assert_eq!(told(&c, execution, "step_queued").await, 1);
    assert_eq!(told(&c, execution, "step_started").await, 0, "its job waits");
    let held = claim(&c, "w1").await;
    assert_eq!(
        told(&c, execution, "step_started").await,
        0,
        "it is held, and not started"
    );
    verb(&c, "job_start", &held, "").await;
    verb(&c, "job_start", &held, "").await;
    let told = lines(&c, execution, "step_started").await;
    assert_eq!(told.len(), 1, "{told:?}");
    let step = one(&c, "select to_jsonb(s) from tenure.step_list($1) s", &[&execution]).await;
    assert_eq!(
        (&told[0]["worker"], &told[0]["run"], &told[0]["fence"], &told[0]["step"]),
        (&json!("w1"), &json!(1), &step["fence"], &json!("a")),
        "{told:?}"
    );
    let started: bool = get(
        &c,
        "select ($1::jsonb ->> 'started_at')::timestamptz = (select a.started_at from tenure.active a where a.job_id = $2)",
        &[&told[0], &held.job_id],
    )
    .await;
    assert!(started, "{told:?}");
    // The stream tells it too.
    let heard: i64 = get(
        &c,
        "select count(*) from tenure.events where kind = 'step.started' and subject = $1::text and data ->> 'worker' = 'w1'",
        &[&execution.to_string()],
    )
    .await;
    assert_eq!(heard, 1);
    verb(&c, "job_complete", &held, "").await;
    let kinds = story(&c, execution).await;
    assert_eq!(
        kinds[kinds.len() - 4..],
        ["step_queued", "step_started", "step_completed", "execution_completed"]
    );
    check_starts(&c).await;
    check_executions(&c).await;
}

/// A batch tells of each of its steps, and of none of its plain jobs; a claim that brings nothing tells nothing.
#[tokio::test]
async fn a_batch_of_claims_tells_of_each_of_its_steps() {
    let (_db, c) = people().await;
    let mut made = Vec::new();
    for n in 0..3 {
        let text = plan(&format!("p{n}"), &["a read", "b read", "c read a"]);
        made.push(id(&submit(&c, "eve", &text, "").await, "execution_id"));
    }
    one(&c, "select tenure.job_enqueue('touch')", &[]).await;
    let first = claim_with(&c, "w", STARTED).await;
    assert_eq!(first.len(), 7);
    for execution in &made {
        assert_eq!(told(&c, *execution, "step_started").await, 2);
    }
    let leased = claim_with(&c, "w", ", p_limit => 10").await;
    assert!(leased.is_empty());
    for held in &first {
        verb(&c, "job_complete", held, "").await;
    }
    // Prefetched, and started together.
    let leased: Vec<Claimed> = claim_with(&c, "w2", ", p_limit => 10").await;
    assert_eq!(leased.len(), 3);
    let (jobs, tokens): (Vec<Uuid>, Vec<Uuid>) = leased.iter().map(|held| (held.job_id, held.token)).unzip();
    rows(&c, "select * from tenure.job_start_many($1, $2)", &[&jobs, &tokens]).await;
    for execution in &made {
        let last = lines(&c, *execution, "step_started").await;
        assert_eq!((last.len(), &last[2]["worker"]), (3, &json!("w2")), "{last:?}");
    }
    for held in &leased {
        verb(&c, "job_complete", held, "").await;
    }
    check_starts(&c).await;
    check_executions(&c).await;
}

/// Whoever holds the execution keeps no claim waiting: the line comes with the tick, or before the line of the end.
/// Rule: 13.
#[tokio::test]
async fn a_claim_never_waits_for_an_execution_and_its_line_comes_before_that_of_its_end() {
    let (db, c) = people().await;
    let execution = run_plan(&c, &["a read", "b read"]).await;
    let holder = db.direct().await;
    run(&holder, "begin").await;
    one(
        &holder,
        "select to_jsonb(e.execution_id) from tenure.execution_states e where e.execution_id = $1 for update",
        &[&execution],
    )
    .await;
    run(&c, "set lock_timeout = '1ms'").await;
    let started = claim_with(&c, "w1", ", p_mode => 'started'").await;
    let leased = claim(&c, "w2").await;
    verb(&c, "job_start", &leased, "").await;
    run(&c, "reset lock_timeout").await;
    assert_eq!(told(&c, execution, "step_started").await, 0);
    assert_eq!(left(&c).await, 2);
    assert_eq!(tick(&c).await["starts_written"], 0, "it is still held");
    run(&holder, "commit").await;
    // One by its end, and the other by the tick.
    db.advance("3 seconds").await;
    verb(&c, "job_complete", &started[0], "").await;
    let kinds = story(&c, execution).await;
    assert_eq!(
        kinds[kinds.len() - 2..],
        ["step_started", "step_completed"],
        "{kinds:?}"
    );
    assert_eq!(tick(&c).await["starts_written"], 1);
    let told = lines(&c, execution, "step_started").await;
    let workers: Vec<&Value> = told.iter().map(|line| &line["worker"]).collect();
    assert_eq!(workers, ["w1", "w2"], "{told:?}");
    let late: i64 = get(
        &c,
        "select count(*) from tenure.execution_timeline($1) where kind = 'step_started' and at >= (data ->> 'started_at')::timestamptz + interval '3 seconds'",
        &[&execution],
    )
    .await;
    assert_eq!(late, 2, "with the time of the start, not that of the line");
    verb(&c, "job_complete", &leased, "").await;
    assert_eq!(state_of(&c, execution).await, "succeeded");
    assert_eq!(left(&c).await, 0);
    check_starts(&c).await;
    check_executions(&c).await;
}

/// A start in a transaction with an old snapshot cannot look at the execution; it is written down all the same.
#[tokio::test]
async fn a_start_with_an_old_snapshot_does_not_fail_for_its_line() {
    let (db, c) = people().await;
    let execution = run_plan(&c, &["a read", "b read"]).await;
    let first = claim(&c, "w1").await;
    let second = claim(&c, "w2").await;
    let late = db.client().await;
    run(&late, "begin isolation level repeatable read").await;
    get::<i64>(&late, "select count(*) from tenure.step_rows", &[]).await;
    verb(&c, "job_start", &first, "").await;
    verb(&late, "job_start", &second, "").await;
    run(&late, "commit").await;
    assert_eq!((told(&c, execution, "step_started").await, left(&c).await), (1, 1));
    assert_eq!(tick(&c).await["starts_written"], 1);
    for held in [first, second] {
        verb(&c, "job_complete", &held, "").await;
    }
    assert_eq!(state_of(&c, execution).await, "succeeded");
    check_starts(&c).await;
    check_executions(&c).await;
}

/// Starts, ends, cancels and transactions that hold executions at once: every started run has its line, in its order.
#[tokio::test]
async fn in_a_race_every_start_is_told_once_between_its_queue_and_its_end() {
    let (db, c) = people().await;
    rule(&c, "free", json!({"level": 0})).await;
    let mut made = Vec::new();
    for n in 0..6 {
        let mut text = plan(
            &format!("p{n}"),
            &["a modify", "b read a", "c modify a", "d read b", "e modify c"],
        );
        for step in text["steps"].as_array_mut().expect("steps") {
            step["effects"] = json!("idempotent");
            step["attempts_max"] = json!(5);
            step["target_ref"] = json!(format!("t{}", n % 2));
        }
        made.push(id(&submit(&c, "eve", &text, "").await, "execution_id"));
    }
    let workers = sessions(&db, &["w"; 3]).await;
    let holder = db.direct().await;
    let open = "select bool_or(ended_at is null) from tenure.execution_rows";
    let working = workers.iter().enumerate().map(async |(n, client)| {
        let mut round = n;
        while get::<bool>(client, open, &[]).await {
            let mode = if round % 2 == 0 { STARTED } else { ", p_limit => 2" };
            for held in claim_with(client, &format!("w{n}"), mode).await {
                round += 1;
                verb(client, "job_start", &held, "").await;
                match round % 5 {
                    0 => verb(client, "job_fail", &held, ", 'again', p_retry_seconds => 0").await,
                    _ => verb(client, "job_complete", &held, "").await,
                };
            }
            tick(client).await;
            round += 1;
        }
    });
    let holding = async {
        let mut n = 0;
        while get::<bool>(&c, open, &[]).await {
            run(&holder, "begin").await;
            let sql = "select to_jsonb(count(*)) from (select from tenure.execution_states e where e.execution_id = $1 for update) e";
            one(&holder, sql, &[&made[n % made.len()]]).await;
            reap(&c).await;
            tick(&c).await;
            run(&holder, "commit").await;
            n += 1;
        }
    };
    tokio::join!(all(working.collect()), holding);
    for execution in &made {
        let state = state_of(&c, *execution).await;
        assert!(["succeeded", "failed"].contains(&state.as_str()), "{state}");
    }
    assert_eq!(left(&c).await, 0);
    check_starts(&c).await;
    check_executions(&c).await;
    check_invariants(&c).await;
}
