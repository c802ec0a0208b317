//! The operations of jobs and of work, carried out: their answers have a field for everything that SQL sends.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tenure::operations::{Perform, call};
use tenure::store::jobs as store;
use tenure_api::jobs::{
    CancelMode, ExplainCode, JobCancel, JobDeadLetter, JobEnqueue, JobExplain, JobList, JobReap, JobRequeue, JobRetry,
    JobShow, JobState, JobSweep, JobTimeline, JobVerb, ReapFinding, ReapMode,
};
use tenure_api::work::{
    Claimed, EndAnswers, EndStatus, HeartbeatStatus, Heartbeats, JobAcknowledgeCancel, JobComplete, JobFail,
    JobHeartbeat, JobProgress, JobRelease, JobSnooze, JobStart, StartAnswers, StartStatus,
};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::approvals_scene::{id, people, submit};
use crate::fixture::{Db, check_invariants, claim, enqueue, enqueue_with, get, one, refused, state, verb};
use crate::governed_kinds::reading;
use crate::views::one_of_each;

async fn done<O: Perform>(c: &Client, operation: O) -> O::Answer {
    let name = O::NAME;
    operation
        .perform(c)
        .await
        .unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

fn show(job_id: Uuid) -> JobShow {
    JobShow {
        job_id,
        wait_seconds: Some(1),
    }
}

/// What the store answers reads as the answer of the operation, and is the same JSON again.
fn speaks_as<T: Serialize + DeserializeOwned>(answer: Value) -> T {
    let typed: T = serde_json::from_value(answer.clone()).unwrap_or_else(|error| panic!("{error}: {answer}"));
    assert_eq!(serde_json::to_value(&typed).expect("JSON"), answer);
    typed
}

#[tokio::test]
async fn a_job_in_each_state_is_shown_listed_explained_and_has_a_timeline() {
    let db = Db::open().await;
    let c = db.client().await;
    let jobs = one_of_each(&db, &c).await;
    for (state, job_id) in &jobs {
        let state = JobState::from(*state);
        let shown = call(&c, &show(*job_id)).await.expect("the job");
        assert_eq!((&shown.job_id, &shown.state), (job_id, &state));
        let listed = JobList {
            state: Some(vec![state.clone()]),
            ..JobList::default()
        };
        let listed = done(&c, listed).await;
        assert_eq!(listed.items.len(), 1, "{state}");
        assert_eq!((listed.items[0].job_id, listed.next), (*job_id, None));
        let explained = done(&c, JobExplain { job_id: *job_id }).await;
        assert_eq!(explained.state, state);
        for reason in &explained.reasons {
            assert!(!matches!(reason.code, ExplainCode::Other(_)), "{reason:?}");
        }
        let timeline = done(&c, JobTimeline { job_id: *job_id }).await;
        assert_eq!(timeline.items[0].verb, JobVerb::Enqueue);
        for moment in &timeline.items {
            assert!(!matches!(moment.verb, JobVerb::Other(_)), "{moment:?}");
        }
    }
}

#[tokio::test]
async fn a_list_of_several_states_goes_on_by_its_cursor() {
    let db = Db::open().await;
    let c = db.client().await;
    let jobs = one_of_each(&db, &c).await;
    let mut expected = ["queued", "leased", "failed"].map(|state| jobs[state]);
    expected.sort_by(|a, b| b.cmp(a));
    let mut list = JobList {
        state: Some(vec![JobState::Queued, JobState::Leased, JobState::Failed]),
        limit: 1,
        ..JobList::default()
    };
    let mut found = Vec::new();
    for _ in 0..expected.len() {
        let page = done(&c, list.clone()).await;
        found.extend(page.items.iter().map(|job| job.job_id));
        list.cursor = page.next;
        assert!(list.cursor.is_some(), "a full page has a next one");
    }
    assert_eq!(found, expected);
    let last = done(&c, list).await;
    assert!(last.items.is_empty() && last.next.is_none());

    let unknown = |states: &[&str]| JobList {
        state: Some(states.iter().map(|state| JobState::from(*state)).collect()),
        ..JobList::default()
    };
    for states in [&["queued", "runing"][..], &[]] {
        let refused = unknown(states).perform(&c).await.expect_err("not a state");
        assert_eq!(refused.code(), "state_unknown", "{states:?}");
    }
}

#[tokio::test]
async fn an_operator_cancels_retries_and_gives_up() {
    let db = Db::open().await;
    let c = db.client().await;
    let new: JobEnqueue = serde_json::from_value(
        json!({"kind": "report", "key": "k", "priority": "urgent", "classification": "restricted",
                                      "payload": {"n": 1.50}, "on_behalf_of": "ops"}),
    )
    .expect("a job");
    let enqueued = call(&c, &new).await.expect("enqueued");
    assert_eq!((enqueued.duplicate, enqueued.state), (false, JobState::Queued));
    let again = call(&c, &new).await.expect("the same job");
    assert_eq!((again.duplicate, again.job_id), (true, enqueued.job_id));
    let job_id = enqueued.job_id;
    let shown = call(&c, &show(job_id)).await.expect("the job");
    assert_eq!((shown.priority, shown.on_behalf_of.as_deref()), (100, Some("ops")));

    let retry = JobRetry {
        job_id,
        reason: Some("now".to_owned()),
        on_behalf_of: None,
    };
    assert_eq!(done(&c, retry).await.state, JobState::Queued);
    let held = claim(&c, "w").await;
    let cancel = |mode| JobCancel {
        job_id,
        reason: "enough".to_owned(),
        mode,
        on_behalf_of: None,
    };
    let asked = done(&c, cancel(CancelMode::Cooperative)).await;
    assert_eq!((asked.state, asked.cancel_requested), (JobState::Leased, Some(true)));
    let explained = done(&c, JobExplain { job_id }).await;
    let codes: Vec<&str> = explained.reasons.iter().map(|reason| reason.code.as_str()).collect();
    assert_eq!(codes, ["leased", "cancel_requested"]);
    let beat = JobHeartbeat {
        job_id,
        token: held.token,
        lease_seconds: None,
    };
    let beat = done(&c, beat).await;
    assert_eq!(
        (beat.status, beat.cancel_reason.as_deref()),
        (HeartbeatStatus::Cancel, Some("enough"))
    );
    let taken = done(&c, cancel(CancelMode::Force)).await;
    assert_eq!((taken.state, taken.cancel_requested), (JobState::Cancelled, None));

    let job_id = enqueue(&c, "report").await;
    let give_up = JobDeadLetter {
        job_id,
        reason: "the source was deleted".to_owned(),
        on_behalf_of: None,
    };
    let moved = done(&c, give_up).await;
    assert_eq!(moved.state, JobState::DeadLetter);
    let letter: Uuid = get(&c, "select dead_letter_id from tenure.dead_letters", &[]).await;
    assert_eq!(moved.dead_letter_id, letter);
}

#[tokio::test]
async fn a_worker_starts_renews_and_ends_in_each_way() {
    let db = Db::open().await;
    let c = db.client().await;
    let held = async || {
        enqueue(&c, "report").await;
        let held = claim(&c, "w").await;
        (held.job_id, held.token)
    };
    let (job_id, token) = held().await;
    let started = done(&c, JobStart { job_id, token }).await;
    assert_eq!(
        (started.status, started.state),
        (StartStatus::Started, JobState::InProgress)
    );
    let again = done(&c, JobStart { job_id, token }).await;
    assert_eq!(again.status, StartStatus::AlreadyStarted);
    let progress = JobProgress {
        job_id,
        token,
        progress: json!({"percent": 50}).into(),
    };
    assert!(!done(&c, progress).await.cancel_requested);
    let beat = JobHeartbeat {
        job_id,
        token,
        lease_seconds: Some(60),
    };
    assert_eq!(done(&c, beat).await.status, HeartbeatStatus::Ok);
    let complete = JobComplete {
        job_id,
        token,
        result: Some(json!([1, 2]).into()),
        result_ref: Some("s3://results/1".to_owned()),
    };
    let ended = done(&c, complete.clone()).await;
    assert_eq!(
        (ended.status, ended.state),
        (EndStatus::Ended, Some(JobState::Succeeded))
    );
    assert_eq!(done(&c, complete).await.status, EndStatus::AlreadyEnded);
    let shown = call(&c, &show(job_id)).await.expect("the job");
    assert_eq!(shown.result.expect("a result").0, json!([1, 2]));

    for (permanent, state) in [(false, JobState::RetryWaiting), (true, JobState::DeadLetter)] {
        let (job_id, token) = held().await;
        let fail = JobFail {
            job_id,
            token,
            message: "no disk".to_owned(),
            permanent,
            code: Some("disk_full".to_owned()),
            class: Some("storage".to_owned()),
            retry_seconds: Some(3600),
        };
        let failed = done(&c, fail).await;
        assert_eq!((failed.state, failed.next_due.is_some()), (Some(state), !permanent));
    }
    let (job_id, token) = held().await;
    let early = JobSnooze {
        job_id,
        token,
        seconds: 3600,
    };
    assert_eq!(
        early.perform(&c).await.expect_err("not started").code(),
        "state_conflict"
    );
    done(&c, JobStart { job_id, token }).await;
    assert_eq!(done(&c, early).await.status, EndStatus::Ended);
    let (job_id, token) = held().await;
    assert_eq!(
        done(&c, JobRelease { job_id, token }).await.state,
        Some(JobState::Queued)
    );
    let held = claim(&c, "w").await;
    one(&c, "select tenure.job_cancel($1, 'enough')", &[&held.job_id]).await;
    let acknowledge = JobAcknowledgeCancel {
        job_id: held.job_id,
        token: held.token,
    };
    assert_eq!(done(&c, acknowledge).await.state, Some(JobState::Cancelled));
}

#[tokio::test]
async fn the_reaper_lists_first_and_then_ends_and_a_sweep_says_what_it_did() {
    let db = Db::open().await;
    let c = db.client().await;
    let job_id = enqueue(&c, "report").await;
    claim(&c, "w").await;
    db.advance("1 hour").await;
    let listed = JobReap {
        mode: ReapMode::DryRun,
        ..JobReap::default()
    };
    let listed = done(&c, listed).await;
    assert_eq!(
        (listed.items[0].job_id, &listed.items[0].finding, &listed.items[0].state),
        (job_id, &ReapFinding::Expired, &JobState::Leased)
    );
    let ended = done(&c, JobReap::default()).await;
    assert_eq!((ended.items.len(), ended.items[0].worker.as_deref()), (1, Some("w")));
    let swept = done(&c, JobSweep::default()).await;
    assert_eq!((swept.cleaned, swept.end_of_pass, swept.why), (0, Some(true), None));
    let other = db.client().await;
    c.batch_execute("begin; select tenure.job_sweep()")
        .await
        .expect("a sweep under way");
    let idle = done(&other, JobSweep::default()).await;
    assert_eq!(
        (idle.end_of_pass, idle.why.as_deref()),
        (None, Some("another sweep is at work"))
    );
    c.batch_execute("rollback").await.expect("the end of the sweep");
}

/// The calls that stay hand-written answer in the same JSON as their operations.
#[tokio::test]
async fn the_hand_written_calls_speak_as_their_operations() {
    let (_db, c) = people().await;
    submit(&c, "eve", &reading("look", "touch"), "").await;
    let spec = json!({"every_seconds": 3600, "kind": "touch"});
    one(&c, "select tenure.schedule_create('nightly', $1)", &[&spec]).await;
    let slot = id(&one(&c, "select tenure.schedule_run('nightly')", &[]).await, "job_id");
    one(
        &c,
        "select tenure.job_enqueue('touch', p_classification => 'restricted')",
        &[],
    )
    .await;
    let token = Uuid::new_v4();
    let mut claim = store::Claim::new("w").limit(10);
    claim.token = Some(token);
    let jobs = store::claim_many(&c, &claim).await.expect("a claim");
    let claimed: Claimed = speaks_as(json!({"jobs": jobs}));
    assert_eq!(claimed.jobs.len(), 3);
    assert_eq!(claimed.jobs.iter().filter(|job| job.step.is_some()).count(), 1);
    assert_eq!(claimed.jobs.iter().filter(|job| job.slot.is_some()).count(), 1);
    let held = store::held(&c, token).await.expect("what it holds");
    speaks_as::<Claimed>(json!({"jobs": held}));
    for job in &claimed.jobs {
        let shown = call(&c, &show(job.job_id)).await.expect("the job");
        assert_eq!(shown.slot.is_some(), job.job_id == slot);
        assert_eq!(
            shown.step.as_ref().map(|step| &step.step_id),
            job.step.as_ref().map(|step| &step.step_id)
        );
    }
    let listed = done(&c, JobList::default()).await;
    assert_eq!(
        listed
            .items
            .iter()
            .filter(|job| job.step.is_some() || job.slot.is_some())
            .count(),
        2
    );

    let mut holds: Vec<store::Hold> = jobs.iter().map(store::ClaimedJob::hold).collect();
    holds.push(store::Hold::new(jobs[0].job_id, Uuid::new_v4()));
    let started = store::start_many(&c, &holds).await.expect("answers");
    let started: StartAnswers = speaks_as(json!({"jobs": started}));
    assert_eq!(started.jobs[3].status, StartStatus::StaleLease);
    let beats = store::heartbeat_many(&c, &holds, None).await.expect("answers");
    let beats: Heartbeats = speaks_as(json!({"jobs": beats}));
    assert_eq!(beats.jobs[3].status, HeartbeatStatus::Lost);
    let ends: Vec<store::End> = holds
        .iter()
        .map(|hold| store::End::succeeded(hold.job_id, hold.token))
        .collect();
    let ends = store::end_many(&c, &ends).await.expect("answers");
    let ends: EndAnswers = speaks_as(json!({"ends": ends}));
    assert_eq!(
        (&ends.ends[0].status, &ends.ends[3].status),
        (&EndStatus::Ended, &EndStatus::StaleLease)
    );
}

fn requeue(job_id: Uuid) -> JobRequeue {
    JobRequeue {
        job_id,
        on_behalf_of: None,
    }
}

#[tokio::test]
async fn a_cancelled_job_is_enqueued_again_once_with_its_content_and_key() {
    let db = Db::open().await;
    let c = db.client().await;
    let old = enqueue_with(
        &c,
        "a",
        ", p_key => 'k', p_payload => '{\"n\": 1.50}', p_priority => 'urgent'",
    )
    .await;
    let waiting = one(&c, "select tenure.job_requeue($1)", &[&old]).await;
    refused(&waiting, "state_conflict");
    one(&c, "select tenure.job_cancel($1, 'wrong day')", &[&old]).await;

    let made = done(&c, requeue(old)).await;
    assert_eq!((made.replay_of, made.duplicate), (old, false));
    assert_eq!(
        (state(&c, old).await, state(&c, made.job_id).await),
        ("cancelled".to_owned(), "queued".to_owned())
    );
    let content = "select concat_ws(' ', payload, priority, idempotency_key) from tenure.jobs where job_id = $1";
    let before: String = get(&c, content, &[&old]).await;
    let after: String = get(&c, content, &[&made.job_id]).await;
    assert_eq!(before, after);
    assert!(before.starts_with("{\"n\": 1.50} "), "digit by digit: {before}");
    let shown = call(&c, &show(made.job_id)).await.expect("the job");
    assert_eq!(shown.replay_of, Some(old));

    let again = done(&c, requeue(old)).await;
    assert_eq!(
        (again.job_id, again.duplicate),
        (made.job_id, true),
        "a repeated call makes one job"
    );
    let held = claim(&c, "w").await;
    assert_eq!((held.job_id, held.attempt), (made.job_id, 1));
    verb(&c, "job_complete", &held, "").await;
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_failed_job_that_was_requeued_cannot_be_retried_beside_the_new_one() {
    let db = Db::open().await;
    let c = db.client().await;
    // Also where the kind keeps keys of jobs that have ended.
    let policy =
        "select tenure.kind_set('a', '{\"on_exhausted\": \"fail\", \"attempts_max\": 1, \"key_keep_seconds\": 3600}')";
    one(&c, policy, &[]).await;
    let old = enqueue_with(&c, "a", ", p_key => 'k'").await;
    verb(&c, "job_fail", &claim(&c, "w").await, ", 'x'").await;
    let made = done(&c, requeue(old)).await;
    assert!(!made.duplicate, "the old job gives its key up");
    refused(&one(&c, "select tenure.job_retry($1)", &[&old]).await, "key_taken");

    // Without a key the new job has one that names the old.
    one(&c, "select tenure.job_cancel($1, 'make room')", &[&made.job_id]).await;
    let keyless = enqueue(&c, "a").await;
    verb(&c, "job_fail", &claim(&c, "w").await, ", 'x'").await;
    let first = done(&c, requeue(keyless)).await;
    assert_eq!(done(&c, requeue(keyless)).await.job_id, first.job_id);
    assert_ne!(first.job_id, made.job_id);
    refused(&one(&c, "select tenure.job_retry($1)", &[&keyless]).await, "key_taken");
    let reserved = one(&c, "select tenure.job_requeue($1, E'two\\nlines')", &[&keyless]).await;
    refused(&reserved, "name_invalid");
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_job_of_a_governed_kind_and_a_cleaned_job_are_not_requeued() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "a").await;
    one(&c, "select tenure.job_cancel($1, 'wrong day')", &[&job]).await;
    one(&c, "select tenure.kind_set('a', '{\"only_by_plan\": true}')", &[]).await;
    refused(
        &one(&c, "select tenure.job_requeue($1)", &[&job]).await,
        "kind_only_by_plan",
    );
    let jobs = one_of_each(&db, &c).await;
    refused(
        &one(&c, "select tenure.job_requeue($1)", &[&jobs["cleaned"]]).await,
        "state_conflict",
    );
    refused(
        &one(&c, "select tenure.job_requeue($1)", &[&jobs["succeeded"]]).await,
        "state_conflict",
    );
}
