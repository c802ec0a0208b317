//! An approval allows a start for a while, and only as long as its approvers have their right: it lapses, or is revoked with them.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_makers::{decide_by, decide_over, key_over, login_of};
use crate::approvals_race::ROUNDS;
use crate::approvals_scene::{
    Asked, act, approval_of, ask, ask_change, check_executions, decide, id, people, plan, rule, state_of, submit, tick,
    told, work_all,
};
use crate::approvals_time::window;
use crate::fixture::{Db, check_invariants, get, one, run, until_blocked};
use crate::locks::{fence, take};

async fn freeze(c: &Client, more: &str) {
    act(c, "pam").await;
    run(c, &format!("select tenure.execution_freeze('a freeze'{more})")).await;
}

async fn unfreeze(c: &Client) {
    act(c, "pam").await;
    run(c, "select tenure.execution_unfreeze('it is over')").await;
}

async fn reason_of(c: &Client, execution: Uuid) -> String {
    let sql = "select coalesce(reason_code, '') from tenure.execution_rows where execution_id = $1";
    get(c, sql, &[&execution]).await
}

/// Approved by ada, and parked: nothing has started.
async fn approved(c: &Client, asked: &Asked) {
    let answer = decide(c, "ada", asked, "approve", "").await;
    assert_eq!(answer["execution_state"], "approved", "{answer}");
}

/// Asserts that it was called off for this reason, with its approval.
async fn called_off(c: &Client, asked: &Asked, reason: &str) {
    assert_eq!(state_of(c, asked.execution).await, "cancelled");
    assert_eq!(reason_of(c, asked.execution).await, reason);
    assert_eq!(approval_of(c, asked.execution).await, "withdrawn");
    assert_eq!(told(c, asked.execution, "execution_started").await, 0);
}

/// Proves: S189.
#[tokio::test]
async fn an_approved_plan_that_has_not_started_within_a_day_is_cancelled() {
    let (db, c) = people().await;
    freeze(&c, "").await;
    let asked = ask_change(&c).await;
    approved(&c, &asked).await;
    db.advance("23 hours 59 minutes").await;
    tick(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "approved");
    db.advance("1 minute").await;
    tick(&c).await;
    called_off(&c, &asked, "approval_lapsed").await;
    // The line of the approval says until when it held.
    let said: i64 = get(
        &c,
        "select count(*) from tenure.execution_timeline($1) where kind = 'execution_approved' and data ? 'lapses_at'",
        &[&asked.execution],
    )
    .await;
    assert_eq!(said, 1);
    unfreeze(&c).await;
    tick(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "cancelled");
    let again = submit(&c, "eve", &plan("change", &["a modify"]), "").await;
    assert_eq!(again["duplicate"], false, "its key is free: {again}");
    check_executions(&c).await;
}

/// Not by the tick alone: what would start it looks itself.
#[tokio::test]
async fn a_lapsed_approval_starts_nothing_though_no_tick_came_before() {
    let (db, c) = people().await;
    let taken = take(&c, "pam", &["host:change a"], 86400).await;
    let asked = ask_change(&c).await;
    let answer = decide(&c, "ada", &asked, "approve", "").await;
    assert_eq!(answer["execution_state"], "approved", "it waits for the lock: {answer}");
    db.advance("24 hours").await;
    act(&c, "pam").await;
    let free = "select tenure.lock_release(array['host:change a'], array[$1]::bigint[])";
    let fence = fence(&taken, 0);
    let _ = crate::fixture::try_rows(&c, free, &[&fence]).await;
    tick(&c).await;
    called_off(&c, &asked, "approval_lapsed").await;
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// It counts from when it could first start, by what the approver saw.
#[tokio::test]
async fn a_plan_that_was_approved_for_later_lapses_a_day_after_it_could_first_start() {
    let (db, c) = people().await;
    let later = ", p_start_after => tenure.now() + interval '3 days'";
    let plan_of = |purpose: &str| plan(purpose, &["a modify"]);
    let after = Asked::of(&submit(&c, "eve", &plan_of("after"), later).await);
    let held = Asked::of(&submit(&c, "eve", &plan_of("held"), later).await);
    approved(&c, &after).await;
    approved(&c, &held).await;
    take(&c, "pam", &["host:held a"], 86400).await;
    db.advance("3 days 1 minute").await;
    tick(&c).await;
    assert_eq!(state_of(&c, after.execution).await, "running");
    let taken = take(&c, "pam", &["host:other"], 60).await;
    assert_ne!(taken["refused"], true, "{taken}");
    check_executions(&c).await;

    // A window, and a freeze with an end that is in force when it is decided, count too; a later freeze does not.
    let opens = window(&c, 30 - 24).await;
    rule(&c, "nights", json!({"level": 1, "window": opens})).await;
    let windowed = ask(&c, &plan_of("windowed")).await;
    approved(&c, &windowed).await;
    let lapses: bool = get(
        &c,
        "select lapses_at > tenure.now() + interval '29 hours' from tenure.execution_rows where execution_id = $1",
        &[&windowed.execution],
    )
    .await;
    assert!(lapses, "24 hours after its window opens");
    one(&c, "select tenure.approval_rule_delete('nights')", &[]).await;
    freeze(&c, ", tenure.now() + interval '5 days'").await;
    let frozen = ask(&c, &plan_of("frozen")).await;
    approved(&c, &frozen).await;
    db.advance("5 days 1 minute").await;
    tick(&c).await;
    assert_eq!(state_of(&c, frozen.execution).await, "running");
    called_off(&c, &windowed, "approval_lapsed").await;
    check_executions(&c).await;
}

#[tokio::test]
async fn a_tenant_says_how_long_an_approval_holds_and_a_rule_of_level_0_has_none_to_lapse() {
    let (db, c) = people().await;
    act(&c, "pam").await;
    let set = |hours: &str| format!("select tenure.config_set('approvals.start_within_hours', '{hours}')");
    run(&c, &set("0")).await;
    freeze(&c, "").await;
    let never = ask(&c, &plan("never", &["a modify"])).await;
    approved(&c, &never).await;
    run(&c, &set("2")).await;
    let soon = ask(&c, &plan("soon", &["a modify"])).await;
    approved(&c, &soon).await;
    let free = id(&submit(&c, "eve", &plan("free", &["a read"]), "").await, "execution_id");
    db.advance("2 hours").await;
    tick(&c).await;
    called_off(&c, &soon, "approval_lapsed").await;
    db.advance("30 days").await;
    unfreeze(&c).await;
    tick(&c).await;
    for execution in [never.execution, free] {
        assert_eq!(state_of(&c, execution).await, "running");
    }
    check_executions(&c).await;
}

/// Each way in which an approver loses the right, before anything has started.
/// Proves: S185.
#[tokio::test]
async fn an_approval_does_not_outlive_the_right_of_its_approver() {
    let (db, c) = people().await;
    run(&c, "reset tenure.principal").await;
    let (_, server) = db.login(&["tenure_server"], "default", None).await;
    let (login, bob) = login_of(&db, &c, "bob").await;
    let login = login.as_str();
    rule(
        &c,
        "released",
        json!({"level": 2, "roles": ["release"], "target_refs": ["roles *"]}),
    )
    .await;
    run(&c, "reset tenure.principal").await;
    let ways: [(&str, bool, String); 6] = [
        ("key", true, "select tenure.key_revoke((select k.prefix from tenure.key_list() k where k.principal = 'bob' and k.state = 'valid' limit 1))".to_owned()),
        ("level", false, r#"select tenure.principal_set('bob', '{"approver_level": null}')"#.to_owned()),
        ("lower", false, r#"select tenure.principal_set('bob', '{"approver_level": 1}')"#.to_owned()),
        ("roles", false, r#"select tenure.principal_set('bob', '{"approval_roles": ["dba"]}')"#.to_owned()),
        ("bound", false, format!("select tenure.login_bind('{login}', p_principal => 'ada')")),
        ("unbound", false, format!("select tenure.login_unbind('{login}')")),
    ];
    for (name, by_key, change) in ways {
        let purpose = if name == "roles" {
            "roles x".to_owned()
        } else {
            name.to_owned()
        };
        let mut text = plan(&purpose, &["a modify"]);
        text["approval_level"] = json!(if name == "lower" { 2 } else { 1 });
        freeze(&c, "").await;
        let asked = ask(&c, &text).await;
        run(&c, "reset tenure.principal").await;
        let answer = match by_key {
            true => {
                let key = key_over(&c, &c, "bob", "array['approver'], 3").await;
                decide_by(&server, key, &asked, "approve").await
            }
            false => decide_over(&bob, &asked, "approve").await,
        };
        assert_eq!(answer["execution_state"], "approved", "{name}: {answer}");
        tick(&c).await;
        assert_eq!(state_of(&c, asked.execution).await, "approved", "{name}");
        run(&c, "reset tenure.principal").await;
        run(&c, &change).await;
        // What would start it looks itself: the freeze is lifted before any tick came.
        unfreeze(&c).await;
        tick(&c).await;
        called_off(&c, &asked, "approver_revoked").await;
        run(&c, "reset tenure.principal").await;
        run(
            &c,
            &format!(
                r#"select tenure.principal_set('bob', '{{"approver_level": 2, "approval_roles": ["release"]}}');
                            select tenure.login_bind('{login}', p_principal => 'bob')"#
            ),
        )
        .await;
    }
    check_executions(&c).await;
}

/// These take nothing of the right away: a key that expires, a change of another, an equal binding.
#[tokio::test]
async fn an_approval_outlives_the_expiry_of_a_key_and_changes_that_leave_the_right() {
    let (db, c) = people().await;
    run(&c, "reset tenure.principal").await;
    let (_, server) = db.login(&["tenure_server"], "default", None).await;
    let until = "array['approver'], 3, p_expires_at => tenure.now() + interval '1 hour'";
    let key = key_over(&c, &c, "bob", until).await;
    freeze(&c, "").await;
    let asked = ask_change(&c).await;
    assert_eq!(
        decide_by(&server, key, &asked, "approve").await["execution_state"],
        "approved"
    );
    act(&c, "pam").await;
    run(&c, r#"select tenure.principal_set('bob', '{"approver_level": 1}'); select tenure.principal_set('ada', '{"approver_level": null}')"#).await;
    db.advance("2 hours").await;
    unfreeze(&c).await;
    tick(&c).await;
    assert_eq!(
        state_of(&c, asked.execution).await,
        "running",
        "a key has a level of its own"
    );
    // After the start it is too late to take it back: cancelling is another matter.
    act(&c, "pam").await;
    run(&c, r#"select tenure.principal_set('bob', '{"approver_level": null}')"#).await;
    tick(&c).await;
    work_all(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "succeeded");
    check_executions(&c).await;
}

/// Of a step that waits for its lock: it asks again.
#[tokio::test]
async fn the_approval_of_a_step_is_asked_for_again_when_its_approver_lost_the_right() {
    let (_db, c) = people().await;
    let mut text = plan("careful", &["a modify"]);
    text["approval_level"] = json!(3);
    let asked = ask(&c, &text).await;
    decide(&c, "ada", &asked, "approve", "").await;
    let step = "select approval_id from tenure.approval_list($1)";
    let approval: Uuid = get(&c, step, &[&asked.execution]).await;
    let of_step = Asked {
        execution: asked.execution,
        approval,
        hash: asked.hash.clone(),
    };
    act(&c, "pam").await;
    run(&c, r#"select tenure.principal_set('bob', '{"approver_level": 3}')"#).await;
    let taken = take(&c, "pam", &["host:careful a"], 600).await;
    let answer = decide(&c, "bob", &of_step, "approve", "").await;
    assert_eq!(answer["state"], "approved", "{answer}");
    act(&c, "pam").await;
    run(&c, r#"select tenure.principal_set('bob', '{"approver_level": null}')"#).await;
    let free = "select tenure.lock_release(array['host:careful a'], array[$1]::bigint[])";
    one(&c, free, &[&fence(&taken, 0)]).await;
    tick(&c).await;
    let again: Uuid = get(&c, step, &[&asked.execution]).await;
    assert_ne!(again, approval, "another approval is asked for");
    assert_eq!(told(&c, asked.execution, "approval_withdrawn").await, 1);
    assert_eq!(told(&c, asked.execution, "execution_started").await, 0);
    let anew = Asked {
        execution: asked.execution,
        approval: again,
        hash: asked.hash.clone(),
    };
    assert_eq!(
        decide(&c, "ada", &anew, "approve", "").await["execution_state"],
        "running"
    );
    work_all(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "succeeded");
    check_executions(&c).await;
}

/// A plan that bob approved by this key, parked until the freeze is lifted.
async fn parked_by_key(db: &Db, c: &Client, server: &Client, purpose: &str) -> (Asked, String) {
    freeze(c, "").await;
    let asked = ask(c, &plan(purpose, &["a modify"])).await;
    run(c, "reset tenure.principal").await;
    let key = key_over(c, c, "bob", "array['approver'], 3").await;
    let answer = decide_by(server, key, &asked, "approve").await;
    assert_eq!(answer["execution_state"], "approved", "{answer}");
    let prefix: String = get(
        &db.direct().await,
        "select k.prefix from tenure.keys k where k.key_id = $1",
        &[&key],
    )
    .await;
    unfreeze(c).await;
    (asked, prefix)
}

/// Both orders on purpose, then as it comes: a start and the revocation of its approver's key have one order.
#[tokio::test]
async fn revoke_against_start_has_one_outcome() {
    let (db, c) = people().await;
    let (_, server) = db.login(&["tenure_server"], "default", None).await;
    let (starts, revokes) = (db.direct().await, db.direct().await);
    let revoke = "select tenure.key_revoke($1)";

    // Revoked, and not committed yet: nothing starts meanwhile, and nothing after it.
    let (asked, key) = parked_by_key(&db, &c, &server, "revoked first").await;
    run(&revokes, "begin").await;
    one(&revokes, revoke, &[&key.as_str()]).await;
    tick(&starts).await;
    assert_eq!(state_of(&c, asked.execution).await, "approved");
    run(&revokes, "commit").await;
    db.advance("1 second").await;
    tick(&starts).await;
    called_off(&c, &asked, "approver_revoked").await;

    // Started, and not committed yet: the revocation comes after it.
    let (asked, key) = parked_by_key(&db, &c, &server, "started first").await;
    run(&starts, "begin").await;
    assert_eq!(tick(&starts).await["started"], 1);
    let release = async {
        until_blocked(&c, "key_revoke").await;
        run(&starts, "commit").await;
    };
    let revoked_key = [&key.as_str() as &dyn crate::fixture::Param];
    let (revoked, ()) = tokio::join!(one(&revokes, revoke, &revoked_key), release);
    assert_ne!(revoked["refused"], true, "{revoked}");
    assert_eq!(state_of(&c, asked.execution).await, "running");

    for round in 0..ROUNDS {
        let (asked, key) = parked_by_key(&db, &c, &server, &format!("p{round}")).await;
        let args = [&key.as_str() as &dyn crate::fixture::Param];
        let (_, revoked): (Value, Value) = tokio::join!(tick(&starts), one(&revokes, revoke, &args));
        assert_ne!(revoked["refused"], true, "{revoked}");
        db.advance("1 second").await;
        tick(&starts).await;
        match state_of(&c, asked.execution).await.as_str() {
            "running" => assert_eq!(told(&c, asked.execution, "execution_started").await, 1),
            "cancelled" => called_off(&c, &asked, "approver_revoked").await,
            other => panic!("{other}"),
        }
    }
    check_executions(&c).await;
    check_invariants(&c).await;
}

/// The moment of the lapse comes while two sessions would start it: one outcome, and no start after the moment.
#[tokio::test]
async fn lapse_against_start_has_one_outcome() {
    let (db, c) = people().await;
    let both = [db.direct().await, db.direct().await];
    for round in 0..ROUNDS {
        freeze(&c, "").await;
        let asked = ask(&c, &plan(&format!("p{round}"), &["a modify"])).await;
        approved(&c, &asked).await;
        run(
            &c,
            &format!(
                "update fixture.clock set shift = (select e.lapses_at - clock_timestamp() - interval '{} ms' from tenure.execution_rows e where e.execution_id = '{}')",
                round * 3,
                asked.execution
            ),
        )
        .await;
        unfreeze(&c).await;
        let over = async |session: &Client| {
            while state_of(session, asked.execution).await == "approved" {
                tick(session).await;
            }
        };
        tokio::join!(over(&both[0]), over(&both[1]));
        let late: bool = get(
            &c,
            "select coalesce(started_at >= lapses_at, false) from tenure.execution_rows where execution_id = $1",
            &[&asked.execution],
        )
        .await;
        assert!(!late, "it started after its approval had lapsed");
        match state_of(&c, asked.execution).await.as_str() {
            "running" => assert_eq!(told(&c, asked.execution, "execution_started").await, 1),
            "cancelled" => called_off(&c, &asked, "approval_lapsed").await,
            other => panic!("{other}"),
        }
    }
    check_executions(&c).await;
    check_invariants(&c).await;
}
