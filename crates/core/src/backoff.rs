//! When a failed job comes back.

use std::time::Duration;

/// The exponent stops growing here: from the eleventh attempt on the delay stays the same.
pub const BACKOFF_EXPONENT_MAX: u32 = 10;

pub use crate::limits::BACKOFF_SECONDS_MAX;

/// Jitter adds at most this share of the delay.
pub const JITTER_PERCENT_MAX: u8 = 100;

/// How far apart retries that failed together are spread.
///
/// Jitter only adds: a job never comes back sooner than its delay without jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Jitter {
    /// The largest share of the delay that may be added, at most [`JITTER_PERCENT_MAX`].
    pub percent: u8,
    /// The caller's draw, from 0 (nothing added) to 1 (all of `percent` added). Not a number counts as 0.
    pub fraction: f64,
}

impl Jitter {
    /// Exactly the delay.
    pub const NONE: Jitter = Jitter {
        percent: 0,
        fraction: 0.0,
    };

    fn of_millis(self, millis: i64) -> i64 {
        let share = f64::from(self.percent.min(JITTER_PERCENT_MAX)) / 100.0;
        let draw = if self.fraction.is_nan() {
            0.0
        } else {
            self.fraction.clamp(0.0, 1.0)
        };
        // At most seven days of milliseconds: exact in a float, and it fits.
        (millis as f64 * share * draw).floor() as i64
    }
}

/// How long a job waits after its `attempt`-th claim failed: `base × 2^min(attempt - 1, 10)` seconds plus jitter,
/// in whole milliseconds, at most [`BACKOFF_SECONDS_MAX`].
///
/// An attempt below 1 counts as the first, a base below 0 as none.
///
/// ```
/// use std::time::Duration;
/// use tenure_core::backoff::{Jitter, delay};
///
/// assert_eq!(delay(10, 1, Jitter::NONE), Duration::from_secs(10));
/// assert_eq!(delay(10, 5, Jitter::NONE), Duration::from_secs(160));
/// assert_eq!(delay(10, 1, Jitter { percent: 20, fraction: 0.5 }), Duration::from_secs(11));
/// ```
pub fn delay(base_seconds: i64, attempt: i32, jitter: Jitter) -> Duration {
    let exponent = attempt
        .max(1)
        .unsigned_abs()
        .saturating_sub(1)
        .min(BACKOFF_EXPONENT_MAX);
    let seconds = base_seconds
        .max(0)
        .saturating_mul(1 << exponent)
        .min(BACKOFF_SECONDS_MAX);
    let millis = seconds * 1000;
    let millis = (millis + jitter.of_millis(millis)).min(BACKOFF_SECONDS_MAX * 1000);
    Duration::from_millis(millis.unsigned_abs())
}
