//! What the scheduler does, and schedules that a program declares. What needs the calendar (the check of a rule, previews,
//! explanations) is in [`crate::schedules`].

use serde_json::Value;
use tenure_api::schedules::ScheduleWritten;
use tokio_postgres::GenericClient;

use super::Timestamp;
use super::call::{Call, row};
use crate::error::Result;

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
) -> Result<ScheduleWritten> {
    Call::new("schedule_create")
        .with("p_name", &name)
        .with("p_spec", &spec)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .read(client)
        .await
}

/// Makes a schedule, or makes it equal to this (`tenure.schedule_put`). [`crate::schedules::put`] checks its rule first.
pub async fn schedule_put(
    client: &impl GenericClient,
    name: &str,
    spec: &Value,
    on_behalf_of: Option<&str>,
) -> Result<ScheduleWritten> {
    Call::new("schedule_put")
        .with("p_name", &name)
        .with("p_spec", &spec)
        .maybe("p_on_behalf_of", &on_behalf_of)
        .read(client)
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
