//! Jobs that come to an idle worker by themselves.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tenure::worker::{Context, Failure, HandlerOptions, Worker, WorkerBuilder};
use tenure::{Client, NewJob};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use tokio_postgres::config::Host;
use uuid::Uuid;

/// Long before a worker takes its offers back by itself, and so finds out what came of them.
const SOON: Duration = Duration::from_secs(10);

use crate::fixture::{Db, check_invariants, get, rows, until};
use crate::worker_scene::{AtWork, Crowd, finished, pool, until_true, worker};

/// A worker that would find nothing by itself for a long time.
fn patient(db: &Db) -> WorkerBuilder {
    worker(db).poll_interval(Duration::from_secs(600)).listen_url(db.url())
}

/// Waits until a place stands offered.
async fn until_offered(c: &tokio_postgres::Client) {
    until(c, "select exists (select from tenure.offers)", &[], "an offer").await;
}

const HANDED: &str = "select count(*) from tenure.events where kind = 'job.started' and data ->> 'how' = 'handed'";

/// Proves: S60.
#[tokio::test]
async fn a_job_comes_to_an_idle_worker_with_its_enqueue_one_after_the_other() {
    let db = Db::open().await;
    let c = db.direct().await;
    let (seen, mut runs) = mpsc::unbounded_channel();
    let at_work = AtWork::start(
        patient(&db)
            .concurrency(4)
            .handler("a", move |payload: Value, context: Context| {
                let seen = seen.clone();
                async move {
                    let job = context.job();
                    seen.send((payload, job.job_id, job.attempt, job.idempotency_key.clone()))
                        .ok();
                    Ok::<_, Failure>(())
                }
            }),
    );
    let client = Client::new(pool(&db));
    for n in 0..5 {
        until_offered(&c).await;
        let job = NewJob::of("a", &json!({"n": n}))
            .expect("a payload")
            .key(format!("k{n}"));
        let enqueued = client.enqueue(&job).await.expect("a job");
        assert_eq!(enqueued.state, "in_progress", "it was handed over");
        let run = runs.recv().await.expect("a run");
        assert_eq!(run, (json!({"n": n}), enqueued.job_id, 1, Some(format!("k{n}"))));
        until(
            &c,
            "select not exists (select from tenure.active)",
            &[],
            "the end of the run",
        )
        .await;
    }
    assert_eq!(get::<i64>(&c, HANDED, &[]).await, 5);
    let report = at_work.stop().await;
    assert_eq!((report.claimed, report.succeeded), (5, 5));
    assert_eq!(
        get::<i64>(&c, "select count(*) from tenure.offers", &[]).await,
        0,
        "a worker that stops offers nothing"
    );
    check_invariants(&c).await;
}

/// A payload that does not fit into a notification is fetched.
#[tokio::test]
async fn a_large_job_is_handed_over_too() {
    let db = Db::open().await;
    let c = db.direct().await;
    let (seen, mut runs) = mpsc::unbounded_channel();
    let at_work = AtWork::start(
        patient(&db)
            .concurrency(4)
            .handler("a", move |payload: Value, _: Context| {
                let seen = seen.clone();
                async move {
                    seen.send(payload).ok();
                    Ok::<_, Failure>(())
                }
            }),
    );
    until_offered(&c).await;
    let payload = json!({"text": "x".repeat(8000)});
    let client = Client::new(pool(&db));
    let enqueued = client
        .enqueue(&NewJob::of("a", &payload).expect("a payload"))
        .await
        .expect("a job");
    assert_eq!(enqueued.state, "in_progress");
    let run = tokio::time::timeout(SOON, runs.recv()).await;
    assert_eq!(run.expect("fetched at once"), Some(payload));
    until(
        &c,
        "select not exists (select from tenure.active)",
        &[],
        "the end of the run",
    )
    .await;
    assert_eq!(at_work.stop().await.succeeded, 1);
}

/// Offered places are places: with those that are claimed for they are never more than the worker has, and none is lost.
#[tokio::test]
async fn offered_places_count_and_come_back_when_there_is_much_to_do() {
    let db = Db::open().await;
    let c = db.direct().await;
    let (crowd, permits) = (Crowd::default(), Arc::new(Semaphore::new(0)));
    let (inside, gate) = (crowd.clone(), permits.clone());
    let at_work = AtWork::start(worker(&db).listen_url(db.url()).concurrency(4).handler(
        "a",
        move |_: Value, _: Context| {
            let (inside, gate) = (inside.clone(), gate.clone());
            async move {
                let _inside = inside.enter();
                gate.acquire().await?.forget();
                Ok::<_, Failure>(())
            }
        },
    ));
    until_offered(&c).await;
    let client = Client::new(pool(&db));
    let one = client.enqueue(&NewJob::new("a")).await.expect("a job");
    assert_eq!(one.state, "in_progress");
    let kinds = vec!["a"; 40];
    rows(&c, "select job_id from tenure.job_enqueue_many($1)", &[&kinds]).await;
    until_true("all places are taken", || crowd.now() == 4).await;
    permits.add_permits(41);
    until(
        &c,
        "select (select count(*) from tenure.attempts where final) = 41",
        &[],
        "all runs",
    )
    .await;
    assert_eq!(crowd.most(), 4);
    assert_eq!(at_work.stop().await.succeeded, 41);
    assert_eq!(finished(&c, "succeeded").await, 41);
    check_invariants(&c).await;
}

/// The connection that would tell of it is cut right after the hand-over: the worker asks what its offers brought.
#[tokio::test]
async fn a_job_handed_over_just_before_the_listener_dies_is_run() {
    let db = Db::open().await;
    let c = db.direct().await;
    let at_work = AtWork::start(
        patient(&db)
            .concurrency(4)
            .handler("a", |_: Value, _: Context| async { Ok::<_, Failure>(()) }),
    );
    until_offered(&c).await;
    // The hand-over commits in the same moment as the listener's connection ends, so the notification reaches nobody.
    c.batch_execute(
        "begin;
         select tenure.job_enqueue_plain('a', '{}', null, true);
         select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock' and granted and database = (select oid from pg_database where datname = current_database());
         commit",
    )
    .await
    .expect("a hand-over");
    assert_eq!(get::<i64>(&c, HANDED, &[]).await, 1);
    let ended = "select exists (select from tenure.attempts where final)";
    tokio::time::timeout(SOON, until(&c, ended, &[], "the run"))
        .await
        .expect("looked for at once");
    assert_eq!(at_work.stop().await.succeeded, 1);
    check_invariants(&c).await;
}

/// A handler that is at its own limit wants no more places, so the offers of the others stand.
#[tokio::test]
async fn a_handler_at_its_limit_does_not_make_a_worker_take_its_offers_back() {
    let db = Db::open().await;
    let c = db.direct().await;
    let permits = Arc::new(Semaphore::new(0));
    let gate = permits.clone();
    let builder = patient(&db)
        .concurrency(4)
        .handler("a", |_: Value, _: Context| async { Ok::<_, Failure>(()) });
    let at_work = AtWork::start(builder.handler_with(
        "b",
        HandlerOptions::default().concurrency(1),
        move |_: Value, _: Context| {
            let gate = gate.clone();
            async move {
                gate.acquire().await?.forget();
                Ok::<_, Failure>(())
            }
        },
    ));
    until_offered(&c).await;
    rows(&c, "select job_id from tenure.job_enqueue_many(array['b', 'b'])", &[]).await;
    let running = "select exists (select from tenure.active) and exists (select from tenure.offers)";
    until(&c, running, &[], "a run beside an offer").await;
    let first: Uuid = get(&c, "select token from tenure.offers", &[]).await;
    for _ in 0..200 {
        let tokens: Vec<Uuid> = get(&c, "select array_agg(token) from tenure.offers", &[]).await;
        assert_eq!(tokens, [first], "the same offer, not a new one every moment");
    }
    permits.add_permits(2);
    until(
        &c,
        "select count(*) = 2 from tenure.attempts where final",
        &[],
        "both runs",
    )
    .await;
    assert_eq!(at_work.stop().await.succeeded, 2);
}

/// A way to the database that can be closed.
async fn road(db: &Db) -> (String, JoinHandle<()>) {
    let config: tokio_postgres::Config = db.url().parse().expect("the database's URL");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let password = config.get_password().map(String::from_utf8_lossy).unwrap_or_default();
    let url = format!(
        "host=127.0.0.1 port={port} user={} password='{password}' dbname={} sslmode=disable",
        config.get_user().expect("a login"),
        config.get_dbname().expect("a database"),
    );
    let open = tokio::spawn(async move {
        let mut on_it = JoinSet::new();
        while let Ok((mut client, _)) = listener.accept().await {
            let port = config.get_ports().first().copied().unwrap_or(5432);
            match &config.get_hosts()[0] {
                Host::Unix(folder) => {
                    let path = folder.join(format!(".s.PGSQL.{port}"));
                    let mut server = UnixStream::connect(path).await.expect("the server");
                    on_it.spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
                }
                Host::Tcp(host) => {
                    let mut server = TcpStream::connect((host.as_str(), port)).await.expect("the server");
                    on_it.spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
                }
            }
        }
    });
    (url, open)
}

/// Offers are not worth waiting for: they die with the worker.
#[tokio::test]
async fn an_idle_worker_that_cannot_take_its_offers_back_stops_all_the_same() {
    let db = Db::open().await;
    let c = db.direct().await;
    let (url, open) = road(&db).await;
    let pool = tenure::Pool::new(&url, &Default::default()).expect("a pool");
    let builder = Worker::builder(pool)
        .poll_interval(Duration::from_secs(600))
        .listen_url(db.url())
        .drain(Duration::from_secs(3600))
        .concurrency(4);
    let at_work = AtWork::start(builder.handler("a", |_: Value, _: Context| async { Ok::<_, Failure>(()) }));
    until_offered(&c).await;
    open.abort();
    assert_eq!(at_work.stop().await.claimed, 0);
}

/// Whoever is connected may send to a channel whose name they know, and everybody knows that of the lanes.
#[tokio::test]
async fn a_job_that_somebody_claims_to_have_handed_over_is_not_run() {
    let db = Db::open().await;
    let c = db.direct().await;
    let at_work = AtWork::start(
        patient(&db)
            .concurrency(4)
            .handler("a", |_: Value, _: Context| async { Ok::<_, Failure>(()) }),
    );
    until_offered(&c).await;
    let forged = "select pg_notify('tenure_lane', json_build_object('offer', encode(sha256(uuid_send(o.token)), 'hex'), 'lane', o.lane,
        'job_id', gen_random_uuid(), 'kind', 'a', 'executor', o.executor, 'due', now(), 'attempts_max', 5, 'leased_at', now(),
        'leased_until', now() + interval '1 minute', 'run_until', null, 'payload', '{}', 'idempotency_key', null, 'enqueued_by', 'me')::text)
        from tenure.offers o";
    assert_eq!(rows(&c, forged, &[]).await.len(), 1);
    // Told after it on the same channel, so heard after it.
    rows(&c, "select job_id from tenure.job_enqueue_many(array['a', 'a'])", &[]).await;
    let ended = "select count(*) = 2 from tenure.attempts where final";
    until(&c, ended, &[], "the runs of what was enqueued").await;
    let report = at_work.stop().await;
    assert_eq!((report.claimed, report.succeeded, report.lost), (2, 2, 0));
}

/// The enqueue took longer to commit than the lease lasts: somebody else may have the job by now.
#[tokio::test]
async fn what_is_handed_over_too_slowly_is_not_run_on_a_lease_that_has_run_out() {
    let db = Db::open().await;
    let c = db.direct().await;
    let at_work = AtWork::start(
        patient(&db)
            .concurrency(4)
            .lease(Duration::from_secs(1))
            .handler("a", |_: Value, _: Context| async { Ok::<_, Failure>(()) }),
    );
    until_offered(&c).await;
    // It is time itself that has to pass: the lease is one second, on the worker's clock as on the database's.
    let slow = "begin; select tenure.job_enqueue_plain('a', '{}', null, true); select pg_sleep(1.1); commit";
    c.batch_execute(slow).await.expect("a hand-over");
    // The place is offered again only when it is free again.
    until_offered(&c).await;
    let report = at_work.stop().await;
    assert_eq!((report.claimed, report.succeeded, report.lost), (1, 0, 1));
    assert_eq!(rows(&c, "select job_id from tenure.job_reap()", &[]).await.len(), 1);
    check_invariants(&c).await;
}
