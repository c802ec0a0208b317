//! Whoever waits for a target gets it, whoever else comes, expires, is asked about or keeps a transaction open: nobody waits for nobody.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_race::sessions;
use crate::approvals_scene::{
    Asked, act, check_executions, decide, id, people, plan, rule, state_of, submit, tick, work, work_all,
};
use crate::fixture::{Db, all, check_invariants, get, one, reap, refused, rows, run, until};
use crate::locks::{start, steps, take};

/// No line without somebody at its head who holds the target, and no freed target that nobody looks at.
async fn nobody_waits_for_nobody(c: &Client) {
    let sql = "select count(*) from tenure.lock_targets t
                where not exists (select from tenure.follow_ups f where f.task = 'lock_grant' and f.tenant_id = t.tenant_id and f.subject = t.target)
                  and exists (select from tenure.lock_queue q where q.tenant_id = t.tenant_id and q.target = t.target)
                  and not exists (select from tenure.locks l where l.tenant_id = t.tenant_id and l.target = t.target)";
    assert_eq!(get::<i64>(c, sql, &[]).await, 0, "somebody waits for nobody");
}

#[tokio::test]
async fn a_newcomer_who_finds_an_expired_lock_does_not_keep_it_from_who_waits() {
    let (db, c) = people().await;
    // They come by a plan, by a step that follows another, and by hand.
    for newcomer in ["plan", "step", "hand"] {
        let target = format!("host:{newcomer}");
        let mut text = plan("before", &["z read", "a read z"]);
        text["steps"][1]["target_ref"] = json!(newcomer);
        text["steps"][1]["lock_scope"] = json!("target");
        let follower = match newcomer {
            "step" => Some(id(&submit(&c, "eve", &text, "").await, "execution_id")),
            _ => None,
        };
        take(&c, "ada", &[&target], 60).await;
        let first = start(&c, newcomer, &format!("first {newcomer}"), json!({})).await;
        assert_eq!(steps(&c, &[first]).await, ["blocked"]);
        db.advance("61 seconds").await;
        let mut both = vec![first];
        match newcomer {
            "plan" => both.push(start(&c, newcomer, "second", json!({})).await),
            "step" => {
                let held = work(&c).await;
                crate::fixture::verb(&c, "job_complete", &held, "").await;
                both.extend(follower);
            }
            _ => refused(&take(&c, "bob", &[&target], 60).await, "lock_held"),
        }
        nobody_waits_for_nobody(&c).await;
        tick(&c).await;
        let states = steps(&c, &both).await;
        assert_eq!(states[0], "running", "{newcomer}: who came first is first: {states:?}");
        assert!(
            states[1..].iter().all(|it| it == "blocked" || it == "succeeded"),
            "{newcomer}: {states:?}"
        );
        work_all(&c).await;
        for execution in both {
            assert_eq!(state_of(&c, execution).await, "succeeded", "{newcomer}");
        }
    }
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// A deployment of one step, which itself needs an approval; approved as a whole and for its step, and begun.
async fn deployed(c: &Client, target: &str) -> Asked {
    let mut text = plan(&format!("deploy {target}"), &["a deploy"]);
    text["steps"][0]["target_ref"] = json!(target);
    let asked = Asked::of(&submit(c, "eve", &text, "").await);
    decide(c, "ada", &asked, "approve", ", 'go'").await;
    assert_eq!(decide_step(c, &asked, "approve").await["state"], "approved");
    work(c).await;
    asked
}

/// Decides about what waits of a step.
async fn decide_step(c: &Client, asked: &Asked, decision: &str) -> Value {
    let sql = "select approval_id from tenure.approval_list($1)";
    let approval = get(c, sql, &[&asked.execution]).await;
    let of_step = Asked {
        execution: asked.execution,
        approval,
        hash: asked.hash.clone(),
    };
    decide(c, "ada", &of_step, decision, ", 'looked at it'").await
}

/// A step that is to run once more asks for its approval anew, with others behind it: whatever is said, somebody has the target and all end.
#[tokio::test]
async fn a_retry_that_needs_an_approval_again_and_who_waits_behind_it_all_end() {
    let (db, c) = people().await;
    rule(
        &c,
        "each",
        json!({"position": 10, "action_classes": ["deploy"], "level": 3}),
    )
    .await;
    for said in ["approve", "reject", "nothing", "cancel"] {
        let asked = deployed(&c, said).await;
        let waiting = start(&c, said, &format!("behind {said}"), json!({})).await;
        db.advance("20 minutes").await;
        reap(&c).await;
        assert_eq!(
            steps(&c, &[asked.execution, waiting]).await,
            ["unknown", "blocked"],
            "{said}"
        );
        act(&c, "pam").await;
        let retry = "select tenure.execution_resolve($1, 'a', 'retry', 'it had not begun')";
        let told = one(&c, retry, &[&asked.execution]).await;
        assert_eq!(told["step_state"], "awaiting_approval", "{told}");
        nobody_waits_for_nobody(&c).await;
        match said {
            "nothing" => db.advance("2 days").await,
            "cancel" => {
                let cancel = "select tenure.execution_cancel($1, 'enough')";
                one(&c, cancel, &[&asked.execution]).await;
            }
            decision => {
                let told = decide_step(&c, &asked, decision).await;
                assert_ne!(told["refused"], true, "{told}");
            }
        }
        nobody_waits_for_nobody(&c).await;
        for _ in 0..3 {
            tick(&c).await;
            work_all(&c).await;
            db.advance("3 seconds").await;
        }
        nobody_waits_for_nobody(&c).await;
        let ends = [state_of(&c, asked.execution).await, state_of(&c, waiting).await];
        let end = match said {
            "approve" => "succeeded",
            "cancel" => "cancelled",
            _ => "failed",
        };
        assert_eq!(ends[0], end, "{said}: {ends:?}");
        // Whoever waited two days has had their own end by then; nobody is left in between.
        let open = "select count(*) from tenure.execution_rows where ended_at is null";
        assert_eq!(get::<i64>(&c, open, &[]).await, 0, "{said}: {ends:?}");
        assert!(said == "nothing" || ends[1] == "succeeded", "{said}: {ends:?}");
    }
    let left: i64 = get(&c, "select count(*) from tenure.locks", &[]).await;
    assert_eq!(left, 0);
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// More than one round looks at.
const FOREIGN: usize = 150;

/// What a closed tenant left behind stays there until it opens again, and stands in nobody's way.
#[tokio::test]
async fn a_closed_tenant_keeps_no_other_tenant_from_its_locks() {
    let (db, c) = people().await;
    one(&c, "select tenure.tenant_create('other')", &[]).await;
    let other = db.direct().await;
    run(&other, "set tenure.tenant = 'other'").await;
    let gate = "select tenure.gate_set('queue.job_substrate.enabled', $1)";
    one(&other, gate, &[&"open"]).await;
    let parts: Vec<String> = (0..FOREIGN).map(|n| format!("host:x{n:03}")).collect();
    for some in parts.chunks(50) {
        let taken = one(&other, "select tenure.lock_acquire($1, 1)", &[&some.to_vec()]).await;
        assert_ne!(taken["refused"], true, "{taken}");
    }
    one(&other, gate, &[&"closed"]).await;
    // Freed while the next was in somebody's hands, too.
    run(
        &c,
        "insert into tenure.follow_ups (task, subject, tenant_id, due_at) select 'lock_grant', t.target, t.tenant_id, now() from tenure.lock_targets t join tenure.tenants n on n.tenant_id = t.tenant_id and n.name = 'other'",
    )
    .await;
    take(&c, "ada", &["host:mine"], 60).await;
    let expired = start(&c, "mine", "expired", json!({})).await;
    take(&c, "ada", &["host:ours"], 6000).await;
    let owed = start(&c, "ours", "owed", json!({})).await;
    run(
        &c,
        "delete from tenure.locks where target = 'host:ours'; insert into tenure.follow_ups (task, subject, tenant_id, due_at) select 'lock_grant', target, tenant_id, now() from tenure.lock_targets where target = 'host:ours'",
    )
    .await;
    db.advance("61 seconds").await;
    let server = db.direct().await;
    run(&server, "set tenure.tenant = '*'").await;
    let done = tick(&server).await;
    assert_eq!(steps(&c, &[expired, owed]).await, ["running", "running"], "{done}");
    let kept: i64 = get(&c, "select count(*) from tenure.locks where target like 'host:x%'", &[]).await;
    assert_eq!(kept, FOREIGN as i64);
    one(&other, gate, &[&"open"]).await;
    for _ in 0..=FOREIGN / 100 {
        tick(&server).await;
    }
    let left: i64 = get(&c, "select count(*) from tenure.locks where target like 'host:x%'", &[]).await;
    assert_eq!(left, 0);
    check_executions(&c).await;
}

/// Executions that are approved and wait for the end of a freeze, one at each of these targets. The session of a server that gives up where it would wait.
async fn parked(targets: &[&str]) -> (Db, Client, Client, Vec<Uuid>) {
    let (db, c) = people().await;
    // The lane of their jobs is there already: only whoever makes it is waited for.
    start(&c, "first", "first", json!({})).await;
    work_all(&c).await;
    act(&c, "pam").await;
    one(&c, "select tenure.execution_freeze('wait')", &[]).await;
    let mut found = Vec::new();
    for (n, target) in targets.iter().enumerate() {
        found.push(start(&c, target, &format!("p{n}"), json!({})).await);
    }
    act(&c, "pam").await;
    one(&c, "select tenure.execution_unfreeze('go')", &[]).await;
    let server = db.direct().await;
    run(&server, "set statement_timeout = '50s'").await;
    (db, c, server, found)
}

/// Ticks on until nothing that may start is left; the clock goes on between rounds.
async fn tick_on(db: &Db, c: &Client) {
    for _ in 0..3 {
        tick(c).await;
        db.advance("61 seconds").await;
    }
}

/// Who keeps a transaction open keeps what it touched, and no server from its round.
#[tokio::test]
async fn a_tick_waits_for_no_transaction_on_a_target() {
    let (db, c, server, executions) = parked(&["busy", "free"]).await;
    let holder = db.direct().await;
    run(&holder, "begin").await;
    take(&holder, "ada", &["host:busy"], 30).await;
    tick(&server).await;
    assert_eq!(steps(&c, &executions).await, ["waiting", "running"]);
    assert_eq!(state_of(&c, executions[0]).await, "approved");
    run(&holder, "rollback").await;
    tick_on(&db, &server).await;
    assert_eq!(steps(&c, &executions).await, ["running", "running"], "later, then");
    work_all(&c).await;
    check_executions(&c).await;
}

/// Nor for another server's round, which has in hand what it started.
#[tokio::test]
async fn a_tick_waits_for_no_other_tick() {
    let (db, c, server, executions) = parked(&["a", "b", "a", "b", "c"]).await;
    let first = db.direct().await;
    run(&first, "begin").await;
    one(&first, "select tenure.execution_tick(2)", &[]).await;
    tick(&server).await;
    assert_eq!(
        steps(&c, &executions).await[4],
        "running",
        "what nobody has in hand starts"
    );
    run(&first, "commit").await;
    tick_on(&db, &server).await;
    assert_eq!(
        steps(&c, &executions).await,
        ["running", "running", "blocked", "blocked", "running"]
    );
    work_all(&c).await;
    for execution in executions {
        assert_eq!(state_of(&c, execution).await, "succeeded");
    }
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// Servers whose rounds cross at many targets, over and over: no round fails, and everything runs once.
#[tokio::test]
async fn rounds_of_many_servers_at_once_do_not_stand_in_each_others_way() {
    let names: Vec<String> = (0..60).map(|n| format!("t{}", n * 7 % 11)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (db, c, _, executions) = parked(&names).await;
    let servers = sessions(&db, &["server"; 4]).await;
    for _ in 0..4 {
        all(servers.iter().map(tick).collect()).await;
    }
    tick_on(&db, &c).await;
    let states = steps(&c, &executions).await;
    assert_eq!(states.iter().filter(|it| *it == "running").count(), 11, "{states:?}");
    assert_eq!(states.iter().filter(|it| *it == "blocked").count(), 49, "{states:?}");
    let work = async {
        let open = "select count(*) = 0 from tenure.execution_rows where ended_at is null";
        while !get::<bool>(&c, open, &[]).await {
            work_all(&c).await;
            tick(&c).await;
        }
    };
    let rounds = servers.iter().map(async |server| {
        let over = "select tenure.execution_tick() is null or not exists (select from tenure.execution_rows where ended_at is null)";
        until(server, over, &[], "all have ended").await;
    });
    tokio::join!(work, all(rounds.collect()));
    let ends: Vec<String> = rows(&c, "select distinct state from tenure.execution_rows", &[])
        .await
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(ends, ["succeeded"]);
    nobody_waits_for_nobody(&c).await;
    check_executions(&c).await;
    check_invariants(&c).await;
}
