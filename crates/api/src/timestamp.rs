//! A moment, as PostgreSQL keeps it.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Microseconds since 1970, UTC: a `timestamptz` without loss. Shown and read as RFC 3339.
///
/// ```
/// use tenure_api::Timestamp;
///
/// let at: Timestamp = "2026-01-02T03:04:05.000006Z".parse().unwrap();
/// assert_eq!(at.to_string(), "2026-01-02T03:04:05.000006Z");
/// assert_eq!("2026-01-02T04:04:05.000006+01:00".parse::<Timestamp>().unwrap(), at);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Later than everything: PostgreSQL's `infinity`.
    pub const INFINITY: Timestamp = Timestamp(i64::MAX);
    /// Earlier than everything: PostgreSQL's `-infinity`.
    pub const NEG_INFINITY: Timestamp = Timestamp(i64::MIN);

    /// From microseconds since 1970.
    pub const fn from_micros(micros: i64) -> Timestamp {
        Timestamp(micros)
    }

    /// Microseconds since 1970.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// The clock of this machine. Tenure decides by the clock of the database.
    pub fn now() -> Timestamp {
        SystemTime::now().into()
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Timestamp;

    fn add(self, duration: Duration) -> Timestamp {
        Timestamp(
            self.0
                .saturating_add(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)),
        )
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Timestamp {
        let micros = |duration: Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Timestamp(match time.duration_since(UNIX_EPOCH) {
            Ok(after) => micros(after),
            Err(before) => -micros(before.duration()),
        })
    }
}

impl From<Timestamp> for SystemTime {
    fn from(at: Timestamp) -> SystemTime {
        let distance = Duration::from_micros(at.0.unsigned_abs());
        let time = if at.0 >= 0 {
            UNIX_EPOCH.checked_add(distance)
        } else {
            UNIX_EPOCH.checked_sub(distance)
        };
        time.unwrap_or(UNIX_EPOCH)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Timestamp::INFINITY => f.write_str("infinity"),
            Timestamp::NEG_INFINITY => f.write_str("-infinity"),
            Timestamp(micros) => match jiff::Timestamp::from_microsecond(micros) {
                Ok(at) => fmt::Display::fmt(&at, f),
                // Beyond the year 9999 there is no RFC 3339.
                Err(_) => write!(f, "{micros}us"),
            },
        }
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Timestamp, InvalidTimestamp> {
        match text {
            "infinity" => Ok(Timestamp::INFINITY),
            "-infinity" => Ok(Timestamp::NEG_INFINITY),
            _ => match text.parse::<jiff::Timestamp>() {
                Ok(at) => Ok(Timestamp(at.as_microsecond())),
                Err(error) => Err(InvalidTimestamp(error.to_string())),
            },
        }
    }
}

/// A text that names no moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a time such as 2026-01-02T03:04:05Z: {0}")]
pub struct InvalidTimestamp(String);

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "date-time"})
    }
}

/// As PostgreSQL reads and writes it.
#[cfg(feature = "postgres")]
mod sql {
    use std::error::Error;

    use postgres_types::private::BytesMut;
    use postgres_types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

    use super::Timestamp;

    /// PostgreSQL counts from the beginning of 2000.
    const POSTGRES_EPOCH_MICROS: i64 = 946_684_800_000_000;

    impl<'a> FromSql<'a> for Timestamp {
        fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Timestamp, Box<dyn Error + Sync + Send>> {
            Ok(Timestamp(match i64::from_sql(ty, raw)? {
                i64::MAX => i64::MAX,
                i64::MIN => i64::MIN,
                micros => micros + POSTGRES_EPOCH_MICROS,
            }))
        }

        fn accepts(ty: &Type) -> bool {
            *ty == Type::TIMESTAMPTZ
        }
    }

    impl ToSql for Timestamp {
        fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
            let micros = match self.0 {
                i64::MAX => i64::MAX,
                i64::MIN => i64::MIN,
                micros => micros.saturating_sub(POSTGRES_EPOCH_MICROS),
            };
            micros.to_sql(ty, out)
        }

        fn accepts(ty: &Type) -> bool {
            *ty == Type::TIMESTAMPTZ
        }

        to_sql_checked!();
    }
}
