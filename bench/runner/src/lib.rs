//! The phases of the benchmark, the same for every peer written in Rust.
//!
//! A peer says how it enqueues and how it works ([`Peer`]); this crate measures. `runner.mjs` and `runner.py` beside it do
//! the same for peers of other languages, and all of them speak the protocol of `bench/README.md`.

mod counters;
mod handled;
mod options;
mod payload;
mod peer;
mod phases;

pub use handled::{handled, handled_many};
pub use options::Options;
pub use payload::{PAYLOAD, Payload};
pub use peer::Peer;
pub use phases::main;
pub use tokio_postgres;

/// A connection of our own, driven in the background.
pub async fn connect(url: &str) -> anyhow::Result<tokio_postgres::Client> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            eprintln!("connection: {error}");
        }
    });
    Ok(client)
}
