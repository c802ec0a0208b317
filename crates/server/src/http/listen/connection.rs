//! One connection: TLS where there is a certificate, then HTTP/1.1 or HTTP/2.

use std::convert::Infallible;
use std::future::{Future, ready};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderValue, Request, Response, Version, header};
use axum::response::IntoResponse;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tenure_core::codes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::activity::{Activity, Answer};
use super::patience::Patient;
use super::{Duty, House, tls};
use crate::ending::closed;
use crate::http::answer_headers;
use crate::http::problem::Problem;

/// The head of a request: its line and its headers, in bytes. The parser of HTTP/1.1 takes a hundred headers.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// What is buffered of a connection, each way.
const BUFFER_BYTES_MAX: usize = 128 * 1024;
/// Requests at once on one connection of HTTP/2.
const STREAMS_MAX: u32 = 200;
/// A connection of HTTP/2 whose peer is gone is noticed after this.
const PING_EVERY: Duration = Duration::from_secs(20);
/// How often a connection of HTTP/2 is looked at, at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a client of HTTP/2 may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(5);
/// How long somebody who is refused may take.
const REFUSAL_WITHIN: Duration = Duration::from_secs(5);
/// How the first byte of TLS reads.
const HANDSHAKE: u8 = 0x16;

pub(super) struct Connection {
    house: Arc<House>,
    peer: SocketAddr,
    duty: Duty,
    activity: Activity,
}

impl Connection {
    pub(super) fn new(house: Arc<House>, peer: SocketAddr, duty: Duty) -> Connection {
        Connection {
            house,
            peer,
            duty,
            activity: Activity::new(),
        }
    }

    /// Until it is closed, by whomever.
    pub(super) async fn run(self, stream: TcpStream) {
        match self.duty {
            Duty::Answer => self.secured(stream).await,
            Duty::Refuse(_) => {
                let _ = tokio::time::timeout(REFUSAL_WITHIN, self.secured(stream)).await;
            }
        }
    }

    async fn secured(self, stream: TcpStream) {
        let Some(certificates) = self.house.certificates.clone() else {
            return self.http_1(stream).await;
        };
        let agreed = async {
            let mut first = [0];
            // Whoever speaks HTTP here is told what is wrong, in a language that they understand.
            if stream.peek(&mut first).await? == 1 && first[0] != HANDSHAKE {
                return Ok(Err(stream));
            }
            let acceptor = TlsAcceptor::from(certificates.current());
            acceptor.accept(stream).await.map(Ok)
        };
        let agreed = tokio::select! {
            agreed = tokio::time::timeout(self.house.limits.handshake, agreed) => agreed,
            () = closed(self.house.ending.clone()) => return,
        };
        match agreed {
            Ok(Ok(Ok(stream))) => match stream.get_ref().1.alpn_protocol() {
                Some(tls::HTTP_2) => self.http_2(stream).await,
                _ => self.http_1(stream).await,
            },
            Ok(Ok(Err(plain))) => {
                let refusing = Connection {
                    duty: Duty::Refuse(not_encrypted()),
                    ..self
                };
                let _ = tokio::time::timeout(REFUSAL_WITHIN, refusing.http_1(plain)).await;
            }
            Ok(Err(error)) => tracing::debug!(peer = %self.peer, "no TLS: {error}"),
            Err(_) => tracing::debug!(peer = %self.peer, "no TLS: the handshake took too long"),
        }
    }

    async fn http_1(self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let limits = &self.house.limits;
        let stream = TokioIo::new(Patient::new(stream, limits.write));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head)
            .max_header_size(HEAD_BYTES_MAX)
            .max_buf_size(BUFFER_BYTES_MAX)
            .serve_connection(stream, self.service());
        tokio::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = closed(self.house.ending.clone()) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        self.note(ended);
    }

    async fn http_2(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let limits = &self.house.limits;
        let stream = TokioIo::new(Patient::new(stream, limits.write));
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_header_list_size(HEAD_BYTES_MAX as u32)
            .max_concurrent_streams(STREAMS_MAX)
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_EVERY)
            .serve_connection(stream, self.service());
        tokio::pin!(connection);
        let ending = closed(self.house.ending.clone());
        tokio::pin!(ending);
        let mut leaving = false;
        loop {
            tokio::select! {
                ended = connection.as_mut() => return self.note(ended),
                () = &mut ending, if !leaving => {
                    leaving = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = tokio::time::sleep(LOOK_EVERY) => {
                    if self.activity.is_stuck(limits.write) {
                        return tracing::debug!(peer = %self.peer, "cut off: the client does not read its answer");
                    }
                    if !leaving && self.activity.is_idle(limits.head) {
                        leaving = true;
                        connection.as_mut().graceful_shutdown();
                    } else if leaving && self.activity.is_idle(GOODBYE) {
                        // It was told to go, has nothing to wait for, and stays.
                        return;
                    }
                }
            }
        }
    }

    /// Answers the requests of this connection.
    fn service(
        &self,
    ) -> impl Service<
        Request<Incoming>,
        Response = Response<Answer>,
        Error = Infallible,
        Future: Future<Output = Result<Response<Answer>, Infallible>> + Send + 'static,
    > + Clone
    + 'static {
        let application = TowerToHyperService::new(self.house.application.clone());
        let (activity, peer, duty) = (self.activity.clone(), self.peer, self.duty.clone());
        service_fn(move |mut request: Request<Incoming>| {
            let under_way = activity.begin();
            let answered = match &duty {
                Duty::Answer => {
                    request.extensions_mut().insert(ConnectInfo(peer));
                    Ok(application.call(request.map(Body::new)))
                }
                Duty::Refuse(problem) => Err(ready(refused(problem, request.version()))),
            };
            async move {
                let response = match answered {
                    Ok(answered) => answered.await?,
                    Err(refused) => refused.await,
                };
                Ok(response.map(|body| under_way.answer(body)))
            }
        })
    }

    fn note(&self, ended: hyper::Result<()>) {
        if let Err(error) = ended {
            let why = std::error::Error::source(&error).map_or_else(String::new, |why| format!(": {why}"));
            tracing::debug!(peer = %self.peer, "a connection has ended: {error}{why}");
        }
    }
}

/// The refusal, and the end of the connection.
fn refused(problem: &Problem, version: Version) -> Response<Body> {
    let mut response = problem.clone().into_response();
    answer_headers::add(response.headers_mut(), None);
    if version < Version::HTTP_2 {
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn not_encrypted() -> Problem {
    Problem::new(
        codes::REQUEST_INVALID,
        "The request came unencrypted.",
        "This port speaks TLS.",
        "Use https:// instead of http://.",
    )
}
