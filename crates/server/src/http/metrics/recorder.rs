//! What is counted in this process as it happens.

use std::sync::LazyLock;

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// From a millisecond to the longest wait of a claim.
const REQUEST_SECONDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 20.0, 60.0];
/// From what is handed over at once to what waited for half a day.
const JOB_SECONDS: [f64; 14] = [
    0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 43200.0,
];
/// Jobs of a batch.
const BATCH_JOBS: [f64; 8] = [0.0, 1.0, 2.0, 5.0, 10.0, 50.0, 200.0, 1000.0];

static RECORDER: LazyLock<PrometheusHandle> = LazyLock::new(|| {
    let buckets = |builder: PrometheusBuilder, end: &str, buckets: &[f64]| {
        let matcher = Matcher::Suffix(end.to_owned());
        builder
            .set_buckets_for_metric(matcher, buckets)
            .expect("there are buckets")
    };
    let builder = buckets(PrometheusBuilder::new(), "_request_seconds", &REQUEST_SECONDS);
    let builder = buckets(builder, "_wait_seconds", &JOB_SECONDS);
    let builder = buckets(builder, "_run_seconds", &JOB_SECONDS);
    let recorder = buckets(builder, "_claim_jobs", &BATCH_JOBS).build_recorder();
    let handle = recorder.handle();
    // Only we install one, and only here.
    metrics::set_global_recorder(recorder).unwrap_or_else(|_| unreachable!("this runs once"));
    describe();
    handle
});

/// Counts from now on; before anything is counted that should not be missed.
pub fn install() -> &'static PrometheusHandle {
    &RECORDER
}

fn describe() {
    tenure::measure::describe();
    describe_histogram!(
        "tenure_http_request_seconds",
        Unit::Seconds,
        "How long requests to this server took, by method, route and status; claims may wait for work."
    );
    describe_gauge!(
        "tenure_http_requests_in_flight",
        "Requests that this server is about to answer."
    );
    describe_counter!(
        "tenure_job_events_total",
        "What happened to jobs by tenant, kind and event, whoever did it, since this server was first asked. Every server tells the same: take one, or the maximum."
    );
    describe_histogram!(
        "tenure_job_wait_seconds",
        Unit::Seconds,
        "How long jobs waited from when they were due to the start of their first run: a sample of those that ended."
    );
    describe_histogram!(
        "tenure_job_run_seconds",
        Unit::Seconds,
        "How long runs took: a sample of those that ended, whoever ran them."
    );
    metrics::gauge!("tenure_http_requests_in_flight").set(0.0);
}
