//! Moments: absolute, or from now on.

use jiff::{SignedDuration, Timestamp};
use tenure_core::{Refusal, codes};

/// When something is due, as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// `2026-01-31T09:00:00+01:00`
    At(Timestamp),
    /// `+10m`, counted from the database's clock.
    FromNow(SignedDuration),
}

impl Moment {
    /// Reads RFC 3339, or `+` and a duration such as `90s`, `10m`, `1h30m`, `2d`.
    pub(crate) fn read(field: &str, text: &str) -> Result<Moment, Refusal> {
        let text = text.trim();
        let refused = |why: String| {
            Refusal::new(
                codes::USAGE,
                format!("{field} is {text:?}."),
                why,
                "Give a time such as 2026-01-31T09:00:00Z, or a delay such as +90s, +10m, +1h30m, +2d.",
            )
        };
        match text.strip_prefix('+') {
            Some(delay) => {
                let span: jiff::Span = delay.parse().map_err(|error: jiff::Error| refused(error.to_string()))?;
                let delay = span
                    .to_duration(jiff::SpanRelativeTo::days_are_24_hours())
                    .map_err(|error| refused(error.to_string()))?;
                Ok(Moment::FromNow(delay))
            }
            None => text
                .parse()
                .map(Moment::At)
                .map_err(|error: jiff::Error| refused(error.to_string())),
        }
    }

    /// The moment, given what time it is.
    pub(crate) fn resolve(self, field: &str, now: Timestamp) -> Result<Timestamp, Refusal> {
        match self {
            Moment::At(at) => Ok(at),
            Moment::FromNow(delay) => now.checked_add(delay).map_err(|error| {
                Refusal::new(
                    codes::NUMBER_OUT_OF_RANGE,
                    format!("{field} lies too far ahead."),
                    error.to_string(),
                    "Give a shorter delay.",
                )
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_or_a_delay() {
        let now: Timestamp = "2026-01-31T09:00:00Z".parse().expect("a time");
        let read = |text| Moment::read("due", text).and_then(|moment| moment.resolve("due", now));
        assert_eq!(read("2026-01-31T10:00:00+01:00"), Ok(now));
        assert_eq!(
            read("+1h30m").map(|at| at.to_string()),
            Ok("2026-01-31T10:30:00Z".to_owned())
        );
        assert_eq!(
            read("+2d").map(|at| at.to_string()),
            Ok("2026-02-02T09:00:00Z".to_owned())
        );
        for wrong in ["tomorrow", "+", "10", "+10 parsecs", "2026-01-31"] {
            assert!(read(wrong).is_err_and(|refusal| refusal.is(codes::USAGE)), "{wrong}");
        }
    }
}
