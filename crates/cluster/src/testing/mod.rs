//! Real databases for tests: one server per run, one database per test.
//!
//! The server is a private cluster of the test process, without fsync and gone when the process is, or the server that
//! `TENURE_TEST_DATABASE_URL` or `DATABASE_URL` names. A test's database is a copy of a template prepared once.

mod cluster;
mod database;
mod template;

pub use cluster::TestCluster;
pub use database::TestDatabase;
pub use template::Template;
