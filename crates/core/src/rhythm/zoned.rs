//! An expression on the clock of a place, whose offset changes.
//!
//! Time is cut into stretches of one offset. Within a stretch the wall clock never jumps, and what an expression names is a
//! plain question to its [`Calendar`]; all that is special lies at the start of a stretch.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::calendar::Calendar;
use super::{FIRST, LAST};

/// A calendar and its place.
#[derive(Clone, Debug)]
pub(super) struct Zoned {
    pub(super) calendar: Calendar,
    pub(super) zone: TimeZone,
}

/// The time from one change of the offset to the next: `start` belongs to it, `end` does not.
struct Stretch {
    start: i64,
    end: i64,
    offset: i64,
    /// The offset before `start`.
    before: i64,
}

impl Stretch {
    /// How far the clock was put forward at the start; then the wall clock lacks this time.
    fn gap(&self) -> i64 {
        (self.offset - self.before).max(0)
    }

    /// How far the clock was put back at the start; then the wall clock shows this time again.
    fn fold(&self) -> i64 {
        (self.before - self.offset).max(0)
    }
}

impl Zoned {
    pub(super) fn next(&self, after: i64) -> Option<i64> {
        let mut from = after.saturating_add(1).max(FIRST);
        while from <= LAST {
            let stretch = self.stretch(from)?;
            if let Some(slot) = self.first_within(&stretch, from) {
                return Some(slot).filter(|slot| *slot <= LAST);
            }
            from = stretch.end;
        }
        None
    }

    pub(super) fn latest(&self, at: i64) -> Option<i64> {
        let mut upto = at.min(LAST);
        while upto >= FIRST {
            let stretch = self.stretch(upto)?;
            if let Some(slot) = self.last_within(&stretch, upto) {
                return Some(slot).filter(|slot| *slot >= FIRST);
            }
            upto = stretch.start.saturating_sub(1);
        }
        None
    }

    /// The first slot of the stretch that is not before `from`.
    fn first_within(&self, stretch: &Stretch, from: i64) -> Option<i64> {
        let Stretch {
            start,
            end,
            offset,
            before,
        } = *stretch;
        if self.calendar.goes_by_elapsed_time {
            let regular = self.named_from(from, end, offset);
            let carried = self.named_from(from, end.min(start.saturating_add(stretch.gap())), before);
            return regular.into_iter().chain(carried).min();
        }
        if from == start && self.has_missed(stretch) {
            return Some(start);
        }
        self.named_from(from.max(start.saturating_add(stretch.fold())), end, offset)
    }

    /// The last slot of the stretch that is not after `upto`.
    fn last_within(&self, stretch: &Stretch, upto: i64) -> Option<i64> {
        let Stretch {
            start, offset, before, ..
        } = *stretch;
        let until = upto + 1;
        if self.calendar.goes_by_elapsed_time {
            let regular = self.named_upto(start, until, offset);
            let carried = self.named_upto(start, until.min(start.saturating_add(stretch.gap())), before);
            return regular.max(carried);
        }
        self.named_upto(start.saturating_add(stretch.fold()), until, offset)
            .or_else(|| self.has_missed(stretch).then_some(start))
    }

    /// Whether the expression names a time that the wall clock lacks at the start of the stretch.
    fn has_missed(&self, stretch: &Stretch) -> bool {
        let Stretch {
            start, offset, before, ..
        } = *stretch;
        stretch.gap() > 0 && self.calendar.first(start + before, start + offset).is_some()
    }

    /// The first named instant in `from..until`, on a clock with this offset.
    fn named_from(&self, from: i64, until: i64, offset: i64) -> Option<i64> {
        if from >= until {
            return None;
        }
        Some(self.calendar.first(from + offset, until + offset)? - offset)
    }

    /// The last named instant in `from..until`, on a clock with this offset.
    fn named_upto(&self, from: i64, until: i64, offset: i64) -> Option<i64> {
        if from >= until {
            return None;
        }
        Some(self.calendar.last(from + offset, until + offset)? - offset)
    }

    /// The stretch around an instant, cut off a day beyond what rhythms know.
    fn stretch(&self, at: i64) -> Option<Stretch> {
        const MARGIN: i64 = 24 * 60 * 60;
        let instant = Timestamp::from_second(at).ok()?;
        let following_second = Timestamp::from_second(at + 1).ok()?;
        let offset = i64::from(self.zone.to_offset(instant).seconds());
        let start = self
            .zone
            .preceding(following_second)
            .next()
            .map(|change| change.timestamp());
        let end = self.zone.following(instant).next().map(|change| change.timestamp());
        let before = match start {
            Some(start) => self.offset(start.as_second() - 1)?,
            None => offset,
        };
        Some(Stretch {
            start: start.map_or(FIRST - MARGIN, Timestamp::as_second).max(FIRST - MARGIN),
            end: end.map_or(LAST + MARGIN, Timestamp::as_second).min(LAST + MARGIN),
            offset,
            before,
        })
    }

    fn offset(&self, at: i64) -> Option<i64> {
        Some(self.zone.to_offset(Timestamp::from_second(at).ok()?).seconds().into())
    }
}
