//! Which minutes of which days an expression names, on a clock that never jumps.
//!
//! Times are seconds on the wall clock: what a clock in UTC would show, counted since 1970.

use croner::parser::{CronParser, Seconds, Year};
use croner::{Cron, CronComponent, CronPattern, Weekday};
use jiff::Timestamp;
use jiff::tz::Offset;

use super::expression;
use crate::codes;
use crate::refusal::Refusal;

const MINUTE: i64 = 60;
const DAY: i64 = 24 * 60 * MINUTE;
const LAST_MINUTE: i64 = DAY / MINUTE - 1;

/// A year and a month of each length, the shortest first.
const LENGTHS: [(i32, u32); 4] = [(2001, 2), (2000, 2), (2001, 4), (2001, 1)];
const SHORTEST: i64 = 28;

/// The fields of one expression, as sets of bits.
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    fields: String,
    /// Bit n: minute n.
    minutes: u64,
    /// Bit n: hour n.
    hours: u64,
    /// Bit n: month n, from 1.
    months: u64,
    /// Bit n: the day n after the first, in a month of this length that begins on this weekday. There are no more kinds of
    /// months than these 28.
    days: [[u32; 7]; LENGTHS.len()],
    /// Whether hour or minute is `*`, stepped, or names all: see [`super`] for what this means when the clock is changed.
    pub(super) goes_by_elapsed_time: bool,
}

impl Calendar {
    pub(super) fn read(text: &str) -> Result<Calendar, Refusal> {
        let fields = expression::read(text)?;
        let cron = parse(&fields).map_err(|error| {
            let what = format!("The expression '{text}' cannot be read.");
            Refusal::new(
                codes::EXPRESSION_INVALID,
                what,
                error.to_string(),
                "Mend the expression.",
            )
        })?;
        let pattern = &cron.pattern;
        let calendar = Calendar {
            fields,
            minutes: mask(&pattern.minutes),
            hours: mask(&pattern.hours),
            months: mask(&pattern.months),
            days: LENGTHS.map(|(year, month)| std::array::from_fn(|weekday| days(pattern, year, month, weekday))),
            goes_by_elapsed_time: is_open(&pattern.minutes) || is_open(&pattern.hours),
        };
        if calendar.has_a_day() {
            return Ok(calendar);
        }
        Err(Refusal::new(
            codes::EXPRESSION_NEVER_FIRES,
            format!("The expression '{text}' never fires."),
            "None of its months ever has one of its days.",
            "Check day-of-month and month: 30 2 is February 30, and L is the last day of any month.",
        ))
    }

    /// The first minute named at or after `from` and before `until`.
    pub(super) fn first(&self, from: i64, until: i64) -> Option<i64> {
        let from = -(-from).div_euclid(MINUTE) * MINUTE;
        let mut month = Month::of(from)?;
        let mut day = (from - month.start) / DAY;
        let mut minute = from.rem_euclid(DAY) / MINUTE;
        while month.start < until {
            let days = self.days_from(month, day);
            let within = (days & (1 << day) != 0).then(|| self.minute_from(minute)).flatten();
            let found = within
                .map(|minute| (day, minute))
                .or_else(|| Some((lowest(days & !(1 << day))?, self.minute_from(0)?)));
            if let Some((day, minute)) = found {
                return Some(month.start + day * DAY + minute * MINUTE).filter(|found| *found < until);
            }
            month = month.next()?;
            (day, minute) = (0, 0);
        }
        None
    }

    /// The last minute named before `until` and not before `from`.
    pub(super) fn last(&self, from: i64, until: i64) -> Option<i64> {
        let upto = (until - 1).div_euclid(MINUTE) * MINUTE;
        let mut month = Month::of(upto)?;
        let mut day = (upto - month.start) / DAY;
        let mut minute = upto.rem_euclid(DAY) / MINUTE;
        while month.end() > from {
            let days = self.days_upto(month, day);
            let within = (days & (1 << day) != 0).then(|| self.minute_upto(minute)).flatten();
            let found = within
                .map(|minute| (day, minute))
                .or_else(|| Some((highest(days & !(1 << day))?, self.minute_upto(LAST_MINUTE)?)));
            if let Some((day, minute)) = found {
                return Some(month.start + day * DAY + minute * MINUTE).filter(|found| *found >= from);
            }
            month = month.previous()?;
            (day, minute) = (month.length - 1, LAST_MINUTE);
        }
        None
    }

    /// What it says in words, without the zone.
    pub(super) fn describe(&self) -> String {
        let Ok(cron) = parse(&self.fields) else {
            return self.fields.clone();
        };
        let mut words = cron.describe();
        if self.fields.contains("LW") {
            words = words.replace("the last day of the month", "the last working day of the month");
        }
        let words = words.trim_end_matches('.').replacen("At every", "Every", 1);
        words[..1].to_ascii_lowercase() + &words[1..]
    }

    /// The first named minute of a day, not before `minute`.
    fn minute_from(&self, minute: i64) -> Option<i64> {
        let (hour, minute) = (minute / 60, minute % 60);
        let within = lowest(self.minutes & (u64::MAX << minute)).filter(|_| self.hours & (1 << hour) != 0);
        match within {
            Some(minute) => Some(hour * 60 + minute),
            None => Some(lowest(self.hours & (u64::MAX << (hour + 1)))? * 60 + lowest(self.minutes)?),
        }
    }

    /// The last named minute of a day, not after `minute`.
    fn minute_upto(&self, minute: i64) -> Option<i64> {
        let (hour, minute) = (minute / 60, minute % 60);
        let within = highest(self.minutes & !(u64::MAX << (minute + 1))).filter(|_| self.hours & (1 << hour) != 0);
        match within {
            Some(minute) => Some(hour * 60 + minute),
            None => Some(highest(self.hours & !(u64::MAX << hour))? * 60 + highest(self.minutes)?),
        }
    }

    fn days_from(&self, month: Month, day: i64) -> u64 {
        self.days_of(month) & (u64::MAX << day)
    }

    fn days_upto(&self, month: Month, day: i64) -> u64 {
        self.days_of(month) & !(u64::MAX << (day + 1))
    }

    /// The named days of a month.
    fn days_of(&self, month: Month) -> u64 {
        match self.months & (1 << month.number) {
            0 => 0,
            _ => self.days[month.length_index()][month.weekday_index()].into(),
        }
    }

    /// Whether one of the months has a named day in some year. Each of them begins on each weekday in some year, a February
    /// of 29 days too.
    fn has_a_day(&self) -> bool {
        let has = |length: usize| self.days[length].iter().any(|days| *days != 0);
        (1..=12).any(|month| {
            self.months & (1 << month) != 0
                && match month {
                    2 => has(0) || has(1),
                    4 | 6 | 9 | 11 => has(2),
                    _ => has(3),
                }
        })
    }
}

fn parse(fields: &str) -> Result<Cron, croner::errors::CronError> {
    let parser = CronParser::builder()
        .seconds(Seconds::Disallowed)
        .year(Year::Disallowed);
    parser.build().parse(fields)
}

fn mask(field: &CronComponent) -> u64 {
    field.values().iter().fold(0, |mask, value| mask | (1 << value))
}

fn is_open(field: &CronComponent) -> bool {
    field.step != 1 || field.values().len() == usize::from(field.max - field.min) + 1
}

/// The named days of a month as long as the one given, had it begun on this weekday.
fn days(pattern: &CronPattern, year: i32, month: u32, first_weekday: usize) -> u32 {
    (0..31).fold(0, |days, day| {
        let weekday = Weekday::from_days_from_sunday((first_weekday as u32 + day) % 7);
        // An error says that the month has no such day.
        let is_named = pattern.day_match(year, month, day + 1, weekday).unwrap_or(false);
        days | (u32::from(is_named) << day)
    })
}

fn lowest(bits: u64) -> Option<i64> {
    (bits != 0).then(|| bits.trailing_zeros().into())
}

fn highest(bits: u64) -> Option<i64> {
    bits.checked_ilog2().map(i64::from)
}

/// A month of the calendar.
#[derive(Clone, Copy)]
struct Month {
    /// The midnight with which it begins.
    start: i64,
    /// Days.
    length: i64,
    /// From 1 to 12.
    number: i8,
}

impl Month {
    /// The month around a second.
    fn of(second: i64) -> Option<Month> {
        let date = Offset::UTC.to_datetime(Timestamp::from_second(second).ok()?).date();
        let midnight = second - second.rem_euclid(DAY);
        Some(Month {
            start: midnight - i64::from(date.day() - 1) * DAY,
            length: date.days_in_month().into(),
            number: date.month(),
        })
    }

    fn end(self) -> i64 {
        self.start + self.length * DAY
    }

    fn next(self) -> Option<Month> {
        Month::of(self.end())
    }

    fn previous(self) -> Option<Month> {
        Month::of(self.start - 1)
    }

    fn length_index(self) -> usize {
        (self.length - SHORTEST) as usize
    }

    /// The weekday it begins with, from Sunday. 1970 began on a Thursday.
    fn weekday_index(self) -> usize {
        (self.start / DAY + 4).rem_euclid(7) as usize
    }
}
