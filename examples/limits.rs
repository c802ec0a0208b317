//! At most two jobs of a kind at once, however many workers there are; and a kind that is paused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use serde_json::{Value, json};
use tenure::api::jobs::JobExplain;
use tenure::store::kinds;
use tenure::testing::drain;
use tenure::worker::{Context, Worker, WorkerBuilder};
use tenure::{Client, NewJob, Pool};

/// How many are at the printer, and how many were at the most.
#[derive(Default)]
struct Printer {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Printer {
    async fn print(&self) {
        let now = self.now.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(now, SeqCst);
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.now.fetch_sub(1, SeqCst);
    }
}

fn worker(pool: &Pool, printer: &Arc<Printer>) -> WorkerBuilder {
    let printer = printer.clone();
    Worker::builder(pool.clone()).handler("example.print", move |_: Value, _: Context| {
        let printer = printer.clone();
        async move {
            printer.print().await;
            Ok(())
        }
    })
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = Pool::new(&std::env::var("DATABASE_URL")?, &Default::default())?;
    let (client, printer) = (Client::new(pool.clone()), Arc::new(Printer::default()));
    let admin = pool.get().await?;

    // The limit is the kind's, kept by the database: it holds for every process, and no exit can leak a place.
    kinds::kind_set(&*admin, "example.print", &json!({"concurrency_max": 2}), None).await?;
    let pages: Vec<NewJob> = (0..12).map(|_| NewJob::new("example.print")).collect();
    let pages = client.enqueue_many(&pages).await?;

    kinds::kind_pause(&*admin, "example.print", Some("no paper"), None).await?;
    let explain = JobExplain {
        job_id: pages[0].job_id,
    };
    let told = tenure::operations::call(&*admin, &explain).await?;
    println!("Paused: {} waits, since: {}", pages[0].state, told.reasons[0].why);
    kinds::kind_resume(&*admin, "example.print", None).await?;

    // Three workers; they might as well be on three machines.
    let work = tokio::try_join!(
        drain(worker(&pool, &printer)),
        drain(worker(&pool, &printer)),
        drain(worker(&pool, &printer)),
    );
    work?;
    for page in &pages {
        client.wait(page.job_id, Duration::from_secs(60)).await?;
    }
    println!(
        "{} pages printed, never more than {} at once.",
        pages.len(),
        printer.most.load(SeqCst)
    );
    Ok(())
}
