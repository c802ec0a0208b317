//! One run of a handler, with its panics caught.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use tracing::Span;
use tracing::field::Empty;

use super::failure::Verdict;
use super::kind::Kind;
use super::{Context, Done, Failure};
use crate::traces;

/// What a handler's code makes of a job.
pub(super) type Outcome = Result<Done, Failure>;
/// A run that has been set up.
pub(super) type Running = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// A run, from its set-up to its outcome.
pub(super) struct Run {
    pub(super) kind: Arc<Kind>,
    pub(super) context: Context,
    stage: Stage,
    span: Span,
    /// When it was first polled.
    began: Option<Instant>,
}

enum Stage {
    New,
    Running(Running),
    Over,
}

impl Run {
    pub(super) fn new(kind: Arc<Kind>, context: Context) -> Run {
        let job = context.job();
        // The names are those of OpenTelemetry for somebody who takes messages and works on them.
        let span = tracing::info_span!(
            "job", otel.kind = "consumer", otel.status_code = Empty, otel.status_description = Empty,
            messaging.system = "tenure", messaging.operation.type = "process", messaging.destination.name = %job.kind,
            job_id = %job.job_id, kind = %job.kind, run = job.run, attempt = job.attempt,
        );
        if let Some(traceparent) = &job.traceparent {
            traces::continue_from(&span, traceparent);
        }
        Run {
            kind,
            context,
            stage: Stage::New,
            span,
            began: None,
        }
    }

    /// Polls it once where we are: many runs need no more. One that is not over is to be driven by a task.
    pub(super) fn poll_here(&mut self) -> Poll<Outcome> {
        Pin::new(self).poll(&mut std::task::Context::from_waker(Waker::noop()))
    }

    fn over(&self, outcome: &Outcome, took: Duration) {
        self.kind.run_times.record(&self.context.job().kind, took);
        if self.span.is_disabled() {
            return;
        }
        match outcome {
            Ok(_) => self.span.record("otel.status_code", "OK"),
            Err(failure) if matches!(failure.verdict, Verdict::Retry(_) | Verdict::Permanent) => {
                self.span.record("otel.status_description", failure.code_name());
                self.span.record("otel.status_code", "ERROR")
            }
            Err(_) => &self.span,
        };
    }
}

impl Future for Run {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, waking: &mut std::task::Context<'_>) -> Poll<Outcome> {
        let this = self.get_mut();
        let _within = this.span.enter();
        let first = matches!(this.stage, Stage::New);
        let began = *this.began.get_or_insert_with(Instant::now);
        // The set-up reads the payload and runs the handler's code up to its first future: user code like the rest.
        let polled = catch_unwind(AssertUnwindSafe(|| {
            if let Stage::New = this.stage {
                this.stage = Stage::Running(this.kind.set_up(this.context.clone()));
            }
            let Stage::Running(running) = &mut this.stage else {
                return Poll::Pending;
            };
            let polled = running.as_mut().poll(waking);
            if polled.is_ready() {
                // Dropped here, so that a panic in it is caught too.
                this.stage = Stage::Over;
            }
            polled
        }));
        let polled = polled.unwrap_or_else(|panic| {
            let stage = std::mem::replace(&mut this.stage, Stage::Over);
            let _ = catch_unwind(AssertUnwindSafe(|| drop(stage)));
            Poll::Ready(Err(panicked(&*panic)))
        });
        if first || polled.is_ready() {
            let took = began.elapsed();
            if first {
                this.kind.learn(polled.is_ready(), took);
            }
            if let Poll::Ready(outcome) = &polled {
                this.over(outcome, took);
            }
        }
        polled
    }
}

/// The failure of a handler that panicked.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> Failure {
    Failure::retry(text_of(panic)).class("panic")
}

/// What a panic says.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    match text {
        Some(text) => format!("The handler panicked: {text}"),
        None => "The handler panicked.".to_owned(),
    }
}
