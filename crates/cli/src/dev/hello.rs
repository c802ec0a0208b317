//! The built-in worker of `tenure dev`: it says hello, so that a new user's first job finishes before their eyes.

use std::future::{Future, ready};

use serde::Deserialize;
use serde_json::json;
use tenure::Pool;
use tenure::worker::{Context, Done, Failure, Worker};

use crate::output::{Format, Output, printable};

/// The kind it runs.
pub(super) const KIND: &str = "hello";
/// Hello is said quickly.
const CONCURRENCY: usize = 4;

#[derive(Debug, Deserialize)]
struct Hello {
    name: Option<String>,
}

/// Says hello until `end`, to whoever a job names.
pub(super) async fn run(pool: Pool, url: &str, out: Output, end: impl Future<Output = ()>) {
    let worker = Worker::builder(pool)
        .listen_url(url)
        .concurrency(CONCURRENCY)
        .connections(1)
        .handler(KIND, move |hello: Hello, context: Context| {
            ready(say(hello, &context, out))
        })
        .build();
    let outcome = match worker {
        Ok(worker) => worker.run_until(end).await.map(drop),
        Err(error) => Err(error),
    };
    if let Err(error) = outcome {
        tracing::warn!(code = error.code(), "the hello worker has ended: {error}");
    }
}

fn say(hello: Hello, context: &Context, out: Output) -> Result<Done, Failure> {
    let said = format!("hello {}", hello.name.as_deref().unwrap_or("world"));
    let job = context.job();
    // Both by the database's clock.
    let waited_ms = (job.leased_at.micros() - job.due.micros()).max(0) / 1000;
    // What nobody can read is still done.
    let _ = match out.format {
        Format::People => out.text(&format!(
            "{} — job {} waited {waited_ms} ms",
            printable(&said),
            job.job_id
        )),
        Format::Json => out.json(&json!({"job_id": job.job_id, "kind": KIND, "said": said, "waited_ms": waited_ms})),
        Format::Quiet => Ok(()),
    };
    Ok(Done::with(json!({ "said": said }))?)
}
