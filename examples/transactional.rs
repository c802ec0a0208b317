//! A job that exists exactly if the order it belongs to does: both are written by one transaction.

use anyhow::Context;
use serde_json::json;
use tenure::{Client, Enqueued, NewJob, enqueue_in};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = std::env::var("DATABASE_URL").context("DATABASE_URL")?;
    let client = Client::new(tenure::Pool::new(&url, &Default::default())?);
    // Once, at the start: or the very first order would hold up all others until it is committed.
    client.open_lanes(["order.ship"]).await?;

    let mut connection = client.pool().get().await?;
    connection
        .batch_execute("create temp table orders (id int primary key)")
        .await?;

    let transaction = connection.transaction().await?;
    transaction.execute("insert into orders values (1)", &[]).await?;
    let lost = enqueue_in(&transaction, &ship(1)?).await?;
    transaction.rollback().await?;
    let answer = client.wait(lost.job_id, Default::default()).await;
    println!(
        "Rolled back: no order, and the job is unknown ({}).",
        answer.expect_err("no job").code()
    );

    let transaction = connection.transaction().await?;
    transaction.execute("insert into orders values (2)", &[]).await?;
    let kept = enqueue_in(&transaction, &ship(2)?).await?;
    transaction.commit().await?;
    println!("Committed: order 2 and job {}, which is {}.", kept.job_id, kept.state);

    // The key names the order: whoever tries again gets the job that is there.
    let Enqueued { job_id, duplicate, .. } = client.enqueue(&ship(2)?).await?;
    println!(
        "Enqueued again: duplicate = {duplicate}, the same job = {}.",
        job_id == kept.job_id
    );
    Ok(())
}

fn ship(order: u32) -> tenure::Result<NewJob> {
    Ok(NewJob::of("order.ship", &json!({"order": order}))?.key(format!("order-{order}")))
}
