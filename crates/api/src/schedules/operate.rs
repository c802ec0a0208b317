//! Schedules are paused, resumed, deleted, and run by hand: now, or for slots of the past.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Schedule, Slot, SlotState};
use crate::{Effect, Operation, Page, Route, Shape, Timestamp, words};

/// Delete a schedule
///
/// Its planned slots are skipped; slots that have run are kept for their retention. It is refused while a run is in progress.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleDelete {
    /// The name of the schedule.
    pub name: String,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for ScheduleDelete {
    const NAME: &str = "schedule_delete";
    const ROUTE: Route = Route::delete("/v1/schedules/{name}", "schedules");
    const EFFECT: Effect = Effect::Destroys;
    type Answer = ScheduleDeleted;
}

/// A schedule that was deleted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleDeleted {
    /// The schedule.
    pub name: String,
    /// When it was deleted.
    pub deleted_at: Timestamp,
}

/// Pause a schedule: slots that come due are skipped
///
/// A run in progress continues. Pausing a paused schedule keeps the first pause.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulePause {
    /// The name of the schedule.
    pub name: String,
    /// Why it is paused.
    #[schemars(length(max = 200))]
    pub note: Option<String>,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for SchedulePause {
    const NAME: &str = "schedule_pause";
    const ROUTE: Route = Route::post("/v1/schedules/{name}/pause", "schedules");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = Schedule;
}

/// Resume a schedule with its next slot
///
/// Slots that were skipped during the pause stay skipped; a backfill runs them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleResume {
    /// The name of the schedule.
    pub name: String,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for ScheduleResume {
    const NAME: &str = "schedule_resume";
    const ROUTE: Route = Route::post("/v1/schedules/{name}/resume", "schedules");
    const EFFECT: Effect = Effect::Idempotent;
    type Answer = Schedule;
}

/// Run a schedule now, paused or not, in a slot of its own
///
/// The overlap policy decides whether it runs, waits or is skipped. The answer is the slot.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleRun {
    /// The name of the schedule.
    pub name: String,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

impl Operation for ScheduleRun {
    const NAME: &str = "schedule_run";
    const ROUTE: Route = Route::post("/v1/schedules/{name}/run", "schedules");
    const EFFECT: Effect = Effect::Changes;
    type Answer = ScheduleRan;
}

/// The slot of a run by hand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduleRan {
    /// The schedule.
    pub schedule: String,
    /// The slot.
    #[serde(flatten)]
    pub slot: Slot,
}

words! {
    /// Whether a backfill is carried out.
    pub enum BackfillMode {
        /// It only shows what it would do.
        DryRun = "dry_run",
        /// It is carried out.
        Apply = "apply",
    }
}

words! {
    /// What a backfill does to a slot.
    pub enum BackfillVerdict {
        /// It runs, or would run.
        Runs = "runs",
        /// It stays as it is: it is planned, running or has run.
        Stands = "stands",
    }
}

/// Run slots of the past that have not run
///
/// These are slots without a record and slots that were skipped, at most 1000 in one call. Where runs may not overlap, one starts
/// after the other. The default mode only shows what would happen.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleBackfill {
    /// The name of the schedule.
    pub name: String,
    /// The first moment of the range.
    pub from: Timestamp,
    /// The last moment of the range, not in the future.
    pub until: Timestamp,
    /// Whether the slots run, or are only shown.
    #[serde(default = "mode_default")]
    pub mode: BackfillMode,
    /// The seconds between the starts of two slots.
    #[serde(default)]
    #[schemars(range(min = 0, max = 86_400))]
    pub stagger_seconds: i32,
    /// The person or program that this is done for.
    pub on_behalf_of: Option<String>,
}

fn mode_default() -> BackfillMode {
    BackfillMode::DryRun
}

impl Operation for ScheduleBackfill {
    const NAME: &str = "schedule_backfill";
    const ROUTE: Route = Route::post("/v1/schedules/{name}/backfill", "schedules");
    const EFFECT: Effect = Effect::Changes;
    const SHAPE: Shape = Shape::Rows;
    const BESIDE: &[&str] = &["from", "until"];
    type Answer = Page<BackfilledSlot>;
}

/// A slot of a backfill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackfilledSlot {
    /// The moment that it stands for.
    pub plan_time: Timestamp,
    /// What the backfill does to it.
    pub verdict: BackfillVerdict,
    /// Its state; null if it has no record.
    pub state: Option<SlotState>,
    /// When it starts, or was due.
    pub due_at: Option<Timestamp>,
}
