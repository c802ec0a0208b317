//! Calls written out for any driver.

use std::time::Duration;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{GenericClient, Row};

use crate::error::Result;

/// No delay is meant to be longer, and the database refuses far shorter ones: a hundred years.
const DELAY_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

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

    /// A moment so far ahead of the database's clock, if it has one.
    pub(super) fn ahead(self, name: &str, delay: Option<Duration>) -> Arguments {
        let Some(delay) = delay else { return self };
        let interval = format!("{} microseconds", delay.min(DELAY_MAX).as_micros());
        self.push(interval, |text| format!("{name} => tenure.now() + {text}::interval"))
    }

    /// Says that the statement, and the rest of its transaction, belongs to this trace. Comes after the first argument.
    pub(super) fn traced(mut self, trace: Option<String>) -> Arguments {
        let (Some(trace), Some(first)) = (trace, self.written.first()) else {
            return self;
        };
        let (name, value) = first.split_once(" => ").unwrap_or_default();
        self.parameters.push(trace);
        // An argument is read before the function runs, so the setting stands by then.
        self.written[0] = format!(
            "{name} => case when pg_catalog.set_config('tenure.traceparent', ${}::text, true) is not null then {value} end",
            self.parameters.len()
        );
        self
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_texts_that_the_statement_casts() {
        let statement = Arguments::default()
            .with("p_kind", "text", Some("a"))
            .with("p_key", "text", None::<&str>)
            .with("p_priority", "integer", Some(7))
            .ahead("p_due", Some(Duration::MAX))
            .traced(Some("00-t".to_owned()))
            .statement(|arguments| format!("f({arguments})"));
        assert_eq!(
            statement.sql,
            "f(p_kind => case when pg_catalog.set_config('tenure.traceparent', $4::text, true) is not null then $1::text end, \
             p_priority => $2::text::integer, p_due => tenure.now() + $3::text::interval)"
        );
        assert_eq!(
            statement.parameters,
            ["a", "7", "3153600000000000 microseconds", "00-t"]
        );
    }
}
