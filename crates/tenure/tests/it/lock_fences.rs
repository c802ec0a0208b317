//! One fencing number: the same wherever it is shown, and greater with every run and every lock by hand.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_race::sessions;
use crate::approvals_scene::{act, check_executions, id, people, plan, rule, state_of, submit, tick};
use crate::fixture::{Claimed, all, check_invariants, get, one, rows, run, verb};
use crate::locks::take;

/// A step at host:x that may be tried often.
fn retried(purpose: &str, steps: &[&str]) -> Value {
    let mut text = plan(purpose, steps);
    for step in text["steps"].as_array_mut().expect("steps") {
        step["target_ref"] = json!("x");
        step["effects"] = json!("idempotent");
        step["attempts_max"] = json!(200);
    }
    text
}

/// Claims a job, and answers it with the number that the worker is given.
async fn claim(c: &Client, mode: &str) -> Option<(Claimed, i64)> {
    let sql = "select * from tenure.job_claim_many('w', p_mode => $1)";
    let found = rows(c, sql, &[&mode]).await;
    found.first().map(|row| (Claimed::of(row), row.get::<_, i64>("fence")))
}

/// The number on every surface of a held run.
async fn shown(c: &Client, execution: Uuid, held: &Claimed) -> Vec<(&'static str, i64)> {
    let mut found = Vec::new();
    for (surface, sql) in [
        (
            "held",
            "select h.fence from tenure.job_held($2) h where $1 is not null and $3 is not null",
        ),
        (
            "job",
            "select (tenure.job_show($1) ->> 'fence')::bigint where $2 is not null and $3 is not null",
        ),
        (
            "lock",
            "select l.fence from tenure.lock_list('host:x') l where $1 is not null and $2 is not null and $3 is not null",
        ),
        (
            "step",
            "select s.fence from tenure.step_list($3) s where $1 is not null and $2 is not null and s.state = 'running'",
        ),
        (
            "show",
            "select (s ->> 'fence')::bigint from jsonb_array_elements(tenure.execution_show($3) -> 'steps') s
                   where $1 is not null and $2 is not null and s ->> 'state' = 'running'",
        ),
    ] {
        let params = [held.job_id, held.token, execution];
        found.push((surface, get(c, sql, &[&params[0], &params[1], &params[2]]).await));
    }
    found
}

async fn timeline(c: &Client, execution: Uuid) -> i64 {
    let sql = "select (data ->> 'fence')::bigint from tenure.execution_timeline($1) where kind = 'step_started' order by seq desc limit 1";
    get(c, sql, &[&execution]).await
}

#[tokio::test]
async fn the_fence_of_a_run_is_the_same_on_every_surface_and_greater_than_the_one_before() {
    let (_db, c) = people().await;
    rule(&c, "free", json!({"level": 0})).await;
    let execution = id(
        &submit(&c, "eve", &retried("p", &["a modify"]), "").await,
        "execution_id",
    );
    let mut before = 0;
    for mode in ["started", "leased", "started", "leased"] {
        let (held, fence) = claim(&c, mode).await.expect("a job");
        assert!(fence > before, "{fence} after {before}");
        for (surface, found) in shown(&c, execution, &held).await {
            assert_eq!(found, fence, "{surface}");
        }
        verb(&c, "job_start", &held, "").await;
        assert_eq!(timeline(&c, execution).await, fence);
        let payload: Value = one(
            &c,
            "select payload::jsonb from tenure.jobs where job_id = $1",
            &[&held.job_id],
        )
        .await;
        assert!(
            !payload.to_string().contains("fence"),
            "a payload is the same for every run: {payload}"
        );
        before = fence;
        verb(&c, "job_fail", &held, ", 'again', p_retry_seconds => 0").await;
        // Between two runs it is that of the last one.
        let last: i64 = get(&c, "select fence from tenure.lock_list('host:x')", &[]).await;
        assert_eq!(last, fence);
    }
    // A run that was held and never started had its number too: it stays the one that is shown, so that who breaks the lock tells
    // the target to refuse it.
    let (held, unused) = claim(&c, "leased").await.expect("a job");
    verb(&c, "job_release", &held, "").await;
    for sql in [
        "select fence from tenure.lock_list('host:x') where $1::uuid is not null",
        "select fence from tenure.step_list($1)",
        "select (tenure.job_show((select job_id from tenure.step_list($1))) ->> 'fence')::bigint",
    ] {
        assert_eq!(get::<i64>(&c, sql, &[&execution]).await, unused, "{sql}");
    }
    let (held, fence) = claim(&c, "started").await.expect("a job");
    assert!(fence > unused && unused > before);
    act(&c, "pam").await;
    verb(&c, "job_complete", &held, "").await;
    for sql in [
        "select fence from tenure.step_list($1)",
        "select (line::jsonb ->> 'fence')::bigint from tenure.execution_evidence($1) where line::jsonb ->> 'kind' = 'step'",
        "select (tenure.job_show((select job_id from tenure.step_list($1))) ->> 'fence')::bigint",
    ] {
        assert_eq!(get::<i64>(&c, sql, &[&execution]).await, fence, "{sql}");
    }
    assert_eq!(timeline(&c, execution).await, fence);
    // A lock by hand is the next of the same sequence.
    let taken = take(&c, "ada", &["host:x"], 60).await;
    assert!(taken["locks"][0]["fence"].as_i64() > Some(fence), "{taken}");
    let listed: i64 = get(&c, "select fence from tenure.lock_list('host:x')", &[]).await;
    assert_eq!(Some(listed), taken["locks"][0]["fence"].as_i64());
    check_executions(&c).await;
}

/// A step that locks nothing has no number, and neither has a plain job.
#[tokio::test]
async fn what_locks_nothing_has_no_fence() {
    let (_db, c) = people().await;
    submit(&c, "eve", &plan("p", &["a read"]), "").await;
    one(
        &c,
        "select tenure.job_enqueue('touch', '{\"step\": {\"fence\": 7}}')",
        &[],
    )
    .await;
    let found = rows(&c, "select fence from tenure.job_claim_many('w', p_limit => 10)", &[]).await;
    let fences: Vec<Option<i64>> = found.iter().map(|row| row.get(0)).collect();
    assert_eq!(fences, [None, None]);
}

/// The target: it remembers the greatest number it has seen, and refuses smaller ones.
const TARGET: &str = "
    create table public.target (fence bigint not null);
    insert into public.target values (0);
    create table public.acts (line bigint generated always as identity, fence bigint not null, allowed boolean not null);
    create function public.act(p_fence bigint) returns boolean
    language plpgsql as $$
    declare v_allowed boolean;
    begin
      update public.target t set fence = p_fence where t.fence < p_fence returning true into v_allowed;
      insert into public.acts (fence, allowed) values (p_fence, coalesce(v_allowed, false));
      return coalesce(v_allowed, false);
    end $$";

/// Runs that fail, are given back or are lost, locks by hand in between, and workers that come back from the dead, all at once.
/// Proves: S205.
#[tokio::test]
async fn whoever_may_act_has_a_greater_number_than_all_before_and_the_stale_are_refused() {
    let (db, c) = people().await;
    rule(&c, "free", json!({"level": 0})).await;
    run(&c, TARGET).await;
    let mut made = Vec::new();
    for n in 0..6 {
        let text = retried(&format!("p{n}"), &["a modify", "b modify a"]);
        made.push(id(&submit(&c, "eve", &text, "").await, "execution_id"));
    }
    let workers = sessions(&db, &["w"; 3]).await;
    let people = sessions(&db, &["ada", "bob"]).await;
    let open = "select bool_or(ended_at is null) from tenure.execution_rows";
    let may = "select public.act($1)";
    let working = workers.iter().enumerate().map(async |(n, client)| {
        let mut dead: Vec<i64> = Vec::new();
        let mut round = n;
        while get::<bool>(client, open, &[]).await {
            round += 1;
            let mode = if round % 2 == 0 { "started" } else { "leased" };
            if let Some((held, fence)) = claim(client, mode).await {
                verb(client, "job_start", &held, "").await;
                assert!(
                    get::<bool>(client, may, &[&fence]).await,
                    "run {} with {fence} was refused",
                    held.run
                );
                match round % 9 {
                    0 | 4 | 7 => verb(client, "job_fail", &held, ", 'again', p_retry_seconds => 0").await,
                    1 | 5 => verb(client, "job_release", &held, "").await,
                    2 => {
                        act(client, "pam").await;
                        let sql = "select tenure.lock_break('host:x', 'in the way')";
                        one(client, sql, &[]).await
                    }
                    _ => verb(client, "job_complete", &held, "").await,
                };
                dead.push(fence);
            }
            for fence in &dead {
                assert!(!get::<bool>(client, may, &[fence]).await, "{fence} came back");
            }
            tick(client).await;
        }
    });
    let locking = people.iter().map(async |client| {
        while get::<bool>(client, open, &[]).await {
            let taken = one(client, "select tenure.lock_acquire('{host:x}', 60)", &[]).await;
            if let Some(fence) = taken["locks"][0]["fence"].as_i64() {
                assert!(get::<bool>(client, may, &[&fence]).await, "{taken}");
                let sql = "select tenure.lock_release('{host:x}', array[$1]::bigint[])";
                one(client, sql, &[&fence]).await;
            }
        }
    });
    tokio::join!(all(working.collect()), all(locking.collect()));
    for execution in &made {
        let state = state_of(&c, *execution).await;
        assert!(["succeeded", "failed"].contains(&state.as_str()), "{state}");
    }
    let disorder: i64 = get(
        &c,
        "select count(*) from (select a.fence, lag(a.fence) over (order by a.line) as before from public.acts a where a.allowed) a where a.fence <= a.before",
        &[],
    )
    .await;
    assert_eq!(disorder, 0);
    let (allowed, stale): (i64, i64) = {
        let row = &rows(
            &c,
            "select count(*) filter (where allowed), count(*) filter (where not allowed) from public.acts",
            &[],
        )
        .await[0];
        (row.get(0), row.get(1))
    };
    assert!(allowed > 6 && stale > 0, "{allowed} {stale}");
    check_executions(&c).await;
    check_invariants(&c).await;
}
