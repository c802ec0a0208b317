//! Jobs by a statement for any driver.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::core::codes;
use tenure::{Client, NewJob, Statement};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::fixture::{Db, check_invariants, get, one, raised, run, state};
use crate::worker_scene::pool;

const MINUTE: Duration = Duration::from_secs(60);

/// A job with everything that a builder can say.
fn everything(parent: Uuid) -> NewJob {
    NewJob::of(
        "mail.send",
        &json!({"to": "o'ann \\ \"b\"", "deep": {"n": [1, 2.5, null]}}),
    )
    .expect("a payload")
    .executor("DOT")
    .priority(7)
    .due_in(MINUTE)
    .deadline_in(MINUTE * 10)
    .attempts_max(2)
    .correlation("order-7")
    .affinity("eu")
    .parent(parent)
    .source_ref("s3://in")
    .target_ref("mailbox:ann")
    .payload_ref("s3://more")
    .restricted()
}

/// Runs a statement as any program would: the server says that its parameters are texts.
async fn execute(
    c: &tokio_postgres::Client,
    statement: &Statement,
) -> Result<(Uuid, bool, String), tokio_postgres::Error> {
    let texts: Vec<&(dyn ToSql + Sync)> = statement.parameters.iter().map(|text| text as _).collect();
    let row = c.query_one(&statement.sql, &texts).await?;
    let job_id: &str = row.get("job_id");
    Ok((job_id.parse().expect("an id"), row.get("duplicate"), row.get("state")))
}

/// What two jobs have in common that say the same: all but their ids and times.
async fn said(c: &tokio_postgres::Client, job_id: Uuid) -> Value {
    let mut shown = one(c, "select tenure.job_show($1)", &[&job_id]).await;
    let fields = shown.as_object_mut().expect("an object");
    fields.retain(|name, _| !matches!(name.as_str(), "job_id" | "idempotency_key" | "due") && !name.ends_with("_at"));
    shown
}

#[tokio::test]
async fn a_statement_makes_the_job_that_the_client_would_make() {
    let db = Db::open().await;
    let c = db.direct().await;
    db.advance("1 hour").await;
    let client = Client::new(pool(&db));
    let parent = client.enqueue(&NewJob::new("order")).await.expect("a job").job_id;
    let by_client = client.enqueue(&everything(parent)).await.expect("a job").job_id;
    let id = Uuid::now_v7();
    let job = everything(parent).key("welcome").id(id);
    let (by_statement, duplicate, state) = execute(&c, &job.to_sql()).await.expect("a job");
    assert_eq!((by_statement, duplicate, state.as_str()), (id, false, "queued"));
    assert_eq!(said(&c, by_statement).await, said(&c, by_client).await);
    let right = "select due - created_at between interval '59 seconds' and interval '61 seconds'
                    and deadline_at - due between interval '539 seconds' and interval '541 seconds' from tenure.jobs where job_id = $1";
    assert!(get::<bool>(&c, right, &[&id]).await, "by the clock of the database");
    let again = execute(&c, &job.id(Uuid::now_v7()).to_sql()).await.expect("an answer");
    assert_eq!((again.0, again.1), (id, true), "the key names it");

    // A moment instead of a delay, and nothing but a kind.
    let at = tenure::store::now(&c).await.expect("the time") + MINUTE;
    let at_a_time = execute(&c, &NewJob::new("a").due(at).deadline(at + MINUTE).to_sql())
        .await
        .expect("a job");
    let same = "select due = $2 and deadline_at = $2 + interval '1 minute' from tenure.jobs where job_id = $1";
    let same = c.query_one(same, &[&at_a_time.0, &at]).await.expect("a row");
    assert!(same.get::<_, bool>(0));
    let plain = NewJob::new("a").to_sql();
    assert_eq!(plain.parameters, ["a"]);
    execute(&c, &plain).await.expect("a job");
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_job_of_a_statement_exists_exactly_if_its_transaction_commits() {
    let db = Db::open().await;
    let c = db.direct().await;
    run(&c, "begin").await;
    execute(&c, &NewJob::new("a").to_sql()).await.expect("a job");
    run(&c, "rollback").await;
    assert_eq!(get::<i64>(&c, "select count(*) from tenure.jobs", &[]).await, 0);
    run(&c, "begin").await;
    let kept = execute(&c, &NewJob::new("a").to_sql()).await.expect("a job").0;
    run(&c, "commit").await;
    assert_eq!(state(&c, kept).await, "queued");
    let far = NewJob::new("a").due_in(Duration::MAX).to_sql();
    raised(execute(&c, &far).await, codes::SCHEDULE_TOO_FAR.name);
}
