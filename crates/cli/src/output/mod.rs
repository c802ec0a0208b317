//! Answers: tables and sentences for people, JSON for programs, bare ids for shell scripts.
//!
//! With `--json` a single answer is one JSON document on one line, and a list is one document per line, nothing for an
//! empty list. With `--quiet` only what a script needs is printed: ids, one answer per line.

mod ask;
mod cell;
mod progress;
mod table;

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use crate::errors::{Failure, Outcome};

pub(crate) use ask::ask;
pub(crate) use cell::{printable, shown};
pub(crate) use progress::{Bar, step};
pub(crate) use table::{Column, rows as table_of};

/// For whom the answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Tables and sentences.
    People,
    /// JSON.
    Json,
    /// Ids only.
    Quiet,
}

/// Where answers go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// For whom.
    pub(crate) format: Format,
}

impl Output {
    /// One thing, as a list of its fields: first those named, then the others that have a value.
    pub(crate) fn object(&self, value: &impl Serialize, first: &[&str], essential: &[&str]) -> Outcome {
        let value = json_of(value)?;
        match self.format {
            Format::People => self.text(&table::fields(&value, first)),
            Format::Json => self.json(&value),
            Format::Quiet => self.essentials(&value, essential),
        }
    }

    /// What was done: a sentence for people, the whole answer for programs.
    pub(crate) fn done(&self, sentence: &str, value: &impl Serialize, essential: &[&str]) -> Outcome {
        match self.format {
            Format::People => self.text(&printable(sentence)),
            Format::Json => self.json(&json_of(value)?),
            Format::Quiet => self.essentials(&json_of(value)?, essential),
        }
    }

    /// Many things. `empty` is what people read when there are none.
    pub(crate) fn list<T: Serialize>(
        &self,
        columns: &[Column],
        rows: &[T],
        essential: &[&str],
        empty: &str,
    ) -> Outcome {
        let rows: Vec<Value> = rows.iter().map(json_of).collect::<Result<_, _>>()?;
        match self.format {
            Format::People if rows.is_empty() => self.text(empty),
            Format::People => self.text(&table::rows(columns, &rows)),
            Format::Json => rows.iter().try_for_each(|row| self.json(row)),
            Format::Quiet => rows.iter().try_for_each(|row| self.essentials(row, essential)),
        }
    }

    /// Text for whoever reads it, such as a page or a script.
    pub(crate) fn text(&self, text: &str) -> Outcome {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", text.trim_end_matches('\n'))?;
        out.flush()?;
        Ok(())
    }

    /// One document on one line.
    pub(crate) fn json(&self, value: &Value) -> Outcome {
        self.text(&value.to_string())
    }

    /// A remark beside the answer, for people only.
    pub(crate) fn note(&self, text: &str) {
        if self.format == Format::People {
            // A remark that nobody can read is no failure.
            let _ = writeln!(io::stderr(), "{}", printable(text));
        }
    }

    /// Something that should be known even by those who read JSON.
    pub(crate) fn warn(&self, text: &str) {
        if self.format != Format::Quiet {
            let _ = writeln!(io::stderr(), "warning: {}", printable(text));
        }
    }

    /// Where a change goes, whoever reads the answer: nobody should learn it from what has changed.
    pub(crate) fn whereto(&self, place: &str) {
        let _ = writeln!(io::stderr(), "going to {}", printable(place));
    }

    fn essentials(&self, value: &Value, fields: &[&str]) -> Outcome {
        let found: Vec<String> = fields
            .iter()
            .filter_map(|field| match value.get(*field)? {
                Value::Null => None,
                Value::String(text) => Some(printable(text)),
                other => Some(other.to_string()),
            })
            .collect();
        if found.is_empty() {
            return Ok(());
        }
        self.text(&found.join(" "))
    }
}

/// The answer as JSON.
pub(crate) fn json_of(value: &impl Serialize) -> Outcome<Value> {
    serde_json::to_value(value).map_err(|error| Failure::Output(io::Error::other(error)))
}
