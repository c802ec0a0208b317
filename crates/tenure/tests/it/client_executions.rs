//! Plans of a program in Rust: submitted, approved, run by a worker and waited for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tenure::Client;
use tenure::core::codes;
use tenure::core::plan::Plan;
use tenure::executions::{
    ActionClass, Decision, ExecutionState, LockScope, NewPlan, NewStep, SlaClass, StepInfo, Verdict,
};
use tenure::worker::{Context, Done};

use crate::fixture::{Db, PATIENCE, run};
use crate::worker_scene::{pool, until_idle, worker};

fn plan(purpose: &str, class: &str) -> Plan {
    let plan = json!({"purpose": purpose, "sla_class": "long", "steps": [
        {"id": "look", "action": "look", "action_class": "read", "target_type": "host", "target_ref": "web-1"},
        {"id": "change", "action": "change", "action_class": class, "target_type": "host", "target_ref": "web-1",
         "lock_scope": "target", "needs": ["look"], "payload": {"to": "green"}},
    ]});
    Plan::read(&plan.to_string()).expect("a plan")
}

/// A client whose login is trusted, as this principal.
async fn somebody(db: &Db, name: &str, level: &str) -> Client {
    let client = db.direct().await;
    let make = format!(
        "select tenure.principal_create('{name}', 'human'), tenure.principal_set('{name}', '{{\"approver_level\": {level}}}')"
    );
    run(&client, &make).await;
    let url = db.url();
    let separator = if url.contains('?') { '&' } else { '?' };
    let url = format!("{url}{separator}options=-c%20tenure.principal%3D{name}");
    Client::new(tenure::Pool::new(&url, &Default::default()).expect("a pool"))
}

#[tokio::test]
async fn a_plan_is_submitted_approved_by_another_and_run_with_its_fences() {
    let db = Db::open().await;
    let (ann, bob) = (somebody(&db, "ann", "3").await, somebody(&db, "bob", "1").await);
    let plan = plan("turn it green", "modify");
    let preview = ann.preview(&plan).await.expect("a preview");
    assert_eq!(preview.approval_level, 1, "{preview:?}");
    let submitted = ann.submit(&plan).key("k").wait(PATIENCE).await.expect("submitted");
    assert_eq!(
        (submitted.state.as_str(), submitted.plan_hash),
        ("awaiting_approval", plan.hash())
    );
    let again = ann.submit(&plan).key("k").await.expect("submitted");
    assert!(again.duplicate && again.execution_id == submitted.execution_id);
    let other = self::plan("turn it red", "modify");
    let differs = ann.submit(&other).key("k").await.expect_err("another plan");
    assert!(
        differs.is(codes::PLAN_DIFFERS) && differs.to_string().contains(&plan.hash()),
        "{differs}"
    );

    let own = ann.execution(submitted.execution_id);
    assert!(
        own.approve(&plan.hash(), None)
            .await
            .expect_err("her own")
            .is(codes::SELF_APPROVAL)
    );
    let theirs = bob.execution(submitted.execution_id);
    let wrong = theirs.approve(&other.hash(), None).await.expect_err("another plan");
    assert!(wrong.is(codes::PLAN_HASH_MISMATCH), "{wrong}");
    let silent = theirs.reject(&plan.hash(), " ").await.expect_err("no comment");
    assert!(silent.is(codes::COMMENT_REQUIRED), "{silent}");
    assert_eq!(bob.approvals().await.expect("a list").len(), 1);
    let decided = theirs.approve(&plan.hash(), Some("go")).await.expect("approved");
    assert_eq!(decided.execution_state, ExecutionState::Running, "{decided:?}");
    let twice = theirs.approve(&plan.hash(), None).await.expect_err("decided already");
    assert!(twice.is(codes::APPROVAL_DECIDED), "{twice}");

    let seen: Arc<Mutex<Vec<StepInfo>>> = Arc::default();
    let handler = {
        let seen = seen.clone();
        move |payload: Value, context: Context| {
            let seen = seen.clone();
            async move {
                seen.lock().expect("free").extend(context.step());
                Ok(Done::with(json!({"to": payload["to"]}))?)
            }
        }
    };
    until_idle(worker(&db).handler("look", handler.clone()).handler("change", handler)).await;
    let ended = own.wait(PATIENCE).await.expect("its end");
    assert!(
        ended.is_succeeded() && ended.is_over() && ended.counts.succeeded == 2,
        "{ended:?}"
    );
    assert_eq!(ended.steps[1].output_summary, Some(json!({"to": "green"}).into()));
    let seen = seen.lock().expect("free").clone();
    let [look, change] = seen.as_slice() else {
        panic!("{seen:?}");
    };
    assert_eq!((look.step_id.as_str(), look.fence()), ("look", None));
    assert_eq!(
        (
            change.action.as_str(),
            change.target_type.as_str(),
            change.target_ref.as_str()
        ),
        ("change", "host", "web-1")
    );
    assert_eq!(
        (change.execution_id, &change.plan_hash),
        (submitted.execution_id, &plan.hash())
    );
    assert_eq!(own.plan().await.expect("a plan"), plan);
    let events = own.timeline(None).await.expect("a story");
    assert!(
        events.iter().map(|event| event.seq).eq(1..=events.len() as i32),
        "{events:?}"
    );
    let started = events.iter().rev().find(|event| event.kind == "step_started");
    let fence = started.and_then(|event| event.data.as_ref()?.0["fence"].as_i64());
    assert!(
        change.fence().is_some() && change.fence() == fence,
        "{change:?} {started:?}"
    );
    let kinds = [
        "execution_submitted",
        "approval_vote",
        "step_completed",
        "execution_completed",
    ];
    assert!(
        kinds.iter().all(|kind| events.iter().any(|event| event.kind == *kind)),
        "{events:?}"
    );
    let last = events.last().expect("an end");
    assert_eq!(last.kind, "execution_completed");
    // A key that was given is not given again for another plan, though this one is over.
    assert!(ann.submit(&plan).key("k").await.expect("the same").duplicate);
}

/// What somebody writes into a payload is no approval, and no lock.
#[tokio::test]
async fn a_job_of_no_plan_has_no_step_though_its_payload_says_so() {
    let db = Db::open().await;
    let client = Client::new(pool(&db));
    let forged = json!({"step": {"execution_id": uuid::Uuid::nil(), "step_id": "a", "step_number": 1, "action": "plain",
                                 "target_type": "host", "plan_hash": "00", "fence": 999_999}});
    let plain = tenure::NewJob::new("plain");
    let pretender = tenure::NewJob::of("plain", &forged).expect("a payload");
    for job in [plain, pretender] {
        client.enqueue(&job).await.expect("a job");
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let handler = {
        let seen = seen.clone();
        move |payload: Value, context: Context| {
            seen.lock()
                .expect("free")
                .push((payload["step"].is_object(), context.step()));
            std::future::ready(Ok::<_, tenure::worker::Failure>(()))
        }
    };
    until_idle(worker(&db).handler("plain", handler)).await;
    let mut seen = seen.lock().expect("free").clone();
    seen.sort_by_key(|it| it.0);
    assert_eq!(seen, [(false, None), (true, None)]);
}

#[tokio::test]
async fn one_that_has_not_started_is_superseded_withdrawn_or_decided_against() {
    let db = Db::open().await;
    let (ann, bob) = (somebody(&db, "ann", "3").await, somebody(&db, "bob", "1").await);
    let (first, second) = (plan("p", "modify"), {
        let text = plan("p", "modify").canonical().replace("green", "red");
        Plan::read(&text).expect("a plan")
    });
    let old = ann.submit(&first).await.expect("submitted").execution_id;
    let same = ann.submit(&first).supersedes(old).await.expect("unchanged");
    assert!(same.unchanged && same.execution_id == old);
    let new = ann
        .submit(&second)
        .supersedes(old)
        .metadata(json!({"n": 1}))
        .await
        .expect("submitted");
    let difference = new.difference.expect("how they differ");
    assert_eq!(
        difference.changed["change"]["payload"],
        [json!({"to": "green"}).into(), json!({"to": "red"}).into()],
        "{difference:?}"
    );
    let shown = ann.execution(old).show().await.expect("shown");
    assert_eq!(shown.state, ExecutionState::Cancelled);
    let stale = bob
        .execution(old)
        .approve(&first.hash(), None)
        .await
        .expect_err("withdrawn");
    assert!(stale.is(codes::APPROVAL_DECIDED), "{stale}");
    bob.execution(new.execution_id)
        .reject(&second.hash(), "not today")
        .await
        .expect("rejected");
    let rejected = ann.execution(new.execution_id).show().await.expect("shown");
    assert_eq!(
        (rejected.state.as_str(), rejected.reason.as_deref()),
        ("rejected", Some("not today"))
    );

    let own = ann.execution(ann.submit(&first).await.expect("again").execution_id);
    own.withdraw("enough").await.expect("withdrawn");
    own.resolve("change", Verdict::Failed, "r", None)
        .await
        .expect_err("nothing is unknown");
    let nobody = ann.execution(uuid::Uuid::nil());
    assert!(nobody.show().await.expect_err("nothing").is(codes::EXECUTION_UNKNOWN));
    assert!(
        nobody
            .approve("", None)
            .await
            .expect_err("nothing")
            .is(codes::APPROVAL_UNKNOWN)
    );
    nobody
        .decide(uuid::Uuid::nil(), Decision::Approve, "", None)
        .await
        .expect_err("nothing");
}

#[tokio::test]
async fn a_wait_that_is_over_leaves_an_immediate_plan_in_the_background() {
    let db = Db::open().await;
    let client = Client::new(pool(&db));
    let text = json!({"purpose": "look", "sla_class": "fast", "mode": "immediate", "steps": [
        {"id": "a", "action": "nobody.runs.it", "action_class": "read", "target_type": "host", "target_ref": "h"}]});
    let plan = Plan::read(&text.to_string()).expect("a plan");
    let submitted = client
        .submit(&plan)
        .wait(Duration::from_millis(20))
        .await
        .expect("submitted");
    assert_eq!(submitted.state, ExecutionState::Running);
    let execution = client.execution(submitted.execution_id);
    let waited = execution.wait(Duration::from_millis(20)).await.expect_err("not over");
    assert!(waited.is(codes::WAIT_TIMEOUT), "{waited}");
    let told = execution.timeline(None).await.expect("a story");
    assert!(told.iter().any(|event| event.kind.contains("background")), "{told:?}");
    execution.cancel("never mind").await.expect("cancelled");
}

#[tokio::test]
async fn a_plan_written_in_rust_is_the_plan_of_its_json() {
    let db = Db::open().await;
    let client = Client::new(pool(&db));
    let look = NewStep::new("look", "look")
        .class(ActionClass::Read)
        .target("host", "web-1");
    let change = NewStep::new("change", "change")
        .class(ActionClass::Read)
        .target("host", "web-1")
        .lock_scope(LockScope::Target)
        .needs(["look"])
        .payload(json!({"to": "green"}));
    let written = NewPlan::new("turn it green", SlaClass::Long)
        .step(look)
        .step(change)
        .build()
        .expect("a plan");
    let read = plan("turn it green", "read");
    assert_eq!(written.hash(), read.hash());
    let submitted = client.submit(&written).key("k").await.expect("submitted");
    let again = client.submit(&read).key("k").await.expect("the same plan");
    assert!(again.duplicate && again.execution_id == submitted.execution_id);
    let handler = async |payload: Value, _: Context| Ok(Done::with(payload["to"].clone())?);
    until_idle(worker(&db).handler("look", handler).handler("change", handler)).await;
    let ended = client
        .execution(submitted.execution_id)
        .wait(PATIENCE)
        .await
        .expect("its end");
    assert!(ended.is_succeeded(), "{ended:?}");
    assert_eq!(ended.steps[1].output_summary, Some(json!("green").into()));
}
