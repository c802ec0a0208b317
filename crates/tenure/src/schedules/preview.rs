//! The slots that will come.

use tenure_core::limits::PREVIEW_SLOTS_MAX;
use tenure_core::rhythm::Rhythm;
use tenure_core::{Refusal, codes};
use tokio_postgres::GenericClient;

use super::{
    Bounds, PreviewedSlot, RulePreview, ScheduleRule, ScheduleState, rhythm, rhythm_of, seconds, show, timestamp,
};
use crate::error::Result;
use crate::store::{self, Timestamp};

/// The next slots of a schedule.
#[doc(hidden)]
pub async fn preview(client: &(impl GenericClient + Sync), name: &str, count: i32) -> Result<RulePreview> {
    let schedule = show(client, name).await?;
    let now = store::now(client).await?;
    let note = match schedule.state {
        ScheduleState::Paused => Some("It is paused: slots are skipped until it is resumed.".to_owned()),
        ScheduleState::Failing => schedule.error_message.clone(),
        _ => None,
    };
    let bounds = Bounds::of(schedule.start_at, schedule.end_at);
    let found = of(&rhythm_of(&schedule)?, bounds, now, count)?;
    Ok(RulePreview { note, ..found })
}

/// The next slots of a rule, later than `after`.
#[doc(hidden)]
pub fn preview_rule(rule: &ScheduleRule, after: Timestamp, count: i32) -> Result<RulePreview, Refusal> {
    let zone = rule.zone.as_deref().unwrap_or("UTC");
    let rhythm = rhythm(rule.cron.as_deref(), rule.every_seconds, zone, rule.start_at)?;
    of(&rhythm, Bounds::of(rule.start_at, rule.end_at), after, count)
}

fn of(rhythm: &Rhythm, bounds: Bounds, after: Timestamp, count: i32) -> Result<RulePreview, Refusal> {
    let wanted = usize::try_from(count).unwrap_or_default();
    if !(1..=PREVIEW_SLOTS_MAX).contains(&wanted) {
        return Err(Refusal::new(
            codes::NUMBER_OUT_OF_RANGE,
            format!("The number of slots is {count}."),
            format!("It must lie between 1 and {PREVIEW_SLOTS_MAX} (preview_slots_max)."),
            "Give a number within these bounds.",
        ));
    }
    let after = seconds(after).max(bounds.start.saturating_sub(1));
    let slots = rhythm.slots(after, bounds.end).take(wanted).map(|at| PreviewedSlot {
        plan_time: timestamp(at),
        local: rhythm.local(at),
    });
    Ok(RulePreview {
        rule: rhythm.describe(),
        note: None,
        slots: slots.collect(),
    })
}
