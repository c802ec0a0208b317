//! The order at a target: one at a time, whoever comes; and in a long line whoever is next is found at once, and served in its turn.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tenure_core::limits::HAND_OVER_STEPS_MAX;
use tokio_postgres::Client;

use crate::approvals_race::sessions;
use crate::approvals_scene::{act, check_executions, people, plan, rule, submit, tick};
use crate::fixture::{Db, all, check_invariants, claim_with, get, one, rows, run, verb};

/// So many wait for one target: plans of this size, and a small one that is more urgent and comes last.
const MANY: usize = 10_000;
const STEPS: usize = 1000;
const URGENT: usize = 50;
const FEW: usize = 10;
/// Lines of plans of one step, both longer than what one hand-over sends away.
const SHORT: usize = 120;
const LONG: usize = 350;
/// Counts may differ by what a page or a scan more or less brings, not by the length of the line.
const SLACK: i64 = 10;

/// A plan whose steps all want one target, and none the other.
fn crowd(target: &str, purpose: &str, steps: usize, priority: i32) -> Value {
    let steps: Vec<Value> = (1..=steps)
        .map(|n| {
            json!({"id": format!("s{n}"), "action": target, "action_class": "modify", "effects": "idempotent",
                   "target_type": "host", "target_ref": target})
        })
        .collect();
    json!({"purpose": purpose, "sla_class": "long", "priority": priority, "steps": steps})
}

/// Locks the target by hand, and lets these come after.
async fn line_up(c: &Client, target: &str, seconds: i32, plans: &[Value]) {
    act(c, "pam").await;
    let taken = "select tenure.lock_acquire(array[$1], $2)";
    let taken = one(c, taken, &[&format!("host:{target}"), &seconds]).await;
    assert_ne!(taken["refused"], true, "{taken}");
    for plan in plans {
        let made = submit(c, "eve", plan, "").await;
        assert_eq!(made["state"], "approved", "{made}");
    }
}

/// Rows that were read and written, table by table.
pub(crate) type Touched = BTreeMap<String, (i64, i64)>;

/// What the session has not reported yet: what it did of late.
async fn touched(c: &Client) -> Touched {
    let sql = "select relname::text, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0), n_tup_ins + n_tup_upd + n_tup_del
                 from pg_stat_xact_user_tables where schemaname = 'tenure'";
    let found = rows(c, sql, &[]).await;
    found.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect()
}

/// Does something in a transaction of its own, and counts the rows that it touched.
pub(crate) async fn measured<T>(c: &Client, work: impl AsyncFnOnce() -> T) -> (T, Touched) {
    run(c, "begin").await;
    let before = touched(c).await;
    let done = work().await;
    let mut after = touched(c).await;
    run(c, "commit").await;
    for (table, counts) in &mut after {
        let (read, written) = before.get(table).copied().unwrap_or_default();
        *counts = (counts.0 - read, counts.1 - written);
    }
    after.retain(|_, counts| *counts != (0, 0));
    assert!(!after.is_empty(), "something was read");
    (done, after)
}

async fn measured_tick(c: &Client) -> (Value, Touched) {
    measured(c, async || tick(c).await).await
}

/// The end of the step that has the target, which hands it to the next; and the rows that it touched.
async fn measured_end(c: &Client, target: &str) -> Touched {
    let kinds = format!(", p_mode => 'started', p_kinds => array['{target}']");
    let held = claim_with(c, "w", &kinds).await;
    assert_eq!(held.len(), 1, "one at a time");
    let (ended, touched) = measured(c, async || verb(c, "job_complete", &held[0], "").await).await;
    assert_ne!(ended["refused"], true, "{ended}");
    assert_eq!(claimable(c, target).await, 1, "the next has begun");
    touched
}

async fn claimable(c: &Client, kind: &str) -> i64 {
    let sql = "select count(*) from tenure.ready r join tenure.jobs j on j.job_id = r.job_id where j.kind = $1";
    get(c, sql, &[&kind]).await
}

/// What was touched beside a long line is what was touched beside a short one.
#[track_caller]
fn alike(what: &str, few: &Touched, many: &Touched) {
    for (table, (read, written)) in many {
        let (few_read, few_written) = few.get(table).copied().unwrap_or_default();
        assert!(
            *read <= few_read + SLACK,
            "{what} reads {read} rows of {table}, and {few_read} beside few"
        );
        assert_eq!(*written, few_written, "{what} writes rows of {table}");
    }
}

/// Runs steps of this kind, one after the other; each end hands the target on.
async fn serve(c: &Client, kind: &str, steps: i64) {
    let loop_of = format!(
        "do $$
         declare v_held record;
         begin
           for i in 1 .. {steps} loop
             select h.job_id, h.token into v_held from tenure.job_claim_many('w', p_kinds => array['{kind}'], p_mode => 'started', p_limit => 10) h;
             exit when not found;
             perform tenure.job_complete(v_held.job_id, v_held.token);
             commit;
           end loop;
         end $$"
    );
    run(c, &loop_of).await;
}

async fn behind(c: &Client, target: &str) -> i64 {
    let sql = "select count(*) from tenure.step_rows where target_ref = $1 and state = 'blocked'";
    get(c, sql, &[&target]).await
}

/// Plans of one step each, which have not started.
fn singles(target: &str, count: usize) -> Vec<Value> {
    (0..count)
        .map(|n| crowd(target, &format!("{target} {n}"), 1, 0))
        .collect()
}

/// Frees what pam took by hand, which hands it on; and the rows that it touched.
async fn measured_break(c: &Client, target: &str) -> Touched {
    act(c, "pam").await;
    let sql = "select tenure.lock_break($1, 'free it')";
    let part = format!("host:{target}");
    let (broken, touched) = measured(c, async || one(c, sql, &[&part]).await).await;
    assert_ne!(broken["refused"], true, "{broken}");
    touched
}

async fn lined_up() -> (Db, Client) {
    let (db, c) = people().await;
    rule(&c, "free", json!({"level": 0, "target_types": ["host"]})).await;
    line_up(&c, "few", 100, &[crowd("few", "few", FEW, 0)]).await;
    (db, c)
}

/// Proves: S194, S204, S206.
#[tokio::test]
async fn ten_thousand_behind_one_lock_start_in_order_and_the_next_costs_what_it_costs_beside_ten() {
    let (db, c) = lined_up().await;
    let (_, idle_few) = measured_tick(&c).await;
    db.advance("200 seconds").await;
    let (done, tick_few) = measured_tick(&c).await;
    assert_eq!(done["expired_locks"], 1, "{done}");
    let end_few = measured_end(&c, "few").await;
    serve(&c, "few", FEW as i64).await;

    let mut plans: Vec<Value> = (0..MANY / STEPS - 1)
        .map(|n| crowd("many", &format!("many {n}"), STEPS, [-100, 0][n % 2]))
        .collect();
    plans.push(crowd("many", "the rest", STEPS - URGENT, 0));
    plans.push(crowd("many", "urgent", URGENT, 100));
    line_up(&c, "many", 1000, &plans).await;
    assert_eq!(behind(&c, "many").await, MANY as i64);
    let (done, idle_many) = measured_tick(&c).await;
    assert_eq!(done["looked"], 0, "{done}");
    alike("a tick without work", &idle_few, &idle_many);
    db.advance("2000 seconds").await;
    let (done, tick_many) = measured_tick(&c).await;
    assert_eq!(done["expired_locks"], 1, "{done}");
    alike("a tick that hands over", &tick_few, &tick_many);
    let end_many = measured_end(&c, "many").await;
    alike("an end that hands over", &end_few, &end_many);

    serve(&c, "many", MANY as i64).await;
    let started =
        "select count(distinct fence) from tenure.step_rows where target_ref = 'many' and state = 'succeeded'";
    assert_eq!(get::<i64>(&c, started, &[]).await, MANY as i64);
    // A greater number is a later start.
    let out_of_turn = "select count(*) from (
        select row_number() over (order by s.fence) as turn, row_number() over (order by s.priority desc, e.created_at, s.step_number) as came
          from tenure.step_rows s join tenure.execution_rows e on e.execution_id = s.execution_id where s.target_ref = 'many') t
         where t.turn <> t.came";
    assert_eq!(
        get::<i64>(&c, out_of_turn, &[]).await,
        0,
        "by priority, then as they came"
    );
    let held: i64 = get(&c, "select count(*) from tenure.lock_list()", &[]).await;
    assert_eq!(held, 0, "nobody holds it any more");
    check_executions(&c).await;
}

/// Whoever frees a target pays for its share of those who may not start, not for all of them; what is left, later ticks see to.
#[tokio::test]
async fn a_freeze_that_meets_a_long_line_parks_it_little_by_little_and_its_order_is_kept() {
    let (db, c) = lined_up().await;
    line_up(&c, "short", 1000, &singles("short", SHORT)).await;
    line_up(&c, "long", 1000, &singles("long", LONG)).await;
    act(&c, "pam").await;
    one(&c, "select tenure.execution_freeze('inventory')", &[]).await;
    let short = measured_break(&c, "short").await;
    let long = measured_break(&c, "long").await;
    alike("a hand-over in a freeze", &short, &long);
    let sent = HAND_OVER_STEPS_MAX as usize;
    assert_eq!(behind(&c, "short").await, (SHORT - sent) as i64);
    assert_eq!(behind(&c, "long").await, (LONG - sent) as i64);
    for left in (1..LONG.div_ceil(sent)).rev() {
        assert_ne!(behind(&c, "long").await, 0, "{left} more ticks");
        tick(&c).await;
    }
    assert_eq!(behind(&c, "long").await, 0);
    let parked = "select count(*) from tenure.execution_rows where parked = 'freeze'";
    assert_eq!(get::<i64>(&c, parked, &[]).await, (SHORT + LONG) as i64);
    assert_eq!(tick(&c).await["handed_over"], 0, "nobody is owed anything");

    act(&c, "pam").await;
    one(&c, "select tenure.execution_unfreeze('done')", &[]).await;
    for _ in 0..(SHORT + LONG).div_ceil(100) {
        tick(&c).await;
        db.advance("1 second").await;
    }
    assert_eq!(
        behind(&c, "long").await,
        LONG as i64 - 1,
        "one has begun, the others wait"
    );
    serve(&c, "long", LONG as i64).await;
    let out_of_turn = "select count(*) from (
        select row_number() over (order by s.fence) as turn, row_number() over (order by e.created_at) as came
          from tenure.step_rows s join tenure.execution_rows e on e.execution_id = s.execution_id where s.target_ref = 'long' and s.state = 'succeeded') t
         where t.turn <> t.came";
    assert_eq!(get::<i64>(&c, out_of_turn, &[]).await, 0, "as they came");
    let ran = "select count(*) from tenure.step_rows where target_ref = 'long' and state = 'succeeded'";
    assert_eq!(get::<i64>(&c, ran, &[]).await, LONG as i64);
    check_executions(&c).await;
}

/// Nor does a time that has passed for all of them.
#[tokio::test]
async fn a_long_line_whose_time_has_passed_is_called_off_little_by_little() {
    let (db, c) = lined_up().await;
    line_up(&c, "late", 1000, &[]).await;
    for plan in singles("late", SHORT) {
        let made = submit(
            &c,
            "eve",
            &plan,
            ", p_start_before => tenure.now() + interval '10 minutes'",
        )
        .await;
        assert_eq!(made["state"], "approved", "{made}");
    }
    // Nobody ticks: whoever frees the target finds them all.
    db.advance("11 minutes").await;
    measured_break(&c, "late").await;
    let called_off = "select count(*) from tenure.execution_rows where reason_code = 'window_passed'";
    assert_eq!(get::<i64>(&c, called_off, &[]).await, HAND_OVER_STEPS_MAX);
    tick(&c).await;
    assert_eq!(get::<i64>(&c, called_off, &[]).await, SHORT as i64);
    assert_eq!(behind(&c, "late").await, 0);
    check_executions(&c).await;
}

/// Nor one of which each is refused when its turn comes, and so hands the target on at once.
#[tokio::test]
async fn a_long_line_of_which_each_is_refused_is_gone_through_little_by_little() {
    let (_db, c) = lined_up().await;
    let mut plan = crowd("taken", "taken", LONG, 0);
    plan["on_step_failure"] = json!("continue");
    line_up(&c, "taken", 1000, &[plan]).await;
    // Somebody has the keys that their jobs would have.
    let other = one(&c, "select tenure.job_enqueue('other')", &[]).await;
    let taken = format!(
        "insert into tenure.idempotency (key_hash, job_id)
         select tenure.idempotency_hash(tenure.idempotency_scope(s.tenant_id, s.kind), 'step ' || s.execution_id || ' ' || s.step_number), {}
           from tenure.step_rows s where s.target_ref = 'taken'",
        other["job_id"].to_string().replace('"', "'")
    );
    run(&c, &taken).await;
    measured_break(&c, "taken").await;
    let failed = "select count(*) from tenure.step_rows where target_ref = 'taken' and state = 'failed'";
    let at_once: i64 = get(&c, failed, &[]).await;
    assert!((1..=HAND_OVER_STEPS_MAX + 1).contains(&at_once), "{at_once} at once");
    for _ in 0..LONG.div_ceil(HAND_OVER_STEPS_MAX as usize) {
        tick(&c).await;
    }
    assert_eq!(get::<i64>(&c, failed, &[]).await, LONG as i64, "all in the end");
    check_executions(&c).await;
}

/// Executions on two targets, taken in either order by many who submit, approve and work at the same time: no two steps of a
/// target overlap in the ledger that the workers keep outside, each has a greater number than the one before, and nothing is left behind.
#[tokio::test]
async fn two_executions_on_one_target_never_overlap() {
    let (db, c) = people().await;
    run(
        &c,
        "create table public.ledger (line bigint generated always as identity, what text, target text, job_id uuid)",
    )
    .await;
    rule(&c, "free", json!({"level": 0})).await;
    let submitters = sessions(&db, &["eve"; 4]).await;
    let workers = sessions(&db, &["w"; 4]).await;
    const EACH: usize = 8;
    let texts: Vec<Vec<String>> = (0..submitters.len())
        .map(|n| {
            (0..EACH)
                .map(|at| {
                    let mut text = plan(&format!("p{n} {at}"), &["a modify", "b modify a", "c modify"]);
                    let targets = if n % 2 == 0 { ["x", "y", "y"] } else { ["y", "x", "x"] };
                    for (place, target) in targets.into_iter().enumerate() {
                        text["steps"][place]["target_ref"] = json!(target);
                    }
                    text.to_string()
                })
                .collect()
        })
        .collect();
    let submitting = submitters.iter().zip(&texts).map(async |(client, texts)| {
        for text in texts {
            let made = one(client, "select tenure.execution_submit($1)", &[&text.as_str()]).await;
            assert_ne!(made["refused"], true, "{made}");
        }
    });
    let open = "select count(*) < $1 or bool_or(ended_at is null) from tenure.execution_rows";
    let total = (EACH * submitters.len()) as i64;
    let working = workers.iter().map(async |client| {
        while get::<bool>(client, open, &[&total]).await {
            for held in claim_with(client, "w", ", p_limit => 3, p_mode => 'started'").await {
                for what in ["began", "ended"] {
                    let line = "insert into public.ledger (what, target, job_id) select $1, j.target_ref, j.job_id from tenure.jobs j where j.job_id = $2";
                    rows(client, line, &[&what, &held.job_id]).await;
                }
                assert_eq!(verb(client, "job_complete", &held, "").await["state"], "succeeded");
            }
            tick(client).await;
        }
    });
    tokio::join!(all(submitting.collect()), all(working.collect()));
    let states: Vec<String> = rows(&c, "select distinct state from tenure.execution_rows", &[])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(states, ["succeeded"]);
    // Whatever began at a target ended before the next began there.
    let ledger = "select count(*), count(*) filter (where l.what = 'began' and l.before = 'began' or l.what = 'ended' and (l.before, l.who) is distinct from ('began', l.job_id))
                    from (select l.*, lag(l.what) over at_target as before, lag(l.job_id) over at_target as who from public.ledger l
                          window at_target as (partition by l.target order by l.line)) l";
    let ledger = &rows(&c, ledger, &[]).await[0];
    let (lines, overlaps): (i64, i64) = (ledger.get(0), ledger.get(1));
    assert_eq!((lines, overlaps), (total * 6, 0));
    let disorder: i64 = get(
        &c,
        "select count(*) from (select s.fence, lag(s.fence) over (partition by s.lock_target order by l.line) as before
           from tenure.step_rows s join public.ledger l on l.job_id = s.job_id and l.what = 'began') x where x.fence <= x.before",
        &[],
    )
    .await;
    assert_eq!(disorder, 0, "numbers grow in the order in which they began");
    // Nor do they in what is recorded of them: check_executions.
    // Targets that were freed while somebody was in the way are looked at once more.
    tick(&c).await;
    let left: i64 = get(
        &c,
        "select (select count(*) from tenure.locks) + (select count(*) from tenure.follow_ups)",
        &[],
    )
    .await;
    assert_eq!(left, 0);
    check_executions(&c).await;
    check_invariants(&c).await;
}
