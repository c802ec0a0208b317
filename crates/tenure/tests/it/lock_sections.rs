//! Sections: the lock of one target, held across several steps in order, never handed to another in between.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_race::sessions;
use crate::approvals_scene::{
    Asked, act, check_executions, decide, id, people, plan, rule, state_of, story, submit, tick, work,
};
use crate::fixture::{all, check_invariants, claim_with, get, one, reap, refused, rows, verb};
use crate::locks::{at, start, take};
use crate::step_starts::check_starts;

/// A plan of one section at a host: drain, restart, check.
fn host_work(purpose: &str, host: &str) -> Value {
    let mut text = plan(purpose, &["drain modify", "restart modify drain", "check read restart"]);
    for step in text["steps"].as_array_mut().expect("steps") {
        step["target_ref"] = json!(host);
    }
    text["sections"] = json!([{"id": "host-work", "steps": ["drain", "restart", "check"]}]);
    text
}

async fn begin(c: &Client, text: &Value) -> Uuid {
    id(&submit(c, "eve", text, "").await, "execution_id")
}

/// The states of an execution's steps, in the order of the plan.
async fn states(c: &Client, execution: Uuid) -> Vec<String> {
    let sql = "select state from tenure.step_list($1) order by step_number";
    rows(c, sql, &[&execution]).await.iter().map(|row| row.get(0)).collect()
}

/// Who holds a target: section and fence, if anything does.
async fn held(c: &Client, part: &str) -> Option<(Option<String>, i64)> {
    let found = rows(c, "select section, fence from tenure.lock_list($1)", &[&part]).await;
    found.first().map(|row| (row.get(0), row.get(1)))
}

async fn section(c: &Client, execution: Uuid) -> String {
    get(
        c,
        "select tenure.execution_show($1) -> 'sections' -> 0 ->> 'state'",
        &[&execution],
    )
    .await
}

/// Ends the one step that can be claimed, and answers its fence.
async fn next(c: &Client) -> i64 {
    let held = work(c).await;
    let fence = get(c, "select (tenure.job_show($1) ->> 'fence')::bigint", &[&held.job_id]).await;
    verb(c, "job_complete", &held, "").await;
    fence
}

async fn free(c: &Client) {
    rule(c, "free", json!({"level": 0})).await;
}

#[tokio::test]
async fn a_section_holds_its_target_from_its_first_step_to_its_last() {
    let (_db, c) = people().await;
    free(&c).await;
    let preview = one(
        &c,
        "select tenure.execution_preview($1)",
        &[&host_work("p", "web-1").to_string()],
    )
    .await;
    assert_eq!(
        preview["sections"],
        json!([{"section": "host-work", "target": "host:web-1", "lock_key": preview["sections"][0]["lock_key"],
                "steps": ["drain", "restart", "check"]}]),
        "{preview}"
    );
    assert_eq!(
        preview["steps"][2]["lock_key"], preview["sections"][0]["lock_key"],
        "{preview}"
    );
    let first = begin(&c, &host_work("p", "web-1")).await;
    let second = begin(&c, &host_work("q", "web-1")).await;
    let other = start(&c, "web-1", "look", json!({})).await;
    assert_eq!(
        (section(&c, first).await, section(&c, second).await),
        ("held".into(), "waiting".into())
    );
    let mut fences = Vec::new();
    for step in ["drain", "restart", "check"] {
        let (name, _) = held(&c, "host:web-1").await.expect("held");
        assert_eq!(name.as_deref(), Some("host-work"));
        let owner: String = get(&c, "select owner from tenure.lock_list('host:web-1')", &[]).await;
        assert_eq!(owner, format!("{first}/host-work"));
        refused(&take(&c, "ada", &["host:web-1"], 60).await, "lock_held");
        assert_eq!(
            states(&c, second).await,
            ["blocked", "waiting", "waiting"],
            "before {step}"
        );
        assert_eq!(states(&c, other).await, ["blocked"], "before {step}");
        fences.push(next(&c).await);
    }
    assert!(fences.windows(2).all(|pair| pair[0] < pair[1]), "{fences:?}");
    assert_eq!(
        (state_of(&c, first).await, section(&c, first).await),
        ("succeeded".into(), "over".into())
    );
    assert_eq!(
        states(&c, second).await[0],
        "running",
        "the next in the line has it now"
    );
    for _ in 0..3 {
        fences.push(next(&c).await);
    }
    assert!(fences.windows(2).all(|pair| pair[0] < pair[1]), "{fences:?}");
    assert_eq!(states(&c, other).await, ["running"]);
    let kinds = story(&c, first).await;
    let kinds: Vec<&str> = kinds
        .iter()
        .map(String::as_str)
        .skip_while(|it| *it != "execution_running")
        .collect();
    let step = ["step_queued", "step_started", "step_completed"];
    let mut expected = vec!["execution_running", "section_entered"];
    expected.extend(
        step.iter()
            .chain(&step)
            .chain(&["step_queued", "step_started", "step_completed", "section_left"]),
    );
    expected.push("execution_completed");
    assert_eq!(kinds, expected);
    check_executions(&c).await;
    check_starts(&c).await;
}

#[tokio::test]
async fn a_section_whose_step_fails_is_left_when_what_follows_is_skipped() {
    let (_db, c) = people().await;
    free(&c).await;
    for way in ["stop", "continue"] {
        let mut text = host_work(way, "web-1");
        text["on_step_failure"] = json!(way);
        let first = begin(&c, &text).await;
        let second = start(&c, "web-1", &format!("after {way}"), json!({})).await;
        next(&c).await;
        let held = work(&c).await;
        verb(&c, "job_fail", &held, ", 'broken', 'permanent'").await;
        assert_eq!(states(&c, first).await, ["succeeded", "failed", "skipped"], "{way}");
        assert_eq!(states(&c, second).await, ["running"], "{way}");
        next(&c).await;
    }
    assert_eq!(held(&c, "host:web-1").await, None);
    check_executions(&c).await;
}

#[tokio::test]
async fn a_section_with_an_unknown_step_keeps_its_lock_until_the_verdict() {
    let (db, c) = people().await;
    free(&c).await;
    let first = begin(&c, &host_work("p", "web-1")).await;
    let second = start(&c, "web-1", "q", json!({})).await;
    next(&c).await;
    work(&c).await;
    db.advance("9 minutes").await;
    reap(&c).await;
    assert_eq!(states(&c, first).await, ["succeeded", "unknown", "waiting"]);
    let (_, before) = held(&c, "host:web-1").await.expect("held");
    // Nor does a cancel free it: nobody knows yet whether it is over.
    assert_eq!(states(&c, second).await, ["blocked"]);
    act(&c, "pam").await;
    one(
        &c,
        "select tenure.execution_resolve($1, 'restart', 'retry', 'nothing was done')",
        &[&first],
    )
    .await;
    let (name, after) = held(&c, "host:web-1").await.expect("held");
    assert!(
        name.as_deref() == Some("host-work") && after > before,
        "{name:?} {before} {after}"
    );
    assert_eq!(next(&c).await, after);
    next(&c).await;
    assert_eq!(state_of(&c, first).await, "succeeded");
    assert_eq!(states(&c, second).await, ["running"]);
    check_executions(&c).await;
}

#[tokio::test]
async fn a_section_that_is_cancelled_or_out_of_time_is_left_when_its_last_step_is_over() {
    let (db, c) = people().await;
    free(&c).await;
    for way in ["cancel", "timeout"] {
        let first = begin(&c, &host_work(way, "web-1")).await;
        let second = start(&c, "web-1", &format!("after {way}"), json!({})).await;
        let run = work(&c).await;
        match way {
            "cancel" => {
                act(&c, "pam").await;
                one(&c, "select tenure.execution_cancel($1, 'not now')", &[&first]).await;
            }
            _ => {
                // Its own step may take longer than the execution.
                for _ in 0..6 {
                    db.advance("110 seconds").await;
                    verb(&c, "job_heartbeat", &run, "").await;
                }
                tick(&c).await;
            }
        }
        assert_eq!(states(&c, first).await, ["running", "skipped", "skipped"], "{way}");
        assert_eq!(states(&c, second).await, ["blocked"], "{way}: the step is under way");
        verb(&c, "job_acknowledge_cancel", &run, "").await;
        tick(&c).await;
        assert_eq!(states(&c, second).await, ["running"], "{way}");
        next(&c).await;
    }
    check_executions(&c).await;
}

/// Whoever breaks the lock of a section ends it: others may have been at its target since.
#[tokio::test]
async fn what_is_left_of_a_broken_section_never_starts_as_if_it_held_the_lock() {
    let (_db, c) = people().await;
    free(&c).await;
    let first = begin(&c, &host_work("p", "web-1")).await;
    next(&c).await;
    let run = work(&c).await;
    act(&c, "pam").await;
    refused(
        &one(&c, "select tenure.lock_break('host:web-1', ' ')", &[]).await,
        "name_blank",
    );
    let broken = one(&c, "select tenure.lock_break('host:web-1', 'the host burns')", &[]).await;
    assert_eq!(broken["broken"], true, "{broken}");
    refused(&verb(&c, "job_complete", &run, "").await, "stale_lease");
    assert_eq!(states(&c, first).await, ["succeeded", "unknown", "waiting"]);
    assert_eq!(section(&c, first).await, "broken");
    // The target is for others, and what is left of the section does not come back to it.
    let taken = take(&c, "ada", &["host:web-1"], 60).await;
    assert!(
        taken["locks"][0]["fence"].as_i64() > broken["fence"].as_i64(),
        "{taken}"
    );
    act(&c, "pam").await;
    one(
        &c,
        "select tenure.execution_resolve($1, 'restart', 'succeeded', 'it is up')",
        &[&first],
    )
    .await;
    assert_eq!(states(&c, first).await, ["succeeded", "succeeded", "failed"]);
    let why: String = get(
        &c,
        "select error_code from tenure.step_list($1) where step_id = 'check'",
        &[&first],
    )
    .await;
    assert_eq!(why, "lock_broken");
    assert_eq!(state_of(&c, first).await, "failed");
    // What is left can be run by another execution, under a lock of its own.
    let again = one(&c, "select tenure.execution_retry($1, 'resume')", &[&first]).await;
    let again = id(&again, "execution_id");
    assert_eq!(states(&c, again).await, ["succeeded", "succeeded", "blocked"]);
    act(&c, "ada").await;
    let fence = taken["locks"][0]["fence"].as_i64().expect("a number");
    one(
        &c,
        "select tenure.lock_release(array['host:web-1'], array[$1]::bigint[])",
        &[&fence],
    )
    .await;
    assert!(next(&c).await > fence);
    assert_eq!(state_of(&c, again).await, "succeeded");
    // An operator's retry does not bring a broken section back either.
    let second = begin(&c, &host_work("q", "web-1")).await;
    work(&c).await;
    act(&c, "pam").await;
    one(&c, "select tenure.lock_break('host:web-1', 'again')", &[]).await;
    one(
        &c,
        "select tenure.execution_resolve($1, 'drain', 'retry', 'once more')",
        &[&second],
    )
    .await;
    assert_eq!(states(&c, second).await, ["failed", "skipped", "skipped"]);
    assert_eq!(held(&c, "host:web-1").await, None);
    check_executions(&c).await;
}

/// While somebody decides about a step of a section, the section keeps its target; when it can't go on, it leaves it.
#[tokio::test]
async fn a_section_that_waits_for_an_approval_keeps_its_lock_and_leaves_it_when_it_ends() {
    let (_db, c) = people().await;
    free(&c).await;
    for way in ["approve", "reject", "cancel"] {
        let mut text = host_work(way, "web-1");
        text["approval_level"] = json!(3);
        let asked = Asked::of(&submit(&c, "eve", &text, "").await);
        decide(&c, "ada", &asked, "approve", "").await;
        let allow = async |step: &str, decision: &str| {
            let sql = "select approval_id from tenure.approval_list($1) where step_id = $2";
            let approval: Uuid = get(&c, sql, &[&asked.execution, &step]).await;
            let one_step = Asked {
                approval,
                hash: asked.hash.clone(),
                execution: asked.execution,
            };
            decide(&c, "ada", &one_step, decision, ", 'so'").await
        };
        allow("drain", "approve").await;
        let second = start(&c, "web-1", &format!("after {way}"), json!({})).await;
        next(&c).await;
        assert_eq!(
            states(&c, asked.execution).await,
            ["succeeded", "awaiting_approval", "waiting"]
        );
        assert_eq!(states(&c, second).await, ["blocked"], "{way}: the section goes on");
        match way {
            "approve" => {
                allow("restart", "approve").await;
                next(&c).await;
                allow("check", "approve").await;
                next(&c).await;
                assert_eq!(state_of(&c, asked.execution).await, "succeeded");
            }
            "reject" => {
                allow("restart", "reject").await;
                assert_eq!(state_of(&c, asked.execution).await, "failed");
            }
            _ => {
                act(&c, "pam").await;
                one(&c, "select tenure.execution_cancel($1, 'no')", &[&asked.execution]).await;
                assert_eq!(state_of(&c, asked.execution).await, "cancelled");
            }
        }
        let left = story(&c, asked.execution)
            .await
            .iter()
            .filter(|it| *it == "section_left")
            .count();
        assert_eq!(left, 1, "{way}");
        tick(&c).await;
        assert_eq!(states(&c, second).await, ["running"], "{way}");
        next(&c).await;
    }
    assert_eq!(held(&c, "host:web-1").await, None);
    check_executions(&c).await;
}

/// Two sections on different targets, one behind the other, in both orders, beside single steps: all come to their end, and
/// no step of another acts on a target within a section.
#[tokio::test]
async fn sections_at_one_target_never_interleave_and_never_wait_for_each_other() {
    let (db, c) = people().await;
    free(&c).await;
    rows(
        &c,
        "create table public.ledger (line bigint generated always as identity, target text, execution_id uuid, section text, fence bigint)",
        &[],
    )
    .await;
    let mut made = Vec::new();
    for n in 0..8 {
        let (one, two) = if n % 2 == 0 { ("x", "y") } else { ("y", "x") };
        let mut text = plan(
            &format!("p{n}"),
            &[
                "a modify",
                "b modify a",
                "c read b",
                "d modify c",
                "e modify d",
                "f modify",
            ],
        );
        for (at, target) in [one, one, one, two, two, one].into_iter().enumerate() {
            text["steps"][at]["target_ref"] = json!(target);
            text["steps"][at]["effects"] = json!("idempotent");
            text["steps"][at]["attempts_max"] = json!(20);
        }
        text["sections"] = json!([{"id": "first", "steps": ["a", "b", "c"]}, {"id": "second", "steps": ["d", "e"]}]);
        made.push(begin(&c, &text).await);
    }
    let workers = sessions(&db, &["w"; 4]).await;
    let open = "select bool_or(ended_at is null) from tenure.execution_rows";
    let working = workers.iter().enumerate().map(async |(n, client)| {
        let mut round = n;
        while get::<bool>(client, open, &[]).await {
            for held in claim_with(client, "w", ", p_limit => 2, p_mode => 'started'").await {
                round += 1;
                let line = "insert into public.ledger (target, execution_id, section, fence)
                            select s.lock_target, s.execution_id, s.section, tenure.fence_of(s.job_id) from tenure.step_rows s where s.job_id = $1";
                rows(client, line, &[&held.job_id]).await;
                match round % 7 {
                    0 => verb(client, "job_fail", &held, ", 'again', p_retry_seconds => 0").await,
                    3 => verb(client, "job_release", &held, "").await,
                    _ => verb(client, "job_complete", &held, "").await,
                };
            }
            tick(client).await;
        }
    });
    all(working.collect()).await;
    for execution in &made {
        assert_eq!(state_of(&c, *execution).await, "succeeded");
    }
    // Within a section no other execution, and no other step of the same one, was at its target.
    let strangers: i64 = get(
        &c,
        "select count(*) from public.ledger l
           join (select target, execution_id, section, min(line) as first, max(line) as last from public.ledger where section is not null group by 1, 2, 3) s
             on s.target = l.target and l.line between s.first and s.last
          where (l.execution_id, l.section) is distinct from (s.execution_id, s.section)",
        &[],
    )
    .await;
    assert_eq!(strangers, 0);
    let disorder: i64 = get(
        &c,
        "select count(*) from (select l.fence, lag(l.fence) over (partition by l.target order by l.line) as before from public.ledger l) l where l.fence <= l.before",
        &[],
    )
    .await;
    assert_eq!(disorder, 0, "each run has a greater number than the one before");
    tick(&c).await;
    let left: i64 = get(
        &c,
        "select (select count(*) from tenure.locks) + (select count(*) from tenure.follow_ups)",
        &[],
    )
    .await;
    assert_eq!(left, 0);
    check_executions(&c).await;
    check_starts(&c).await;
    check_invariants(&c).await;
}

/// Steps beside a section in the same plan stand in the line like anybody.
#[tokio::test]
async fn a_step_outside_the_section_waits_for_its_end() {
    let (_db, c) = people().await;
    free(&c).await;
    let mut text = host_work("p", "web-1");
    let beside = at(
        "web-1",
        "p",
        json!({"id": "beside", "needs": ["drain"], "action_class": "modify"}),
    );
    text["steps"]
        .as_array_mut()
        .expect("steps")
        .push(beside["steps"][0].clone());
    let execution = begin(&c, &text).await;
    next(&c).await;
    assert_eq!(
        states(&c, execution).await,
        ["succeeded", "running", "waiting", "blocked"]
    );
    next(&c).await;
    assert_eq!(
        states(&c, execution).await,
        ["succeeded", "succeeded", "running", "blocked"]
    );
    next(&c).await;
    assert_eq!(
        states(&c, execution).await,
        ["succeeded", "succeeded", "succeeded", "running"]
    );
    next(&c).await;
    assert_eq!(state_of(&c, execution).await, "succeeded");
    check_executions(&c).await;
}
