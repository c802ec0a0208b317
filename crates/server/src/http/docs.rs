//! The documentation to browse: a small page of our own that draws `/openapi.json`. It needs no network but this server.

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::Server;

/// The page runs its own script and nothing else, asks this server and nobody else, and is framed by nobody.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new()
        .route(
            "/docs",
            get(async || file("text/html; charset=utf-8", include_str!("docs/page.html"))),
        )
        .route(
            "/docs/page.css",
            get(async || file("text/css; charset=utf-8", include_str!("docs/page.css"))),
        )
        .route(
            "/docs/page.js",
            get(async || file("text/javascript; charset=utf-8", include_str!("docs/page.js"))),
        )
}

fn file(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        // Another version of the server may answer next time.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}
