//! Find jobs, and learn what happened to one of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::JobState;
use super::show::{JobSlot, JobStep};
use crate::{Effect, Operation, Page, Route, Shape, Timestamp, words};

/// List jobs, newest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobList {
    /// Only jobs in one of these states.
    pub state: Option<Vec<JobState>>,
    /// Only jobs of this kind.
    pub kind: Option<String>,
    /// Only jobs for this executor.
    pub executor: Option<String>,
    /// Only jobs with this correlation id.
    pub correlation_id: Option<String>,
    /// Only jobs that were enqueued at this time or later.
    pub created_after: Option<Timestamp>,
    /// Only jobs that were enqueued before this time.
    pub created_before: Option<Timestamp>,
    /// Only jobs whose last run ended with this error code.
    pub error_code: Option<String>,
    /// Only jobs that are older than this one.
    pub before: Option<Uuid>,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of jobs.
    #[serde(default = "list_limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn list_limit_default() -> i32 {
    100
}

impl Default for JobList {
    fn default() -> JobList {
        JobList {
            state: None,
            kind: None,
            executor: None,
            correlation_id: None,
            created_after: None,
            created_before: None,
            error_code: None,
            before: None,
            cursor: None,
            limit: list_limit_default(),
        }
    }
}

impl Operation for JobList {
    const NAME: &str = "job_list";
    const ROUTE: Route = Route::get("/v1/jobs", "jobs");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("before", "job_id")];
    type Answer = Page<JobSummary>;
}

/// A job in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobSummary {
    /// Its id.
    pub job_id: Uuid,
    /// Its kind.
    pub kind: String,
    /// The executor that it is for.
    pub executor: String,
    /// Its state.
    pub state: JobState,
    /// Its priority; higher goes first.
    pub priority: i16,
    /// When it is due, or was.
    pub due: Timestamp,
    /// The number of attempts it has used.
    pub attempts: i32,
    /// How often it may be attempted.
    pub attempts_max: i16,
    /// The worker that holds it.
    pub lease_owner: Option<String>,
    /// When its lease expires unless it is renewed.
    pub lease_until: Option<Timestamp>,
    /// The text of the last error.
    pub error_message: Option<String>,
    /// The principal that enqueued it.
    pub enqueued_by: String,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// The step of an execution that it runs.
    pub step: Option<JobStep>,
    /// The slot of a schedule that it runs for.
    pub slot: Option<JobSlot>,
}

/// Show what happened to a job, oldest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobTimeline {
    /// The id of the job.
    pub job_id: Uuid,
}

impl Operation for JobTimeline {
    const NAME: &str = "job_timeline";
    const ROUTE: Route = Route::get("/v1/jobs/{job_id}/timeline", "jobs");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    type Answer = Page<JobMoment>;
}

words! {
    /// What was done to a job.
    pub enum JobVerb {
        /// It was enqueued.
        Enqueue = "enqueue",
        /// A worker claimed it.
        Claim = "claim",
        /// A worker started it.
        Start = "start",
        /// Its worker completed it.
        Complete = "complete",
        /// Its run failed.
        Fail = "fail",
        /// Its lease expired, or was renewed for too long.
        Expire = "expire",
        /// Its run timed out.
        TimeOut = "time_out",
        /// The next attempt was scheduled.
        ScheduleRetry = "schedule_retry",
        /// It gave up and has a dead letter.
        DeadLetter = "dead_letter",
        /// Its worker gave it back.
        Release = "release",
        /// Its worker put it aside.
        Snooze = "snooze",
        /// An operator made it due at once.
        RetryNow = "retry_now",
        /// An operator gave it a fresh set of attempts.
        Retried = "retried",
        /// Its worker was asked to cancel it.
        CancelRequested = "cancel_requested",
        /// It was cancelled.
        Cancel = "cancel",
        /// Its deadline passed before it started.
        PassDeadline = "pass_deadline",
        /// An operator moved it to the dead letters.
        MoveToDeadLetter = "move_to_dead_letter",
        /// Its retention was over.
        Clean = "clean",
    }
}

/// One line of the timeline of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobMoment {
    /// When it happened.
    pub at: Timestamp,
    /// The state that it led to; null if the state stayed.
    pub state: Option<JobState>,
    /// What was done.
    pub verb: JobVerb,
    /// The run that it belongs to; every claim begins a run.
    pub run: Option<i32>,
    /// The attempt that it belongs to.
    pub attempt: Option<i32>,
    /// The principal or service that did it.
    pub actor: Option<String>,
    /// The worker that held the job.
    pub worker: Option<String>,
    /// The error, the reason, or what else is known.
    pub detail: Option<String>,
}

/// Explain why a job is not running
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobExplain {
    /// The id of the job.
    pub job_id: Uuid,
}

impl Operation for JobExplain {
    const NAME: &str = "job_explain";
    const ROUTE: Route = Route::get("/v1/jobs/{job_id}/explain", "jobs");
    const EFFECT: Effect = Effect::Reads;
    const HAS_HINTS: bool = true;
    type Answer = JobExplanation;
}

/// Why a job is not running.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobExplanation {
    /// The job.
    pub job_id: Uuid,
    /// Its kind.
    pub kind: String,
    /// The executor that it is for.
    pub executor: String,
    /// Its state.
    pub state: JobState,
    /// Every reason that holds now.
    pub reasons: Vec<ExplainReason>,
}

words! {
    /// Why a job is not running.
    pub enum ExplainCode {
        /// Its kind is paused.
        Paused = "paused",
        /// As many jobs of its kind are held as its concurrency limit allows.
        Limit = "limit",
        /// The gate of the job queue is closed.
        GateClosed = "gate_closed",
        /// Its deadline has passed.
        DeadlinePassed = "deadline_passed",
        /// The next attempt waits for its time.
        WaitingRetry = "waiting_retry",
        /// It is scheduled for later.
        NotDue = "not_due",
        /// No worker of its executor is alive.
        NoLiveExecutor = "no_live_executor",
        /// It can be claimed; other jobs may be ahead of it.
        WaitingTurn = "waiting_turn",
        /// The lease of its worker has expired.
        LeaseExpired = "lease_expired",
        /// A worker holds it and has not started it.
        Leased = "leased",
        /// A worker runs it.
        InProgress = "in_progress",
        /// Its worker was asked to cancel it.
        CancelRequested = "cancel_requested",
        /// It is done.
        Succeeded = "succeeded",
        /// It failed.
        Failed = "failed",
        /// It gave up and has a dead letter.
        DeadLetter = "dead_letter",
        /// It was cancelled.
        Cancelled = "cancelled",
        /// Its retention is over.
        Cleaned = "cleaned",
    }
}

/// A reason why a job is not running.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainReason {
    /// The reason as a word.
    pub code: ExplainCode,
    /// What is the case.
    pub what: String,
    /// Why that keeps the job from running.
    pub why: String,
    /// What to do about it.
    pub next: String,
}
