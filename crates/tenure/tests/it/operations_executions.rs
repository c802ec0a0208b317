//! The operations of executions and approvals, carried out: a debug build refuses an answer whose type lacks a field that SQL sent.

use serde_json::json;
use tenure::operations::Perform;
use tenure_api::Operation;
use tenure_api::approvals::{
    ApprovalDecide, ApprovalFilter, ApprovalList, ApprovalShow, ApprovalState, ApprovalVotesOf, Decision,
};
use tenure_api::executions::{
    EndReason, ExecutionArchiveList, ExecutionCancel, ExecutionClose, ExecutionDeadLetterList, ExecutionDeadLetterShow,
    ExecutionDeadLetterTriage, ExecutionDifference, ExecutionFreeze, ExecutionList, ExecutionPlan, ExecutionPreview,
    ExecutionResolve, ExecutionRetry, ExecutionShow, ExecutionState, ExecutionSubmit, ExecutionSubmitted,
    ExecutionTimeline, ExecutionUnfreeze, ExecutionWithdraw, LockScope, Parked, RetryMode, SectionState, StartWindow,
    StepList, StepState, Verdict,
};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{act, people, plan, rule, work, work_all};
use crate::fixture::{one, run, verb};

/// What came of an operation that must succeed.
#[track_caller]
fn did<T>(what: tenure::Result<T>) -> T {
    what.unwrap_or_else(|error| panic!("{error:?}"))
}

/// The operation with these fields and the defaults of the others.
fn of<O: Operation>(fields: serde_json::Value) -> O {
    serde_json::from_value(fields).expect("an operation")
}

async fn submitted(c: &Client, who: &str, fields: serde_json::Value) -> ExecutionSubmitted {
    act(c, who).await;
    did(of::<ExecutionSubmit>(fields).perform(c).await)
}

async fn state(c: &Client, execution_id: Uuid) -> ExecutionState {
    let shown = did(of::<ExecutionShow>(json!({"execution_id": execution_id}))
        .perform(c)
        .await);
    shown.state
}

/// An execution of two steps, of which the first succeeded and the second failed.
async fn half_failed(c: &Client, purpose: &str) -> Uuid {
    let mut plan = plan(purpose, &["a read", "b read a"]);
    plan["on_step_failure"] = json!("continue");
    let made = submitted(c, "eve", json!({"plan": plan, "metadata": {"ticket": 7}})).await;
    verb(c, "job_complete", &work(c).await, "").await;
    verb(c, "job_fail", &work(c).await, ", 'the disk is full', 'permanent'").await;
    made.execution_id
}

#[tokio::test]
async fn a_plan_is_previewed_submitted_compared_approved_and_shown_by_its_operations() {
    let (_db, c) = people().await;
    let night = json!({"from": "00:00", "to": "23:59", "days": [1, 2, 3, 4, 5, 6, 7], "zone": "UTC"});
    let of_eve = json!({"requesters": ["eve"], "level": 1, "quorum": 2, "roles": ["dba", "release"], "window": night});
    rule(&c, "of eve", of_eve).await;
    rule(
        &c,
        "of pam",
        json!({"requesters": ["pam"], "level": 1, "window": {"from": "00:00", "to": "23:58"}}),
    )
    .await;
    let mut text = plan("p", &["drain modify", "check read drain", "other read"]);
    text["steps"][1]["target_ref"] = text["steps"][0]["target_ref"].clone();
    text["sections"] = json!([{"id": "host-work", "steps": ["drain", "check"]}]);
    act(&c, "eve").await;
    let preview = did(of::<ExecutionPreview>(json!({"plan": text, "on_behalf_of": "pam"}))
        .perform(&c)
        .await);
    assert_eq!((preview.approval_level, preview.quorum, preview.steps.len()), (1, 2, 3));
    assert!(
        matches!(&preview.window, Some(StartWindow::All(both)) if both.len() == 2),
        "{preview:?}"
    );
    assert_eq!(preview.sections[0].steps, ["drain", "check"]);
    assert_eq!(preview.steps[2].lock_scope, LockScope::None);
    let wrong = of::<ExecutionPreview>(json!({"plan": {"purpose": "p", "puprose": 1}}))
        .perform(&c)
        .await;
    assert_eq!(wrong.expect_err("a plan without steps").code(), "plan_invalid");

    let first = submitted(
        &c,
        "eve",
        json!({"plan": text, "metadata": {"n": 1.50}, "key": "k", "on_behalf_of": "pam"}),
    )
    .await;
    assert_eq!(first.state, ExecutionState::AwaitingApproval);
    assert_eq!(
        (first.plan_hash.as_str(), ExecutionSubmit::status(&first)),
        (preview.plan_hash.as_str(), 201)
    );
    let again = submitted(&c, "eve", json!({"plan": text, "key": "k", "on_behalf_of": "pam"})).await;
    assert_eq!(
        (again.execution_id, ExecutionSubmit::status(&again)),
        (first.execution_id, 200)
    );
    let frozen = did(ExecutionPlan {
        execution_id: first.execution_id,
    }
    .perform(&c)
    .await);
    assert!(
        frozen.canonical.starts_with("{\"purpose\"") || frozen.canonical.starts_with("{\"runbook_ref\""),
        "{frozen:?}"
    );

    let mut changed = text.clone();
    changed["steps"][2]["timeout_seconds"] = json!(5);
    changed["steps"][2]["id"] = json!("another");
    changed["steps"][0]["payload"] = json!({"a": 1});
    changed["priority"] = json!(7);
    let second = submitted(&c, "eve", json!({"plan": changed, "supersedes": first.execution_id})).await;
    let difference = second.difference.expect("another plan");
    let read = of::<ExecutionDifference>(json!({"execution_id": first.execution_id, "other_id": second.execution_id}));
    assert_eq!(did(read.perform(&c).await), difference);
    assert_eq!(
        (difference.added, difference.removed),
        (vec!["another".to_owned()], vec!["other".to_owned()])
    );
    assert_eq!(
        difference.plan["priority"].clone().map(|value| value.0),
        [json!(null), json!(7)]
    );

    let waiting = did(of::<ExecutionShow>(json!({"execution_id": second.execution_id}))
        .perform(&c)
        .await);
    assert!(waiting.settled && waiting.waiting_for.len() == 1, "{waiting:?}");
    assert_eq!(
        (waiting.sections[0].state.clone(), waiting.counts.waiting),
        (SectionState::Waiting, 3)
    );
    let approval_id = second.approval_id.expect("it waits");
    for (who, state) in [("ada", ApprovalState::Pending), ("bob", ApprovalState::Approved)] {
        act(&c, who).await;
        let decide = ApprovalDecide {
            approval_id,
            decision: Decision::Approve,
            plan_hash: second.plan_hash.clone(),
            comment: Some("seen".to_owned()),
            on_behalf_of: None,
        };
        assert_eq!(did(decide.perform(&c).await).state, state);
    }
    let votes = did(ApprovalVotesOf { approval_id }.perform(&c).await);
    let shown = did(ApprovalShow { approval_id }.perform(&c).await);
    assert_eq!((votes.items.len(), &votes.items), (2, &shown.votes));
    let running = did(of::<ExecutionShow>(json!({"execution_id": second.execution_id}))
        .perform(&c)
        .await);
    assert_eq!(
        (running.approvals[0].votes.len(), running.sections[0].state.clone()),
        (2, SectionState::Held)
    );
    work_all(&c).await;
    let ended = did(of::<ExecutionShow>(json!({"execution_id": second.execution_id}))
        .perform(&c)
        .await);
    assert_eq!(
        (ended.state, ended.reason_code),
        (ExecutionState::Succeeded, Some(EndReason::Completed))
    );
    assert_eq!(ended.result_summary.expect("it has ended").succeeded, 3);
    let steps = of::<StepList>(json!({"execution_id": second.execution_id, "state": ["succeeded", "failed"]}));
    assert_eq!(did(steps.perform(&c).await).items, ended.steps);
}

#[tokio::test]
async fn failed_executions_are_listed_triaged_retried_and_closed_by_their_operations() {
    let (db, c) = people().await;
    let failed = half_failed(&c, "retried").await;
    let closed = half_failed(&c, "closed").await;
    act(&c, "pam").await;
    let page = did(of::<ExecutionDeadLetterList>(json!({"limit": 1})).perform(&c).await);
    assert_eq!(page.items[0].execution_id, closed);
    let page = did(of::<ExecutionDeadLetterList>(
        json!({"limit": 1, "cursor": page.next, "triage_status": ["pending", "closed"]}),
    )
    .perform(&c)
    .await);
    assert_eq!(page.items[0].execution_id, failed);
    let page = did(of::<ExecutionDeadLetterList>(json!({"limit": 1, "cursor": page.next}))
        .perform(&c)
        .await);
    assert_eq!((page.items.len(), page.next), (0, None));
    let letter = did(ExecutionDeadLetterShow { execution_id: failed }.perform(&c).await);
    assert_eq!(
        (letter.context.state, letter.context.metadata.0),
        (ExecutionState::PartiallyFailed, json!({"ticket": 7}))
    );
    assert_eq!(letter.context.steps[1].state, StepState::Failed);
    let triage =
        of::<ExecutionDeadLetterTriage>(json!({"execution_id": failed, "status": "acknowledged", "note": "seen"}));
    assert_eq!(did(triage.perform(&c).await).triaged_by, "pam");
    let retry = ExecutionRetry {
        execution_id: failed,
        mode: Some(RetryMode::Resume),
        reason: None,
        on_behalf_of: None,
    };
    let retried = did(retry.perform(&c).await);
    assert_eq!((retried.retry_of, retried.carried), (failed, 1));
    let close = did(
        of::<ExecutionClose>(json!({"execution_id": closed, "reason": "enough"}))
            .perform(&c)
            .await,
    );
    assert!(close.closed && close.key_held_by.is_none(), "{close:?}");
    let shown = did(of::<ExecutionShow>(json!({"execution_id": closed})).perform(&c).await);
    assert_eq!(shown.result_summary.expect("it has ended").errors[0].step, "b");
    work_all(&c).await;

    db.advance("91 days").await;
    run(&c, "set tenure.tenant = '*'").await;
    let sql = "select tenure.execution_archive($1, (select string_agg(line, E'\\n' order by n) from tenure.execution_evidence($1)))";
    for execution in [retried.execution_id, failed] {
        assert_eq!(one(&c, sql, &[&execution]).await["archived"], true);
    }
    run(&c, "reset tenure.tenant").await;
    let page = did(
        of::<ExecutionArchiveList>(json!({"limit": 1, "state": ["succeeded", "partially_failed"]}))
            .perform(&c)
            .await,
    );
    assert_eq!(page.items[0].execution_id, retried.execution_id);
    let page = did(of::<ExecutionArchiveList>(json!({"cursor": page.next}))
        .perform(&c)
        .await);
    assert_eq!(
        page.items.iter().map(|it| it.execution_id).collect::<Vec<_>>(),
        [failed]
    );
}

#[tokio::test]
async fn executions_are_frozen_stopped_and_resolved_by_their_operations_and_listed_page_by_page() {
    let (_db, c) = people().await;
    act(&c, "pam").await;
    let freeze = ExecutionFreeze {
        reason: "holidays".to_owned(),
        until: None,
    };
    assert!(did(freeze.perform(&c).await).frozen);
    let parked = submitted(&c, "eve", json!({"plan": plan("parked", &["a read"])})).await;
    assert_eq!(parked.parked, Some(Parked::Freeze));
    let asked = submitted(&c, "eve", json!({"plan": plan("asked", &["a modify"])})).await;
    let other = submitted(&c, "eve", json!({"plan": plan("other", &["a modify"])})).await;
    let withdraw = ExecutionWithdraw {
        execution_id: asked.execution_id,
        reason: "not now".to_owned(),
    };
    assert_eq!(did(withdraw.perform(&c).await).reason_code, EndReason::Withdrawn);
    act(&c, "pam").await;
    let cancel = of::<ExecutionCancel>(json!({"execution_id": parked.execution_id, "reason": "no"}));
    for _ in 0..2 {
        assert_eq!(did(cancel.perform(&c).await).state, ExecutionState::Cancelled);
    }
    assert!(
        did(ExecutionUnfreeze {
            reason: "over".to_owned()
        }
        .perform(&c)
        .await)
        .was_frozen
    );

    let mut once = plan("once", &["a read"]);
    once["steps"][0]["effects"] = json!("once");
    let lost = submitted(&c, "eve", json!({"plan": once})).await.execution_id;
    verb(&c, "job_release", &work(&c).await, "").await;
    let shown = did(of::<ExecutionShow>(json!({"execution_id": lost})).perform(&c).await);
    assert_eq!(
        (shown.steps[0].state.clone(), shown.settled),
        (StepState::Unknown, true)
    );
    act(&c, "pam").await;
    let resolve = ExecutionResolve {
        execution_id: lost,
        step_id: "a".to_owned(),
        verdict: Verdict::Succeeded,
        reason: "looked".to_owned(),
        result: Some(json!({"rows": 1}).into()),
        on_behalf_of: None,
    };
    assert_eq!(did(resolve.perform(&c).await).step_state, StepState::Succeeded);
    assert_eq!(state(&c, lost).await, ExecutionState::Succeeded);

    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let list = ExecutionList {
            state: Some(vec![ExecutionState::Cancelled, ExecutionState::Succeeded]),
            cursor,
            limit: 1,
            ..ExecutionList::default()
        };
        let page = did(list.perform(&c).await);
        seen.extend(page.items.iter().map(|it| it.execution_id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, [lost, asked.execution_id, parked.execution_id]);
    let open = did(ExecutionList {
        state: Some(vec![ExecutionState::AwaitingApproval]),
        ..ExecutionList::default()
    }
    .perform(&c)
    .await);
    assert_eq!(open.items[0].execution_id, other.execution_id);
    for (state, code) in [(json!(["lost"]), "state_unknown"), (json!([]), "state_unknown")] {
        let list = of::<ExecutionList>(json!({"state": state}));
        assert_eq!(list.perform(&c).await.expect_err("no such state").code(), code);
    }

    let mut after = of::<ExecutionTimeline>(json!({"execution_id": lost, "limit": 2}));
    let mut events = Vec::new();
    loop {
        let page = did(after.perform(&c).await);
        events.extend(page.items.into_iter().map(|event| event.seq));
        after.cursor = page.next;
        if after.cursor.is_none() {
            break;
        }
    }
    assert!(
        events.len() > 4 && events.iter().copied().eq(1..=events.len() as i32),
        "{events:?}"
    );

    let pending = did(ApprovalList::default().perform(&c).await);
    assert_eq!(
        pending.items.iter().map(|it| it.execution_id).collect::<Vec<_>>(),
        [other.execution_id]
    );
    let mut approvals = Vec::new();
    let mut list = ApprovalList {
        state: vec![ApprovalFilter::Any],
        limit: 1,
        ..ApprovalList::default()
    };
    loop {
        let page = did(list.perform(&c).await);
        approvals.extend(page.items.into_iter().map(|approval| approval.execution_id));
        list.cursor = page.next;
        if list.cursor.is_none() {
            break;
        }
    }
    let all = [parked.execution_id, asked.execution_id, other.execution_id, lost];
    assert_eq!(approvals, all);
}
