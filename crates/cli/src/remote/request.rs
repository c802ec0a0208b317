//! One call of the API.

use std::fmt::Display;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

/// How long a server keeps somebody waiting at most.
pub(super) const WAIT_SECONDS_MAX: u64 = 40;

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

    pub(super) fn post(segments: &[&str], body: Value) -> Request {
        Request::new("POST", segments, Some(body))
    }

    pub(super) fn put(segments: &[&str], body: Value) -> Request {
        Request::new("PUT", segments, Some(body))
    }

    pub(super) fn patch(segments: &[&str], body: Value) -> Request {
        Request::new("PATCH", segments, Some(body))
    }

    pub(super) fn delete(segments: &[&str]) -> Request {
        Request::new("DELETE", segments, None)
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

    /// Asks for this only, if it is given.
    pub(super) fn with(mut self, name: &str, value: Option<impl Display>) -> Request {
        if let Some(value) = value {
            let separator = if self.path.contains('?') { '&' } else { '?' };
            self.path
                .push_str(&format!("{separator}{name}={}", encoded(&value.to_string())));
        }
        self
    }

    /// Only this part of the answer is meant; one that is not there is null.
    pub(super) fn part(mut self, pointer: &'static str) -> Request {
        self.part = pointer;
        self
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

/// All but letters, digits and the four signs that mean nothing anywhere.
const SPECIAL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-').remove(b'~');

/// Fit for one segment of a path, one value of a query, or a header.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, SPECIAL).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_sent_with_a_key_of_its_own_and_a_read_with_none() {
        let key = |request: &Request| request.clone().keyed().idempotency_key;
        let post = Request::post(&["jobs"], Value::Null);
        assert_ne!(
            key(&post).expect("a key"),
            key(&post).expect("a key"),
            "each time it is sent"
        );
        assert!(key(&Request::delete(&["kinds"])).is_some());
        assert_eq!(key(&Request::get(&["jobs"])), None);
    }

    #[test]
    fn a_name_stays_one_segment_whatever_is_in_it() {
        let request = Request::get(&["kinds", "a/b?c d"])
            .with("q", Some("x&y"))
            .with("n", None::<i32>);
        assert_eq!(request.path, "/v1/kinds/a%2Fb%3Fc%20d?q=x%26y");
        assert_eq!(request.with("m", Some(7)).path, "/v1/kinds/a%2Fb%3Fc%20d?q=x%26y&m=7");
    }
}
