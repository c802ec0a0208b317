//! What the scheduler computes of a rule, for the database to decide upon.

use tenure_core::Refusal;

use super::{Bounds, rhythm, seconds, seconds_up, timestamp};
use crate::store::schedules::{Plan, Taken};

/// Slots in the past are counted up to here; more are this many.
const PASSED_MAX: usize = 1000;

/// The moments of a schedule that was taken: the late ones as far as they count, and the next.
pub fn plan(taken: &Taken) -> Plan {
    compute(taken).unwrap_or_else(|refusal| Plan {
        schedule_id: taken.schedule_id,
        error_code: Some(refusal.code.to_string()),
        error_message: Some(format!("{} {}", refusal.what, refusal.why)),
        ..Plan::default()
    })
}

fn compute(taken: &Taken) -> Result<Plan, Refusal> {
    let every = taken.every_seconds.map(i64::from);
    let rhythm = rhythm(taken.cron.as_deref(), every, &taken.zone, taken.start_at)?;
    let bounds = Bounds::of(taken.start_at, taken.end_at);
    let now = seconds(taken.now).min(bounds.end);
    let after = seconds(taken.after).max(bounds.start.saturating_sub(1));
    let next = rhythm.next(after.max(now)).filter(|at| bounds.has(*at));
    let mut plan = Plan {
        schedule_id: taken.schedule_id,
        next: next.map(timestamp),
        next_gap_seconds: next.and_then(|at| rhythm.next(at).map(|later| later - at)),
        ..Plan::default()
    };
    if let Some(first) = rhythm.next(after).filter(|at| *at <= now) {
        let latest = rhythm.latest(now);
        plan.first = Some(timestamp(first));
        plan.latest = latest.map(timestamp);
        // What lies before is passed over, unless the database knows better.
        let wanted_from = taken.list_from.map(seconds_up).or(latest).unwrap_or(now);
        plan.passed = rhythm.slots(after, wanted_from - 1).take(PASSED_MAX).count() as i32;
        if plan.passed > 0 {
            plan.passed_until = rhythm.latest(wanted_from - 1).map(timestamp);
        }
        if taken.list_from.is_some() {
            let slots = rhythm.slots(after.max(wanted_from - 1), now);
            let most = usize::try_from(taken.list_max).unwrap_or(0);
            plan.listed = slots.take(most).map(timestamp).collect();
        }
    }
    Ok(plan)
}
