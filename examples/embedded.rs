//! Everything in one program: a worker, and the services that rescue and schedule its work. No server is needed.
//! The login must be a member of tenure_server, as services act for every tenant.

use std::time::Duration;

use serde_json::Value;
use tenure::Pool;
use tenure::schedules::NewSchedule;
use tenure::worker::{Context, Failure, Worker, shutdown_signal};

async fn tick(_: Value, context: Context) -> Result<(), Failure> {
    if let Some(slot) = context.slot() {
        println!("Tick of {}.", slot.plan_time);
    }
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = Pool::new(&std::env::var("DATABASE_URL")?, &Default::default())?;
    let worker = Worker::builder(pool.clone())
        .schedule("ticks", NewSchedule::every(Duration::from_secs(10), "tick"))
        .handler("tick", tick)
        .build()?;
    // Reaper, scheduler, executions, subscriptions, retention and archive. Any number of processes may run them.
    let services = tokio::spawn(tenure::services::run(pool, shutdown_signal()));
    println!("Waiting for the clock. Stop with Ctrl-C.");
    let report = worker.run_until(shutdown_signal()).await?;
    services.await?;
    println!("Ticks: {}.", report.succeeded);
    Ok(())
}
