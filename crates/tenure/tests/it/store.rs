//! Every SQL function through its Rust call: the arguments arrive, the answer is read.

use std::time::Duration;

use serde_json::json;
use tenure::core::codes;
use tenure::operations::{Perform, call};
use tenure::pool::PoolOptions;
use tenure::services::{reaper, retention};
use tenure::store::dead_letters::{self, DeadLetterFilter};
use tenure::store::health::doctor;
use tenure::store::jobs::{self, Claim, End, Hold, NewJob};
use tenure::store::kinds::lane_open;
use tenure::store::retention::{partition_list, partition_upkeep};
use tenure::store::{Timestamp, as_tenant, for_every_tenant};
use tenure::{Error, Pool};
use tenure_api::Json;
use tenure_api::jobs::{
    CancelMode, JobCancel, JobDeadLetter, JobExplain, JobList, JobReap, JobRetry, JobState, JobSweep, JobTimeline,
    ReapMode,
};
use tenure_api::settings::{GatePosition, GateSet};
use tenure_api::tenants::{TenantCreate, TenantList};
use tenure_api::work::{
    HeartbeatStatus, JobAcknowledgeCancel, JobComplete, JobFail, JobHeartbeat, JobRelease, JobSnooze, JobStart,
};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::Db;

async fn open() -> (Db, Client) {
    let db = Db::open().await;
    let client = db.client().await;
    (db, client)
}

/// Enqueues and claims one job of a new kind.
async fn held(client: &Client, kind: &str) -> Hold {
    jobs::enqueue(client, &NewJob::new(kind), None).await.expect("enqueues");
    let claim = Claim::new("w").kinds([kind]).started();
    let claimed = jobs::claim_many(client, &claim).await.expect("claims");
    claimed[0].hold()
}

fn beat(Hold { job_id, token }: Hold) -> JobHeartbeat {
    JobHeartbeat {
        job_id,
        token,
        lease_seconds: None,
    }
}

fn cancel(job_id: Uuid, reason: &str, mode: CancelMode) -> JobCancel {
    JobCancel {
        job_id,
        reason: reason.into(),
        mode,
        on_behalf_of: None,
    }
}

#[tokio::test]
async fn a_job_goes_through_every_argument_and_back() {
    let (_db, client) = open().await;
    let parent = jobs::enqueue(&client, &NewJob::new("parent"), None)
        .await
        .expect("enqueues");
    let mut job = NewJob::new("report")
        .payload(json!({"month": 1}))
        .key("k")
        .executor("Agent")
        .priority(7);
    job.deadline = Some(Timestamp::now() + Duration::from_secs(3600));
    job.source_ref = Some("s3://in".into());
    job.target_ref = Some("t".into());
    job.payload_ref = Some("p".into());
    job.classification = Some("restricted".into());
    job.attempts_max = Some(2);
    job.correlation_id = Some("c".into());
    job.causation_event = Some(9);
    job.parent_job_id = Some(parent.job_id);
    job.workflow_id = Some(Uuid::new_v4());
    job.run_id = Some(Uuid::new_v4());
    job.affinity_key = Some("a".into());
    job.event_domain = Some("agent".into());
    job.source_system = Some("crm".into());
    job.job_id = Some(Uuid::now_v7());
    let made = jobs::enqueue_many(&client, &[job.clone(), NewJob::new("plain")], Some("somebody"))
        .await
        .expect("enqueues");
    assert_eq!(made.len(), 2);
    assert_eq!(Some(made[0].job_id), job.job_id);
    let again = jobs::enqueue(
        &client,
        &NewJob {
            job_id: None,
            ..job.clone()
        },
        None,
    )
    .await
    .expect("enqueues");
    assert!(again.duplicate && again.job_id == made[0].job_id, "{again:?}");

    let mut claim = Claim::new("w")
        .kinds(["report"])
        .executor("Agent")
        .limit(5)
        .lease_seconds(60);
    claim.affinity_key = Some("a".into());
    claim.token = Some(Uuid::new_v4());
    let claimed = jobs::claim_many(&client, &claim).await.expect("claims");
    assert_eq!(claimed.len(), 1);
    let got = &claimed[0];
    assert_eq!(Some(got.token), claim.token);
    assert_eq!(got.payload, json!({"month": 1}));
    assert_eq!((got.rank, got.attempts_max, got.state.as_str()), (-7, 2, "leased"));
    assert_eq!(got.deadline_at, job.deadline);
    assert_eq!(
        (got.parent_job_id, got.workflow_id, got.run_id),
        (job.parent_job_id, job.workflow_id, job.run_id)
    );
    assert_eq!(jobs::held(&client, got.token).await.expect("held"), claimed);

    let shown = jobs::show(&client, got.job_id).await.expect("shows");
    for (field, value) in [
        ("source_ref", "s3://in"),
        ("on_behalf_of", "somebody"),
        ("source_system", "crm"),
        ("event_domain", "agent"),
    ] {
        assert_eq!(shown[field], value, "{field} of {shown}");
    }
    let list = JobList {
        correlation_id: Some("c".into()),
        ..JobList::default()
    };
    let listed = call(&client, &list).await.expect("lists");
    assert_eq!(listed.items[0].lease_owner.as_deref(), Some("w"));
}

#[tokio::test]
async fn a_held_job_is_started_renewed_and_ended() {
    let (_db, client) = open().await;
    let batch = [NewJob::new("a"), NewJob::new("a"), NewJob::new("a")];
    jobs::enqueue_many(&client, &batch, None).await.expect("enqueues");
    let claimed = jobs::claim_many(&client, &Claim::new("w").limit(3))
        .await
        .expect("claims");
    let holds: Vec<Hold> = claimed.iter().map(jobs::ClaimedJob::hold).collect();
    let started = jobs::start_many(&client, &holds[..2]).await.expect("starts");
    assert!(started.iter().all(jobs::Started::is_confirmed), "{started:?}");
    let Hold { job_id, token } = holds[2];
    call(&client, &JobStart { job_id, token }).await.expect("starts");
    let beats = jobs::heartbeat_many(&client, &holds, Some(600)).await.expect("beats");
    assert!(
        beats
            .iter()
            .all(|beat| !beat.is_lost() && beat.leased_until > Some(claimed[0].leased_until)),
        "{beats:?}"
    );
    let beat = call(&client, &beat(holds[0])).await.expect("beats");
    assert_eq!(beat.status, HeartbeatStatus::Ok);
    let progress = jobs::progress(&client, holds[0], &json!({"done": 3}))
        .await
        .expect("tells");
    assert_eq!(progress["cancel_requested"], false);

    let ends = [
        End::succeeded(holds[0].job_id, holds[0].token).result(json!({"rows": 4})),
        End::failed(holds[1].job_id, holds[1].token, "no luck"),
        End::succeeded(holds[2].job_id, Uuid::new_v4()),
    ];
    let answers = jobs::end_many(&client, &ends).await.expect("ends");
    let by_id = |id| answers.iter().find(|answer| answer.job_id == id).expect("an answer");
    assert_eq!(by_id(holds[0].job_id).state.as_deref(), Some("succeeded"));
    assert!(by_id(holds[1].job_id).is_ended() && by_id(holds[1].job_id).next_due.is_some());
    assert!(by_id(holds[2].job_id).is_lost());

    let job_id = holds[1].job_id;
    let steps = call(&client, &JobTimeline { job_id }).await.expect("tells").items;
    assert!(
        steps
            .iter()
            .any(|step| step.detail.as_deref().is_some_and(|it| it.contains("no luck"))),
        "{steps:?}"
    );
}

#[tokio::test]
async fn each_single_ending_has_its_call() {
    let (_db, client) = open().await;
    let Hold { job_id, token } = held(&client, "complete").await;
    let complete = JobComplete {
        job_id,
        token,
        result: Some(Json(json!(1))),
        result_ref: Some("ref".into()),
    };
    let ended = call(&client, &complete).await.expect("completes");
    assert_eq!(ended.state, Some(JobState::Succeeded));

    let fail = |hold: Hold, permanent, retry_seconds| JobFail {
        job_id: hold.job_id,
        token: hold.token,
        message: "broken".into(),
        permanent,
        code: Some("E1".into()),
        class: None,
        retry_seconds,
    };
    let hold = held(&client, "fail").await;
    let ended = fail(hold, false, Some(30)).perform(&client).await.expect("fails");
    assert!(ended.next_due.is_some(), "{ended:?}");
    let hold = held(&client, "fail_permanently").await;
    let ended = fail(hold, true, None).perform(&client).await.expect("fails");
    assert_eq!(ended.state, Some(JobState::DeadLetter));

    let Hold { job_id, token } = held(&client, "snooze").await;
    let snooze = JobSnooze {
        job_id,
        token,
        seconds: 60,
    };
    assert!(call(&client, &snooze).await.expect("snoozes").next_due.is_some());
    let Hold { job_id, token } = held(&client, "release").await;
    let ended = call(&client, &JobRelease { job_id, token }).await.expect("releases");
    assert_eq!(ended.state, Some(JobState::Queued));

    let hold = held(&client, "acknowledge").await;
    let Hold { job_id, token } = hold;
    let acknowledge = JobAcknowledgeCancel { job_id, token };
    let early = call(&client, &acknowledge).await.expect_err("refused");
    assert!(early.is(codes::CANCEL_NOT_REQUESTED), "{early}");
    let cancel = cancel(job_id, "changed my mind", CancelMode::Cooperative);
    call(&client, &cancel).await.expect("asks");
    let beat = call(&client, &beat(hold)).await.expect("beats");
    assert_eq!(
        (beat.status, beat.cancel_reason.as_deref()),
        (HeartbeatStatus::Cancel, Some("changed my mind"))
    );
    let ended = call(&client, &acknowledge).await.expect("acknowledges");
    assert_eq!(ended.state, Some(JobState::Cancelled));
}

#[tokio::test]
async fn a_turn_ends_and_claims_and_an_idle_worker_parks() {
    let (_db, client) = open().await;
    jobs::enqueue_many(&client, &[NewJob::new("a"), NewJob::new("a")], None)
        .await
        .expect("enqueues");
    let claim = Claim::new("w").kinds(["a"]).started();
    let first = jobs::turn(&client, &[], &claim).await.expect("turns").jobs.remove(0);
    let ends = [
        End::succeeded(first.job_id, first.token),
        End::succeeded(first.job_id, Uuid::new_v4()),
    ];
    let second = jobs::turn(&client, &ends[..1], &claim).await.expect("turns");
    assert!(second.ends.is_empty(), "{second:?}");
    assert_eq!((second.jobs.len(), second.jobs[0].state.as_str()), (1, "in_progress"));
    let last = jobs::turn(&client, &ends[1..], &claim.clone().limit(0))
        .await
        .expect("turns");
    assert!(last.ends[0].answer.is_lost() && last.jobs.is_empty(), "{last:?}");
    let lane = lane_open(&client, "a", None).await.expect("a lane");
    let lanes = jobs::park(&client, None, Some(&["a".to_owned()]), Some(5))
        .await
        .expect("parks");
    assert_eq!(lanes, [lane]);
}

#[tokio::test]
async fn operators_and_dead_letters_have_their_calls() {
    let (_db, client) = open().await;
    let later = NewJob::new("later").due(Timestamp::now() + Duration::from_secs(600));
    let job = jobs::enqueue(&client, &later, None).await.expect("enqueues");
    let job_id = job.job_id;
    let why = call(&client, &JobExplain { job_id }).await.expect("explains");
    assert!(!why.reasons.is_empty(), "{why:?}");
    let retry = JobRetry {
        job_id,
        reason: Some("now".into()),
        on_behalf_of: None,
    };
    call(&client, &retry).await.expect("retries");
    let give_up = JobDeadLetter {
        job_id,
        reason: "hopeless".into(),
        on_behalf_of: Some("boss".into()),
    };
    call(&client, &give_up).await.expect("moves");
    let listed = dead_letters::dead_letter_list(&client, &DeadLetterFilter::default())
        .await
        .expect("lists");
    let id = listed[0].dead_letter_id;
    assert_eq!(listed[0].job_id, job.job_id);
    let shown = dead_letters::dead_letter_show(&client, id).await.expect("shows");
    assert_eq!(shown["kind"], "later");
    let early = dead_letters::dead_letter_replay(&client, id, None)
        .await
        .expect_err("refused");
    assert!(early.is(codes::REPLAY_NEEDS_TRIAGE), "{early}");
    dead_letters::dead_letter_triage(&client, id, "manual_replay", Some("fixed"), None)
        .await
        .expect("triages");
    dead_letters::dead_letter_replay_preview(&client, id)
        .await
        .expect("previews");
    let replayed = dead_letters::dead_letter_replay(&client, id, None)
        .await
        .expect("replays");
    let cancelled: Uuid = replayed["job_id"].as_str().expect("an id").parse().expect("a UUID");
    let cancel = cancel(cancelled, "enough", CancelMode::Force);
    let answer = call(&client, &cancel).await.expect("cancels");
    assert_eq!(answer.state, JobState::Cancelled);
}

#[tokio::test]
async fn the_rest_of_the_house_has_its_calls() {
    let (_db, client) = open().await;
    assert!(doctor(&client).await.expect("tells")["server_version"].is_string());
    assert!(
        partition_list(&client, "jobs")
            .await
            .expect("lists")
            .iter()
            .any(|it| it.upper_at == Timestamp::INFINITY)
    );
    partition_upkeep(&client, None).await.expect("keeps");
    let swept = call(&client, &JobSweep { limit: 10 }).await.expect("sweeps");
    assert_eq!(swept.cleaned, 0);
    let dry = JobReap {
        mode: ReapMode::DryRun,
        ..JobReap::default()
    };
    assert!(call(&client, &dry).await.expect("tells").items.is_empty());
}

#[tokio::test]
async fn a_trusted_server_names_the_tenant_of_a_transaction_and_of_no_other() {
    let (_db, mut client) = open().await;
    let acme = TenantCreate {
        name: "acme".to_owned(),
        on_behalf_of: None,
    };
    acme.perform(&client).await.expect("creates");
    let transaction = client.transaction().await.expect("begin");
    as_tenant(&transaction, "acme", Some("ada")).await.expect("acts");
    let open = GateSet {
        key: "queue.job_substrate.enabled".to_owned(),
        position: GatePosition::Open,
        on_behalf_of: None,
    };
    open.perform(&transaction).await.expect("opens");
    let made = jobs::enqueue(&transaction, &NewJob::new("a"), None)
        .await
        .expect("enqueues");
    assert_eq!(
        jobs::show(&transaction, made.job_id).await.expect("shows")["enqueued_by"],
        "ada"
    );
    transaction.commit().await.expect("commit");
    let error = jobs::show(&client, made.job_id).await.expect_err("another tenant's");
    assert!(error.is(codes::JOB_NOT_FOUND), "{error}");
    let transaction = client.transaction().await.expect("begin");
    for_every_tenant(&transaction).await.expect("acts");
    let tenants = TenantList {
        cursor: None,
        limit: 10,
    };
    assert!(tenants.perform(&transaction).await.expect("lists").items.len() >= 2);
}

/// What the database cannot store, does not know or does not allow ends as code, what, why and next.
#[tokio::test]
async fn every_error_says_what_why_and_next() {
    let (db, client) = open().await;
    let nul = jobs::enqueue(&client, &NewJob::new("a\0b"), None)
        .await
        .expect_err("refused");
    let nul_json = jobs::enqueue(&client, &NewJob::new("a").payload(json!({"a": "\0"})), None)
        .await
        .expect_err("refused");
    let blank = jobs::enqueue_many(&client, &[NewJob::new("\t\n")], None)
        .await
        .expect_err("refused");
    let (_, viewer) = db.login(&["tenure_viewer"], "default", None).await;
    let denied = jobs::enqueue(&viewer, &NewJob::new("a"), None)
        .await
        .expect_err("refused");
    let nowhere = tenure::pool::connect("postgres://127.0.0.1:1/none?connect_timeout=2")
        .await
        .expect_err("nobody there");
    let no_database = tenure::pool::connect(&format!("{}&dbname=no_such_database", db.url()))
        .await
        .expect_err("not there");
    let nonsense = Pool::new("postgres://h/d?sslmode=sometimes", &PoolOptions::default()).expect_err("refused");
    let no_roots = Pool::new(
        "postgres://h/d?sslmode=verify-ca&sslrootcert=/no/such/file",
        &PoolOptions::default(),
    );
    let told: Vec<(Error, &tenure::core::Code)> = vec![
        (nul, codes::TEXT_INVALID),
        (nul_json, codes::TEXT_INVALID),
        (blank, codes::NAME_BLANK),
        (denied, codes::NOT_PERMITTED),
        (nowhere, codes::DATABASE_UNREACHABLE),
        (no_database, codes::DATABASE_UNREACHABLE),
        (nonsense, codes::USAGE),
        (no_roots.expect_err("refused"), codes::DATABASE_TLS),
    ];
    for (error, code) in told {
        let refusal = error.refusal();
        assert!(error.is(code), "{} is not {error}", code.name);
        assert!(
            !refusal.what.is_empty() && !refusal.why.is_empty() && !refusal.next.is_empty(),
            "{error}"
        );
    }
}

#[tokio::test]
async fn services_run_for_every_tenant_until_told_to_stop() {
    let (db, client) = open().await;
    held(&client, "abandoned").await;
    db.advance("2 hours").await;
    let pool = Pool::new(db.url(), &PoolOptions::default()).expect("a pool");
    let (stop, mut stopped) = tokio::sync::watch::channel(false);
    let loops = {
        let pool = pool.clone();
        tokio::spawn(async move {
            let mut also = stopped.clone();
            let reaping = reaper::run(&pool, Duration::from_millis(10), async move {
                let _ = stopped.wait_for(|stop| *stop).await;
            });
            let cleaning = retention::run(&pool, Duration::from_millis(10), async move {
                let _ = also.wait_for(|stop| *stop).await;
            });
            tokio::join!(reaping, cleaning);
        })
    };
    let ended = "select count(*) = 0 from tenure.active";
    crate::fixture::until(&client, ended, &[], "the reaper ends the abandoned job").await;
    stop.send(true).expect("still listening");
    loops.await.expect("no panic");
    let mut connection = pool.get().await.expect("a connection");
    assert_eq!(
        reaper::run_once(&mut connection).await.expect("reaps"),
        reaper::Counts::default()
    );
    retention::run_once(&mut connection).await.expect("sweeps");
}
