//! Moments: absolute, or a while from now.

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
    /// Reads RFC 3339, or `+` and a duration such as `90s`, `10m`, `1h30m`, `2d`. `field` names the option.
    pub(crate) fn read(field: &str, text: &str) -> Result<Moment, Refusal> {
        let next = "Give a time such as 2026-01-31T09:00:00Z, or a delay such as +90s, +10m, +1h30m, +2d.";
        Moment::read_signed(text.trim(), &['+']).map_err(|why| refused(field, text, why, next))
    }

    /// The same for what has happened: also `-` and a duration, for that long ago.
    pub(crate) fn read_past(field: &str, text: &str) -> Result<Moment, Refusal> {
        let next = "Give a time such as 2026-01-31T09:00:00Z, or a time ago such as -2h.";
        Moment::read_signed(text.trim(), &['-', '+']).map_err(|why| refused(field, text, why, next))
    }

    /// The moment, or why it is none. The first of the signs is the usual one.
    fn read_signed(text: &str, signs: &[char]) -> Result<Moment, &'static str> {
        let Some(sign) = signs.iter().copied().find(|sign| text.starts_with(*sign)) else {
            return text.parse().map(Moment::At).map_err(|_| why_no_time(text, signs[0]));
        };
        let span: jiff::Span = text[1..].parse().map_err(|_| NO_DELAY)?;
        let delay = span
            .to_duration(jiff::SpanRelativeTo::days_are_24_hours())
            .map_err(|_| NO_DELAY)?;
        Ok(Moment::FromNow(if sign == '-' { -delay } else { delay }))
    }

    /// The moment, given what time it is.
    pub(crate) fn resolve(self, field: &str, now: Timestamp) -> Result<Timestamp, Refusal> {
        match self {
            Moment::At(at) => Ok(at),
            Moment::FromNow(delay) => now.checked_add(delay).map_err(|error| {
                Refusal::new(
                    codes::NUMBER_OUT_OF_RANGE,
                    format!("{} lies too far from now.", option(field)),
                    error.to_string(),
                    "Give a shorter delay.",
                )
            }),
        }
    }
}

const NO_DELAY: &str = "Behind the sign stand numbers with units, such as 90s, 10m, 1h30m or 2d.";

/// Why a text without a sign is no time.
fn why_no_time(text: &str, sign: char) -> &'static str {
    let is_civil = text.parse::<jiff::civil::DateTime>().is_ok();
    match (text.trim_start_matches(['+', '-']).parse::<jiff::Span>(), sign) {
        (Ok(_), '-') => "A time ago begins with -.",
        (Ok(_), _) => "A delay begins with +.",
        (Err(_), _) if is_civil => "A time ends with its offset: Z, or one such as +01:00.",
        (Err(_), _) => "It is no time in RFC 3339.",
    }
}

fn refused(field: &str, text: &str, why: &str, next: &str) -> Refusal {
    Refusal::new(
        codes::USAGE,
        format!("{} is {:?}.", option(field), text.trim()),
        why,
        next,
    )
}

/// `created_after` is given with `--created-after`.
fn option(field: &str) -> String {
    format!("--{}", field.replace('_', "-"))
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
        for (wrong, why) in [
            ("tomorrow", "It is no time in RFC 3339."),
            ("+", NO_DELAY),
            ("10", "It is no time in RFC 3339."),
            ("+10 parsecs", NO_DELAY),
            ("5m", "A delay begins with +."),
            ("-5m", "A delay begins with +."),
            ("2026-01-31", "A time ends with its offset: Z, or one such as +01:00."),
            (
                "2026-01-31T09:00:00",
                "A time ends with its offset: Z, or one such as +01:00.",
            ),
        ] {
            let refusal = read(wrong).expect_err(wrong);
            assert_eq!(
                (refusal.is(codes::USAGE), refusal.what, refusal.why.as_str()),
                (true, format!("--due is {wrong:?}."), why)
            );
        }
    }

    #[test]
    fn what_has_happened_is_a_time_ago_too() {
        let now: Timestamp = "2026-01-31T09:00:00Z".parse().expect("a time");
        let read =
            |text| Moment::read_past("created_after", text).and_then(|moment| moment.resolve("created_after", now));
        let at = |text| read(text).map(|at| at.to_string());
        assert_eq!(at("-2h"), Ok("2026-01-31T07:00:00Z".to_owned()));
        assert_eq!(at("-1d"), Ok("2026-01-30T09:00:00Z".to_owned()));
        assert_eq!(at("2026-01-31T09:00:00Z"), Ok("2026-01-31T09:00:00Z".to_owned()));
        let refusal = read("2h").expect_err("no sign");
        assert_eq!(refusal.what, "--created-after is \"2h\".");
        assert_eq!(refusal.why, "A time ago begins with -.");
        assert_eq!(
            refusal.next,
            "Give a time such as 2026-01-31T09:00:00Z, or a time ago such as -2h."
        );
    }
}
