//! The client: what a program puts in, and waits for.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure::core::codes;
use tenure::store::Timestamp;
use tenure::store::jobs::Enqueued;
use tenure::worker::{Context, Done, Failure};
use tenure::{Client, NewJob, enqueue_in, enqueue_many_in};
use uuid::Uuid;

use crate::fixture::{Db, get, one, run, state};
use crate::worker_scene::{AtWork, pool, until_idle, worker};

/// Long enough for whatever must happen.
const LONG: Duration = Duration::from_secs(60);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Mail {
    to: String,
    copies: u32,
}

fn mail(to: &str) -> Mail {
    Mail {
        to: to.to_owned(),
        copies: 2,
    }
}

fn client(db: &Db) -> Client {
    Client::new(pool(db))
}

#[tokio::test]
async fn a_job_carries_what_its_builder_says() {
    let db = Db::open().await;
    let c = db.client().await;
    let client = client(&db).on_behalf_of("ann");
    let parent = client.enqueue(&NewJob::new("order")).await.expect("a job").job_id;
    let id = Uuid::now_v7();
    let job = NewJob::of("mail.send", &mail("ann"))
        .expect("a payload")
        .id(id)
        .key("welcome")
        .executor("DOT")
        .priority(7)
        .due_in(Duration::from_secs(60))
        .deadline_in(Duration::from_secs(600))
        .attempts_max(2)
        .correlation("order-7")
        .affinity("eu")
        .parent(parent)
        .source_ref("s3://in")
        .target_ref("mailbox:ann")
        .payload_ref("s3://more")
        .restricted();
    let enqueued = client.enqueue(&job).await.expect("a job");
    assert_eq!(
        (enqueued.job_id, enqueued.duplicate, &*enqueued.state),
        (id, false, "queued")
    );
    let shown = one(&c, "select tenure.job_show($1)", &[&id]).await;
    let expected = json!({
        "kind": "mail.send", "payload": {"to": "ann", "copies": 2}, "idempotency_key": "welcome", "executor": "DOT",
        "priority": 7, "attempts_max": 2, "correlation_id": "order-7", "affinity_key": "eu", "parent_job_id": parent,
        "source_ref": "s3://in", "target_ref": "mailbox:ann", "payload_ref": "s3://more",
        "payload_classification": "restricted", "on_behalf_of": "ann",
    });
    for (field, value) in expected.as_object().expect("an object") {
        assert_eq!(&shown[field], value, "{field}");
    }
    let again = client.enqueue(&job.id(Uuid::now_v7())).await.expect("an answer");
    assert_eq!((again.job_id, again.duplicate), (id, true), "the key names it");
}

/// The machine's clock may be wrong; the database's is the only one.
#[tokio::test]
async fn a_delay_is_measured_by_the_clock_of_the_database() {
    let db = Db::open().await;
    let c = db.client().await;
    db.advance("1 day").await;
    let job = NewJob::new("later")
        .due_in(Duration::from_secs(3600))
        .deadline_in(Duration::from_secs(7200));
    let one_way = client(&db).enqueue(&job).await.expect("a job").job_id;
    let other_way = client(&db)
        .enqueue_many(&[NewJob::new("now"), job])
        .await
        .expect("jobs")[1]
        .job_id;
    for id in [one_way, other_way] {
        let right = "select due - created_at between interval '59 minutes' and interval '61 minutes'
                        and deadline_at - due = interval '1 hour' from tenure.jobs where job_id = $1";
        assert!(get::<bool>(&c, right, &[&id]).await);
    }
    let far = NewJob::new("later").due_in(Duration::MAX);
    let refused = client(&db).enqueue(&far).await.expect_err("too far");
    assert!(refused.is(codes::SCHEDULE_TOO_FAR), "{refused}");
}

#[tokio::test]
async fn many_jobs_are_all_there_or_none() {
    let db = Db::open().await;
    let c = db.client().await;
    let client = client(&db);
    assert_eq!(client.enqueue_many::<NewJob>(&[]).await.expect("nothing"), []);

    let mut jobs: Vec<NewJob> = (0..2_500)
        .map(|n| {
            NewJob::of("many", &json!({"n": n}))
                .expect("a payload")
                .key(format!("key {}", n % 2_400))
        })
        .collect();
    let enqueued = client.enqueue_many(&jobs).await.expect("jobs");
    let duplicates: Vec<usize> = (0..2_500).filter(|n| enqueued[*n].duplicate).collect();
    assert_eq!(
        duplicates,
        (2_400..2_500).collect::<Vec<_>>(),
        "answers come in the order of the jobs"
    );
    assert_eq!(enqueued[2_499].job_id, enqueued[99].job_id);
    let sql = "select count(*) || ' jobs, ' || count(distinct xmin::text) || ' transaction' from tenure.jobs";
    assert_eq!(get::<String>(&c, sql, &[]).await, "2400 jobs, 1 transaction");

    jobs = (0..1_500).map(|_| NewJob::new("many")).collect();
    jobs[1_200] = NewJob::of("many", &json!({"password": "secret"})).expect("a payload");
    let refused = client.enqueue_many(&jobs).await.expect_err("refused");
    assert!(refused.is(codes::PAYLOAD_FORBIDDEN_KEY), "{refused}");
    assert!(refused.refusal().what.contains("from job 1000 on"), "{refused}");
    assert_eq!(get::<i64>(&c, "select count(*) from tenure.jobs", &[]).await, 2_400);
}

#[tokio::test]
async fn a_job_of_the_callers_transaction_exists_exactly_if_that_commits() {
    let db = Db::open().await;
    let mut c = db.direct().await;
    run(&c, "create table orders (id int primary key)").await;
    let job = |order: i32| NewJob::of("order.ship", &json!({"order": order})).expect("a payload");

    let transaction = c.transaction().await.expect("a transaction");
    transaction
        .execute("insert into orders values (1)", &[])
        .await
        .expect("a row");
    enqueue_in(&transaction, &job(1)).await.expect("a job");
    transaction.rollback().await.expect("rolled back");
    assert_eq!(get::<i64>(&c, "select count(*) from tenure.jobs", &[]).await, 0);

    let mut transaction = c.transaction().await.expect("a transaction");
    transaction
        .execute("insert into orders values (2)", &[])
        .await
        .expect("a row");
    let kept: Enqueued = enqueue_in(&transaction, &job(2).due_in(LONG)).await.expect("a job");
    let wrong = NewJob::of("order.ship", &"no object").expect("JSON");
    let savepoint = transaction.transaction().await.expect("a savepoint");
    let refused = enqueue_in(&savepoint, &wrong).await.expect_err("refused");
    assert!(refused.is(codes::PAYLOAD_NOT_OBJECT), "{refused}");
    savepoint.rollback().await.expect("rolled back");
    let more = enqueue_many_in(&transaction, &[job(3), job(4)])
        .await
        .expect("a savepoint keeps the transaction");
    assert_eq!(more.len(), 2);
    transaction.commit().await.expect("committed");
    assert_eq!(state(&c, kept.job_id).await, "queued");
    let both: String = get(
        &c,
        "select (select count(*) from orders) || ' ' || (select count(*) from tenure.jobs)",
        &[],
    )
    .await;
    assert_eq!(both, "1 3");

    let transaction = c.transaction().await.expect("a transaction");
    transaction
        .execute("insert into orders values (3)", &[])
        .await
        .expect("a row");
    let refused = enqueue_in(&transaction, &wrong).await.expect_err("refused");
    assert!(refused.is(codes::PAYLOAD_NOT_OBJECT), "{refused}");
    // PostgreSQL answers the commit of a failed transaction with a rollback.
    transaction.commit().await.expect("ended");
    assert_eq!(get::<i64>(&c, "select count(*) from orders", &[]).await, 1);
}

/// Rule: 14.
#[tokio::test]
async fn the_first_job_of_a_kind_holds_nobody_up() {
    let db = Db::open().await;
    let mut slow = db.direct().await;
    let client = client(&db);
    client.open_lanes(["fresh"]).await.expect("open");
    let transaction = slow.transaction().await.expect("a transaction");
    enqueue_in(&transaction, &NewJob::new("fresh")).await.expect("a job");
    client.enqueue(&NewJob::new("fresh")).await.expect("not held up");
    transaction.commit().await.expect("committed");

    // Nor does one that makes the lane.
    let transaction = slow.transaction().await.expect("a transaction");
    enqueue_in(&transaction, &NewJob::new("unopened")).await.expect("a job");
    client.enqueue(&NewJob::new("unopened")).await.expect("not held up");
    transaction.commit().await.expect("committed");
}

#[tokio::test]
async fn a_result_is_waited_for_and_read_as_its_type() {
    let db = Db::open().await;
    let client = client(&db);
    let at_work = AtWork::start(worker(&db).handler("mail.send", async |mail: Mail, _: Context| {
        Ok::<_, Failure>(Done::with(&mail)?.reference("s3://out"))
    }));
    let job = NewJob::of("mail.send", &mail("ann")).expect("a payload");
    let id = client.enqueue(&job).await.expect("a job").job_id;
    assert_eq!(client.wait_for::<Mail>(id, LONG).await.expect("a result"), mail("ann"));
    at_work.stop().await;

    // Nothing runs any more: whoever has ended answers at once.
    let end = client.wait(id, Duration::ZERO).await.expect("an end");
    assert_eq!(
        (&*end.state, end.attempts, end.result_ref.as_deref()),
        ("succeeded", 1, Some("s3://out"))
    );
    assert!(end.finished_at.is_some_and(|at| at > Timestamp::from_micros(0)));
    let wrong = client.wait_for::<u32>(id, LONG).await.expect_err("no number");
    assert!(
        wrong.is(codes::USAGE) && wrong.refusal().what.contains("u32"),
        "{wrong}"
    );
}

#[tokio::test]
async fn a_wait_that_is_in_vain_says_why() {
    let db = Db::open().await;
    let c = db.client().await;
    let client = client(&db);
    let id = client.enqueue(&NewJob::new("slow")).await.expect("a job").job_id;
    let late = client
        .wait(id, Duration::from_millis(30))
        .await
        .expect_err("nobody runs it");
    assert!(
        late.is(codes::WAIT_TIMEOUT) && late.refusal().why.contains("queued"),
        "{late}"
    );
    assert_eq!(state(&c, id).await, "queued", "nothing happened to the job");

    let failing = worker(&db).handler("slow", async |_: Value, _: Context| {
        Err::<(), _>(Failure::permanent("the printer is broken"))
    });
    until_idle(failing).await;
    let end = client.wait(id, LONG).await.expect("an end");
    assert_eq!(
        (&*end.state, end.error_message.as_deref()),
        ("dead_letter", Some("the printer is broken"))
    );
    let failed = client.wait_for::<Value>(id, LONG).await.expect_err("no result");
    assert!(failed.is(codes::JOB_NOT_SUCCEEDED), "{failed}");
    assert_eq!(failed.refusal().why, "the printer is broken");

    let cancelled = client.enqueue(&NewJob::new("slow")).await.expect("a job").job_id;
    one(&c, "select tenure.job_cancel($1, 'not needed')", &[&cancelled]).await;
    let end = client.wait(cancelled, LONG).await.expect("an end");
    assert_eq!(
        (&*end.state, end.cancel_reason.as_deref()),
        ("cancelled", Some("not needed"))
    );
    let none = client.wait(Uuid::now_v7(), LONG).await.expect_err("no such job");
    assert!(none.is(codes::JOB_NOT_FOUND), "{none}");
}

/// In a transaction of the caller's own it is for the caller to say how long a lock is waited for.
#[tokio::test]
async fn a_key_that_a_transaction_holds_is_waited_for_no_longer_than_the_client_says() {
    let db = Db::open().await;
    let client = Client::new(pool(&db));
    client.enqueue(&NewJob::new("a")).await.expect("its lane");
    let holder = db.direct().await;
    run(&holder, "begin; select tenure.job_enqueue('a', p_key => 'held')").await;
    let job = NewJob::new("a").key("held");
    let many = [NewJob::new("a"), job.clone()];
    let (one, several) = tokio::join!(client.enqueue(&job), client.enqueue_many(&many));
    for error in [one.expect_err("it is held"), several.expect_err("it is held")] {
        assert!(error.is(codes::BUSY_TRY_AGAIN), "{error}");
    }
    run(&holder, "commit").await;
    assert!(client.enqueue(&job).await.expect("it is free").duplicate);
    let mine = client.pool().get().await.expect("a connection");
    let left: String = get(&mine, "select current_setting('lock_timeout')", &[]).await;
    assert_eq!(left, "0", "the connection is as it was");
}
