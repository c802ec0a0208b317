//! A worker whose connections are cut loses nothing and does nothing twice.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tenure::worker::{Context, Worker};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio_postgres::Config;
use tokio_postgres::config::Host;
use uuid::Uuid;

use crate::fixture::{Db, check_invariants, get, rows, run, until};
use crate::worker_scene::{AtWork, Crowd, enqueue_many, until_idle, worker};

/// Cut at any moment, whatever a turn is about. Rule: 10.
#[tokio::test]
async fn cut_connections_lose_nothing_and_complete_nothing_twice() {
    let db = Db::open().await;
    let c = db.client().await;
    const JOBS: i64 = 600;
    enqueue_many(&c, "a", JOBS as usize).await;
    let runs: Arc<Mutex<HashMap<Uuid, usize>>> = Arc::default();
    let seen = runs.clone();
    let builder = worker(&db).name("cut").concurrency(20).batch_max(10);
    let at_work = AtWork::start(builder.handler("a", move |_: Value, context: Context| {
        *seen
            .lock()
            .expect("no panic holds it")
            .entry(context.job().job_id)
            .or_default() += 1;
        async move {
            tokio::task::yield_now().await;
            Ok(())
        }
    }));
    let admin = db.direct().await;
    let cut = "select count(pg_terminate_backend(a.pid)) from pg_stat_activity a
                where a.datname = current_database() and a.pid <> pg_backend_pid() and a.query like '%job_turn%'";
    let mut cuts = 0;
    let all = "select count(*) = $1 from tenure.attempts where final";
    while !get::<bool>(&admin, all, &[&JOBS]).await {
        if cuts < 25 {
            cuts += get::<i64>(&admin, cut, &[]).await;
        }
        tokio::task::yield_now().await;
    }
    let report = at_work.stop().await;
    assert!(cuts > 0);
    assert_eq!((report.succeeded, report.lost), (JOBS as u64, 0), "after {cuts} cuts");
    let runs = runs.lock().expect("no panic holds it").clone();
    assert_eq!(runs.len(), JOBS as usize);
    assert!(runs.values().all(|count| *count == 1), "each handler ran once");
    let ended = rows(&c, "select job_id from tenure.attempts", &[]).await;
    assert_eq!(ended.len(), JOBS as usize, "one record each");
    assert_eq!(get::<i64>(&c, "select count(*) from tenure.leases", &[]).await, 0);
    check_invariants(&c).await;
}

/// Rule: 10.
#[tokio::test]
async fn a_turn_that_was_cut_before_its_commit_is_taken_again() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_many(&c, "a", 5).await;
    // The claim waits for the lock within its statement; then its connection is cut, and nothing was done.
    let blocker = db.direct().await;
    run(
        &blocker,
        "begin; lock table tenure.attempts, tenure.active in access exclusive mode",
    )
    .await;
    let at_work = AtWork::start(worker(&db).handler("a", async |_: Value, _: Context| Ok(())));
    let admin = db.direct().await;
    crate::fixture::until_blocked(&admin, "job_turn").await;
    let cut = "select count(pg_terminate_backend(pid)) > 0 from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock' and query like '%job_turn%'";
    until(&admin, cut, &[], "a cut").await;
    run(&blocker, "rollback").await;
    until(
        &c,
        "select count(*) = 5 from tenure.attempts where final",
        &[],
        "all done",
    )
    .await;
    let report = at_work.stop().await;
    assert_eq!((report.succeeded, report.lost), (5, 0));
    let attempts: i16 = get(&c, "select max(attempt) from tenure.attempts", &[]).await;
    assert_eq!(attempts, 1);
}

/// The statement is committed and its answer lost, again and again: the jobs of the claim are found by its token and run,
/// the ends are sent again and known to be recorded. Rule: 10.
#[tokio::test]
async fn a_turn_that_was_committed_and_never_answered_is_known_for_what_it_did() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_many(&c, "a", 60).await;
    let left = Arc::new(AtomicUsize::new(4));
    let url = swallowing(&db, left.clone()).await;
    let runs = Crowd::default();
    let inside = runs.clone();
    let pool = tenure::Pool::new(&url, &Default::default()).expect("a pool");
    let builder = Worker::builder(pool).concurrency(10).connections(1).batch_max(10);
    let report = until_idle(builder.handler("a", move |_: Value, _: Context| {
        let inside = inside.enter();
        async move {
            drop(inside);
            Ok(())
        }
    }))
    .await;
    assert_eq!(left.load(Ordering::SeqCst), 0, "answers were lost");
    assert_eq!((report.succeeded, report.claimed, report.lost), (60, 60, 0));
    assert_eq!(runs.ever(), 60, "each handler ran once");
    let records: i64 = get(
        &c,
        "select count(*) from tenure.attempts where final and attempt = 1",
        &[],
    )
    .await;
    assert_eq!(records, 60);
    check_invariants(&c).await;
}

/// The address of a way to the database that swallows so many answers to turns, and cuts the connection instead.
async fn swallowing(db: &Db, left: Arc<AtomicUsize>) -> String {
    let config: Config = db.url().parse().expect("the database's URL");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let password = config.get_password().map(String::from_utf8_lossy).unwrap_or_default();
    let url = format!(
        "host=127.0.0.1 port={port} user={} password='{password}' dbname={} sslmode=disable",
        config.get_user().expect("a login"),
        config.get_dbname().expect("a database"),
    );
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let port = config.get_ports().first().copied().unwrap_or(5432);
            match &config.get_hosts()[0] {
                Host::Unix(folder) => {
                    let path = folder.join(format!(".s.PGSQL.{port}"));
                    let server = UnixStream::connect(path).await.expect("the server");
                    tokio::spawn(between(client, server, left.clone()));
                }
                Host::Tcp(host) => {
                    let server = TcpStream::connect((host.as_str(), port)).await.expect("the server");
                    tokio::spawn(between(client, server, left.clone()));
                }
            }
        }
    });
    url
}

/// Carries bytes both ways, until an answer is to be swallowed: it is read to its end, so that the commit has happened.
async fn between(
    client: TcpStream,
    server: impl AsyncRead + AsyncWrite,
    left: Arc<AtomicUsize>,
) -> std::io::Result<()> {
    const READY: &[u8] = b"Z\0\0\0\x05I";
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let swallow = AtomicBool::new(false);
    let there = async {
        let mut bytes = vec![0; 65536];
        loop {
            let count = from_client.read(&mut bytes).await?;
            let is_turn = bytes[..count].windows(8).any(|it| it == b"job_turn");
            let one_less = |left: usize| left.checked_sub(1);
            if is_turn && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok() {
                swallow.store(true, Ordering::SeqCst);
            }
            to_server.write_all(&bytes[..count]).await?;
            if count == 0 {
                return Ok(());
            }
        }
    };
    let back = async {
        let mut bytes = vec![0; 65536];
        loop {
            let count = from_server.read(&mut bytes).await?;
            let swallowed = swallow.load(Ordering::SeqCst);
            if count == 0 || (swallowed && bytes[..count].ends_with(READY)) {
                return Ok(());
            }
            if !swallowed {
                to_client.write_all(&bytes[..count]).await?;
            }
        }
    };
    tokio::select! {
        ended = there => ended,
        ended = back => ended,
    }
}
