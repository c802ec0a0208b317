//! Decisions: who may make one, about what, and how many it takes.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{
    Asked, act, approval_of, ask, ask_change, check_executions, decide, people, plan, rule, snapshot, state_of, story,
    submit, tick, told, work, work_all,
};
use crate::fixture::{Db, get, one, raised, refused, rows, run, try_rows, verb};

/// Asserts that a decision is refused with this code, and that nothing at all has changed.
async fn refuses(c: &Client, who: &str, asked: &Asked, decision: &str, more: &str, code: &str) -> Value {
    let before = snapshot(c).await;
    let answer = decide(c, who, asked, decision, more).await;
    refused(&answer, code);
    assert_eq!(
        snapshot(c).await,
        before,
        "a refused decision leaves no trace: {answer}"
    );
    answer
}

/// Proves: S184, S185, S186, S192.
#[tokio::test]
async fn an_approved_plan_runs_and_the_vote_says_who_decided_about_what() {
    let (_db, c) = people().await;
    let asked = ask_change(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "awaiting_approval");
    let answer = decide(&c, "cyd", &asked, "approve", ", 'fine by me'").await;
    assert_eq!(answer["state"], "approved", "{answer}");
    assert_eq!(answer["execution_state"], "running");
    let vote = rows(
        &c,
        "select principal, decision, comment, plan_hash, auth_method, source, level, at from tenure.approval_votes_of($1)",
        &[&asked.approval],
    )
    .await
    .remove(0);
    assert_eq!(vote.get::<_, String>(0), "cyd");
    assert_eq!(vote.get::<_, String>(1), "approve");
    assert_eq!(vote.get::<_, String>(2), "fine by me");
    assert_eq!(vote.get::<_, String>(3), asked.hash);
    assert!(vote.get::<_, String>(4).starts_with("login "), "how it was proved");
    assert!(!vote.get::<_, String>(5).is_empty(), "from where");
    assert_eq!(vote.get::<_, i32>(6), 1);
    work_all(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "succeeded");
    let expected = [
        "execution_submitted",
        "approval_requested",
        "approval_vote",
        "approval_approved",
        "execution_approved",
        "execution_started",
        "execution_running",
        "step_queued",
        "step_started",
        "step_completed",
        "execution_completed",
    ];
    assert_eq!(story(&c, asked.execution).await, expected);
    check_executions(&c).await;
}

/// Every way in which a decision cannot be made, one after the other. None leaves a trace.
/// Proves: S184.
#[tokio::test]
async fn a_decision_that_cannot_be_made_says_why_and_changes_nothing() {
    let (db, c) = people().await;
    let asked = ask(&c, &plan("deploy", &["a deploy"])).await;
    let other = Asked {
        approval: Uuid::new_v4(),
        hash: asked.hash.clone(),
        execution: asked.execution,
    };
    let moved = Asked {
        hash: "0".repeat(64),
        ..asked
    };
    refuses(&c, "ada", &other, "approve", "", "approval_unknown").await;
    let mismatch = refuses(&c, "ada", &moved, "approve", "", "plan_hash_mismatch").await;
    for hash in [&asked_hash(&c, moved.approval).await, &moved.hash] {
        assert!(
            mismatch["what"].as_str().expect("text").contains(hash.as_str()),
            "both hashes: {mismatch}"
        );
    }
    let asked = Asked {
        hash: asked_hash(&c, moved.approval).await,
        ..moved
    };
    refuses(&c, "ada", &asked, "maybe", "", "value_unknown").await;
    refuses(&c, "cyd", &asked, "approve", "", "not_permitted").await;
    refuses(&c, "pam", &asked, "approve", "", "not_permitted").await;
    refuses(&c, "bot", &asked, "approve", "", "not_permitted").await;
    refuses(&c, "nobody", &asked, "approve", "", "not_permitted").await;
    refuses(&c, "eve", &asked, "approve", "", "self_approval").await;
    refuses(&c, "eve", &asked, "reject", ", 'mine'", "self_approval").await;
    for comment in ["", ", null", ", ''", ", e' \\t\\n'"] {
        refuses(&c, "ada", &asked, "reject", comment, "comment_required").await;
    }
    refuses(&c, "ada", &asked, "reject", ", repeat('x', 100000)", "text_invalid").await;
    refuses(&c, "ada", &asked, "approve", ", 'ok', e'a\\tb'", "name_invalid").await;
    let null = one(
        &c,
        "select tenure.approval_decide($1, 'approve', null)",
        &[&asked.approval],
    )
    .await;
    refused(&null, "plan_hash_mismatch");

    db.advance("24 hours").await;
    refuses(&c, "ada", &asked, "approve", "", "approval_expired").await;
    refuses(&c, "ada", &asked, "reject", ", 'too late'", "approval_expired").await;

    let again = Asked::of(&submit(&c, "eve", &plan("deploy again", &["a deploy"]), "").await);
    assert_eq!(decide(&c, "ada", &again, "approve", "").await["state"], "approved");
    refuses(&c, "ada", &again, "approve", "", "approval_decided").await;
    refuses(&c, "bob", &again, "reject", ", 'no'", "approval_decided").await;
    let back = Asked::of(&submit(&c, "eve", &plan("and again", &["a deploy"]), "").await);
    act(&c, "eve").await;
    one(
        &c,
        "select tenure.execution_withdraw($1, 'a mistake')",
        &[&back.execution],
    )
    .await;
    refuses(&c, "ada", &back, "approve", "", "approval_decided").await;
    check_executions(&c).await;
}

async fn asked_hash(c: &Client, approval: Uuid) -> String {
    get(
        c,
        "select plan_hash from tenure.approvals where approval_id = $1",
        &[&approval],
    )
    .await
}

/// Another right would not help them: somebody else would.
/// Proves: S185.
#[tokio::test]
async fn who_asked_is_told_so_and_not_which_right_they_lack() {
    let (_db, c) = people().await;
    for who in ["pam", "cyd", "bot", "nobody"] {
        let asked = Asked::of(&submit(&c, who, &plan(who, &["a deploy"]), "").await);
        for more in ["", ", null, 'ada'"] {
            let told = refuses(&c, who, &asked, "approve", more, "self_approval").await;
            assert_eq!(told["what"], format!("{who} requested this plan."));
        }
        let told = refuses(
            &c,
            "ada",
            &asked,
            "approve",
            &format!(", null, '{who}'"),
            "self_approval",
        )
        .await;
        assert_eq!(told["what"], format!("{who} requested this plan."));
    }
}

/// Proves: S185.
#[tokio::test]
async fn nobody_decides_about_a_plan_of_their_own_on_any_path() {
    let (db, c) = people().await;
    // Asked for by somebody, for somebody else: neither of them decides.
    let asked = Asked::of(&submit(&c, "pam", &plan("for ada", &["a modify"]), ", p_on_behalf_of => 'ada'").await);
    refuses(&c, "ada", &asked, "approve", "", "self_approval").await;
    // Nor does anybody in their name, or in that of an agent.
    refuses(&c, "bob", &asked, "approve", ", null, 'ada'", "self_approval").await;
    refuses(&c, "bob", &asked, "approve", ", null, 'pam'", "self_approval").await;
    refuses(&c, "bob", &asked, "approve", ", null, 'bot'", "not_permitted").await;
    // Who retries it is one more who asked; whose plan it was does not change by that.
    let first = ask_change(&c).await;
    act(&c, "ada").await;
    one(&c, "select tenure.execution_cancel($1, 'not now')", &[&first.execution]).await;
    act(&c, "bob").await;
    let second = Asked::of(&one(&c, "select tenure.execution_retry($1)", &[&first.execution]).await);
    act(&c, "cyd").await;
    one(
        &c,
        "select tenure.execution_cancel($1, 'not now')",
        &[&second.execution],
    )
    .await;
    let third = Asked::of(&one(&c, "select tenure.execution_retry($1)", &[&second.execution]).await);
    for who in ["eve", "bob", "cyd"] {
        refuses(&c, who, &third, "approve", "", "self_approval").await;
    }
    assert_eq!(
        decide(&c, "ada", &third, "approve", "").await["execution_state"],
        "running"
    );

    // An admin with every role, by a login of their own.
    let roles = ["tenure_admin", "tenure_operator", "tenure_approver", "tenure_requester"];
    let (login, admin) = db.login(&roles, "default", None).await;
    let text = plan("of an admin", &["a modify"]).to_string();
    let own = Asked::of(&one(&admin, "select tenure.execution_submit($1)", &[&text]).await);
    let vote = "select tenure.approval_decide($1, 'approve', $2)";
    let try_it = async || one(&admin, vote, &[&own.approval, &own.hash.as_str()]).await;
    refused(&try_it().await, "self_approval");
    one(
        &admin,
        "select tenure.principal_create($1, 'human')",
        &[&login.as_str()],
    )
    .await;
    refused(&try_it().await, "self_approval");
    let level = json!({"approver_level": 3});
    one(
        &admin,
        "select tenure.principal_set($1, $2)",
        &[&login.as_str(), &level],
    )
    .await;
    refused(&try_it().await, "self_approval");
    run(&admin, "set tenure.principal = 'ada'").await;
    refused(&try_it().await, "self_approval");
    let theirs = ask(&c, &plan("of somebody else", &["a modify"])).await;
    let decided = one(&admin, vote, &[&theirs.approval, &theirs.hash.as_str()]).await;
    assert_eq!(decided["state"], "approved", "a plan of somebody else: {decided}");
    check_executions(&c).await;
}

/// Only the role of an approver decides: no other has the function, whatever else it may do.
/// Proves: S185, S220.
#[tokio::test]
async fn no_role_but_that_of_an_approver_decides_and_none_starts_an_execution_by_itself() {
    let (db, c) = people().await;
    let asked = ask_change(&c).await;
    for role in [
        "tenure_admin",
        "tenure_operator",
        "tenure_requester",
        "tenure_producer",
        "tenure_worker",
        "tenure_viewer",
        "tenure_approver",
        "tenure_server",
    ] {
        let (login, session) = db.login(&[role], "default", None).await;
        let may = ["tenure_approver", "tenure_server"].contains(&role);
        let vote = try_rows(
            &session,
            "select tenure.approval_decide($1, 'approve', $2)",
            &[&asked.approval, &asked.hash.as_str()],
        )
        .await;
        if may {
            raised(vote, "not_permitted");
        } else {
            let error = vote.expect_err("no role but that of an approver");
            let code = error.code().map(|it| it.code());
            assert_eq!(code, Some("42501"), "{role} {login}: {error:?}");
        }
        for by_hand in [
            "update tenure.execution_states set state = 'running', started_at = now()",
            "update tenure.approvals set state = 'approved', given = 1, decided_at = now(), decided_by = 'me'",
            "insert into tenure.approval_votes (approval_id, principal, tenant_id, decision, plan_hash, auth_method, level, at) select approval_id, 'ada', tenant_id, 'approve', plan_hash, 'x', 1, now() from tenure.approvals",
            "update tenure.plans set plan = '{}'",
            "select tenure.executions_start(now(), 'me', array(select execution_id from tenure.execution_rows))",
            "select tenure.execution_become(now(), 'me', gen_random_uuid(), 'approved', null, null)",
            "select tenure.executions_try_start(now(), 'me', '{}')",
            "select tenure.approval_apply(now(), 'me', null, null)",
        ] {
            let error = try_rows(&session, by_hand, &[]).await.expect_err(by_hand);
            assert_eq!(
                error.code().map(|it| it.code()),
                Some("42501"),
                "{role}: {by_hand}: {error:?}"
            );
        }
    }
    assert_eq!(state_of(&c, asked.execution).await, "awaiting_approval");
    check_executions(&c).await;
}

#[tokio::test]
async fn a_quorum_is_reached_by_as_many_people_as_it_names_each_once() {
    let (_db, c) = people().await;
    rule(&c, "three", json!({"level": 1, "quorum": 3})).await;
    let asked = ask_change(&c).await;
    for (given, who) in ["cyd", "bob"].into_iter().enumerate() {
        let answer = decide(&c, who, &asked, "approve", "").await;
        assert_eq!(answer["state"], "pending", "{answer}");
        assert_eq!(answer["approvals_given"], given + 1);
        assert_eq!(answer["execution_state"], "awaiting_approval");
        refuses(&c, who, &asked, "approve", "", "approval_decided").await;
        refuses(&c, who, &asked, "reject", ", 'changed my mind'", "approval_decided").await;
    }
    assert_eq!(
        told(&c, asked.execution, "approval_approved").await,
        0,
        "nothing is announced before the last"
    );
    assert_eq!(
        decide(&c, "ada", &asked, "approve", "").await["execution_state"],
        "running"
    );
    // One no outweighs every yes.
    let other = ask(&c, &plan("other", &["a modify"])).await;
    decide(&c, "ada", &other, "approve", "").await;
    let answer = decide(&c, "bob", &other, "reject", ", 'the window is wrong'").await;
    assert_eq!(
        (&answer["state"], &answer["execution_state"]),
        (&json!("rejected"), &json!("rejected"))
    );
    check_executions(&c).await;
}

#[tokio::test]
async fn every_role_that_is_named_must_be_among_those_who_approve() {
    let (_db, c) = people().await;
    rule(&c, "both", json!({"level": 1, "roles": ["dba", "release"]})).await;
    let asked = ask_change(&c).await;
    refuses(&c, "cyd", &asked, "approve", "", "not_permitted").await;
    let answer = decide(&c, "ada", &asked, "approve", "").await;
    assert_eq!(
        (&answer["state"], &answer["roles_missing"]),
        (&json!("pending"), &json!(["release"]))
    );
    assert_eq!(decide(&c, "bob", &asked, "approve", "").await["state"], "approved");
    // A plan may ask for more than the rules do.
    let mut more = plan("more", &["a modify"]);
    more["approval_roles"] = json!(["auditor"]);
    let asked = ask(&c, &more).await;
    decide(&c, "ada", &asked, "approve", "").await;
    assert_eq!(
        decide(&c, "bob", &asked, "approve", "").await["roles_missing"],
        json!(["auditor"])
    );
    check_executions(&c).await;
}

/// Proves: S213.
#[tokio::test]
async fn a_rejection_says_why_and_ends_the_execution() {
    let (_db, c) = people().await;
    let asked = ask_change(&c).await;
    let answer = decide(&c, "ada", &asked, "reject", ", 'password=hunter2 is in the log'").await;
    assert_eq!(answer["execution_state"], "rejected", "{answer}");
    let row = rows(
        &c,
        "select e.reason, a.reason, a.decided_by, e.key_held, e.steps_skipped from tenure.execution_rows e join tenure.approvals a using (execution_id) where e.execution_id = $1",
        &[&asked.execution],
    )
    .await
    .remove(0);
    for at in [0, 1] {
        let reason: String = row.get(at);
        assert!(reason.contains("in the log") && !reason.contains("hunter2"), "{reason}");
    }
    assert_eq!(row.get::<_, String>(2), "ada");
    assert!(!row.get::<_, bool>(3), "the key is free");
    assert_eq!(row.get::<_, i32>(4), 1);
    assert_eq!(
        story(&c, asked.execution).await[2..],
        ["approval_vote", "approval_rejected", "execution_rejected"]
    );
    act(&c, "ada").await;
    for sql in [
        "select tenure.execution_cancel($1, 'x')",
        "select tenure.execution_retry($1)",
    ] {
        refused(&one(&c, sql, &[&asked.execution]).await, "state_conflict");
    }
    check_executions(&c).await;
}

/// Proves: S184.
#[tokio::test]
async fn an_approval_is_used_up_by_one_start() {
    let (_db, c) = people().await;
    let asked = ask_change(&c).await;
    decide(&c, "ada", &asked, "approve", "").await;
    let held = work(&c).await;
    verb(&c, "job_fail", &held, ", 'broken', 'permanent'").await;
    assert_eq!(state_of(&c, asked.execution).await, "failed");
    act(&c, "bob").await;
    let again = Asked::of(&one(&c, "select tenure.execution_retry($1)", &[&asked.execution]).await);
    assert_eq!(again.hash, asked.hash, "the same plan");
    assert_eq!(
        state_of(&c, again.execution).await,
        "awaiting_approval",
        "and a decision of its own"
    );
    assert_eq!(approval_of(&c, again.execution).await, "pending");
    refuses(&c, "ada", &asked, "approve", "", "approval_decided").await;
    check_executions(&c).await;
}

/// Not only its approvals: another tenant's are not there at all.
/// Proves: S230.
#[tokio::test]
async fn an_approval_of_another_tenant_is_unknown() {
    let (db, c) = people().await;
    let asked = ask_change(&c).await;
    one(&c, "select tenure.tenant_create('beta')", &[]).await;
    let (login, beta) = db.login(&["tenure_approver", "tenure_admin"], "beta", None).await;
    one(&beta, "select tenure.principal_create($1, 'human')", &[&login.as_str()]).await;
    one(
        &beta,
        "select tenure.principal_set($1, '{\"approver_level\": 3}')",
        &[&login.as_str()],
    )
    .await;
    let answer = one(
        &beta,
        "select tenure.approval_decide($1, 'approve', $2)",
        &[&asked.approval, &asked.hash.as_str()],
    )
    .await;
    refused(&answer, "approval_unknown");
    let seen: i64 = get(&beta, "select count(*) from tenure.approval_list()", &[]).await;
    assert_eq!(seen, 0);
}

/// A closed gate stops decisions too.
#[tokio::test]
async fn behind_a_closed_gate_nobody_decides() {
    let (_db, c) = people().await;
    let asked = ask_change(&c).await;
    one(
        &c,
        "select tenure.gate_set('queue.job_substrate.enabled', 'closed')",
        &[],
    )
    .await;
    let answer = decide(&c, "ada", &asked, "approve", "").await;
    refused(&answer, "gate_closed");
    assert_eq!(state_of(&c, asked.execution).await, "awaiting_approval");
}

/// Whoever approves must be somebody: the database itself.
#[tokio::test]
async fn a_fresh_database_has_no_approvals_and_nobody_who_could_decide() {
    let db = Db::open().await;
    let c = db.direct().await;
    let asked = Asked::of(
        &one(
            &c,
            "select tenure.execution_submit($1)",
            &[&plan("first", &["a modify"]).to_string()],
        )
        .await,
    );
    refused(&decide(&c, "somebody", &asked, "approve", "").await, "not_permitted");
}

/// Who comes next is told who decided, and not nothing.
#[tokio::test]
async fn a_comment_that_says_nothing_is_none() {
    let (_db, c) = people().await;
    for comment in ["''", "e' \\t\\n'", "U&'\\00a0'"] {
        let asked = ask_change(&c).await;
        decide(&c, "ada", &asked, "approve", &format!(", {comment}")).await;
        let kept: Option<String> = get(
            &c,
            "select comment from tenure.approval_votes_of($1)",
            &[&asked.approval],
        )
        .await;
        assert_eq!(kept, None, "{comment}");
        let late = refuses(&c, "bob", &asked, "approve", "", "approval_decided").await;
        assert_eq!(late["why"], "Decided by ada.");
        work_all(&c).await;
    }
}

/// Whether or not a tick has come by since.
/// Proves: S190.
#[tokio::test]
async fn an_approval_that_expired_says_so_however_late_it_is() {
    let (db, c) = people().await;
    let asked = ask_change(&c).await;
    db.advance("25 hours").await;
    let before = refuses(&c, "ada", &asked, "approve", "", "approval_expired").await;
    tick(&c).await;
    assert_eq!(approval_of(&c, asked.execution).await, "expired");
    let after = refuses(&c, "ada", &asked, "approve", "", "approval_expired").await;
    assert_eq!(after, before);
    refuses(&c, "ada", &asked, "reject", ", 'no'", "approval_expired").await;
}
