//! An HTTP client for a Tenure server. It carries out any operation of [`tenure_api`].
//!
//! ```no_run
//! use tenure_api::jobs::{JobEnqueue, JobShow};
//! use tenure_client::Client;
//!
//! # async fn example(api_key: &str) -> Result<(), tenure_client::Error> {
//! let client = Client::builder("https://tenure.example", api_key).build()?;
//! let job = client
//!     .perform(&JobEnqueue {
//!         kind: "report".to_owned(),
//!         ..JobEnqueue::default()
//!     })
//!     .await?;
//! let details = client
//!     .perform(&JobShow {
//!         job_id: job.job_id,
//!         wait_seconds: Some(30),
//!     })
//!     .await?;
//! println!("{} is {}", details.job_id, details.state);
//! # Ok(())
//! # }
//! ```
//!
//! What the client takes care of:
//!
//! - **Retries.** Every change is sent with an `Idempotency-Key`, so the server does it once, however often it arrives. An exchange
//!   that broke is tried up to three times.
//! - **Limits.** A connection, an answer and the size of an answer have limits. An operation that waits
//!   (`wait_seconds`) gets that time on top.
//! - **The API key.** It is sent to the named server only: no redirect is followed. Without TLS it is sent to this machine, and to others
//!   only if [`Builder::allow_plaintext`] says so.
//! - **Errors.** Every [`Error`] is a refusal with a code, what happened, why, and what to do next.
//! - **Proxies.** `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` of the environment hold for every server but those on this machine.
//!
//! The client needs a Tokio runtime with time and I/O enabled.

mod builder;
#[doc(hidden)]
pub mod connect;
mod error;
mod exchange;

use std::fmt;
use std::sync::Arc;

use hyper::header::HeaderValue;
use serde_json::Value;
use tenure_api::{Effect, Operation, request};
use tenure_core::json;

pub use self::builder::{Builder, server_url};
pub use self::error::{Error, Trouble};
use self::exchange::{JSON, Outgoing, Server};

/// The value of the header `tenure-tenant` that means the whole installation.
const INSTALLATION: &str = "*";

/// A server and the API key to call it with. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    server: Arc<Server>,
    /// The value of the header `tenure-tenant`.
    tenant: Option<HeaderValue>,
}

impl Client {
    /// Begins with the URL of the server and an API key.
    pub fn builder(url: &str, api_key: &str) -> Builder {
        Builder::new(url, api_key)
    }

    /// The URL of the server, without a slash at its end.
    pub fn url(&self) -> &str {
        &self.server.url
    }

    /// The same client for another tenant. The server refuses a key that is bound to its own.
    pub fn in_tenant(&self, name: &str) -> Client {
        self.with_tenant(&request::encoded(name))
    }

    /// The same client for the whole installation. The server refuses a key of one tenant.
    pub fn for_installation(&self) -> Client {
        self.with_tenant(INSTALLATION)
    }

    fn with_tenant(&self, value: &str) -> Client {
        Client {
            server: self.server.clone(),
            tenant: Some(HeaderValue::from_str(value).expect("an encoded name is a header value")),
        }
    }

    /// Carries out an operation.
    pub async fn perform<O: Operation>(&self, operation: &O) -> Result<O::Answer, Error> {
        self.perform_whole(operation).await.map(|(answer, _)| answer)
    }

    /// Carries out an operation, and returns its answer twice: as its type, and as the JSON that came. The JSON of a newer server
    /// may have members that the type does not know.
    pub async fn perform_whole<O: Operation>(&self, operation: &O) -> Result<(O::Answer, Value), Error> {
        let whole = self.perform_json(operation).await?;
        let answer = serde_path_to_error::deserialize(&whole);
        Ok((
            answer.map_err(|error| self.unreadable(&error, is_change::<O>()))?,
            whole,
        ))
    }

    /// Carries out an operation, and returns the JSON that came, whether it fits the type or not.
    pub async fn perform_json<O: Operation>(&self, operation: &O) -> Result<Value, Error> {
        let written = request::write(operation);
        let outgoing = Outgoing::new(written.method, written.path, is_change::<O>())
            .body(written.body.as_ref())
            .wait(request::wait_of(operation));
        let body = self.server.call(outgoing, self.tenant.as_ref(), JSON).await?;
        json::parse_bytes(&body).map_err(|error| self.unreadable(&error, is_change::<O>()))
    }

    /// Gets what is at a path, such as the evidence of an execution. An answer of another content type is refused.
    ///
    /// ```no_run
    /// # async fn example(client: tenure_client::Client, execution_id: &str) -> Result<(), tenure_client::Error> {
    /// let path = format!("/v1/executions/{execution_id}/evidence");
    /// let evidence = client.get(&path, "application/x-ndjson").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get(&self, path: &str, content_type: &'static str) -> Result<String, Error> {
        // Without it the path would change the host that the key goes to.
        if !path.starts_with('/') {
            return Err(Error::url("The path does not begin with a slash."));
        }
        let outgoing = Outgoing::new("GET", path.to_owned(), false);
        let body = self.server.call(outgoing, self.tenant.as_ref(), content_type).await?;
        String::from_utf8(body.into()).map_err(|error| self.unreadable(&error, false))
    }

    fn unreadable(&self, error: &dyn fmt::Display, is_change: bool) -> Error {
        let why = format!("Its answer cannot be read: {error}.");
        match is_change {
            true => Error::unanswered(self.url(), &why, true),
            false => Error::not_tenure(self.url(), &why),
        }
    }
}

fn is_change<O: Operation>() -> bool {
    O::EFFECT != Effect::Reads
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Client");
        shown.field("url", &self.server.url).field("tenant", &self.tenant);
        shown.finish_non_exhaustive()
    }
}
