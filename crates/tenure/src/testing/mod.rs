//! For tests of programs that use Tenure.
//!
//! [`drain`] runs what was enqueued, [`assert_enqueued`] and [`enqueued`] tell what is there: on any database.
//!
//! With the feature `private` there are real databases for tests, too: one server per run, one database per test. The
//! server is a private cluster of the test process, without fsync and gone when the process is, or the server that
//! `TENURE_TEST_DATABASE_URL` or `DATABASE_URL` names. A test's database is a copy of a template prepared once.

#[cfg(feature = "private")]
mod cluster;
#[cfg(feature = "private")]
mod database;
mod jobs;
#[cfg(feature = "private")]
mod template;

#[cfg(feature = "private")]
pub use cluster::TestCluster;
#[cfg(feature = "private")]
pub use database::TestDatabase;
pub use jobs::{WaitingJob, assert_enqueued, assert_none_enqueued, drain, enqueued};
#[cfg(feature = "private")]
pub use template::Template;
