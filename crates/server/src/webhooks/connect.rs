//! The connections of webhooks: only to addresses that may be called. The check and the call see the same addresses.

use std::error::Error;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tower_service::Service;

use super::reach::{NOT_PERMITTED, Reach};

/// How long a receiver may take to be reached.
const CONNECT_MAX: Duration = Duration::from_secs(5);

type Failed = Box<dyn Error + Send + Sync>;

/// Opens connections, with TLS where the URL says https.
#[derive(Clone)]
pub(super) struct Connector {
    reach: Reach,
    tls: TlsConnector,
}

impl Connector {
    pub(super) fn new(reach: Reach, tls: ClientConfig) -> Connector {
        Connector {
            reach,
            tls: TlsConnector::from(Arc::new(tls)),
        }
    }

    async fn connect(&self, uri: &Uri) -> Result<Stream, Failed> {
        let secure = uri.scheme_str() == Some("https");
        let host = uri.host().ok_or("the URL names no host")?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        // An address is looked up like a name: however it is written, what is called is what was checked.
        let found = tokio::net::lookup_host((host, port)).await?;
        let permitted: Vec<SocketAddr> = found.filter(|it| self.reach.permits(it.ip(), secure)).collect();
        if permitted.is_empty() {
            return Err(NOT_PERMITTED.into());
        }
        let stream = TcpStream::connect(permitted.as_slice()).await?;
        stream.set_nodelay(true)?;
        if !secure {
            return Ok(Stream::of(stream));
        }
        let name = ServerName::try_from(host.to_owned())?;
        Ok(Stream::of(self.tls.connect(name, stream).await?))
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = Failed;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, Failed>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            match tokio::time::timeout(CONNECT_MAX, connector.connect(&uri)).await {
                Ok(outcome) => outcome,
                Err(_) => Err(format!("no connection within {} seconds", CONNECT_MAX.as_secs()).into()),
            }
        })
    }
}

trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A connection, with TLS or without.
pub(super) struct Stream(TokioIo<Box<dyn Wire>>);

impl Stream {
    fn of(wire: impl Wire + 'static) -> Stream {
        Stream(TokioIo::new(Box::new(wire)))
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Stream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
