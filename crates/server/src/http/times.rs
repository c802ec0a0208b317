//! Moments as requests name them.

use serde::{Deserialize, Deserializer, de};
use tenure::store::Timestamp;

/// The years that a request may name: those of RFC 3339, which PostgreSQL can store.
const FIRST_MICROS: i64 = -62_135_596_800_000_000; // 0001-01-01T00:00:00Z
const LAST_MICROS: i64 = 253_402_300_799_999_999; // 9999-12-31T23:59:59.999999Z

/// A moment in a request: finite, and between the years 1 and 9999.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestTime(Timestamp);

impl<'de> Deserialize<'de> for RequestTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RequestTime, D::Error> {
        let text = String::deserialize(deserializer)?;
        let at: Timestamp = text.parse().map_err(de::Error::custom)?;
        if !(FIRST_MICROS..=LAST_MICROS).contains(&at.micros()) {
            return Err(de::Error::custom(format!(
                "not a time such as 2026-01-02T03:04:05Z: {text:?} is not between the years 1 and 9999"
            )));
        }
        Ok(RequestTime(at))
    }
}

impl From<RequestTime> for Timestamp {
    fn from(time: RequestTime) -> Timestamp {
        time.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_moment_are_taken_and_what_lies_beyond_is_not() {
        let read = |text: &str| serde_json::from_value::<RequestTime>(text.into());
        for text in [
            "0001-01-01T00:00:00Z",
            "9999-12-30T00:00:00Z",
            "2026-01-02T03:04:05+01:00",
        ] {
            read(text).expect(text);
        }
        for text in [
            "0000-12-31T23:59:59Z",
            "infinity",
            "-infinity",
            "-009999-01-01T00:00:00Z",
            "soon",
            "",
        ] {
            read(text).expect_err(text);
        }
    }
}
