//! Payloads whose type names the kind of their job.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::NewJob;
use crate::error::Result;

/// The payload of one kind of job. The program that enqueues and the worker share the type, so neither writes the kind down.
///
/// ```no_run
/// use std::time::Duration;
/// use serde::{Deserialize, Serialize};
/// use tenure::worker::{Context, Worker};
/// use tenure::{Client, Job, NewJob};
///
/// #[derive(Serialize, Deserialize)]
/// struct Welcome {
///     name: String,
/// }
///
/// impl Job for Welcome {
///     const KIND: &'static str = "mail.welcome";
/// }
///
/// # async fn run(pool: tenure::Pool) -> tenure::Result<()> {
/// let client = Client::new(pool.clone());
/// let welcome = Welcome { name: "Ann".to_owned() };
/// client.enqueue(&welcome).await?;
///
/// // With options:
/// client.enqueue(&NewJob::typed(&welcome)?.due_in(Duration::from_secs(60)).key("welcome-ann")).await?;
///
/// let worker = Worker::builder(pool)
///     .job(async |welcome: Welcome, _: Context| {
///         println!("Welcome, {}!", welcome.name);
///         Ok(())
///     })
///     .build()?;
/// # Ok(())
/// # }
/// ```
pub trait Job: Serialize + DeserializeOwned + Send + 'static {
    /// The kind of its jobs.
    const KIND: &'static str;
}

impl NewJob {
    /// A job of the kind of this payload: [`NewJob::of`] with [`Job::KIND`].
    ///
    /// ```
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Welcome { name: String }
    /// # impl tenure::Job for Welcome { const KIND: &'static str = "mail.welcome"; }
    /// use tenure::NewJob;
    ///
    /// let job = NewJob::typed(&Welcome { name: "Ann".to_owned() })?.priority(10);
    /// assert_eq!(job.kind(), "mail.welcome");
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn typed<J: Job>(payload: &J) -> Result<NewJob> {
        NewJob::of(J::KIND, payload)
    }
}

/// What can be enqueued: a [`NewJob`], or a [`Job`] with the defaults of its kind.
pub trait IntoNewJob: sealed::Convert {}

impl IntoNewJob for NewJob {}
impl<J: Job> IntoNewJob for J {}

pub(super) mod sealed {
    use super::{Cow, NewJob, Result};

    /// A [`NewJob`] is borrowed as it is.
    pub trait Convert: Sized {
        fn new_job(&self) -> Result<Cow<'_, NewJob>>;
        fn new_jobs(jobs: &[Self]) -> Result<Cow<'_, [NewJob]>>;
    }
}

impl sealed::Convert for NewJob {
    fn new_job(&self) -> Result<Cow<'_, NewJob>> {
        Ok(Cow::Borrowed(self))
    }

    fn new_jobs(jobs: &[NewJob]) -> Result<Cow<'_, [NewJob]>> {
        Ok(Cow::Borrowed(jobs))
    }
}

impl<J: Job> sealed::Convert for J {
    fn new_job(&self) -> Result<Cow<'_, NewJob>> {
        NewJob::typed(self).map(Cow::Owned)
    }

    fn new_jobs(jobs: &[J]) -> Result<Cow<'_, [NewJob]>> {
        jobs.iter().map(NewJob::typed).collect::<Result<_>>().map(Cow::Owned)
    }
}
