//! Schedules and their slots.
//!
//! | question | module |
//! |---|---|
//! | which schedules are there? | here |
//! | how is a schedule made and changed? | [`spec`] |
//! | how is it paused, run and deleted? | [`operate`] |
//! | which slots did it have, and why? | [`slots`] |
//! | which slots will it have? | [`preview`] |

pub mod operate;
pub mod preview;
pub mod slots;
pub mod spec;

pub use operate::*;
pub use preview::*;
pub use slots::*;
pub use spec::*;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::jobs::Classification;
use crate::{Effect, Json, Operation, Page, Route, Shape, Timestamp, words};

words! {
    /// The state of a schedule.
    pub enum ScheduleState {
        /// Its slots run.
        Active = "active",
        /// Its slots are skipped until it is resumed.
        Paused = "paused",
        /// It has no more slots.
        Ended = "ended",
        /// Its rule cannot be computed.
        Failing = "failing",
    }
}

words! {
    /// What happens to a slot while another run of its schedule is in progress.
    pub enum Overlap {
        /// It is skipped.
        Skip = "skip",
        /// It waits for the end of the other run.
        Queue = "queue",
        /// The other run is cancelled, and then it runs.
        CancelOther = "cancel_other",
        /// Both run.
        Allow = "allow",
    }
}

words! {
    /// What happens to slots that no scheduler saw in time.
    pub enum CatchUp {
        /// The latest of them runs.
        LatestOnly = "latest_only",
        /// Each of them runs, as far back as `catch_up_window_seconds`.
        EveryPlan = "every_plan",
        /// None of them runs.
        None = "none",
    }
}

words! {
    /// Whether a run that was lost, or took too long, is repeated.
    pub enum Reentry {
        /// It is repeated.
        Allowed = "allowed",
        /// It has failed.
        Refused = "refused",
    }
}

/// List schedules by name, and where each stands
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleList {
    /// Only schedules whose names come after this one.
    pub after: Option<String>,
    /// The next page: `next` of the page before.
    pub cursor: Option<String>,
    /// The maximum number of schedules.
    #[serde(default = "limit_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: i32,
}

fn limit_default() -> i32 {
    100
}

impl Operation for ScheduleList {
    const NAME: &str = "schedule_list";
    const ROUTE: Route = Route::get("/v1/schedules", "schedules");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Rows;
    const CURSOR: &[(&str, &str)] = &[("after", "name")];
    type Answer = Page<Schedule>;
}

/// Show a schedule, and where it stands
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleShow {
    /// The name of the schedule.
    pub name: String,
}

impl Operation for ScheduleShow {
    const NAME: &str = "schedule_show";
    const ROUTE: Route = Route::get("/v1/schedules/{name}", "schedules");
    const EFFECT: Effect = Effect::Reads;
    const SHAPE: Shape = Shape::Row;
    type Answer = Schedule;
}

/// A schedule, and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: ScheduleState,
    /// Its rule, if that is cron: five fields.
    pub cron: Option<String>,
    /// Its rule, if that is an interval: seconds between two slots.
    pub every_seconds: Option<i32>,
    /// The time zone that cron is read in.
    pub zone: String,
    /// A slot starts up to this many seconds later than planned.
    pub jitter_seconds: i32,
    /// It has no slot before this time.
    pub start_at: Option<Timestamp>,
    /// It has no slot after this time.
    pub end_at: Option<Timestamp>,
    /// The type of thing that its runs are for.
    pub scope_kind: String,
    /// The thing of that type that its runs are for.
    pub scope_id: String,
    /// The kind of its jobs.
    pub kind: String,
    /// The executor of its jobs; null means the one that the kind names.
    pub executor: Option<String>,
    /// The priority of its jobs; higher goes first.
    pub priority: i16,
    /// The payload of its jobs; null if the caller may not see it.
    pub payload: Option<Json>,
    /// Who may see the payload.
    pub classification: Classification,
    /// Where the input of its jobs is.
    pub source_ref: Option<String>,
    /// What its jobs work on.
    pub target_ref: Option<String>,
    /// Where a larger payload is.
    pub payload_ref: Option<String>,
    /// What happens to a slot while another run is in progress.
    pub overlap: Overlap,
    /// What happens to slots that no scheduler saw in time.
    pub catch_up: CatchUp,
    /// For `every_plan`: how many seconds back slots are caught up.
    pub catch_up_window_seconds: i32,
    /// For `every_plan`: the maximum number of slots that are caught up at once.
    pub catch_up_slots_max: i32,
    /// How many seconds a run may take; null means as the kind says.
    pub run_timeout_seconds: Option<i32>,
    /// The maximum number of attempts of a run; null means as the kind says.
    pub attempts_max: Option<i32>,
    /// The seconds before the first retry; null means as the kind says.
    pub backoff_base_seconds: Option<i32>,
    /// Whether a run that was lost, or took too long, is repeated.
    pub reentry: Reentry,
    /// What it is for.
    pub description: String,
    /// The next planned slot.
    pub next_slot: Option<Timestamp>,
    /// When the next planned slot starts, with its jitter.
    pub next_due: Option<Timestamp>,
    /// The newest slot that has ended or is running.
    pub last_slot: Option<Timestamp>,
    /// The state of that slot.
    pub last_state: Option<SlotState>,
    /// Why that slot was skipped, or its error code.
    pub last_reason: Option<String>,
    /// The newest slot that succeeded.
    pub succeeded_slot: Option<Timestamp>,
    /// When that slot ended.
    pub succeeded_at: Option<Timestamp>,
    /// The number of running slots.
    pub running: i64,
    /// The number of slots that wait for another run to end.
    pub waiting: i64,
    /// The newest slot that the rule has planned; planning goes on after it.
    pub planned_to: Option<Timestamp>,
    /// When the rule last changed.
    pub plan_from: Timestamp,
    /// When it was paused.
    pub paused_at: Option<Timestamp>,
    /// The principal that paused it.
    pub paused_by: Option<String>,
    /// Why it was paused.
    pub pause_note: Option<String>,
    /// The code of the error why its rule cannot be computed.
    pub error_code: Option<String>,
    /// The text of that error.
    pub error_message: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// The principal that created it.
    pub created_by: String,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// The principal that last changed it.
    pub updated_by: String,
}
