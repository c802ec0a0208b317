use std::time::Duration;

use proptest::prelude::*;
use tenure_core::backoff::{BACKOFF_SECONDS_MAX, JITTER_PERCENT_MAX, Jitter, delay};

use crate::vectors;

/// Proves: S67, S68. Guards: D31.
#[test]
fn the_delay_doubles_up_to_its_bounds() {
    let text = vectors("backoff.tsv");
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [base, attempt, percent, fraction, millis] = fields[..] else {
            panic!("five fields: {line}")
        };
        let jitter = Jitter {
            percent: percent.parse().unwrap(),
            fraction: fraction.parse().unwrap(),
        };
        let got = delay(base.parse().unwrap(), attempt.parse().unwrap(), jitter);
        assert_eq!(got, Duration::from_millis(millis.parse().unwrap()), "{line}");
    }
}

#[test]
fn a_draw_that_is_no_number_adds_nothing() {
    let jitter = Jitter {
        percent: 50,
        fraction: f64::NAN,
    };
    assert_eq!(delay(10, 1, jitter), Duration::from_secs(10));
}

proptest! {
    /// Guards: D31.
    #[test]
    fn no_input_overflows_and_jitter_stays_within_its_share(
        base: i64, attempt: i32, percent: u8, fraction: f64,
    ) {
        let plain = delay(base, attempt, Jitter::NONE);
        let spread = delay(base, attempt, Jitter { percent, fraction });
        prop_assert!(spread <= Duration::from_secs(BACKOFF_SECONDS_MAX.unsigned_abs()));
        prop_assert!(spread >= plain);
        prop_assert!(spread - plain <= plain * u32::from(percent.min(JITTER_PERCENT_MAX)) / 100);
    }

    #[test]
    fn a_later_attempt_never_waits_less(base in 0..100_000i64, attempt in 0..40i32) {
        prop_assert!(delay(base, attempt, Jitter::NONE) <= delay(base, attempt + 1, Jitter::NONE));
    }
}
