//! Handlers: the code that runs jobs of a kind.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tenure_core::json;

use super::run::Running;
use super::{Context, Done, Failure};
use crate::store::Payload;

/// Runs the jobs of one kind. A closure will do too: [`WorkerBuilder::handler`](super::WorkerBuilder::handler).
///
/// ```
/// use tenure::worker::{Context, Done, Failure, Handler};
///
/// #[derive(serde::Deserialize)]
/// struct Mail {
///     to: String,
/// }
///
/// struct SendMail {
///     sender: String,
/// }
///
/// impl Handler for SendMail {
///     const KIND: &'static str = "mail.send";
///     type Payload = Mail;
///
///     async fn run(&self, mail: Mail, _context: Context) -> Result<Done, Failure> {
///         if mail.to.is_empty() {
///             return Err(Failure::permanent("nobody to send to"));
///         }
///         Ok(Done::with(serde_json::json!({"from": self.sender}))?)
///     }
/// }
/// ```
pub trait Handler: Send + Sync + 'static {
    /// The kind it runs.
    const KIND: &'static str;
    /// What the payload of a job is read as.
    type Payload: DeserializeOwned + Send + 'static;

    /// How its jobs are run.
    fn options(&self) -> HandlerOptions {
        HandlerOptions::default()
    }

    /// Runs one job.
    fn run(&self, payload: Self::Payload, context: Context) -> impl Future<Output = Result<Done, Failure>> + Send;
}

/// The delay before the next attempt, from the number of the attempt that failed and its failure.
pub(super) type Backoff = dyn Fn(u32, &Failure) -> Duration + Send + Sync;

/// How jobs of a kind are run.
///
/// ```
/// use std::time::Duration;
/// use tenure::worker::HandlerOptions;
///
/// let options = HandlerOptions::default()
///     .concurrency(4)
///     .timeout(Duration::from_secs(30))
///     .backoff(|attempt, _failure| Duration::from_secs(5) * attempt);
/// ```
#[derive(Clone, Default)]
pub struct HandlerOptions {
    pub(super) concurrency: Option<usize>,
    pub(super) timeout: Option<Duration>,
    pub(super) backoff: Option<Arc<Backoff>>,
}

impl HandlerOptions {
    /// At most so many at once in this worker. (A limit over all workers is a matter of the kind's policy.)
    pub fn concurrency(mut self, concurrency: usize) -> HandlerOptions {
        self.concurrency = Some(concurrency);
        self
    }

    /// A run that takes longer is stopped and has failed with the class `timeout`; it may be tried again. Its future is
    /// dropped, as by `tokio::time::timeout`.
    pub fn timeout(mut self, timeout: Duration) -> HandlerOptions {
        self.timeout = Some(timeout);
        self
    }

    /// The delay before the next attempt, from the attempt that failed (1 is the first) and its failure, instead of the
    /// backoff of the kind's policy. [`Failure::retry_in`] still has the last word. Whole seconds, rounded up.
    pub fn backoff(mut self, backoff: impl Fn(u32, &Failure) -> Duration + Send + Sync + 'static) -> HandlerOptions {
        self.backoff = Some(Arc::new(backoff));
        self
    }
}

impl std::fmt::Debug for HandlerOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HandlerOptions")
            .field("concurrency", &self.concurrency)
            .field("timeout", &self.timeout)
            .field("backoff", &self.backoff.as_ref().map(|_| "custom"))
            .finish()
    }
}

/// A handler of any payload: reads it from the context's job and sets the run up.
pub(super) type Erased = Arc<dyn Fn(Context) -> Running + Send + Sync>;

/// A handler as a worker knows it.
pub(super) struct Registered {
    pub(super) kind: String,
    pub(super) options: HandlerOptions,
    /// How many jobs one call takes; none: each job has a call of its own.
    pub(super) batch_max: Option<usize>,
    pub(super) run: Erased,
}

/// A closure as a handler.
pub(super) fn of_closure<P, D, F, Fut>(handler: F) -> Erased
where
    P: DeserializeOwned + Send + 'static,
    D: Into<Done>,
    F: Fn(P, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<D, Failure>> + Send + 'static,
{
    Arc::new(move |context| match read::<P>(&context.job().payload) {
        Ok(payload) => {
            let run = handler(payload, context);
            Box::pin(async move { run.await.map(Into::into) })
        }
        Err(failure) => Box::pin(std::future::ready(Err(failure))),
    })
}

/// A [`Handler`] as a handler.
pub(super) fn of_handler<H: Handler>(handler: H) -> Erased {
    let handler = Arc::new(handler);
    Arc::new(move |context| match read::<H::Payload>(&context.job().payload) {
        Ok(payload) => {
            let handler = handler.clone();
            Box::pin(async move { handler.run(payload, context).await })
        }
        Err(failure) => Box::pin(std::future::ready(Err(failure))),
    })
}

/// The payload as the handler wants it. One that cannot be read never will be: a permanent failure that says where.
pub(super) fn read<P: DeserializeOwned>(payload: &Payload) -> Result<P, Failure> {
    payload.read().or_else(|_| {
        let unreadable = |message| Failure::permanent(message).code("payload_unreadable").class("payload");
        let text = payload.as_str();
        json::check(text.as_bytes()).map_err(|error| unreadable(format!("The payload cannot be read: {error}")))?;
        // Again, and slower, but this time with the place of the fault.
        let mut reader = serde_json::Deserializer::from_str(text);
        serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let place = error.path();
            unreadable(format!("The payload cannot be read at {place}: {}", error.inner()))
        })
    })
}
