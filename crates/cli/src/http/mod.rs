//! The server: the verbs over HTTP, for programs in any language. It keeps nothing that the database does not know, so
//! any number of them run side by side.

mod act;
mod auth;
mod body;
mod claims;
mod dead_letters;
mod docs;
mod endings;
mod events;
mod jobs;
mod kinds;
mod logins;
mod meta;
mod operate;
mod principals;
mod problem;
mod services;
mod settings;
mod waiting;
mod work;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use tenure::Pool;
use tenure::store::principals::keys_used;
use tenure_core::codes;
use tokio::net::TcpListener;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa_axum::router::OpenApiRouter;

use self::auth::Keys;
pub(crate) use self::auth::random_key;
use self::endings::Endings;
use self::problem::Problem;
use self::waiting::Waiting;

/// A body is never larger than this: a batch of a thousand payloads.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// No answer takes longer, long polls included.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// How often it is written down which keys were used.
const NOTE_EVERY: Duration = Duration::from_secs(60);

/// What all requests share.
pub(crate) struct Server {
    pool: Pool,
    keys: Keys,
    waiting: Arc<Waiting>,
    endings: Arc<Endings>,
    /// Where to hear of new work: a direct way to the database.
    listen_url: String,
}

#[derive(OpenApi)]
#[openapi(
    info(title = "Tenure", description = "Work that must not be lost, must not run twice by accident, and must not run without permission."),
    modifiers(&KeyInHeader),
    security(("key" = [])),
    tags(
        (name = "jobs", description = "Put work in, look at it, decide about it."),
        (name = "work", description = "Claim jobs, hold them, end them."),
        (name = "dead letters", description = "Jobs that gave up: look, triage, replay."),
        (name = "events", description = "What happened, as a stream."),
        (name = "kinds", description = "Policies of kinds, and who runs them."),
        (name = "settings", description = "Settings and gates."),
        (name = "principals", description = "Tenants, principals and keys."),
        (name = "services", description = "What runs on a timer, done now; and what an operator should know."),
        (name = "server", description = "How the server is."),
    )
)]
struct Description;

struct KeyInHeader;

impl utoipa::Modify for KeyInHeader {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("tnr_PREFIX_SECRET");
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(scheme.build()));
    }
}

impl Server {
    pub(crate) fn new(pool: Pool, listen_url: &str) -> Arc<Server> {
        Arc::new(Server {
            pool,
            keys: Keys::default(),
            waiting: Arc::default(),
            endings: Arc::default(),
            listen_url: listen_url.to_owned(),
        })
    }
}

/// All routes, and their description.
fn routes() -> (Router<Arc<Server>>, utoipa::openapi::OpenApi) {
    OpenApiRouter::with_openapi(Description::openapi())
        .merge(jobs::routes())
        .merge(endings::routes())
        .merge(operate::routes())
        .merge(claims::routes())
        .merge(work::routes())
        .merge(dead_letters::routes())
        .merge(events::routes())
        .merge(kinds::routes())
        .merge(settings::routes())
        .merge(principals::routes())
        .merge(logins::routes())
        .merge(services::routes())
        .merge(meta::routes())
        .split_for_parts()
}

/// The description of the API, as JSON.
pub(crate) fn description() -> String {
    routes().1.to_pretty_json().unwrap_or_default()
}

/// The whole application.
pub(crate) fn application(server: Arc<Server>) -> Router {
    let document = description();
    routes()
        .0
        .route("/openapi.json", get(move || meta::document(document.clone())))
        .merge(docs::routes())
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .layer(axum::middleware::from_fn(body::small_first))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            ANSWER_MAX,
        ))
        .layer(CatchPanicLayer::custom(panicked))
        .with_state(server)
}

/// Answers requests until somebody asks to stop; those that have begun are finished.
pub(crate) async fn serve(
    server: Arc<Server>,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let noting = tokio::spawn(note_use(server.clone()));
    let waiting = server.waiting.clone();
    let endings = server.endings.clone();
    let watching = tokio::spawn(endings.clone().watch(server.pool.clone()));
    let hearing = tokio::spawn(waiting.clone().hear(server.listen_url.clone()));
    let stop = async move {
        stop.await;
        // Whoever waits is told how it is now.
        waiting.close();
        endings.close();
    };
    let service = application(server).into_make_service_with_connect_info::<SocketAddr>();
    let ended = axum::serve(listener, service).with_graceful_shutdown(stop).await;
    noting.abort();
    hearing.abort();
    watching.abort();
    ended
}

/// Writes down now and then which keys were used.
async fn note_use(server: Arc<Server>) {
    loop {
        tokio::time::sleep(NOTE_EVERY).await;
        let used = server.keys.used();
        if used.is_empty() {
            continue;
        }
        let noted = async { keys_used(&*server.pool.get().await?, &used).await };
        if let Err(error) = noted.await {
            tracing::debug!(code = error.code(), "the use of keys was not written down: {error}");
        }
    }
}

async fn no_such_path(uri: axum::http::Uri) -> Problem {
    Problem::new(
        codes::PATH_UNKNOWN,
        format!("There is nothing at {}.", uri.path()),
        "The path is no part of this API.",
        "See /docs for all there is.",
    )
}

async fn no_such_method(method: axum::http::Method, uri: axum::http::Uri) -> Problem {
    Problem::new(
        codes::METHOD_NOT_ALLOWED,
        format!("{method} is not possible at {}.", uri.path()),
        "The path exists, with other methods.",
        "See /openapi.json for what it takes; the header Allow names the methods.",
    )
}

fn panicked(panic: Box<dyn std::any::Any + Send>) -> axum::response::Response {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    tracing::error!("a request ended in a panic: {}", text.unwrap_or_default());
    axum::response::IntoResponse::into_response(Problem::new(
        codes::DATABASE_ERROR,
        "The server could not do this.",
        "Something went wrong inside; the server's log has it.",
        "This is a bug; report it, with the time of the request.",
    ))
}
