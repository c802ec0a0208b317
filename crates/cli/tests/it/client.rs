//! A Rust program that uses `tenure-client`, against a real server.

use serde_json::json;
use tenure_api::Json;
use tenure_api::jobs::{JobEnqueue, JobList, JobShow, JobState};
use tenure_api::work::{JobClaim, JobComplete};
use tenure_client::{Client, Trouble};
use tenure_core::codes;
use uuid::Uuid;

use crate::api::{Api, key};
use crate::workbench::Workbench;

fn client(api: &Api, key: &str) -> Client {
    Client::builder(api.url(), key).build().expect("a client")
}

fn show(job_id: Uuid) -> JobShow {
    JobShow {
        job_id,
        wait_seconds: None,
    }
}

#[tokio::test]
async fn a_rust_program_enqueues_claims_completes_and_looks_over_http() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let producer = client(&api, &key(&bench, "shop", &["--role", "producer"]));
    let worker = client(&api, &key(&bench, "packer", &["--role", "worker"]));
    let order = JobEnqueue {
        kind: "pack".to_owned(),
        payload: Some(Json(json!({"order": 7}))),
        key: Some("o7".to_owned()),
        ..JobEnqueue::default()
    };
    let made = producer.perform(&order).await.expect("a job");
    assert_eq!((made.duplicate, &made.state), (false, &JobState::Queued));
    let again = producer.perform(&order).await.expect("the same job");
    assert_eq!((again.job_id, again.duplicate), (made.job_id, true));

    let claim = JobClaim {
        kinds: Some(vec!["pack".to_owned()]),
        ..JobClaim::new("w1")
    };
    let claimed = worker.perform(&claim).await.expect("an answer").jobs;
    assert_eq!((claimed.len(), claimed[0].job_id), (1, made.job_id));
    let complete = JobComplete {
        job_id: made.job_id,
        token: claimed[0].token,
        result: Some(Json(json!({"boxes": 1}))),
        result_ref: None,
    };
    worker.perform(&complete).await.expect("an end");

    let (details, whole) = producer.perform_whole(&show(made.job_id)).await.expect("a job");
    assert_eq!(details.state, JobState::Succeeded);
    assert_eq!(
        (&whole["payload"], &whole["state"]),
        (&json!({"order": 7}), &json!("succeeded"))
    );

    // What the server refuses has its code, and is the server's own.
    let refused = producer.perform(&show(Uuid::now_v7())).await.expect_err("no such job");
    assert!(
        refused.refusal.is(codes::JOB_NOT_FOUND) && refused.trouble == Trouble::Refused,
        "{refused}"
    );
    let refused = worker.perform(&complete).await;
    assert!(
        refused.is_ok_and(|end| end.job_id == made.job_id),
        "an end that was made is answered again"
    );
}

#[tokio::test]
async fn a_client_acts_in_another_tenant_and_for_the_installation_if_its_key_may() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    bench.run(["tenant", "create", "beta & sons"]).ok();
    let roles = ["--role", "producer", "--role", "viewer"];
    let installation = client(&api, &key(&bench, "root", &[&roles[..], &["--installation"]].concat()));
    let beta = installation.in_tenant("beta & sons");
    let job = JobEnqueue {
        kind: "a".to_owned(),
        ..JobEnqueue::default()
    };
    let made = beta.perform(&job).await.expect("a job");
    assert_eq!(beta.perform(&show(made.job_id)).await.expect("a job").kind, "a");
    let list: JobList = serde_json::from_value(json!({})).expect("a list");
    let of = async |client: &Client| client.perform(&list).await.expect("a list").items.len();
    assert_eq!((of(&beta).await, of(&installation.in_tenant("default")).await), (1, 0));

    let bound = client(&api, &key(&bench, "shop", &roles));
    let refused = bound
        .in_tenant("beta & sons")
        .perform(&job)
        .await
        .expect_err("not its tenant");
    assert!(refused.refusal.is(codes::NOT_PERMITTED), "{refused}");
    let refused = bound.for_installation().perform(&job).await.expect_err("not its right");
    assert!(refused.refusal.is(codes::NOT_PERMITTED), "{refused}");
}

#[tokio::test]
async fn a_path_is_got_as_it_is_and_only_in_the_content_type_that_was_asked_for() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let shop = client(&api, &key(&bench, "shop", &["--role", "producer"]));
    let page = shop.get("/docs", "text/html").await.expect("a page");
    assert!(page.starts_with("<!"), "{page}");
    let refused = shop.get("/docs", "application/x-ndjson").await.expect_err("a page");
    assert_eq!(refused.trouble, Trouble::NotTenure, "{refused}");
    let refused = shop.get("/v1/nothing", "text/html").await.expect_err("nothing");
    assert!(refused.refusal.is(codes::PATH_UNKNOWN), "{refused}");
}
