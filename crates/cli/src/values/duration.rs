//! Durations in whole seconds.

use std::convert::Infallible;
use std::str::FromStr;

use tenure_core::{Refusal, codes};

/// A duration as it was written: `90`, `15m`, `1h30m`, `2d`. Read late, so that one that is absurd is refused by name.
#[derive(Clone, Debug)]
pub(crate) struct Seconds(String);

impl FromStr for Seconds {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Seconds, Infallible> {
        Ok(Seconds(text.to_owned()))
    }
}

impl Seconds {
    /// Whole seconds, for the option of this name. Which of them are allowed, the database says.
    pub(crate) fn read(&self, option: &str) -> Result<i64, Refusal> {
        let text = self.0.trim();
        let refused = |why: String| {
            Refusal::new(
                codes::USAGE,
                format!("--{option} is {text:?}."),
                why,
                "Give a duration such as 90s, 15m, 1h30m or 2d.",
            )
        };
        if let Ok(seconds) = text.parse() {
            return Ok(seconds);
        }
        let span: jiff::Span = text.parse().map_err(|error: jiff::Error| refused(error.to_string()))?;
        let duration = span
            .to_duration(jiff::SpanRelativeTo::days_are_24_hours())
            .map_err(|error| refused(error.to_string()))?;
        match duration.subsec_nanos() {
            0 => Ok(duration.as_secs()),
            _ => Err(refused("It is no whole number of seconds.".to_owned())),
        }
    }

    /// The duration that may have been given.
    pub(crate) fn read_option(seconds: Option<&Seconds>, option: &str) -> Result<Option<i64>, Refusal> {
        seconds.map(|seconds| seconds.read(option)).transpose()
    }
}

/// `1h30m`: a whole number of seconds as it may be written again.
pub(crate) fn short(seconds: i64) -> String {
    const UNITS: [(i64, &str); 4] = [(86_400, "d"), (3600, "h"), (60, "m"), (1, "s")];
    let mut left = seconds.max(0);
    let mut text = String::new();
    for (unit, letter) in UNITS {
        if left >= unit {
            text.push_str(&format!("{}{letter}", left / unit));
            left %= unit;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<i64, Refusal> {
        Seconds(text.to_owned()).read("every")
    }

    #[test]
    fn durations_are_whole_seconds() {
        for (text, seconds) in [
            ("90", 90),
            ("90s", 90),
            ("15m", 900),
            ("1h30m", 5400),
            ("1d", 86_400),
            ("-5s", -5),
            ("0", 0),
        ] {
            assert_eq!(read(text), Ok(seconds), "{text}");
        }
        for wrong in ["", "soon", "500ms", "1mo", "5 parsecs", "1.5"] {
            assert!(read(wrong).is_err_and(|refusal| refusal.is(codes::USAGE)), "{wrong}");
        }
    }

    #[test]
    fn what_is_shown_can_be_given_again() {
        for (seconds, text) in [
            (0, "0s"),
            (90, "1m30s"),
            (900, "15m"),
            (86_400, "1d"),
            (90_061, "1d1h1m1s"),
        ] {
            assert_eq!(short(seconds), text);
            assert_eq!(read(text), Ok(seconds));
        }
    }
}
