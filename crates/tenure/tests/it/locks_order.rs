//! A long line behind one target: whoever is next is found at once, and the line is served in its order.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::approvals_scene::{act, check_executions, people, rule, submit, tick};
use crate::fixture::{Db, claim_with, get, one, rows, run, verb};

/// So many wait for one target: plans of this size, and a small one that is more urgent and comes last.
const MANY: usize = 10_000;
const STEPS: usize = 1000;
const URGENT: usize = 50;
/// So many of them are run: more than are urgent.
const SERVED: i64 = 150;
const FEW: usize = 10;
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
type Touched = BTreeMap<String, (i64, i64)>;

/// What the session has not reported yet: what it did of late.
async fn touched(c: &Client) -> Touched {
    let sql = "select relname::text, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0), n_tup_ins + n_tup_upd + n_tup_del
                 from pg_stat_xact_user_tables where schemaname = 'tenure'";
    let found = rows(c, sql, &[]).await;
    found.iter().map(|row| (row.get(0), (row.get(1), row.get(2)))).collect()
}

/// Does something in a transaction of its own, and counts the rows that it touched.
async fn measured<T>(c: &Client, work: impl AsyncFnOnce() -> T) -> (T, Touched) {
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
    let sql = "select count(*) from tenure.steps where target_ref = $1 and state = 'blocked'";
    get(c, sql, &[&target]).await
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

    serve(&c, "many", SERVED).await;
    // One started by the tick, one by the measured end, and one by each end since.
    let started = "select count(*) from tenure.steps where target_ref = 'many' and fence is not null";
    assert_eq!(get::<i64>(&c, started, &[]).await, SERVED + 2);
    let out_of_turn = "select count(*) from (
        select row_number() over (order by s.fence nulls last, s.priority desc, s.blocked_order) as turn,
               row_number() over (order by s.priority desc, e.created_at, s.step_number) as came
          from tenure.steps s join tenure.executions e on e.execution_id = s.execution_id where s.target_ref = 'many') t
         where t.turn <> t.came";
    assert_eq!(
        get::<i64>(&c, out_of_turn, &[]).await,
        0,
        "by priority, then as they came"
    );
    let held: i64 = get(&c, "select count(*) from tenure.lock_list()", &[]).await;
    assert_eq!(held, 1, "one at a time");
    check_executions(&c).await;
}
