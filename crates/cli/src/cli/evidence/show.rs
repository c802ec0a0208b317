//! `tenure evidence show`: what a file tells, for an auditor.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use tenure_core::codes;
use tenure_core::evidence::{Evidence, verify};

use super::report::{Item, Report};
use super::{file, page};
use crate::errors::{Failure, Outcome, refuse};
use crate::output::{Column, Format, Output, json_of, printable};

const TIMELINE: &[Column] = &[
    Column("#", "seq"),
    Column("WHEN", "when"),
    Column("STEP", "step"),
    Column("WHAT", "what"),
    Column("WHO", "who"),
];

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The file; - for standard input
    file: String,
    /// Check it first, with this key: Base64, PEM, or a file with either
    #[arg(long, value_name = "KEY_OR_FILE", allow_hyphen_values = true)]
    public_key: Option<String>,
    /// Write one self-contained HTML page into this new file; - for standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Show {
    pub(super) fn run(self, out: Output) -> Outcome {
        let key = self.public_key.as_deref().map(file::public_key).transpose()?;
        let bytes = file::bytes(&self.file)?;
        let read = match &key {
            Some(key) => verify(&bytes, key).map(|verified| verified.evidence),
            None => Evidence::read(&bytes),
        };
        let evidence = read.map_err(|findings| file::refused(&self.file, &findings, out))?;
        let checked = key.map(|key| key.id());
        let report = Report::of(&evidence, checked.as_deref());
        if let Some(path) = &self.html {
            return write_page(&report, path, out);
        }
        match out.format {
            Format::Quiet => out.text(&evidence.head.execution_id),
            Format::Json => {
                let mut story = json_of(&evidence)?;
                story["verified"] = json!(checked.is_some());
                story["key_id"] = json!(checked);
                story["rules"] = json!(evidence.story().rules);
                out.json(&story)
            }
            Format::People => tell(&report, out),
        }
    }
}

fn write_page(report: &Report, path: &Path, out: Output) -> Outcome {
    let page = page::write(report);
    if path == Path::new("-") {
        return out.text(&page);
    }
    let written = OpenOptions::new().write(true).create_new(true).open(path);
    let written = written.and_then(|mut file| file.write_all(page.as_bytes()));
    written.map_err(|error| unwritable(path, &error))?;
    let sentence = format!("The page about {} is in {}.", report.execution_id, path.display());
    let answer = json!({"execution_id": report.execution_id, "file": path});
    out.done(&sentence, &answer, &["file"])
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    refuse(
        codes::USAGE,
        format!("The page cannot be written to {}.", path.display()),
        error.to_string(),
        "Name a new file in a directory that you can write to.",
    )
}

fn tell(report: &Report, out: Output) -> Outcome {
    let mut lines = vec![
        report.check.clone(),
        String::new(),
        format!(
            "Execution {} is {}.",
            report.execution_id,
            report.state.replace('_', " ")
        ),
        report.summary.clone(),
    ];
    for part in &report.parts {
        lines.extend([String::new(), part.title.to_owned()]);
        for item in &part.items {
            told(item, 1, &mut lines);
        }
    }
    lines.extend([String::new(), "What happened, in order".to_owned()]);
    out.text(&printable(&lines.join("\n")))?;
    let rows: Vec<_> = report
        .timeline
        .iter()
        .map(|it| json!({"seq": it.seq, "when": it.at, "step": it.step, "what": it.what, "who": it.actor}))
        .collect();
    out.list(TIMELINE, &rows, &[], "")
}

/// An item, its facts with the values below each other, and what belongs to it further in.
fn told(item: &Item, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    lines.push(match &item.state {
        Some(state) => format!("{indent}{} [{}]", item.title, state.replace('_', " ")),
        None => format!("{indent}{}", item.title),
    });
    let width = item
        .facts
        .iter()
        .map(|fact| fact.label.chars().count())
        .max()
        .unwrap_or_default();
    for fact in &item.facts {
        let value = fact
            .value
            .replace('\n', &format!("\n{indent}  {}  ", " ".repeat(width)));
        lines.push(format!("{indent}  {:width$}  {value}", fact.label));
    }
    for item in &item.items {
        told(item, depth + 1, lines);
    }
}
