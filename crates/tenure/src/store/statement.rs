//! Calls written out for any driver.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{GenericClient, Row};

use crate::error::Result;

/// A statement for any driver of PostgreSQL. Every parameter is a text and none is null; the statement casts them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statement {
    /// The statement. Its parameters are `$1`, `$2` and so on.
    pub sql: String,
    /// The value of each parameter, in order.
    pub parameters: Vec<String>,
}

impl Statement {
    /// Runs it by the driver of this crate.
    pub(crate) async fn run(&self, client: &impl GenericClient) -> Result<Vec<Row>> {
        let texts = self.parameters.iter();
        let parameters: Vec<(&(dyn ToSql + Sync), Type)> = texts.map(|text| (text as _, Type::TEXT)).collect();
        Ok(client.query_typed(&self.sql, &parameters).await?)
    }
}

/// Arguments of a function by name. One that is left out has the function's own default.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    written: Vec<String>,
    parameters: Vec<String>,
}

impl Arguments {
    /// An argument of this SQL type, if it has a value.
    pub(super) fn with(self, name: &str, sql_type: &str, value: Option<impl ToString>) -> Arguments {
        match value {
            Some(value) if sql_type == "text" => self.push(value.to_string(), |text| format!("{name} => {text}")),
            Some(value) => self.push(value.to_string(), |text| format!("{name} => {text}::{sql_type}")),
            None => self,
        }
    }

    fn push(mut self, value: String, write: impl FnOnce(&str) -> String) -> Arguments {
        self.parameters.push(value);
        // As a text whatever it becomes: drivers that check types bind a text to nothing else.
        self.written.push(write(&format!("${}::text", self.parameters.len())));
        self
    }

    /// The statement, from what is written around the arguments: `write` gets them joined.
    pub(super) fn statement(self, write: impl FnOnce(&str) -> String) -> Statement {
        Statement {
            sql: write(&self.written.join(", ")),
            parameters: self.parameters,
        }
    }
}
