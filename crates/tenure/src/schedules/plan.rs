//! What the scheduler computes of a rule, for the database to decide upon.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use tenure_core::Refusal;
use tenure_core::rhythm::Rhythm;

use super::{Bounds, rhythm, seconds, seconds_up, timestamp};
use crate::store::schedules::{Plan, Taken};

/// Slots in the past are counted up to here; more are this many.
const PASSED_MAX: usize = 100_000;

/// Expressions that were read, by zone. Reading one takes longer than all that is asked of it, and the same few come again and again.
static READ: LazyLock<Mutex<HashMap<(String, String), Rhythm>>> = LazyLock::new(Mutex::default);
/// So many are kept; then it begins anew.
const READ_MAX: usize = 10_000;

/// The moments of a schedule that was taken: the late ones as far as they count, and the next.
#[doc(hidden)]
pub fn plan(taken: &Taken) -> Plan {
    compute(taken).unwrap_or_else(|refusal| Plan {
        schedule_id: taken.schedule_id,
        error_code: Some(refusal.code.to_string()),
        error_message: Some(format!("{} {}", refusal.what, refusal.why)),
        ..Plan::default()
    })
}

fn compute(taken: &Taken) -> Result<Plan, Refusal> {
    let rhythm = known(taken)?;
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

/// The rule of a schedule; expressions are read once.
fn known(taken: &Taken) -> Result<Rhythm, Refusal> {
    let every = taken.every_seconds.map(i64::from);
    let read = || rhythm(taken.cron.as_deref(), every, &taken.zone, taken.start_at);
    let Some(cron) = &taken.cron else { return read() };
    let key = (cron.clone(), taken.zone.clone());
    let mut known = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(rhythm) = known.get(&key) {
        return Ok(rhythm.clone());
    }
    let rhythm = read()?;
    if known.len() >= READ_MAX {
        known.clear();
    }
    known.insert(key, rhythm.clone());
    Ok(rhythm)
}
