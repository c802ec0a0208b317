//! The server's certificate, read again when it was renewed.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tenure_core::{Refusal, codes};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Mutex;

/// The name of HTTP/2 in a handshake.
pub(super) const HTTP_2: &[u8] = b"h2";
const HTTP_1_1: &[u8] = b"http/1.1";

/// How often it is looked whether the files have changed.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Certificate and key of the server, from two files.
pub struct Certificates {
    cert: PathBuf,
    key: PathBuf,
    current: RwLock<Arc<ServerConfig>>,
    /// What tells of a change. Heard from the beginning, so that nothing is missed while the server starts.
    news: Mutex<News>,
}

struct News {
    hang_up: Signal,
    /// The files as they were read.
    seen: [Option<State>; 2],
}

/// By what a change of a file is seen: when it was written, how long it is, and which one it is.
type State = (SystemTime, u64, u64);

impl Certificates {
    /// Reads them.
    pub fn read(cert: &Path, key: &Path) -> Result<Certificates, Refusal> {
        let news = News {
            hang_up: signal(SignalKind::hangup()).map_err(|error| unusable("certificate", cert, &error))?,
            seen: [cert, key].map(state),
        };
        Ok(Certificates {
            cert: cert.to_owned(),
            key: key.to_owned(),
            current: RwLock::new(Arc::new(config(cert, key)?)),
            news: Mutex::new(news),
        })
    }

    /// Those in force.
    pub(super) fn current(&self) -> Arc<ServerConfig> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads them again on SIGHUP, and when one of the files has changed. What cannot be read leaves the old ones in force:
    /// whoever renews replaces one file after the other.
    pub async fn follow(self: Arc<Certificates>) {
        let mut news = self.news.lock().await;
        loop {
            let told = tokio::select! {
                told = news.hang_up.recv() => told.is_some(),
                () = tokio::time::sleep(LOOK_EVERY) => false,
            };
            let now = [&self.cert, &self.key].map(|path| state(path));
            if !told && now == news.seen {
                continue;
            }
            news.seen = now;
            match config(&self.cert, &self.key) {
                Ok(config) => {
                    *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
                    tracing::info!(file = %self.cert.display(), "the certificate was read again");
                }
                Err(refusal) => tracing::warn!("the old certificate stays in force: {} {}", refusal.what, refusal.why),
            }
        }
    }
}

fn state(path: &Path) -> Option<State> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len(), found.ino()))
}

/// TLS 1.2 or newer, HTTP/2 rather than 1.1.
fn config(cert: &Path, key: &Path) -> Result<ServerConfig, Refusal> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect)
        .map_err(|error| unusable("certificate", cert, &error))?;
    if chain.is_empty() {
        return Err(unusable("certificate", cert, &rustls::Error::NoCertificatesPresented));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable("key", key, &error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private))
        .map_err(|error| unusable("key", key, &error))?;
    config.alpn_protocols = vec![HTTP_2.to_vec(), HTTP_1_1.to_vec()];
    Ok(config)
}

fn unusable(of: &str, path: &Path, error: &dyn std::error::Error) -> Refusal {
    Refusal::new(
        codes::CONFIG_INVALID,
        format!("The TLS {of} in {} cannot be used.", path.display()),
        error.to_string(),
        "Name PEM files that belong together with --tls-cert (the whole chain, the server's first) and --tls-key.",
    )
}
