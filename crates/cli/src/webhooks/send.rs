//! One attempt: a signed request, as Standard Webhooks says.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use sha2::Sha256;
use tenure::store::subscriptions::{Outgoing, Sent};

use super::reach::{NOT_PERMITTED, Reach};

/// How long a receiver may take to be reached, ...
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// ... and to answer. Well within the lease of a delivery.
const ANSWER_MAX: Duration = Duration::from_secs(15);

/// Sends to where it is permitted.
#[derive(Clone)]
pub(super) struct Sender {
    reach: Reach,
    secure: Client,
    plain: Client,
}

impl Sender {
    pub(super) fn new(reach: Reach) -> Result<Sender, Box<dyn Error>> {
        let tls = tls_config()?;
        let client = |secure| {
            Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .dns_resolver(reach.resolver(secure))
                .https_only(secure)
                // A redirect would lead where nobody has looked.
                .redirect(Policy::none())
                .no_proxy()
                .connect_timeout(CONNECT_MAX)
                .timeout(ANSWER_MAX)
                .pool_max_idle_per_host(2)
                .user_agent(concat!("tenure/", env!("CARGO_PKG_VERSION")))
                .build()
        };
        Ok(Sender {
            secure: client(true)?,
            plain: client(false)?,
            reach,
        })
    }

    /// Sends it, and tells how that went.
    pub(super) async fn send(&self, outgoing: Outgoing) -> Sent {
        let (delivery_id, attempt) = (outgoing.delivery_id, outgoing.attempt);
        let (status, error) = match self.attempt(outgoing).await {
            Ok(status) => (Some(i32::from(status)), None),
            Err(error) => (None, Some(error)),
        };
        Sent {
            delivery_id,
            attempt,
            status,
            error,
        }
    }

    async fn attempt(&self, outgoing: Outgoing) -> Result<u16, String> {
        let url: Url = outgoing
            .url
            .parse()
            .map_err(|error| format!("the URL cannot be read: {error}"))?;
        let secure = url.scheme() == "https";
        // A name is looked at when it is looked up; an address is never looked up.
        let host = url.host_str().unwrap_or_default();
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse();
        if literal.is_ok_and(|address| !self.reach.permits(address, secure)) {
            return Err(NOT_PERMITTED.to_owned());
        }
        let client = if secure { &self.secure } else { &self.plain };
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        let id = outgoing.delivery_id.to_string();
        let keys = [Some(&outgoing.secret), outgoing.secret_before.as_ref()];
        let signed = keys
            .into_iter()
            .flatten()
            .map(|key| signature(key, &id, now, &outgoing.body));
        let request = client
            .post(url)
            .header("content-type", "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", now)
            .header("webhook-signature", signed.collect::<Vec<_>>().join(" "))
            .body(outgoing.body);
        // What the receiver says beyond its status is not read.
        let answer = request.send().await.map_err(|error| told(&error))?;
        Ok(answer.status().as_u16())
    }
}

/// Trusts the roots of the system.
pub(crate) fn tls_config() -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

/// `v1,` and the HMAC of id, time and body.
fn signature(key: &[u8], id: &str, at: u64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    for part in [id, ".", &at.to_string(), ".", body] {
        mac.update(part.as_bytes());
    }
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

/// The reason at the bottom of an error, without the URL.
fn told(error: &reqwest::Error) -> String {
    let mut reason: &dyn Error = error;
    while let Some(deeper) = reason.source() {
        reason = deeper;
    }
    if error.is_timeout() {
        return format!("no answer in time: {reason}");
    }
    reason.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_private_address_is_not_called_however_it_is_written() {
        let sender = Sender::new(Reach::default()).expect("a sender");
        for url in [
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://0177.0.0.1/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:7f00:1]/",
            "https://10.0.0.1:8443/x",
            "https://localhost/",
            "http://localhost/",
            "http://93.184.216.34/",
        ] {
            let outgoing = Outgoing {
                delivery_id: uuid::Uuid::nil(),
                url: url.to_owned(),
                body: "{}".to_owned(),
                attempt: 1,
                secret: vec![0; 32],
                secret_before: None,
            };
            assert_eq!(sender.attempt(outgoing).await, Err(NOT_PERMITTED.to_owned()), "{url}");
        }
    }

    /// The example of the specification.
    #[test]
    fn a_signature_is_what_receivers_expect() {
        let key = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a key");
        let signed = signature(
            &key,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
