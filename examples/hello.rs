//! A worker in twenty lines. While it runs: `tenure job enqueue welcome --payload '{"name": "you"}' --wait 10`

use tenure::worker::{Context, Done, Failure, Worker, shutdown_signal};

#[derive(serde::Deserialize)]
struct Guest {
    name: String,
}

async fn welcome(guest: Guest, _: Context) -> Result<Done, Failure> {
    println!("Welcome, {}!", guest.name);
    Ok(Done::with(format!("Welcome, {}!", guest.name))?)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = std::env::var("DATABASE_URL")?;
    let pool = tenure::Pool::new(&url, &Default::default())?;
    let worker = Worker::builder(pool)
        .listen_url(url)
        .handler("welcome", welcome)
        .build()?;
    println!("Waiting for guests; Ctrl-C closes the house.");
    let report = worker.run_until(shutdown_signal()).await?;
    println!("Guests today: {}.", report.succeeded);
    Ok(())
}
