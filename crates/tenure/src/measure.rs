//! What workers and services count, through the facade `metrics`: with the feature of that name, and a recorder that the
//! program installs. Counted by the batch wherever a batch is what moves.

use std::time::Duration;

#[cfg(feature = "metrics")]
use metrics::{counter, histogram};

#[cfg(feature = "metrics")]
use crate::services::{reaper, retention};
#[cfg(feature = "metrics")]
use crate::store::schedules::Advanced;
use crate::worker::Report;

/// Tells the recorder what each of them means. To be called once, after it was installed.
#[cfg(feature = "metrics")]
pub fn describe() {
    use metrics::{Unit, describe_counter, describe_histogram};
    describe_counter!(
        "tenure_worker_jobs_claimed_total",
        "Jobs that workers of this process were given."
    );
    describe_counter!(
        "tenure_worker_jobs_finished_total",
        "Runs that workers of this process ended, by outcome; lost: the lease ran out, and the result was dropped."
    );
    describe_counter!(
        "tenure_worker_turns_total",
        "Statements of workers of this process that recorded ends, claimed work, or both."
    );
    describe_histogram!(
        "tenure_worker_claim_jobs",
        "Jobs that one claim of this process brought."
    );
    describe_histogram!(
        "tenure_worker_run_seconds",
        Unit::Seconds,
        "How long runs of this process's workers took, by kind."
    );
    describe_counter!(
        "tenure_worker_heartbeats_total",
        "Heartbeats of workers of this process, by outcome."
    );
    describe_counter!(
        "tenure_service_runs_total",
        "Runs of the services in this process, by service and outcome."
    );
    describe_counter!(
        "tenure_reaper_jobs_ended_total",
        "Jobs that the reaper of this process ended."
    );
    describe_counter!(
        "tenure_retention_jobs_cleaned_total",
        "Jobs that retention in this process cleaned."
    );
    describe_counter!(
        "tenure_retention_dead_letters_removed_total",
        "Closed dead letters that retention in this process removed."
    );
    describe_counter!(
        "tenure_retention_partitions_total",
        "Partitions that retention in this process made or dropped."
    );
    describe_counter!(
        "tenure_retention_slots_removed_total",
        "Slots of schedules that retention in this process removed."
    );
    describe_counter!(
        "tenure_scheduler_slots_total",
        "Slots of schedules that the scheduler of this process dealt with: planned ahead, started, skipped, set to wait for another run, or missed."
    );
    // What a rule asks for is there before it first happens.
    counter!("tenure_reaper_jobs_ended_total").absolute(0);
    counter!("tenure_retention_jobs_cleaned_total").absolute(0);
    counter!("tenure_retention_dead_letters_removed_total").absolute(0);
    counter!("tenure_retention_slots_removed_total").absolute(0);
    advanced(Advanced::default());
    for service in [
        "archive",
        "executions",
        "reaper",
        "retention",
        "scheduler",
        "subscriptions",
    ] {
        for outcome in ["done", "failed"] {
            counter!("tenure_service_runs_total", "service" => service, "outcome" => outcome).absolute(0);
        }
    }
}

/// What a worker did since this was last told.
pub(crate) fn told(before: &mut Report, now: Report) {
    #[cfg(feature = "metrics")]
    {
        let count = |name: &'static str, before: u64, now: u64| {
            if now > before {
                counter!(name).increment(now - before);
            }
        };
        let finished = |outcome: &'static str, before: u64, now: u64| {
            if now > before {
                counter!("tenure_worker_jobs_finished_total", "outcome" => outcome).increment(now - before);
            }
        };
        count("tenure_worker_jobs_claimed_total", before.claimed, now.claimed);
        count("tenure_worker_turns_total", before.turns, now.turns);
        finished("succeeded", before.succeeded, now.succeeded);
        finished("failed", before.failed, now.failed);
        finished("cancelled", before.cancelled, now.cancelled);
        finished("snoozed", before.snoozed, now.snoozed);
        finished("released", before.released, now.released);
        finished("lost", before.lost, now.lost);
    }
    *before = now;
}

/// A claim brought so many jobs.
pub(crate) fn claimed(jobs: usize) {
    #[cfg(feature = "metrics")]
    histogram!("tenure_worker_claim_jobs").record(jobs as f64);
    #[cfg(not(feature = "metrics"))]
    let _ = jobs;
}

/// A heartbeat was answered, or not.
pub(crate) fn beaten(answered: bool) {
    #[cfg(feature = "metrics")]
    {
        let outcome = if answered { "done" } else { "failed" };
        counter!("tenure_worker_heartbeats_total", "outcome" => outcome).increment(1);
    }
    #[cfg(not(feature = "metrics"))]
    let _ = answered;
}

/// A service has run.
pub(crate) fn served(service: &'static str, done: bool) {
    #[cfg(feature = "metrics")]
    {
        let outcome = if done { "done" } else { "failed" };
        counter!("tenure_service_runs_total", "service" => service, "outcome" => outcome).increment(1);
    }
    #[cfg(not(feature = "metrics"))]
    let _ = (service, done);
}

/// What the reaper did.
#[cfg(feature = "metrics")]
pub(crate) fn reaped(counts: reaper::Counts) {
    counter!("tenure_reaper_jobs_ended_total").increment(counts.ended as u64);
}

/// What retention did.
#[cfg(feature = "metrics")]
pub(crate) fn swept(counts: retention::Counts) {
    let number = |count: i64| u64::try_from(count).unwrap_or_default();
    counter!("tenure_retention_jobs_cleaned_total").increment(number(counts.cleaned));
    counter!("tenure_retention_dead_letters_removed_total").increment(number(counts.dead_letters_removed));
    counter!("tenure_retention_slots_removed_total").increment(number(counts.slots_removed));
    counter!("tenure_retention_partitions_total", "what" => "made").increment(counts.partitions_made as u64);
    counter!("tenure_retention_partitions_total", "what" => "dropped").increment(counts.partitions_dropped as u64);
}

/// What the scheduler did.
#[cfg(feature = "metrics")]
pub(crate) fn advanced(done: Advanced) {
    let told = [
        ("planned", done.planned),
        ("started", done.started),
        ("skipped", done.skipped),
        ("waiting", done.waiting),
        ("missed", done.missed),
    ];
    for (what, count) in told {
        counter!("tenure_scheduler_slots_total", "what" => what).increment(u64::try_from(count).unwrap_or_default());
    }
}

/// How long the runs of one kind take: looked up once, because it is told of every run.
#[derive(Default)]
pub(crate) struct RunTimes {
    #[cfg(feature = "metrics")]
    histogram: std::sync::OnceLock<metrics::Histogram>,
}

impl RunTimes {
    /// A run of this kind took so long.
    pub(crate) fn record(&self, kind: &str, took: Duration) {
        #[cfg(feature = "metrics")]
        self.histogram
            .get_or_init(|| histogram!("tenure_worker_run_seconds", "kind" => kind.to_owned()))
            .record(took);
        #[cfg(not(feature = "metrics"))]
        let _ = (kind, took);
    }
}
