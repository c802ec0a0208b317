//! A worker runs jobs: payloads in, results out.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tenure::worker::{Context, Done, Failure, Handler, HandlerOptions, Next, Worker};

use crate::fixture::{Db, check_invariants, enqueue, enqueue_with, one, state};
use crate::worker_scene::{last_run, pool, until_idle, worker};

#[derive(serde::Deserialize)]
struct Greet {
    name: String,
}

struct Add {
    to: i64,
}

#[derive(serde::Deserialize)]
struct Numbers {
    numbers: Vec<i64>,
}

impl Handler for Add {
    const KIND: &'static str = "add";
    type Payload = Numbers;

    async fn run(&self, payload: Numbers, _: Context) -> Result<Done, Failure> {
        let sum = self.to + payload.numbers.iter().sum::<i64>();
        Ok(Done::with(json!({"sum": sum}))?.reference("s3://sums/1"))
    }
}

#[tokio::test]
async fn typed_handlers_get_their_payloads_and_their_results_are_recorded() {
    let db = Db::open().await;
    let c = db.client().await;
    let hello = enqueue_with(&c, "hello", ", p_payload => '{\"name\": \"Ada\"}'").await;
    let add = enqueue_with(&c, "add", ", p_payload => '{\"numbers\": [1, 2]}'").await;
    let quiet = enqueue(&c, "quiet").await;
    let report = until_idle(
        worker(&db)
            .handler("hello", async |greet: Greet, _: Context| -> Result<Done, Failure> {
                Ok(Done::with(json!({"said": format!("hi {}", greet.name)}))?)
            })
            .handler("quiet", async |_: Value, _: Context| Ok(()))
            .register(Add { to: 10 }),
    )
    .await;
    assert_eq!((report.claimed, report.succeeded), (3, 3));
    assert_eq!(last_run(&c, hello).await["result"], json!({"said": "hi Ada"}));
    let sum = last_run(&c, add).await;
    assert_eq!(
        (&sum["result"], &sum["result_ref"]),
        (&json!({"sum": 13}), &json!("s3://sums/1"))
    );
    assert_eq!(last_run(&c, quiet).await["result"], Value::Null);
    assert_eq!(last_run(&c, quiet).await["owner"], "w");
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_payload_that_cannot_be_read_fails_for_good_and_says_where() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue_with(&c, "add", ", p_payload => '{\"numbers\": [1, \"two\"]}'").await;
    let report = until_idle(worker(&db).register(Add { to: 0 })).await;
    assert_eq!(report.failed, 1);
    assert_eq!(state(&c, job).await, "dead_letter");
    let run = last_run(&c, job).await;
    assert_eq!(run["error_code"], "payload_unreadable");
    let message = run["error_message"].as_str().expect("a message");
    assert!(
        message.contains("numbers[1]") && message.contains("string"),
        "{message}"
    );
}

#[tokio::test]
async fn a_handler_knows_its_job_and_its_time() {
    let db = Db::open().await;
    let c = db.client().await;
    one(
        &c,
        "select tenure.kind_set('look', '{\"run_timeout_seconds\": 600}')",
        &[],
    )
    .await;
    let job = enqueue_with(&c, "look", ", p_correlation_id => 'order-7', p_target_ref => 'db/1'").await;
    until_idle(
        worker(&db).handler("look", async |_: Value, context: Context| -> Result<Done, Failure> {
            let job = context.job();
            let left = context
                .deadline()
                .map(|at| at.duration_since(std::time::Instant::now()).as_secs());
            assert!(left.is_some_and(|left| (500..=600).contains(&left)), "{left:?}");
            assert!(!context.is_cancelled() && !context.is_last_attempt());
            Ok(Done::with(json!({
                "attempt": context.attempt(), "run": job.run, "token": context.token(), "worker": context.worker(),
                "state": job.state, "correlation": job.correlation_id, "target": job.target_ref,
            }))?)
        }),
    )
    .await;
    let run = last_run(&c, job).await;
    let expected = json!({"attempt": 1, "run": 1, "token": run["token"], "worker": "w", "state": "in_progress",
        "correlation": "order-7", "target": "db/1"});
    assert_eq!(run["result"], expected);
}

#[tokio::test]
async fn middleware_is_around_every_run_the_first_outermost() {
    let db = Db::open().await;
    let c = db.client().await;
    let (hello, other) = (enqueue(&c, "hello").await, enqueue(&c, "refused").await);
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let note = |seen: &Arc<Mutex<Vec<String>>>, text: String| seen.lock().expect("no panic holds it").push(text);
    let (outer, inner) = (seen.clone(), seen.clone());
    let report = until_idle(
        worker(&db)
            .concurrency(1)
            .handler("hello", async |_: Value, _: Context| Ok(()))
            .handler("refused", async |_: Value, _: Context| Ok(()))
            .middleware(move |context: Context, next: Next| {
                let seen = outer.clone();
                async move {
                    note(&seen, format!("before {}", context.job().kind));
                    let outcome = next.run(context.clone()).await;
                    note(&seen, format!("after {} {}", context.job().kind, outcome.is_ok()));
                    outcome
                }
            })
            .middleware(move |context: Context, next: Next| {
                let seen = inner.clone();
                async move {
                    if context.job().kind == "refused" {
                        return Err(Failure::permanent("not here").code("not_here"));
                    }
                    note(&seen, "inside".to_owned());
                    next.run(context).await
                }
            }),
    )
    .await;
    assert_eq!((report.succeeded, report.failed), (1, 1));
    assert_eq!(state(&c, hello).await, "succeeded");
    assert_eq!(last_run(&c, other).await["error_code"], "not_here");
    let seen = seen.lock().expect("no panic holds it");
    assert_eq!(
        *seen,
        [
            "before hello",
            "inside",
            "after hello true",
            "before refused",
            "after refused false"
        ]
    );
}

#[tokio::test]
async fn progress_is_written_and_what_comes_too_soon_is_dropped() {
    let db = Db::open().await;
    let c = db.client().await;
    let job = enqueue(&c, "import").await;
    let watch = Arc::new(db.client().await);
    until_idle(worker(&db).handler("import", move |_: Value, context: Context| {
        let watch = watch.clone();
        async move {
            context.progress(json!({"page": 1})).await?;
            context.progress(json!({"page": 2})).await?;
            let sql = "select progress from tenure.active where job_id = $1";
            assert_eq!(one(&watch, sql, &[&context.job().job_id]).await, json!({"page": 1}));
            Ok(())
        }
    }))
    .await;
    assert_eq!(state(&c, job).await, "succeeded");
}

#[tokio::test]
async fn a_worker_that_cannot_work_is_refused_before_it_starts() {
    let db = Db::open().await;
    let quiet = async |_: Value, _: Context| Ok(());
    let refused = |builder: tenure::worker::WorkerBuilder, text: &str| {
        let error = builder.build().expect_err("a refusal");
        assert_eq!(error.code(), "usage");
        assert!(error.refusal().what.contains(text), "{error}");
    };
    refused(worker(&db), "no handler");
    refused(worker(&db).handler("a", quiet).handler("a", quiet), "two handlers");
    refused(worker(&db).handler("a", quiet).concurrency(0), "concurrency is 0");
    refused(worker(&db).handler("a", quiet).batch_max(1001), "batch_max is 1001");
    refused(worker(&db).handler("a", quiet).connections(10), "10 connections");
    let none = HandlerOptions::default().concurrency(0);
    refused(worker(&db).handler_with("a", none, quiet), "concurrency of a is 0");
}

#[tokio::test]
async fn a_worker_whose_first_claim_is_refused_ends_with_the_reason() {
    let db = Db::open().await;
    let work = |builder: tenure::worker::WorkerBuilder| async {
        let built = builder
            .handler("a", async |_: Value, _: Context| Ok(()))
            .build()
            .expect("a worker");
        built
            .run_until(std::future::pending())
            .await
            .expect_err("a refusal")
            .code()
            .to_owned()
    };
    assert_eq!(work(worker(&db).executor("nobody")).await, "executor_unknown");
    assert_eq!(
        work(worker(&db).lease(Duration::from_secs(1_000_000))).await,
        "lease_seconds_out_of_range"
    );
    assert_eq!(work(worker(&db).name("\t")).await, "name_blank");
    let names: Vec<String> = (0..2)
        .map(|_| {
            let builder = Worker::builder(pool(&db)).handler("a", async |_: Value, _: Context| Ok(()));
            builder.build().expect("a worker").name().to_owned()
        })
        .collect();
    assert_ne!(names[0], names[1], "a name of its own by default");
}
