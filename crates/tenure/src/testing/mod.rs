//! For tests of programs that use Tenure: [`drain`] runs what was enqueued, [`assert_enqueued`] and [`enqueued`] tell what is there.
//!
//! The crate `tenure-cluster` has real databases for tests: one server per run, one database per test.

mod jobs;

pub use jobs::{WaitingJob, assert_enqueued, assert_none_enqueued, drain, enqueued};
