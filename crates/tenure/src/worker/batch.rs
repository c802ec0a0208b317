//! One call of a handler for many jobs.
//!
//! Each job keeps a run of its own, with its place, lease, deadline and middleware. The runs of a claim meet where their
//! handler would begin, are handed to one call, and go on with their outcomes.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, oneshot};
use tracing::Instrument;

use super::handler::{Erased, read};
use super::run::{Outcome, panicked};
use super::{Context, Done, Failure};

/// A call under way: an outcome for each job, in their order, or one failure of them all.
type Call = Pin<Box<dyn Future<Output = Result<Vec<Outcome>, Failure>> + Send>>;

/// A handler of many jobs, whatever it returns for each.
type CallHandler<P> = dyn Fn(Vec<(P, Context)>) -> Call + Send + Sync;

/// A job that waits for its call.
struct Member<P> {
    payload: P,
    context: Context,
    outcome: oneshot::Sender<Outcome>,
}

/// Where the jobs of a kind meet.
struct Meeting<P> {
    jobs_max: usize,
    handler: Box<CallHandler<P>>,
    waiting: Mutex<Vec<Member<P>>>,
    /// A call is about to begin, and takes what waits then.
    is_starting: AtomicBool,
    /// How many calls may run at once.
    calls: Arc<Semaphore>,
}

/// A closure for many jobs as a handler of each.
pub(super) fn of_closure<P, D, F, Fut>(jobs_max: usize, calls_max: usize, handler: F) -> Erased
where
    P: DeserializeOwned + Send + 'static,
    D: Into<Done>,
    F: Fn(Vec<(P, Context)>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Vec<Result<D, Failure>>, Failure>> + Send + 'static,
{
    let handler = Arc::new(handler);
    let call = move |jobs| -> Call {
        let handler = handler.clone();
        Box::pin(async move {
            let outcomes = handler(jobs).await?;
            Ok(outcomes.into_iter().map(|outcome| outcome.map(Into::into)).collect())
        })
    };
    let meeting = Arc::new(Meeting {
        jobs_max,
        handler: Box::new(call),
        waiting: Mutex::default(),
        is_starting: AtomicBool::new(false),
        calls: Arc::new(Semaphore::new(calls_max)),
    });
    Arc::new(move |context| match read::<P>(&context.job().payload) {
        Ok(payload) => Box::pin(meeting.clone().run(payload, context)),
        Err(failure) => Box::pin(std::future::ready(Err(failure))),
    })
}

impl<P: Send + 'static> Meeting<P> {
    /// The run of one job.
    async fn run(self: Arc<Meeting<P>>, payload: P, context: Context) -> Outcome {
        let (sender, outcome) = oneshot::channel();
        let member = Member {
            payload,
            context,
            outcome: sender,
        };
        self.lock().push(member);
        // All jobs of a claim are polled once before any of them is polled again: by then all are here.
        step_back().await;
        self.start_call();
        // It panicked while it was dropped.
        outcome
            .await
            .unwrap_or_else(|_| Err(Failure::retry("The handler panicked.").class("panic")))
    }

    /// Calls the handler for what waits, as soon as another call may run; what comes until then comes along.
    fn start_call(self: &Arc<Meeting<P>>) {
        if self.is_starting.swap(true, Ordering::AcqRel) {
            return;
        }
        let meeting = self.clone();
        let calls = self.calls.clone();
        tokio::spawn(async move {
            let Ok(_running) = calls.acquire_owned().await else {
                return;
            };
            // A job that comes after this starts a call of its own.
            meeting.is_starting.store(false, Ordering::Release);
            let (members, more) = meeting.take();
            if more {
                meeting.start_call();
            }
            let Some(first) = members.first() else { return };
            let kind = first.context.job().kind.clone();
            // It is of no single job.
            let span = tracing::info_span!(parent: None, "job_batch", kind, jobs = members.len());
            meeting.call(members).instrument(span).await;
        });
    }

    /// The jobs of the next call, and whether others wait.
    fn take(&self) -> (Vec<Member<P>>, bool) {
        let mut waiting = self.lock();
        // Runs that were stopped meanwhile are over.
        waiting.retain(|member| !member.outcome.is_closed());
        let rest = waiting.len().min(self.jobs_max);
        let rest = waiting.split_off(rest);
        let members = std::mem::replace(&mut *waiting, rest);
        (members, !waiting.is_empty())
    }

    /// One call, and an outcome for each of its jobs. Without a run that waits for it, it is stopped.
    async fn call(self: Arc<Meeting<P>>, members: Vec<Member<P>>) {
        let (jobs, mut senders): (Vec<_>, Vec<_>) = members
            .into_iter()
            .map(|member| ((member.payload, member.context), member.outcome))
            .unzip();
        let outcomes = tokio::select! {
            biased;
            outcomes = caught(async { (self.handler)(jobs).await }) => outcomes,
            () = all_stopped(&mut senders) => return,
        };
        let jobs = senders.len();
        let outcomes = match outcomes {
            Ok(outcomes) if outcomes.len() == jobs => outcomes,
            Ok(outcomes) => vec![Err(mismatched(outcomes.len(), jobs)); jobs],
            Err(failure) => vec![Err(failure); jobs],
        };
        for (sender, outcome) in senders.into_iter().zip(outcomes) {
            // A run that was stopped meanwhile wants none.
            let _ = sender.send(outcome);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Member<P>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whose outcome is whose cannot be known.
fn mismatched(outcomes: usize, jobs: usize) -> Failure {
    Failure::retry(format!("The handler returned {outcomes} outcomes for {jobs} jobs.")).code("outcomes_mismatched")
}

/// Ready at its second poll.
async fn step_back() {
    let mut polled = false;
    poll_fn(|waking| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        waking.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The call with its panics as failures.
async fn caught(call: impl Future<Output = Result<Vec<Outcome>, Failure>>) -> Result<Vec<Outcome>, Failure> {
    let mut call = std::pin::pin!(call);
    poll_fn(|waking| {
        let polled = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(waking)));
        polled.unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic))))
    })
    .await
}

/// Ready when no run waits any more.
async fn all_stopped(senders: &mut [oneshot::Sender<Outcome>]) {
    for sender in senders {
        sender.closed().await;
    }
}
