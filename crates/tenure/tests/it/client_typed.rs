//! Payloads whose type names the kind of their job.

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::json;
use tenure::core::codes;
use tenure::worker::{Context, Done, HandlerOptions};
use tenure::{Client, Job, NewJob, enqueue_in, enqueue_many_in};

use crate::fixture::{Db, get, one, state};
use crate::worker_scene::{last_run, pool, until_idle, worker};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Welcome {
    name: String,
}

impl Job for Welcome {
    const KIND: &'static str = "mail.welcome";
}

fn welcome(name: &str) -> Welcome {
    Welcome { name: name.to_owned() }
}

/// What serde cannot write as JSON.
#[derive(Deserialize)]
struct Unwritable;

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("it has no text"))
    }
}

impl Job for Unwritable {
    const KIND: &'static str = "unwritable";
}

#[tokio::test]
async fn a_payload_that_names_its_kind_reaches_the_handler_of_its_type() {
    let db = Db::open().await;
    let c = db.client().await;
    let client = Client::new(pool(&db));
    let plain = client.enqueue(&welcome("Ann")).await.expect("a job").job_id;
    let with_options = NewJob::typed(&welcome("Bob"))
        .expect("a payload")
        .key("bob")
        .priority(7);
    let keyed = client.enqueue(&with_options).await.expect("a job").job_id;
    let many = [welcome("Cleo"), welcome("Dan")];
    let many = client.enqueue_many(&many).await.expect("jobs");
    let shown = one(&c, "select tenure.job_show($1)", &[&keyed]).await;
    let of = |field: &str| shown[field].clone();
    assert_eq!(
        [of("kind"), of("idempotency_key"), of("priority"), of("payload")],
        [json!("mail.welcome"), json!("bob"), json!(7), json!({"name": "Bob"})]
    );

    let options = HandlerOptions::default().concurrency(2);
    let greeter = worker(&db).job_with(options, async |welcome: Welcome, _: Context| {
        Ok(Done::with(format!("Welcome, {}!", welcome.name))?)
    });
    assert_eq!(until_idle(greeter).await.succeeded, 4);
    for (job_id, said) in [
        (plain, "Welcome, Ann!"),
        (keyed, "Welcome, Bob!"),
        (many[1].job_id, "Welcome, Dan!"),
    ] {
        assert_eq!(last_run(&c, job_id).await["result"], said);
    }
}

#[tokio::test]
async fn typed_jobs_of_the_callers_transaction_exist_exactly_if_that_commits() {
    let db = Db::open().await;
    let mut c = db.direct().await;
    let transaction = c.transaction().await.expect("a transaction");
    enqueue_in(&transaction, &welcome("Ann")).await.expect("a job");
    transaction.rollback().await.expect("rolled back");
    assert_eq!(get::<i64>(&c, "select count(*) from tenure.jobs", &[]).await, 0);

    let transaction = c.transaction().await.expect("a transaction");
    let kept = enqueue_in(&transaction, &welcome("Bob")).await.expect("a job");
    let more = enqueue_many_in(&transaction, &[welcome("Cleo")]).await.expect("a job");
    transaction.commit().await.expect("committed");
    for job_id in [kept.job_id, more[0].job_id] {
        assert_eq!(state(&c, job_id).await, "queued");
    }
    let greeter = worker(&db).job(async |_: Welcome, _: Context| Ok(()));
    assert_eq!(until_idle(greeter).await.succeeded, 2);
}

#[tokio::test]
async fn a_payload_that_cannot_be_written_is_refused_before_anything_is_asked() {
    let db = Db::open().await;
    let c = db.client().await;
    let client = Client::new(pool(&db));
    for refused in [
        client.enqueue(&Unwritable).await.map(|_| ()),
        client.enqueue_many(&[Unwritable]).await.map(|_| ()),
    ] {
        let refused = refused.expect_err("no text");
        assert!(refused.is(codes::USAGE), "{refused}");
        assert_eq!(refused.refusal().why, "it has no text");
    }
    assert_eq!(get::<i64>(&c, "select count(*) from tenure.jobs", &[]).await, 0);
    let far = NewJob::typed(&welcome("Ann")).expect("a payload").due_in(Duration::MAX);
    let refused = client.enqueue(&far).await.expect_err("too far");
    assert!(refused.is(codes::SCHEDULE_TOO_FAR), "{refused}");
}
