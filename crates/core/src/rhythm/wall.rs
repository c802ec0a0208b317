//! From what a clock on the wall shows to the instants when it shows it.

use jiff::Timestamp;
use jiff::civil::{DateTime, Time};
use jiff::tz::AmbiguousOffset;

use super::zones;
use crate::codes;
use crate::refusal::Refusal;

/// The instants when clocks of a zone show this: `2026-11-16T03:00`, `2026-11-16` (its midnight), or `03:00`, which is the
/// last one that is not later than `now`.
///
/// There is one, two where clocks are put back, and where they are put forward over it: the moment of that, and what the
/// time would be had they been put forward later. The one most people mean comes first.
///
/// ```
/// use tenure_core::rhythm::wall;
///
/// let noon = 1_792_843_200; // 2026-10-24T12:00:00Z
/// assert_eq!(wall("Europe/Berlin", "2026-10-24T14:00", noon).unwrap(), [noon]);
/// assert_eq!(wall("Europe/Berlin", "14:00", noon).unwrap(), [noon]);
/// assert_eq!(wall("Europe/Berlin", "14:01", noon).unwrap(), [noon + 60 - 86_400]);
/// assert_eq!(wall("Europe/Berlin", "2026-10-25T02:30", noon).unwrap().len(), 2);
/// ```
pub fn wall(zone: &str, text: &str, now: i64) -> Result<Vec<i64>, Refusal> {
    let place = zones::zone(zone)?;
    let instants = |shown: DateTime| -> Option<Vec<i64>> {
        let second = |offset: jiff::tz::Offset| offset.to_timestamp(shown).ok().map(Timestamp::as_second);
        match place.to_ambiguous_timestamp(shown).offset() {
            AmbiguousOffset::Unambiguous { offset } => Some(vec![second(offset)?]),
            AmbiguousOffset::Fold { before, after } => Some(vec![second(before)?, second(after)?]),
            AmbiguousOffset::Gap { before, after } => {
                let early = after.to_timestamp(shown).ok()?;
                let change = place.following(early).next()?.timestamp().as_second();
                Some(vec![change, second(before)?])
            }
        }
    };
    let text = text.trim_ascii();
    let found = match (text.parse::<DateTime>(), text.parse::<Time>()) {
        (Ok(shown), _) => instants(shown),
        (_, Ok(time)) => {
            let now = Timestamp::from_second(now).ok();
            let today = now.map(|now| now.to_zoned(place.clone()).date());
            let last = |day: jiff::civil::Date| {
                let found = instants(day.to_datetime(time))?;
                let first = found.first().and_then(|first| Timestamp::from_second(*first).ok())?;
                (Some(first) <= now).then_some(found)
            };
            today.and_then(|today| last(today).or_else(|| last(today.yesterday().ok()?)))
        }
        _ => None,
    };
    found.ok_or_else(|| {
        let shown: String = text.chars().take(crate::limits::NAME_CHARS_MAX).collect();
        Refusal::new(
            codes::USAGE,
            format!("'{}' is no time.", shown.escape_debug()),
            format!("A time has its offset, or is what clocks show in {zone}."),
            "Give one such as 2026-11-16T03:00:00Z, or without an offset 2026-11-16T03:00 or 03:00.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let now: Timestamp = "2026-11-16T01:30:00Z".parse().expect("a time");
        let found = wall("Europe/Berlin", text, now.as_second()).expect("instants");
        let text = |second: &i64| Timestamp::from_second(*second).expect("a time").to_string();
        found.iter().map(text).collect()
    }

    #[test]
    fn a_clock_on_the_wall_tells_the_instant() {
        assert_eq!(shown("2026-11-16T03:00"), ["2026-11-16T02:00:00Z"]);
        assert_eq!(shown("2026-11-16 03:00:30"), ["2026-11-16T02:00:30Z"]);
        assert_eq!(shown("2026-11-16"), ["2026-11-15T23:00:00Z"]);
        assert_eq!(shown("02:30"), ["2026-11-16T01:30:00Z"]);
        assert_eq!(shown("03:00"), ["2026-11-15T02:00:00Z"], "today it is still to come");
    }

    #[test]
    fn what_it_shows_twice_or_never_is_told_too() {
        assert_eq!(
            shown("2026-10-25T02:30"),
            ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]
        );
        assert_eq!(
            shown("2026-03-29T02:30"),
            ["2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"]
        );
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for wrong in ["", "soon", "25:00", "2026-02-30T03:00", "2026-11-16T03:00Z", "3 Uhr"] {
            let refusal = wall("Europe/Berlin", wrong, 0).expect_err(wrong);
            assert!(refusal.is(codes::USAGE), "{wrong}: {refusal}");
        }
        assert!(wall("Berlin", "03:00", 0).is_err_and(|refusal| refusal.is(codes::ZONE_UNKNOWN)));
    }
}
