//! Moments as people write them.

use tenure_core::Refusal;
use tenure_core::rhythm::{Rhythm, wall};

use super::{seconds, timestamp};
use crate::store::Timestamp;

/// The moment of a text: RFC 3339, or what clocks show in the zone, such as `2026-11-16T03:00` or `03:00` (the last one
/// before `now`). Where clocks are changed just then, it is the moment that is a slot of the rule, if there is one.
///
/// ```
/// use tenure::schedules::moment;
///
/// let now = "2026-11-16T09:00:00Z".parse().unwrap();
/// let at = moment("03:00", "Europe/Berlin", None, now).unwrap();
/// assert_eq!(at.to_string(), "2026-11-16T02:00:00Z");
/// assert_eq!(moment("2026-11-16T02:00:00Z", "UTC", None, now).unwrap(), at);
/// ```
#[doc(hidden)]
pub fn moment(text: &str, zone: &str, rule: Option<&Rhythm>, now: Timestamp) -> Result<Timestamp, Refusal> {
    if let Ok(at) = text.trim().parse() {
        return Ok(at);
    }
    crate::zones::current();
    let found = wall(zone, text, seconds(now))?;
    let is_slot = |at: &&i64| rule.is_some_and(|rule| rule.is_slot(**at));
    let at = found.iter().find(is_slot).or(found.first());
    Ok(timestamp(at.copied().unwrap_or_default()))
}
