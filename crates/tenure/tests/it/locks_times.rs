//! What is recorded of holds never overlaps, whoever waited for whom: whoever had to wait for an execution or a target reads the clock when it has it, and looks again whether it may.

use serde_json::json;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_race::sessions;
use crate::approvals_scene::{act, check_executions, id, people, plan, rule, submit, tick, work};
use crate::fixture::{Claimed, Db, claim_with, enqueue, get, one, refused, run, until_blocked, verb};
use crate::locks::{at, fence, start, take};

/// A step that has the target `x`, and nobody behind it.
async fn held() -> (Db, Client, Claimed) {
    let (db, c) = people().await;
    rule(&c, "free", json!({"level": 0})).await;
    start(&c, "x", "first", json!({})).await;
    let held = work(&c).await;
    (db, c, held)
}

/// The clock as it is while somebody has the target and others wait.
const MEANWHILE: &str = "select extract(epoch from tenure.now())::float8";

/// Rule: 12.
#[tokio::test]
async fn a_plan_that_waited_for_a_target_begins_when_it_has_it() {
    let (db, c, held) = held().await;
    let both = sessions(&db, &["w", "eve"]).await;
    run(&both[0], "begin").await;
    assert_eq!(verb(&both[0], "job_complete", &held, "").await["state"], "succeeded");
    let text = at("x", "second", json!({})).to_string();
    let (made, meanwhile) = tokio::join!(
        async { one(&both[1], "select tenure.execution_submit($1)", &[&text.as_str()]).await },
        async {
            until_blocked(&c, "execution_submit").await;
            let meanwhile: f64 = get(&c, MEANWHILE, &[]).await;
            run(&both[0], "commit").await;
            meanwhile
        }
    );
    assert_eq!(made["state"], "running", "{made}");
    let sql = "select extract(epoch from least(l.acquired_at, s.queued_at, e.started_at))::float8
                 from tenure.locks l join tenure.step_rows s using (execution_id, step_number) join tenure.execution_rows e on e.execution_id = s.execution_id";
    let began: f64 = get(&c, sql, &[]).await;
    assert!(began >= meanwhile, "{began} is before {meanwhile}");
    verb(&c, "job_complete", &work(&c).await, "").await;
    check_executions(&c).await;
}

/// Rule: 12.
#[tokio::test]
async fn a_lock_by_hand_that_was_waited_for_lasts_from_when_it_is_had() {
    let (db, c) = people().await;
    let both = sessions(&db, &["ada", "bob"]).await;
    let first = take(&c, "ada", &["host:x"], 60).await;
    run(&both[0], "begin").await;
    let release = "select tenure.lock_release(array['host:x'], array[$1::bigint])";
    let released = one(&both[0], release, &[&fence(&first, 0)]).await;
    assert_eq!(released["released"], 1, "{released}");
    let (taken, meanwhile) = tokio::join!(
        one(&both[1], "select tenure.lock_acquire(array['host:x'], 60)", &[]),
        async {
            until_blocked(&c, "lock_acquire").await;
            let meanwhile: f64 = get(&c, MEANWHILE, &[]).await;
            run(&both[0], "commit").await;
            meanwhile
        }
    );
    assert!(fence(&taken, 0) > fence(&first, 0), "{taken}");
    let sql = "select extract(epoch from least(l.acquired_at, l.expires_at - interval '60 seconds'))::float8 from tenure.locks l";
    let had: f64 = get(&c, sql, &[]).await;
    assert!(had >= meanwhile, "{had} is before {meanwhile}");
}

/// One who waits for an execution, while another who has it tells something: the later line is not the older one. Rule: 12.
#[tokio::test]
async fn a_line_that_waited_for_another_is_not_older() {
    for late in ["job_complete", "execution_cancel"] {
        let (db, c) = people().await;
        rule(&c, "free", json!({"level": 0})).await;
        let made = submit(&c, "eve", &plan("two", &["a read", "b read"]), "").await;
        let execution = id(&made, "execution_id");
        let held = claim_with(&c, "w", ", p_limit => 2, p_mode => 'started'").await;
        assert_eq!(held.len(), 2, "{made}");
        let both = sessions(&db, &["w", "pam"]).await;
        run(&both[0], "begin; select from tenure.execution_states for no key update").await;
        let waits = async {
            match late {
                "job_complete" => verb(&both[1], "job_complete", &held[1], "").await,
                _ => one(&both[1], "select tenure.execution_cancel($1, 'enough')", &[&execution]).await,
            }
        };
        let (answer, ()) = tokio::join!(waits, async {
            until_blocked(&c, late).await;
            verb(&both[0], "job_complete", &held[0], "").await;
            run(&both[0], "commit").await;
        });
        assert_ne!(answer["refused"], true, "{answer}");
        tick(&c).await;
        check_executions(&c).await;
    }
}

/// A claim reads the clock, and what it takes may have come due since then; or the clock was set back. Rule: 12.
#[tokio::test]
async fn a_job_never_starts_before_it_came_due() {
    let db = Db::open().await;
    let c = db.client().await;
    for mode in ["started", "leased"] {
        enqueue(&c, "a").await;
        db.advance("-10 seconds").await;
        let held = claim_with(&c, "w", &format!(", p_mode => '{mode}'")).await.remove(0);
        if mode == "leased" {
            verb(&c, "job_start", &held, "").await;
        }
        let early = "select a.started_at < j.created_at from tenure.active a join tenure.jobs j on j.job_id = a.job_id where a.job_id = $1";
        assert!(!get::<bool>(&c, early, &[&held.job_id]).await, "{mode}");
        assert_eq!(verb(&c, "job_complete", &held, "").await["state"], "succeeded");
    }
}

/// What was in order when somebody asked for it may be no more when the target is there.
#[tokio::test]
async fn a_plan_that_waited_for_a_target_does_not_start_too_late_nor_in_a_freeze() {
    for meanwhile in ["time", "freeze"] {
        let (db, c, held) = held().await;
        verb(&c, "job_complete", &held, "").await;
        let both = sessions(&db, &["pam", "eve"]).await;
        run(&both[0], "begin; select from tenure.lock_targets for no key update").await;
        let text = at("x", "second", json!({})).to_string();
        let submit = "select tenure.execution_submit($1, p_start_before => tenure.now() + interval '1 hour')";
        let (made, ()) = tokio::join!(async { one(&both[1], submit, &[&text.as_str()]).await }, async {
            until_blocked(&c, "execution_submit").await;
            match meanwhile {
                "time" => db.advance("2 hours").await,
                _ => {
                    act(&c, "pam").await;
                    let frozen = one(&c, "select tenure.execution_freeze('inventory')", &[]).await;
                    assert_eq!(frozen["frozen"], true, "{frozen}");
                }
            }
            run(&both[0], "commit").await;
        });
        let execution = id(&made, "execution_id");
        let sql = "select concat_ws(' ', e.state, e.reason_code, e.parked) from tenure.execution_rows e where e.execution_id = $1";
        let became: String = get(&c, sql, &[&execution]).await;
        let expected = match meanwhile {
            "time" => "cancelled window_passed",
            _ => "approved freeze",
        };
        assert_eq!(became, expected, "{made}");
        check_executions(&c).await;
    }
}

/// Nor is a lock broken that was given back in the meantime, or the one that somebody else has by then.
#[tokio::test]
async fn a_lock_that_was_freed_while_somebody_waited_to_break_it_is_not_broken() {
    let (db, c, held) = held().await;
    let second = start(&c, "x", "second", json!({})).await;
    let both = sessions(&db, &["w", "pam"]).await;
    let lock_break = "select tenure.lock_break($1, 'stuck')";
    run(&both[0], "begin").await;
    verb(&both[0], "job_complete", &held, "").await;
    let (broken, ()) = tokio::join!(async { one(&both[1], lock_break, &[&"host:x"]).await }, async {
        until_blocked(&c, "lock_break").await;
        run(&both[0], "commit").await;
    });
    refused(&broken, "lock_unknown");
    let of: Uuid = get(&c, "select l.execution_id from tenure.locks l", &[]).await;
    assert_eq!(of, second, "who was next has it");

    let taken = take(&c, "ada", &["host:y"], 60).await;
    act(&both[0], "ada").await;
    run(&both[0], "begin").await;
    let release = "select tenure.lock_release(array['host:y'], array[$1::bigint])";
    one(&both[0], release, &[&fence(&taken, 0)]).await;
    let (broken, ()) = tokio::join!(async { one(&both[1], lock_break, &[&"host:y"]).await }, async {
        until_blocked(&c, "lock_break").await;
        run(&both[0], "commit").await;
    });
    refused(&broken, "lock_unknown");
    let told: i64 = get(&c, "select count(*) from tenure.events where kind = 'lock.broken'", &[]).await;
    assert_eq!(told, 0, "nothing was broken");
    check_executions(&c).await;
}
