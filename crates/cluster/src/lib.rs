//! A private PostgreSQL cluster, managed from installed binaries, for development and for tests.
//!
//! The same server, the same SQL and the same promises as in production; only the upkeep is ours. A [`Cluster`] lives in a
//! data directory, answers on a Unix socket, and stops with the process that started it, even when that process is killed.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use tenure_cluster::{Cluster, ClusterOptions};
//!
//! let cluster = Cluster::start(ClusterOptions::new("/var/lib/tenure")).await?;
//! println!("psql '{}'", cluster.url("postgres"));
//! cluster.stop().await?;
//! # Ok(())
//! # }
//! ```

mod account;
mod cluster;
mod data_dir;
mod error;
mod find;
mod initdb;
mod install_hint;
mod launch;
mod lock;
mod log;
mod options;
mod orphan;
mod ready;
mod reset;
mod running;
mod runtime_dir;
mod supervise;
pub mod testing;
mod url;

pub use cluster::Cluster;
pub use data_dir::default_data_dir;
pub use error::PrivateError;
pub use find::{Installation, Search, find};
pub use log::explain_log;
pub use options::ClusterOptions;
pub use reset::reset;
pub use running::{Running, running};
