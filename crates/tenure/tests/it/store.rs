//! Every SQL function through its Rust call: the arguments arrive, the answer is read.

use std::time::Duration;

use serde_json::json;
use tenure::core::codes;
use tenure::pool::PoolOptions;
use tenure::services::{reaper, retention};
use tenure::store::config::{GatePosition, config_get, config_list, config_set, gate_set};
use tenure::store::dead_letters::{self, DeadLetterFilter};
use tenure::store::events::{EventFilter, event_list, stream_lag};
use tenure::store::executors::{ExecutorBeat, executor_beat, executor_list, stale_check};
use tenure::store::health::{doctor, health};
use tenure::store::jobs::{self, CancelMode, Claim, End, Hold, JobFilter, NewJob};
use tenure::store::kinds::{kind_list, kind_set, kind_show, lane_open};
use tenure::store::leases::{ReapMode, job_reap};
use tenure::store::retention::{job_sweep, partition_list, partition_upkeep};
use tenure::store::tenants::{LoginBinding, login_bind, login_unbind, tenant_create, tenant_list};
use tenure::store::{Timestamp, as_tenant, for_every_tenant};
use tenure::{Error, Pool};
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
    jobs::claim(client, &claim)
        .await
        .expect("claims")
        .expect("a job")
        .hold()
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
    let listed = jobs::list(
        &client,
        &JobFilter {
            correlation_id: Some("c".into()),
            ..JobFilter::default()
        },
    )
    .await;
    assert_eq!(listed.expect("lists")[0].lease_owner.as_deref(), Some("w"));
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
    jobs::start(&client, holds[2]).await.expect("starts");
    let beats = jobs::heartbeat_many(&client, &holds, Some(600)).await.expect("beats");
    assert!(
        beats
            .iter()
            .all(|beat| !beat.is_lost() && beat.leased_until > Some(claimed[0].leased_until)),
        "{beats:?}"
    );
    assert_eq!(
        jobs::heartbeat(&client, holds[0], None).await.expect("beats").status,
        "ok"
    );
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

    let steps = jobs::timeline(&client, holds[1].job_id).await.expect("tells");
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
    let hold = held(&client, "complete").await;
    let ended = jobs::complete(&client, hold, Some(&json!(1)), Some("ref"))
        .await
        .expect("completes");
    assert_eq!(ended.state.as_deref(), Some("succeeded"));

    let hold = held(&client, "fail").await;
    let mut end = End::failed(hold.job_id, hold.token, "broken");
    end.error_code = Some("E1".into());
    end.delay_seconds = Some(30);
    assert!(jobs::fail(&client, &end).await.expect("fails").next_due.is_some());
    let hold = held(&client, "fail_permanently").await;
    let ended = jobs::fail_permanently(&client, hold, "broken").await.expect("fails");
    assert_eq!(ended.state.as_deref(), Some("dead_letter"));

    let hold = held(&client, "snooze").await;
    assert!(
        jobs::snooze(&client, hold, 60)
            .await
            .expect("snoozes")
            .next_due
            .is_some()
    );
    let hold = held(&client, "release").await;
    assert_eq!(
        jobs::release(&client, hold).await.expect("releases").state.as_deref(),
        Some("queued")
    );

    let hold = held(&client, "acknowledge").await;
    let early = jobs::acknowledge_cancel(&client, hold).await.expect_err("refused");
    assert!(early.is(codes::CANCEL_NOT_REQUESTED), "{early}");
    jobs::cancel(&client, hold.job_id, "changed my mind", CancelMode::Cooperative, None)
        .await
        .expect("asks");
    let beat = jobs::heartbeat(&client, hold, None).await.expect("beats");
    assert!(beat.is_cancel_requested() && beat.cancel_reason.as_deref() == Some("changed my mind"));
    let ended = jobs::acknowledge_cancel(&client, hold).await.expect("acknowledges");
    assert_eq!(ended.state.as_deref(), Some("cancelled"));
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
    let why = jobs::explain(&client, job.job_id).await.expect("explains");
    assert!(
        why["reasons"].as_array().is_some_and(|reasons| !reasons.is_empty()),
        "{why}"
    );
    jobs::retry(&client, job.job_id, Some("now"), None)
        .await
        .expect("retries");
    jobs::dead_letter(&client, job.job_id, "hopeless", Some("boss"))
        .await
        .expect("moves");
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
    let answer = jobs::cancel(&client, cancelled, "enough", CancelMode::Force, None)
        .await
        .expect("cancels");
    assert_eq!(answer["state"], "cancelled");
}

#[tokio::test]
async fn the_rest_of_the_house_has_its_calls() {
    let (_db, client) = open().await;
    assert!(
        config_list(&client)
            .await
            .expect("lists")
            .iter()
            .any(|entry| entry.is_gate && entry.value == json!(true))
    );
    config_set(&client, "queue.lease.duration_sec", Some(&json!(120)), None)
        .await
        .expect("sets");
    let got = config_get(&client, "queue.lease.duration_sec").await.expect("gets");
    assert_eq!(got, json!(120));
    config_set(&client, "queue.lease.duration_sec", None, None)
        .await
        .expect("takes back");
    gate_set(&client, "queue.worker.enabled", GatePosition::Closed, None)
        .await
        .expect("closes");

    kind_set(&client, "report", &json!({"attempts_max": 3}), None)
        .await
        .expect("sets");
    assert_eq!(kind_list(&client).await.expect("lists")[0].attempts_max, Some(3));
    assert_eq!(kind_show(&client, "report").await.expect("shows")["attempts_max"], 3);

    tenant_create(&client, "acme", None).await.expect("creates");
    assert!(
        tenant_list(&client)
            .await
            .expect("lists")
            .iter()
            .any(|tenant| tenant.name == "acme")
    );
    let binding = LoginBinding {
        login: "app".into(),
        tenant: Some("acme".into()),
        ..LoginBinding::default()
    };
    login_bind(&client, &binding).await.expect("binds");
    login_unbind(&client, "app").await.expect("unbinds");

    let beat = ExecutorBeat {
        name: "agent-1".into(),
        executor: "Agent".into(),
        ..ExecutorBeat::default()
    };
    executor_beat(&client, &beat).await.expect("beats");
    let alive = executor_list(&client).await.expect("lists");
    assert!(
        alive
            .iter()
            .any(|executor| executor.executor == "Agent" && executor.alive == 1),
        "{alive:?}"
    );
    assert_eq!(stale_check(&client, Some(60)).await.expect("checks")["stale_count"], 0);

    // An open writer of any test on this server holds the stream back.
    let told = "select exists (select from tenure.event_list(p_limit => 1))";
    crate::fixture::until(&client, told, &[], "the stream").await;
    let events = event_list(
        &client,
        &EventFilter {
            limit: Some(1),
            ..EventFilter::default()
        },
    )
    .await
    .expect("lists");
    let next = EventFilter {
        after: Some(events[0].cursor.clone()),
        ..EventFilter::default()
    };
    assert!(
        event_list(&client, &next)
            .await
            .expect("lists")
            .iter()
            .all(|event| event.cursor != events[0].cursor)
    );
    assert_eq!(stream_lag(&client).await.expect("tells").len(), 1);
    assert_eq!(health(&client).await.expect("tells")["backlog"], 0);
    assert!(doctor(&client).await.expect("tells")["server_version"].is_string());
    assert!(
        partition_list(&client, "jobs")
            .await
            .expect("lists")
            .iter()
            .any(|it| it.upper_at == Timestamp::INFINITY)
    );
    partition_upkeep(&client, None).await.expect("keeps");
    assert_eq!(job_sweep(&client, Some(10)).await.expect("sweeps").cleaned, 0);
    assert!(
        job_reap(&client, ReapMode::DryRun, None)
            .await
            .expect("tells")
            .is_empty()
    );
}

#[tokio::test]
async fn a_trusted_server_names_the_tenant_of_a_transaction_and_of_no_other() {
    let (_db, mut client) = open().await;
    tenant_create(&client, "acme", None).await.expect("creates");
    let transaction = client.transaction().await.expect("begin");
    as_tenant(&transaction, "acme", Some("ada")).await.expect("acts");
    gate_set(&transaction, "queue.job_substrate.enabled", GatePosition::Open, None)
        .await
        .expect("opens");
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
    assert!(tenant_list(&transaction).await.expect("lists").len() >= 2);
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
