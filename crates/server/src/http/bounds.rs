//! What a request may take of the server: time until it is answered, and memory while it is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tenure_core::codes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::Problem;

/// No answer begins later, long polls included. How long it then goes on is another matter: see `listen`.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Memory is counted in these.
const UNIT_BYTES: usize = 1024;

/// Memory for bodies. One that finds no room waits for it before it is read.
pub(super) struct Room {
    /// For bodies as they come.
    raw: Shelf,
    /// For what is made of them. Apart, or two that have come would wait for each other.
    read: Shelf,
    /// How long a body waits for room.
    patience: Duration,
}

struct Shelf {
    free: Arc<Semaphore>,
    units: u32,
}

/// What a request has reserved; free again when it is answered.
#[derive(Clone, Default)]
pub(super) struct Reserved(Arc<Mutex<Vec<OwnedSemaphorePermit>>>);

impl Room {
    pub(super) fn new(bytes_max: usize, patience: Duration) -> Room {
        Room {
            raw: Shelf::new(bytes_max),
            read: Shelf::new(bytes_max),
            patience,
        }
    }

    /// Reserves memory for a body as it comes.
    pub(super) async fn for_body(&self, bytes: usize, reserved: &Reserved) -> Result<(), Problem> {
        self.reserve(&self.raw, bytes, reserved).await
    }

    /// Reserves memory for what is made of it.
    pub(super) async fn for_values(&self, bytes: usize, reserved: &Reserved) -> Result<(), Problem> {
        self.reserve(&self.read, bytes, reserved).await
    }

    async fn reserve(&self, shelf: &Shelf, bytes: usize, reserved: &Reserved) -> Result<(), Problem> {
        let Ok(taken) = tokio::time::timeout(self.patience, shelf.take(bytes)).await else {
            let problem = Problem::new(
                codes::SERVER_BUSY,
                "The server has no room for this body.",
                "It is busy with other large ones.",
                "Try again later, with less at once.",
            );
            return Err(problem.retry_after(1));
        };
        reserved.0.lock().unwrap_or_else(PoisonError::into_inner).push(taken);
        Ok(())
    }
}

impl Shelf {
    fn new(bytes: usize) -> Shelf {
        let units = u32::try_from(bytes / UNIT_BYTES).unwrap_or(u32::MAX).max(1);
        Shelf {
            free: Arc::new(Semaphore::new(units as usize)),
            units,
        }
    }

    async fn take(&self, bytes: usize) -> OwnedSemaphorePermit {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX);
        let taken = self.free.clone().acquire_many_owned(units.min(self.units));
        taken.await.expect("it is never closed")
    }
}

/// Answers in time, and frees what the request has reserved.
pub(super) async fn within(mut request: Request, next: Next) -> Response {
    let reserved = Reserved::default();
    request.extensions_mut().insert(reserved.clone());
    let answered = tokio::time::timeout(ANSWER_MAX, next.run(request)).await;
    drop(reserved);
    answered.unwrap_or_else(|_| {
        let problem = Problem::new(
            codes::SERVER_BUSY,
            "The server did not answer in time.",
            format!("It gives up after {} seconds.", ANSWER_MAX.as_secs()),
            "What was asked may have been done: look before you ask again.",
        );
        problem.into_response()
    })
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use axum::Router;
    use axum::body::{Body, Bytes, HttpBody};
    use axum::middleware::from_fn;
    use axum::routing::get;
    use http_body_util::BodyExt;
    use hyper::body::Frame;
    use hyper::service::Service;
    use hyper_util::service::TowerToHyperService;

    use super::*;

    /// A stream that has nothing to say yet.
    struct Silence;

    impl HttpBody for Silence {
        type Data = Bytes;
        type Error = axum::Error;

        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
            Poll::Pending
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_begins_in_time_and_goes_on_for_as_long_as_it_likes() {
        let router = Router::new()
            .route("/late", get(std::future::pending::<()>))
            .route("/stream", get(async || Body::new(Silence)))
            .layer(from_fn(within));
        let ask = async |path: &str| {
            let request = Request::builder().uri(path).body(Body::empty()).expect("a request");
            let service = TowerToHyperService::new(router.clone());
            service.call(request).await.expect("an answer")
        };
        assert_eq!(ask("/late").await.status(), 503);
        let mut stream = ask("/stream").await;
        assert_eq!(stream.status(), 200);
        let more = tokio::time::timeout(10 * ANSWER_MAX, stream.frame()).await;
        assert!(more.is_err(), "it is still going on");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_waits_for_room_and_is_refused_when_there_is_none() {
        let room = Room::new(10 * UNIT_BYTES, Duration::from_secs(30));
        let (first, second) = (Reserved::default(), Reserved::default());
        room.for_body(6 * UNIT_BYTES, &first).await.expect("there is room");
        room.for_body(6 * UNIT_BYTES, &second).await.expect_err("there is none");
        room.for_body(4 * UNIT_BYTES, &second).await.expect("for less there is");
        room.for_values(1, &first).await.expect("values lie elsewhere");
        let waits = room.for_body(usize::MAX, &second);
        let frees = async {
            first.0.lock().expect("free").clear();
        };
        let (none, ()) = tokio::join!(waits, frees);
        none.expect_err("its own share is in the way");
        second.0.lock().expect("free").clear();
        room.for_body(usize::MAX, &second)
            .await
            .expect("what is larger than all gets all");
    }
}
