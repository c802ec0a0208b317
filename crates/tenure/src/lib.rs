//! Tenure on PostgreSQL: work that must not be lost, must not run twice by accident, and must not run without
//! permission.
//!
//! [`Client`] puts work in and waits for it, [`worker`] runs it, [`mod@schedules`] lets it come by itself, [`services`]
//! rescue what a dead worker held and start what is scheduled, [`testing`] helps to test all of them.
//!
//! All of it is SQL in the schema `tenure`; this crate carries that SQL, applies it ([`mod@migrate`]) and calls it
//! ([`store`]), with refusals as typed errors ([`Error`]).

pub mod client;
pub mod error;
pub mod evidence;
pub mod executions;
mod init;
#[cfg(feature = "metrics")]
pub mod measure;
#[cfg(not(feature = "metrics"))]
mod measure;
pub mod migrate;
pub mod operations;
pub mod pool;
pub mod schedules;
pub mod services;
#[cfg(feature = "sqlx")]
pub mod sqlx;
pub mod store;
pub mod testing;
mod tls;
#[cfg(feature = "opentelemetry")]
pub mod traces;
#[cfg(not(feature = "opentelemetry"))]
mod traces;
pub mod worker;
pub mod zones;

pub use client::{Client, IntoNewJob, Job, JobEnd, NewJob, enqueue_in, enqueue_many_in};
pub use error::{Error, Result};
pub use init::init;
pub use migrate::migrate;
pub use pool::Pool;
pub use store::Statement;
pub use tenure_api as api;
pub use tenure_core as core;
