//! What a peer brings.

use std::future::Future;

use anyhow::Result;

use crate::Options;

/// One system under test.
pub trait Peer: Sized + Send + Sync + 'static {
    /// Its name in the results, that of its directory.
    const SYSTEM: &'static str;

    /// What its bulk call takes.
    type Batch: Send;

    /// SQL that answers true while any job is not finished: the drain's clock stops when it turns false.
    const UNFINISHED: &'static str;

    /// The settings worth knowing, for the report.
    fn settings(&self) -> String;

    /// Connects, and makes its schema unless it is there. Not measured.
    fn open(options: &Options) -> impl Future<Output = Result<Self>>;

    /// So many jobs as its bulk call takes them.
    fn batch(&self, jobs: usize) -> Self::Batch;

    /// Enqueues them with one bulk call.
    fn enqueue_many(&self, batch: Self::Batch) -> impl Future<Output = Result<()>> + Send;

    /// Enqueues one job, committed when this returns.
    fn enqueue_one(&self) -> impl Future<Output = Result<()>> + Send;

    /// Works until the process ends.
    fn work(&self) -> impl Future<Output = Result<()>> + Send;
}
