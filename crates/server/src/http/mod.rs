//! The server: the verbs over HTTP, for programs in any language. It keeps nothing that the database does not know, so
//! any number of them run side by side.

mod act;
mod answer_headers;
mod auth;
mod body;
mod bounds;
mod claims;
mod description;
mod docs;
mod endings;
mod events;
mod evidence;
mod executions;
mod jobs;
mod key_ends;
mod listen;
mod live;
mod meta;
pub mod metrics;
mod mount;
mod observed;
mod problem;
mod request_log;
mod requests;
mod shares;
mod subscriptions;
mod times;
mod waiting;
mod waits;
mod work;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::http::HeaderValue;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use tenure::Pool;
use tenure::evidence::KeySource;
use tenure::pool::PoolOptions;
use tenure::store::principals::keys_used;
use tenure_core::codes;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tower_http::catch_panic::CatchPanicLayer;

use self::auth::Keys;
use self::bounds::Room;
use self::endings::{Endings, Of};
use self::key_ends::KeyEnds;
pub use self::listen::{Certificates, Limits};
use self::live::Live;
use self::problem::Problem;
use self::shares::{CONNECTION_WAIT_MAX, Shares};
use self::waiting::Waiting;
use crate::ending::closed;
use crate::webhooks::Reach;

/// How often it is written down which keys were used.
const NOTE_EVERY: Duration = Duration::from_secs(60);
/// How long that may take at the end.
const NOTE_WITHIN: Duration = Duration::from_secs(2);

/// Connections for `/readyz` and `/metrics`, which must answer above all when there is trouble.
pub const HEALTH_CONNECTIONS: usize = 2;
/// How long these wait for one.
const HEALTH_WAIT: Duration = Duration::from_secs(3);

/// The connections of a server to its database, apart from each other: requests that wait for a lock hold up no service
/// and no health check.
pub struct Pools {
    /// For requests.
    requests: Pool,
    /// For what runs on a timer, and for the looks that long polls and streams share.
    pub services: Pool,
    /// For health checks and metrics.
    health: Pool,
}

impl Pools {
    /// Opens nothing yet.
    pub fn new(url: &str, requests: usize, services: usize) -> tenure::Result<Pools> {
        let options = |connections_max, wait| PoolOptions { connections_max, wait };
        let requests = Pool::new(url, &options(requests, CONNECTION_WAIT_MAX))?;
        Ok(Pools {
            services: requests.apart(&options(services, PoolOptions::default().wait))?,
            health: requests.apart(&options(HEALTH_CONNECTIONS, HEALTH_WAIT))?,
            requests,
        })
    }
}

/// What the server says and does beyond its limits.
#[derive(Debug, Default)]
pub struct Manners {
    /// Where webhooks may go.
    pub webhooks: Reach,
    /// For how long browsers are to come encrypted only; 0: no such header. Only where there is a certificate.
    pub hsts_seconds: u64,
    /// The key that signs evidence.
    pub evidence_key: KeySource,
}

/// What all requests share.
pub struct Server {
    pool: Pool,
    /// How much of it who may use.
    shares: Shares,
    services: Pool,
    health: Pool,
    keys: Keys,
    key_ends: Arc<KeyEnds>,
    webhooks: Reach,
    evidence_key: KeySource,
    transport_security: Option<HeaderValue>,
    waiting: Arc<Waiting>,
    live: Arc<Live>,
    endings: Arc<Endings>,
    settlings: Arc<Endings>,
    /// Where to hear of new work: a direct way to the database.
    listen_url: String,
    limits: Limits,
    room: Room,
    /// Emptied when the server is about to end.
    ending: Mutex<Option<watch::Sender<()>>>,
    ended: watch::Receiver<()>,
    /// What the database said about itself.
    told: metrics::Told,
}

impl Server {
    /// On these connections; nothing is opened yet. `listen_url` names the database without a pooler in between.
    pub fn new(pools: Pools, listen_url: &str, limits: Limits, manners: Manners) -> Arc<Server> {
        let (ending, ended) = watch::channel(());
        Arc::new(Server {
            shares: Shares::new(pools.requests.connections_max()),
            pool: pools.requests,
            services: pools.services,
            health: pools.health,
            keys: Keys::default(),
            key_ends: Arc::default(),
            webhooks: manners.webhooks,
            evidence_key: manners.evidence_key,
            transport_security: answer_headers::transport_security(manners.hsts_seconds),
            waiting: Arc::default(),
            live: Arc::default(),
            endings: Endings::new(Of::Jobs),
            settlings: Endings::new(Of::Executions),
            listen_url: listen_url.to_owned(),
            room: Room::new(limits.bodies_bytes_max, limits.body),
            limits,
            ending: Mutex::new(Some(ending)),
            ended,
            told: Default::default(),
        })
    }

    /// Ready when the server is about to end: an answer that goes on and on ends then, or it is cut off.
    pub fn ending(&self) -> impl Future<Output = ()> + Send + use<> {
        closed(self.ended.clone())
    }

    /// Closes every connection to the database.
    pub fn close(&self) {
        for pool in [&self.pool, &self.services, &self.health] {
            pool.close();
        }
    }

    /// Tells everybody that it ends.
    fn end(&self) {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Whoever waits for work is told that there is none.
        self.waiting.close();
        self.live.close();
        self.endings.close();
        self.settlings.close();
    }
}

/// All routes.
fn routes() -> Router<Arc<Server>> {
    mount::routes(by_hand())
        .merge(evidence::routes())
        .merge(meta::routes())
        .merge(metrics::routes())
}

/// The handlers of operations that wait or must be quick.
fn by_hand() -> mount::ByHand {
    mount::ByHand::default()
        .merge(jobs::routes())
        .merge(endings::routes())
        .merge(claims::routes())
        .merge(work::routes())
        .merge(events::routes())
        .merge(executions::routes())
        .merge(subscriptions::routes())
}

/// The description of the API, as JSON.
pub fn description() -> String {
    format!("{:#}", description::document())
}

/// The whole application.
pub(crate) fn application(server: Arc<Server>) -> Router {
    let document = description();
    routes()
        .route("/openapi.json", get(move || meta::document(document.clone())))
        .merge(docs::routes())
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .layer(from_fn_with_state(server.clone(), requests::once))
        .layer(from_fn_with_state(server.clone(), body::small_first))
        .layer(from_fn(bounds::within))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(observed::observed))
        .layer(from_fn(request_log::logged))
        .layer(from_fn_with_state(
            server.transport_security.clone(),
            answer_headers::added,
        ))
        .with_state(server)
}

/// Answers requests until somebody asks to stop; those that have begun are finished, within the time for that.
pub async fn serve(
    server: Arc<Server>,
    listener: TcpListener,
    certificates: Option<Arc<Certificates>>,
    stop: impl Future<Output = ()> + Send + 'static,
) {
    tokio::spawn(note_use(server.clone()));
    let watching = tokio::spawn(server.endings.clone().watch(server.services.clone()));
    let settling = tokio::spawn(server.settlings.clone().watch(server.services.clone()));
    let looking = tokio::spawn(server.key_ends.clone().look(server.services.clone()));
    let counting = tokio::spawn(metrics::keep_up());
    let hearing = tokio::spawn(
        server
            .waiting
            .clone()
            .hear(server.listen_url.clone(), server.key_ends.clone()),
    );
    let following = certificates
        .clone()
        .map(|certificates| tokio::spawn(certificates.follow()));
    let (limits, ended) = (server.limits.clone(), server.ended.clone());
    let listening = listen::listen(listener, application(server.clone()), limits, certificates, ended);
    let ending = async {
        stop.await;
        server.end();
    };
    let (cut_off, ()) = tokio::join!(listening, ending);
    if cut_off > 0 {
        tracing::warn!(connections = cut_off, "cut off at the end: they took too long");
    }
    watching.abort();
    settling.abort();
    looking.abort();
    counting.abort();
    hearing.abort();
    if let Some(following) = following {
        following.abort();
    }
    // A database that does not answer any more keeps nobody here.
    let _ = tokio::time::timeout(NOTE_WITHIN, note_once(&server)).await;
}

/// Writes down now and then which keys were used.
async fn note_use(server: Arc<Server>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(NOTE_EVERY) => note_once(&server).await,
            () = server.ending() => return,
        }
    }
}

async fn note_once(server: &Server) {
    let used = server.keys.used();
    if used.is_empty() {
        return;
    }
    let noted = async { keys_used(&*server.services.get().await?, &used).await };
    if let Err(error) = noted.await {
        tracing::debug!(code = error.code(), "the use of keys was not written down: {error}");
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
