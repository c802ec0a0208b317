//! What a measured stretch of work cost.

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;

use super::report::{Facts, decimal, round, thousands};
use super::server::{Counters, Server};
use crate::errors::Outcome;

/// Runs from the moment it is made.
pub(super) struct Meter<'a> {
    server: &'a Server,
    before: Counters,
    cpu: Duration,
    began: Instant,
}

/// Time, and what each job took of the server's log, its commits and our own processor.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Cost {
    /// Jobs that were counted.
    pub(super) jobs: u64,
    pub(super) seconds: f64,
    pub(super) jobs_per_second: f64,
    pub(super) wal_bytes_per_job: f64,
    /// At most: a transaction within another, as plpgsql makes it to catch errors, counts too.
    pub(super) commits_per_job: f64,
    pub(super) client_cpu_us_per_job: f64,
}

impl<'a> Meter<'a> {
    pub(super) async fn start(server: &'a Server) -> Outcome<Meter<'a>> {
        let before = server.counters().await?;
        Ok(Meter {
            server,
            before,
            cpu: cpu(),
            began: Instant::now(),
        })
    }

    /// Since when it runs.
    pub(super) fn began(&self) -> Instant {
        self.began
    }

    /// The cost until now, for so many jobs.
    pub(super) async fn read(&self, jobs: u64) -> Outcome<Cost> {
        let (seconds, cpu) = (self.began.elapsed().as_secs_f64(), cpu().saturating_sub(self.cpu));
        let after = self.server.counters().await?;
        let per_job = |amount: f64| amount / jobs.max(1) as f64;
        Ok(Cost {
            jobs,
            seconds: round(seconds, 4),
            jobs_per_second: round(jobs as f64 / seconds, 1),
            wal_bytes_per_job: round(per_job((after.wal_bytes - self.before.wal_bytes) as f64), 1),
            commits_per_job: round(per_job((after.transactions - self.before.transactions) as f64), 5),
            client_cpu_us_per_job: round(per_job(cpu.as_secs_f64() * 1e6), 2),
        })
    }
}

impl Cost {
    /// What people read.
    pub(super) fn tell(&self, facts: &mut Facts) {
        facts.add("rate", format!("{} jobs/s", thousands(self.jobs_per_second)));
        facts.add("jobs", thousands(self.jobs as f64));
        facts.add("time", format!("{} s", decimal(self.seconds, 2)));
        facts.add("WAL", format!("{} bytes/job", thousands(self.wal_bytes_per_job)));
        facts.add("commits", format!("{} per job", decimal(self.commits_per_job, 4)));
        facts.add(
            "client CPU",
            format!("{} µs/job", decimal(self.client_cpu_us_per_job, 1)),
        );
    }
}

/// Processor time of this process so far, all its threads.
fn cpu() -> Duration {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else {
        return Duration::ZERO;
    };
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(micros.unsigned_abs())
}
