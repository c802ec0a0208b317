//! Nobody gets around a rule, a window or a moment: by acting for another, by a retry, by a second step, by waiting in a line.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{
    Asked, act, approval_of, ask, ask_change, check_executions, decide, id, people, plan, rule, snapshot, state_of,
    submit, tick, told, work_all,
};
use crate::approvals_time::window;
use crate::fixture::{get, one, refused, rows};

async fn shown(c: &Client, execution: Uuid) -> Value {
    one(c, "select tenure.execution_show($1)", &[&execution]).await
}

/// Retries as somebody, with further arguments such as `", p_on_behalf_of => 'bot'"`.
async fn retry(c: &Client, who: &str, execution: Uuid, more: &str) -> Value {
    act(c, who).await;
    one(c, &format!("select tenure.execution_retry($1{more})"), &[&execution]).await
}

async fn cancel(c: &Client, execution: Uuid) {
    act(c, "pam").await;
    let cancelled = one(c, "select tenure.execution_cancel($1, 'not now')", &[&execution]).await;
    assert_eq!(cancelled["state"], "cancelled", "{cancelled}");
}

async fn reason_of(c: &Client, execution: Uuid) -> Option<String> {
    let sql = "select reason_code from tenure.execution_rows where execution_id = $1";
    get(c, sql, &[&execution]).await
}

/// Rules for agents hold for what is asked for an agent, whoever asks; and for who asks, whoever it is for.
#[tokio::test]
async fn whoever_acts_for_another_meets_the_stricter_rule_of_the_two() {
    let (_db, c) = people().await;
    rule(&c, "agents", json!({"requester_kinds": ["agent"], "level": 2})).await;
    rule(&c, "cyd", json!({"requesters": ["cyd"], "level": 1})).await;
    rule(&c, "free", json!({"level": 0})).await;
    let terms = async |who: &str, purpose: &str, more: &str| {
        let made = submit(&c, who, &plan(purpose, &["a modify"]), more).await;
        (made["approval_level"].clone(), made["rule"].clone())
    };
    assert_eq!(terms("pam", "own", "").await, (json!(0), json!("free")));
    assert_eq!(
        terms("cyd", "for bot", ", p_on_behalf_of => 'bot'").await,
        (json!(2), json!("agents"))
    );
    assert_eq!(
        terms("pam", "for a stranger", ", p_on_behalf_of => 'ticket 4711'").await,
        (json!(2), json!("agents")),
        "whom nobody registered counts as an agent"
    );
    assert_eq!(
        terms("cyd", "for pam", ", p_on_behalf_of => 'pam'").await,
        (json!(1), json!("cyd"))
    );
    check_executions(&c).await;
}

/// What the stricter rule asks for is asked for: its roles and its quorum, for the plan and for each step of level 3.
#[tokio::test]
async fn the_approval_of_what_is_asked_for_an_agent_is_the_one_of_its_rule() {
    let (_db, c) = people().await;
    let strict = json!({"requester_kinds": ["agent"], "level": 3, "roles": ["dba"], "quorum": 2});
    rule(&c, "agents", strict).await;
    rule(&c, "free", json!({"level": 0})).await;
    let made = submit(&c, "pam", &plan("p", &["a modify"]), ", p_on_behalf_of => 'bot'").await;
    let asked = Asked::of(&made);
    let of = "select level::integer, roles, quorum::integer from tenure.approvals where approval_id = $1";
    let row = rows(&c, of, &[&asked.approval]).await.remove(0);
    assert_eq!(
        (row.get::<_, i32>(0), row.get::<_, Vec<String>>(1), row.get::<_, i32>(2)),
        (3, vec!["dba".to_owned()], 2)
    );
    let of = "select approval_level::integer, approval_roles, approval_quorum::integer from tenure.step_rows where execution_id = $1";
    let row = rows(&c, of, &[&asked.execution]).await.remove(0);
    assert_eq!(
        (row.get::<_, i32>(0), row.get::<_, Vec<String>>(1), row.get::<_, i32>(2)),
        (3, vec!["dba".to_owned()], 2)
    );
}

/// Neither who asks nor for whom sheds anything: roles, company, time and hours of both rules hold, and both are named.
/// Proves: S189.
#[tokio::test]
async fn what_is_asked_for_another_meets_all_that_the_rules_of_both_ask_for() {
    let (db, c) = people().await;
    let (early, late) = (window(&c, 5).await, window(&c, 6).await);
    let own = json!({"requesters": ["pam"], "level": 1, "quorum": 2, "roles": ["release"], "expires_seconds": 43200, "window": early});
    rule(&c, "of pam", own).await;
    let strict = json!({"requester_kinds": ["agent"], "level": 3, "roles": ["dba"], "window": late});
    rule(&c, "agents", strict).await;
    let made = submit(&c, "pam", &plan("p", &["a modify"]), ", p_on_behalf_of => 'bot'").await;
    assert_eq!(
        (&made["approval_level"], &made["rule"]),
        (&json!(3), &json!("agents, of pam")),
        "{made}"
    );
    let asked = Asked::of(&made);
    let terms = "select format('%s %s %s %s', a.roles, a.quorum, extract(epoch from a.expires_at - a.created_at)::integer, a.rule) from tenure.approvals a where a.approval_id = $1";
    assert_eq!(
        get::<String>(&c, terms, &[&asked.approval]).await,
        "{dba,release} 2 43200 agents, of pam"
    );
    let terms = "select format('%s %s %s %s', s.approval_roles, s.approval_quorum, s.approval_seconds, s.rule) from tenure.step_rows s where s.execution_id = $1";
    assert_eq!(
        get::<String>(&c, terms, &[&asked.execution]).await,
        "{dba,release} 2 43200 agents, of pam"
    );
    let windows = shown(&c, asked.execution).await["start_window"].clone();
    for window in [&early, &late] {
        assert!(windows.as_array().expect("both").contains(window), "{windows}");
    }
    // Whoever retries brings a rule too.
    cancel(&c, asked.execution).await;
    rule(
        &c,
        "of cyd",
        json!({"requesters": ["cyd"], "level": 1, "expires_seconds": 600}),
    )
    .await;
    let again = retry(&c, "cyd", asked.execution, "").await;
    assert_eq!(again["rule"], "agents, of cyd, of pam", "{again}");
    db.advance("11 minutes").await;
    refused(
        &decide(&c, "ada", &Asked::of(&again), "approve", "").await,
        "approval_expired",
    );
    check_executions(&c).await;
}

/// It starts by itself only if every rule lets it, and only when every window is open.
#[tokio::test]
async fn what_both_rules_let_start_by_itself_still_waits_for_the_window_of_either() {
    let (db, c) = people().await;
    let late = window(&c, 5).await;
    rule(
        &c,
        "agents",
        json!({"requester_kinds": ["agent"], "level": 0, "quorum": 3, "roles": ["dba"]}),
    )
    .await;
    rule(&c, "of pam", json!({"requesters": ["pam"], "level": 0, "window": late})).await;
    rule(&c, "others", json!({"level": 1})).await;
    let free = submit(&c, "pam", &plan("p", &["a modify"]), ", p_on_behalf_of => 'bot'").await;
    assert_eq!(
        (&free["state"], &free["parked"], &free["rule"]),
        (&json!("approved"), &json!("window"), &json!("agents, of pam")),
        "{free}"
    );
    // A rule that asks for no approval has no say in how one is given.
    let made = submit(&c, "cyd", &plan("q", &["a modify"]), ", p_on_behalf_of => 'bot'").await;
    assert_eq!(
        (&made["approval_level"], &made["rule"]),
        (&json!(1), &json!("others")),
        "{made}"
    );
    let answer = decide(&c, "bob", &Asked::of(&made), "approve", "").await;
    assert_eq!(answer["execution_state"], "running", "{answer}");
    db.advance("5 hours 1 minute").await;
    tick(&c).await;
    assert_eq!(state_of(&c, id(&free, "execution_id")).await, "running");
    check_executions(&c).await;
}

/// However often it is retried, and by whom.
#[tokio::test]
async fn a_retry_meets_the_rules_of_who_asked_first() {
    let (_db, c) = people().await;
    rule(&c, "agents", json!({"requester_kinds": ["agent"], "level": 2})).await;
    rule(&c, "free", json!({"level": 0})).await;
    let first = id(&submit(&c, "bot", &plan("p", &["a modify"]), "").await, "execution_id");
    cancel(&c, first).await;
    let second = retry(&c, "pam", first, "").await;
    assert_eq!(
        (&second["approval_level"], &second["state"]),
        (&json!(2), &json!("awaiting_approval")),
        "{second}"
    );
    cancel(&c, id(&second, "execution_id")).await;
    let third = retry(&c, "ada", id(&second, "execution_id"), "").await;
    assert_eq!(
        (&third["approval_level"], &third["rule"]),
        (&json!(2), &json!("agents")),
        "{third}"
    );

    // For whom the first was asked counts as much; and so does whoever retries.
    let made = submit(&c, "pam", &plan("q", &["a modify"]), ", p_on_behalf_of => 'bot'").await;
    cancel(&c, id(&made, "execution_id")).await;
    let again = retry(&c, "pam", id(&made, "execution_id"), "").await;
    assert_eq!(again["approval_level"], 2, "{again}");
    one(&c, "select tenure.execution_freeze('wait')", &[]).await;
    let made = submit(&c, "pam", &plan("r", &["a modify"]), "").await;
    assert_eq!(made["approval_level"], 0, "{made}");
    cancel(&c, id(&made, "execution_id")).await;
    let again = retry(&c, "pam", id(&made, "execution_id"), ", p_on_behalf_of => 'bot'").await;
    assert_eq!(again["approval_level"], 2, "{again}");
    check_executions(&c).await;
}

/// Each at an hour of its own: it starts in the hour that both have.
#[tokio::test]
async fn steps_of_several_windows_start_only_while_all_of_them_are_open() {
    let (db, c) = people().await;
    let (early, late) = (window(&c, 5).await, window(&c, 6).await);
    rule(
        &c,
        "early",
        json!({"target_refs": ["* a"], "level": 1, "window": early}),
    )
    .await;
    rule(&c, "late", json!({"target_refs": ["* b"], "level": 1, "window": late})).await;
    let steps = ["a modify", "b modify", "c modify"];
    let both = ask(&c, &plan("p", &steps)).await;
    let turned = ask(&c, &plan("q", &["b modify", "a modify"])).await;
    for asked in [&both, &turned] {
        decide(&c, "ada", asked, "approve", "").await;
    }
    let states = async || (state_of(&c, both.execution).await, state_of(&c, turned.execution).await);
    let parked = ("approved".to_owned(), "approved".to_owned());
    assert_eq!(states().await, parked);
    db.advance("5 hours 30 minutes").await;
    tick(&c).await;
    assert_eq!(states().await, parked, "one is open, the other not yet");
    db.advance("31 minutes").await;
    tick(&c).await;
    assert_eq!(states().await, ("running".to_owned(), "running".to_owned()));
    work_all(&c).await;
    assert_eq!(states().await, ("succeeded".to_owned(), "succeeded".to_owned()));
    check_executions(&c).await;
}

/// The second of the two windows is open when the first has closed: that is too late for today.
#[tokio::test]
async fn what_missed_the_hour_that_its_windows_have_in_common_waits_for_the_next_day() {
    let (db, c) = people().await;
    let (early, late) = (window(&c, 5).await, window(&c, 6).await);
    rule(
        &c,
        "early",
        json!({"target_refs": ["* a"], "level": 1, "window": early}),
    )
    .await;
    rule(&c, "late", json!({"target_refs": ["* b"], "level": 1, "window": late})).await;
    let asked = ask(&c, &plan("p", &["a modify", "b modify"])).await;
    db.advance("7 hours 30 minutes").await;
    let answer = decide(&c, "ada", &asked, "approve", "").await;
    assert_eq!(answer["execution_state"], "approved", "{answer}");
    db.advance("21 hours").await;
    tick(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "approved");
    db.advance("31 minutes").await;
    tick(&c).await;
    assert_eq!(
        state_of(&c, asked.execution).await,
        "approved",
        "a minute after the first opens"
    );
    db.advance("1 hour").await;
    tick(&c).await;
    assert_eq!(state_of(&c, asked.execution).await, "running");
    check_executions(&c).await;
}

/// Its turn at a target comes too late: it is called off, and the next in the line has its turn.
#[tokio::test]
async fn a_target_that_is_freed_too_late_starts_nothing_and_goes_to_who_waits_behind() {
    let (db, c) = people().await;
    let at = |purpose: &str| {
        let mut text = plan(purpose, &["a read"]);
        text["steps"][0]["target_ref"] = json!("q");
        text["steps"][0]["lock_scope"] = json!("target");
        text
    };
    act(&c, "ada").await;
    let lock = one(&c, "select tenure.lock_acquire('{host:q}', 7200)", &[]).await;
    let fence = lock["locks"][0]["fence"].as_i64().expect("a number");
    let before = ", p_start_before => tenure.now() + interval '1 hour'";
    let late = id(&submit(&c, "eve", &at("late"), before).await, "execution_id");
    let behind = id(&submit(&c, "eve", &at("behind"), "").await, "execution_id");
    assert_eq!(state_of(&c, late).await, "approved");
    db.advance("61 minutes").await;
    act(&c, "ada").await;
    let freed = one(&c, "select tenure.lock_release('{host:q}', array[$1])", &[&fence]).await;
    assert_ne!(freed["refused"], true, "{freed}");
    assert_ne!(state_of(&c, late).await, "running");
    tick(&c).await;
    tick(&c).await;
    assert_eq!(state_of(&c, late).await, "cancelled");
    assert_eq!(reason_of(&c, late).await.as_deref(), Some("window_passed"));
    assert_eq!(told(&c, late, "execution_started").await, 0);
    assert_eq!(state_of(&c, behind).await, "running");
    work_all(&c).await;
    assert_eq!(state_of(&c, behind).await, "succeeded");
    check_executions(&c).await;
}

/// What was allowed for a night is not allowed for the afternoon because somebody cancelled it.
#[tokio::test]
async fn a_retry_starts_within_the_moments_that_its_first_was_given() {
    let (db, c) = people().await;
    let night =
        ", p_start_after => tenure.now() + interval '1 hour', p_start_before => tenure.now() + interval '3 hours'";
    let first = id(&submit(&c, "eve", &plan("p", &["a read"]), night).await, "execution_id");
    cancel(&c, first).await;
    let again = retry(&c, "pam", first, "").await;
    assert_eq!(
        (&again["state"], &again["parked"]),
        (&json!("approved"), &json!("window")),
        "{again}"
    );
    let again = id(&again, "execution_id");
    let kept: bool = get(
        &c,
        "select (n.start_after, n.start_before) = (o.start_after, o.start_before) from tenure.execution_rows n join tenure.execution_rows o on o.execution_id = n.retry_of
          where n.execution_id = $1",
        &[&again],
    )
    .await;
    assert!(kept);
    db.advance("61 minutes").await;
    tick(&c).await;
    assert_eq!(state_of(&c, again).await, "running");

    let late = id(
        &submit(&c, "eve", &plan("late", &["a modify"]), night).await,
        "execution_id",
    );
    cancel(&c, late).await;
    db.advance("3 hours").await;
    let before = snapshot(&c).await;
    refused(&retry(&c, "pam", late, "").await, "range_invalid");
    assert_eq!(snapshot(&c).await, before, "a refusal leaves all as it was");
    let anew = submit(&c, "eve", &plan("late", &["a modify"]), "").await;
    assert_eq!(anew["state"], "awaiting_approval", "it is submitted anew: {anew}");
    check_executions(&c).await;
}

/// The key names something else already: nothing takes the place of what was to be superseded.
#[tokio::test]
async fn a_supersede_whose_key_belongs_to_another_is_refused_and_cancels_nothing() {
    let (_db, c) = people().await;
    let change = |target: &str| {
        let mut text = plan("p", &["a modify"]);
        text["steps"][0]["target_ref"] = json!(target);
        text
    };
    let old = Asked::of(&submit(&c, "eve", &change("1"), ", p_key => 'one'").await);
    let other = Asked::of(&submit(&c, "eve", &change("2"), ", p_key => 'two'").await);
    let before = snapshot(&c).await;
    let over = format!(", p_key => 'two', p_supersedes => '{}'", old.execution);
    // The same plan as the other's, and one of neither.
    for (target, code) in [("2", "key_taken"), ("3", "plan_differs")] {
        let answer = submit(&c, "eve", &change(target), &over).await;
        refused(&answer, code);
        let named = other.execution.to_string();
        assert!(answer["what"].as_str().expect("words").contains(&named), "{answer}");
        assert_eq!(snapshot(&c).await, before, "a refusal leaves all as it was");
    }
    let answer = decide(&c, "ada", &old, "approve", "").await;
    assert_eq!(answer["execution_state"], "running", "{answer}");

    // Under a key of its own it does take the place; said twice is said once.
    let over = format!(", p_key => 'three', p_supersedes => '{}'", other.execution);
    let new = submit(&c, "eve", &change("3"), &over).await;
    assert_eq!(new["duplicate"], false, "{new}");
    assert_eq!(state_of(&c, other.execution).await, "cancelled");
    let twice = submit(&c, "eve", &change("3"), &over).await;
    assert_eq!(
        (&twice["duplicate"], &twice["execution_id"]),
        (&json!(true), &new["execution_id"])
    );
    check_executions(&c).await;
}

/// Secrets go, and what stands for them may be longer than they were.
#[tokio::test]
async fn a_comment_that_masking_lengthens_is_cut_and_the_decision_counts() {
    let (_db, c) = people().await;
    for decision in ["reject", "approve"] {
        let asked = ask_change(&c).await;
        let comment = format!(", '{}'", "pwd=a ".repeat(660));
        let answer = decide(&c, "ada", &asked, decision, &comment).await;
        assert_ne!(answer["refused"], true, "{answer}");
        assert_eq!(
            approval_of(&c, asked.execution).await,
            if decision == "reject" { "rejected" } else { "approved" }
        );
        let kept: bool = get(
            &c,
            "select v.comment <> '' and v.comment !~ 'pwd=a' and octet_length(v.comment) <= tenure.limit_of('error_message_bytes_max')
               from tenure.approval_votes_of($1) v",
            &[&asked.approval],
        )
        .await;
        assert!(kept, "masked, and cut to what a comment may have");
    }
    check_executions(&c).await;
}

/// Nobody has to lift it.
#[tokio::test]
async fn a_freeze_that_is_over_by_its_time_is_not_shown_and_what_it_parked_starts_at_that_moment() {
    let (db, c) = people().await;
    act(&c, "pam").await;
    let freeze = "select tenure.execution_freeze('holidays', tenure.now() + interval '10 seconds')";
    let frozen = one(&c, freeze, &[]).await;
    assert_eq!(frozen["frozen"], true, "{frozen}");
    let text = plan("p", &["a read"]);
    let parked = submit(&c, "eve", &text, "").await;
    assert_eq!(
        (&parked["state"], &parked["parked"]),
        (&json!("approved"), &json!("freeze"))
    );
    let execution = id(&parked, "execution_id");
    let words = async || shown(&c, execution).await["waiting_for"].to_string();
    assert!(words().await.contains("holidays"));
    let preview = async || one(&c, "select tenure.execution_preview($1)", &[&text.to_string()]).await["frozen"].clone();
    assert_eq!(preview().await, "holidays");
    let at_its_end: bool = get(
        &c,
        "select e.next_at = f.until from tenure.execution_rows e, tenure.freezes f where e.execution_id = $1",
        &[&execution],
    )
    .await;
    assert!(at_its_end, "it is looked at when the freeze ends");

    db.advance("11 seconds").await;
    assert!(!words().await.contains("holidays"), "{}", words().await);
    assert_eq!(preview().await, Value::Null);
    assert_eq!(tick(&c).await["started"], 1);
    assert_eq!(state_of(&c, execution).await, "running");
    act(&c, "pam").await;
    let lifted = one(&c, "select tenure.execution_unfreeze('back')", &[]).await;
    assert_eq!(lifted["was_frozen"], false, "it was over by itself: {lifted}");
    work_all(&c).await;
    assert_eq!(state_of(&c, execution).await, "succeeded");
    check_executions(&c).await;
}
