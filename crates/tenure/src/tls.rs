//! Encrypted connections, with the meanings `libpq` gives to `sslmode` and `sslrootcert`.
//!
//! | sslmode | what is promised |
//! |---|---|
//! | `disable` | nothing |
//! | `allow`, `prefer` (default) | encrypted if the server can; any certificate |
//! | `require` | encrypted; any certificate, unless `sslrootcert` names one: then as `verify-ca` |
//! | `verify-ca` | and the certificate is signed by a root we trust |
//! | `verify-full` | and it is the certificate of that host |
//!
//! The roots are those in the file `sslrootcert`; with `sslrootcert=system`, or without it, those of the system. A Unix
//! socket is never encrypted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tenure_core::{Refusal, codes};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres_rustls::MakeRustlsConnect;

/// How much the server's certificate must prove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verify {
    /// Nothing: the connection is only hidden from those who listen.
    Nothing,
    /// That a root we trust has signed it.
    Authority(Roots),
    /// And that it is the certificate of the host we asked for.
    Host(Roots),
}

/// The roots we trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Roots {
    /// Those of the system.
    System,
    /// Those in a file.
    File(PathBuf),
}

/// Makes TLS connections for tokio-postgres.
#[derive(Clone)]
pub(crate) struct Connector(MakeRustlsConnect);

impl Connector {
    pub(crate) fn new(verify: &Verify) -> Result<Connector, Refusal> {
        let provider = Arc::new(ring::default_provider());
        let verifier = verifier(verify, &provider)?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable("The TLS settings do not fit together.", &error))?
            .dangerous() // By name only: see Verify for what each verifier promises.
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        Ok(Connector(MakeRustlsConnect::new(config)))
    }
}

impl<S> MakeTlsConnect<S> for Connector
where
    MakeRustlsConnect: MakeTlsConnect<S>,
{
    type Stream = <MakeRustlsConnect as MakeTlsConnect<S>>::Stream;
    type TlsConnect = <MakeRustlsConnect as MakeTlsConnect<S>>::TlsConnect;
    type Error = <MakeRustlsConnect as MakeTlsConnect<S>>::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<Self::TlsConnect, Self::Error> {
        // A Unix socket has no host name and is asked for one all the same; nothing is encrypted there.
        let host = if host.is_empty() { "localhost" } else { host };
        MakeTlsConnect::<S>::make_tls_connect(&mut self.0, host)
    }
}

fn verifier(verify: &Verify, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, Refusal> {
    let of_roots = |roots| {
        WebPkiServerVerifier::builder_with_provider(Arc::new(store(roots)?), provider.clone())
            .build()
            .map_err(|error| unusable("There are no usable root certificates.", &error))
    };
    Ok(match verify {
        Verify::Nothing => Arc::new(AnyCertificate(provider.signature_verification_algorithms)),
        Verify::Authority(roots) => Arc::new(AnyHost(of_roots(roots)?)),
        Verify::Host(roots) => of_roots(roots)?,
    })
}

fn store(roots: &Roots) -> Result<RootCertStore, Refusal> {
    let certificates = match roots {
        Roots::System => rustls_native_certs::load_native_certs().certs,
        Roots::File(path) => read(path)?,
    };
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(certificates);
    Ok(store)
}

fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, Refusal> {
    let what = format!("The root certificates in {} cannot be read.", path.display());
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| unusable(&what, &error))
}

fn unusable(what: &str, error: &dyn std::error::Error) -> Refusal {
    Refusal::new(
        codes::DATABASE_TLS,
        what,
        error.to_string(),
        "Name a file of PEM certificates with sslrootcert in the database URL, or sslrootcert=system.",
    )
}

/// Takes any certificate, but checks that the server has its key.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// Takes a certificate of a trusted root, whichever host it names.
#[derive(Debug)]
struct AnyHost(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyHost {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use rustls::Error::InvalidCertificate;
        match self.0.verify_server_cert(certificate, intermediates, host, ocsp, now) {
            // The name is looked at last: all else was in order.
            Err(InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
