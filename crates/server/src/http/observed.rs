//! Around every request: how long it took, and its span in a trace. Never a body, a query or a key.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::Response;
use metrics::{gauge, histogram};
use tenure::traces;
use tracing::field::Empty;
use tracing::{Instrument, Span, info_span};

/// Names the trace of a request.
const TRACE_HEADER: &str = "traceparent";
/// What a request is counted under that is none of ours: a label has to be one of a few.
const OTHER: &str = "other";

pub(super) async fn observed(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let _under_way = UnderWay::new();
    let method = method_of(request.method());
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or(OTHER, MatchedPath::as_str).to_owned();
    let span = span(method, &route, request.headers());
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status();
    span.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
    let labels = [
        ("method", method.to_owned()),
        ("route", route),
        ("status", status.as_str().to_owned()),
    ];
    histogram!("tenure_http_request_seconds", &labels).record(began.elapsed());
    response
}

/// The span of a request to the API; those who only ask whether we live are not worth one.
fn span(method: &'static str, route: &str, headers: &HeaderMap) -> Span {
    if !route.starts_with("/v1/") {
        return Span::none();
    }
    let span = info_span!(
        "request", otel.name = %format_args!("{method} {route}"), otel.kind = "server", otel.status_code = Empty,
        http.request.method = method, http.route = route, http.response.status_code = Empty,
        tenure.tenant = Empty, tenure.principal = Empty,
    );
    if let Some(header) = header_of(headers) {
        traces::continue_from(&span, header);
    }
    span
}

fn header_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(TRACE_HEADER)?.to_str().ok()
}

/// The trace that jobs of this request belong to: our own span, or, where nobody collects ours, what the caller named.
pub(super) fn traceparent_of(headers: &HeaderMap) -> Option<String> {
    traces::current().or_else(|| tenure_core::traceparent::read(header_of(headers)?))
}

fn method_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::PATCH => "PATCH",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => OTHER,
    }
}

/// A request that is not answered yet; also one whose caller goes away.
struct UnderWay;

impl UnderWay {
    fn new() -> UnderWay {
        gauge!("tenure_http_requests_in_flight").increment(1.0);
        UnderWay
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        gauge!("tenure_http_requests_in_flight").decrement(1.0);
    }
}
