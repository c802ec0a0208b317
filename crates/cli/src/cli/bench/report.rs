//! What a benchmark found: lines and a table for people, one document for programs, Markdown for pages.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::server::ServerFacts;
use crate::errors::Outcome;
use crate::output::{Column, Format, Output, json_of, shown};

/// Lines of what and how much.
#[derive(Debug, Default)]
pub(super) struct Facts(Vec<(String, String)>);

impl Facts {
    pub(super) fn add(&mut self, what: impl Into<String>, value: impl Into<String>) {
        self.0.push((what.into(), value.into()));
    }
}

/// The answer of a benchmark.
#[derive(Debug)]
pub(super) struct Report {
    document: Map<String, Value>,
    /// For people.
    pub(super) facts: Facts,
    series: Option<(&'static [Column], Vec<Value>)>,
}

impl Report {
    /// What was measured, and under which circumstances.
    pub(super) fn new(phase: &str, settings: Value, server: &ServerFacts) -> Outcome<Report> {
        let build = if cfg!(debug_assertions) { "debug" } else { "release" };
        let mut report = Report {
            document: Map::new(),
            facts: Facts::default(),
            series: None,
        };
        report.put("system", &"tenure")?;
        report.put("version", &env!("CARGO_PKG_VERSION"))?;
        report.put("build", &build)?;
        report.put("phase", &phase)?;
        report.put("settings", &settings)?;
        report.put("server", server)?;
        Ok(report)
    }

    /// One more field of the document.
    pub(super) fn put(&mut self, field: &str, value: &impl Serialize) -> Outcome {
        self.document.insert(field.to_owned(), json_of(value)?);
        Ok(())
    }

    /// All fields of this, at the top of the document.
    pub(super) fn put_all(&mut self, value: &impl Serialize) -> Outcome {
        if let Value::Object(fields) = json_of(value)? {
            self.document.extend(fields);
        }
        Ok(())
    }

    /// How it went on over time, under this name in the document.
    pub(super) fn put_series<T: Serialize>(&mut self, field: &str, columns: &'static [Column], rows: &[T]) -> Outcome {
        let rows: Vec<Value> = rows.iter().map(json_of).collect::<Result<_, _>>()?;
        self.put(field, &rows)?;
        self.series = Some((columns, rows));
        Ok(())
    }

    /// A field that was put.
    pub(super) fn get(&self, field: &str) -> &Value {
        self.document.get(field).unwrap_or(&Value::Null)
    }

    /// The document.
    pub(super) fn document(&self) -> &Map<String, Value> {
        &self.document
    }

    /// Prints it in the form that was asked for.
    pub(super) fn print(mut self, out: Output, markdown: bool) -> Outcome {
        self.tell_circumstances();
        match out.format {
            Format::Json => out.json(&Value::Object(self.document)),
            Format::Quiet => out.text(&self.get("jobs_per_second").to_string()),
            Format::People if markdown => out.text(&self.markdown()),
            Format::People => {
                out.text(&self.lines())?;
                if let Some((columns, rows)) = &self.series {
                    out.text("")?;
                    out.list(columns, rows, &[], "")?;
                }
                if cfg!(debug_assertions) {
                    out.note("This is a debug build: its figures say nothing. Build with --release.");
                }
                Ok(())
            }
        }
    }

    fn tell_circumstances(&mut self) {
        let server = self.get("server");
        let part = |field: &str| shown("", &server[field]);
        let told = format!(
            "PostgreSQL {}, fsync {}, synchronous_commit {}, shared_buffers {}, max_wal_size {}",
            part("version"),
            part("fsync"),
            part("synchronous_commit"),
            part("shared_buffers"),
            part("max_wal_size")
        );
        let settings = match self.get("settings") {
            Value::Object(settings) => settings
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| format!("{name} {}", shown("", value)))
                .collect::<Vec<_>>()
                .join(", "),
            _ => String::new(),
        };
        self.facts.add("settings", settings);
        self.facts.add("server", told);
    }

    fn lines(&self) -> String {
        let width = self
            .facts
            .0
            .iter()
            .map(|fact| fact.0.chars().count())
            .max()
            .unwrap_or(0);
        let lines = self
            .facts
            .0
            .iter()
            .map(|(what, value)| format!("{what:<width$}  {value}"));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn markdown(&self) -> String {
        let phase = shown("", self.get("phase"));
        let mut text = row(&[phase, String::new()]) + &row(&["---".to_owned(), "---".to_owned()]);
        for (what, value) in &self.facts.0 {
            text.push_str(&row(&[what.clone(), value.clone()]));
        }
        if let Some((columns, rows)) = &self.series {
            let titles: Vec<String> = columns.iter().map(|column| column.0.to_lowercase()).collect();
            let rule: Vec<String> = columns.iter().map(|_| "---:".to_owned()).collect();
            text.push('\n');
            text.push_str(&row(&titles));
            text.push_str(&row(&rule));
            for values in rows {
                let cells: Vec<String> = columns.iter().map(|column| shown("", &values[column.1])).collect();
                text.push_str(&row(&cells));
            }
        }
        text
    }
}

fn row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// The settings of a load, for the document.
pub(super) fn settings(parts: &[(&str, Value)]) -> Value {
    let mut settings = json!({});
    for (name, value) in parts {
        settings[*name] = value.clone();
    }
    settings
}

/// To so many places.
pub(super) fn round(value: f64, places: i32) -> f64 {
    let unit = 10f64.powi(places);
    (value * unit).round() / unit
}

/// How much of the other it is, if that was anything.
pub(super) fn ratio(value: f64, other: f64) -> Option<f64> {
    (other > 0.0).then(|| round(value / other, 3))
}

/// Half of them are at most that.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// With so many places.
pub(super) fn decimal(value: f64, places: usize) -> String {
    format!("{value:.places$}")
}

/// A whole number that can be read: 93,512.
pub(super) fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        let rest = digits.len() - at;
        if at > 0 && rest.is_multiple_of(3) && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_can_be_read() {
        assert_eq!(thousands(7.4), "7");
        assert_eq!(thousands(1234.0), "1,234");
        assert_eq!(thousands(93_512_000.6), "93,512,001");
        assert_eq!(thousands(-123.0), "-123");
    }
}
