//! A worker records what did not work, and what should become of it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tenure::worker::{Context, Done, Failure, HandlerOptions};
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixture::{Db, check_invariants, enqueue, enqueue_with, get, one, state};
use crate::worker_scene::{Crowd, enqueue_many, finished, last_run, until_idle, worker};

/// Seconds from the end of a job's last run to its next.
async fn delay(client: &Client, job: Uuid) -> f64 {
    let sql = "select extract(epoch from a.next_due - a.ended_at)::float8 from tenure.attempts a
                where a.job_id = $1 order by a.run desc limit 1";
    get(client, sql, &[&job]).await
}

#[tokio::test]
async fn a_panic_is_a_failure_of_its_class_with_a_masked_message() {
    let db = Db::open().await;
    let c = db.client().await;
    let (early, late) = (enqueue(&c, "early").await, enqueue(&c, "late").await);
    let report = until_idle(
        worker(&db)
            .handler(
                "early",
                |_: Value, _: Context| -> std::future::Ready<Result<Done, Failure>> { panic!("no future at all") },
            )
            .handler("late", async |_: Value, _: Context| -> Result<Done, Failure> {
                tokio::task::yield_now().await;
                panic!("login failed: password=hunter2");
            }),
    )
    .await;
    assert_eq!(report.failed, 2);
    for job in [early, late] {
        assert_eq!(state(&c, job).await, "retry_waiting");
        assert_eq!(last_run(&c, job).await["error_class"], "panic");
    }
    assert_eq!(
        last_run(&c, late).await["error_message"],
        "The handler panicked: login failed: password=***"
    );
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_run_that_takes_too_long_is_stopped_and_has_failed() {
    let db = Db::open().await;
    let c = db.client().await;
    one(
        &c,
        "select tenure.kind_set('by_policy', '{\"run_timeout_seconds\": 1}')",
        &[],
    )
    .await;
    let jobs = [enqueue(&c, "by_handler").await, enqueue(&c, "by_policy").await];
    let crowd = Crowd::default();
    let endless = |crowd: Crowd| {
        move |_: Value, _: Context| {
            let crowd = crowd.clone();
            async move {
                let _inside = crowd.enter();
                std::future::pending::<Result<(), Failure>>().await
            }
        }
    };
    let short = HandlerOptions::default().timeout(Duration::from_millis(50));
    let report = until_idle(
        worker(&db)
            .handler_with("by_handler", short, endless(crowd.clone()))
            .handler("by_policy", endless(crowd.clone())),
    )
    .await;
    assert_eq!(report.failed, 2);
    assert_eq!((crowd.ever(), crowd.now()), (2, 0), "dropped");
    for job in jobs {
        let run = last_run(&c, job).await;
        assert_eq!(
            (&run["error_class"], &run["outcome"]),
            (&json!("timeout"), &json!("failed"))
        );
        assert_eq!(state(&c, job).await, "retry_waiting");
    }
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_snooze_costs_no_attempt_and_a_retry_comes_when_it_was_asked_for() {
    let db = Db::open().await;
    let c = db.client().await;
    let mut jobs = Vec::new();
    for kind in ["snooze", "retry", "retry_in", "backoff", "both"] {
        jobs.push(enqueue(&c, kind).await);
    }
    let custom = HandlerOptions::default().backoff(|attempt, failure| {
        assert_eq!((attempt, failure.code_name()), (1, Some("later")));
        Duration::from_millis(41_500)
    });
    let later = async |_: Value, _: Context| -> Result<Done, Failure> { Err(Failure::retry("later").code("later")) };
    let report = until_idle(
        worker(&db)
            .handler("snooze", async |_: Value, _: Context| -> Result<Done, Failure> {
                Err(Failure::snooze(Duration::from_secs(90)))
            })
            .handler("retry", later)
            .handler("retry_in", async |_: Value, _: Context| -> Result<Done, Failure> {
                Err(Failure::retry_in(Duration::from_secs(77), "busy"))
            })
            .handler_with("backoff", custom.clone(), later)
            .handler_with("both", custom, async |_: Value, _: Context| -> Result<Done, Failure> {
                Err(Failure::retry_in(Duration::from_secs(3), "later").code("later"))
            }),
    )
    .await;
    assert_eq!((report.snoozed, report.failed), (1, 4));
    let attempts: i16 = get(&c, "select attempts from tenure.delayed where job_id = $1", &[&jobs[0]]).await;
    assert_eq!(attempts, 0, "given back");
    for (job, seconds) in jobs.into_iter().zip([90.0, 10.0, 77.0, 42.0, 3.0]) {
        assert_eq!(state(&c, job).await, "retry_waiting");
        assert_eq!(delay(&c, job).await, seconds);
    }
    check_invariants(&c).await;
}

#[tokio::test]
async fn a_permanent_failure_goes_to_the_dead_letters_with_its_code_and_class() {
    let db = Db::open().await;
    let c = db.client().await;
    let (gone, broken) = (enqueue(&c, "gone").await, enqueue(&c, "broken").await);
    until_idle(
        worker(&db)
            .handler("gone", async |_: Value, _: Context| -> Result<Done, Failure> {
                Err(Failure::permanent("no such page").code("http_404").class("http"))
            })
            .handler("broken", async |_: Value, _: Context| -> Result<Done, Failure> {
                "x".parse::<u8>()?;
                Ok(Done::nothing())
            }),
    )
    .await;
    assert_eq!(state(&c, gone).await, "dead_letter");
    let letter = one(
        &c,
        "select to_jsonb(d) from tenure.dead_letters d where d.job_id = $1",
        &[&gone],
    )
    .await;
    assert_eq!(
        (&letter["final_error"], &letter["error_code"], &letter["error_class"]),
        (&json!("no such page"), &json!("http_404"), &json!("http"))
    );
    let run = last_run(&c, broken).await;
    assert_eq!(run["error_class"], "ParseIntError");
    assert_eq!(run["error_message"], "invalid digit found in string");
    assert_eq!(state(&c, broken).await, "retry_waiting");
}

/// What one handler returns can make the whole statement fail: a NUL, which JSON has and PostgreSQL has not. Rule: 10.
#[tokio::test]
async fn an_outcome_that_cannot_be_recorded_blocks_no_other() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_many(&c, "fine", 40).await;
    let nul = enqueue_with(&c, "nul", ", p_priority => 'urgent'").await;
    let large = enqueue_with(&c, "large", ", p_priority => 'urgent'").await;
    let unasked = enqueue_with(&c, "unasked", ", p_priority => 'urgent'").await;
    let report = until_idle(
        worker(&db)
            .concurrency(50)
            .connections(1)
            .handler("fine", async |_: Value, _: Context| Ok(()))
            .handler("nul", async |_: Value, _: Context| -> Result<Done, Failure> {
                Ok(Done::with(json!({"text": "a\u{0}b"}))?)
            })
            .handler("large", async |_: Value, _: Context| -> Result<Done, Failure> {
                Ok(Done::with("x".repeat(tenure_core::limits::RESULT_BYTES_MAX))?)
            })
            .handler("unasked", async |_: Value, _: Context| -> Result<Done, Failure> {
                Err(Failure::cancelled())
            }),
    )
    .await;
    assert_eq!((report.succeeded, report.failed, report.lost), (40, 3, 0));
    assert_eq!(finished(&c, "succeeded").await, 40);
    assert_eq!(last_run(&c, nul).await["error_code"], "text_invalid");
    assert_eq!(last_run(&c, large).await["error_code"], "result_too_large");
    assert_eq!(state(&c, nul).await, "dead_letter");
    assert_eq!(state(&c, large).await, "dead_letter");
    assert_eq!(last_run(&c, unasked).await["error_code"], "cancel_not_requested");
    assert_eq!(state(&c, unasked).await, "retry_waiting");
    check_invariants(&c).await;
}

/// A handler that has been quick for long is run where it is claimed; it may become slow, or fail, all the same.
#[tokio::test]
async fn quick_handlers_may_become_slow_or_fail_at_any_time() {
    let db = Db::open().await;
    let c = db.client().await;
    enqueue_many(&c, "mixed", 300).await;
    let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let report = until_idle(
        worker(&db)
            .concurrency(7)
            .handler("mixed", move |_: Value, _: Context| {
                let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                async move {
                    match number {
                        100 | 200 => tokio::time::sleep(Duration::from_millis(1)).await,
                        150 => panic!("at last"),
                        250 => return Err(Failure::permanent("no more")),
                        _ => {}
                    }
                    Ok(())
                }
            }),
    )
    .await;
    assert_eq!((report.succeeded, report.failed), (298, 2));
    assert_eq!(finished(&c, "succeeded").await, 298);
    check_invariants(&c).await;
}
