//! Carries out operations of [`tenure::api`](crate::api) on a connection or in a transaction.
//!
//! ```no_run
//! # async fn run(client: tokio_postgres::Client) -> tenure::Result<()> {
//! use tenure::api::dead_letters::{DeadLetterList, TriageStatus};
//!
//! let question = DeadLetterList {
//!     triage_status: Some(vec![TriageStatus::Pending]),
//!     limit: 10,
//!     ..DeadLetterList::default()
//! };
//! for letter in tenure::operations::call(&client, &question).await?.items {
//!     println!("{} {}", letter.kind, letter.final_error);
//! }
//! # Ok(())
//! # }
//! ```

mod anchors;
mod executions;
mod health;
mod jobs;
mod keys;
mod locks;
mod schedules;
mod settings;
mod subscriptions;
mod work;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tenure_api::fields::{Kind, describe};
use tenure_api::{Operation, Shape, page, request};
use tenure_core::names::nearest;
use tenure_core::{Refusal, codes, json};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, FromSql, IsNull, ToSql, Type};
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

pub use executions::plan_document;

use crate::error::{Result, accept};
use crate::store::Timestamp;

/// How an operation is carried out: by one call of its SQL function, unless it says otherwise. Everything happens in the transaction
/// of the client.
pub trait Perform: Operation {
    /// It makes several calls, so that a commit cannot be sent right behind the first.
    const CALLS_SEVERAL: bool = false;

    /// Carries it out.
    fn perform(&self, client: &(impl GenericClient + Sync)) -> impl Future<Output = Result<Self::Answer>> + Send {
        call(client, self)
    }
}

macro_rules! perform {
    ($($how:ident $operation:ty,)*) => { $(perform! { @$how $operation })* };
    (@plain $operation:ty) => { impl Perform for $operation {} };
    (@by_hand $operation:ty) => {};
    (@served $operation:ty) => {};
}
tenure_api::for_each_operation!(perform);

/// Calls the SQL function of an operation by named arguments.
pub async fn call<O: Operation>(client: &(impl GenericClient + Sync), operation: &O) -> Result<O::Answer> {
    let function = O::FUNCTION;
    let rows = query(client, operation, Map::new(), O::SHAPE).await?;
    let found = match O::SHAPE {
        Shape::Value => match rows.first() {
            Some(row) => accept(column(row, 0, function)?)?,
            None => Value::Null,
        },
        Shape::Row => match rows.first() {
            Some(row) => object(row, function)?,
            None => return Err(missing(function).into()),
        },
        Shape::Rows | Shape::Values => {
            let item = |row: &Row| match O::SHAPE {
                Shape::Values => column(row, 0, function),
                _ => object(row, function),
            };
            let rows: Result<Vec<Value>> = rows.iter().map(item).collect();
            let rows = rows?;
            let next = page::next_of::<O>(&request::members(operation), &rows);
            serde_json::json!({"items": rows, "next": next})
        }
    };
    read::<O>(found)
}

/// The rows of the SQL function of an operation whose answer is made of them, called with arguments that were computed from it.
pub(crate) async fn rows<O: Operation, T: Serialize + DeserializeOwned>(
    client: &(impl GenericClient + Sync),
    operation: &O,
    computed: Map<String, Value>,
) -> Result<Vec<T>> {
    let rows = query(client, operation, computed, Shape::Rows).await?;
    let rows = rows.iter().map(|row| read_as(O::FUNCTION, object(row, O::FUNCTION)?));
    rows.collect()
}

/// Arguments are texts whose type PostgreSQL finds out from the function, so that one unnamed statement serves in one round trip.
async fn query<O: Operation>(
    client: &(impl GenericClient + Sync),
    operation: &O,
    computed: Map<String, Value>,
    shape: Shape,
) -> Result<Vec<Row>> {
    let mut members = request::members(operation);
    if !page::open_cursor::<O>(&mut members) {
        return Err(cursor_unknown().into());
    }
    for beside in O::BESIDE {
        members.remove(*beside);
    }
    members.extend(computed);
    let kinds = &describe::<O>().fields;
    let kind_of = |name: &str| {
        kinds
            .iter()
            .find(|field| field.name == name)
            .map_or(Kind::Texts, |field| field.kind)
    };
    let texts: Vec<Text> = members
        .iter()
        .map(|(name, value)| text_of(kind_of(name), value))
        .collect();
    let arguments: Vec<String> = members
        .keys()
        .zip(1..)
        .map(|(name, at)| format!("p_{name} => ${at}"))
        .collect();
    let (function, arguments) = (O::FUNCTION, arguments.join(", "));
    let statement = match shape {
        Shape::Value => format!("select answer from tenure.{function}({arguments}) answer"),
        Shape::Row | Shape::Rows | Shape::Values => format!("select * from tenure.{function}({arguments})"),
    };
    let values: Vec<(&(dyn ToSql + Sync), Type)> = texts.iter().map(|text| (text as _, Type::UNKNOWN)).collect();
    Ok(client.query_typed(&statement, &values).await?)
}

/// The answer as its type. Programs that are built for tests also check that the type has a field for everything in it.
fn read<O: Operation>(found: Value) -> Result<O::Answer> {
    read_as(O::FUNCTION, found)
}

fn read_as<T: Serialize + DeserializeOwned>(function: &str, found: Value) -> Result<T> {
    #[cfg(debug_assertions)]
    let whole = found.clone();
    let answer: T =
        serde_path_to_error::deserialize(found).map_err(|error| unreadable(function, &error.to_string()))?;
    #[cfg(debug_assertions)]
    if let Some(lost) = lost(&whole, &serde_json::to_value(&answer).unwrap_or_default(), "") {
        return Err(unreadable(function, &format!("the type of the answer has no field for {lost}")).into());
    }
    Ok(answer)
}

/// The first member of the one that the other lacks.
#[cfg(debug_assertions)]
fn lost(whole: &Value, typed: &Value, path: &str) -> Option<String> {
    match (whole, typed) {
        (Value::Object(whole), Value::Object(typed)) => whole.iter().find_map(|(name, value)| {
            let path = format!("{path}/{name}");
            match typed.get(name) {
                Some(typed) => lost(value, typed, &path),
                None => Some(path),
            }
        }),
        (Value::Array(whole), Value::Array(typed)) => whole
            .iter()
            .zip(typed)
            .find_map(|(whole, typed)| lost(whole, typed, &format!("{path}/0"))),
        (Value::Object(_) | Value::Array(_), _) => Some(path.to_owned()),
        (Value::Null, _) | (_, Value::Null) if whole.is_null() != typed.is_null() => Some(path.to_owned()),
        _ => None,
    }
}

/// An argument as PostgreSQL reads it from a text; none is null.
#[derive(Debug)]
struct Text(Option<String>);

impl ToSql for Text {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Some(text) = &self.0 else {
            return Ok(IsNull::Yes);
        };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    fn to_sql_checked(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        self.to_sql(ty, out)
    }
}

fn text_of(kind: Kind, value: &Value) -> Text {
    Text(match (kind, value) {
        (_, Value::Null) => None,
        (Kind::Json, value) => Some(value.to_string()),
        (_, Value::String(text)) => Some(text.clone()),
        (Kind::Texts | Kind::Integers, Value::Array(values)) => Some(array(values)),
        (_, other) => Some(other.to_string()),
    })
}

/// An array of PostgreSQL, each element in quotation marks.
fn array(values: &[Value]) -> String {
    let elements = values.iter().map(|value| match value {
        Value::Null => "NULL".to_owned(),
        Value::String(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        other => other.to_string(),
    });
    format!("{{{}}}", elements.collect::<Vec<_>>().join(","))
}

/// A row as a JSON object.
fn object(row: &Row, function: &str) -> Result<Value> {
    let mut members = Map::new();
    for (at, column_of) in row.columns().iter().enumerate() {
        members.insert(column_of.name().to_owned(), column(row, at, function)?);
    }
    Ok(Value::Object(members))
}

/// A column as JSON, by its type.
fn column(row: &Row, at: usize, function: &str) -> Result<Value> {
    fn get<'a, T: FromSql<'a>>(row: &'a Row, at: usize) -> Result<Option<T>, tokio_postgres::Error> {
        row.try_get(at)
    }
    fn list<'a, T: FromSql<'a> + Into<Value>>(row: &'a Row, at: usize) -> Result<Value, tokio_postgres::Error> {
        let values: Option<Vec<Option<T>>> = row.try_get(at)?;
        let each = |value: Option<T>| value.map_or(Value::Null, Into::into);
        Ok(values.map_or(Value::Null, |values| values.into_iter().map(each).collect()))
    }
    let ty = row.columns()[at].type_();
    Ok(match *ty {
        Type::TEXT | Type::VARCHAR | Type::NAME => get::<String>(row, at)?.map_or(Value::Null, Value::from),
        Type::BOOL => get::<bool>(row, at)?.map_or(Value::Null, Value::from),
        Type::INT2 => get::<i16>(row, at)?.map_or(Value::Null, Value::from),
        Type::INT4 => get::<i32>(row, at)?.map_or(Value::Null, Value::from),
        Type::INT8 => get::<i64>(row, at)?.map_or(Value::Null, Value::from),
        Type::FLOAT8 => get::<f64>(row, at)?.map_or(Value::Null, Value::from),
        Type::UUID => get::<Uuid>(row, at)?.map_or(Value::Null, |id| id.to_string().into()),
        Type::TIMESTAMPTZ => get::<Timestamp>(row, at)?.map_or(Value::Null, |moment| moment.to_string().into()),
        Type::JSONB | Type::JSON => match get::<JsonText<'_>>(row, at)? {
            Some(JsonText(text)) => {
                json::parse_bytes(text).map_err(|error| unreadable(function, &error.to_string()))?
            }
            None => Value::Null,
        },
        Type::BYTEA => get::<&[u8]>(row, at)?.map_or(Value::Null, |bytes| BASE64_STANDARD.encode(bytes).into()),
        Type::TEXT_ARRAY => list::<String>(row, at)?,
        Type::INT4_ARRAY => list::<i32>(row, at)?,
        Type::INT8_ARRAY => list::<i64>(row, at)?,
        Type::UUID_ARRAY => {
            let ids: Option<Vec<Option<Uuid>>> = get(row, at)?;
            let each = |id: Option<Uuid>| id.map_or(Value::Null, |id| id.to_string().into());
            ids.map_or(Value::Null, |ids| ids.into_iter().map(each).collect())
        }
        _ => {
            let name = row.columns()[at].name();
            return Err(unreadable(function, &format!("its column {name} has the type {ty}")).into());
        }
    })
}

/// The text of a `json` or `jsonb` column.
struct JsonText<'a>(&'a [u8]);

impl<'a> FromSql<'a> for JsonText<'a> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<JsonText<'a>, Box<dyn std::error::Error + Sync + Send>> {
        // The first byte of a jsonb is the version of its format.
        let skipped = usize::from(*ty == Type::JSONB);
        Ok(JsonText(raw.get(skipped..).unwrap_or_default()))
    }

    fn accepts(ty: &Type) -> bool {
        matches!(*ty, Type::JSON | Type::JSONB)
    }
}

fn unreadable(function: &str, why: &str) -> Refusal {
    Refusal::new(
        codes::DATABASE_ERROR,
        format!("The answer of tenure.{function} cannot be read."),
        why,
        "Check that program and schema belong together: tenure doctor.",
    )
}

/// The refusal of a word that is none of these.
fn word_unknown(field: &str, word: &str, known: &[&str]) -> Refusal {
    let next = match nearest(word, known.iter().copied()) {
        Some(near) => format!("Did you mean {near}?"),
        None => "Give one of these words.".to_owned(),
    };
    let why = format!("It is one of {}.", known.join(", "));
    Refusal::new(codes::REQUEST_INVALID, format!("{field} is {word:?}."), why, next)
}

fn missing(function: &str) -> Refusal {
    unreadable(function, "It has no row; it should have one, or refuse.")
}

fn cursor_unknown() -> Refusal {
    Refusal::new(
        codes::REQUEST_INVALID,
        "The cursor cannot be used.",
        "It did not come from a page of this list.",
        "Send next of the page before as it is, or no cursor for the first page.",
    )
}
