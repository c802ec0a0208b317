//! Connections of a pool that were left in the middle of something.

use tenure::Pool;
use tenure::pool::{Connection, PoolOptions};

use crate::fixture::{Db, get, until};

async fn pid_of(connection: &Connection) -> i32 {
    let row = connection.query_one("select pg_backend_pid()", &[]).await;
    row.expect("a backend").get(0)
}

fn pool_of_one(db: &Db) -> Pool {
    let options = PoolOptions {
        connections_max: 1,
        ..PoolOptions::default()
    };
    Pool::new(db.url(), &options).expect("a pool")
}

#[tokio::test]
async fn a_connection_with_an_open_transaction_is_rolled_back_and_used_again() {
    let db = Db::open().await;
    let pool = pool_of_one(&db);
    let connection = pool.get().await.expect("a connection");
    let before = pid_of(&connection).await;
    let begun = connection.batch_execute("begin; create temporary table left_behind ()");
    begun.await.expect("a transaction");
    connection.recover().await;
    let again = pool.get().await.expect("the connection is free");
    assert_eq!(pid_of(&again).await, before);
    let row = again.query_one("select to_regclass('left_behind') is null", &[]).await;
    assert!(row.expect("an answer").get::<_, bool>(0), "rolled back");
}

#[tokio::test]
async fn a_statement_that_was_left_is_cancelled_before_its_connection_is_free() {
    let db = Db::open().await;
    let client = db.direct().await;
    let pool = pool_of_one(&db);
    let connection = pool.get().await.expect("a connection");
    let pid = pid_of(&connection).await;
    connection.batch_execute("begin").await.expect("a transaction");
    let is_asleep = "select exists (select from pg_stat_activity where pid = $1 and wait_event = 'PgSleep')";
    let asleep = async || until(&client, is_asleep, &[&pid], "it sleeps").await;
    tokio::select! {
        _ = connection.batch_execute("select pg_sleep(600)") => panic!("it sleeps"),
        () = asleep() => {}
    }
    connection.recover().await;
    assert!(!get::<bool>(&client, is_asleep, &[&pid]).await, "it was cancelled");
    let other = pool.get().await.expect("a connection");
    assert_ne!(
        pid_of(&other).await,
        pid,
        "a late cancel request cannot meet another statement"
    );
}
