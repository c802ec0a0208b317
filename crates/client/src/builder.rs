//! How a client is set up.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tenure_core::api_key::ApiKey;

use crate::connect::{Connector, is_loopback, tls_config, tls_config_without_roots};
use crate::exchange::Server;
use crate::{Client, Error};

/// How long a server may take to be there.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// An idle connection is not trusted for longer: servers come and go.
const IDLE_MAX: Duration = Duration::from_secs(5);
/// How long an answer may take, if nothing else is said.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Sets up a [`Client`]. Nothing is sent before the first call.
#[derive(Debug, Clone)]
pub struct Builder {
    url: String,
    /// None if what was given is not a key. It is not kept, so that it cannot be shown.
    api_key: Option<ApiKey>,
    tenant: Option<String>,
    ca_file: Option<PathBuf>,
    timeout: Duration,
    allow_plaintext: bool,
    user_agent: String,
}

impl Builder {
    pub(crate) fn new(url: &str, api_key: &str) -> Builder {
        Builder {
            url: url.to_owned(),
            api_key: ApiKey::parse(api_key),
            tenant: None,
            ca_file: None,
            timeout: TIMEOUT,
            allow_plaintext: false,
            user_agent: concat!("tenure-client/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }

    /// The tenant to act in. Without it, that of the API key.
    pub fn tenant(mut self, name: impl Into<String>) -> Builder {
        self.tenant = Some(name.into());
        self
    }

    /// A file of PEM certificates: the authorities to trust instead of those of the system.
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Builder {
        self.ca_file = Some(path.into());
        self
    }

    /// How long an answer may take, beside the time that an operation asks the server to wait; 30 seconds if nothing else is said.
    pub fn timeout(mut self, timeout: Duration) -> Builder {
        self.timeout = timeout;
        self
    }

    /// Sends the API key unencrypted to another machine, where the network itself is safe.
    pub fn allow_plaintext(mut self, allow: bool) -> Builder {
        self.allow_plaintext = allow;
        self
    }

    /// The program and its version, for the log of the server.
    pub fn user_agent(mut self, name: impl Into<String>) -> Builder {
        self.user_agent = name.into();
        self
    }

    /// The client, or what cannot be used.
    pub fn build(self) -> Result<Client, Error> {
        let url = server_url(&self.url)?;
        let uri: Uri = url.parse().map_err(|_| Error::url("It is not a URL."))?;
        let (is_https, is_here) = (uri.scheme_str() == Some("https"), is_loopback(&uri));
        if !is_https && !is_here && !self.allow_plaintext {
            return Err(Error::plaintext(&url));
        }
        // To read the authorities of the system takes a while. Without TLS on this machine none is asked for.
        let tls = match is_https || !is_here {
            true => tls_config(self.ca_file.as_deref())?,
            false => tls_config_without_roots()?,
        };
        let connector = Connector::new(tls, self.timeout.min(CONNECT_MAX)).with_proxies_of_environment();
        let key = self.api_key.ok_or_else(Error::api_key)?;
        let bearer = format!("Bearer {}", key.reveal());
        let mut authorization = HeaderValue::from_str(&bearer).map_err(|_| Error::api_key())?;
        authorization.set_sensitive(true);
        let server = Server {
            http: legacy::Client::builder(TokioExecutor::new())
                .pool_timer(TokioTimer::new())
                .pool_idle_timeout(IDLE_MAX)
                .build(connector),
            url,
            authorization,
            user_agent: HeaderValue::from_str(&self.user_agent).map_err(|_| Error::user_agent(&self.user_agent))?,
            timeout: self.timeout,
        };
        let client = Client {
            server: Arc::new(server),
            tenant: None,
        };
        Ok(match &self.tenant {
            Some(name) => client.in_tenant(name),
            None => client,
        })
    }
}

/// The URL of a server without a slash at its end, or why it cannot be one.
///
/// ```
/// assert_eq!(tenure_client::server_url("https://tenure.example/").unwrap(), "https://tenure.example");
/// assert!(tenure_client::server_url("https://ann@tenure.example").is_err());
/// ```
pub fn server_url(given: &str) -> Result<String, Error> {
    let url = given.trim().trim_end_matches('/');
    let uri: Uri = url.parse().map_err(|_| Error::url("It is not a URL."))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(Error::url("It begins with neither https:// nor http://."));
    }
    if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
        return Err(Error::url("It names no host, or a user: the API key says who calls."));
    }
    match uri.query().is_some() || url.contains('#') {
        true => Err(Error::url("It has a part after ? or #.")),
        false => Ok(url.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::api_key::RANDOM_BYTES;
    use tenure_core::codes;

    use super::*;
    use crate::Trouble;

    fn key() -> String {
        ApiKey::new([7; RANDOM_BYTES]).reveal()
    }

    #[test]
    fn a_key_goes_in_the_clear_only_within_this_machine_or_where_that_is_allowed() {
        let build = |url: &str| Client::builder(url, &key()).build();
        for here in ["http://127.0.0.1:7373", "http://localhost", "http://[::1]:1/base"] {
            assert!(build(here).is_ok(), "{here}");
        }
        for other in ["http://tenure.example", "http://127.0.0.1.example", "http://10.0.0.1"] {
            let error = build(other).expect_err(other);
            assert_eq!(
                (error.trouble, error.refusal.is(codes::SERVER_TLS)),
                (Trouble::Plaintext, true)
            );
            assert!(
                Client::builder(other, &key()).allow_plaintext(true).build().is_ok(),
                "{other}"
            );
        }
        assert!(build("https://tenure.example").is_ok());
    }

    #[test]
    fn a_key_is_in_no_description() {
        let builder = Client::builder("https://tenure.example", &key()).tenant("acme");
        let (key, client) = (key(), builder.clone().build().expect("a client"));
        let secret = key.rsplit('_').next().expect("a secret");
        assert!(!format!("{builder:?} {client:?} {:?}", client.server.authorization).contains(secret));
    }

    #[test]
    fn what_cannot_be_sent_is_refused_before_anything_is() {
        let error = Client::builder("https://x", "secret").build().expect_err("no key");
        assert!(error.refusal.is(codes::UNAUTHENTICATED) && !error.to_string().contains("secret"));
        let error = Client::builder("https://x", &key()).user_agent("a\nb").build();
        assert_eq!(error.expect_err("two lines").trouble, Trouble::Settings);
        let error = Client::builder("https://x", &key()).ca_file("/nonexistent").build();
        assert_eq!(error.expect_err("no file").trouble, Trouble::Authorities);
    }
}
