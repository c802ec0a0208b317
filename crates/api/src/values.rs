//! Values that are neither plain texts nor plain numbers.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::words;

/// Any JSON value, kept digit by digit. As an argument of a SQL function it is `jsonb`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(pub serde_json::Value);

/// Marks a field whose argument is `jsonb` whatever it holds. It is in no document that leaves the program.
pub(crate) const JSON_MARK: &str = "x-jsonb";

impl JsonSchema for Json {
    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({JSON_MARK: true})
    }
}

/// The schema of a [`Json`] that must be an object. Its members are the business of who wrote it.
pub(crate) struct JsonObject;

impl JsonSchema for JsonObject {
    fn schema_name() -> Cow<'static, str> {
        "JsonObject".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A JSON object with members of any name and any value.",
            "type": "object",
            "additionalProperties": true,
            JSON_MARK: true,
        })
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Json {
        Json(value)
    }
}

/// Reads a field that is there, null included: of an `Option<Option<T>>`, `None` is a field that is left out, `Some(None)` is null.
pub(crate) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Reads a list of JSON objects. Serde would take an array for an object too, its values for the fields in their order.
pub(crate) fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct Object<T>(T);

    impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
            struct Fields<T>(PhantomData<T>);

            impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
                type Value = Object<T>;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Object<T>, A::Error> {
                    T::deserialize(MapAccessDeserializer::new(fields)).map(Object)
                }
            }

            deserializer.deserialize_map(Fields(PhantomData))
        }
    }

    let objects = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(objects.into_iter().map(|Object(object)| object).collect())
}

/// A priority by name (`urgent`, `normal`, `bulk`) or by number; higher goes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Priority {
    /// By number.
    Number(i32),
    /// By name.
    Name(String),
}

impl Serialize for Priority {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Priority::Number(number) => serializer.serialize_i32(*number),
            Priority::Name(name) => serializer.serialize_str(name),
        }
    }
}

impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Priority, D::Error> {
        struct NumberOrName;

        impl Visitor<'_> for NumberOrName {
            type Value = Priority;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("urgent, normal, bulk or a whole number")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Priority, E> {
                let number = i32::try_from(number);
                number
                    .map(Priority::Number)
                    .map_err(|_| E::custom("the number is too large"))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Priority, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Priority, E> {
                Ok(name
                    .parse()
                    .map_or_else(|_| Priority::Name(name.to_owned()), Priority::Number))
            }
        }

        deserializer.deserialize_any(NumberOrName)
    }
}

words! {
    /// The name of a priority.
    pub enum PriorityName {
        /// Before all others.
        Urgent = "urgent",
        /// The usual one.
        Normal = "normal",
        /// After all others.
        Bulk = "bulk",
    }
}

impl JsonSchema for Priority {
    fn schema_name() -> Cow<'static, str> {
        "Priority".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A priority by name or by number; higher goes first.",
            "anyOf": [
                {"type": "integer", "minimum": -32768, "maximum": 32767},
                generator.subschema_for::<PriorityName>(),
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_priority_is_a_number_or_a_name() {
        let read = |value| serde_json::from_value::<Priority>(value).expect("a priority");
        assert_eq!(read(json!(7)), Priority::Number(7));
        assert_eq!(read(json!("-7")), Priority::Number(-7));
        assert_eq!(read(json!("urgent")), Priority::Name("urgent".to_owned()));
        serde_json::from_value::<Priority>(json!(true)).expect_err("neither");
        serde_json::from_value::<Priority>(json!(3_000_000_000_i64)).expect_err("too large");
    }
}
