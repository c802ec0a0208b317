//! When a schedule has its slots: a cron expression on the clock of a place, or a fixed interval.
//!
//! A rhythm is a set of instants and nothing else. [`Rhythm::next`] and [`Rhythm::latest`] walk the same set in both
//! directions, so whoever asks, and whenever, gets the same slots. All instants are seconds since 1970 in UTC; the data of time
//! zones is part of the program, unless newer data was given ([`zones_install`]). Slots lie between the years 1970 and 9000.
//!
//! # Expressions
//!
//! Five fields: minute, hour, day-of-month, month, day-of-week. A field is `*` or a list of values, ranges (`9-17`) and steps
//! (`*/15`, `9-17/2`). Months and weekdays have names (`JAN`, `MON`); Sunday is 0 and 7. Days of the month know `L` (the
//! last), `LW` (the last working day) and `15W` (the working day nearest to the 15th, in the same month); weekdays know `5L`
//! (the last Friday) and `5#2` (the second Friday). `?` is `*` for a day. `@yearly`, `@annually`, `@monthly`, `@weekly`,
//! `@daily`, `@midnight` and `@hourly` are short forms.
//!
//! When day-of-month and day-of-week are both given (neither is `*`), a day needs only one of them: `0 0 13 * FRI` is every
//! 13th and every Friday.
//!
//! # When the clock is changed
//!
//! An expression whose hour and minute are plain numbers, lists or ranges names times of the wall clock:
//!
//! - A time that the wall clock skips runs once, at the first moment after the gap. `30 2 * * *` in Berlin runs at 03:00 on the
//!   day when 02:00 becomes 03:00. Several skipped times, or one skipped and one due at that moment, are one slot.
//! - A time that the wall clock shows twice runs once, the first time.
//!
//! An expression whose hour or minute is `*`, has a step, or names every value goes by elapsed time:
//!
//! - A time that the wall clock skips runs when it would have come had the clock not been changed, so `*/15 * * * *` keeps its
//!   distance of 15 minutes and `*/10 2 * * *` its six runs.
//! - A time that the wall clock shows twice runs both times: an hourly job runs in each hour that passes.
//!
//! Either way each day that an expression names has a slot, and no slot comes twice.

mod calendar;
mod expression;
mod interval;
mod wall;
mod zoned;
mod zones;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::codes;
use crate::limits::JITTER_SECONDS_MAX;
use crate::refusal::Refusal;
use calendar::Calendar;
use interval::Interval;
pub use wall::wall;
use zoned::Zoned;
pub use zones::{zone_check, zones, zones_install};

/// No slot lies before 1970.
const FIRST: i64 = 0;
/// No slot lies after the start of the year 9000.
const LAST: i64 = 221_845_392_000;

/// How many of the coming slots are looked at for the smallest distance, and how far ahead.
const GAP_SLOTS_MAX: usize = 1000;
const GAP_SECONDS_MAX: i64 = 40 * 366 * 24 * 60 * 60;

/// The rule by which a schedule has its slots.
///
/// ```
/// use tenure_core::rhythm::Rhythm;
///
/// let nightly = Rhythm::cron("30 2 * * *", "Europe/Berlin").unwrap();
/// let noon = 1_792_843_200; // 2026-10-24T12:00:00Z
/// let slot = nightly.next(noon).unwrap();
/// assert_eq!(nightly.local(slot), "2026-10-25T02:30:00+02:00[Europe/Berlin]");
/// assert_eq!(nightly.latest(slot), Some(slot));
///
/// let quarters = Rhythm::every(900, None).unwrap();
/// assert_eq!(quarters.next(noon), Some(noon + 900));
/// assert_eq!(quarters.describe(), "every 15 minutes");
/// ```
#[derive(Clone, Debug)]
pub struct Rhythm(Rule);

#[derive(Clone, Debug)]
enum Rule {
    Cron(Zoned),
    Every(Interval),
}

impl Rhythm {
    /// The slots of a cron expression on the clock of a time zone.
    ///
    /// Refuses what cannot be read (`expression_invalid`), what never comes, such as February 30
    /// (`expression_never_fires`), and a zone that is not there (`zone_unknown`).
    ///
    /// ```
    /// use tenure_core::{codes, rhythm::Rhythm};
    ///
    /// assert!(Rhythm::cron("0 9 * * MON#1", "America/New_York").is_ok());
    /// assert!(Rhythm::cron("0 0 30 2 *", "UTC").unwrap_err().is(codes::EXPRESSION_NEVER_FIRES));
    /// ```
    pub fn cron(expression: &str, zone: &str) -> Result<Rhythm, Refusal> {
        let calendar = Calendar::read(expression)?;
        let zone = zones::zone(zone)?;
        Ok(Rhythm(Rule::Cron(Zoned { calendar, zone })))
    }

    /// A slot every so many seconds, the first at `anchor`. Without one they are the multiples since 1970, so that
    /// every 15 minutes is at :00, :15, :30 and :45.
    ///
    /// Refuses less than [`INTERVAL_SECONDS_MIN`](crate::limits::INTERVAL_SECONDS_MIN) (`expression_too_frequent`) and more
    /// than [`INTERVAL_SECONDS_MAX`](crate::limits::INTERVAL_SECONDS_MAX) (`number_out_of_range`).
    ///
    /// ```
    /// use tenure_core::{codes, rhythm::Rhythm};
    ///
    /// assert_eq!(Rhythm::every(60, Some(7)).unwrap().next(7), Some(67));
    /// assert!(Rhythm::every(0, None).unwrap_err().is(codes::EXPRESSION_TOO_FREQUENT));
    /// ```
    pub fn every(seconds: i64, anchor: Option<i64>) -> Result<Rhythm, Refusal> {
        Ok(Rhythm(Rule::Every(Interval::read(seconds, anchor)?)))
    }

    /// The first slot later than `after`; none when the year 9000 comes first.
    pub fn next(&self, after: i64) -> Option<i64> {
        match &self.0 {
            Rule::Cron(zoned) => zoned.next(after),
            Rule::Every(interval) => interval.next(after),
        }
    }

    /// The last slot not later than `at`; none when there was none since 1970 or since the anchor.
    pub fn latest(&self, at: i64) -> Option<i64> {
        match &self.0 {
            Rule::Cron(zoned) => zoned.latest(at),
            Rule::Every(interval) => interval.latest(at),
        }
    }

    /// Whether this instant is a slot, to the second.
    pub fn is_slot(&self, at: i64) -> bool {
        self.latest(at) == Some(at)
    }

    /// The slots later than `after` and not later than `until`, ascending.
    ///
    /// ```
    /// use tenure_core::rhythm::Rhythm;
    ///
    /// let hourly = Rhythm::cron("@hourly", "UTC").unwrap();
    /// assert_eq!(hourly.slots(0, 7200).collect::<Vec<_>>(), [3600, 7200]);
    /// ```
    pub fn slots(&self, after: i64, until: i64) -> impl Iterator<Item = i64> + '_ {
        std::iter::successors(self.next(after), |slot| self.next(*slot)).take_while(move |slot| *slot <= until)
    }

    /// The smallest distance between neighbours among the thousand slots that come after `from`; none when no two come in
    /// forty years.
    pub fn gap_min(&self, from: i64) -> Option<i64> {
        if let Rule::Every(interval) = &self.0 {
            return Some(interval.seconds);
        }
        let until = from.saturating_add(GAP_SECONDS_MAX);
        let coming = || self.slots(from, until).take(GAP_SLOTS_MAX);
        coming().zip(coming().skip(1)).map(|(slot, next)| next - slot).min()
    }

    /// Checks that a run spread by up to `jitter_seconds` still starts before the slot that follows.
    ///
    /// ```
    /// use tenure_core::rhythm::Rhythm;
    ///
    /// let hourly = Rhythm::cron("@hourly", "UTC").unwrap();
    /// assert!(hourly.check_jitter(3599, 0).is_ok());
    /// assert!(hourly.check_jitter(3600, 0).is_err());
    /// ```
    pub fn check_jitter(&self, jitter_seconds: i64, from: i64) -> Result<(), Refusal> {
        let below = self.gap_min(from).unwrap_or(i64::MAX);
        let why = match jitter_seconds {
            ..0 => "A run never starts before its slot.".to_owned(),
            _ if jitter_seconds > JITTER_SECONDS_MAX => format!("At most {JITTER_SECONDS_MAX} are allowed."),
            _ if jitter_seconds >= below => {
                format!("Slots come as little as {below} seconds apart, and no run may pass the next slot.")
            }
            _ => return Ok(()),
        };
        Err(Refusal::new(
            codes::NUMBER_OUT_OF_RANGE,
            format!("The jitter is {jitter_seconds} seconds."),
            why,
            format!("Use a number from 0 to {}.", JITTER_SECONDS_MAX.min(below - 1)),
        ))
    }

    /// What it says, in words.
    pub fn describe(&self) -> String {
        match &self.0 {
            Rule::Cron(zoned) => {
                let zone = zoned.zone.iana_name().unwrap_or("UTC");
                format!("{} ({zone})", zoned.calendar.describe())
            }
            Rule::Every(interval) => interval.describe(),
        }
    }

    /// What clocks show there at this instant, with offset and zone; an interval is shown in UTC.
    pub fn local(&self, at: i64) -> String {
        let instant = Timestamp::from_second(at).unwrap_or(if at < 0 { Timestamp::MIN } else { Timestamp::MAX });
        let zone = match &self.0 {
            Rule::Cron(zoned) => zoned.zone.clone(),
            Rule::Every(_) => TimeZone::UTC,
        };
        instant.to_zoned(zone).to_string()
    }
}
