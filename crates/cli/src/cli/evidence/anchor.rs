//! `tenure evidence anchor`: the checkpoints that cover executions.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tenure::store::anchors::{self, AnchorQuery};
use tenure::store::for_every_tenant;
use tenure_core::anchor::Checkpoint;
use tenure_core::codes;

use super::export::{unwritable, write};
use crate::connect::Session;
use crate::errors::{Outcome, refuse};
use crate::output::Column;
use crate::remote;
use crate::values::Number;

const LIST: &[Column] = &[
    Column("NUMBER", "number"),
    Column("MADE", "at"),
    Column("EXECUTIONS", "leaf_count"),
    Column("KEY", "key_id"),
    Column("ROOT", "root"),
];

/// Checkpoints that are asked for at once.
const PAGE_ROWS: i32 = 100;

#[derive(Debug, Subcommand)]
pub(crate) enum Anchor {
    /// List the newest checkpoints, or those after a number
    #[command(visible_alias = "ls")]
    List(List),
    /// Show a checkpoint, with the chain heads of the tenant that it covers
    Show {
        /// Its number
        number: Number,
    },
    /// Write checkpoints as the server writes them to its file, for `tenure evidence verify --anchor`
    Export(Export),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only those after this number, from there on
    #[arg(long, value_name = "NUMBER")]
    after: Option<Number>,
    /// Maximum number of rows
    #[arg(
        long,
        short = 'n',
        value_name = "N",
        default_value = "20",
        allow_negative_numbers = true
    )]
    limit: Number,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Only those after this number
    #[arg(long, value_name = "NUMBER", default_value = "0")]
    after: Number,
    /// With the chain heads of all tenants, for who is trusted with the installation
    #[arg(long)]
    all_tenants: bool,
    /// Write them into this new file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Anchor {
    pub(super) async fn run(self, mut session: Session) -> Outcome {
        match self {
            Anchor::List(list) => {
                let query = AnchorQuery {
                    after: list
                        .after
                        .as_ref()
                        .map(|number| number.read("after"))
                        .transpose()?
                        .map(i64::from),
                    limit: Some(list.limit.read("limit")?),
                    heads: false,
                    newest: list.after.is_none(),
                };
                let found = page(&mut session, query, false).await?;
                session
                    .out
                    .list(LIST, &found, &["number"], "There is no checkpoint yet.")
            }
            Anchor::Show { number } => {
                let number = i64::from(number.read("number")?);
                let request = remote::anchor_show(number);
                let shown: Value = session
                    .call(request, async |tx| anchors::anchor_show(tx, number).await)
                    .await?;
                session
                    .out
                    .object(&shown, &["number", "at", "leaf_count", "root"], &["root"])
            }
            Anchor::Export(export) => export.run(session).await,
        }
    }
}

impl Export {
    async fn run(self, mut session: Session) -> Outcome {
        let (mut at, mut text, mut count) = (i64::from(self.after.read("after")?), String::new(), 0);
        loop {
            let query = AnchorQuery {
                after: Some(at),
                limit: Some(PAGE_ROWS),
                heads: true,
                newest: false,
            };
            let found = page(&mut session, query, self.all_tenants).await?;
            if found.is_empty() {
                break;
            }
            for row in found {
                let checkpoint: Checkpoint = serde_json::from_value(row).map_err(unreadable)?;
                at = i64::try_from(checkpoint.number).unwrap_or(i64::MAX);
                count += 1;
                text.push_str(&checkpoint.line());
                text.push('\n');
            }
        }
        let Some(path) = &self.out else {
            return if text.is_empty() {
                Ok(())
            } else {
                session.out.text(&text)
            };
        };
        write(path, &text).map_err(|error| unwritable("checkpoints", path, &error))?;
        let sentence = format!("{count} checkpoints are in {}; the last is {at}.", path.display());
        let answer = json!({"file": path, "checkpoints": count, "last": at});
        session.out.done(&sentence, &answer, &["file"])
    }
}

async fn page(session: &mut Session, query: AnchorQuery, all_tenants: bool) -> Outcome<Vec<Value>> {
    let request = remote::anchor_list(&query).for_installation(all_tenants);
    session
        .together(request, async |tx| {
            if all_tenants {
                for_every_tenant(tx).await?;
            }
            anchors::anchor_list(tx, &query).await
        })
        .await
}

fn unreadable(error: serde_json::Error) -> crate::errors::Failure {
    refuse(
        codes::DATABASE_ERROR,
        "A checkpoint cannot be read.",
        error.to_string(),
        "Check that program and schema belong together: tenure doctor.",
    )
}
