//! How a SQL function is called: by named arguments, as an unnamed statement, columns asked for by name and read in that order.
//!
//! Names instead of places let a program and a schema of neighbouring versions work together.

use std::error::Error;

use serde_json::Value;
use tenure_core::json;
use tokio_postgres::types::{FromSql, Json, ToSql, Type};
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use super::Timestamp;
use crate::error::{Result, accept};

/// A value that may be an argument, with its SQL type.
pub(super) trait Argument: ToSql + Sync {
    const TYPE: Type;
}

macro_rules! arguments {
    ($($rust:ty, $one:ident, $many:ident;)*) => {$(
        impl Argument for $rust { const TYPE: Type = Type::$one; }
        impl Argument for Vec<$rust> { const TYPE: Type = Type::$many; }
        impl Argument for Vec<Option<$rust>> { const TYPE: Type = Type::$many; }
    )*};
}

arguments! {
    &str, TEXT, TEXT_ARRAY;
    String, TEXT, TEXT_ARRAY;
    bool, BOOL, BOOL_ARRAY;
    i16, INT2, INT2_ARRAY;
    i32, INT4, INT4_ARRAY;
    i64, INT8, INT8_ARRAY;
    Uuid, UUID, UUID_ARRAY;
    Timestamp, TIMESTAMPTZ, TIMESTAMPTZ_ARRAY;
    &Value, JSONB, JSONB_ARRAY;
    Value, JSONB, JSONB_ARRAY;
    Json<&Value>, JSON, JSON_ARRAY;
}

impl Argument for Vec<u8> {
    const TYPE: Type = Type::BYTEA;
}

/// A row of a set-returning function.
pub(super) trait FromRow: Sized {
    const COLUMNS: &'static [&'static str];
    fn from_row(row: &Row) -> Result<Self, tokio_postgres::Error>;
}

/// Declares a row: its columns are its fields.
macro_rules! row {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$field_meta:meta])* pub $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[non_exhaustive]
        pub struct $name { $($(#[$field_meta])* pub $field: $type,)* }

        impl $crate::store::call::FromRow for $name {
            const COLUMNS: &'static [&'static str] = &[$(stringify!($field),)*];
            fn from_row(row: &tokio_postgres::Row) -> Result<Self, tokio_postgres::Error> {
                // The columns were asked for in the order of the fields: looking a name up would cost more than reading its value.
                let mut at = 0..;
                Ok($name { $($field: row.try_get(at.next().unwrap_or(usize::MAX))?,)* })
            }
        }
    };
}
pub(super) use row;

/// A call under construction. An argument left out has the function's own default.
pub(super) struct Call<'a> {
    function: &'static str,
    names: Vec<&'static str>,
    values: Vec<(&'a (dyn ToSql + Sync), Type)>,
    /// Settings of its transaction; their values are the last ones.
    settings: Vec<&'static str>,
}

impl<'a> Call<'a> {
    pub(super) fn new(function: &'static str) -> Call<'a> {
        Call {
            function,
            names: Vec::new(),
            values: Vec::new(),
            settings: Vec::new(),
        }
    }

    pub(super) fn with<T: Argument>(mut self, name: &'static str, value: &'a T) -> Call<'a> {
        self.names.push(name);
        self.values.push((value, T::TYPE));
        self
    }

    pub(super) fn maybe<T: Argument>(self, name: &'static str, value: &'a Option<T>) -> Call<'a> {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// An argument without a default, which may be null.
    pub(super) fn nullable<T: Argument>(mut self, name: &'static str, value: &'a Option<T>) -> Call<'a> {
        self.names.push(name);
        self.values.push((value, T::TYPE));
        self
    }

    /// Names the trace that the call, and the rest of its transaction, belongs to. Comes after all arguments.
    pub(super) fn traced(self, trace: &'a Option<String>) -> Call<'a> {
        self.set("tenure.traceparent", trace)
    }

    /// Waits for a lock this long at most, with its unit, as does the rest of its transaction. Comes after all arguments.
    pub(super) fn lock_wait(self, lock_wait: &'a Option<String>) -> Call<'a> {
        self.set("lock_timeout", lock_wait)
    }

    fn set(mut self, setting: &'static str, value: &'a Option<String>) -> Call<'a> {
        if let Some(value) = value {
            self.values.push((value, Type::TEXT));
            self.settings.push(setting);
        }
        self
    }

    /// The rows of a set-returning function.
    pub(super) async fn rows<T: FromRow>(self, client: &impl GenericClient) -> Result<Vec<T>> {
        let rows = self.run(client, &T::COLUMNS.join(", ")).await?;
        let rows: Result<Vec<T>, _> = rows.iter().map(T::from_row).collect();
        Ok(rows?)
    }

    /// The only row of a function that answers with one or refuses.
    pub(super) async fn one<T: FromRow>(self, client: &impl GenericClient) -> Result<T> {
        let function = self.function;
        let mut rows = self.rows(client).await?;
        rows.pop().ok_or_else(|| missing(function).into())
    }

    /// The value of a `jsonb` function, or the refusal it carries: a refusal is raised, but for what has to commit something (a
    /// passed deadline), and a schema of the version before answers each as a value.
    pub(super) async fn value(self, client: &impl GenericClient) -> Result<Value> {
        let value: Option<Value> = self.scalar(client).await?;
        accept(value.unwrap_or_default())
    }

    /// The value of a `jsonb` function as a type of ours.
    pub(super) async fn read<T: serde::de::DeserializeOwned>(self, client: &impl GenericClient) -> Result<T> {
        let function = self.function;
        let value = self.value(client).await?;
        serde_json::from_value(value).map_err(|error| unreadable(function, &error).into())
    }

    /// The one value of any other function.
    pub(super) async fn scalar<T>(self, client: &impl GenericClient) -> Result<Option<T>>
    where
        T: for<'r> tokio_postgres::types::FromSql<'r>,
    {
        let rows = self.run(client, "answer").await?;
        Ok(match rows.first() {
            Some(row) => row.try_get(0)?,
            None => None,
        })
    }

    /// The rows as they come, with these columns.
    pub(super) async fn run(self, client: &impl GenericClient, columns: &str) -> Result<Vec<Row>> {
        let mut arguments: Vec<String> = self
            .names
            .iter()
            .zip(1..)
            .map(|(name, at)| format!("{name} => ${at}"))
            .collect();
        if let (false, Some(first)) = (self.settings.is_empty(), arguments.first_mut()) {
            // An argument is read before the function runs: so the settings stand by then, without a statement of their own.
            let places = self.names.len() + 1..;
            let set = self.settings.iter().zip(places);
            let set = set.map(|(name, at)| format!("pg_catalog.set_config('{name}', ${at}, true) is not null"));
            let set = set.collect::<Vec<_>>().join(" and ");
            *first = format!("{} => case when {set} then $1 end", self.names[0]);
        }
        let (function, arguments) = (self.function, arguments.join(", "));
        // A scalar function's only column is named by the alias; a set has the names of its columns.
        let alias = if columns == "answer" { " answer" } else { "" };
        let statement = format!("select {columns} from tenure.{function}({arguments}){alias}");
        let rows = client.query_typed(&statement, &self.values).await?;
        for row in &rows {
            check_names(function, row)?;
        }
        Ok(rows)
    }
}

/// The text of a `jsonb` column.
struct JsonText<'a>(&'a [u8]);

impl<'a> FromSql<'a> for JsonText<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<JsonText<'a>, Box<dyn Error + Sync + Send>> {
        // One byte says the version of the format.
        Ok(JsonText(raw.get(1..).unwrap_or_default()))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::JSONB
    }
}

/// Refuses a row that the driver cannot read safely as [`Value`]: see [`json::check`]. A `json` column is kept as its text.
fn check_names(function: &str, row: &Row) -> Result<()> {
    let columns = row.columns().iter().enumerate();
    for (at, _) in columns.filter(|(_, column)| *column.type_() == Type::JSONB) {
        if let Some(JsonText(text)) = row.try_get(at)? {
            json::check(text).map_err(|error| unreadable(function, &error))?;
        }
    }
    Ok(())
}

fn unreadable(function: &str, error: &serde_json::Error) -> tenure_core::Refusal {
    tenure_core::Refusal::new(
        tenure_core::codes::DATABASE_ERROR,
        format!("The answer of tenure.{function} cannot be read."),
        error.to_string(),
        "Check that program and schema belong together: tenure doctor.",
    )
}

fn missing(function: &str) -> tenure_core::Refusal {
    tenure_core::Refusal::new(
        tenure_core::codes::DATABASE_ERROR,
        format!("tenure.{function} answered with no row."),
        "It answers with one, or refuses.",
        "Check that program and schema belong together: tenure doctor.",
    )
}

/// The column of a batch, or nothing when no row has a value: an array less to send.
pub(super) fn column<'a, R, T>(rows: &'a [R], of: impl Fn(&'a R) -> Option<T>) -> Option<Vec<Option<T>>> {
    let values: Vec<Option<T>> = rows.iter().map(of).collect();
    values.iter().any(Option::is_some).then_some(values)
}
