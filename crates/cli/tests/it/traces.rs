//! Traces: from the request that enqueues to the run that ends, seen by a collector.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde_json::{Value, json};
use tenure::pool::PoolOptions;
use tenure::store::jobs::{Claim, claim_many};
use tenure::{Client, NewJob, Pool, enqueue_in};
use tracing::Instrument;
use tracing_subscriber::layer::SubscriberExt;

use crate::api::{Api, key};
use crate::workbench::{Workbench, eventually};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

/// A collector of spans: OTLP over HTTP, in JSON.
#[derive(Clone)]
struct Collector {
    url: String,
    /// Every batch as it came.
    batches: Arc<Mutex<Vec<Value>>>,
}

impl Collector {
    fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let collector = Collector {
            url: format!("http://{}", listener.local_addr().expect("an address")),
            batches: Arc::default(),
        };
        let collecting = collector.clone();
        // Ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let collecting = collecting.clone();
                std::thread::spawn(move || collecting.take(stream));
            }
        });
        collector
    }

    /// Takes deliveries until the connection ends.
    fn take(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
        let mut stream = stream;
        loop {
            let (mut length, mut line) = (0, String::new());
            while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a length");
                }
                line.clear();
            }
            let mut body = vec![0; length];
            if length == 0 || reader.read_exact(&mut body).is_err() {
                return;
            }
            let batch = serde_json::from_slice(&body).expect("OTLP as JSON");
            self.batches.lock().expect("no panic").push(batch);
            let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn spans(&self) -> Vec<Value> {
        let mut spans = Vec::new();
        for batch in self.batches.lock().expect("no panic").iter() {
            for resource in batch["resourceSpans"].as_array().expect("resources") {
                for scope in resource["scopeSpans"].as_array().expect("scopes") {
                    spans.extend(scope["spans"].as_array().expect("spans").clone());
                }
            }
        }
        spans
    }

    /// The span of this name in our trace.
    fn span(&self, name: &str) -> Option<Value> {
        let found = self
            .spans()
            .into_iter()
            .find(|it| it["name"] == name && it["traceId"] == TRACE);
        found.clone()
    }
}

fn attribute(span: &Value, name: &str) -> Value {
    let attributes = span["attributes"].as_array().expect("attributes");
    let found = attributes.iter().find(|it| it["key"] == name);
    let value = found.map(|it| it["value"].clone()).unwrap_or_default();
    value
        .as_object()
        .and_then(|it| it.values().next())
        .cloned()
        .unwrap_or_default()
}

/// Enqueues as the holder of the key, in a trace.
fn enqueue(api: &Api, key: &str, traceparent: &str, body: &Value) -> String {
    let authorization = format!("Bearer {key}");
    let headers = [
        ("authorization", authorization.as_str()),
        ("content-type", "application/json"),
        ("traceparent", traceparent),
    ];
    let (status, job) = api.raw("POST", "/v1/jobs", &headers, Some(&body.to_string()));
    assert!(status < 300, "{status}: {job}");
    job["job_id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn one_trace_leads_from_the_request_to_the_end_of_the_job() {
    let bench = Workbench::open().await;
    let collector = Collector::start();
    let mut command = bench.command(["dev", "--listen", "127.0.0.1:0", "--json"]);
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
        .env("OTEL_BSP_SCHEDULE_DELAY", "100");
    let api = Api::of(command);
    let both = key(&bench, "shop", &["--role", "producer", "--role", "worker"]);
    let traceparent = format!("00-{TRACE}-{SPAN}-01");
    let body = json!({"kind": "hello", "payload": {"name": "hush"}});
    let job = enqueue(&api, &both, &traceparent, &body);
    let request = eventually("the span of the request", || collector.span("POST /v1/jobs"));
    let run = eventually("the span of the run", || collector.span("job"));
    assert_eq!(request["parentSpanId"], SPAN, "{request}");
    assert_eq!(
        run["parentSpanId"], request["spanId"],
        "the run follows from the enqueue: {run}"
    );
    assert_eq!(attribute(&run, "job_id"), job.as_str());
    assert_eq!(
        (attribute(&run, "kind"), &run["status"]["code"]),
        (json!("hello"), &json!(1)),
        "{run}"
    );
    for (name, value) in [
        ("http.route", "/v1/jobs"),
        ("http.request.method", "POST"),
        ("tenure.tenant", "default"),
        ("tenure.principal", "shop"),
    ] {
        assert_eq!(attribute(&request, name), value, "{request}");
    }
    eventually("the end", || (bench.state_of(&job) == "succeeded").then_some(()));
    let carried = bench.json(&["job", "show", &job])["traceparent"].clone();
    let span = request["spanId"].as_str().expect("a span");
    assert_eq!(carried, format!("00-{TRACE}-{span}-01"));

    // Whoever works over HTTP gets it with the claim. A header that is none begins a trace of its own.
    enqueue(&api, &both, &traceparent, &json!({"kind": "far"}));
    enqueue(&api, &both, "00-nonsense", &json!({"kind": "fresh"}));
    let claim = |kind: &str| {
        let claimed = api.post(&both, "/v1/jobs/claim", json!({"worker": "w", "kinds": [kind]}));
        claimed["jobs"][0]["traceparent"].as_str().expect("a trace").to_owned()
    };
    assert!(claim("far").starts_with(&format!("00-{TRACE}-")));
    let fresh = claim("fresh");
    assert!(!fresh.contains(TRACE) && fresh.len() == 55, "{fresh}");
    // What was not delivered yet is delivered at the end.
    assert!(api.stop(), "it ends in order");
    let claims = collector
        .spans()
        .into_iter()
        .filter(|it| it["name"] == "POST /v1/jobs/claim");
    assert_eq!(claims.count(), 2);
    let all = json!(*collector.batches.lock().expect("no panic")).to_string();
    let secret = both.rsplit('_').next().expect("a secret");
    assert!(!all.contains("hush") && !all.contains(secret), "no payload, no key");
    assert!(all.contains("service.name") && all.contains("\"tenure\""));
}

#[tokio::test]
async fn without_a_collector_a_job_still_carries_what_its_caller_named() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    let both = key(&bench, "shop", &["--role", "producer", "--role", "worker"]);
    let named = format!("00-{TRACE}-{SPAN}-00");
    for (header, carried) in [
        (named.as_str(), json!(named)),
        (&format!("01-{TRACE}-{SPAN}-00-later"), json!(named)),
        ("00-nonsense", Value::Null),
        (&format!("00-{TRACE}-0000000000000000-01"), Value::Null),
    ] {
        let job = enqueue(&api, &both, header, &json!({"kind": "a"}));
        assert_eq!(bench.json(&["job", "show", &job])["traceparent"], carried, "{header}");
        let claimed = api.post(&both, "/v1/jobs/claim", json!({"worker": "w"}));
        assert_eq!(claimed["jobs"][0]["traceparent"], carried, "{header}");
    }
}

/// The Rust client says in which span it enqueues, alone and in a transaction of the caller's.
#[tokio::test]
async fn a_rust_program_enqueues_in_its_own_span() {
    let bench = Workbench::open().await;
    let provider = SdkTracerProvider::builder().build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
    let pool = Pool::new(bench.database.url(), &PoolOptions::default()).expect("a pool");
    let client = Client::new(pool.clone());
    let span = tracing::info_span!("checkout");
    let here = async {
        client.enqueue(&NewJob::new("a")).await.expect("one");
        client
            .enqueue_many(&[NewJob::new("a"), NewJob::new("b")])
            .await
            .expect("many");
        let mut connection = pool.get().await.expect("a connection");
        let transaction = connection.transaction().await.expect("a transaction");
        enqueue_in(&transaction, &NewJob::new("a")).await.expect("one");
        transaction.commit().await.expect("commit");
        tenure::traces::current().expect("a trace")
    };
    let here = here.instrument(span).await;
    client.enqueue(&NewJob::new("a")).await.expect("outside of any span");
    let connection = pool.get().await.expect("a connection");
    let claimed = claim_many(&*connection, &Claim::new("w").limit(10))
        .await
        .expect("jobs");
    let inside = claimed
        .iter()
        .filter(|job| job.traceparent.as_deref() == Some(here.as_str()));
    assert_eq!(inside.count(), 4, "{here}: {claimed:?}");
    assert_eq!(claimed.iter().filter(|job| job.traceparent.is_none()).count(), 1);
}

/// Spans are dropped, said once, and nobody's request waits for it.
#[tokio::test]
async fn a_collector_that_is_away_stands_in_nobodys_way() {
    let bench = Workbench::open().await;
    // Bound and closed again: nobody listens there.
    let nobody = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("an address");
    let mut command = bench.command(["serve", "--listen", "127.0.0.1:0", "--json", "--log", "warn"]);
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{nobody}"))
        .env("OTEL_BSP_SCHEDULE_DELAY", "50")
        .stderr(std::process::Stdio::piped());
    let mut api = Api::of(command);
    let mut errors = BufReader::new(api.errors());
    let shop = key(&bench, "shop", &["--role", "producer"]);
    enqueue(&api, &shop, "", &json!({"kind": "a"}));
    // A copy of the template is another database, which the server says first.
    let (mut said, mut line) = (String::new(), String::new());
    while !line.contains("spans cannot be delivered") {
        line.clear();
        assert!(errors.read_line(&mut line).expect("its errors") > 0, "{said}");
        said.push_str(&line);
    }
    enqueue(&api, &shop, "", &json!({"kind": "a"}));
    assert!(api.stop(), "it ends in order");
    let mut rest = String::new();
    errors.read_to_string(&mut rest).expect("its errors");
    assert!(!rest.contains("cannot be delivered"), "said once: {rest}");
}

#[tokio::test]
async fn a_collector_that_cannot_be_is_refused_at_the_start() {
    let bench = Workbench::open().await;
    let mut command = bench.command(["serve", "--listen", "127.0.0.1:0"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "no address");
    let answer = crate::workbench::Answer::of(&mut command);
    assert!(
        answer.exit != 0 && answer.err.contains("OTEL_EXPORTER_OTLP_ENDPOINT"),
        "{answer:?}"
    );
}
