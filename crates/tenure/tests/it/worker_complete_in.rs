//! A handler that completes its job in a transaction of its own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tenure::core::codes;
use tenure::core::plan::Plan;
use tenure::worker::{Context, Done, Failure, HandlerOptions, WorkerBuilder};
use tenure::{Client, Pool};
use tokio::sync::Notify;

use crate::fixture::{Db, PATIENCE, check_invariants, enqueue, get, one, reap, run, state, until};
use crate::worker_scene::{AtWork, last_run, pool, until_idle, until_true, worker};

/// What a handler does with its transaction after it has completed the job there.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Then {
    Commit,
    RollBackAndFail,
    ForgetToCommit,
}

/// The effect and the completion in one transaction.
async fn pay(pool: &Pool, context: &Context, then: Then) -> Result<(), Failure> {
    let mut connection = pool.get().await?;
    let transaction = connection.transaction().await?;
    transaction
        .execute("insert into payments values (default)", &[])
        .await?;
    let paid = Done::with(json!({"paid": context.attempt()}))?.reference("ledger");
    context.complete_in(&transaction, paid).await?;
    match then {
        Then::Commit => Ok(transaction.commit().await?),
        Then::RollBackAndFail => {
            transaction.rollback().await?;
            Err(Failure::retry("the ledger is closed"))
        }
        Then::ForgetToCommit => Ok(()),
    }
}

/// A worker that pays: its first attempt as said, later ones with a commit.
fn payer(db: &Db, first: Then) -> WorkerBuilder {
    let pool = pool(db);
    let options = HandlerOptions::default().backoff(|_, _| Duration::ZERO);
    worker(db).handler_with("pay", options, move |_: Value, context: Context| {
        let pool = pool.clone();
        async move {
            let then = if context.attempt() == 1 { first } else { Then::Commit };
            pay(&pool, &context, then).await
        }
    })
}

async fn scene() -> (Db, tokio_postgres::Client) {
    let db = Db::open().await;
    let c = db.client().await;
    run(&c, "create table payments (id int generated always as identity)").await;
    (db, c)
}

async fn payments(c: &tokio_postgres::Client) -> i64 {
    get(c, "select count(*) from payments", &[]).await
}

#[tokio::test]
async fn an_effect_and_the_end_of_its_job_commit_together() {
    let (db, c) = scene().await;
    let job = enqueue(&c, "pay").await;
    let report = until_idle(payer(&db, Then::Commit)).await;
    assert_eq!((report.claimed, report.succeeded, report.failed), (1, 1, 0));
    assert_eq!(state(&c, job).await, "succeeded");
    let ended = last_run(&c, job).await;
    assert_eq!(
        (&ended["result"], &ended["result_ref"], &ended["run"]),
        (&json!({"paid": 1}), &json!("ledger"), &json!(1))
    );
    assert_eq!(payments(&c).await, 1);
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_transaction_that_does_not_commit_completes_nothing() {
    for (then, code) in [
        (Then::RollBackAndFail, Value::Null),
        (Then::ForgetToCommit, json!("not_committed")),
    ] {
        let (db, c) = scene().await;
        let job = enqueue(&c, "pay").await;
        let report = until_idle(payer(&db, then)).await;
        assert_eq!((report.claimed, report.succeeded, report.failed), (2, 1, 1), "{then:?}");
        let first = "select to_jsonb(a) from tenure.attempts a where a.job_id = $1 and a.run = 1";
        let first = one(&c, first, &[&job]).await;
        assert_eq!((&first["outcome"], &first["error_code"]), (&json!("failed"), &code));
        assert_eq!(last_run(&c, job).await["result"], json!({"paid": 2}));
        assert_eq!(payments(&c).await, 1, "{then:?}");
        check_invariants(&c).await;
    }
}

/// Waits for `go`, then completes the job in a transaction, and commits whatever was answered.
fn slow_payer(db: &Db, go: &Arc<Notify>, refused: &Arc<AtomicUsize>) -> WorkerBuilder {
    let (pool, go, refused) = (pool(db), go.clone(), refused.clone());
    worker(db).handler("pay", move |_: Value, context: Context| {
        let (pool, go, refused) = (pool.clone(), go.clone(), refused.clone());
        async move {
            go.notified().await;
            let mut connection = pool.get().await?;
            let transaction = connection.transaction().await?;
            transaction
                .execute("insert into payments values (default)", &[])
                .await?;
            if let Err(error) = context.complete_in(&transaction, ()).await {
                assert!(error.is(codes::STALE_LEASE), "{error}");
                assert!(context.is_cancelled(), "it learns that the lease is lost");
                refused.fetch_add(1, Ordering::SeqCst);
            }
            // PostgreSQL answers the commit of an aborted transaction with a rollback.
            Ok(transaction.commit().await?)
        }
    })
}

#[tokio::test]
async fn a_lost_lease_refuses_the_completion_and_rolls_the_effect_back() {
    let (db, c) = scene().await;
    let job = enqueue(&c, "pay").await;
    let (go, refused) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let at_work = AtWork::start(slow_payer(&db, &go, &refused));
    let started = "select count(*) = 1 from tenure.active where started_at is not null";
    until(&c, started, &[], "a start").await;
    one(&c, "select tenure.job_cancel($1, 'by force', 'force')", &[&job]).await;
    go.notify_one();
    until_true("it is refused", || refused.load(Ordering::SeqCst) == 1).await;
    let report = at_work.stop().await;
    assert_eq!((report.succeeded, report.lost), (0, 1));
    assert_eq!(state(&c, job).await, "cancelled");
    assert_eq!(payments(&c).await, 0);
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_cancel_request_does_not_undo_what_was_committed() {
    let (db, c) = scene().await;
    let job = enqueue(&c, "pay").await;
    let (go, refused) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let at_work = AtWork::start(slow_payer(&db, &go, &refused));
    let started = "select count(*) = 1 from tenure.active where started_at is not null";
    until(&c, started, &[], "a start").await;
    one(&c, "select tenure.job_cancel($1, 'too late')", &[&job]).await;
    go.notify_one();
    until(
        &c,
        "select count(*) = 1 from tenure.attempts where final",
        &[],
        "its end",
    )
    .await;
    let report = at_work.stop().await;
    assert_eq!((report.succeeded, report.cancelled, report.lost), (1, 0, 0));
    assert_eq!((state(&c, job).await, payments(&c).await), ("succeeded".to_owned(), 1));
}

/// The commit was carried out, but its answer was lost: the handler does it all again.
#[tokio::test]
async fn a_second_transaction_of_a_completed_run_is_refused() {
    let (db, c) = scene().await;
    let job = enqueue(&c, "pay").await;
    let (pool, answer) = (pool(&db), Arc::new(Mutex::new(None)));
    let keep = answer.clone();
    let report = until_idle(worker(&db).handler("pay", move |_: Value, context: Context| {
        let (pool, keep) = (pool.clone(), keep.clone());
        async move {
            pay(&pool, &context, Then::Commit).await?;
            let mut connection = pool.get().await?;
            let transaction = connection.transaction().await?;
            transaction
                .execute("insert into payments values (default)", &[])
                .await?;
            let twice = context.complete_in(&transaction, ()).await;
            transaction.commit().await?;
            let twice = twice.map_err(|error| error.code().to_owned());
            *keep.lock().expect("no panic holds it") = Some((twice, context.is_cancelled()));
            Err::<(), _>(Failure::retry("it came twice"))
        }
    }))
    .await;
    let refused = Err(codes::STALE_LEASE.name.to_owned());
    let answer = answer.lock().expect("no panic holds it").take();
    assert_eq!(answer, Some((refused, false)), "refused, and nothing was lost");
    assert_eq!((report.claimed, report.succeeded, report.failed), (1, 1, 0));
    assert_eq!((state(&c, job).await, payments(&c).await), ("succeeded".to_owned(), 1));
    assert_eq!(last_run(&c, job).await["result"], json!({"paid": 1}));
}

/// Heartbeats answer that a completed job is held no longer. That is no lost lease.
#[tokio::test]
async fn a_handler_that_goes_on_after_its_commit_is_left_alone() {
    let (db, c) = scene().await;
    let (first, beside) = (enqueue(&c, "pay").await, enqueue(&c, "beside").await);
    let (go, pool) = (Arc::new(Notify::new()), pool(&db));
    let (goes, cancelled) = (go.clone(), Arc::new(AtomicUsize::new(0)));
    let counts = cancelled.clone();
    let at_work = AtWork::start(
        worker(&db)
            .lease(Duration::from_secs(1))
            .heartbeat_interval(Duration::from_millis(20))
            .handler("pay", move |_: Value, context: Context| {
                let (pool, goes, counts) = (pool.clone(), goes.clone(), counts.clone());
                async move {
                    pay(&pool, &context, Then::Commit).await?;
                    goes.notified().await;
                    counts.fetch_add(usize::from(context.is_cancelled()), Ordering::SeqCst);
                    Ok(())
                }
            })
            .handler("beside", async |_: Value, context: Context| {
                context.cancelled().await;
                Ok::<(), Failure>(())
            }),
    );
    until(
        &c,
        "select count(*) = 1 from tenure.attempts where final",
        &[],
        "the commit",
    )
    .await;
    let renewals = "select coalesce(max(l.renewals), 0) from tenure.leases l";
    let so_far: i32 = get(&c, renewals, &[]).await;
    // One statement beats for both, so by then it was answered for the completed one several times.
    let later = format!("select ({renewals}) >= {}", so_far + 4);
    until(&c, &later, &[], "heartbeats").await;
    go.notify_one();
    one(&c, "select tenure.job_cancel($1, 'enough')", &[&beside]).await;
    let report = at_work.stop().await;
    assert_eq!((report.succeeded, report.lost), (2, 0));
    assert_eq!(cancelled.load(Ordering::SeqCst), 0, "it was not asked to stop");
    assert_eq!(last_run(&c, first).await["result"], json!({"paid": 1}));
}

#[tokio::test]
async fn a_worker_that_dies_after_the_commit_leaves_nothing_to_run_again() {
    let (db, c) = scene().await;
    let job = enqueue(&c, "pay").await;
    let (pool, committed) = (pool(&db), Arc::new(Notify::new()));
    let tell = committed.clone();
    let dying = worker(&db).handler("pay", move |_: Value, context: Context| {
        let (pool, tell) = (pool.clone(), tell.clone());
        async move {
            pay(&pool, &context, Then::Commit).await?;
            tell.notify_one();
            std::future::pending::<Result<(), Failure>>().await
        }
    });
    let life = dying.build().expect("a worker").run_until(std::future::pending());
    tokio::select! {
        ended = life => panic!("it never ends: {ended:?}"),
        () = committed.notified() => {}
    }
    // The worker is gone, and has not said how the run ended.
    db.advance("1 day").await;
    assert_eq!(reap(&c).await, []);
    let report = until_idle(payer(&db, Then::Commit)).await;
    assert_eq!(report.claimed, 0);
    assert_eq!((state(&c, job).await, payments(&c).await), ("succeeded".to_owned(), 1));
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_step_that_completes_in_its_own_transaction_lets_its_plan_go_on() {
    let (db, c) = scene().await;
    let client = Client::new(pool(&db));
    let plan = json!({"purpose": "pay twice", "sla_class": "long", "steps": [
        {"id": "one", "action": "pay", "action_class": "read", "target_type": "account", "target_ref": "a"},
        {"id": "two", "action": "pay", "action_class": "read", "target_type": "account", "target_ref": "a",
         "needs": ["one"]},
    ]});
    let plan = Plan::read(&plan.to_string()).expect("a plan");
    let submitted = client.submit(&plan).await.expect("submitted");
    let report = until_idle(payer(&db, Then::Commit)).await;
    assert_eq!(report.succeeded, 2);
    let ended = client
        .execution(submitted.execution_id)
        .wait(PATIENCE)
        .await
        .expect("its end");
    assert!(ended.is_succeeded() && ended.counts.succeeded == 2, "{ended:?}");
    assert_eq!(payments(&c).await, 2);
}
