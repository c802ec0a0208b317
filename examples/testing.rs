//! How to test code that enqueues: look at what it enqueued and roll it back, or run it.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use tenure::testing::{assert_enqueued, assert_none_enqueued, drain, enqueued};
use tenure::worker::{Context, Failure, Worker};
use tenure::{Client, NewJob, Pool, enqueue_in};

#[derive(Serialize, Deserialize)]
struct Mail {
    to: String,
}

/// The code under test.
async fn sign_up(transaction: &tokio_postgres::Transaction<'_>, name: &str) -> tenure::Result<()> {
    let mail = Mail { to: name.to_owned() };
    enqueue_in(transaction, &NewJob::of("example.mail", &mail)?.key(name)).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = Pool::new(&std::env::var("DATABASE_URL")?, &Default::default())?;
    let mut connection = pool.get().await?;

    // What a transaction enqueued is seen in it, and gone with it.
    let transaction = connection.transaction().await?;
    sign_up(&transaction, "ann").await?;
    let job = assert_enqueued(&transaction, "example.mail", |mail: &Mail| mail.to == "ann").await;
    println!(
        "Enqueued: {} under the key {:?}.",
        job.payload,
        job.idempotency_key.unwrap_or_default()
    );
    transaction.rollback().await?;
    assert_none_enqueued(&*connection, "example.mail").await;
    println!("Rolled back: nothing was enqueued.");

    // Whether the handler does its work, too: run what is there, until nothing is left.
    let client = Client::new(pool.clone());
    client
        .enqueue_many(&[mail("bob")?, mail("cleo")?, mail("nobody")?])
        .await?;
    let sent = Arc::new(Mutex::new(Vec::new()));
    let outbox = sent.clone();
    let worker = Worker::builder(pool).handler("example.mail", move |mail: Mail, _: Context| {
        let outbox = outbox.clone();
        async move {
            if mail.to == "nobody" {
                return Err(Failure::retry("no such address"));
            }
            outbox.lock().expect("no panic holds it").push(mail.to);
            Ok(())
        }
    });
    let report = drain(worker).await?;
    let mut sent = sent.lock().expect("no panic holds it").clone();
    sent.sort();
    println!("Sent to {}; {} failed.", sent.join(" and "), report.failed);
    let waiting = enqueued(&*connection, "example.mail").await?;
    println!("The one that failed is {}: it is tried again later.", waiting[0].state);
    Ok(())
}

fn mail(to: &str) -> tenure::Result<NewJob> {
    NewJob::of("example.mail", &Mail { to: to.to_owned() })
}
