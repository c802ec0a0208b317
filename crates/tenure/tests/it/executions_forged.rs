//! What passes for a step, or for one of ours, and is none; and transactions whose picture of the world is an old one.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tenure::worker::Context;
use uuid::Uuid;

use crate::approvals_scene::{
    act, ask, check_executions, id, people, plan, snapshot, state_of, submit, tick, work, work_all,
};
use crate::fixture::{
    Db, check_invariants, claim_with, enqueue_with, get, one, raised, refused, rows, run, try_rows, verb,
};
use crate::locks::{fence, start, steps, take};
use crate::worker_scene::{until_idle, worker};

/// Whoever decides by what was true when their transaction began could start what is held, or wait for nobody.
#[tokio::test]
async fn nothing_is_decided_about_executions_and_locks_from_an_old_snapshot() {
    let (db, c) = people().await;
    let asked = ask(&c, &plan("asked", &["a modify"])).await;
    let lost = start(&c, "lost", "lost", json!({"effects": "once"})).await;
    let held = work(&c).await;
    db.advance("9 minutes").await;
    crate::fixture::reap(&c).await;
    assert_eq!(steps(&c, &[lost]).await, ["unknown"], "{held:?}");
    let failed = start(&c, "failed", "failed", json!({})).await;
    let held = work(&c).await;
    verb(&c, "job_fail", &held, ", 'broken', 'permanent'").await;
    let fence = fence(&take(&c, "pam", &["host:held"], 6000).await, 0);
    act(&c, "ada").await;
    let text = plan("new", &["a read"]).to_string();
    let before = snapshot(&c).await;
    for level in ["repeatable read", "serializable"] {
        for call in [
            format!("execution_submit('{text}')"),
            format!("approval_decide('{}', 'approve', '{}')", asked.approval, asked.hash),
            format!("execution_resolve('{lost}', 'a', 'succeeded', 'seen')"),
            format!("execution_resolve('{lost}', 'a', 'retry', 'seen')"),
            format!("execution_retry('{failed}')"),
            format!("execution_cancel('{}', 'no')", asked.execution),
            format!("execution_withdraw('{}', 'no')", asked.execution),
            "lock_acquire(array['host:new'], 60)".to_owned(),
            format!("lock_release(array['host:held'], array[{fence}])"),
            "lock_break('host:held', 'mine')".to_owned(),
        ] {
            run(&c, &format!("begin isolation level {level}")).await;
            let said = one(&c, &format!("select tenure.{call}"), &[]).await;
            run(&c, "commit").await;
            refused(&said, "state_conflict");
            let why = format!("{} {}", said["what"], said["why"]);
            assert!(why.contains(level) || why.contains("transaction"), "{call}: {said}");
        }
        run(&c, &format!("begin isolation level {level}")).await;
        raised(
            try_rows(&c, "select tenure.execution_tick()", &[]).await,
            "state_conflict",
        );
        run(&c, "rollback").await;
    }
    assert_eq!(snapshot(&c).await, before);
    check_executions(&c).await;
}

/// Work that was done is done, whatever transaction says so; what follows from it is seen to by who sees it all.
#[tokio::test]
async fn an_end_told_from_an_old_snapshot_is_followed_by_the_next_tick() {
    let (db, c) = people().await;
    let old = db.direct().await;
    for (level, end, state) in [
        ("repeatable read", "job_complete", "succeeded"),
        ("serializable", "job_complete", "succeeded"),
        ("repeatable read", "job_fail", "failed"),
    ] {
        let purpose = format!("{level} {end}");
        let first = start(&c, &purpose, &purpose, json!({})).await;
        let held = work(&c).await;
        run(&old, &format!("begin isolation level {level}")).await;
        rows(&old, "select count(*) from tenure.execution_rows", &[]).await;
        // After its picture was taken somebody comes who waits for the end.
        let second = start(&c, &purpose, &format!("{purpose} too"), json!({})).await;
        assert_eq!(steps(&c, &[second]).await, ["blocked"]);
        let more = if end == "job_fail" {
            ", 'broken', 'permanent'"
        } else {
            ""
        };
        let ended = verb(&old, end, &held, more).await;
        assert_ne!(ended["refused"], true, "{ended}");
        run(&old, "commit").await;
        let marked: i64 = get(
            &c,
            "select count(*) from tenure.follow_ups where task = 'step_end' and subject = $1::uuid::text",
            &[&held.job_id],
        )
        .await;
        assert_eq!(marked, 1, "{purpose}");
        assert_eq!(tick(&c).await["followed"], 1, "{purpose}");
        assert_eq!(state_of(&c, first).await, state, "{purpose}");
        assert_eq!(steps(&c, &[second]).await, ["running"], "{purpose}");
        work_all(&c).await;
        let left: i64 = get(&c, "select count(*) from tenure.follow_ups", &[]).await;
        assert_eq!(left, 0);
    }
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// A member `step` as the job of a step has it.
fn forged() -> Value {
    json!({"step": {"execution_id": Uuid::new_v4(), "step_id": "a", "step_number": 1, "action": "touch",
                    "target_type": "host", "plan_hash": "0".repeat(64), "fence": 7}})
}

#[tokio::test]
async fn nobody_enqueues_a_job_that_passes_for_one_of_ours() {
    let (_db, c) = people().await;
    let execution = id(&submit(&c, "eve", &plan("p", &["a modify"]), "").await, "execution_id");
    let own = format!("'step {execution} 1'");
    let other = format!("'step {} 12'", Uuid::new_v4());
    for argument in [
        "p_source_system => 'tenure.execution'".to_owned(),
        "p_source_system => 'tenure.schedule'".to_owned(),
        format!("p_key => {own}"),
        format!("p_key => {other}"),
    ] {
        let said = one(&c, &format!("select tenure.job_enqueue('touch', {argument})"), &[]).await;
        refused(&said, "name_invalid");
    }
    for argument in [
        "p_source_systems => array[null, 'tenure.execution']".to_owned(),
        "p_source_systems => array['shop', 'tenure.schedule']".to_owned(),
        format!("p_keys => array['fine', {own}]"),
        format!("p_keys => array[{other}, null]"),
    ] {
        let sql = format!("select * from tenure.job_enqueue_many(array['touch', 'touch'], {argument})");
        raised(try_rows(&c, &sql, &[]).await, "name_invalid");
    }
    let made: i64 = get(&c, "select count(*) from tenure.jobs", &[]).await;
    assert_eq!(made, 0);
    // What only looks a little like it is anybody's.
    for argument in [
        "p_key => 'step 7 of the plan'",
        "p_source_system => 'tenures'",
        "p_key => 'stepper'",
    ] {
        enqueue_with(&c, "touch", &format!(", {argument}")).await;
    }
}

/// The names under which the database signs are one list, and no caller gets one of them.
#[tokio::test]
async fn no_caller_gets_a_name_that_the_database_signs_with() {
    let (_db, c) = people().await;
    let reserved: Vec<String> = get(&c, "select tenure.reserved_actors()", &[]).await;
    for name in &reserved {
        for kind in ["human", "service", "agent"] {
            let said = one(&c, "select tenure.principal_create($1, $2)", &[name, &kind]).await;
            refused(&said, "name_invalid");
        }
        for call in [
            "select tenure.login_bind('some_login', p_principal => $1)",
            "select tenure.login_bind($1)",
            "select tenure.job_enqueue('touch', p_on_behalf_of => $1)",
        ] {
            refused(&one(&c, call, &[name]).await, "name_invalid");
        }
    }
    let made = one(&c, "select tenure.principal_create('policy desk', 'human')", &[]).await;
    assert_eq!(made["name"], "policy desk");
}

/// Every name that a function signs with is on the list, and the list has no other.
#[tokio::test]
async fn the_reserved_names_are_those_that_functions_sign_with() {
    let db = Db::open().await;
    let c = db.client().await;
    // The actor comes after the time, as in tenure.chain_append(p_now, 'policy', …), or after the kind of an event.
    let signed: Vec<String> = get(
        &c,
        r"select array_agg(distinct m.name[1] order by m.name[1])
            from pg_proc p
            cross join lateral (
              select regexp_matches(p.prosrc, '\([pv]_now, ''([a-z_]+)''', 'g')
              union all
              select regexp_matches(p.prosrc, '''(?:job|subscription|delivery|schedule|execution)\.[a-z_]+'', ''([a-z]+)''', 'g')
              union all
              select regexp_matches(p.prosrc, '(?:principal|actor) := ''([a-z]+)''', 'g')) m (name)
           where p.pronamespace = 'tenure'::regnamespace",
        &[],
    )
    .await;
    let migrated: Vec<String> = get(
        &c,
        "select array_agg(distinct x.name)
           from (select created_by from tenure.tenants union all select bound_by from tenure.logins) x (name)",
        &[],
    )
    .await;
    let mut found: Vec<String> = signed.into_iter().chain(migrated).collect();
    found.sort();
    found.dedup();
    let reserved: Vec<String> = get(&c, "select tenure.reserved_actors()", &[]).await;
    assert_eq!(found, reserved);
}

/// A handler that asks which step it runs for is told of steps only.
#[tokio::test]
async fn a_plain_job_with_a_member_step_is_no_step_to_its_handler() {
    let (db, c) = people().await;
    let payload = forged();
    one(&c, "select tenure.job_enqueue('touch', $1)", &[&payload]).await;
    let real = start(&c, "a", "real", json!({})).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = seen.clone();
    until_idle(worker(&db).handler("touch", move |payload: Value, context: Context| {
        let notes = notes.clone();
        async move {
            let step = context.step().map(|it| it.execution_id);
            notes.lock().expect("free").push((step, payload));
            Ok(())
        }
    }))
    .await;
    let seen = seen.lock().expect("free").clone();
    assert_eq!(seen.len(), 2, "{seen:?}");
    let plain = seen.iter().find(|it| it.1 == payload).expect("its payload is its own");
    assert_eq!(plain.0, None);
    assert!(seen.iter().any(|it| it.0 == Some(real)), "{seen:?}");
    assert_eq!(state_of(&c, real).await, "succeeded");
    assert_eq!(claim_with(&c, "w", "").await.len(), 0);
    check_invariants(&c).await;
}
