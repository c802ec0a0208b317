//! `/metrics`, for Prometheus: what the database knows, asked once in a while however many ask, and what this process did.

mod families;
mod recorder;
mod text;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use metrics::{counter, histogram};
use tenure::store::for_every_tenant;
use tenure::store::health::{self, Metrics};
use tenure_core::codes;
use tokio::net::TcpListener;
use tokio::sync::Mutex;

pub use self::recorder::install;
use self::text::Text;
use super::act::Lent;
use super::auth::Caller;
use super::problem::Problem;
use super::{Server, answer_headers};

/// How long what the database said is good for.
const FRESH: Duration = Duration::from_secs(5);
/// How long the database is waited for. Whoever monitors wants an answer then, above all when there is trouble.
const PATIENCE: Duration = Duration::from_secs(4);
/// The format, as Prometheus names it.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the database said last.
#[derive(Default)]
pub(super) struct Told {
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    asked: Option<Instant>,
    answer: Option<Metrics>,
    /// Where counting goes on. Kept while the database is away.
    cursor: Option<String>,
}

pub(super) fn routes() -> Router<Arc<Server>> {
    Router::new().route("/metrics", get(metrics))
}

/// All numbers, for keys of the installation: they cover every tenant.
async fn metrics(State(server): State<Arc<Server>>, caller: Caller) -> Result<Response, Problem> {
    let allowed = server.call(&caller.everywhere(), "metrics", async |_| Ok(())).await;
    allowed.map_err(|problem| match problem.is(codes::NOT_PERMITTED) {
        true => Problem::new(
            codes::NOT_PERMITTED,
            "The metrics are not for this key.",
            "They tell of every tenant, and the key belongs to one.",
            "Use a key of the installation, which its operator makes; GET /v1/health tells of one tenant.",
        ),
        false => problem,
    })?;
    Ok(told(&server).await)
}

/// Answers whoever can reach the listener, until somebody asks to stop.
pub async fn listen(
    server: Arc<Server>,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let open = async |State(server): State<Arc<Server>>| told(&server).await;
    let application = Router::new()
        .route("/metrics", get(open))
        .layer(from_fn_with_state(None, answer_headers::added))
        .with_state(server);
    axum::serve(listener, application).with_graceful_shutdown(stop).await
}

/// Folds what was counted, so that it does not pile up while nobody asks.
pub(super) async fn keep_up() {
    loop {
        tokio::time::sleep(FRESH).await;
        install().run_upkeep();
    }
}

async fn told(server: &Server) -> Response {
    let mut text = Text::default();
    {
        // Whoever comes while it is asked waits for the same answer.
        let mut last = server.told.last.lock().await;
        if last.asked.is_none_or(|asked| asked.elapsed() >= FRESH) {
            last.refresh(server).await;
        }
        text.gauge("tenure_database_up", f64::from(u8::from(last.answer.is_some())));
        text.series(last.answer.iter().flat_map(|answer| &answer.series));
    }
    let pool = server.pool.status();
    let used = pool.connections.saturating_sub(pool.idle);
    text.labelled(
        "tenure_pool_connections",
        &[("idle", pool.idle as f64), ("used", used as f64)],
        "state",
    );
    text.gauge("tenure_pool_connections_max", server.pool.connections_max() as f64);
    text.gauge("tenure_pool_waiting", pool.waiting as f64);
    text.labelled("tenure_build_info", &[(env!("CARGO_PKG_VERSION"), 1.0)], "version");
    let body = text.finish() + &install().render();
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], body).into_response()
}

impl Last {
    async fn refresh(&mut self, server: &Server) {
        self.answer = match tokio::time::timeout(PATIENCE, ask(server, self.cursor.as_deref())).await {
            Ok(Ok(answer)) => {
                count(&answer);
                self.cursor = Some(answer.cursor.clone());
                Some(answer)
            }
            Ok(Err(error)) => {
                tracing::warn!(code = error.code(), "the database was asked for its metrics: {error}");
                None
            }
            Err(_) => {
                tracing::warn!("the database did not tell its metrics within {PATIENCE:?}");
                None
            }
        };
        self.asked = Some(Instant::now());
    }
}

async fn ask(server: &Server, after: Option<&str>) -> tenure::Result<Metrics> {
    let mut lent = Lent::of(server.health.get().await?);
    let transaction = lent.client_mut().transaction().await?;
    for_every_tenant(&transaction).await?;
    let answer = health::metrics(&transaction, after).await?;
    transaction.commit().await?;
    lent.back();
    Ok(answer)
}

/// What happened since it was asked before, whoever did it.
fn count(answer: &Metrics) {
    for (tenant, kind, event, jobs) in &answer.counts {
        let labels = [
            ("tenant", tenant.clone()),
            ("kind", kind.clone()),
            ("event", event.clone()),
        ];
        counter!("tenure_job_events_total", &labels).increment(*jobs);
    }
    for (tenant, kind, waited, ran) in &answer.samples {
        let labels = [("tenant", tenant.clone()), ("kind", kind.clone())];
        if let Some(waited) = waited {
            histogram!("tenure_job_wait_seconds", &labels).record(*waited);
        }
        histogram!("tenure_job_run_seconds", &labels).record(*ran);
    }
}
