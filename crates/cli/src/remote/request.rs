//! One call of the API.

use std::time::Duration;

use serde_json::Value;
use tenure_api::Operation;
use tenure_api::request::encoded;

/// What to ask, and which part of the answer is meant.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(super) method: &'static str,
    /// With its query.
    pub(super) path: String,
    pub(super) body: Option<Value>,
    /// A JSON pointer into the answer.
    pub(super) part: &'static str,
    /// The tenant to name, instead of the session's.
    pub(super) tenant: Option<String>,
    /// The `Idempotency-Key`, when it is sent: repeated with it, a change is not done twice.
    pub(super) idempotency_key: Option<String>,
    /// How long the server may wait before it answers.
    pub(super) wait: Duration,
}

impl Request {
    pub(super) fn get(segments: &[&str]) -> Request {
        Request::new("GET", segments, None)
    }

    /// The request for an operation.
    pub(crate) fn of<O: Operation>(operation: &O) -> Request {
        let written = tenure_api::request::write(operation);
        Request {
            path: written.path,
            wait: tenure_api::request::wait_of(operation),
            ..Request::new(written.method, &[], written.body)
        }
    }

    fn new(method: &'static str, segments: &[&str], body: Option<Value>) -> Request {
        let path = segments.iter().map(|segment| format!("/{}", encoded(segment)));
        Request {
            method,
            path: format!("/v1{}", path.collect::<String>()),
            body,
            part: "",
            tenant: None,
            idempotency_key: None,
            wait: Duration::ZERO,
        }
    }

    /// For the installation, if that is meant.
    pub(crate) fn for_installation(self, meant: bool) -> Request {
        if meant { self.in_tenant("*") } else { self }
    }

    /// In this tenant, whichever the session has.
    pub(crate) fn in_tenant(mut self, tenant: &str) -> Request {
        self.tenant = Some(tenant.to_owned());
        self
    }

    /// With a key that no other request has, if it changes something.
    pub(super) fn keyed(mut self) -> Request {
        let random: u128 = rand::random();
        self.idempotency_key = self.changes().then(|| format!("{random:032x}"));
        self
    }

    /// Whether it changes something.
    pub(super) fn changes(&self) -> bool {
        self.method != "GET"
    }
}

#[cfg(test)]
mod tests {
    use tenure_api::kinds::{KindPause, KindShow};

    use super::*;

    #[test]
    fn a_change_is_sent_with_a_key_of_its_own_and_a_read_with_none() {
        let key = |request: &Request| request.clone().keyed().idempotency_key;
        let pause: KindPause = serde_json::from_value(serde_json::json!({"kind": "a/b?c d"})).expect("a pause");
        let pause = Request::of(&pause);
        assert_ne!(
            key(&pause).expect("a key"),
            key(&pause).expect("a key"),
            "each time it is sent"
        );
        let show: KindShow = serde_json::from_value(serde_json::json!({"kind": "a/b?c d"})).expect("a look");
        let show = Request::of(&show);
        assert_eq!(key(&show), None);
        assert_eq!(
            show.path, "/v1/kinds/a%2Fb%3Fc%20d",
            "a name stays one segment whatever is in it"
        );
    }
}
