//! Slots at a fixed distance, which no clock of any place changes.

use super::{FIRST, LAST};
use crate::codes;
use crate::limits::{INTERVAL_SECONDS_MAX, INTERVAL_SECONDS_MIN};
use crate::refusal::Refusal;

/// Every so many seconds, from the first slot on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub(super) seconds: i64,
    anchor: i64,
}

impl Interval {
    pub(super) fn read(seconds: i64, anchor: Option<i64>) -> Result<Interval, Refusal> {
        if seconds < INTERVAL_SECONDS_MIN {
            let why = match seconds {
                ..0 => "Time does not run backwards.".to_owned(),
                0 => "Nothing lies between one slot and the next.".to_owned(),
                _ => format!("At least {INTERVAL_SECONDS_MIN} seconds lie between two slots; each is a row and a job."),
            };
            return Err(Refusal::new(
                codes::EXPRESSION_TOO_FREQUENT,
                format!("The interval is {seconds} seconds."),
                why,
                format!("Use {INTERVAL_SECONDS_MIN} seconds or more, or let one job do the work in a loop."),
            ));
        }
        if seconds > INTERVAL_SECONDS_MAX {
            return Err(Refusal::new(
                codes::NUMBER_OUT_OF_RANGE,
                format!("The interval is {seconds} seconds."),
                format!("It lies between {INTERVAL_SECONDS_MIN} and {INTERVAL_SECONDS_MAX} (366 days)."),
                "Use a number in this range, or a cron expression.",
            ));
        }
        let anchor = anchor.unwrap_or(FIRST);
        if !(FIRST..=LAST).contains(&anchor) {
            return Err(Refusal::new(
                codes::NUMBER_OUT_OF_RANGE,
                format!("The first slot is {anchor} seconds after the start of 1970."),
                "It lies between the years 1970 and 9000.",
                "Use an instant in this range, or leave it out.",
            ));
        }
        Ok(Interval { seconds, anchor })
    }

    pub(super) fn next(&self, after: i64) -> Option<i64> {
        if after < self.anchor {
            return Some(self.anchor);
        }
        let slot = self.latest(after)? + self.seconds;
        (after < LAST && slot <= LAST).then_some(slot)
    }

    pub(super) fn latest(&self, at: i64) -> Option<i64> {
        let passed = at.min(LAST).checked_sub(self.anchor).filter(|passed| *passed >= 0)?;
        Some(self.anchor + passed - passed % self.seconds)
    }

    /// In the largest unit that it is a multiple of.
    pub(super) fn describe(&self) -> String {
        #[rustfmt::skip] // A table is read by column.
        let units = [(7 * 86_400, "week"), (86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
        let (size, unit) = units
            .into_iter()
            .find(|(size, _)| self.seconds % size == 0)
            .unwrap_or((1, "second"));
        match self.seconds / size {
            1 => format!("every {unit}"),
            count => format!("every {count} {unit}s"),
        }
    }
}
