//! `tenure errors`: what a refusal means, without leaving the terminal.

use clap::Args;
use serde_json::{Value, json};
use tenure_core::{Code, codes, names};
use tenure_server::error_page;

use crate::errors::{Outcome, refuse};
use crate::output::{Column, Format, Output};

const COLUMNS: &[Column] = &[
    Column("CODE", "code"),
    Column("SQLSTATE", "sqlstate"),
    Column("HTTP", "http"),
    Column("EXIT", "exit"),
    Column("MEANING", "summary"),
];

#[derive(Debug, Args)]
pub(crate) struct Errors {
    /// The code, such as stale_lease or TN015; all of them if left out
    code: Option<String>,
}

impl Errors {
    pub(super) fn run(self, out: Output) -> Outcome {
        let Some(name) = self.code else {
            let rows: Vec<Value> = codes::ALL.iter().map(|code| row(code)).collect();
            return out.list(COLUMNS, &rows, &["code"], "There are no codes.");
        };
        let Some(code) = codes::by_name(&name).or_else(|| codes::by_sqlstate(&name)) else {
            let next = match names::nearest(&name, codes::ALL.iter().map(|code| code.name)) {
                Some(near) => format!("Did you mean {near}? `tenure errors` lists all."),
                None => "`tenure errors` lists all.".to_owned(),
            };
            return Err(refuse(
                codes::VALUE_UNKNOWN,
                format!("There is no refusal code {name:?}."),
                "Codes are words such as stale_lease, or an SQLSTATE such as TN015.",
                next,
            ));
        };
        match (out.format, error_page(code.name)) {
            (Format::People, Some(page)) => out.text(page),
            _ => out.object(&row(code), &["code"], &["code"]),
        }
    }
}

fn row(code: &Code) -> Value {
    json!({"code": code.name, "sqlstate": code.sqlstate, "http": code.http, "exit": code.exit, "summary": code.summary})
}
