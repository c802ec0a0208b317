//! The way to a server.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tenure_api::request::encoded;
use tenure_core::api_key::ApiKey;
use tenure_core::{Refusal, codes, json};
use ureq::http::{HeaderValue, Uri, header};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig};

use super::Request;
use super::trouble::{self, Trouble};
use crate::errors::{Outcome, refuse};
use crate::output::Output;

/// How long a server may take to be there.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// An idle connection is not trusted for longer: servers come and go.
const IDLE_MAX: Duration = Duration::from_secs(5);
/// How often something is tried that does no harm, and the pause before the second try.
const TRIES_MAX: u32 = 3;
const PAUSE_FIRST: Duration = Duration::from_millis(100);
/// No answer is larger.
const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A server, and who asks it.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// Without a slash at its end.
    pub(crate) url: String,
    /// The saved context that it comes from.
    pub(crate) context: Option<String>,
    pub(crate) key: ApiKey,
    pub(crate) tenant: Option<String>,
    /// Authorities to trust instead of the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// Nobody is hurt by a mistake there.
    pub(crate) development: bool,
    /// The key may travel in the clear.
    pub(crate) plaintext: bool,
    /// How long an answer may take.
    pub(crate) timeout: Duration,
}

/// A server that can be asked.
pub(crate) struct Remote {
    agent: ureq::Agent,
    target: Target,
    authorization: HeaderValue,
    out: Output,
    /// Whether it was said where changes go.
    told: AtomicBool,
}

/// What came back.
struct Answer {
    status: u16,
    kind: String,
    location: Option<String>,
    body: Vec<u8>,
}

impl Answer {
    fn is_under_way(&self) -> bool {
        let body = || json::parse_bytes::<Value>(&self.body).unwrap_or_default();
        self.status == codes::REQUEST_UNDER_WAY.http && body()["code"] == codes::REQUEST_UNDER_WAY.name
    }
}

impl Target {
    /// The URL in its plain form, or why it is none.
    pub(crate) fn url_of(given: &str) -> Outcome<String> {
        let wrong = |why: &str| {
            refuse(
                codes::USAGE,
                "The URL of the server cannot be used.",
                why,
                "Give one such as https://tenure.example or http://127.0.0.1:7373.",
            )
        };
        let url = given.trim().trim_end_matches('/');
        let uri: Uri = url.parse().map_err(|_| wrong("It is no URL."))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(wrong("It begins with neither https:// nor http://."));
        }
        if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
            return Err(wrong("It names no host, or a user: whoever asks is known by the key."));
        }
        match uri.query().is_some() || url.contains('#') {
            true => Err(wrong("It has a part after ? or #.")),
            false => Ok(url.to_owned()),
        }
    }

    /// Whether it is this machine, as far as the URL tells.
    fn is_loopback(&self) -> bool {
        let uri: Option<Uri> = self.url.parse().ok();
        let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// Whether a change there needs no word: it was marked as harmless, or is on this machine and not a tunnel that was
    /// saved under a name.
    fn is_harmless(&self) -> bool {
        self.development || (self.context.is_none() && self.is_loopback())
    }

    /// The server, its context and tenant, for people.
    pub(crate) fn told(&self) -> String {
        let context = self.context.as_ref().map(|name| format!("context {name}"));
        let tenant = self.tenant.as_ref().map(|name| format!("tenant {name}"));
        let parts: Vec<String> = context.into_iter().chain(tenant).collect();
        match parts.is_empty() {
            true => self.url.clone(),
            false => format!("{} ({})", self.url, parts.join(", ")),
        }
    }

    /// A key is a secret: it goes in the clear only within this machine, or where somebody allowed it.
    fn check_plaintext(&self) -> Outcome {
        if self.url.starts_with("https://") || self.is_loopback() || self.plaintext {
            return Ok(());
        }
        Err(refuse(
            codes::SERVER_TLS,
            format!("Refusing to send the API key to {} without TLS.", self.url),
            "Every machine on the way could read the key and use it.",
            "Use https://, or --allow-plaintext where the way itself is safe.",
        ))
    }
}

impl Remote {
    /// Nothing is sent yet.
    pub(crate) fn new(target: Target, out: Output) -> Outcome<Remote> {
        target.check_plaintext()?;
        // The traces of a library hold what goes over the wire, and a key goes over it.
        log::set_max_level(log::max_level().min(log::LevelFilter::Debug));
        let mut config = ureq::Agent::config_builder()
            .user_agent(concat!("tenure/", env!("CARGO_PKG_VERSION")))
            .http_status_as_error(false)
            // A key goes to the server it was given for, and to no other.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_age(IDLE_MAX)
            .timeout_resolve(Some(target.timeout.min(CONNECT_MAX)))
            .timeout_connect(Some(target.timeout.min(CONNECT_MAX)))
            .timeout_send_request(Some(target.timeout))
            .timeout_send_body(Some(target.timeout))
            .timeout_recv_body(Some(target.timeout));
        if target.is_loopback() {
            config = config.proxy(None);
        }
        if target.url.starts_with("https://") {
            config = config.tls_config(tls(target.ca_file.as_deref())?);
        }
        let bearer = format!("Bearer {}", target.key.reveal());
        let mut authorization = HeaderValue::from_str(&bearer).map_err(|_| unreadable_key())?;
        authorization.set_sensitive(true);
        Ok(Remote {
            agent: config.build().into(),
            target,
            authorization,
            out,
            told: AtomicBool::new(false),
        })
    }

    /// Asks, and reads the part of the answer that is meant.
    pub(crate) async fn send<T: DeserializeOwned>(&self, request: Request) -> Outcome<T> {
        if request.changes() && !self.target.is_harmless() && !self.told.swap(true, Ordering::Relaxed) {
            self.out.whereto(&self.target.told());
        }
        let request = Arc::new(request.keyed());
        let mut pause = PAUSE_FIRST;
        for _ in 1..TRIES_MAX {
            match self.exchange(request.clone()).await {
                // The first try is still being carried out.
                Ok(answer) if answer.is_under_way() => tokio::time::sleep(pause).await,
                Ok(answer) => return Ok(self.read(&answer, &request)?),
                Err(trouble) if trouble.again => tokio::time::sleep(pause).await,
                Err(trouble) => return Err(trouble.refusal.into()),
            }
            pause *= 4;
        }
        match self.exchange(request.clone()).await {
            Ok(answer) => Ok(self.read(&answer, &request)?),
            Err(trouble) => Err(trouble.refusal.into()),
        }
    }

    /// Acts for all tenants from now on.
    pub(crate) fn for_every_tenant(&mut self) {
        self.target.tenant = Some("*".to_owned());
    }

    /// The answer as its type.
    pub(crate) fn typed<T: DeserializeOwned>(&self, whole: &Value) -> Outcome<T> {
        let read = serde_path_to_error::deserialize(whole);
        Ok(read
            .map_err(|error| trouble::not_tenure(&self.target.url, &format!("Its answer cannot be read: {error}.")))?)
    }

    /// One try, on a thread that may wait.
    async fn exchange(&self, request: Arc<Request>) -> Result<Answer, Trouble> {
        let (agent, url) = (self.agent.clone(), self.target.url.clone());
        let tenant = request.tenant.clone().or_else(|| self.target.tenant.clone());
        let (authorization, timeout) = (self.authorization.clone(), self.target.timeout + request.wait);
        let work = move || {
            let mut call = ureq::http::Request::builder()
                .method(request.method)
                .uri(format!("{url}{}", request.path))
                .header(header::AUTHORIZATION, authorization)
                .header(header::ACCEPT, "application/json");
            if let Some(tenant) = tenant {
                call = call.header("tenure-tenant", encoded(&tenant));
            }
            if let Some(key) = &request.idempotency_key {
                call = call.header("idempotency-key", key);
            }
            let answered = match &request.body {
                Some(body) => call
                    .header(header::CONTENT_TYPE, "application/json")
                    .body(body.to_string())
                    .map_err(ureq::Error::from)
                    .and_then(|call| ask(&agent, call, timeout)),
                None => call
                    .body(())
                    .map_err(ureq::Error::from)
                    .and_then(|call| ask(&agent, call, timeout)),
            };
            answered.map_err(|error| trouble::of_exchange(&error, &url, &request))
        };
        tokio::task::spawn_blocking(work)
            .await
            .unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }

    fn read<T: DeserializeOwned>(&self, answer: &Answer, request: &Request) -> Result<T, Refusal> {
        let not_tenure = |why: &str| trouble::not_tenure(&self.target.url, why);
        let status = answer.status;
        if let Some(location) = &answer.location {
            return Err(not_tenure(&format!(
                "It sends us elsewhere (status {status}): {location}."
            )));
        }
        let body: Option<Value> = match answer.kind.as_str() {
            "application/json" | "application/problem+json" => json::parse_bytes(&answer.body).ok(),
            // A file is passed on as it is.
            "application/x-ndjson" => String::from_utf8(answer.body.clone()).ok().map(Value::from),
            _ => None,
        };
        let Some(body) = body else {
            let kind = if answer.kind.is_empty() {
                "nothing"
            } else {
                &answer.kind
            };
            return Err(not_tenure(&format!(
                "It answered {kind} with status {status}, not JSON."
            )));
        };
        if !(200..300).contains(&status) {
            return Err(trouble::of_problem(&body)
                .unwrap_or_else(|| not_tenure(&format!("It answered status {status} without saying why."))));
        }
        let part = body.pointer(request.part).cloned().unwrap_or_default();
        serde_json::from_value(part).map_err(|error| not_tenure(&format!("Its answer cannot be read: {error}.")))
    }
}

fn ask<B: ureq::AsSendBody>(
    agent: &ureq::Agent,
    call: ureq::http::Request<B>,
    timeout: Duration,
) -> Result<Answer, ureq::Error> {
    let call = agent
        .configure_request(call)
        .timeout_recv_response(Some(timeout))
        .build();
    let mut answer = agent.run(call)?;
    let text = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
    let kind = text(header::CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let location = text(header::LOCATION).map(str::to_owned);
    Ok(Answer {
        status: answer.status().as_u16(),
        kind,
        location: location.filter(|_| answer.status().is_redirection()),
        body: answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec()?,
    })
}

/// Certificates are always checked: by the authorities of the file, else by those of the system.
fn tls(ca_file: Option<&Path>) -> Outcome<TlsConfig> {
    let certificates: Vec<Certificate<'static>> = match ca_file {
        Some(path) => authorities(path)?,
        None => {
            let found = rustls_native_certs::load_native_certs().certs;
            found.iter().map(|der| Certificate::from_der(der).to_owned()).collect()
        }
    };
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&certificates))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}

fn authorities(path: &Path) -> Outcome<Vec<Certificate<'static>>> {
    let unusable = |why: String| {
        refuse(
            codes::SERVER_TLS,
            format!("The certificates in {} cannot be read.", path.display()),
            why,
            "Name a file of PEM certificates with --ca-file, or leave it out for those of the system.",
        )
    };
    let text = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
    let mut found = Vec::new();
    for item in ureq::tls::parse_pem(&text) {
        match item.map_err(|error| unusable(error.to_string()))? {
            PemItem::Certificate(certificate) => found.push(certificate),
            _ => continue,
        }
    }
    match found.is_empty() {
        true => Err(unusable("There is none in it.".to_owned())),
        false => Ok(found),
    }
}

fn unreadable_key() -> crate::errors::Failure {
    refuse(
        codes::UNAUTHENTICATED,
        "The key cannot be sent.",
        "It holds characters that no key has.",
        "Copy the whole key; make a new one if it was lost.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str, context: Option<&str>, development: bool) -> Target {
        Target {
            url: url.to_owned(),
            context: context.map(str::to_owned),
            key: ApiKey::new([7; tenure_core::api_key::RANDOM_BYTES]),
            tenant: None,
            ca_file: None,
            development,
            plaintext: false,
            timeout: CONNECT_MAX,
        }
    }

    /// A saved server at this machine may be a tunnel to another.
    #[test]
    fn a_change_goes_silently_only_where_it_can_hurt_nobody() {
        for local in ["http://127.0.0.1:7373", "http://localhost", "http://[::1]:1/base"] {
            assert!(target(local, None, false).is_harmless(), "{local}");
            assert!(!target(local, Some("prod"), false).is_harmless(), "{local}");
            assert!(target(local, None, false).check_plaintext().is_ok(), "{local}");
        }
        for other in ["http://tenure.example", "http://127.0.0.1.example", "http://10.0.0.1"] {
            assert!(!target(other, None, false).is_harmless(), "{other}");
            assert!(target(other, Some("test"), true).is_harmless(), "{other}");
            assert!(target(other, None, false).check_plaintext().is_err(), "{other}");
        }
        assert!(target("https://tenure.example", None, false).check_plaintext().is_ok());
    }

    #[test]
    fn a_key_is_in_no_description() {
        let target = target("https://tenure.example", None, false);
        let secret = target.key.reveal();
        let secret = secret.rsplit('_').next().expect("a secret");
        assert!(!format!("{target:?} {}", target.told()).contains(secret));
    }
}
