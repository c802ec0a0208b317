//! Jobs in transactions of `sqlx`.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tenure::core::codes;
use tenure::worker::{Context, Done, Failure, HandlerOptions};
use tenure::{Job, NewJob};
use tokio_postgres::config::Host;

use crate::fixture::{Db, check_invariants, enqueue, get, run};
use crate::worker_scene::{last_run, until_idle, worker};

/// A pool of `sqlx` for the database of a test.
async fn sqlx_pool(db: &Db) -> sqlx::PgPool {
    let config: tokio_postgres::Config = db.url().parse().expect("the database's URL");
    let mut options = PgConnectOptions::new_without_pgpass()
        .username(config.get_user().expect("a login"))
        .database(config.get_dbname().expect("a database"));
    if let Some(password) = config.get_password() {
        options = options.password(&String::from_utf8_lossy(password));
    }
    if let Some(port) = config.get_ports().first() {
        options = options.port(*port);
    }
    options = match config.get_hosts().first().expect("a host") {
        Host::Tcp(host) => options.host(host),
        Host::Unix(directory) => options.socket(directory),
    };
    PgPoolOptions::new()
        .max_connections(2)
        .connect_with(options)
        .await
        .expect("a pool")
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Ship {
    order: u32,
}

impl Job for Ship {
    const KIND: &'static str = "order.ship";
}

#[tokio::test]
async fn a_job_of_a_transaction_of_sqlx_exists_exactly_if_that_commits() {
    let db = Db::open().await;
    let c = db.direct().await;
    run(&c, "create table orders (id int primary key)").await;
    let sqlx_pool = sqlx_pool(&db).await;
    let insert = "insert into orders values (1)";

    let mut transaction = sqlx_pool.begin().await.expect("a transaction");
    sqlx::query(insert).execute(&mut *transaction).await.expect("a row");
    tenure::sqlx::enqueue_in(&mut *transaction, &Ship { order: 1 })
        .await
        .expect("a job");
    transaction.rollback().await.expect("rolled back");
    assert_eq!(get::<i64>(&c, "select count(*) from tenure.jobs", &[]).await, 0);

    let mut transaction = sqlx_pool.begin().await.expect("a transaction");
    sqlx::query(insert).execute(&mut *transaction).await.expect("a row");
    let ship = NewJob::typed(&Ship { order: 1 }).expect("a payload").key("order-1");
    let kept = tenure::sqlx::enqueue_in(&mut *transaction, &ship).await.expect("a job");
    transaction.commit().await.expect("committed");
    assert_eq!((kept.duplicate, &*kept.state), (false, "queued"));
    let again = tenure::sqlx::enqueue_in(&sqlx_pool, &ship).await.expect("an answer");
    assert_eq!((again.job_id, again.duplicate), (kept.job_id, true));
    let shipper = worker(&db).job(async |ship: Ship, _: Context| Ok(Done::with(ship.order)?));
    assert_eq!(until_idle(shipper).await.succeeded, 1);
    assert_eq!(last_run(&c, kept.job_id).await["result"], 1);
}

#[tokio::test]
async fn a_refusal_comes_through_sqlx_with_its_code_and_aborts_the_transaction() {
    let db = Db::open().await;
    let c = db.direct().await;
    run(&c, "create table orders (id int primary key)").await;
    let sqlx_pool = sqlx_pool(&db).await;
    let mut transaction = sqlx_pool.begin().await.expect("a transaction");
    let insert = "insert into orders values (1)";
    sqlx::query(insert).execute(&mut *transaction).await.expect("a row");
    let wrong = NewJob::of("a", &json!({"password": "secret"})).expect("a payload");
    let refused = tenure::sqlx::enqueue_in(&mut *transaction, &wrong)
        .await
        .expect_err("a secret");
    assert!(refused.is(codes::PAYLOAD_FORBIDDEN_KEY), "{refused}");
    assert!(
        !refused.refusal().why.is_empty() && !refused.refusal().next.is_empty(),
        "{refused}"
    );
    transaction.commit().await.expect("ended");
    assert_eq!(get::<i64>(&c, "select count(*) from orders", &[]).await, 0);

    run(&c, "drop schema tenure cascade").await;
    let missing = tenure::sqlx::enqueue_in(&sqlx_pool, &NewJob::new("a"))
        .await
        .expect_err("no schema");
    assert!(missing.is(codes::SCHEMA_MISSING), "{missing}");
    sqlx_pool.close().await;
    let closed = tenure::sqlx::enqueue_in(&sqlx_pool, &NewJob::new("a"))
        .await
        .expect_err("no connection");
    assert!(closed.is(codes::DATABASE_UNREACHABLE), "{closed}");
}

#[tokio::test]
async fn a_handler_completes_its_job_in_a_transaction_of_sqlx() {
    let db = Db::open().await;
    let c = db.direct().await;
    run(&c, "create table payments (id int generated always as identity)").await;
    let job = enqueue(&c, "pay").await;
    let sqlx_pool = sqlx_pool(&db).await;
    let options = HandlerOptions::default().backoff(|_, _| Duration::ZERO);
    let payer = worker(&db).handler_with("pay", options, move |_: Value, context: Context| {
        let sqlx_pool = sqlx_pool.clone();
        async move {
            let mut transaction = sqlx_pool.begin().await?;
            let insert = "insert into payments values (default)";
            sqlx::query(insert).execute(&mut *transaction).await?;
            let paid = Done::with(json!({"attempt": context.attempt()}))?;
            tenure::sqlx::complete_in(&mut transaction, &context, paid).await?;
            if context.attempt() == 1 {
                return Err(Failure::retry("rolled back"));
            }
            Ok(transaction.commit().await?)
        }
    });
    let report = until_idle(payer).await;
    assert_eq!((report.succeeded, report.failed), (1, 1));
    assert_eq!(last_run(&c, job).await["result"], json!({"attempt": 2}));
    assert_eq!(get::<i64>(&c, "select count(*) from payments", &[]).await, 1);
    check_invariants(&c).await;
}
