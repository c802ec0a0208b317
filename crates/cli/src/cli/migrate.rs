//! `tenure migrate`: the schema.

use clap::Args;
use serde_json::json;
use tenure::migrate::{self, Report, SchemaStatus};

use crate::connect::Place;
use crate::errors::Outcome;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Migrate {
    /// Print the SQL that would change this database instead of applying it; nothing when it is up to date
    #[arg(long, conflicts_with_all = ["roles", "check"])]
    print: bool,
    /// With --print: all of it, whatever the database has; needs no database
    #[arg(long, requires = "print")]
    all: bool,
    /// Print the SQL that makes the database roles, for an administrator to apply
    #[arg(long, conflicts_with = "check")]
    roles: bool,
    /// Only check that the database has a schema this program works with
    #[arg(long)]
    check: bool,
    /// Apply functions and views even if they are there already
    #[arg(long, conflicts_with_all = ["print", "roles", "check"])]
    force: bool,
    /// The database was restored from a copy of its files (a snapshot of the disk): begin a new epoch of the event stream
    #[arg(long, conflicts_with_all = ["print", "roles", "check"])]
    restored: bool,
}

impl Migrate {
    pub(super) async fn run(self, place: Place, out: Output) -> Outcome {
        if self.print && self.all {
            return out.text(&migrate::print());
        }
        if self.roles {
            return out.text(&migrate::print_roles());
        }
        let url = place.url().await?;
        if self.print {
            return print(&url, out).await;
        }
        if self.check {
            return check(&url, out).await;
        }
        let options = migrate::Options {
            force: self.force,
            restored: self.restored,
            ..Default::default()
        };
        let report = apply(&url, out, &options).await?;
        out.done(&sentence(&report), &report, &["version"])
    }
}

async fn print(url: &str, out: Output) -> Outcome {
    let client = tenure::pool::connect(url).await?;
    let script = migrate::print_pending(&client).await?;
    if script.is_empty() {
        out.note("The schema is up to date: a migration would change nothing.");
        return Ok(());
    }
    out.text(&script)
}

async fn check(url: &str, out: Output) -> Outcome {
    let client = tenure::pool::connect(url).await?;
    let status = migrate::check(&client).await?;
    let version = status.accept()?;
    if let Some(warning) = status.warning() {
        out.warn(&warning);
    }
    let same = matches!(
        status,
        SchemaStatus::Usable {
            same_functions: true,
            ..
        }
    );
    let answer = json!({"version": version, "same_functions": same});
    out.done(
        &format!("The schema has version {version}; this program works with it."),
        &answer,
        &["version"],
    )
}

/// Migrates, and passes on what went not quite as it should.
pub(crate) async fn apply(url: &str, out: Output, options: &migrate::Options) -> Outcome<Report> {
    let mut client = tenure::pool::connect(url).await?;
    let report = migrate::migrate(&mut client, options).await?;
    for note in &report.notes {
        out.warn(note);
    }
    Ok(report)
}

/// What a migration did, for people.
pub(crate) fn sentence(report: &Report) -> String {
    let schema = schema_sentence(report);
    if !report.began_epoch() {
        return schema;
    }
    format!(
        "{schema}\nThe database was restored: the event stream begins epoch {}. Old cursors stay valid.",
        report.epoch
    )
}

fn schema_sentence(report: &Report) -> String {
    if !report.changed() {
        return format!("The schema is up to date (version {}).", report.version);
    }
    let applied = match report.applied.len() {
        0 => "functions and views".to_owned(),
        1 => "1 migration, functions and views".to_owned(),
        n => format!("{n} migrations, functions and views"),
    };
    format!("The schema has version {}: {applied} were applied.", report.version)
}
