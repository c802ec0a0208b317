//! Headers of every answer, refusals included.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

/// Adds them. An answer that says itself how it may be kept is left as it is.
pub(super) async fn added(
    State(transport_security): State<Option<HeaderValue>>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    add(response.headers_mut(), transport_security);
    response
}

/// What every answer says. `transport_security`: where the connection is encrypted and the setting `hsts_seconds` is set.
pub(super) fn add(headers: &mut HeaderMap, transport_security: Option<HeaderValue>) {
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    let kept = headers.entry(header::CACHE_CONTROL);
    kept.or_insert(HeaderValue::from_static("no-store"));
    if let Some(value) = transport_security {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, value);
    }
}

/// The header that tells browsers to come encrypted from now on; none for 0 seconds.
pub(super) fn transport_security(seconds: u64) -> Option<HeaderValue> {
    (seconds > 0)
        .then(|| HeaderValue::from_str(&format!("max-age={seconds}")).ok())
        .flatten()
}
