//! How long something took, of many.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::report::round;

/// Beyond an hour only that it was long is known.
const MICROS_MAX: u64 = 3_600_000_000;
/// Two digits after the first are right.
const DIGITS: u8 = 3;

/// Many durations in little space.
pub(super) struct Durations(Histogram<u64>);

/// Half of them, nearly all, and all took at most that long.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Percentiles {
    pub(super) p50_ms: f64,
    pub(super) p95_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) max_ms: f64,
}

impl Durations {
    pub(super) fn new() -> Durations {
        Durations(Histogram::new_with_bounds(1, MICROS_MAX, DIGITS).expect("valid bounds"))
    }

    pub(super) fn record(&mut self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(MICROS_MAX);
        self.0.saturating_record(micros);
    }

    /// Takes all of the other, which is empty then.
    pub(super) fn absorb(&mut self, other: &mut Durations) {
        self.0.add(&other.0).expect("equal bounds");
        other.0.reset();
    }

    pub(super) fn percentiles(&self) -> Percentiles {
        let millis = |micros: u64| round(micros as f64 / 1000.0, 3);
        Percentiles {
            p50_ms: millis(self.0.value_at_quantile(0.50)),
            p95_ms: millis(self.0.value_at_quantile(0.95)),
            p99_ms: millis(self.0.value_at_quantile(0.99)),
            max_ms: millis(self.0.max()),
        }
    }
}

impl Percentiles {
    /// What people read.
    pub(super) fn told(&self) -> String {
        format!(
            "p50 {} ms, p95 {} ms, p99 {} ms, longest {} ms",
            self.p50_ms, self.p95_ms, self.p99_ms, self.max_ms
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_all_that_was_recorded() {
        let (mut all, mut part) = (Durations::new(), Durations::new());
        for millis in 1..=100 {
            part.record(Duration::from_millis(millis));
            if millis % 10 == 0 {
                all.absorb(&mut part);
            }
        }
        let found = all.percentiles();
        for (value, millis) in [(found.p50_ms, 50.0), (found.p95_ms, 95.0), (found.p99_ms, 99.0)] {
            assert!((value - millis).abs() <= 1.0, "{found:?}");
        }
        assert_eq!(part.percentiles().max_ms, 0.0, "what was taken is gone");
    }
}
