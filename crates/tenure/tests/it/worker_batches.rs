//! Handlers that take many jobs in one call.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tenure::worker::{CancelReason, Context, Done, Failure, HandlerOptions, Next};
use tenure::{Client, NewJob};
use tokio::sync::{Notify, Semaphore};
use uuid::Uuid;

use crate::fixture::{Db, check_invariants, get, one, run, state, until};
use crate::worker_scene::{AtWork, Crowd, enqueue_many, finished, last_run, pool, until_idle, until_true, worker};

/// The payload of each job of these tests.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Number {
    n: u32,
}

/// What a call gets.
type Jobs = Vec<(Number, Context)>;

/// Enqueues jobs with the numbers from 0 on, at once.
async fn enqueue_numbers(db: &Db, kind: &str, count: u32) -> Vec<Uuid> {
    let job = |n| NewJob::of(kind, &Number { n }).expect("a payload");
    let jobs: Vec<NewJob> = (0..count).map(job).collect();
    let enqueued = Client::new(pool(db)).enqueue_many(&jobs).await.expect("jobs");
    enqueued.iter().map(|it| it.job_id).collect()
}

/// How many jobs each call had.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<usize>>>);

impl Calls {
    fn add(&self, jobs: usize) {
        self.0.lock().expect("no panic holds it").push(jobs);
    }

    fn sizes(&self) -> Vec<usize> {
        self.0.lock().expect("no panic holds it").clone()
    }
}

#[tokio::test]
async fn one_call_takes_what_was_claimed_and_each_job_has_its_own_outcome() {
    let db = Db::open().await;
    let c = db.client().await;
    let jobs = enqueue_numbers(&db, "many", 6).await;
    let calls = Calls::default();
    let counted = calls.clone();
    let report = until_idle(worker(&db).batch_handler("many", 6, move |jobs: Jobs| {
        counted.add(jobs.len());
        async move {
            let outcome = |(number, context): (Number, Context)| match number.n {
                0 => Err(Failure::permanent("none")),
                1 => Err(Failure::snooze(Duration::from_secs(60))),
                n => Ok(Done::with(json!({"n": n, "job": context.job().job_id}))?),
            };
            Ok(jobs.into_iter().map(outcome).collect())
        }
    }))
    .await;
    assert_eq!(calls.sizes(), [6]);
    assert_eq!((report.succeeded, report.failed, report.snoozed), (4, 1, 1));
    assert_eq!(state(&c, jobs[0]).await, "dead_letter");
    for (n, job) in jobs.iter().enumerate().skip(2) {
        assert_eq!(last_run(&c, *job).await["result"], json!({"n": n, "job": job}));
    }
    check_invariants(&c).await;
}

/// While a call runs, others gather: so batches are full as long as there is enough to do.
#[tokio::test]
async fn calls_have_as_many_jobs_as_they_may_and_keep_to_their_concurrency() {
    for (calls_at_once, most) in [(None, 1), (Some(20), 2)] {
        let db = Db::open().await;
        enqueue_numbers(&db, "many", 45).await;
        let (calls, crowd) = (Calls::default(), Crowd::default());
        let (counted, inside) = (calls.clone(), crowd.clone());
        let mut options = HandlerOptions::default();
        if let Some(jobs) = calls_at_once {
            options = options.concurrency(jobs);
        }
        let many = worker(&db).concurrency(100);
        let report = until_idle(many.batch_handler_with("many", 10, options, move |jobs: Jobs| {
            let (inside, counted) = (inside.enter(), counted.clone());
            async move {
                counted.add(jobs.len());
                tokio::task::yield_now().await;
                drop(inside);
                Ok(jobs.iter().map(|_| Ok(())).collect())
            }
        }))
        .await;
        assert_eq!((report.claimed, report.succeeded), (45, 45));
        let mut sizes = calls.sizes();
        sizes.sort_unstable();
        assert_eq!(sizes, [5, 10, 10, 10, 10], "{calls_at_once:?}");
        assert!(crowd.most() <= most, "{} calls at once", crowd.most());
    }
}

/// A call that is not full leaves room, and yet what comes meanwhile waits for the next call, all of it.
#[tokio::test]
async fn what_comes_during_a_call_is_the_next_one() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_numbers(&db, "many", 3).await;
    let (calls, crowd, go) = (Calls::default(), Crowd::default(), Arc::new(Semaphore::new(0)));
    let (counted, inside, goes) = (calls.clone(), crowd.clone(), go.clone());
    let at_work = AtWork::start(
        worker(&db)
            .concurrency(100)
            .batch_handler("many", 10, move |jobs: Jobs| {
                counted.add(jobs.len());
                let (inside, goes) = (inside.enter(), goes.clone());
                async move {
                    goes.acquire().await?.forget();
                    drop(inside);
                    Ok(jobs.iter().map(|_| Ok(())).collect())
                }
            })
            // A claim keeps the places it may fill, so this one has a limit of its own.
            .handler_with(
                "other",
                HandlerOptions::default().concurrency(1),
                async |_: Value, _: Context| Ok::<_, Failure>(()),
            ),
    );
    until_true("the first call", || crowd.now() == 1).await;
    enqueue_numbers(&db, "many", 5).await;
    // Each of these takes a turn, in which a second call could begin.
    for ended in 1..=5 {
        enqueue_many(&c, "other", 1).await;
        let sql = format!("select count(*) = {ended} from tenure.attempts where final");
        until(&c, &sql, &[], "the end of another job").await;
    }
    assert_eq!(calls.sizes(), [3]);
    go.add_permits(2);
    until_true("the second call", || crowd.ever() == 2).await;
    let report = at_work.stop().await;
    assert_eq!((calls.sizes(), report.succeeded), (vec![3, 5], 13));
    assert_eq!(crowd.most(), 1);
}

/// The places of the worker bound a batch, whatever it may have.
#[tokio::test]
async fn a_batch_has_no_more_jobs_than_the_worker_has_places() {
    let db = Db::open().await;
    enqueue_numbers(&db, "many", 7).await;
    let calls = Calls::default();
    let counted = calls.clone();
    let few = worker(&db).concurrency(3);
    let report = until_idle(few.batch_handler("many", 100, move |jobs: Jobs| {
        counted.add(jobs.len());
        async move { Ok(jobs.iter().map(|_| Ok(())).collect()) }
    }))
    .await;
    assert_eq!(report.succeeded, 7);
    assert!(calls.sizes().iter().all(|jobs| *jobs <= 3), "{:?}", calls.sizes());
}

#[tokio::test]
async fn a_call_that_goes_wrong_fails_each_of_its_jobs() {
    let db = Db::open().await;
    let c = db.client().await;
    let panicking = async |_: Jobs| -> Result<Vec<Result<(), Failure>>, Failure> { panic!("no paper") };
    let failing = async |_: Jobs| Err::<Vec<Result<(), _>>, _>(Failure::permanent("no ink").code("ink"));
    let forgetful = async |jobs: Jobs| Ok(jobs.iter().skip(1).map(|_| Ok(())).collect());
    let builder = worker(&db)
        .batch_handler("panics", 10, panicking)
        .batch_handler("fails", 10, failing)
        .batch_handler("forgets", 10, forgetful);
    let mut expected = Vec::new();
    for (kind, class, code, message) in [
        ("panics", Some("panic"), None, "The handler panicked: no paper"),
        ("fails", None, Some("ink"), "no ink"),
        (
            "forgets",
            None,
            Some("outcomes_mismatched"),
            "The handler returned 1 outcomes for 2 jobs.",
        ),
    ] {
        for job in enqueue_numbers(&db, kind, 2).await {
            expected.push((job, json!({"class": class, "code": code, "message": message})));
        }
    }
    let report = until_idle(builder).await;
    assert_eq!((report.claimed, report.failed), (6, 6));
    for (job, expected) in expected {
        let ended = last_run(&c, job).await;
        let of = |field: &str| ended[format!("error_{field}")].clone();
        let recorded = json!({"class": of("class"), "code": of("code"), "message": of("message")});
        assert_eq!(recorded, expected);
    }
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_payload_that_cannot_be_read_fails_alone() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_many(&c, "many", 1).await;
    let readable = enqueue_numbers(&db, "many", 2).await;
    let calls = Calls::default();
    let counted = calls.clone();
    let report = until_idle(worker(&db).batch_handler("many", 10, move |jobs: Jobs| {
        counted.add(jobs.len());
        async move { Ok(jobs.iter().map(|_| Ok(())).collect()) }
    }))
    .await;
    assert_eq!((report.succeeded, report.failed), (2, 1));
    assert_eq!(calls.sizes(), [2]);
    assert_eq!(state(&c, readable[0]).await, "succeeded");
}

#[tokio::test]
async fn one_job_of_a_call_can_be_cancelled_and_another_lost() {
    let db = Db::open().await;
    let c = db.client().await;
    let jobs = enqueue_numbers(&db, "many", 3).await;
    let reasons: Arc<Mutex<Vec<Option<CancelReason>>>> = Arc::default();
    let (keep, go) = (reasons.clone(), Arc::new(Notify::new()));
    let goes = go.clone();
    let beating = worker(&db).heartbeat_interval(Duration::from_millis(20));
    let at_work = AtWork::start(beating.batch_handler("many", 3, move |mut jobs: Jobs| {
        let (keep, goes) = (keep.clone(), goes.clone());
        async move {
            jobs.sort_by_key(|(number, _)| number.n);
            tokio::join!(jobs[0].1.cancelled(), jobs[1].1.cancelled());
            *keep.lock().expect("no panic holds it") =
                jobs.iter().map(|(_, context)| context.cancel_reason()).collect();
            goes.notified().await;
            let outcome = |(_, context): &(Number, Context)| match context.is_cancelled() {
                true => Err(Failure::cancelled()),
                false => Ok(()),
            };
            Ok(jobs.iter().map(outcome).collect())
        }
    }));
    let started = "select count(*) = 3 from tenure.active where started_at is not null";
    until(&c, started, &[], "a start").await;
    one(&c, "select tenure.job_cancel($1, 'not needed')", &[&jobs[0]]).await;
    one(&c, "select tenure.job_cancel($1, 'by force', 'force')", &[&jobs[1]]).await;
    until_true("both are cancelled", || {
        !reasons.lock().expect("no panic holds it").is_empty()
    })
    .await;
    assert_eq!(
        *reasons.lock().expect("no panic holds it"),
        [Some(CancelReason::Requested), Some(CancelReason::LeaseLost), None]
    );
    go.notify_one();
    let report = at_work.stop().await;
    assert_eq!((report.cancelled, report.lost, report.succeeded), (1, 1, 1));
    assert_eq!(state(&c, jobs[2]).await, "succeeded");
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_call_whose_jobs_have_all_timed_out_is_stopped_and_its_places_are_free() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_numbers(&db, "slow", 2).await;
    let crowd = Crowd::default();
    let inside = crowd.clone();
    let options = HandlerOptions::default().timeout(Duration::from_millis(20));
    let at_work = AtWork::start(
        worker(&db)
            .concurrency(2)
            .batch_handler_with("slow", 2, options, move |_: Jobs| {
                let inside = inside.enter();
                async move {
                    std::future::pending::<()>().await;
                    drop(inside);
                    Ok(Vec::<Result<(), Failure>>::new())
                }
            }),
    );
    let timed_out = "select count(*) = 2 from tenure.attempts where error_code = 'timed_out'";
    until(&c, timed_out, &[], "the end of both").await;
    until_true("the call is dropped", || crowd.now() == 0).await;
    enqueue_numbers(&db, "slow", 2).await;
    until_true("the next call", || crowd.ever() == 2).await;
    let report = at_work.stop().await;
    assert_eq!((report.claimed, report.failed), (4, 4));
}

#[tokio::test]
async fn a_dropped_worker_stops_its_calls() {
    let db = Db::open().await;
    enqueue_numbers(&db, "slow", 2).await;
    let (crowd, begun) = (Crowd::default(), Arc::new(Notify::new()));
    let (inside, begins) = (crowd.clone(), begun.clone());
    let builder = worker(&db).batch_handler("slow", 2, move |_: Jobs| {
        let inside = inside.enter();
        begins.notify_one();
        async move {
            std::future::pending::<()>().await;
            drop(inside);
            Ok(Vec::<Result<(), Failure>>::new())
        }
    });
    let life = builder.build().expect("a worker").run_until(std::future::pending());
    tokio::select! {
        ended = life => panic!("it never ends: {ended:?}"),
        () = begun.notified() => {}
    }
    until_true("the call is dropped", || crowd.now() == 0).await;
}

/// Middleware that lets jobs through one by one makes small batches, and stops nothing.
#[tokio::test]
async fn middleware_is_around_every_job_of_a_call() {
    let db = Db::open().await;
    let c = db.client().await;
    let jobs = enqueue_numbers(&db, "many", 4).await;
    let (calls, gate) = (Calls::default(), Arc::new(Semaphore::new(1)));
    let counted = calls.clone();
    let builder = worker(&db)
        .batch_handler("many", 4, move |jobs: Jobs| {
            counted.add(jobs.len());
            async move { Ok(jobs.iter().map(|_| Ok(())).collect()) }
        })
        .middleware(move |context: Context, next: Next| {
            let gate = gate.clone();
            async move {
                let _permit = gate.acquire().await?;
                next.run(context.clone()).await?;
                Ok(Done::with(context.job().job_id)?)
            }
        });
    assert_eq!(until_idle(builder).await.succeeded, 4);
    assert_eq!(calls.sizes(), [1, 1, 1, 1]);
    for job in jobs {
        assert_eq!(last_run(&c, job).await["result"], json!(job));
    }
}

#[tokio::test]
async fn the_jobs_of_a_call_can_be_completed_in_one_transaction() {
    let db = Db::open().await;
    let c = db.client().await;
    run(&c, "create table numbers (n int)").await;
    enqueue_numbers(&db, "many", 5).await;
    let pool = pool(&db);
    let report = until_idle(worker(&db).batch_handler("many", 5, move |jobs: Jobs| {
        let pool = pool.clone();
        async move {
            let mut connection = pool.get().await?;
            let transaction = connection.transaction().await?;
            for (number, context) in &jobs {
                let insert = format!("insert into numbers values ({})", number.n);
                transaction.batch_execute(&insert).await?;
                context.complete_in(&transaction, ()).await?;
            }
            transaction.commit().await?;
            Ok(jobs.iter().map(|_| Ok(())).collect())
        }
    }))
    .await;
    assert_eq!((report.claimed, report.succeeded, report.failed), (5, 5, 0));
    assert_eq!(finished(&c, "succeeded").await, 5);
    assert_eq!(get::<i64>(&c, "select count(*) from numbers", &[]).await, 5);
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_batch_of_nothing_is_refused_when_the_worker_is_built() {
    let db = Db::open().await;
    let nothing = worker(&db).batch_handler("many", 0, async |_: Vec<(Value, Context)>| {
        Ok(Vec::<Result<(), Failure>>::new())
    });
    let refused = nothing.build().expect_err("no room");
    assert_eq!(refused.refusal().what, "A batch of many has at most 0 jobs.");
}
