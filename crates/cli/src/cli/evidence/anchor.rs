//! `tenure evidence anchor`: the checkpoints that cover executions.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use tenure_api::Page;
use tenure_api::anchors::{AnchorList, AnchorShow};
use tenure_core::anchor::Checkpoint;

use super::super::verb::{Chosen, Command, Noun, Verb};
use super::export::{unwritable, write};
use crate::connect::{Scope, Session};
use crate::errors::Outcome;
use crate::output::Column;
use crate::values::Number;

const LIST: &[Column] = &[
    Column("NUMBER", "number"),
    Column("MADE", "at"),
    Column("EXECUTIONS", "leaf_count"),
    Column("KEY", "key_id"),
    Column("ROOT", "root"),
];

#[derive(Debug, Subcommand)]
pub(crate) enum Anchor {
    /// List the newest checkpoints, or those after a number
    #[command(visible_alias = "ls")]
    List(List),
    #[command(flatten)]
    Plain(Chosen<Plain>),
    /// Write checkpoints as the server writes them to its file, for `tenure evidence verify --anchor`
    Export(Export),
}

/// The verbs that are one operation each.
pub(crate) struct Plain;

impl Noun for Plain {
    const VERBS: &'static [&'static dyn Command] = &[&SHOW];
}

const SHOW: Verb<AnchorShow> = Verb {
    places: &["number"],
    quiet: &["root"],
    ..Verb::fields("show", &["number", "at", "leaf_count", "root"])
};

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
                let after = Number::read_option(list.after.as_ref(), "after")?;
                let list = AnchorList {
                    after: after.map(i64::from),
                    newest: after.is_none(),
                    limit: list.limit.read("limit")?,
                    ..AnchorList::default()
                };
                let (page, _) = session.perform(&list).await?;
                session
                    .out
                    .list(LIST, &page.items, &["number"], "There is no checkpoint yet.")
            }
            Anchor::Plain(command) => command.run(session).await,
            Anchor::Export(export) => export.run(session).await,
        }
    }
}

impl Export {
    async fn run(self, mut session: Session) -> Outcome {
        let (mut at, mut text, mut count) = (i64::from(self.after.read("after")?), String::new(), 0);
        loop {
            let found = page_after(&mut session, at, self.all_tenants).await?;
            if found.items.is_empty() {
                break;
            }
            for checkpoint in found.items {
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

/// Checkpoints after a number, with the chain heads that they cover.
async fn page_after(session: &mut Session, after: i64, all_tenants: bool) -> Outcome<Page<Checkpoint>> {
    let list = AnchorList {
        after: Some(after),
        heads: true,
        ..AnchorList::default()
    };
    let (page, _) = session.perform_in(Scope::of(all_tenants), &list).await?;
    Ok(page)
}
