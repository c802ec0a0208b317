//! The fields of an operation, read from its JSON Schema once and kept.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Operation;
use crate::values::JSON_MARK;

/// What is known about an operation without its type.
#[derive(Debug)]
pub struct Description {
    /// The first line of its documentation.
    pub summary: String,
    /// The rest of its documentation.
    pub details: String,
    /// Its fields, in their order. Those of a spec stand where the spec does.
    pub fields: Vec<Field>,
}

/// A field of an operation.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// How it is written as a text.
    pub kind: Kind,
    /// Its JSON Schema.
    pub schema: Value,
    /// It must be given.
    pub is_required: bool,
    /// It is a member of the spec of the route.
    pub is_in_spec: bool,
}

/// How a field is written as a text, in a path, a query or on a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// As it is.
    Text,
    /// A moment.
    Time,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// Several texts.
    Texts,
    /// Several whole numbers.
    Integers,
    /// JSON.
    Json,
}

impl Field {
    /// What it means.
    pub fn help(&self) -> &str {
        self.schema["description"].as_str().unwrap_or_default()
    }

    /// The words it may hold; none if it may hold any.
    pub fn words(&self) -> Vec<&str> {
        words_of(&self.schema)
    }

    /// What it is if it is left out.
    pub fn default(&self) -> Option<&Value> {
        self.schema.get("default").filter(|default| !default.is_null())
    }
}

fn words_of(schema: &Value) -> Vec<&str> {
    let own = schema["enum"].as_array().into_iter().flatten();
    let inner = ["anyOf", "oneOf"]
        .iter()
        .flat_map(|of| schema[*of].as_array().into_iter().flatten());
    let parts = inner.chain(schema.get("items"));
    let own = own.chain(schema.get("const")).filter_map(Value::as_str);
    own.chain(parts.flat_map(words_of)).collect()
}

/// The fields of this operation.
pub fn describe<O: Operation>() -> &'static Description {
    static KNOWN: RwLock<Option<HashMap<&'static str, &'static Description>>> = RwLock::new(None);
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.as_ref().and_then(|known| known.get(O::NAME)) {
        return found;
    }
    drop(known);
    // There are as many as there are operations, and each is read once.
    let made: &'static Description = Box::leak(Box::new(read::<O>()));
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().insert(O::NAME, made);
    made
}

fn read<O: Operation>() -> Description {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let schema = settings.into_generator().into_root_schema_for::<O>().to_value();
    let text = schema["description"].as_str().unwrap_or_default();
    let (summary, details) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut fields = Vec::new();
    for name in names::<O>() {
        let property = &schema["properties"][*name];
        if O::ROUTE.spec != Some(*name) {
            fields.push(field(name, property, &schema, false));
            continue;
        }
        // The order of its fields is lost in a schema: by name.
        let inner = property["properties"].as_object().into_iter().flat_map(Map::iter);
        fields.extend(inner.map(|(name, inner)| field(name, inner, property, true)));
    }
    Description {
        summary: summary.to_owned(),
        details: details.to_owned(),
        fields,
    }
}

fn field(name: &str, property: &Value, of: &Value, is_in_spec: bool) -> Field {
    let required = of["required"].as_array().into_iter().flatten();
    Field {
        name: name.to_owned(),
        kind: kind_of(property),
        is_required: required.filter_map(Value::as_str).any(|required| required == name),
        schema: property.clone(),
        is_in_spec,
    }
}

fn kind_of(schema: &Value) -> Kind {
    if schema.get(JSON_MARK).is_some() {
        return Kind::Json;
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    match types.into_iter().find(|kind| *kind != "null") {
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Boolean,
        Some("object") => Kind::Json,
        Some("array") => match kind_of(&schema["items"]) {
            Kind::Text => Kind::Texts,
            Kind::Integer => Kind::Integers,
            _ => Kind::Json,
        },
        Some(_) if schema["format"] == "date-time" => Kind::Time,
        Some(_) => Kind::Text,
        None => {
            let inner = ["anyOf", "oneOf"]
                .iter()
                .flat_map(|of| schema[*of].as_array().into_iter().flatten());
            let mut kinds = inner.filter(|inner| inner["type"] != "null").map(kind_of);
            match (kinds.next(), kinds.next()) {
                (None, _) => Kind::Json,
                (Some(one), None) => one,
                // A number or a word, such as a priority.
                (Some(_), Some(_)) => Kind::Text,
            }
        }
    }
}

/// The names of the fields in the order in which the struct has them: a schema has lost it.
fn names<T: DeserializeOwned>() -> &'static [&'static str] {
    struct Names<'a>(&'a mut &'static [&'static str]);

    impl<'de> serde::Deserializer<'de> for Names<'_> {
        type Error = serde::de::value::Error;

        fn deserialize_any<V: serde::de::Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(serde::de::Error::custom("only its fields are wanted"))
        }

        fn deserialize_struct<V: serde::de::Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            *self.0 = fields;
            self.deserialize_any(visitor)
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut found: &'static [&'static str] = &[];
    let _ = T::deserialize(Names(&mut found));
    found
}
