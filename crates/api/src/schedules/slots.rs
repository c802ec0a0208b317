//! The slots of schedules: planned runs, and what became of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::jobs::JobState;
use crate::{Effect, Json, Operation, Page, Route, Shape, Timestamp, words};

words! {
    /// The state of a slot.
    pub enum SlotState {
        /// It is to run.
        Planned = "planned",
        /// Its job has not ended.
        Running = "running",
        /// Its job succeeded.
        Succeeded = "succeeded",
        /// Its job failed.
        Failed = "failed",
        /// Its job was cancelled.
        Cancelled = "cancelled",
        /// It did not run.
        Skipped = "skipped",
    }
}

words! {
    /// Why a slot was skipped.
    pub enum SkipReason {
        /// Another run of the schedule was in progress.
        Overlap = "overlap",
        /// The schedule was paused.
        Paused = "paused",
        /// No scheduler saw it in time.
        MissedWindow = "missed_window",
        /// The rule was changed, or the schedule deleted.
        Superseded = "superseded",
        /// Its job was refused.
        Refused = "refused",
    }
}

words! {
    /// What planned a slot.
    pub enum SlotOrigin {
        /// The rule of the schedule.
        Rule = "rule",
        /// A run by hand.
        Manual = "manual",
        /// A backfill.
        Backfill = "backfill",
    }
}

/// List the slots of a schedule, newest first
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleSlots {
    /// The name of the schedule.
    pub name: String,
    /// Only slots in one of these states.
    pub state: Option<Vec<SlotState>>,
    /// Only slots planned for this time or later.
    pub from: Option<Timestamp>,
    /// Only slots planned for this time or earlier.
    pub until: Option<Timestamp>,
    /// Only slots planned for a time before this one.
    pub before: Option<Timestamp>,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of slots. Slots of the same plan time come on one page, even beyond this number.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn limit_default() -> i32 {
    100
}

impl Operation for ScheduleSlots {
    const NAME: &str = "schedule_slots";
    const ROUTE: Route = Route::get("/v1/schedules/{name}/slots", "schedules");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("before", "plan_time")];
    type Answer = Page<Slot>;
}

/// A slot: one planned run of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slot {
    /// The moment that it stands for.
    pub plan_time: Timestamp,
    /// Its state.
    pub state: SlotState,
    /// Why it was skipped.
    pub skip_reason: Option<SkipReason>,
    /// What planned it.
    pub origin: SlotOrigin,
    /// The type of thing that its run is for.
    pub scope_kind: String,
    /// The thing of that type that its run is for.
    pub scope_id: String,
    /// The rule that planned it: cron, or `every N` with N in seconds.
    pub expression: String,
    /// The time zone of the rule.
    pub zone: String,
    /// When it is due, with its jitter.
    pub due_at: Timestamp,
    /// Since when it has waited for another run of the schedule.
    pub waiting_since: Option<Timestamp>,
    /// How many slots no scheduler saw in time, this one included.
    pub missed: Option<i32>,
    /// The plan time of the last of them.
    pub missed_until: Option<Timestamp>,
    /// Its job.
    pub job_id: Option<Uuid>,
    /// The state of its job while the slot is running.
    pub job_state: Option<JobState>,
    /// The number of attempts so far.
    pub attempts: Option<i32>,
    /// When a failed attempt is repeated.
    pub next_retry_at: Option<Timestamp>,
    /// The worker of the last attempt.
    pub worker: Option<String>,
    /// When its job was enqueued.
    pub fired_at: Option<Timestamp>,
    /// When its first attempt started.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The milliseconds from the start of its first attempt to the end of its last.
    pub duration_ms: Option<i64>,
    /// The number of rows that its result names.
    pub rows_affected: Option<i64>,
    /// The result of its job.
    pub result: Option<Json>,
    /// Where a larger result is.
    pub result_ref: Option<String>,
    /// The code of its last error.
    pub error_code: Option<String>,
    /// The text of its last error, or why it was cancelled or skipped.
    pub error_message: Option<String>,
    /// When it was planned.
    pub planned_at: Timestamp,
    /// The principal or service that planned it.
    pub planned_by: String,
}

words! {
    /// What became of a moment of a schedule: the state of the slot that stands for it, or why there is none.
    pub enum ExplainVerdict {
        /// Its slot is to run.
        Planned = "planned",
        /// The job of its slot has not ended.
        Running = "running",
        /// The job of its slot succeeded.
        Succeeded = "succeeded",
        /// The job of its slot failed.
        Failed = "failed",
        /// The job of its slot was cancelled.
        Cancelled = "cancelled",
        /// Its slot was skipped.
        Skipped = "skipped",
        /// No scheduler saw it in time.
        Missed = "missed",
        /// The rule names the moment, but it has no record.
        Unplanned = "unplanned",
        /// The rule does not name the moment.
        NoSlot = "no_slot",
        /// The schedule was created later.
        BeforeSchedule = "before_schedule",
        /// The schedule had ended.
        AfterEnd = "after_end",
    }
}

/// Explain why a schedule did, or did not, run at a moment
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleExplain {
    /// The name of the schedule.
    pub name: String,
    /// The moment.
    pub at: Timestamp,
}

impl Operation for ScheduleExplain {
    const NAME: &str = "schedule_explain";
    const FUNCTION: &str = "schedule_at";
    const ROUTE: Route = Route::get("/v1/schedules/{name}/explain", "schedules");
    const EFFECT: Effect = Effect::Reads;
    const HAS_HINTS: bool = true;
    type Answer = ScheduleExplanation;
}

/// What became of a moment of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleExplanation {
    /// The schedule.
    pub schedule: String,
    /// The moment.
    pub at: Timestamp,
    /// The local time at that moment, in the time zone of the rule.
    pub local: String,
    /// What became of the moment, in one word.
    pub verdict: ExplainVerdict,
    /// What became of the moment, in a sentence.
    pub answer: String,
    /// What to do about it, if there is something.
    pub next_step: Option<String>,
    /// The slot that stands for the moment.
    pub slot: Option<Slot>,
    /// The last moment before it that the rule names, as the rule is now.
    pub previous: Option<Timestamp>,
    /// The first moment after it that the rule names, as the rule is now.
    pub following: Option<Timestamp>,
    /// The next slot from now on.
    pub next: Option<Timestamp>,
}
