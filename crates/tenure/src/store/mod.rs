//! One call per SQL function, and no logic. For the server and the command of this workspace: it carries no promise of
//! stability.
//!
//! Every call takes a client, a connection of a pool or a transaction. A refusal comes back as
//! [`Error::Refused`](crate::Error::Refused); one that was raised has aborted the transaction it was raised in, as any
//! SQL error does. Statements are unnamed, so that PgBouncer in transaction mode works, whatever its version.
//!
//! ```no_run
//! # async fn run(client: tokio_postgres::Client) -> tenure::Result<()> {
//! use tenure::store::jobs::{self, Claim, End, NewJob};
//!
//! jobs::enqueue_many(&client, &[NewJob::new("report.build").key("2026-01")], None).await?;
//! for job in jobs::claim_many(&client, &Claim::new("worker-1").started()).await? {
//!     jobs::end_many(&client, &[End::succeeded(job.job_id, job.token)]).await?;
//! }
//! # Ok(())
//! # }
//! ```

pub mod anchors;
mod call;
pub mod config;
pub mod dead_letters;
pub mod events;
pub mod evidence;
pub mod executions;
pub mod executions_tick;
pub mod governance_changes;
pub mod health;
mod identity;
pub mod jobs;
pub mod kinds;
pub(crate) mod locks;
mod payload;
pub mod principals;
pub mod requests;
pub mod retention;
pub mod schedules;
pub mod services;
mod statement;
pub mod subscriptions;
mod transactions;

pub use identity::{as_principal, as_tenant, for_every_tenant, now, principal};
pub use payload::Payload;
pub use statement::Statement;
pub use tenure_api::Timestamp;
pub use transactions::{Snapshot, open_transactions};
