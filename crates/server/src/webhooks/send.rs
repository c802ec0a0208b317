//! One attempt: a signed request, as Standard Webhooks says.

use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use sha2::Sha256;
use tenure::store::subscriptions::{Outgoing, Sent};
use tenure_client::connect::{Connector, reason, tls_config};

use super::reach::{NOT_PERMITTED, Reach};

/// How long a receiver may take to be reached.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How long a receiver may take to answer. Well within the lease of a delivery.
const ANSWER_MAX: Duration = Duration::from_secs(15);

/// Names us to the receiver.
const USER_AGENT: &str = concat!("tenure/", env!("CARGO_PKG_VERSION"));

/// Sends to where it is permitted. It follows no redirect, which would lead to an address that was not checked.
#[derive(Clone)]
pub(super) struct Sender {
    client: Client<Connector, Full<Bytes>>,
}

impl Sender {
    pub(super) fn new(reach: Reach) -> Result<Sender, Box<dyn Error>> {
        // The check and the call see the same addresses, however the URL writes them.
        let permitted = move |found: Vec<SocketAddr>, is_secure| {
            let is_permitted = |address: &SocketAddr| reach.permits(address.ip(), is_secure);
            let permitted: Vec<SocketAddr> = found.into_iter().filter(is_permitted).collect();
            match permitted.is_empty() {
                true => Err(NOT_PERMITTED.to_owned()),
                false => Ok(permitted),
            }
        };
        let connector = Connector::new(tls_config(None)?, CONNECT_MAX).with_filter(permitted);
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(2)
            .build(connector);
        Ok(Sender { client })
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
        let url: Uri = outgoing
            .url
            .parse()
            .map_err(|error| format!("the URL cannot be read: {error}"))?;
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
        let request = Request::post(url)
            .header("content-type", "application/json")
            .header("user-agent", USER_AGENT)
            .header("webhook-id", &id)
            .header("webhook-timestamp", now)
            .header("webhook-signature", signed.collect::<Vec<_>>().join(" "))
            .body(Full::from(outgoing.body.into_bytes()))
            .map_err(|error| format!("the request cannot be made: {error}"))?;
        // What the receiver says beyond its status is not read.
        match tokio::time::timeout(ANSWER_MAX, self.client.request(request)).await {
            Ok(answer) => Ok(answer.map_err(|error| reason(&error))?.status().as_u16()),
            Err(_) => Err(format!("no answer within {} seconds", ANSWER_MAX.as_secs())),
        }
    }
}

/// `v1,` and the HMAC of id, time and body.
fn signature(key: &[u8], id: &str, at: u64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    for part in [id, ".", &at.to_string(), ".", body] {
        mac.update(part.as_bytes());
    }
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
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
