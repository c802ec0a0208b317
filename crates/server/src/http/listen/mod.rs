//! The listener: takes connections in, within limits, and sees them to their end.
//!
//! Every wait for a client has a limit, so that none can hold a connection for ever by sending or reading slowly. None of
//! them limits an answer as a whole: one that streams for hours is fine while its reader keeps up.

mod activity;
mod connection;
mod patience;
mod tls;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use tenure_core::codes;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use self::connection::Connection;
pub use self::tls::Certificates;
use super::problem::Problem;
use crate::ending::closed;

/// Clients beyond the limit that are told so at the same time; more wait until they are accepted.
const REFUSALS_MAX: usize = 64;
/// How often the log tells that clients are refused.
const TELL_EVERY: Duration = Duration::from_secs(60);
/// How long to wait when nothing can be accepted, as when the process has no file descriptors left.
const ACCEPT_AGAIN: Duration = Duration::from_millis(200);

/// What a client may take of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Open connections of clients.
    pub clients_max: usize,
    /// Until the head of the next request is there; so also how long a connection may stay without one.
    pub head: Duration,
    /// Until the whole body is there.
    pub body: Duration,
    /// How long a client may leave unread what is there for it.
    pub write: Duration,
    /// Until TLS is agreed upon.
    pub handshake: Duration,
    /// How long requests that have begun are waited for at the end.
    pub drain: Duration,
    /// The largest body.
    pub body_bytes_max: usize,
    /// All bodies together, as they come and as they are kept while their requests are answered.
    pub bodies_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        let seconds = Duration::from_secs;
        Limits {
            clients_max: 10_000,
            head: seconds(30),
            body: seconds(30),
            write: seconds(30),
            handshake: seconds(10),
            drain: seconds(20),
            body_bytes_max: 16 * 1024 * 1024,
            bodies_bytes_max: 256 * 1024 * 1024,
        }
    }
}

/// Whether a connection's requests are answered.
#[derive(Clone)]
enum Duty {
    Answer,
    /// All of them get this, and the connection ends.
    Refuse(Problem),
}

/// What every connection needs to know.
struct House {
    application: Router,
    limits: Limits,
    certificates: Option<Arc<Certificates>>,
    /// Gone when the server is about to end.
    ending: watch::Receiver<()>,
}

/// Who came, and on which terms.
type Admitted = (TcpStream, SocketAddr, Duty, OwnedSemaphorePermit);

/// Serves connections until `ending` is closed. Then idle ones are closed, requests that have begun are finished, and
/// what is left after the time to drain is cut off. Answers how many connections that were.
pub(super) async fn listen(
    listener: TcpListener,
    application: Router,
    limits: Limits,
    certificates: Option<Arc<Certificates>>,
    ending: watch::Receiver<()>,
) -> usize {
    let drain = limits.drain;
    let room = Arc::new(Semaphore::new(limits.clients_max));
    let spare = Arc::new(Semaphore::new(REFUSALS_MAX));
    let house = Arc::new(House {
        application,
        limits,
        certificates,
        ending: ending.clone(),
    });
    let mut connections = JoinSet::new();
    let ended = closed(ending);
    tokio::pin!(ended);
    let mut told: Option<Instant> = None;
    loop {
        let (stream, peer, duty, permit) = tokio::select! {
            biased;
            () = &mut ended => break,
            admitted = admit(&listener, &room, &spare) => admitted,
        };
        while connections.try_join_next().is_some() {}
        if matches!(duty, Duty::Refuse(_)) && told.is_none_or(|told| told.elapsed() >= TELL_EVERY) {
            tracing::warn!(
                clients_max = house.limits.clients_max,
                "clients are refused: there is no room for more"
            );
            told = Some(Instant::now());
        }
        let connection = Connection::new(house.clone(), peer, duty);
        connections.spawn(async move {
            connection.run(stream).await;
            drop(permit);
        });
    }
    // Nobody may come any more: what the system still holds for us is refused by it.
    drop(listener);
    let finished = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(drain, finished).await.is_err() {
        let left = connections.len();
        connections.shutdown().await;
        return left;
    }
    0
}

/// The next client. Where there is no room it is told so rather than left waiting: whoever spreads requests over several
/// servers learns at once that this one is full, and everybody else learns why nothing comes.
async fn admit(listener: &TcpListener, room: &Arc<Semaphore>, spare: &Arc<Semaphore>) -> Admitted {
    let (stream, peer) = accept(listener).await;
    // Small answers are not to wait for more.
    let _ = stream.set_nodelay(true);
    if let Ok(permit) = room.clone().try_acquire_owned() {
        return (stream, peer, Duty::Answer, permit);
    }
    let permit = spare.clone().acquire_owned().await.expect("it is never closed");
    (stream, peer, Duty::Refuse(full()), permit)
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            // A client that was gone before its turn is no reason to wait.
            Err(error) if is_of_the_client(&error) => {}
            Err(error) => {
                tracing::error!("no connection can be accepted: {error}");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

fn full() -> Problem {
    Problem::new(
        codes::SERVER_BUSY,
        "The server has no room for another connection.",
        "As many clients as its setting clients_max allows are connected.",
        "Try again later, or at another server; keep one connection for many requests.",
    )
    .retry_after(1)
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use axum::body::{Body, Bytes, HttpBody};
    use axum::routing::get;
    use hyper::body::Frame;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::watch;

    use super::*;

    /// An answer that goes on until this is ready.
    struct Stream(Pin<Box<dyn Future<Output = ()> + Send>>);

    impl HttpBody for Stream {
        type Data = Bytes;
        type Error = axum::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
            self.0.as_mut().poll(context).map(|()| None)
        }
    }

    /// Asks for a stream, ends the server once it has begun, and answers what came then and how many were cut off.
    async fn end_with(
        drain: Duration,
        until: impl FnOnce(watch::Receiver<()>) -> Stream + Clone + Send + Sync + 'static,
    ) -> (Vec<u8>, usize) {
        let (ending, ended) = watch::channel(());
        let of_route = ended.clone();
        let route = get(async move || Body::new(until(of_route)));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let mut client = TcpStream::connect(listener.local_addr().expect("it"))
            .await
            .expect("connect");
        let limits = Limits {
            drain,
            ..Limits::default()
        };
        let serving = tokio::spawn(listen(listener, Router::new().route("/", route), limits, None, ended));
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
            .await
            .expect("it reads");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await.expect("the head"));
        }
        drop(ending);
        let mut rest = Vec::new();
        // One that is cut off may end with an error.
        let _ = client.read_to_end(&mut rest).await;
        (rest, serving.await.expect("it ends"))
    }

    #[tokio::test]
    async fn a_stream_that_ends_with_the_server_ends_well_and_any_other_is_cut_off() {
        let (rest, cut_off) = end_with(Limits::default().drain, |ended| Stream(Box::pin(closed(ended)))).await;
        assert_eq!((rest.as_slice(), cut_off), (&b"0\r\n\r\n"[..], 0));
        let (rest, cut_off) = end_with(Duration::from_millis(100), |_| Stream(Box::pin(std::future::pending()))).await;
        assert_eq!((rest.as_slice(), cut_off), (&b""[..], 1));
    }
}
