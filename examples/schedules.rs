//! A schedule that a worker declares, what it would do, and a run of it asked for by hand.
//! A server (`tenure dev`, `tenure serve`) starts its slots as they come.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::client::SlotFilter;
use tenure::schedules::{NewSchedule, Overlap};
use tenure::worker::{Context, Done, Failure, Worker};
use tenure::{Client, Pool};

async fn count_visitors(_: Value, context: Context) -> Result<Done, Failure> {
    let slot = context
        .slot()
        .ok_or_else(|| Failure::permanent("nobody planned this"))?;
    // The plan time, not the clock: a late run counts the visitors it was planned for.
    println!("Counting up to {} ({}).", slot.plan_time, slot.origin);
    Ok(Done::with(json!({"rows_affected": 42}))?)
}

/// Every start of the program declares the same schedule; only the first makes it.
fn worker(pool: Pool) -> tenure::Result<Worker> {
    let schedule = NewSchedule::every(Duration::from_secs(10), "visitors.count")
        .overlap(Overlap::Skip)
        .description("How many came lately");
    Worker::builder(pool)
        .schedule("visitors", schedule)
        .handler("visitors.count", count_visitors)
        .build()
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = Pool::new(&std::env::var("DATABASE_URL")?, &Default::default())?;
    worker(pool.clone())?.run_until_idle().await?;

    let schedule = Client::new(pool.clone()).schedule("visitors");
    let preview = schedule.preview(3).await?;
    println!("{}, {} slots ahead.", preview.rule, preview.slots.len());

    let slot = schedule.run_now().await?;
    worker(pool)?.run_until_idle().await?;
    println!("{}", schedule.explain(slot.plan_time).await?.answer);
    for slot in schedule.slots(&SlotFilter::default()).await? {
        let rows = slot
            .rows_affected
            .map(|rows| format!(", {rows} rows"))
            .unwrap_or_default();
        println!("{} {}{rows}", slot.plan_time, slot.state);
    }
    schedule.delete().await?;
    Ok(())
}
