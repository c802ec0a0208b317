//! Tenure on PostgreSQL: work that must not be lost, must not run twice by accident, and must not run without
//! permission.
//!
//! [`Client`] puts work in and waits for it, [`worker`] runs it, [`mod@schedules`] lets it come by itself, [`services`]
//! rescue what a dead worker held and start what is scheduled, [`testing`] helps to test all of them.
//!
//! All of it is SQL in the schema `tenure`; this crate carries that SQL, applies it ([`mod@migrate`]) and calls it, with
//! refusals as typed errors ([`Error`]).
//!
//! What this documentation does not show (`store`, `operations` and others) is for the server and the command of this
//! workspace. It changes without notice.

pub mod client;
pub mod error;
#[doc(hidden)]
pub mod evidence;
pub mod executions;
mod init;
#[cfg(feature = "metrics")]
#[doc(hidden)]
pub mod measure;
#[cfg(not(feature = "metrics"))]
mod measure;
pub mod migrate;
#[doc(hidden)]
pub mod operations;
pub mod pool;
pub mod schedules;
pub mod services;
#[cfg(feature = "sqlx")]
pub mod sqlx;
#[doc(hidden)]
pub mod store;
pub mod testing;
mod tls;
#[cfg(feature = "opentelemetry")]
#[doc(hidden)]
pub mod traces;
#[cfg(not(feature = "opentelemetry"))]
mod traces;
pub mod worker;
#[doc(hidden)]
pub mod zones;

pub use client::{Client, IntoNewJob, Job, JobEnd, NewJob, enqueue_in, enqueue_many_in};
pub use error::{Error, Result};
pub use init::init;
pub use migrate::migrate;
pub use pool::Pool;
pub use store::jobs::{ClaimedJob, Enqueued};
pub use store::{Payload, Statement, Timestamp};
pub use tenure_api as api;
pub use tenure_core as core;
