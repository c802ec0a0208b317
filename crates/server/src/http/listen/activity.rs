//! What goes on on a connection: which answers are under way, and whether their reader takes them.
//!
//! HTTP/2 has windows: a client may keep the connection alive and its window shut. Then nothing is stuck in the socket, and
//! only here can it be seen that an answer has something to send and nobody asks for it.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::Instant;

/// An answer is given in pieces of this size at most.
const PIECE_BYTES_MAX: usize = 64 * 1024;

/// The requests of one connection.
#[derive(Clone)]
pub(super) struct Activity(Arc<Mutex<State>>);

struct State {
    /// Since when there is nothing to do.
    idle_since: Option<Instant>,
    next: u64,
    /// Requests under way: since when something lies ready that nobody takes.
    under_way: HashMap<u64, Option<Instant>>,
}

/// One request, until its answer has gone out whole.
pub(super) struct Request {
    activity: Activity,
    number: u64,
}

impl Activity {
    pub(super) fn new() -> Activity {
        Activity(Arc::new(Mutex::new(State {
            idle_since: Some(Instant::now()),
            next: 0,
            under_way: HashMap::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request has begun.
    pub(super) fn begin(&self) -> Request {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.idle_since = None;
        state.under_way.insert(number, None);
        Request {
            activity: self.clone(),
            number,
        }
    }

    /// Whether there has been no request for so long.
    pub(super) fn is_idle(&self, patience: Duration) -> bool {
        self.state().idle_since.is_some_and(|since| since.elapsed() >= patience)
    }

    /// Whether an answer has been left lying for so long.
    pub(super) fn is_stuck(&self, patience: Duration) -> bool {
        let state = self.state();
        let mut ready = state.under_way.values().flatten();
        ready.any(|since| since.elapsed() >= patience)
    }
}

impl Request {
    /// Its answer, watched.
    pub(super) fn answer(self, body: Body) -> Answer {
        let answer = Answer {
            body,
            rest: Bytes::new(),
            request: self,
        };
        answer.note(Some(Instant::now()));
        answer
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let mut state = self.activity.state();
        state.under_way.remove(&self.number);
        if state.under_way.is_empty() {
            state.idle_since = Some(Instant::now());
        }
    }
}

/// The body of an answer. While it has more to give it counts as left lying, from when it was last asked. It is given
/// in pieces, so that who reads slowly is seen to read.
pub(super) struct Answer {
    body: Body,
    /// What is left of a large frame.
    rest: Bytes,
    request: Request,
}

impl Answer {
    fn note(&self, ready_since: Option<Instant>) {
        let mut state = self.request.activity.state();
        state.under_way.insert(self.request.number, ready_since);
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            let frame = Pin::new(&mut self.body).poll_frame(context);
            // A stream that has nothing to say yet is not left lying.
            self.note(frame.is_ready().then(Instant::now));
            match std::task::ready!(frame) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                other => return Poll::Ready(other),
            }
        } else {
            self.note(Some(Instant::now()));
        }
        let piece = self.rest.len().min(PIECE_BYTES_MAX);
        let piece = self.rest.split_to(piece);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (of_body, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(of_body.lower() + rest);
        hint
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// A stream that has nothing to say.
    struct Silence;

    impl HttpBody for Silence {
        type Data = Bytes;
        type Error = axum::Error;

        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
            Poll::Pending
        }
    }

    async fn is_silent(answer: &mut Answer) -> bool {
        std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut *answer).poll_frame(context).is_pending())).await
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_stuck_when_it_has_something_that_nobody_takes() {
        let activity = Activity::new();
        let mut large = activity.begin().answer(Body::from(vec![0; 2 * PIECE_BYTES_MAX]));
        let mut stream = activity.begin().answer(Body::new(Silence));
        assert!(is_silent(&mut stream).await);
        tokio::time::advance(PATIENCE).await;
        assert!(activity.is_stuck(PATIENCE), "the large one was never asked for");
        assert!(large.frame().await.is_some());
        assert!(!activity.is_stuck(PATIENCE), "who takes a piece reads");
        assert_eq!(large.size_hint().exact(), Some(PIECE_BYTES_MAX as u64));
        tokio::time::advance(PATIENCE).await;
        assert!(activity.is_stuck(PATIENCE), "and stops reading with the next");
        drop(large);
        assert!(!activity.is_stuck(PATIENCE), "a stream may be silent for long");
        assert!(!activity.is_idle(PATIENCE));
        drop(stream);
        tokio::time::advance(PATIENCE).await;
        assert!(activity.is_idle(PATIENCE));
    }
}
