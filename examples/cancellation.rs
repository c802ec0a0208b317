//! A handler that stops when somebody asks for it.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::api::jobs::{CancelMode, JobCancel};
use tenure::store::jobs;
use tenure::worker::{Context, Failure, Worker};
use tenure::{Client, NewJob, Pool};
use tokio::sync::oneshot;

/// Counts to a million, and looks up between two numbers.
async fn count(_: Value, context: Context) -> Result<(), Failure> {
    for number in 1..1_000_000 {
        tokio::select! {
            reason = context.cancelled() => {
                println!("The handler stops at {number}: {reason:?}, {:?}.", context.cancel_wish().unwrap_or_default());
                // Acknowledges the request. Any other failure would do, too: a job that is to be cancelled is not retried.
                return Err(Failure::cancelled());
            }
            () = tokio::time::sleep(Duration::from_millis(10)) => {}
        }
        context.progress(json!({"counted": number})).await?;
    }
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = Pool::new(&std::env::var("DATABASE_URL")?, &Default::default())?;
    let client = Client::new(pool.clone());
    let job = client.enqueue(&NewJob::new("example.count")).await?.job_id;

    // Cancel requests come with a heartbeat; the usual interval is 15 seconds.
    let worker = Worker::builder(pool.clone())
        .heartbeat_interval(Duration::from_millis(200))
        .handler("example.count", count)
        .build()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let working = tokio::spawn(worker.run_until(async move { stopped.await.unwrap_or_default() }));

    let operator = pool.get().await?;
    let counted = loop {
        let shown = jobs::show(&*operator, job).await?;
        if let Some(counted) = shown["progress"]["counted"].as_u64() {
            break counted;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    println!("It has counted to {counted}. That is enough.");
    let cancel = JobCancel {
        job_id: job,
        reason: "enough".to_owned(),
        mode: CancelMode::Cooperative,
        on_behalf_of: None,
    };
    tenure::operations::call(&*operator, &cancel).await?;

    let end = client.wait(job, Duration::from_secs(60)).await?;
    println!("The job is {}: {:?}.", end.state, end.cancel_reason.unwrap_or_default());
    drop(stop);
    working.await??;
    Ok(())
}
