//! One call of a server: tried again where that does no harm, and read with suspicion.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{Request, StatusCode};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::capture_connection;
use serde_json::Value;
use tenure_core::{Refusal, codes, json};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::connect::{ConnectError, Connector, reason, tls_error};
use crate::{Error, Trouble};

/// What operations answer.
pub(crate) const JSON: &str = "application/json";
/// What a server answers that refuses.
const PROBLEM: &str = "application/problem+json";
/// How often a call is tried that does no harm, and the pause before the second try.
const TRIES_MAX: u32 = 3;
const PAUSE_FIRST: Duration = Duration::from_millis(100);
/// No answer is larger.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A server, and how it is called.
pub(crate) struct Server {
    pub(crate) http: legacy::Client<Connector, Full<Bytes>>,
    /// Without a slash at its end.
    pub(crate) url: String,
    pub(crate) authorization: HeaderValue,
    pub(crate) user_agent: HeaderValue,
    pub(crate) timeout: Duration,
}

/// What is sent, each time it is tried.
pub(crate) struct Outgoing {
    method: &'static str,
    /// With its query.
    path: String,
    body: Option<Bytes>,
    /// The `Idempotency-Key`: repeated with it, a change is not done twice.
    idempotency_key: Option<String>,
    /// How long the server may wait before it answers.
    wait: Duration,
}

impl Outgoing {
    /// A change gets a key that no other has.
    pub(crate) fn new(method: &'static str, path: String, is_change: bool) -> Outgoing {
        Outgoing {
            method,
            path,
            body: None,
            idempotency_key: is_change.then(|| Uuid::new_v4().simple().to_string()),
            wait: Duration::ZERO,
        }
    }

    pub(crate) fn body(mut self, body: Option<&Value>) -> Outgoing {
        self.body = body.map(|body| body.to_string().into());
        self
    }

    pub(crate) fn wait(mut self, wait: Duration) -> Outgoing {
        self.wait = wait;
        self
    }

    fn is_change(&self) -> bool {
        self.idempotency_key.is_some()
    }
}

/// What came back.
struct Answer {
    status: StatusCode,
    content_type: String,
    location: Option<String>,
    body: Bytes,
}

impl Answer {
    fn is_under_way(&self) -> bool {
        let body = || json::parse_bytes::<Value>(&self.body).unwrap_or_default();
        self.status == codes::REQUEST_UNDER_WAY.http && body()["code"] == codes::REQUEST_UNDER_WAY.name
    }

    /// Whether something between here and the server answered in its place.
    fn is_from_gateway(&self) -> bool {
        matches!(self.status.as_u16(), 502..=504) && ![JSON, PROBLEM].contains(&self.content_type.as_str())
    }
}

/// An exchange that failed.
struct Failed {
    error: Error,
    /// Another try is worth it and does no harm.
    again: bool,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed { error, again: false }
    }
}

impl Server {
    /// Sends a request, and returns the body of an answer of this content type.
    pub(crate) async fn call(
        &self,
        outgoing: Outgoing,
        tenant: Option<&HeaderValue>,
        content_type: &'static str,
    ) -> Result<Bytes, Error> {
        let mut pause = PAUSE_FIRST;
        // A change that was sent, and may have been done: what a later try says does not take that back.
        let mut unknown = None;
        let mut tries = 1;
        loop {
            let failed = match self.exchange(&outgoing, tenant, content_type).await {
                // An earlier try is still being carried out.
                Ok(answer) if answer.is_under_way() => self.unanswered("It is still being carried out.", &outgoing),
                Ok(answer) if outgoing.is_change() && answer.is_from_gateway() => self.unanswered(
                    &format!("A gateway answered status {}.", answer.status.as_u16()),
                    &outgoing,
                ),
                Ok(answer) => return self.read(answer, content_type),
                Err(failed) => failed,
            };
            if failed.error.trouble == Trouble::OutcomeUnknown {
                unknown.get_or_insert(failed.error.clone());
            }
            if !failed.again || tries == TRIES_MAX {
                return Err(unknown.unwrap_or(failed.error));
            }
            sleep(pause).await;
            pause *= 4;
            tries += 1;
        }
    }

    fn unanswered(&self, why: &str, outgoing: &Outgoing) -> Failed {
        Failed {
            error: Error::unanswered(&self.url, why, outgoing.is_change()),
            again: true,
        }
    }

    /// One try.
    async fn exchange(
        &self,
        outgoing: &Outgoing,
        tenant: Option<&HeaderValue>,
        accept: &'static str,
    ) -> Result<Answer, Failed> {
        let mut request = Request::builder()
            .method(outgoing.method)
            .uri(format!("{}{}", self.url, outgoing.path))
            .header(header::AUTHORIZATION, &self.authorization)
            .header(header::USER_AGENT, &self.user_agent)
            .header(header::ACCEPT, accept);
        if let Some(tenant) = tenant {
            request = request.header("tenure-tenant", tenant);
        }
        if let Some(key) = &outgoing.idempotency_key {
            request = request.header("idempotency-key", key);
        }
        if outgoing.body.is_some() {
            request = request.header(header::CONTENT_TYPE, JSON);
        }
        let mut request = request
            .body(Full::new(outgoing.body.clone().unwrap_or_default()))
            .map_err(|_| Error::url("It is not a URL."))?;
        let mut connection = capture_connection(&mut request);
        // Connecting has a limit of its own.
        let too_long = async {
            connection.wait_for_connection_metadata().await;
            sleep(self.timeout.saturating_add(outgoing.wait)).await;
        };
        let answer = tokio::select! {
            answer = self.http.request(request) => answer.map_err(|error| self.failed(&error, outgoing))?,
            () = too_long => return Err(self.too_late(outgoing)),
        };
        let text = |name| answer.headers().get(name).and_then(|value| value.to_str().ok());
        let content_type = text(header::CONTENT_TYPE).unwrap_or_default().split(';').next();
        let content_type = content_type.unwrap_or_default().trim().to_ascii_lowercase();
        let location = text(header::LOCATION).map(str::to_owned);
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect();
        let body = match timeout(self.timeout, body).await {
            Ok(body) => body.map_err(|error| self.failed(&*error, outgoing))?,
            Err(_) => return Err(self.too_late(outgoing)),
        };
        Ok(Answer {
            status,
            content_type,
            location: location.filter(|_| status.is_redirection()),
            body: body.to_bytes(),
        })
    }

    fn read(&self, answer: Answer, wanted: &str) -> Result<Bytes, Error> {
        let not_tenure = |why: String| Error::not_tenure(&self.url, &why);
        let status = answer.status.as_u16();
        if let Some(location) = answer.location {
            return Err(not_tenure(format!(
                "It sends us elsewhere (status {status}): {location}."
            )));
        }
        let is_success = answer.status.is_success();
        if is_success && answer.content_type == wanted {
            return Ok(answer.body);
        }
        let is_json = [JSON, PROBLEM].contains(&answer.content_type.as_str());
        match json::parse_bytes::<Value>(&answer.body) {
            Ok(problem) if is_json && !is_success => Err(match serde_json::from_value::<Refusal>(problem) {
                Ok(refusal) => Error::refused(refusal),
                Err(_) => not_tenure(format!("It answered status {status} without saying why.")),
            }),
            _ => {
                let answered = Some(answer.content_type).filter(|found| !found.is_empty());
                let answered = answered.as_deref().unwrap_or("nothing");
                let wanted = if wanted == JSON { "JSON" } else { wanted };
                Err(not_tenure(format!(
                    "It answered {answered} with status {status}, not {wanted}."
                )))
            }
        }
    }

    fn too_late(&self, outgoing: &Outgoing) -> Failed {
        Error::unanswered(&self.url, "It took too long.", outgoing.is_change()).into()
    }

    /// What went wrong between here and there.
    fn failed(&self, error: &(dyn StdError + 'static), outgoing: &Outgoing) -> Failed {
        let url = &self.url;
        let causes = || std::iter::successors(Some(error), |&error| error.source());
        if let Some(error) = causes().find_map(|cause| cause.downcast_ref::<ConnectError>()) {
            return match error {
                ConnectError::Tls(tls) => Error::untrusted(url, tls).into(),
                // Nothing was sent.
                ConnectError::Lookup(_) | ConnectError::Io(_) => Failed {
                    error: Error::unreachable(url, error),
                    again: true,
                },
                _ => Error::unreachable(url, error).into(),
            };
        }
        if let Some(tls) = causes().find_map(|cause| cause.downcast_ref::<io::Error>().and_then(tls_error)) {
            return Error::untrusted(url, tls).into();
        }
        if causes().any(|cause| cause.is::<LengthLimitError>()) {
            let why = format!("Its answer is larger than {ANSWER_BYTES_MAX} bytes.");
            return match outgoing.is_change() {
                true => Error::unanswered(url, &why, true).into(),
                false => Error::not_tenure(url, &why).into(),
            };
        }
        let is_broken = causes().any(|cause| cause.is::<io::Error>());
        let innermost = causes().filter_map(|cause| cause.downcast_ref::<hyper::Error>()).last();
        match innermost {
            Some(innermost) if !is_broken && !is_end(innermost) => {
                Error::not_tenure(url, &innermost.to_string()).into()
            }
            _ => self.unanswered(&format!("The connection broke: {}.", reason(error)), outgoing),
        }
    }
}

/// Whether the other side has gone. What else hyper finds is that it does not speak HTTP, or speaks before it is asked.
fn is_end(error: &hyper::Error) -> bool {
    error.is_incomplete_message() || error.is_canceled() || error.is_closed() || error.is_shutdown()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::{Receiver, channel};

    use tenure_core::api_key::{ApiKey, RANDOM_BYTES};

    use super::*;
    use crate::Client;

    /// A server that does this with each connection, and what it is asked.
    fn client_of(serve: impl Fn(&mut TcpStream) + Send + 'static) -> (Client, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (asked, heads) = channel();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut head = vec![0; 4096];
                let count = stream.read(&mut head).unwrap_or_default();
                let _ = asked.send(String::from_utf8_lossy(&head[..count]).into_owned());
                serve(&mut stream);
            }
        });
        let key = ApiKey::new([7; RANDOM_BYTES]).reveal();
        (Client::builder(&url, &key).build().expect("a client"), heads)
    }

    #[tokio::test]
    async fn a_larger_answer_than_any_is_not_read_to_its_end() {
        let (client, _) = client_of(|stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n");
            let chunk = vec![b'x'; 1024 * 1024];
            while stream.write_all(&chunk).is_ok() {}
        });
        let error = client.get("/", "text/plain").await.expect_err("too much");
        assert_eq!(error.trouble, Trouble::NotTenure);
        assert!(error.refusal.why.contains("larger"), "{error}");
    }

    #[tokio::test]
    async fn what_is_lost_is_tried_three_times_and_a_change_with_one_key() {
        for method in ["POST", "GET"] {
            let (client, heads) = client_of(|_| {});
            let call = client
                .server
                .call(Outgoing::new(method, "/x".to_owned(), method != "GET"), None, JSON);
            let error = call.await.expect_err("no answer");
            let unknown = method == "POST";
            let expected = if unknown {
                Trouble::OutcomeUnknown
            } else {
                Trouble::Unanswered
            };
            assert_eq!(error.trouble, expected, "{error}");
            let key_of = |head: String| {
                let mut lines = head.lines();
                lines.find_map(|line| line.strip_prefix("idempotency-key: ").map(str::to_owned))
            };
            let keys: Vec<Option<String>> = heads.try_iter().map(key_of).collect();
            assert_eq!(keys.len(), 3);
            assert!(
                keys.iter().all(|key| *key == keys[0] && key.is_some() == unknown),
                "{keys:?}"
            );
        }
        let keys = ["POST", "POST"].map(|method| Outgoing::new(method, String::new(), true).idempotency_key);
        assert_ne!(keys[0], keys[1], "each call has a key of its own");
    }

    fn change() -> tenure_api::kinds::KindPause {
        serde_json::from_value(serde_json::json!({"kind": "mail"})).expect("a change")
    }

    /// A server that takes the first request and dies: the tries after it reach nothing.
    #[tokio::test]
    async fn a_change_that_was_sent_once_is_never_said_to_be_unsent() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a request");
            let _ = stream.read(&mut [0; 4096]);
        });
        let key = ApiKey::new([7; RANDOM_BYTES]).reveal();
        let client = Client::builder(&url, &key).build().expect("a client");
        let error = client.perform(&change()).await.expect_err("no answer");
        assert_eq!(error.trouble, Trouble::OutcomeUnknown, "{error}");
    }

    #[tokio::test]
    async fn a_change_behind_a_gateway_that_gives_up_is_tried_again_and_then_unknown() {
        let (client, heads) = client_of(|stream| {
            let _ = stream
                .write_all(b"HTTP/1.1 504 Gateway Timeout\r\ncontent-type: text/html\r\ncontent-length: 0\r\n\r\n");
        });
        let error = client.perform(&change()).await.expect_err("no answer");
        assert_eq!(error.trouble, Trouble::OutcomeUnknown, "{error}");
        assert!(error.refusal.why.contains("504"), "{error}");
        assert_eq!(heads.try_iter().count(), 3);
    }

    /// `https://tenure.example` and `@other.example/x` would be a URL of the host other.example.
    #[tokio::test]
    async fn a_path_that_names_another_host_is_refused() {
        let (client, heads) = client_of(|_| {});
        let error = client.get("@127.0.0.1:1/x", "text/plain").await.expect_err("no path");
        assert_eq!(error.trouble, Trouble::Settings);
        assert_eq!(heads.try_iter().count(), 0);
    }
}
