//! A line in the log for every request. It names the route, never the path: what people put where it does not belong,
//! such as a key in a URL, is not written down.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::{ConnectInfo, MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tenure_core::api_key;
use tracing::Instrument;
use uuid::Uuid;

/// Names a request, for those who look for it in several logs.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// A name of the client's own is not longer.
const REQUEST_ID_CHARS_MAX: usize = 128;

/// By which key the request was made, once that is known.
#[derive(Clone, Default)]
pub(super) struct Asker(Arc<OnceLock<String>>);

impl Asker {
    /// It is this one, by its prefix.
    pub(super) fn is(&self, prefix: &str) {
        let _ = self.0.set(prefix.to_owned());
    }
}

/// Names the request, and writes down what came of it: what failed is a warning, what was refused is worth knowing, and what
/// went well is told to those who ask for it. Workers that poll would fill the log otherwise.
pub(super) async fn logged(mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = id_of(request.headers());
    let asker = Asker::default();
    request.extensions_mut().insert(asker.clone());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let peer = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .map(|info| info.0.ip());

    let span = tracing::error_span!("request", request_id = %id);
    let mut response = next.run(request).instrument(span.clone()).await;

    let _entered = span.enter();
    let status = response.status().as_u16();
    let route = route.as_ref().map_or("-", MatchedPath::as_str);
    let key = asker.0.get().map_or("-", String::as_str);
    let peer = peer.map_or_else(|| "-".to_owned(), |peer| peer.to_string());
    let ms = begun.elapsed().as_micros() as f64 / 1000.0;
    macro_rules! tell {
        ($level:ident) => {
            tracing::$level!(target: "tenure::requests", %method, route, status, ms, key, peer, "request")
        };
    }
    match status {
        500.. => tell!(warn),
        400.. => tell!(info),
        _ => tell!(debug),
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// The client's own name for the request, if it is one that can be written down; else a new one.
fn id_of(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
    let sane = |id: &&str| {
        (1..=REQUEST_ID_CHARS_MAX).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
            && !id.contains(api_key::START)
    };
    given
        .filter(sane)
        .map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sane_name_of_a_request_is_taken() {
        let id = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, HeaderValue::from_str(text).expect("a header"));
            id_of(&headers)
        };
        assert_eq!(id("a-1_B.c"), "a-1_B.c");
        for odd in ["", "a b", "a\"b", "tnr_abc", &"a".repeat(REQUEST_ID_CHARS_MAX + 1)] {
            assert!(Uuid::parse_str(&id(odd)).is_ok(), "{odd}");
        }
    }
}
