//! Taking work.

use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Hold;
use crate::error::Result;
use crate::executions::StepInfo;
use crate::schedules::SlotInfo;
use crate::store::call::{Call, row};
use crate::store::{Payload, Timestamp};

row! {
    /// A job the caller holds, with the proof of it.
    pub struct ClaimedJob {
        /// The job.
        pub job_id: Uuid,
        /// Proves who holds it.
        pub token: Uuid,
        /// The line it waited in.
        pub lane: i32,
        /// Minus its priority.
        pub rank: i16,
        /// When it was due.
        pub due: Timestamp,
        /// Its kind.
        pub kind: String,
        /// Who runs it.
        pub executor: String,
        /// `leased` or `in_progress`.
        pub state: String,
        /// Counts every time it was held.
        pub run: i32,
        /// Counts the attempts that can fail.
        pub attempt: i16,
        /// Attempts before it gives up.
        pub attempts_max: i16,
        /// Since when it is held.
        pub leased_at: Timestamp,
        /// How long, unless a heartbeat renews it.
        pub leased_until: Timestamp,
        /// When it was started.
        pub started_at: Option<Timestamp>,
        /// When its run is over, renewed or not.
        pub run_until: Option<Timestamp>,
        /// When it must have started.
        pub deadline_at: Option<Timestamp>,
        /// What the worker needs to know.
        pub payload: Payload,
        /// `safe_metadata` or `restricted`.
        pub payload_classification: String,
        /// Where its input is.
        pub source_ref: Option<String>,
        /// What it works on.
        pub target_ref: Option<String>,
        /// Where a larger payload is.
        pub payload_ref: Option<String>,
        /// Its key.
        pub idempotency_key: Option<String>,
        /// Its affinity key: claims that name it prefer the job.
        pub affinity_key: Option<String>,
        /// What it belongs together with.
        pub correlation_id: Option<String>,
        /// The job that made it.
        pub parent_job_id: Option<Uuid>,
        /// The workflow it belongs to.
        pub workflow_id: Option<Uuid>,
        /// The run of the workflow.
        pub run_id: Option<Uuid>,
        /// Who enqueued it.
        pub enqueued_by: String,
        /// When it was enqueued.
        pub created_at: Timestamp,
        /// The trace and span it was enqueued in, as a W3C traceparent.
        pub traceparent: Option<String>,
        /// The step of an execution it runs.
        pub step: Option<StepInfo>,
        /// The slot of a schedule it runs for.
        pub slot: Option<SlotInfo>,
        /// The fencing number of this run, if it is the job of a step that locks its target.
        pub fence: Option<i64>,
    }
}

impl ClaimedJob {
    /// The job and its token.
    pub fn hold(&self) -> Hold {
        Hold {
            job_id: self.job_id,
            token: self.token,
        }
    }
}

/// Whether claimed jobs are started at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClaimMode {
    /// For a buffer: each is started when its turn comes.
    #[default]
    Leased,
    /// For free places: they run now.
    Started,
}

impl ClaimMode {
    pub(super) fn name(self) -> &'static str {
        match self {
            ClaimMode::Leased => "leased",
            ClaimMode::Started => "started",
        }
    }
}

/// Where the last batch ended: spares the scan over what was taken and cannot be cleaned up yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimHint {
    /// The lane of the last job.
    pub lane: i32,
    /// Its rank.
    pub rank: i16,
    /// Its due time.
    pub due: Timestamp,
    /// When it was claimed.
    pub at: Timestamp,
}

/// What to claim. What is left out has the default of the SQL function.
#[derive(Debug, Clone, Default)]
pub struct Claim {
    /// The name of the worker.
    pub worker: String,
    /// Only jobs for this executor.
    pub executor: Option<String>,
    /// Only jobs of these kinds; an empty list means none.
    pub kinds: Option<Vec<String>>,
    /// At most so many.
    pub limit: Option<i32>,
    /// How long the lease lasts.
    pub lease_seconds: Option<i32>,
    /// Whether they are started at once.
    pub mode: ClaimMode,
    /// A token of the caller's own, to find a claim whose answer was lost.
    pub token: Option<Uuid>,
    /// Jobs with this affinity key are preferred; when there are none, others are claimed.
    pub affinity_key: Option<String>,
    /// Nothing below this priority.
    pub priority_min: Option<i32>,
    /// Begin after this lane: takes turns where there are many.
    pub lane_after: Option<i32>,
    /// Where the last batch ended.
    pub hint: Option<ClaimHint>,
    /// Do not look before the hint, even where there is room left. Only for `turn`.
    pub hint_alone: bool,
}

impl Claim {
    /// One job of any kind, leased.
    pub fn new(worker: impl Into<String>) -> Claim {
        Claim {
            worker: worker.into(),
            ..Claim::default()
        }
    }

    /// Only of these kinds.
    pub fn kinds(mut self, kinds: impl IntoIterator<Item = impl Into<String>>) -> Claim {
        self.kinds = Some(kinds.into_iter().map(Into::into).collect());
        self
    }

    /// Only for this executor.
    pub fn executor(mut self, executor: impl Into<String>) -> Claim {
        self.executor = Some(executor.into());
        self
    }

    /// At most so many.
    pub fn limit(mut self, limit: i32) -> Claim {
        self.limit = Some(limit);
        self
    }

    /// With a lease of so many seconds.
    pub fn lease_seconds(mut self, seconds: i32) -> Claim {
        self.lease_seconds = Some(seconds);
        self
    }

    /// Nothing below this priority.
    pub fn priority_min(mut self, priority: i32) -> Claim {
        self.priority_min = Some(priority);
        self
    }

    /// Started at once.
    pub fn started(mut self) -> Claim {
        self.mode = ClaimMode::Started;
        self
    }
}

/// Claims jobs; none when there is nothing to do (`tenure.job_claim_many`).
pub async fn claim_many(client: &impl GenericClient, claim: &Claim) -> Result<Vec<ClaimedJob>> {
    Call::new("job_claim_many")
        .with("p_worker", &claim.worker)
        .maybe("p_executor", &claim.executor)
        .maybe("p_kinds", &claim.kinds)
        .maybe("p_limit", &claim.limit)
        .maybe("p_lease_seconds", &claim.lease_seconds)
        .with("p_mode", &claim.mode.name())
        .maybe("p_token", &claim.token)
        .maybe("p_affinity_key", &claim.affinity_key)
        .maybe("p_priority_min", &claim.priority_min)
        .maybe("p_lane_after", &claim.lane_after)
        .maybe("p_hint_lane", &claim.hint.map(|hint| hint.lane))
        .maybe("p_hint_rank", &claim.hint.map(|hint| hint.rank))
        .maybe("p_hint_due", &claim.hint.map(|hint| hint.due))
        .maybe("p_hint_at", &claim.hint.map(|hint| hint.at))
        .rows(client)
        .await
}

/// What a token holds now (`tenure.job_held`).
pub async fn held(client: &impl GenericClient, token: Uuid) -> Result<Vec<ClaimedJob>> {
    Call::new("job_held").with("p_token", &token).rows(client).await
}
