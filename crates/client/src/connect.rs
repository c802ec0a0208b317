//! Connections: directly or through a proxy, with TLS where the URL says https, and only to addresses that a filter lets pass.
//!
//! For the programs of Tenure, which send other requests too. It is not part of the promises of this crate.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tower_service::Service;

use crate::Error;

/// The addresses of one family are tried alone for this long before those of the other join in (RFC 8305).
const HEAD_START: Duration = Duration::from_millis(300);

/// Why there is no connection. Nothing was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The URL names no host.
    #[error("the URL names no host")]
    NoHost,
    /// The name has no address.
    #[error("{0}")]
    Lookup(#[source] io::Error),
    /// The filter lets none of the addresses pass.
    #[error("{0}")]
    NotPermitted(String),
    /// It took too long.
    #[error("no connection within {} seconds", .0.as_secs())]
    TimedOut(Duration),
    /// The connection was refused or broke.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// The certificate or the TLS of the other side was not accepted.
    #[error("{0}")]
    Tls(#[source] rustls::Error),
    /// The proxy did not open the way.
    #[error("the proxy {proxy} did not connect: {why}")]
    Proxy {
        /// Without its password.
        proxy: Uri,
        /// What it said.
        why: String,
    },
}

/// Lets addresses pass, or says why none may be called. It also learns whether TLS is used.
type Filter = Arc<dyn Fn(Vec<SocketAddr>, bool) -> Result<Vec<SocketAddr>, String> + Send + Sync>;

/// Opens connections, for the client of `hyper-util`.
#[derive(Clone)]
pub struct Connector {
    tls: TlsConnector,
    limit: Duration,
    filter: Option<Filter>,
    proxies: Option<Arc<Matcher>>,
}

impl Connector {
    /// Connects directly, and gives up after `limit`.
    pub fn new(tls: ClientConfig, limit: Duration) -> Connector {
        Connector {
            tls: TlsConnector::from(Arc::new(tls)),
            limit,
            filter: None,
            proxies: None,
        }
    }

    /// Connects only to addresses that the filter returns. It sees every address that is called, whether the URL names it or a name has it;
    /// with a proxy, that of the proxy.
    pub fn with_filter(
        mut self,
        filter: impl Fn(Vec<SocketAddr>, bool) -> Result<Vec<SocketAddr>, String> + Send + Sync + 'static,
    ) -> Connector {
        self.filter = Some(Arc::new(filter));
        self
    }

    /// Connects through the proxies that the environment names (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`), except to this machine.
    pub fn with_proxies_of_environment(self) -> Connector {
        self.with_proxies(Matcher::from_env())
    }

    fn with_proxies(mut self, proxies: Matcher) -> Connector {
        self.proxies = Some(Arc::new(proxies));
        self
    }

    async fn connect(&self, uri: &Uri) -> Result<Stream, ConnectError> {
        let is_secure = is_secure(uri);
        let (host, port) = host_and_port(uri)?;
        let proxies = self.proxies.as_ref().filter(|_| !is_loopback(uri));
        let wire = match proxies.and_then(|proxies| proxies.intercept(uri)) {
            Some(proxy) => self.open_through(&proxy, uri, port).await?,
            None => {
                // An address is looked up like a name: however it is written, what is called is what was checked.
                let found = tokio::net::lookup_host((host, port)).await;
                let mut addresses: Vec<SocketAddr> = found.map_err(ConnectError::Lookup)?.collect();
                if let Some(filter) = &self.filter {
                    addresses = filter(addresses, is_secure).map_err(ConnectError::NotPermitted)?;
                }
                let stream = open(&addresses).await.map_err(ConnectError::Io)?;
                stream.set_nodelay(true).map_err(ConnectError::Io)?;
                Box::new(stream) as Box<dyn Wire>
            }
        };
        if !is_secure {
            return Ok(Stream(TokioIo::new(wire)));
        }
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| ConnectError::Tls(rustls::Error::General(error.to_string())))?;
        let secured = self.tls.connect(name, wire).await.map_err(tls_or_io)?;
        Ok(Stream(TokioIo::new(Box::new(secured))))
    }

    /// Asks the proxy for a tunnel. The key of a request is not seen by the proxy where TLS is used.
    async fn open_through(&self, proxy: &Intercept, uri: &Uri, port: u16) -> Result<Box<dyn Wire>, ConnectError> {
        let refused = |why: String| ConnectError::Proxy {
            proxy: proxy.uri().clone(),
            why,
        };
        if !matches!(proxy.uri().scheme_str(), Some("http" | "https")) {
            return Err(refused("only proxies of HTTP are supported".to_owned()));
        }
        let to_proxy = Connector {
            proxies: None,
            ..self.clone()
        };
        let mut tunnel = Tunnel::new(proxy.uri().clone(), to_proxy);
        if let Some(password) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(password.clone());
        }
        // Without a port the tunnel would be to 443, whatever the scheme.
        let host = uri.host().ok_or(ConnectError::NoHost)?;
        let target: Uri = format!("http://{host}:{port}/")
            .parse()
            .map_err(|_| ConnectError::NoHost)?;
        let opened = tunnel.call(target).await;
        opened
            .map(|stream| stream.0.into_inner())
            .map_err(|error| refused(reason(&error)))
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let limit = connector.limit;
            let connected = tokio::time::timeout(limit, connector.connect(&uri)).await;
            connected.unwrap_or(Err(ConnectError::TimedOut(limit)))
        })
    }
}

/// Tries the addresses of the family that comes first; those of the other are next when these failed or are slow.
async fn open(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let is_first = |address: &&SocketAddr| Some(address.is_ipv4()) == addresses.first().map(SocketAddr::is_ipv4);
    let (first, second): (Vec<SocketAddr>, Vec<SocketAddr>) = addresses.iter().partition(is_first);
    if second.is_empty() {
        return TcpStream::connect(first.as_slice()).await;
    }
    let (mut early, late) = (
        pin!(TcpStream::connect(first.as_slice())),
        TcpStream::connect(second.as_slice()),
    );
    match tokio::time::timeout(HEAD_START, &mut early).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(_)) => late.await,
        Err(_) => tokio::select! {
            Ok(stream) = early => Ok(stream),
            Ok(stream) = late => Ok(stream),
            else => Err(io::ErrorKind::HostUnreachable.into()),
        },
    }
}

/// Whether the URL names this machine.
pub fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn is_secure(uri: &Uri) -> bool {
    uri.scheme_str() == Some("https")
}

fn host_and_port(uri: &Uri) -> Result<(&str, u16), ConnectError> {
    let host = uri.host().ok_or(ConnectError::NoHost)?;
    let port = uri.port_u16().unwrap_or(if is_secure(uri) { 443 } else { 80 });
    Ok((host.trim_start_matches('[').trim_end_matches(']'), port))
}

/// An error of TLS travels within one of input and output.
pub(crate) fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

fn tls_or_io(error: io::Error) -> ConnectError {
    match tls_error(&error) {
        Some(tls) => ConnectError::Tls(tls.clone()),
        None => ConnectError::Io(error),
    }
}

/// The reason at the bottom of an error.
pub fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    let mut reason = error;
    while let Some(deeper) = reason.source() {
        reason = deeper;
    }
    reason.to_string()
}

/// Certificates are always checked: by the authorities of the file, else by those of the system.
pub fn tls_config(ca_file: Option<&Path>) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    let Some(path) = ca_file else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return tls_config_of(roots);
    };
    let text = std::fs::read(path).map_err(|error| Error::authorities(path, &error))?;
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| Error::authorities(path, &error))?;
        roots
            .add(certificate)
            .map_err(|error| Error::authorities(path, &error))?;
    }
    match roots.is_empty() {
        true => Err(Error::authorities(path, &"There is none in it.")),
        false => tls_config_of(roots),
    }
}

/// Trusts no server: for those that are called without TLS.
pub(crate) fn tls_config_without_roots() -> Result<ClientConfig, Error> {
    tls_config_of(RootCertStore::empty())
}

fn tls_config_of(roots: RootCertStore) -> Result<ClientConfig, Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::tls(&error))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A connection, with TLS or without.
pub struct Stream(TokioIo<Box<dyn Wire>>);

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

#[cfg(test)]
mod tests {
    use super::*;

    async fn connect(connector: &Connector, url: &str) -> Result<Stream, ConnectError> {
        connector.clone().call(url.parse().expect("a URL")).await
    }

    /// Webhooks are kept from private addresses by this.
    #[tokio::test]
    async fn a_filter_sees_every_address_however_it_is_written() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let tls = tls_config_without_roots().expect("a configuration");
        let connector = Connector::new(tls, Duration::from_secs(10));
        let public = connector.clone().with_filter(|found, _| {
            let public: Vec<SocketAddr> = found.into_iter().filter(|it| !it.ip().is_loopback()).collect();
            if public.is_empty() {
                Err("private".to_owned())
            } else {
                Ok(public)
            }
        });
        for host in ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "localhost"] {
            let url = format!("http://{host}:{port}/");
            assert!(connect(&connector, &url).await.is_ok(), "{url}");
            let refused = connect(&public, &url).await.err();
            assert!(
                matches!(&refused, Some(ConnectError::NotPermitted(why)) if why == "private"),
                "{url}: {refused:?}"
            );
        }
    }

    #[tokio::test]
    async fn an_address_of_the_other_family_is_tried_when_the_first_is_closed() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let here = listener.local_addr().expect("an address");
        let closed = SocketAddr::new("::1".parse().expect("an address"), here.port());
        for addresses in [[closed, here], [here, closed]] {
            let stream = open(&addresses).await.expect("a connection");
            assert_eq!(stream.peer_addr().expect("an address"), here);
        }
        assert!(open(&[closed]).await.is_err());
        assert!(open(&[]).await.is_err());
    }

    #[tokio::test]
    async fn a_proxy_of_another_kind_is_refused() {
        let matcher = Matcher::builder().all("socks5://127.0.0.1:1").build();
        let tls = tls_config_without_roots().expect("a configuration");
        let connector = Connector::new(tls, Duration::from_secs(10)).with_proxies(matcher);
        let refused = connect(&connector, "https://tenure.invalid/").await.err();
        assert!(
            matches!(&refused, Some(ConnectError::Proxy { why, .. }) if why.contains("only proxies of HTTP")),
            "{refused:?}"
        );
    }
}
