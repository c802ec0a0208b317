//! What the reaper and the retention service do on a timer, done now.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::JobState;
use crate::{Effect, Operation, Page, Route, Shape, words};

words! {
    /// Whether the reaper acts.
    pub enum ReapMode {
        /// It ends what it finds.
        Apply = "apply",
        /// It only lists what it would end.
        DryRun = "dry_run",
    }
}

words! {
    /// Why the reaper ends a run or a job.
    pub enum ReapFinding {
        /// The lease has expired.
        Expired = "expired",
        /// The job is held without a lease. Only a dry run says so; ended, it is `expired`.
        NoLease = "no_lease",
        /// The run timeout has passed, though the lease was renewed.
        TimedOut = "timed_out",
        /// The lease was renewed longer than its kind allows.
        RenewalsExceeded = "renewals_exceeded",
        /// The job waits, and its deadline has passed.
        DeadlinePassed = "deadline_passed",
    }
}

/// End jobs whose lease expired, that run for too long or whose deadline has passed
///
/// The reaper does it on a timer. Ends up to `limit` jobs; a dry run lists up to `limit` held jobs and as many waiting ones.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobReap {
    /// Whether to end what is found, or only to list it.
    #[serde(default = "reap_mode_default")]
    pub mode: ReapMode,
    /// The maximum number of jobs.
    #[serde(default = "reap_limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn reap_mode_default() -> ReapMode {
    ReapMode::Apply
}

fn reap_limit_default() -> i32 {
    500
}

impl Default for JobReap {
    fn default() -> JobReap {
        JobReap {
            mode: reap_mode_default(),
            limit: reap_limit_default(),
        }
    }
}

impl Operation for JobReap {
    const NAME: &str = "job_reap";
    const ROUTE: Route = Route::post("/v1/jobs/reap", "services");
    const EFFECT: Effect = Effect::Changes;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Page<ReapedJob>;
}

/// A job that the reaper ended, or would end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReapedJob {
    /// The job.
    pub job_id: Uuid,
    /// Its tenant.
    pub tenant: String,
    /// Its kind.
    pub kind: String,
    /// Why it is ended.
    pub finding: ReapFinding,
    /// The worker that held it.
    pub worker: Option<String>,
    /// Its state now.
    pub state: JobState,
}

/// Clean jobs whose retention is over
///
/// The retention service does it on a timer. A cleaned job loses its payload, result and references for good. Closed dead
/// letters whose retention is over are removed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSweep {
    /// The maximum number of jobs that are examined.
    #[serde(default = "sweep_limit_default")]
    #[schemars(range(min = 1, max = 10000))]
    pub limit: i32,
}

fn sweep_limit_default() -> i32 {
    1000
}

impl Default for JobSweep {
    fn default() -> JobSweep {
        JobSweep {
            limit: sweep_limit_default(),
        }
    }
}

impl Operation for JobSweep {
    const NAME: &str = "job_sweep";
    const ROUTE: Route = Route::post("/v1/jobs/sweep", "services");
    const EFFECT: Effect = Effect::Destroys;
    type Answer = Swept;
}

/// What a sweep did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Swept {
    /// The number of jobs that were examined.
    pub examined: i64,
    /// The number of jobs that were cleaned.
    pub cleaned: i64,
    /// The number of closed dead letters that were removed.
    pub dead_letters_removed: i64,
    /// True if the sweep has reached the last job whose retention may be over. Missing if it did nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_of_pass: Option<bool>,
    /// Why the sweep did nothing. Missing if it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
