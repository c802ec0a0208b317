//! Schedules and their slots. What needs the calendar (the check of a rule, previews, explanations) is in
//! [`crate::schedules`].

use serde_json::Value;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

row! {
    /// A schedule, and where it stands.
    pub struct Schedule {
        /// Its name.
        pub name: String,
        /// `active`, `paused`, `ended` (no slot will come) or `failing` (its rule cannot be computed).
        pub state: String,
        /// Its rule: five fields of cron.
        pub cron: Option<String>,
        /// Or its rule: a fixed interval.
        pub every_seconds: Option<i32>,
        /// The time zone that cron is read in.
        pub zone: String,
        /// A slot starts up to this much later than planned.
        pub jitter_seconds: i32,
        /// No slot before.
        pub start_at: Option<Timestamp>,
        /// No slot after.
        pub end_at: Option<Timestamp>,
        /// What its runs are for: a kind of thing,
        pub scope_kind: String,
        /// and which of them.
        pub scope_id: String,
        /// The kind of the jobs it starts.
        pub kind: String,
        /// Their executor; none: that of the kind.
        pub executor: Option<String>,
        /// Their priority.
        pub priority: i16,
        /// Their payload; none: this caller may not see it.
        pub payload: Option<Value>,
        /// Whether payloads are `safe_metadata` or `restricted`.
        pub classification: String,
        /// Where the work comes from.
        pub source_ref: Option<String>,
        /// What it is about.
        pub target_ref: Option<String>,
        /// Where the rest of the payload is.
        pub payload_ref: Option<String>,
        /// What becomes of a slot while another run is under way: `skip`, `queue`, `cancel_other` or `allow`.
        pub overlap: String,
        /// What becomes of slots that nobody saw in time: `latest_only`, `every_plan` or `none`.
        pub catch_up: String,
        /// For `every_plan`: how far back.
        pub catch_up_window_seconds: i32,
        /// For `every_plan`: how many at once.
        pub catch_up_slots_max: i32,
        /// How long a run may take; none: as the kind says.
        pub run_timeout_seconds: Option<i32>,
        /// Attempts of a run; none: as the kind says.
        pub attempts_max: Option<i32>,
        /// The first retry delay; none: as the kind says.
        pub backoff_base_seconds: Option<i32>,
        /// Whether a run that was lost is run again: `allowed` or `refused`.
        pub reentry: String,
        /// What it is.
        pub description: String,
        /// The next slot that is planned.
        pub next_slot: Option<Timestamp>,
        /// When that starts, with its jitter.
        pub next_due: Option<Timestamp>,
        /// The newest slot that is over or under way.
        pub last_slot: Option<Timestamp>,
        /// Its state.
        pub last_state: Option<String>,
        /// Why it was skipped, or its error code.
        pub last_reason: Option<String>,
        /// The newest slot that succeeded.
        pub succeeded_slot: Option<Timestamp>,
        /// When that ended.
        pub succeeded_at: Option<Timestamp>,
        /// Runs under way.
        pub running: i64,
        /// Slots that wait for another run to end.
        pub waiting: i64,
        /// The newest slot that the rule has made; planning goes on after it.
        pub planned_to: Option<Timestamp>,
        /// Where the rule as it is now begins: the last change of it.
        pub plan_from: Timestamp,
        /// When it was paused.
        pub paused_at: Option<Timestamp>,
        /// By whom.
        pub paused_by: Option<String>,
        /// Why.
        pub pause_note: Option<String>,
        /// Why its rule cannot be computed.
        pub error_code: Option<String>,
        /// In words.
        pub error_message: Option<String>,
        /// When it was made.
        pub created_at: Timestamp,
        /// By whom.
        pub created_by: String,
        /// When it was last changed.
        pub updated_at: Timestamp,
        /// By whom.
        pub updated_by: String,
    }
}

row! {
    /// A slot: one planned run.
    pub struct Slot {
        /// The moment it stands for.
        pub plan_time: Timestamp,
        /// `planned`, `running`, `succeeded`, `failed`, `cancelled` or `skipped`.
        pub state: String,
        /// Why it was skipped: `overlap`, `paused`, `missed_window`, `superseded` or `refused`.
        pub skip_reason: Option<String>,
        /// Who asked for it: the `rule`, somebody (`manual`), or a `backfill`.
        pub origin: String,
        /// What its run is for: a kind of thing,
        pub scope_kind: String,
        /// and which of them.
        pub scope_id: String,
        /// The rule that computed it: cron, or `every N`.
        pub expression: String,
        /// The time zone of the rule.
        pub zone: String,
        /// When it is to start: with its jitter.
        pub due_at: Timestamp,
        /// Since when it waits for another run of the schedule.
        pub waiting_since: Option<Timestamp>,
        /// How many slots nobody saw in time, this one included.
        pub missed: Option<i32>,
        /// The last of them.
        pub missed_until: Option<Timestamp>,
        /// Its job.
        pub job_id: Option<Uuid>,
        /// The state of that job, while it runs.
        pub job_state: Option<String>,
        /// Attempts so far.
        pub attempts: Option<i32>,
        /// When a failed attempt is repeated.
        pub next_retry_at: Option<Timestamp>,
        /// Who ran it last.
        pub worker: Option<String>,
        /// When its job was made.
        pub fired_at: Option<Timestamp>,
        /// When its first attempt started.
        pub started_at: Option<Timestamp>,
        /// When it was over.
        pub ended_at: Option<Timestamp>,
        /// From the start of its first attempt to the end of its last.
        pub duration_ms: Option<i64>,
        /// What its result says of rows.
        pub rows_affected: Option<i64>,
        /// Its result.
        pub result: Option<Value>,
        /// Where the rest of the result is.
        pub result_ref: Option<String>,
        /// Why it failed, was cancelled or refused.
        pub error_code: Option<String>,
        /// In words.
        pub error_message: Option<String>,
        /// When it was planned.
        pub planned_at: Timestamp,
        /// By whom: the scheduler, or who asked.
        pub planned_by: String,
    }
}

row! {
    /// What becomes of one slot of a backfill.
    pub struct Backfilled {
        /// The slot.
        pub plan_time: Timestamp,
        /// `runs` (it is or would be planned) or `stands` (it is over, under way or planned already).
        pub verdict: String,
        /// The state of a slot that stands, or that it has now.
        pub state: Option<String>,
        /// When it starts.
        pub due_at: Option<Timestamp>,
    }
}

row! {
    /// A schedule that the scheduler has locked, and what it has to compute of its rule.
    pub struct Taken {
        /// Which.
        pub schedule_id: i32,
        /// Its tenant.
        pub tenant: String,
        /// Its name.
        pub name: String,
        /// Its rule: cron, or
        pub cron: Option<String>,
        /// an interval.
        pub every_seconds: Option<i32>,
        /// The zone of cron.
        pub zone: String,
        /// No slot before.
        pub start_at: Option<Timestamp>,
        /// No slot after.
        pub end_at: Option<Timestamp>,
        /// Slots later than this are not planned yet.
        pub after: Timestamp,
        /// The moment of the look, by the clock of the database.
        pub now: Timestamp,
        /// Late slots are listed from here on; none: only the latest counts.
        pub list_from: Option<Timestamp>,
        /// How many of them at most.
        pub list_max: i32,
    }
}

/// Makes a schedule (`tenure.schedule_create`). [`crate::schedules::create`] checks its rule first.
pub async fn schedule_create(
    client: &impl GenericClient,
    name: &str,
    spec: &Value,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("schedule_create")
        .with("p_name", &name)
        .with("p_spec", &spec)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Changes the named fields of a schedule (`tenure.schedule_update`). [`crate::schedules::update`] checks its rule first.
pub async fn schedule_update(
    client: &impl GenericClient,
    name: &str,
    changes: &Value,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("schedule_update")
        .with("p_name", &name)
        .with("p_changes", &changes)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Makes a schedule, or makes it equal to this (`tenure.schedule_put`). [`crate::schedules::put`] checks its rule first.
pub async fn schedule_put(
    client: &impl GenericClient,
    name: &str,
    spec: &Value,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("schedule_put")
        .with("p_name", &name)
        .with("p_spec", &spec)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Pauses one: its slots are skipped until it is resumed (`tenure.schedule_pause`).
pub async fn schedule_pause(
    client: &impl GenericClient,
    name: &str,
    note: Option<&str>,
    on_behalf_of: Option<&str>,
) -> Result<Value> {
    Call::new("schedule_pause")
        .with("p_name", &name)
        .maybe("p_note", &note)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Lets one go on (`tenure.schedule_resume`).
pub async fn schedule_resume(client: &impl GenericClient, name: &str, on_behalf_of: Option<&str>) -> Result<Value> {
    Call::new("schedule_resume")
        .with("p_name", &name)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Ends one; its slots stay until their retention is over (`tenure.schedule_delete`).
pub async fn schedule_delete(client: &impl GenericClient, name: &str, on_behalf_of: Option<&str>) -> Result<Value> {
    Call::new("schedule_delete")
        .with("p_name", &name)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Runs one now, whatever its rule says: a slot of its own (`tenure.schedule_run`).
pub async fn schedule_run(client: &impl GenericClient, name: &str, on_behalf_of: Option<&str>) -> Result<Value> {
    Call::new("schedule_run")
        .with("p_name", &name)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .value(client)
        .await
}

/// Runs slots that nobody ran (`tenure.schedule_backfill`). [`crate::schedules::backfill`] finds them in a range.
pub async fn schedule_backfill(
    client: &impl GenericClient,
    name: &str,
    times: &[Timestamp],
    mode: &str,
    stagger_seconds: Option<i32>,
    on_behalf_of: Option<&str>,
) -> Result<Vec<Backfilled>> {
    let times = times.to_vec();
    Call::new("schedule_backfill")
        .with("p_name", &name)
        .with("p_times", &times)
        .with("p_mode", &mode)
        .maybe("p_stagger_seconds", &stagger_seconds)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .rows(client)
        .await
}

/// The schedules of the tenant by name (`tenure.schedule_list`).
pub async fn schedule_list(
    client: &impl GenericClient,
    limit: Option<i32>,
    after: Option<&str>,
) -> Result<Vec<Schedule>> {
    Call::new("schedule_list")
        .maybe("p_limit", &limit)
        .maybe("p_after", &after)
        .rows(client)
        .await
}

/// One schedule (`tenure.schedule_show`).
pub async fn schedule_show(client: &impl GenericClient, name: &str) -> Result<Schedule> {
    Call::new("schedule_show").with("p_name", &name).one(client).await
}

/// Which slots to list.
#[derive(Debug, Clone, Default)]
pub struct SlotFilter {
    /// Only those in this state.
    pub state: Option<String>,
    /// Not before.
    pub from: Option<Timestamp>,
    /// Not after.
    pub until: Option<Timestamp>,
    /// At most so many.
    pub limit: Option<i32>,
    /// Where the page before ended.
    pub before: Option<Timestamp>,
}

/// The slots of a schedule, newest first (`tenure.schedule_slots`).
pub async fn schedule_slots(client: &impl GenericClient, name: &str, filter: &SlotFilter) -> Result<Vec<Slot>> {
    Call::new("schedule_slots")
        .with("p_name", &name)
        .maybe("p_state", &filter.state)
        .maybe("p_from", &filter.from)
        .maybe("p_until", &filter.until)
        .maybe("p_limit", &filter.limit)
        .maybe("p_before", &filter.before)
        .rows(client)
        .await
}

/// The slots that stand for a moment (`tenure.schedule_at`): first the one of just that plan time, then one that covers
/// it because nobody saw it in time.
pub async fn schedule_at(client: &impl GenericClient, name: &str, at: Timestamp) -> Result<Vec<Slot>> {
    Call::new("schedule_at")
        .with("p_name", &name)
        .with("p_at", &at)
        .rows(client)
        .await
}

/// Locks schedules that are due (`tenure.schedule_take`); [`schedule_advance`] follows in the same transaction.
pub async fn schedule_take(client: &impl GenericClient, limit: i32) -> Result<Vec<Taken>> {
    Call::new("schedule_take").with("p_limit", &limit).rows(client).await
}

/// What was computed of one schedule's rule.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Plan {
    /// Which.
    pub schedule_id: i32,
    /// The first slot later than what is planned, if it is not in the future.
    pub first: Option<Timestamp>,
    /// The last slot that is not in the future.
    pub latest: Option<Timestamp>,
    /// How many there are before those that may be run late, up to a bound.
    pub passed: i32,
    /// The last of them.
    pub passed_until: Option<Timestamp>,
    /// The late slots that were asked for.
    pub listed: Vec<Timestamp>,
    /// The next slot in the future.
    pub next: Option<Timestamp>,
    /// How long it is from there to the one after.
    pub next_gap_seconds: Option<i64>,
    /// Why nothing could be computed: a code,
    pub error_code: Option<String>,
    /// and in words.
    pub error_message: Option<String>,
}

/// What one look of the scheduler did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Advanced {
    /// Slots planned ahead.
    pub planned: i64,
    /// Slots whose job was made.
    pub started: i64,
    /// Slots skipped, for whatever reason.
    pub skipped: i64,
    /// Slots that began to wait for another run.
    pub waiting: i64,
    /// Slots that nobody saw in time.
    pub missed: i64,
    /// Schedules whose rule cannot be computed.
    pub failing: i64,
}

impl std::ops::Add for Advanced {
    type Output = Advanced;

    fn add(self, other: Advanced) -> Advanced {
        Advanced {
            planned: self.planned + other.planned,
            started: self.started + other.started,
            skipped: self.skipped + other.skipped,
            waiting: self.waiting + other.waiting,
            missed: self.missed + other.missed,
            failing: self.failing + other.failing,
        }
    }
}

/// Plans, starts and skips the slots of the schedules that were taken (`tenure.schedule_advance`).
pub async fn schedule_advance(client: &impl GenericClient, plans: &[Plan]) -> Result<Advanced> {
    let plans = serde_json::json!(plans);
    Call::new("schedule_advance").with("p_plans", &plans).read(client).await
}

/// Removes slots past their retention, and schedules that were deleted and have none left (`tenure.slot_sweep`).
pub async fn slot_sweep(client: &impl GenericClient, limit: i32) -> Result<i32> {
    let removed: Option<i32> = Call::new("slot_sweep").with("p_limit", &limit).scalar(client).await?;
    Ok(removed.unwrap_or_default())
}
