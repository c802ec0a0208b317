//! The spans of requests and jobs: servers that are asked to send them to a collector, by OTLP over HTTP as the standard
//! variables of OpenTelemetry say.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tenure_client::connect::{Connector, reason, tls_config};
use tenure_core::{Refusal, codes};
use tokio::runtime::{Builder, Runtime};
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use crate::errors::{Outcome, refuse};

/// Where to send spans; either one is enough.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
/// How long one delivery may take.
const DELIVERY_MAX: Duration = Duration::from_secs(10);
/// What a collector answers is not larger.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
/// How long the end of the program waits for the last one.
const FLUSH_MAX: Duration = Duration::from_secs(5);

/// Where the spans of this process go.
static PROVIDER: OnceLock<SdkTracerProvider> = OnceLock::new();

/// The spans of this process, on their way; delivered with [`Spans::end`].
pub(crate) struct Spans(Option<SdkTracerProvider>);

/// Gets ready to export spans: only servers do, and only when asked to.
pub(crate) fn prepare(is_server: bool) -> Outcome<Spans> {
    if !is_server || !is_asked_for() {
        return Ok(Spans(None));
    }
    let made = provider()?;
    Ok(Spans(Some(PROVIDER.get_or_init(|| made).clone())))
}

/// Exports what the program and its library do, for the log to begin with; none, where nobody asked for it.
pub(crate) fn layer<S>() -> Option<impl Layer<S>>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let provider = PROVIDER.get()?;
    // Spans alone: what is logged in them is for whoever runs the server.
    let ours = filter_fn(|metadata| metadata.is_span() && metadata.target().starts_with("tenure"));
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("tenure"));
    let layer = layer
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false);
    Some(layer.with_filter(ours))
}

impl Spans {
    /// Delivers what was not delivered yet.
    pub(crate) fn end(self) {
        if let Some(Err(error)) = self.0.map(|provider| provider.shutdown_with_timeout(FLUSH_MAX)) {
            tracing::warn!("the last spans were not delivered: {error}");
        }
    }
}

fn is_asked_for() -> bool {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|given| given.eq_ignore_ascii_case(value));
    let has = |name: &&str| std::env::var_os(name).is_some_and(|given| !given.is_empty());
    ENDPOINTS.iter().any(has) && !is("OTEL_SDK_DISABLED", "true") && !is("OTEL_TRACES_EXPORTER", "none")
}

fn provider() -> Outcome<SdkTracerProvider> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Post::new()?)
        .build();
    let exporter = exporter.map_err(|error| {
        refuse(
            codes::USAGE,
            "The traces cannot be exported as the environment asks.",
            error.to_string(),
            format!(
                "Mend {} or leave it out; it is a URL such as http://127.0.0.1:4318.",
                ENDPOINTS[1]
            ),
        )
    })?;
    // A name given by OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES goes before ours.
    let named = Resource::builder().build();
    let named = named
        .iter()
        .any(|(key, value)| key.as_str() == "service.name" && !value.as_str().starts_with("unknown_service"));
    let resource = Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    let resource = if named {
        resource
    } else {
        resource.with_service_name("tenure")
    };
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource.build())
        .build())
}

/// Delivers by HTTP, on the exporter's own thread: so it may wait there. The runtime is its own as well, because the last spans are
/// delivered when that of the program has ended.
#[derive(Debug)]
struct Post {
    runtime: Runtime,
    client: Client<Connector, Full<Bytes>>,
    /// Said once, not with every delivery.
    failing: AtomicBool,
}

impl Post {
    fn new() -> Outcome<Post> {
        let tls = tls_config(None).map_err(Refusal::from)?;
        let connector = Connector::new(tls, DELIVERY_MAX).with_proxies_of_environment();
        let mut builder = Client::builder(TokioExecutor::new());
        // Between two deliveries the runtime stands still, and an idle connection with it.
        builder.pool_max_idle_per_host(0);
        Ok(Post {
            runtime: Builder::new_current_thread().enable_all().build()?,
            client: builder.build(connector),
            failing: AtomicBool::new(false),
        })
    }

    fn deliver(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let exchange = async {
            let (head, body) = self.client.request(request.map(Full::new)).await?.into_parts();
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        // The limit needs the clock of the runtime, so it is made within.
        self.runtime
            .block_on(async { tokio::time::timeout(DELIVERY_MAX, exchange).await })?
    }
}

#[async_trait]
impl HttpClient for Post {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let outcome = self.deliver(request);
        let trouble = match &outcome {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(answer.status().to_string()),
            Err(error) => Some(reason(error.as_ref())),
        };
        let failed_before = self.failing.swap(trouble.is_some(), Ordering::Relaxed);
        match trouble {
            Some(trouble) if !failed_before => tracing::warn!("spans cannot be delivered, and are dropped: {trouble}"),
            None if failed_before => tracing::info!("spans are delivered again"),
            _ => {}
        }
        outcome
    }
}
