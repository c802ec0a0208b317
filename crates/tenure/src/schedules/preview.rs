//! The slots that will come.

use tenure_core::limits::PREVIEW_SLOTS_MAX;
use tenure_core::rhythm::Rhythm;
use tenure_core::{Refusal, codes};
use tokio_postgres::GenericClient;

use super::{Bounds, rhythm, rhythm_of, seconds, timestamp};
use crate::error::Result;
use crate::store::Timestamp;
use crate::store::schedules::schedule_show;

/// What a rule says, and its next slots.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Preview {
    /// The rule in words.
    pub rule: String,
    /// Why nothing of this may happen: the schedule is paused or fails.
    pub note: Option<String>,
    /// The next slots, in order.
    pub slots: Vec<PreviewedSlot>,
}

/// A slot that will come.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct PreviewedSlot {
    /// The moment.
    pub plan_time: Timestamp,
    /// What the clock on the wall says then.
    pub local: String,
}

/// A rule without a schedule.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Five fields of cron, or
    pub cron: Option<String>,
    /// a fixed interval.
    pub every_seconds: Option<i64>,
    /// The time zone that cron is read in; UTC if left out.
    pub zone: Option<String>,
    /// No slot before.
    pub start_at: Option<Timestamp>,
    /// No slot after.
    pub end_at: Option<Timestamp>,
}

/// The next slots of a schedule.
pub async fn preview(client: &impl GenericClient, name: &str, count: usize) -> Result<Preview> {
    let schedule = schedule_show(client, name).await?;
    let now = crate::store::now(client).await?;
    let note = match schedule.state.as_str() {
        "paused" => Some("It is paused: slots are skipped until it is resumed.".to_owned()),
        "failing" => schedule.error_message.clone(),
        _ => None,
    };
    let bounds = Bounds::of(schedule.start_at, schedule.end_at);
    let found = of(&rhythm_of(&schedule)?, bounds, now, count)?;
    Ok(Preview { note, ..found })
}

/// The next slots of a rule, later than `after`.
pub fn preview_rule(rule: &Rule, after: Timestamp, count: usize) -> Result<Preview, Refusal> {
    let zone = rule.zone.as_deref().unwrap_or("UTC");
    let rhythm = rhythm(rule.cron.as_deref(), rule.every_seconds, zone, rule.start_at)?;
    of(&rhythm, Bounds::of(rule.start_at, rule.end_at), after, count)
}

fn of(rhythm: &Rhythm, bounds: Bounds, after: Timestamp, count: usize) -> Result<Preview, Refusal> {
    if !(1..=PREVIEW_SLOTS_MAX).contains(&count) {
        return Err(Refusal::new(
            codes::NUMBER_OUT_OF_RANGE,
            format!("The number of slots is {count}."),
            format!("It must lie between 1 and {PREVIEW_SLOTS_MAX} (preview_slots_max)."),
            "Give a number within these bounds.",
        ));
    }
    let after = seconds(after).max(bounds.start.saturating_sub(1));
    let slots = rhythm.slots(after, bounds.end).take(count).map(|at| PreviewedSlot {
        plan_time: timestamp(at),
        local: rhythm.local(at),
    });
    Ok(Preview {
        rule: rhythm.describe(),
        note: None,
        slots: slots.collect(),
    })
}
