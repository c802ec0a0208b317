//! Schedules, as far as they need the calendar: rules are checked, slots computed, and what happened is explained.
//!
//! What the database decides (which slot runs, waits or is skipped) is in `sql/functions/slots/fire.sql`; which
//! moments a rule names is computed here, with the newest time zone data there is ([`crate::zones`]).

mod declare;
mod explain;
mod plan;
mod preview;
mod wall;

pub use declare::{CatchUp, NewSchedule, SlotInfo};
pub use explain::explain;
pub use plan::plan;
pub use preview::{preview, preview_rule};
pub use tenure_api::schedules::{
    BackfillMode, BackfillVerdict, BackfilledSlot, ExplainVerdict, Overlap, PreviewedSlot, RulePreview, Schedule,
    ScheduleExplanation, ScheduleOutcome, ScheduleRule, ScheduleSlots, ScheduleState, ScheduleWritten, SkipReason,
    Slot, SlotOrigin, SlotState,
};
pub use wall::moment;

use serde_json::Value;
use tenure_api::schedules::{ScheduleBackfill, ScheduleShow};
use tenure_core::limits::{BACKFILL_SLOTS_MAX, JITTER_SECONDS_MAX};
use tenure_core::rhythm::Rhythm;
use tenure_core::{Refusal, codes};
use tokio_postgres::GenericClient;

use crate::error::Result;
use crate::operations::call;
use crate::store::{self, Timestamp};

const MICROS: i64 = 1_000_000;

/// Makes a schedule whose rule was checked.
#[doc(hidden)]
pub async fn create(
    client: &impl GenericClient,
    name: &str,
    spec: &Value,
    on_behalf_of: Option<&str>,
) -> Result<ScheduleWritten> {
    check_spec(spec, None)?;
    store::schedules::schedule_create(client, name, spec, on_behalf_of).await
}

/// Makes a schedule, or makes it equal to this one; its rule was checked.
#[doc(hidden)]
pub async fn put(
    client: &impl GenericClient,
    name: &str,
    spec: &Value,
    on_behalf_of: Option<&str>,
) -> Result<ScheduleWritten> {
    check_spec(spec, None)?;
    store::schedules::schedule_put(client, name, spec, on_behalf_of).await
}

/// The schedule of this name.
#[doc(hidden)]
pub async fn show(client: &(impl GenericClient + Sync), name: &str) -> Result<Schedule> {
    let name = name.to_owned();
    call(client, &ScheduleShow { name }).await
}

/// Refuses changes to a rule that would leave it without moments, or with too many.
pub(crate) async fn check_changes(client: &(impl GenericClient + Sync), name: &str, changes: &Value) -> Result<()> {
    let rule = ["cron", "every_seconds", "zone", "jitter_seconds", "start_at"];
    if rule.iter().any(|field| changes.get(field).is_some()) {
        check_spec(changes, Some(&show(client, name).await?))?;
    }
    Ok(())
}

/// The moments in the range of a backfill that the rule names.
pub(crate) async fn backfill_times(
    client: &(impl GenericClient + Sync),
    backfill: &ScheduleBackfill,
) -> Result<Vec<Timestamp>> {
    let (from, until) = (backfill.from, backfill.until);
    check_backfill(backfill.mode.as_str(), backfill.stagger_seconds)?;
    let schedule = show(client, &backfill.name).await?;
    let now = store::now(client).await?;
    if until < from || until > now {
        let refusal = Refusal::new(
            codes::RANGE_INVALID,
            format!("There is nothing to backfill from {from} to {until}."),
            "A range begins before it ends, and ends no later than now: what comes is planned anyway.",
            "Give an earlier beginning, or an end in the past.",
        );
        return Err(refusal.into());
    }
    let rhythm = rhythm_of(&schedule)?;
    let bounds = Bounds::of(schedule.start_at, schedule.end_at);
    let slots = rhythm.slots(seconds(from) - 1, seconds(until));
    let times: Vec<Timestamp> = slots
        .filter(|at| bounds.has(*at))
        .take(BACKFILL_SLOTS_MAX + 1)
        .map(timestamp)
        .collect();
    if times.len() > BACKFILL_SLOTS_MAX {
        let refusal = Refusal::new(
            codes::BACKFILL_TOO_LARGE,
            format!("There are more than {BACKFILL_SLOTS_MAX} slots from {from} to {until}."),
            format!("A backfill has at most {BACKFILL_SLOTS_MAX} (backfill_slots_max)."),
            format!(
                "Take it in parts; the first could end at {}.",
                times[BACKFILL_SLOTS_MAX - 1]
            ),
        );
        return Err(refusal.into());
    }
    Ok(times)
}

/// Refuses what the database would refuse, were there a slot to ask it about.
fn check_backfill(mode: &str, stagger_seconds: i32) -> Result<(), Refusal> {
    if !["dry_run", "apply"].contains(&mode) {
        return Err(Refusal::new(
            codes::VALUE_UNKNOWN,
            format!("The mode '{}' is not known.", mode.escape_debug()),
            "It is one of: dry_run, apply.",
            "Use one of these.",
        ));
    }
    if !(0..=JITTER_SECONDS_MAX).contains(&stagger_seconds.into()) {
        return Err(Refusal::new(
            codes::NUMBER_OUT_OF_RANGE,
            format!("The stagger is {stagger_seconds}."),
            format!("It must lie between 0 and {JITTER_SECONDS_MAX}."),
            "Give a number within these bounds.",
        ));
    }
    Ok(())
}

/// The rule of a schedule.
#[doc(hidden)]
pub fn rhythm_of(schedule: &Schedule) -> Result<Rhythm, Refusal> {
    rhythm(
        schedule.cron.as_deref(),
        schedule.every_seconds.map(i64::from),
        &schedule.zone,
        schedule.start_at,
    )
}

fn rhythm(cron: Option<&str>, every: Option<i64>, zone: &str, start: Option<Timestamp>) -> Result<Rhythm, Refusal> {
    // Chooses the data of time zones before the first of them is looked up.
    crate::zones::current();
    match (cron, every) {
        (Some(cron), None) => Rhythm::cron(cron, zone),
        (None, Some(every)) => {
            tenure_core::rhythm::zone_check(zone)?;
            Rhythm::every(every, start.map(seconds_up))
        }
        _ => Err(Refusal::new(
            codes::ARGUMENTS_MISMATCHED,
            "A schedule has one rule.",
            "It is cron (five fields) or every_seconds.",
            "Give one of them.",
        )),
    }
}

/// Refuses a rule that names no moments, or too many. What else a specification says is checked by the database.
pub(crate) fn check_spec(spec: &Value, stands: Option<&Schedule>) -> Result<(), Refusal> {
    let named = |field: &str| spec.get(field).filter(|value| !value.is_null());
    let is_text = |field: &str| named(field).is_none_or(Value::is_string);
    let is_number = |field: &str| named(field).is_none_or(|value| value.as_i64().is_some());
    if !["cron", "zone", "start_at"].iter().all(|field| is_text(field))
        || !["every_seconds", "jitter_seconds"].iter().all(|field| is_number(field))
    {
        // The database names the field and its type.
        return Ok(());
    }
    let text = |field: &str| named(field).and_then(Value::as_str).map(str::to_owned);
    let number = |field: &str| named(field).and_then(Value::as_i64);
    let has = |field: &str| spec.get(field).is_some();
    let (mut cron, mut every) = (text("cron"), number("every_seconds"));
    if let Some(stands) = stands.filter(|_| cron.is_none() && every.is_none()) {
        cron = stands.cron.clone().filter(|_| !has("cron"));
        every = stands.every_seconds.map(i64::from).filter(|_| !has("every_seconds"));
    }
    let zone = text("zone")
        .or_else(|| stands.filter(|_| !has("zone")).map(|it| it.zone.clone()))
        .unwrap_or_else(|| "UTC".to_owned());
    let start = match text("start_at") {
        Some(text) => text.parse().ok(),
        None => stands.filter(|_| !has("start_at")).and_then(|it| it.start_at),
    };
    let rhythm = rhythm(cron.as_deref(), every, &zone, start)?;
    let jitter = number("jitter_seconds").or_else(|| {
        stands
            .filter(|_| !has("jitter_seconds"))
            .map(|it| i64::from(it.jitter_seconds))
    });
    rhythm.check_jitter(jitter.unwrap_or(0), seconds(Timestamp::now()))
}

/// From when to when a schedule has slots.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    start: i64,
    end: i64,
}

impl Bounds {
    fn of(start: Option<Timestamp>, end: Option<Timestamp>) -> Bounds {
        Bounds {
            start: start.map_or(i64::MIN, seconds_up),
            end: end.map_or(i64::MAX, seconds),
        }
    }

    fn has(self, at: i64) -> bool {
        (self.start..=self.end).contains(&at)
    }
}

/// Whole seconds, rounded down.
fn seconds(at: Timestamp) -> i64 {
    at.micros().div_euclid(MICROS)
}

fn seconds_up(at: Timestamp) -> i64 {
    -at.micros().saturating_neg().div_euclid(MICROS)
}

fn timestamp(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * MICROS)
}
