//! What a job carries, as it came from the database.

use std::error::Error;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::Value;
use serde_json::value::RawValue;
use tenure_core::json;
use tokio_postgres::types::{FromSql, Type};

/// The JSON text of a payload, read as whatever is wanted when it is wanted: most jobs are read once, into one type.
///
/// ```
/// use serde::Deserialize;
/// use tenure::Payload;
///
/// #[derive(Deserialize)]
/// struct Greeting {
///     name: String,
/// }
///
/// let payload = Payload::from(serde_json::json!({"name": "world"}));
/// assert_eq!(payload.read::<Greeting>().unwrap().name, "world");
/// assert_eq!(payload.as_str(), r#"{"name":"world"}"#);
/// ```
#[derive(Clone)]
pub struct Payload(Box<str>);

impl Payload {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A payload with this text, which is JSON.
    pub(crate) fn of_text(text: String) -> Payload {
        Payload(text.into())
    }

    /// Reads it as this type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        json::parse(&self.0)
    }
}

impl From<Value> for Payload {
    fn from(value: Value) -> Payload {
        Payload(value.to_string().into())
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Equal as JSON: the order of keys and white space do not matter.
impl PartialEq for Payload {
    fn eq(&self, other: &Payload) -> bool {
        self.0 == other.0 || matches!((self.read::<Value>(), other.read::<Value>()), (Ok(one), Ok(two)) if one == two)
    }
}

impl PartialEq<Value> for Payload {
    fn eq(&self, other: &Value) -> bool {
        self.read::<Value>().is_ok_and(|value| value == *other)
    }
}

/// The text as it is: what it holds, and how deep, is not looked at.
impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text: &RawValue = serde_json::from_str(&self.0).map_err(ser::Error::custom)?;
        text.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Payload, D::Error> {
        Value::deserialize(deserializer).map(Payload::from)
    }
}

impl<'a> FromSql<'a> for Payload {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Payload, Box<dyn Error + Sync + Send>> {
        Ok(Payload(std::str::from_utf8(raw)?.into()))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::JSON
    }
}
